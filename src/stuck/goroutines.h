/*
 * goroutines.h - what the goroutines of Go programs wait for, as Go's runtime has it in memory.
 *
 * Those that wait alike are one group: in the same state, for the same reason, at the same thing, with the same stack.
 *
 * All threads of a process that slept until everything was read changed nothing meanwhile: then it is still, and what
 * is told of it was true at one instant. Else each goroutine is read twice, and told of as changing where it differs.
 */
#ifndef STUCK_GOROUTINES_H
#define STUCK_GOROUTINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GO_FRAMES_MAX	24u
#define GO_FUNCTION_MAX 160u
#define GO_FILE_MAX	160u
#define GO_REASON_MAX	48u
#define GO_OBJECT_MAX	200u
#define GO_WHY_MAX	120u

enum go_state {
	GO_WAITS,   /* for another goroutine: a channel, a lock, ... */
	GO_IO,	    /* for a descriptor */
	GO_SLEEPS,  /* until a time */
	GO_CALLS,   /* it is in a system call, or in C */
	GO_RUNS,    /* or has its turn soon */
	GO_CHANGES, /* it was at something else as it was read again */
	GO_OTHER,   /* its runtime does something with it, or it is not known */
};

struct go_frame {
	char function[GO_FUNCTION_MAX]; /* as Go names it: "main.(*pool).run" */
	char file[GO_FILE_MAX];		/* as the program has it; "" = not known */
	uint32_t line;
	bool is_library; /* of Go's standard library, or its runtime */
};

/* Plain bytes: they come from a child that reads what may be anything. */
struct go_group {
	uint32_t first, count; /* a run in goroutines.ids */
	uint32_t state;	       /* enum go_state */
	int32_t tid;	       /* of one that calls or runs: its thread; 0 = none, or not known */
	uint64_t
		since_ns; /* CLOCK_MONOTONIC: the first of them waits since then at the latest; 0 = not known */
	uint32_t frames; /* innermost first */
	uint32_t
		place; /* the first frame that is the program's own; else the last of the library, but of the runtime; else 0 */
	bool is_runtime;	    /* Go's runtime began it for itself */
	bool is_signalled;	    /* a signal that the program asked for ends the wait, too */
	bool is_cut;		    /* its stack goes further */
	char reason[GO_REASON_MAX]; /* as Go's runtime calls it: "chan receive" */
	char object[GO_OBJECT_MAX]; /* "chan 0xc000020060, unbuffered"; "" = not known */
	struct go_frame stack[GO_FRAMES_MAX];
	struct go_frame created; /* by whom; function "" = not known */
};

struct go_process {
	int32_t tgid;
	uint32_t first,
		groups; /* a run in goroutines.groups: the program's own by count, then the runtime's */
	uint32_t count;	   /* the program's goroutines */
	uint32_t runtime;  /* Go's own ones */
	uint32_t left_out; /* not looked at: there are too many, or they cannot be read */
	bool is_still;	   /* see above */
	bool is_deadlock; /* by exclusion: nobody but they, who all wait, could end a wait, but for a signal */
	char open
		[GO_WHY_MAX]; /* still, and all that were read wait, but no deadlock: why it is none; else "" */
	char missing[GO_WHY_MAX]; /* why nothing is known; "" = it is */
};

struct goroutines {
	struct go_process *processes; /* owned; by tgid */
	size_t process_count, process_cap;
	struct go_group *groups; /* owned */
	size_t group_count, group_cap;
	int64_t *ids; /* owned; numbers of goroutines */
	size_t id_count, id_cap;
};

void goroutines_fini(struct goroutines *goroutines); /* zeroed is fine */

/* How many processes of Go have a deadlock by exclusion. */
size_t goroutines_deadlocks(const struct goroutines *goroutines);

/* The process of that number; NULL = none of its goroutines were asked for. */
const struct go_process *goroutines_of(const struct goroutines *goroutines, int32_t tgid);

struct go_layout;

/* A thread of the process, as it slept; the threads are all that it has. */
struct go_thread {
	int32_t tid;
	uint64_t pc, runs;  /* of struct stuck_thread; 0 = it does not sleep in a call */
	bool is_in_runtime; /* its call is one that Go's runtime parks threads in */
};

struct go_target {
	int32_t tgid;
	const struct go_layout *layout;
	const struct go_thread *threads;
	size_t thread_count;
};

/* Read those of a process, and add them. May hang where the process does: for a child. */
void goroutines_read(const struct go_target *target, int proc_fd, struct goroutines *goroutines);

#endif
