/*
 * stacks.h - in which code threads waited and worked: stacks, each once, and what they are of.
 *
 * Facts beside the events: a reader fills them, see facts.h. All strings live as long as the stacks.
 * Unknown is NULL or 0, never a guess. Read-only once filled: any number of threads may read it.
 */
#ifndef EVENT_STACKS_H
#define EVENT_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/names.h"

struct stack_frame {
	const char *function;  /* demangled, without arguments, suffixes of clones and hashes */
	const char *signature; /* whole */
	const char *module;    /* the file's base name; "[kernel]", "[vdso]" */
	const char *path;      /* of that file */
	const char *build_id;  /* hexadecimal */
	const char *file;      /* of the source */
	uint32_t line;	       /* of the call */
	uint64_t offset;       /* address as the ELF file counts; of the kernel: its address */
	uint64_t
		start; /* of a function without a name: where it begins, as 'offset'; 0 = not known */
	bool is_kernel;
	bool is_script; /* a runtime's own: a function of the script, whose code was made when it ran */
	bool is_inlined; /* the compiler put the function into the next frame's */
	bool is_unnamed; /* its names were left to later */
	bool is_in_file; /* 'offset' counts bytes of the file: its address there is not known */
};

/* What a thread of a known program waits for with a stack: see idle_table.h. */
enum stack_idle {
	STACK_NOT_IDLE, /* or it is not known */
	STACK_IDLE,	/* for work */
	STACK_LAUNCHED, /* for the end of the thread that it has the program run in */
	STACK_PARKED, /* its runtime has no work for any thread: what the program waits for shows elsewhere */
	STACK_POLLS, /* the same, and looks after descriptors and timers for all of them meanwhile */
	STACK_AWAITS,	 /* not idle: for what its workers do, threads or child processes */
	STACK_SLEEPS,	 /* not idle: for a time that it was asked to sleep */
	STACK_IDLE_WORD, /* of a wait, never of a stack: for work, as its others at that word are */
};

/* Frames innermost first: those of the kernel, then the user's. */
struct stack {
	uint32_t first; /* a run in stacks.frame_ids */
	uint32_t count;
	const char *end; /* why it goes no further than this; NULL = the thread began there */

	/*
	 * The place of a wait: the innermost frame of a script that is not of the files with which scripts wait, else
	 * the innermost of a script, else the first frame outside of the kernel, the C library, the loader and the
	 * functions with which runtimes wait. Where nothing is known of the program, the first function of the kernel
	 * that is not what all sleepers are in. FRAME_NONE = there is none. And who called it.
	 */
	uint32_t place, caller;
	uint32_t
		script; /* the innermost frame of a script, which owns what it called; FRAME_NONE */
	uint32_t
		alike; /* the first stack whose place is in the same function; itself without one */
	uint32_t alike_leaf; /* the same of its innermost frame, or its script's */
	uint8_t idle;	     /* enum stack_idle */
	/* Its own frames: without those of the kernel and of what anybody waits with. Of a script's only those of scripts. */
	uint8_t depth;
	bool at_condition; /* it waits with what is for conditions and signals, not with a lock */
	bool in_task;	   /* it is at what a worker was given to do */
};

#define FRAME_NONE UINT32_MAX

/* The waits of a thread in one system call, or at one page fault. */
struct stack_wait {
	int32_t tid;
	uint32_t stack;	   /* index into stacks.stacks */
	uint64_t begin_ns; /* of the first one; ns on the trace clock; 0 = before the recording */
	uint64_t end_ns;   /* of the last one */
	uint64_t slept_ns; /* in all; 'is_short': in all the waits that this one stands for */
	bool is_short;	   /* it is one of many short waits */
	bool is_open;	   /* it had not ended when the recording did */
};

/* A look at a thread that had a CPU. */
struct stack_sample {
	uint64_t time_ns; /* on the trace clock */
	int32_t tid;
	uint32_t stack;
};

/* What is known of a word that a process's threads waited for in futex(2). */
enum stack_futex_kind {
	STACK_FUTEX_PLACE,    /* no more than where it was waited for */
	STACK_FUTEX_VARIABLE, /* it lies in a variable */
	STACK_FUTEX_GIL,      /* of CPython's global interpreter lock */
	STACK_FUTEX_ARENA,    /* the lock of an arena of glibc's malloc */
	STACK_FUTEX_SHARED,   /* it lies in a shared mapping of a file */
};

struct stack_futex {
	int32_t tgid;
	uint64_t address;
	uint64_t from_ns,
		until_ns; /* the program that this holds for ran from ... to; trace clock */
	enum stack_futex_kind kind;
	const char *
		name; /* VARIABLE: "ledger_lock", "bank.lock", "bank+0x28"; SHARED: "/dev/shm/x+0x40" */
	const char *module; /* VARIABLE: base name of its file */
	uint32_t stack;	    /* of the first of those waits for it that have one */
};

struct stack_sampling {
	uint64_t period_ns; /* from one look at a CPU to the next; 0 = there were none */
	uint64_t lost;	    /* samples that were not kept */
	bool is_all;	    /* of all threads; else of the command, or of what was chosen */
};

struct stacks {
	struct stack_frame *frames;
	size_t frame_count, frame_cap;
	uint32_t *frame_ids;
	size_t frame_id_count, frame_id_cap;
	struct stack *stacks;
	size_t stack_count, stack_cap;
	struct stack_wait *waits; /* sorted by (tid, end_ns) by stacks_finish() */
	size_t wait_count, wait_cap;
	struct stack_sample *samples; /* sorted by (tid, time_ns) by stacks_finish() */
	size_t sample_count, sample_cap;
	struct stack_futex *futexes; /* sorted by (tgid, address, from_ns) by stacks_finish() */
	size_t futex_count, futex_cap;
	struct stack_sampling sampling;
	struct names texts;
};

#define STACK_NONE UINT32_MAX

/* The five of them for who fills it: each copies what it is given. */
void stacks_add_frame(struct stacks *stacks, const struct stack_frame *frame);
/* The same in the place of one that is there. */
void stacks_set_frame(struct stacks *stacks, size_t number, const struct stack_frame *frame);
/* Frames that are there already. Returns false, and adds nothing, when one is not. */
bool stacks_add_stack(struct stacks *stacks, const uint32_t *frames, size_t count, const char *end);
void stacks_add_wait(struct stacks *stacks, const struct stack_wait *wait);
void stacks_add_sample(struct stacks *stacks, const struct stack_sample *sample);
void stacks_add_futex(struct stacks *stacks, const struct stack_futex *futex);
/* A frame's function where it is known later than the frame is: a symbol of C. stacks_finish() comes after that. */
void stacks_name_frame(struct stacks *stacks, size_t frame, const char *symbol);
/*
 * Deep in its own code: who waits there was at something. A loop that waits for work has not so many frames above it;
 * where it is not known how many are its own, as of runtimes that compile as they run, nothing is. stacks_finish()
 * comes before.
 */
bool stacks_is_amid(const struct stacks *stacks, const struct stack *stack);
void stacks_finish(struct stacks *stacks); /* all is there: sort them, find the places */

/* What is known of the wait that a thread was in from 'begin_ns' to 'end_ns'; NULL = nothing. O(log waits). */
const struct stack_wait *stacks_find_wait(const struct stacks *stacks, int32_t tid,
					  uint64_t begin_ns, uint64_t end_ns);

/* The stack of the wait that a thread was in from 'begin_ns' to 'end_ns', or STACK_NONE. O(log waits). */
uint32_t stacks_find(const struct stacks *stacks, int32_t tid, uint64_t begin_ns, uint64_t end_ns);

/* The first sample of a thread at or after a time: an index, up to sample_count. O(log samples). */
size_t stacks_first_sample(const struct stacks *stacks, int32_t tid, uint64_t time_ns);

/* The first wait of a thread that ended at or after a time. The same. */
size_t stacks_first_wait(const struct stacks *stacks, int32_t tid, uint64_t time_ns);

/* What is known of a word that a thread of the process waited for at a time; NULL = nothing. O(log futexes). */
const struct stack_futex *stacks_find_futex(const struct stacks *stacks, int32_t tgid,
					    uint64_t address, uint64_t time_ns);

/* The same of the object of a wait, "futex 0x7f00"; NULL also when that is something else. */
const struct stack_futex *stacks_named_futex(const struct stacks *stacks, int32_t tgid,
					     const char *object, uint64_t time_ns);

/*
 * That in words: "futex of ledger_lock (planted)", "futex in /dev/shm/x+0x40", "Python's GIL", "malloc arena". 'kind' is what it is else
 * called, without its address: "futex", "mutex". Of a word in no variable "futex 0x7f00, first seen in
 * Bank::pay". Free it with free().
 */
char *stack_futex_text(const struct stacks *stacks, const struct stack_futex *futex,
		       const char *kind);

/* Who called frame 'at': of a script's, the next one of a script, if there is any. FRAME_NONE = it is not known. */
uint32_t stacks_caller(const struct stacks *stacks, uint32_t stack, uint32_t at);

/*
 * Of frame 'at' without a function, as in stripped files: the first of those that called it which has one, so
 * "somewhere below inflate()". FRAME_NONE = there is none, or only the one that starts threads and programs.
 */
uint32_t stacks_named_caller(const struct stacks *stacks, uint32_t stack, uint32_t at);

/* Frame 'i' of a stack. */
const struct stack_frame *stacks_frame(const struct stacks *stacks, uint32_t stack, size_t i);

/* Frames whose names were left to later. */
size_t stacks_unnamed(const struct stacks *stacks);

void stacks_fini(struct stacks *stacks); /* zeroed is fine; not the struct itself */

#endif
