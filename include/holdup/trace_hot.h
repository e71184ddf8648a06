/*
 * trace_hot.h - private part of holdup/trace.h: what runs when an event is logged.
 *
 * Nothing here is for callers; names end in '_'. Programs and library of different versions
 * work together as long as HOLDUP_ABI_ is the same.
 */
#ifndef HOLDUP_TRACE_HOT_H
#define HOLDUP_TRACE_HOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HOLDUP_ABI_ 1

#define HOLDUP_API_ __attribute__((visibility("default")))

/* The largest page size of the architecture: a mapping replaces part of a variable. */
#ifdef __x86_64__
#define HOLDUP_PAGE_ 4096
#else
#define HOLDUP_PAGE_ 65536
#endif
#define HOLDUP_IDS_	   65536
#define HOLDUP_CLASSES_	   64
#define HOLDUP_NEWS_	   63 /* no class: its bit says that something has changed */
#define HOLDUP_OFF_	   (0x10000 | HOLDUP_NEWS_) /* id of an event that is off */
#define HOLDUP_TURN_	   16	   /* lower bits of a session's word: number of changes */
#define HOLDUP_LIMIT_	   1048448 /* bits of a packet that events may take */
#define HOLDUP_TEXT_	   1024
#define HOLDUP_NO_SESSION_ (UINT64_MAX >> HOLDUP_TURN_) /* not 0: what CPUs begin with */
#define HOLDUP_PIECE_TEXT_ ((size_t)1 << (sizeof(size_t) * 8 - 1))
#define HOLDUP_WORDS_	   4 /* payloads of so many 8-byte words are passed in registers */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What the process and others (holdup record, holdup user) share: a file, mapped over this
 * part of holdup_state_. 'w' after a field says who writes it.
 */
struct holdup_control_ {
	uint64_t mask; /* w: all. One bit per class: some of its events are on */
	/*
	 * w: all. Number of the trace to log to << 16 | number of changes of the rules, which
	 * is raised after each: the next event finds it, and the process looks at the rules again.
	 */
	uint64_t session;
	uint64_t pid_start; /* w: the process. Start time, as /proc/PID/stat has it */
	uint32_t magic;	    /* w: the process, last */
	uint32_t abi;	    /* w: the process */
	int32_t pid;	    /* w: the process. As it sees itself */
	uint32_t turn;	    /* w: all. Odd while somebody changes what follows */
	uint32_t mode;	    /* w: who asks for a trace. enum holdup_mode */
	uint32_t event_count;
	uint64_t asked;		  /* w: who asks. Number of the last trace that was asked for */
	uint64_t cpu_bytes;	  /* w: who asks */
	char dir[HOLDUP_TEXT_];	  /* w: who asks. Where the trace is to be made */
	char rules[HOLDUP_TEXT_]; /* w: all. Patterns of holdup_enable() */
	char trace[HOLDUP_TEXT_]; /* w: the process. Folder of the present trace */
	char comm[64];		  /* w: the process */
	char names[HOLDUP_IDS_];  /* w: the process. Lines "id class:event" */
};

/* One CPU's place to write to. */
struct holdup_cpu_ {
	uint64_t session; /* of 'packet'; 0: none */
	uint8_t *packet;  /* what is written to */
	uint64_t last;	  /* time after which another packet must begin */
	uint64_t asked;	  /* number of the last trace that asked for the CPU */
	uint64_t spare[4];
};

struct holdup_state_ {
	/*
	 * Made empty in a child of fork() by the kernel. Those before the first one stay empty:
	 * a thread that has no restartable sequences is on CPU -1 or -2.
	 */
	struct holdup_cpu_ *cpus;
	uint64_t abi;
	intptr_t rseq_offset; /* of the thread's struct rseq from its thread pointer */
	uint8_t spare[HOLDUP_PAGE_ - 24];
	struct holdup_control_ control __attribute__((aligned(HOLDUP_PAGE_)));
} __attribute__((aligned(HOLDUP_PAGE_)));

struct holdup_label_ {
	const char *name;
	int32_t value;
};

struct holdup_field_ {
	const char *name;
	uint16_t type;	 /* enum holdup_type_ */
	uint16_t length; /* elements of an array */
	const struct holdup_label_ *labels;
};

struct holdup_event_ {
	uint32_t id;	 /* 'number', or HOLDUP_OFF_ while it is off though its class is on */
	uint32_t number; /* as K42 had it: number in the class << 6 | class; 0 = not registered */
	uint16_t abi;
	uint8_t kind; /* 'e' event, 'b' begin, 'n' end */
	uint8_t field_count;
	const char *major;
	const char *name;
	const char *format; /* or NULL */
	const struct holdup_field_ *fields;
};

struct holdup_piece_ {
	const void *data;
	size_t bytes; /* with HOLDUP_PIECE_TEXT_ when no byte of it may be 0 */
};

extern HOLDUP_API_ struct holdup_state_ holdup_state_;
extern HOLDUP_API_ __thread int32_t holdup_tid_ __attribute__((tls_model("initial-exec")));

/* Write an event by all means there are: new packets, another method, or count it as lost. */
HOLDUP_API_ void holdup_put_slow_(uint32_t id, const void *payload, size_t bytes);
HOLDUP_API_ void holdup_put_pieces_(uint32_t id, const struct holdup_piece_ *pieces, size_t count);

/* For an event that is off, when there are news: its id if it is on after all, or HOLDUP_OFF_. */
HOLDUP_API_ uint32_t holdup_news_(const struct holdup_event_ *event);

/* The events between the two places: all of one program or library. */
HOLDUP_API_ void holdup_register_(struct holdup_event_ *const *from,
				  struct holdup_event_ *const *to);
HOLDUP_API_ void holdup_unregister_(struct holdup_event_ *const *from,
				    struct holdup_event_ *const *to);

#ifdef __cplusplus
}
#endif

/*
 * Is the event on? The mask is another process's to change, so it is read anew each time; the
 * order of this against other memory does not matter.
 */
static inline __attribute__((always_inline)) bool holdup_on_(uint32_t id)
{
	uint64_t mask = __atomic_load_n(&holdup_state_.control.mask, __ATOMIC_RELAXED);

	return __builtin_expect(mask >> (id % HOLDUP_CLASSES_) & 1, 0);
}

/* The description of a sequence (struct rseq_cs), at label 3. */
#define HOLDUP_RSEQ_CS_                     \
	".pushsection __rseq_cs, \"aw?\"\n" \
	".balign 32\n"                      \
	"3:\n"                              \
	".long 0, 0\n"                      \
	".quad 1f, 2f - 1f, 4f\n"           \
	".popsection\n"

#if defined(__x86_64__) && !defined(__ILP32__)
#include <holdup/trace_x86.h>
#elif defined(__aarch64__)
#include <holdup/trace_arm.h>
#else
#define HOLDUP_NO_RSEQ_
#endif

#ifndef HOLDUP_NO_RSEQ_

#define HOLDUP_NO_WORD_
#define HOLDUP_WORD_(word) , [word] "r"(word)

/* One event of 'bytes' bytes in one sequence. It begins again at 'again', and gives up at 'slow'. */
#define HOLDUP_RSEQ_PUT_(store, bits_in, inputs, clobbers)                                  \
	__asm__ goto(HOLDUP_RSEQ_BEGIN_ store HOLDUP_RSEQ_END_                              \
		     :                                                                      \
		     : HOLDUP_RSEQ_INPUTS_, [bits] bits_in(96 + 8 * (uint64_t)bytes) inputs \
		     : HOLDUP_RSEQ_CLOBBERS_ clobbers                                       \
		     : slow, again)

/*
 * Write an event of 'bytes' bytes of payload, a constant of at most 32, in w0 to w3. False when
 * it cannot be done here and now.
 */
static inline __attribute__((always_inline)) bool holdup_put_words_(uint32_t id, size_t bytes,
								    uint64_t w0, uint64_t w1,
								    uint64_t w2, uint64_t w3)
{
	int32_t tid = holdup_tid_;

	if (__builtin_expect(!tid, 0))
		return false;
again:
	if (bytes == 0)
		HOLDUP_RSEQ_PUT_("", HOLDUP_BITS_, HOLDUP_NO_WORD_, HOLDUP_NO_WORD_);
	else if (bytes <= 8)
		HOLDUP_RSEQ_PUT_(HOLDUP_STORE_0_, HOLDUP_BITS_, HOLDUP_WORD_(w0), HOLDUP_NO_WORD_);
	else if (bytes <= 16)
		HOLDUP_RSEQ_PUT_(HOLDUP_STORE_0_ HOLDUP_STORE_1_, HOLDUP_BITS_,
				 HOLDUP_WORD_(w0) HOLDUP_WORD_(w1), HOLDUP_NO_WORD_);
	else if (bytes <= 24)
		HOLDUP_RSEQ_PUT_(HOLDUP_STORE_0_ HOLDUP_STORE_1_ HOLDUP_STORE_2_, HOLDUP_BITS_,
				 HOLDUP_WORD_(w0) HOLDUP_WORD_(w1) HOLDUP_WORD_(w2),
				 HOLDUP_NO_WORD_);
	else
		HOLDUP_RSEQ_PUT_(HOLDUP_STORE_0_ HOLDUP_STORE_1_ HOLDUP_STORE_2_ HOLDUP_STORE_3_,
				 HOLDUP_BITS_,
				 HOLDUP_WORD_(w0) HOLDUP_WORD_(w1) HOLDUP_WORD_(w2)
					 HOLDUP_WORD_(w3),
				 HOLDUP_NO_WORD_);
	return true;
slow:
	return false;
}

/* The library's own: 'payload' can be read up to the next multiple of 8. */
static inline __attribute__((unused)) bool holdup_put_long_(uint32_t id, const void *payload,
							    size_t bytes)
{
	int32_t tid = holdup_tid_;

again:
	HOLDUP_RSEQ_PUT_(HOLDUP_LONG_, "r", HOLDUP_LONG_INPUTS_, HOLDUP_LONG_CLOBBERS_);
	return true;
slow:
	return false;
}

/* The same of pieces. */
static inline __attribute__((unused)) bool holdup_put_bulk_(uint32_t id,
							    const struct holdup_piece_ *pieces,
							    size_t count, size_t bytes)
{
	int32_t tid = holdup_tid_;

again:
	HOLDUP_RSEQ_PUT_(HOLDUP_BULK_, "r", HOLDUP_BULK_INPUTS_, HOLDUP_BULK_CLOBBERS_);
	return true;
slow:
	return false;
}

/*
 * On 'cpu', while its packet is 'old': let 'next' begin now, and be the packet. False: it is
 * not so any more. Times in 'old' are earlier, those in 'next' are later.
 */
static inline __attribute__((unused)) bool holdup_switch_(uint32_t cpu, uint8_t *old, uint8_t *next)
{
again:
	HOLDUP_RSEQ_SWITCH_;
	return true;
gone:
	return false;
}

#endif

/* Log a payload of fixed length; it is a constant here, so one branch remains. */
static inline __attribute__((always_inline)) void holdup_put_(uint32_t id, const uint64_t *words,
							      size_t bytes)
{
#ifndef HOLDUP_NO_RSEQ_
	if (__builtin_constant_p(bytes) && bytes <= 8 * HOLDUP_WORDS_) {
		/* One by one: a loop may become a copy of vectors, which the words then wait for. */
		const uint64_t w0 = bytes > 0 ? words[0] : 0;
		const uint64_t w1 = bytes > 8 ? words[1] : 0;
		const uint64_t w2 = bytes > 16 ? words[2] : 0;
		const uint64_t w3 = bytes > 24 ? words[3] : 0;

		if (__builtin_expect(!holdup_put_words_(id, bytes, w0, w1, w2, w3), 0)) {
			/* A copy: the address of 'words' must not be known elsewhere. */
			const uint64_t again[HOLDUP_WORDS_] = { w0, w1, w2, w3 };

			holdup_put_slow_(id, again, bytes);
		}
		return;
	}
#endif
	holdup_put_slow_(id, words, bytes);
}

#endif
