/* stack_fetch.c - see stack_fetch.h. */
#include "record/stack_fetch.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "record/bpf/raw_stack.h"

void stack_fetch(struct raw_stack *raw)
{
	uint64_t at = raw->regs[RAW_STACK_SP];
	struct iovec to = { raw->stack, RAW_STACK_MAX }, from[RAW_STACK_MAX / RAW_STACK_PAGE + 1];
	size_t count = 0, left = RAW_STACK_MAX;
	ssize_t got;

	/* Page by page, as nothing is read of a part that reaches into what is not there. */
	for (; left; count++) {
		size_t part = RAW_STACK_PAGE - (at & (RAW_STACK_PAGE - 1));

		part = part < left ? part : left;
		from[count] = (struct iovec){ (void *)(uintptr_t)at, part };
		at += part;
		left -= part;
	}
	got = process_vm_readv((pid_t)raw->tid, &to, 1, from, count, 0);
	raw->bytes = got > 0 ? (uint32_t)got : 0;
}
