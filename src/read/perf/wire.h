/*
 * wire.h - what is in a perf.data file, and how its numbers are read.
 *
 * From include/uapi/linux/perf_event.h (records, attributes) and
 * tools/perf/Documentation/perf.data-file-format.txt (the file around them). Numbers are in
 * the byte order of the machine that recorded.
 */
#ifndef READ_PERF_WIRE_H
#define READ_PERF_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/order.h"

#define PERF_MAGIC	    UINT64_C(0x32454c4946524550) /* "PERFILE2" */
#define PERF_MAGIC_OLD	    UINT64_C(0x454c494646524550) /* "PERFFILE" */
#define PERF_PIPE_HEADER    16u
#define PERF_FILE_HEADER    104u
#define PERF_RECORD_HEADER  8u /* u32 type, u16 misc, u16 bytes of the record */
#define PERF_ATTR_MIN_BYTES 64u

enum perf_record_type {
	PERF_MMAP = 1,
	PERF_LOST = 2,
	PERF_COMM = 3,
	PERF_EXIT = 4,
	PERF_THROTTLE = 5,
	PERF_UNTHROTTLE = 6,
	PERF_FORK = 7,
	PERF_READ = 8,
	PERF_SAMPLE = 9,
	PERF_MMAP2 = 10,
	PERF_AUX = 11,
	PERF_ITRACE_START = 12,
	PERF_LOST_SAMPLES = 13,
	PERF_SWITCH = 14,
	PERF_SWITCH_CPU_WIDE = 15,
	PERF_NAMESPACES = 16,
	PERF_KSYMBOL = 17,
	PERF_BPF_EVENT = 18,
	PERF_CGROUP = 19,
	PERF_TEXT_POKE = 20,
	PERF_AUX_OUTPUT_HW_ID = 21,
	PERF_CALLCHAIN_DEFERRED = 22,
	PERF_KERNEL_TYPES = 64, /* those below are the kernel's, the others the tool's */
	PERF_HEADER_ATTR = 64,
	PERF_HEADER_TRACING_DATA = 66,
	PERF_FINISHED_ROUND = 68,
	PERF_ID_INDEX = 69,
	PERF_AUXTRACE = 71,
	PERF_EVENT_UPDATE = 78,
	PERF_HEADER_FEATURE = 80,
	PERF_COMPRESSED = 81,
	PERF_FINISHED_INIT = 82,
	PERF_COMPRESSED2 = 83,
	PERF_ALL_TYPES = 128, /* counted one by one below this */
};

enum perf_misc {
	PERF_MISC_CPUMODE = 7, /* 1 kernel, 2 user, 3 hypervisor, 4 guest kernel, 5 guest user */
	PERF_MISC_COMM_EXEC = 1 << 13,
	PERF_MISC_SWITCH_OUT = 1 << 13,
	PERF_MISC_PREEMPT = 1 << 14,
};

/* perf_event_attr.type */
enum perf_event_kind {
	PERF_KIND_HARDWARE,
	PERF_KIND_SOFTWARE,
	PERF_KIND_TRACEPOINT,
	PERF_KIND_CACHE,
	PERF_KIND_RAW,
	PERF_KIND_BREAKPOINT,
};

/* perf_event_attr.sample_type */
#define PERF_HAS_IP	     (UINT64_C(1) << 0)
#define PERF_HAS_TID	     (UINT64_C(1) << 1)
#define PERF_HAS_TIME	     (UINT64_C(1) << 2)
#define PERF_HAS_ADDR	     (UINT64_C(1) << 3)
#define PERF_HAS_READ	     (UINT64_C(1) << 4)
#define PERF_HAS_CALLCHAIN   (UINT64_C(1) << 5)
#define PERF_HAS_ID	     (UINT64_C(1) << 6)
#define PERF_HAS_CPU	     (UINT64_C(1) << 7)
#define PERF_HAS_PERIOD	     (UINT64_C(1) << 8)
#define PERF_HAS_STREAM_ID   (UINT64_C(1) << 9)
#define PERF_HAS_RAW	     (UINT64_C(1) << 10)
#define PERF_HAS_BRANCH	     (UINT64_C(1) << 11)
#define PERF_HAS_REGS_USER   (UINT64_C(1) << 12)
#define PERF_HAS_STACK_USER  (UINT64_C(1) << 13)
#define PERF_HAS_WEIGHT	     (UINT64_C(1) << 14)
#define PERF_HAS_DATA_SRC    (UINT64_C(1) << 15)
#define PERF_HAS_IDENTIFIER  (UINT64_C(1) << 16)
#define PERF_HAS_TRANSACTION (UINT64_C(1) << 17)
#define PERF_HAS_REGS_INTR   (UINT64_C(1) << 18)
#define PERF_HAS_PHYS_ADDR   (UINT64_C(1) << 19)
#define PERF_HAS_AUX	     (UINT64_C(1) << 20)
#define PERF_HAS_CGROUP	     (UINT64_C(1) << 21)
#define PERF_HAS_DATA_PAGE   (UINT64_C(1) << 22)
#define PERF_HAS_CODE_PAGE   (UINT64_C(1) << 23)
#define PERF_HAS_WEIGHTS     (UINT64_C(1) << 24) /* WEIGHT_STRUCT: the same 8 bytes */

/* Whose registers are in a sample. */
enum perf_regs_abi {
	PERF_REGS_NONE,
	PERF_REGS_32,
	PERF_REGS_64,
};

/* perf_event_attr.read_format */
#define PERF_READ_ENABLED (UINT64_C(1) << 0)
#define PERF_READ_RUNNING (UINT64_C(1) << 1)
#define PERF_READ_ID	  (UINT64_C(1) << 2)
#define PERF_READ_GROUP	  (UINT64_C(1) << 3)
#define PERF_READ_LOST	  (UINT64_C(1) << 4)

/* Bits of the word at offset 40 of perf_event_attr. */
#define PERF_FLAG_INHERIT	(UINT64_C(1) << 1)
#define PERF_FLAG_FREQ		(UINT64_C(1) << 10)
#define PERF_FLAG_ON_EXEC	(UINT64_C(1) << 12)
#define PERF_FLAG_SAMPLE_ID_ALL (UINT64_C(1) << 18)
#define PERF_FLAG_USE_CLOCKID	(UINT64_C(1) << 25)

#define PERF_BRANCH_HW_INDEX (UINT64_C(1) << 17) /* of branch_sample_type */
#define PERF_BRANCH_COUNTERS (UINT64_C(1) << 19)

/* In call chains, before the addresses of: */
#define PERF_CONTEXT_KERNEL ((uint64_t)-128)
#define PERF_CONTEXT_USER   ((uint64_t)-512)
#define PERF_CONTEXT_MAX    ((uint64_t)-4095) /* at or above: no address */

enum perf_feature {
	PERF_FEATURE_TRACING_DATA = 1,
	PERF_FEATURE_BUILD_ID = 2,
	PERF_FEATURE_HOSTNAME = 3,
	PERF_FEATURE_OSRELEASE = 4,
	PERF_FEATURE_VERSION = 5,
	PERF_FEATURE_ARCH = 6,
	PERF_FEATURE_NRCPUS = 7,
	PERF_FEATURE_CMDLINE = 11,
	PERF_FEATURE_EVENT_DESC = 12,
	PERF_FEATURE_PMU_MAPPINGS = 16,
	PERF_FEATURE_SAMPLE_TIME = 21,
	PERF_FEATURE_CLOCK_DATA = 29,
	PERF_FEATURE_COUNT = 256, /* bits in the header */
};

static inline uint64_t perf_u64(const uint8_t *at, bool swap)
{
	uint64_t number;

	memcpy(&number, at, sizeof(number));
	return order_u64(number, __builtin_expect(swap, 0));
}

static inline uint32_t perf_u32(const uint8_t *at, bool swap)
{
	uint32_t number;

	memcpy(&number, at, sizeof(number));
	return order_u32(number, __builtin_expect(swap, 0));
}

/* Bytes that are taken one after the other, never behind the end. */
struct perf_cursor {
	const uint8_t *at, *end;
	bool swap;
	bool bad; /* more was asked for than there is: nothing is taken any more */
};

static inline const uint8_t *perf_take(struct perf_cursor *cursor, uint64_t bytes)
{
	const uint8_t *at = cursor->at;

	if (cursor->bad || bytes > (uint64_t)(cursor->end - at)) {
		cursor->bad = true;
		return NULL;
	}
	cursor->at += bytes;
	return at;
}

static inline uint64_t perf_take_u64(struct perf_cursor *cursor)
{
	const uint8_t *at = perf_take(cursor, 8);

	return at ? perf_u64(at, cursor->swap) : 0;
}

static inline uint32_t perf_take_u32(struct perf_cursor *cursor)
{
	const uint8_t *at = perf_take(cursor, 4);

	return at ? perf_u32(at, cursor->swap) : 0;
}

static inline uint16_t perf_u16(const uint8_t *at, bool swap)
{
	uint16_t number;

	memcpy(&number, at, sizeof(number));
	return order_u16(number, __builtin_expect(swap, 0));
}

/* A record, whole in memory. */
struct perf_record {
	const uint8_t *data; /* its header first */
	uint32_t bytes;	     /* at least PERF_RECORD_HEADER */
	uint32_t type;
	uint16_t misc;
};

/*
 * The record at 'at', of which 'left' bytes are there. Returns its length, 0 when more bytes are
 * needed, and -1 when its length is none.
 */
static inline int32_t perf_record_at(const uint8_t *at, uint64_t left, bool swap,
				     struct perf_record *out_record)
{
	uint16_t bytes;

	if (left < PERF_RECORD_HEADER)
		return 0;
	bytes = perf_u16(at + 6, swap);
	if (bytes < PERF_RECORD_HEADER)
		return -1;
	if (bytes > left)
		return 0;
	*out_record = (struct perf_record){
		.data = at,
		.bytes = bytes,
		.type = perf_u32(at, swap),
		.misc = perf_u16(at + 4, swap),
	};
	return bytes;
}

#endif
