/*
 * klocks.h - learn which kernel locks were waited for while recording, and who had them.
 *
 * A BPF program at lock:contention_begin and _end; see locks.bpf.c. It has no thread of its own:
 * who drains it calls klocks_look() a few times a second.
 */
#ifndef RECORD_KLOCKS_H
#define RECORD_KLOCKS_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct klocks;

struct klock_told {
	uint64_t mono_ns; /* CLOCK_MONOTONIC when it began to wait */
	uint64_t lock;	  /* address */
	int32_t tid;	  /* who waited */
	int32_t tgid;
	int32_t owner;	  /* tid of who had it then; 0 = not known */
	const char *text; /* see klock_text.h; a view */
};

typedef void klocks_sink(void *context, const struct klock_told *told);

/*
 * Returns 0 and sets *out_klocks; end it with klocks_stop(). 'sink' is called by klocks_look(). 'keep_bytes' as in
 * names_keep(): the maps are smaller; 0 = a recording.
 */
int klocks_start(klocks_sink *sink, void *context, uint64_t keep_bytes, struct klocks **out_klocks,
		 struct err *err);

/* The recording began at that time (CLOCK_MONOTONIC): waits that go on then are told from then on. */
void klocks_begin(struct klocks *klocks, uint64_t mono_ns);

/* A descriptor that can be polled for input: there is much to drain. */
int klocks_fd(const struct klocks *klocks);

/* Give the sink what was learnt; 'is_last': of all waits that go on, too. One thread. */
void klocks_look(struct klocks *klocks, bool is_last);

/* Records that found no room in the kernel's buffer. Any thread. */
uint64_t klocks_lost(const struct klocks *klocks);

/* Nothing is learnt any more. */
void klocks_end(struct klocks *klocks);

/* klocks_end(), and free. NULL is fine. */
void klocks_stop(struct klocks *klocks);

#endif
