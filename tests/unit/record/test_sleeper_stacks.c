/* Stacks of threads that sleep: the functions that a child is known to be in. */
#include "record/sleeper_stacks.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "event/stacks.h"
#include "proc/proc.h"
#include "symbol/unwind.h"

#define WAIT_MS 20000

static int proc_fd = -1;

/* Neither inlined nor a tail call: both are on the stack. */
static __attribute__((noinline)) int wait_in_here(int fd)
{
	char byte;
	ssize_t got = read(fd, &byte, 1);

	__asm__ volatile("" ::: "memory");
	return (int)got;
}

static __attribute__((noinline)) int call_who_waits(int fd)
{
	int got = wait_in_here(fd);

	__asm__ volatile("" ::: "memory");
	return got;
}

struct child {
	pid_t pid;
	int fd; /* what it waits for: to be closed */
};

/*
 * Sleeps in read(): the call, the stack pointer and the program counter are the last of the line.
 * It may first run between the two looks.
 */
static struct sleeper sleeper_of(pid_t pid)
{
	struct sleeper sleeper = { .tid = pid, .tgid = pid };
	unsigned long long sp, pc;
	char path[32], text[256];

	(void)snprintf(path, sizeof(path), "%d/syscall", (int)pid);
	for (int i = 0; i < 5000; i++, usleep(1000)) {
		sleeper.runs = proc_runs(proc_fd, pid, pid);
		if (proc_read(proc_fd, path, text, sizeof(text)) > 0 &&
		    sscanf(text, "%*d %*s %*s %*s %*s %*s %*s %llx %llx", &sp, &pc) == 2 &&
		    sleeper.runs && proc_runs(proc_fd, pid, pid) == sleeper.runs)
			break;
		sp = pc = 0;
	}
	sleeper.sp = sp;
	sleeper.pc = pc;
	return sleeper;
}

static struct child child_start(void)
{
	struct child child;
	int fds[2];

	assert_return_code(pipe(fds), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		(void)close(fds[1]);
		_exit(call_who_waits(fds[0]));
	}
	(void)close(fds[0]);
	child.fd = fds[1];
	return child;
}

static void child_end(const struct child *child)
{
	(void)kill(child->pid, SIGKILL);
	(void)close(child->fd);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

#ifndef __SANITIZE_ADDRESS__ /* its read() keeps its frame in a register that is not known */
/* Index of the frame of that function; -1 = none. */
static int frame_of(const struct stacks *stacks, uint32_t stack, const char *function)
{
	for (uint32_t i = 0; i < stacks->stacks[stack].count; i++) {
		const char *name = stacks_frame(stacks, stack, i)->function;

		if (name && strcmp(name, function) == 0)
			return (int)i;
	}
	return -1;
}

static void functions_are_found_in_their_order(void **unused)
{
	struct child child = child_start();
	struct sleeper sleeper = sleeper_of(child.pid);
	struct stacks stacks = { 0 };
	struct err err = { 0 };
	int inner, outer;

	(void)unused;
	assert_true(sleeper.sp && sleeper.runs);
	assert_int_equal(sleeper_stacks_take(&sleeper, 1, WAIT_MS, &stacks, &err), 0);
	child_end(&child);
	assert_int_equal(stacks.wait_count, 1);
	assert_int_equal(stacks.waits[0].tid, sleeper.tid);
	assert_true(stacks.waits[0].is_open);
	inner = frame_of(&stacks, stacks.waits[0].stack, "wait_in_here");
	outer = frame_of(&stacks, stacks.waits[0].stack, "call_who_waits");
	assert_true(inner >= 0 && outer == inner + 1);
	assert_int_equal(stacks.stacks[stacks.waits[0].stack].place, inner);
	stacks_fini(&stacks);
}
#endif

/* It ran since it was looked at: the stack may be of another wait. */
static void a_stack_of_later_is_none(void **unused)
{
	struct child child = child_start();
	struct sleeper sleeper = sleeper_of(child.pid);
	struct stacks stacks = { 0 };
	struct err err = { 0 };

	(void)unused;
	sleeper.runs--;
	assert_int_equal(sleeper_stacks_take(&sleeper, 1, WAIT_MS, &stacks, &err), 0);
	child_end(&child);
	assert_int_equal(stacks.wait_count, 0);
	stacks_fini(&stacks);
}

/* Who is gone has none, and others have theirs. */
static void who_is_gone_has_none(void **unused)
{
	struct child gone = child_start(), child = child_start();
	struct sleeper sleepers[2] = { sleeper_of(gone.pid), sleeper_of(child.pid) };
	struct stacks stacks = { 0 };
	struct err err = { 0 };

	(void)unused;
	child_end(&gone);
	assert_int_equal(sleeper_stacks_take(sleepers, 2, WAIT_MS, &stacks, &err), 0);
	child_end(&child);
	assert_int_equal(stacks.wait_count, 1);
	assert_int_equal(stacks.waits[0].tid, child.pid);
	stacks_fini(&stacks);
}

/* A stack that is nowhere, and code that is in no file: no stack, or one without a name. */
static void places_that_are_not_there(void **unused)
{
	struct child child = child_start();
	struct sleeper nowhere = sleeper_of(child.pid), no_code = nowhere;
	struct stacks stacks = { 0 };
	struct err err = { 0 };

	(void)unused;
	nowhere.sp = 16;
	no_code.pc = 16;
	assert_int_equal(sleeper_stacks_take(&nowhere, 1, WAIT_MS, &stacks, &err), 0);
	assert_int_equal(stacks.wait_count, 0);
	stacks_fini(&stacks);
	memset(&stacks, 0, sizeof(stacks));
	assert_int_equal(sleeper_stacks_take(&no_code, 1, WAIT_MS, &stacks, &err), 0);
	child_end(&child);
	for (size_t i = 0; i < stacks.frame_count; i++)
		assert_null(stacks.frames[i].function);
	stacks_fini(&stacks);
}

/* There may be more than time allows: it ends, and says so. */
static void it_ends_in_time(void **unused)
{
	struct child child = child_start();
	struct sleeper sleeper = sleeper_of(child.pid);
	struct stacks stacks = { 0 };
	struct err err = { 0 };

	(void)unused;
	assert_true(sleeper_stacks_take(&sleeper, 1, 0, &stacks, &err) < 0);
	assert_true(err.text[0]);
	child_end(&child);
	stacks_fini(&stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifndef __SANITIZE_ADDRESS__
		cmocka_unit_test(functions_are_found_in_their_order),
#endif
		cmocka_unit_test(a_stack_of_later_is_none),
		cmocka_unit_test(who_is_gone_has_none),
		cmocka_unit_test(places_that_are_not_there),
		cmocka_unit_test(it_ends_in_time),
	};

	proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0 || !unwind_reg_count()) {
		puts("1..0 # SKIP stacks of this machine cannot be read");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
