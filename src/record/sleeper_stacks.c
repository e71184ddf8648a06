/* sleeper_stacks.c - see sleeper_stacks.h. */
#include "record/sleeper_stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "event/stacks.h"
#include "proc/proc.h"
#include "record/futex_place.h"
#include "record/bpf/raw_stack.h"
#include "record/images.h"
#include "record/jit_files.h"
#include "record/name_child.h"
#include "record/python_codes.h"
#include "record/python_walk.h"
#include "record/pythons.h"
#include "record/stack_fetch.h"
#include "record/stack_keep.h"
#include "record/stack_names.h"
#include "store/stack_file.h"

#define BYTES_MAX (64 << 20) /* of the answer */

/* False when it went on meanwhile, or nothing is there. */
static bool sleeper_fetch(int proc_fd, const struct sleeper *sleeper,
			  const struct raw_python *python, struct python_codes *codes,
			  struct raw_stack *raw)
{
	*raw = (struct raw_stack){ .tid = (uint32_t)sleeper->tid,
				   .tgid = (uint32_t)sleeper->tgid,
				   .end_ns = clock_now_ns(),
				   .flags = RAW_STACK_OPEN | RAW_STACK_NO_BEGIN | RAW_STACK_TWO };
	raw->regs[RAW_STACK_SP] = sleeper->sp;
	raw->regs[RAW_STACK_PC] = sleeper->pc;
	raw->futex.address = sleeper->futex;
	futex_place_read(sleeper->tgid, &raw->futex);
	stack_fetch(raw);
	if (python)
		python_fetch(python, codes, raw);
	return raw->bytes && proc_runs(proc_fd, sleeper->tgid, sleeper->tid) == sleeper->runs;
}

/* In the child. What cannot be made or read leaves stacks out. */
static _Noreturn void sleeper_run(const struct sleeper *sleepers, size_t count, int fd)
{
	static const struct stack_sampling none;
	int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct raw_stack *raw = xcalloc(1, sizeof(*raw));
	struct stack_keep *keep = stack_keep_new(-1, 0); /* in memory */
	struct images *images = images_new_still();
	struct jit_files *jit_files = jit_files_new();
	struct pythons *pythons = pythons_new(images);
	struct python_codes *codes = python_codes_new();

	if (!keep || proc_fd < 0)
		_exit(1);
	for (size_t i = 0; i < count; i++) {
		images_want(images, sleepers[i].tgid);
		pythons_look(pythons, NULL, NULL);
		if (!sleeper_fetch(proc_fd, &sleepers[i], pythons_find(pythons, sleepers[i].tgid),
				   codes, raw))
			continue;
		jit_files_want(jit_files, sleepers[i].tgid, raw->end_ns);
		stack_keep_add(keep, raw, offsetof(struct raw_stack, stack) + raw->bytes);
	}
	stack_names_run(&(struct stack_names_from){ keep, images, jit_files, pythons, codes },
			&none, fd);
}

/* What the child wrote: where it did not get that far, there is nothing. */
static void sleeper_read(int fd, struct stacks *stacks)
{
	off_t bytes = lseek(fd, 0, SEEK_END);
	AUTO_FREE char *text =
		bytes > 0 && bytes < BYTES_MAX ? xcalloc(1, (size_t)bytes + 1) : NULL;
	size_t bad; /* the last line, of one that was ended */

	if (text && pread(fd, text, (size_t)bytes, 0) == bytes)
		(void)stack_file_parse(text, stacks, &bad);
	stacks_finish(stacks);
}

int sleeper_stacks_take(const struct sleeper *sleepers, size_t count, int wait_ms,
			struct stacks *stacks, struct err *err)
{
	AUTO_CLOSE int fd = memfd_create("holdup-stacks", MFD_CLOEXEC);
	pid_t child;
	int rc;

	if (fd < 0)
		return err_set(err, -errno, "no room for stacks: %s", strerror(errno));
	child = fork();
	if (child < 0)
		return err_set(err, -errno, "no process to take stacks: %s", strerror(errno));
	if (child == 0)
		sleeper_run(sleepers, count, fd);
	rc = name_child_await(child, wait_ms, err);
	sleeper_read(fd, stacks);
	return rc;
}
