/* slow-writer.c - a reader is blocked on a pipe whose writer is slow. */
#include "truth.h"

enum {
	SLEEP
};

static const struct example example = {
	.name = "slow-writer",
	.shows = "A process reads four lines from a pipe. The writer computes for 100 ms\n"
		 "before each line. The answer is the writer's own code, not read().",
	.variants =
		(const struct variant[]){
			[SLEEP] = { "--sleep", "the writer sleeps instead of computing" },
			{ NULL, NULL },
		},
};

#define LINES 4

static void write_lines(const struct run *run, int fd, struct root *root)
{
	uint64_t ns = 0;

	for (int i = 0; i < LINES; i++) {
		ns += run_has(run, SLEEP) ? nap(run_ms(run, 100)) : burn(run_ms(run, 100));
		if (write(fd, "line\n", 5) != 5)
			fail("write");
	}
	root_set(root, ns);
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct root *root = share(sizeof(*root));
	uint64_t start_ns = now_ns();
	char line[5];
	int fds[2];
	pid_t pid;

	if (pipe(fds) < 0)
		fail("pipe");
	pid = fork_named("pipe-writer");
	if (pid == 0) {
		write_lines(&run, fds[1], root);
		_exit(0);
	}
	for (int i = 0; i < LINES; i++)
		if (read(fds[0], line, sizeof(line)) != sizeof(line))
			fail("read");
	wait_for(pid);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = now_ns(),
				     .kind = run_has(&run, SLEEP) ? "timer" : "other_thread",
				     .root = *root,
				     .what = "the writer, before each line",
			     });
}
