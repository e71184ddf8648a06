/* wait_stacks_none.c - stands in for wait_stacks.c where the BPF program could not be built. */
#include <errno.h>
#include <stddef.h>

#include "base/err.h"
#include "record/wait_stacks.h"

int wait_stacks_start(int kernel_fd, const struct wait_stacks_opts *opts,
		      struct wait_stacks **out_stacks, struct err *err)
{
	(void)kernel_fd;
	(void)opts;
	(void)out_stacks;
	return err_set(err, -ENOTSUP, "holdup was built without its BPF program");
}

void wait_stacks_probe(struct wait_stacks_probed *out_probed)
{
	*out_probed = (struct wait_stacks_probed){ 0 };
	(void)err_set(&out_probed->waits, -ENOTSUP, "holdup was built without its BPF program");
	out_probed->samples = out_probed->waits;
}

int32_t wait_stacks_tid(const struct wait_stacks *stacks)
{
	(void)stacks;
	return 0;
}

int wait_stacks_rest(struct wait_stacks *stacks, bool rests, struct err *err)
{
	(void)stacks;
	(void)rests;
	(void)err;
	return 0;
}

void wait_stacks_end(struct wait_stacks *stacks)
{
	(void)stacks;
}

void wait_stacks_write(struct wait_stacks *stacks, struct manifest *manifest)
{
	(void)stacks;
	(void)manifest;
}

void wait_stacks_stop(struct wait_stacks *stacks)
{
	(void)stacks;
}

void wait_stacks_keep(struct wait_stacks *stacks, uint64_t keep_ns)
{
	(void)stacks;
	(void)keep_ns;
}

void wait_stacks_take_open(struct wait_stacks *stacks)
{
	(void)stacks;
}

void wait_stacks_snapshot(struct wait_stacks *stacks, int kernel_fd, uint64_t begin_ns,
			  struct manifest *manifest)
{
	(void)stacks;
	(void)kernel_fd;
	(void)begin_ns;
	(void)manifest;
}

uint64_t wait_stacks_bytes(struct wait_stacks *stacks)
{
	(void)stacks;
	return 0;
}

uint64_t wait_stacks_file_bytes(struct wait_stacks *stacks)
{
	(void)stacks;
	return 0;
}

int32_t wait_stacks_naming_pid(const struct wait_stacks *stacks)
{
	(void)stacks;
	return 0;
}

int wait_stacks_named_fd(const struct wait_stacks *stacks)
{
	(void)stacks;
	return -1;
}

int wait_stacks_named(struct wait_stacks *stacks, struct err *err)
{
	(void)stacks;
	(void)err;
	return 0;
}
