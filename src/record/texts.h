/*
 * texts.h - what the kernel says about its events and its symbols, kept with the trace.
 */
#ifndef RECORD_TEXTS_H
#define RECORD_TEXTS_H

#include <stdbool.h>
#include <stdint.h>

/* The kernel's function that issues requests which a limit held back. */
#define DISPATCH_SYMBOL "blk_throtl_dispatch_work_fn"

struct err;
struct manifest;
struct probes;

/*
 * Write kernel/formats: header_page, header_event, the formats of
 * manifest->events and, with 'stacks', of the stack records. Those of 'probes' are
 * written under the names that the trace has for them. Returns 0, or a negative errno
 * with err filled.
 */
int texts_write_formats(int instance_fd, int kernel_fd, const struct manifest *manifest,
			const struct probes *probes, bool stacks, struct err *err);

/*
 * Write kernel/kallsyms: "ADDRESS NAME" of the kernel's functions, sorted. Where
 * the kernel hides them that goes to manifest->missing. *out_dispatch: that of DISPATCH_SYMBOL, 0 = not
 * known. Returns 0, or a negative errno with err filled when the disk does not take it.
 */
int texts_write_symbols(int kernel_fd, struct manifest *manifest, uint64_t *out_dispatch,
			struct err *err);

#endif
