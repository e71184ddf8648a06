/*
 * trace.h - log events of your own program, beside the kernel's.
 *
 *	#include <holdup/trace.h>
 *
 *	HOLDUP_EVENT(shop, order_paid, (u64, order), (f64, amount), (str, customer))
 *	...
 *	holdup_shop_order_paid(4711, 19.99, "Smith");
 *
 * Link with -lholdup (pkg-config holdup). C11 or C++11, GCC or Clang. An event is declared
 * once, at file scope, and is then a function that takes its fields. "shop" is the event's
 * class ("major" in K42's words): one bit of a mask each, at most 63 in a process, of 1,023
 * events. While its class is off, an event costs two loads and a test.
 *
 * Fields, as (TYPE, NAME):
 *	u8 u16 u32 u64 i8 i16 i32 i64	integers
 *	x8 x16 x32 x64			the same as u8 to u64, shown in hexadecimal
 *	f32 f64 bool			float, double, bool
 *	str				a string: const char *, NULL is ""
 *	bytes				bytes: const void *, and their count as next argument
 *	seq_u8 ... seq_i64 seq_f64	a sequence: pointer, and the number of elements
 *	(arr_u8, NAME, 4) ... arr_f64	an array of so many elements: pointer
 *	(enum, NAME, LABELS)		int32_t, with names; see HOLDUP_ENUM()
 *	flow				uint64_t: the same number in events of several threads or
 *					processes says that they serve the same request
 * At most 12 fields, 32,768 bytes an event; a longer one is counted as lost.
 *
 * Where the events go is not the program's business: "holdup record" takes them, or
 *	HOLDUP=stream:DIR	every event, to a new trace below DIR
 *	HOLDUP=flight:DIR	the last HOLDUP_SIZE bytes of each CPU; "holdup recover" finds them
 *	HOLDUP_EVENTS=shop,net:-rx*	what is on (default with HOLDUP: all)
 * See holdup-trace(7), and docs/user-memory.md for why all this is safe.
 *
 * Threads: every function may be called from any thread, from signal handlers, and before
 * main(). Logging never allocates, never takes a lock, never changes errno; once in 128 KiB of
 * events it makes system calls to get new space. What cannot be written is counted, and the
 * count is in the trace. A child of fork() logs to a trace of its own.
 *
 * The ideas are K42's (Wisniewski and Rosenburg, SC 2003): variable-length events in buffers
 * of each CPU, reserved without locks, classes behind one mask. Restartable sequences (rseq(2))
 * make reserving and publishing one step.
 */
#ifndef HOLDUP_TRACE_H
#define HOLDUP_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdup/trace_hot.h>
#include <holdup/trace_macros.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Declare an event: HOLDUP_EVENT(CLASS, NAME, (TYPE, FIELD), ...). It makes the function
 *	void holdup_CLASS_NAME(FIELDS)
 * The same declaration may stand in several files, in a header for instance.
 */
#define HOLDUP_EVENT(...) HOLDUP_EVENT_(__VA_ARGS__)

/* The same, shown as the text says: HOLDUP_EVENT_AS(net, rx, "{len} bytes from {peer:x}", ...). */
#define HOLDUP_EVENT_AS(...) HOLDUP_EVENT_AS_(__VA_ARGS__)

/*
 * Declare a span: a beginning with fields, and an end.
 *	void holdup_CLASS_NAME_begin(FIELDS)
 *	void holdup_CLASS_NAME_end(void)
 */
#define HOLDUP_SPAN(...) HOLDUP_SPAN_(__VA_ARGS__)

/* Begin a span that ends with the block: HOLDUP_SCOPE(shop, checkout, 4711); */
#define HOLDUP_SCOPE(...) HOLDUP_SCOPE_(__VA_ARGS__)

/*
 * Name the values of an enum for fields (enum, NAME, LABELS):
 *	HOLDUP_ENUM(colour, { "red", RED }, { "green", GREEN })
 */
#define HOLDUP_ENUM(labels, ...) \
	static const struct holdup_label_ holdup_enum_##labels##_[] = { __VA_ARGS__, { NULL, 0 } };

/*
 * True while the event would be logged: for arguments that are costly to get.
 *	if (holdup_is_on(shop, order_paid))
 */
#define holdup_is_on(major, name) holdup_on_(holdup_event_##major##_##name##_.id)

/*
 * Switch on what 'events' says, beside what is on: "shop", "shop:order_*,net". A pattern with
 * '-' before it switches off: "-shop:tick". Patterns hold for events declared later, too; the
 * last one that fits an event decides. Returns 0, -EINVAL when a pattern makes no sense, or
 * -E2BIG when all of them together are longer than 1,023 bytes.
 */
HOLDUP_API_ int holdup_enable(const char *events);

/* The same the other way round: switch off what 'events' says. */
HOLDUP_API_ int holdup_disable(const char *events);

enum holdup_mode {
	HOLDUP_STREAM = 1, /* keep all events */
	HOLDUP_FLIGHT = 2, /* keep the last ones of each CPU */
};

struct holdup_options {
	size_t struct_size; /* sizeof(struct holdup_options) */
	const char *dir;    /* the trace becomes a new folder in it; NULL: the runtime folder */
	enum holdup_mode mode;
	uint64_t cpu_bytes; /* of one CPU's events: the limit (stream; 0 = none), or what is always
			       there (flight; 0 = 4 MiB) */
	const char *events; /* as for holdup_enable(); NULL: as they are */
};

/*
 * Log to a new trace from now on; ends the one before. For programs that keep a trace of their
 * own, whatever the environment says. Returns 0 or a negative errno: -EINVAL, or what opening
 * files reports. Not in signal handlers.
 */
HOLDUP_API_ int holdup_start(const struct holdup_options *options);

/* Log nothing any more. The trace stays. Not in signal handlers. */
HOLDUP_API_ void holdup_stop(void);

/* Copy the folder of the present trace, or "". Returns its length, as snprintf() does. */
HOLDUP_API_ size_t holdup_trace_dir(char *out_text, size_t size);

/* Events of this process that found no room so far. */
HOLDUP_API_ uint64_t holdup_lost_count(void);

/* "rseq" or "cas": how events are written here; see docs/user-memory.md. */
HOLDUP_API_ const char *holdup_method(void);

#ifdef __cplusplus
}
#endif

#endif
