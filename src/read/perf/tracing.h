/*
 * tracing.h - the part of a perf.data file that says what tracepoints look like.
 *
 *	17 08 44 "tracing" version\0 | u8 big endian | u8 bytes of a long | u32 bytes of a page
 *	"header_page\0" u64 bytes, text | "header_event\0" u64 bytes, text
 *	u32 formats of ftrace: u64 bytes, text ...
 *	u32 systems: name\0, u32 formats: u64 bytes, text ...
 *	u32 bytes, kallsyms | u32 bytes, printk formats | from 0.6 on: u64 bytes, names of threads
 */
#ifndef READ_PERF_TRACING_H
#define READ_PERF_TRACING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct facts;
struct formats;

struct perf_tracing {
	bool big_endian;
	uint32_t long_bytes;
};

/*
 * Add the format texts to 'formats', and kernel symbols, where there are some, to 'facts'.
 * What stands before damage is added. Returns 0, or -EBADMSG with err filled.
 */
int perf_tracing_read(const uint8_t *data, size_t bytes, struct formats *formats,
		      struct facts *facts, struct perf_tracing *out_tracing, struct err *err);

/*
 * Kernel symbols from lines "ADDRESS KIND NAME", unless there are some already. 'text' is the
 * facts' from now on.
 */
void perf_symbols_add(char *text, struct facts *facts);

#endif
