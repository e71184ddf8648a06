/* eventfd-wait.c - a thread waits for an eventfd that another process signals late. */
#include <sys/eventfd.h>

#include "truth.h"

static const struct example example = {
	.name = "eventfd-wait",
	.shows = "A program reads an eventfd. Another process computes for 300 ms and writes to\n"
		 "it. The answer is that process.",
};

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct root *root = share(sizeof(*root));
	uint64_t start_ns = now_ns(), end_ns;
	eventfd_t value;
	int fd = eventfd(0, EFD_CLOEXEC);
	pid_t pid = fork_named("event-writer");

	if (pid == 0) {
		root_set(root, burn(run_ms(&run, 300)));
		eventfd_write(fd, 1);
		_exit(0);
	}
	if (eventfd_read(fd, &value) < 0)
		fail("eventfd");
	end_ns = now_ns();
	wait_for(pid);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = "other_thread",
				     .root = *root,
				     .what = "the process that writes to the eventfd",
			     });
}
