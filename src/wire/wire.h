/*
 * wire.h - what bytes look like on disk, where they are not JSON or text.
 *
 * Layouts only. All integers are in the byte order of the recording machine;
 * trace.json names its architecture.
 */
#ifndef WIRE_WIRE_H
#define WIRE_WIRE_H

#include <stdint.h>

/*
 * The page header of the kernel's ring buffer (Documentation/trace/ring-buffer-design.rst,
 * kernel/trace/ring_buffer.c: struct buffer_data_page). 'commit' holds the number of
 * data bytes in its low 20 bits and two flags that splice and read set.
 */
struct wire_page_header {
	uint64_t time_stamp;
	uint64_t commit; /* 4 bytes on a 32-bit kernel: header_page tells */
};

#define WIRE_PAGE_COMMIT_MASK 0xfffffu
#define WIRE_PAGE_LOST	      (1u << 31) /* events were lost before this page */
#define WIRE_PAGE_LOST_STORED (1u << 30) /* their number stands behind the data, as a long */

/* Event header: type_len in the low 5 bits, time delta in the upper 27. */
#define WIRE_TYPE_DATA_MAX    28 /* 1..28: data length in 4-byte words */
#define WIRE_TYPE_PADDING     29
#define WIRE_TYPE_TIME_EXTEND 30
#define WIRE_TYPE_TIME_STAMP  31
#define WIRE_DELTA_BITS	      27

/*
 * kernel/names: records from the BPF program, each followed by 'name_bytes' bytes
 * of name (not terminated) and padding to a multiple of 8.
 */
#define WIRE_NAME_MAGIC 0x6d4e4468u /* "hDNm" */
#define WIRE_NAME_MAX	4096

struct wire_name {
	uint32_t magic;
	uint32_t name_bytes; /* at most WIRE_NAME_MAX */
	uint64_t mono_ns;    /* CLOCK_MONOTONIC when the call returned */
	uint64_t inode;
	int32_t tgid;
	int32_t tid;
	int32_t fd;
	uint32_t role; /* enum fd_role and its marks, enum fd_watch << FD_WATCH_SHIFT */
};

/*
 * kernel/cpuN.calls, of lean events: for each thread that left CPU N to sleep, but those of the kernel
 * and of the recorder, the system call that it was in; in the order in which they left it.
 */
#define WIRE_CALL_NONE	 0xffffu /* in no call */
#define WIRE_CALL_COMPAT 1u	 /* the number is of the 32-bit table */
#define WIRE_CALL_ENDED	 2u	 /* it had returned: the thread was on its way out of the kernel */
#define WIRE_CALL_LOSS	 4u	 /* records of this CPU were lost before this one */

struct wire_call {
	uint64_t mono_ns; /* CLOCK_MONOTONIC, about when it left */
	int32_t tid;
	uint16_t nr;
	uint16_t flags;
	uint64_t args[6];
};

#endif
