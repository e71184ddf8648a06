/* terminal-read.c - a thread waits for a line of a terminal, whose other side is a process. */
#include <fcntl.h>

#include "truth.h"

static const struct example example = {
	.name = "terminal-read",
	.shows =
		"A program reads a line from a terminal. The process at its other side, as ssh or\n"
		"tmux would be, computes for 300 ms and writes one; the kernel has a kworker pass\n"
		"it on. The answer is that process.",
};

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct root *root = share(sizeof(*root));
	int writer = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), reader;
	uint64_t start_ns, end_ns;
	char line[16];
	pid_t pid;

	if (writer < 0 || grantpt(writer) < 0 || unlockpt(writer) < 0)
		fail("posix_openpt");
	reader = open(ptsname(writer), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (reader < 0)
		fail("ptsname");
	start_ns = now_ns();
	pid = fork_named("terminal-writer");
	if (pid == 0) {
		root_set(root, burn(run_ms(&run, 300)));
		if (write(writer, "line\n", 5) != 5)
			_exit(1);
		_exit(0);
	}
	if (read(reader, line, sizeof(line)) != 5)
		fail("read");
	end_ns = now_ns();
	wait_for(pid);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = "other_thread",
				     .root = *root,
				     .what = "the process that writes to the terminal",
			     });
}
