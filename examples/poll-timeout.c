/* poll-timeout.c - a program asks to wait for some time, and does. */
#include <poll.h>
#include <sys/timerfd.h>

#include "truth.h"

enum {
	TIMERFD
};

static const struct example example = {
	.name = "poll-timeout",
	.shows = "A program calls poll() four times with a timeout of 100 ms; nothing ever comes.\n"
		 "It asked for this: the answer is its own timeout.",
	.variants =
		(const struct variant[]){
			[TIMERFD] = { "--timerfd", "reads a timerfd instead" },
			{ NULL, NULL },
		},
};

static void wait_timerfd(int fd, uint64_t ns)
{
	struct itimerspec spec = { .it_value = { .tv_sec = (time_t)(ns / NS_PER_S),
						 .tv_nsec = (long)(ns % NS_PER_S) } };
	uint64_t count;

	if (timerfd_settime(fd, 0, &spec, NULL) < 0 || read(fd, &count, sizeof(count)) < 0)
		fail("timerfd");
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct root root = { .tid = getpid(), .comm = "poll-timeout" };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), silent[2];
	uint64_t start_ns = now_ns();
	struct pollfd never = { .events = POLLIN };
	struct spent mark = spent_mark();

	if (fd < 0 || pipe(silent) < 0)
		fail("timerfd_create");
	never.fd = silent[0];
	for (int i = 0; i < 4; i++) {
		if (run_has(&run, TIMERFD))
			wait_timerfd(fd, run_ms(&run, 100));
		else
			poll(&never, 1, (int)(run_ms(&run, 100) / NS_PER_MS));
	}
	root.ns = spent_blocked_ns(spent_since(mark));
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = now_ns(),
				     .kind = "timer",
				     .root = root,
				     .what = "its own timeout",
				     .note = "asked to wait",
			     });
}
