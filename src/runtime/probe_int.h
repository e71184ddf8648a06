/*
 * probe_int.h - what the files of libholdup share.
 *
 *	put.c	   write an event: restartable sequence, or compare-and-swap
 *	room.c	   the next packet of a CPU
 *	segment.c  the files that packets are in
 *	large.c	   the memory of those in large pages
 *	helper.c   a thread that prepares them ahead
 *	session.c  a trace: its folder, its metadata
 *	probe.c	   begin, fork, end; the file that others see (control.c)
 *
 * Who writes what: a CPU's struct holdup_cpu_ and the packet it names are written inside a
 * restartable sequence on that CPU, or with atomic operations; struct cpu_room as each field
 * says. Everything here is signal safe unless it says otherwise: no allocation, no locks, but
 * for probe_lock(), which only begins and ends of traces take, with signals blocked.
 */
#ifndef RUNTIME_PROBE_INT_H
#define RUNTIME_PROBE_INT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdup/trace.h>

#include "runtime/clock.h"
#include "wire/user.h"

#define PATH_BYTES  2048 /* of a folder and a name in it */
#define LARGE_BYTES (2u << 20)

/* A file of packets, mapped. */
struct segment {
	uint8_t *base;
	uint32_t packets;
	uint32_t index;	       /* in its name */
	uint64_t first_number; /* of its first packet */
	struct segment *next;  /* atomic; set once: the one that is written after it */
	uint32_t used;	       /* atomic; of the pool's place */
	bool warm;	       /* all its pages are there */
	bool stays;	       /* they are once they were: files in memory */
	int fd;	       /* the helper's, in its own table; -1: its memory is not used again */
	uint8_t *kept; /* addresses of the one that had its place before; NULL = none */
	size_t kept_bytes;
};

/* The rest of what belongs to a CPU in a session. */
struct cpu_room {
	struct segment
		*oldest; /* atomic; the keeper's: the first of the list, up to what is ahead */
	struct segment *current; /* atomic; written to, or one of those just before it */
	uint64_t lost;		 /* atomic; events that found no room */
	uint64_t retry_at;	 /* atomic; time before which nobody tries again to make room */
	bool late;		 /* atomic; the helper had none ready once */
	uint32_t keeper;	 /* atomic; 1: somebody takes a segment from the old end */
	uint32_t phase;		 /* atomic; 0 or 1: where threads that come in are counted */
	uint32_t inside[2];	 /* atomic; threads that may hold a pointer to an old packet */
	struct segment *safe;	 /* the keeper's: those before it nobody can have any more ... */
	struct segment *marked;	 /* ... nor those before this one, when the other phase is empty */
	uint32_t least_free;	 /* the keeper's; segments it might have taken, at least ... */
	uint32_t turns;		 /* ... in so many times */
	uint32_t index;		 /* atomic; of the last segment made */
	uint64_t bytes;		 /* atomic; of all segments made, less those given back */
} __attribute__((aligned(64)));

/* A trace being written. */
struct session {
	uint64_t number;
	bool good; /* else nothing can be written: the folder could not be made */
	enum holdup_mode mode;
	uint64_t cpu_bytes;
	uint32_t packets; /* of a segment: the first one (stream), each (flight) */
	uint8_t uuid[16];
	char dir[HOLDUP_TEXT_];
	void *alive;		/* a page of the metadata: nobody else's lease on it succeeds */
	bool no_copies;		/* the helper's; this file system cannot exchange names */
	bool closed;		/* atomic; nobody begins a packet any more */
	struct session *older;	/* the one before, if any */
	struct cpu_room *rooms; /* one per CPU */
};

struct probe {
	bool has_rseq;
	bool is_counter; /* what events are stamped with */
	uint32_t cpu_count;
	struct holdup_cpu_ *cpus; /* as holdup_state_.cpus, which has empty ones without rseq */
	uint64_t turn;		  /* atomic; of the rules that are followed */
	uint32_t helper;	  /* atomic; enum helper_state */
	uint32_t work;		  /* atomic, futex; raised when there is work for the helper */
	bool busy;		  /* atomic; the helper is at it */
	bool large_pages;	  /* may be asked for */
	uint64_t large_at;    /* atomic; CLOCK_MONOTONIC, ns: none is asked for before then ... */
	uint64_t large_rest;  /* atomic; ... since then; 0: they never took too long */
	uint64_t large_took;  /* atomic; ns, on average */
	uint64_t large_since; /* atomic; when somebody asked who waits still; 0: nobody */
	uint64_t ticks_per_ms;
	uint32_t stream_most;	 /* packets of a stream's larger files */
	struct session *session; /* atomic; NULL = none yet */
	uint32_t lock;		 /* atomic; see probe_lock() */
	uint32_t ended;		 /* atomic; the process is ending: nothing is written any more */
	uint64_t lost;		 /* atomic; events lost without a room to count them in */
	int32_t pid;
	int control_fd;
	char runtime[HOLDUP_TEXT_]; /* "" = none */
	char control_path[PATH_BYTES];
};

extern struct probe probe;

/*
 * One thread at a time, with its signals blocked: so no handler can find it locked by its own
 * thread. Not for the way of an event, except the first one of a trace.
 */
void probe_lock(sigset_t *out_before);
void probe_unlock(const sigset_t *before);
void signals_block(sigset_t *out_before);
void signals_restore(const sigset_t *before);

/* After fork() the child's memory of CPUs is empty: begin anew. True when that was so. */
bool probe_after_fork(void);

/* The session of this number, begun if need be. NULL when there is none, or a later one. */
struct session *session_now(uint64_t number);

/*
 * The control's word of session has changed: if so are the rules, follow them. True when it
 * was so: the event at hand may be off.
 */
bool probe_look_at_news(uint64_t word);

/* Descriptions that were added: behind the metadata of the present trace. Locked. */
void session_add_metadata(const char *text, size_t bytes);

/* Give back what is unused of the present trace. No thread may write any more. */
void session_end(void);

/* A new file of packets, none of which has begun; NULL when there is no space. */
struct segment *segment_new(const struct session *session, uint32_t cpu, uint32_t packets,
			    uint32_t index, uint64_t first_number);

/* Take its name away: it has none that others see, until this thread has it reused or dropped. */
void segment_hide(const struct session *session, const struct segment *segment, uint32_t cpu);

/*
 * The helper's: let the segment's name be that of a copy of it, while it goes on without a
 * name. False: it cannot be used again, but the file of its name is whole.
 */
bool segment_copy_out(struct session *session, struct segment *segment, uint32_t cpu);

/* Make one without a name new again, under its next name. False: it has none. */
bool segment_reuse(const struct session *session, struct segment *segment, uint32_t cpu,
		   uint32_t index, uint64_t first_number);

/* The helper's: close what others have given back. */
void segment_close_left(void);

/* Would a file of so many bytes be made faster in large pages, by this thread, now? */
bool large_pays(size_t bytes);

/*
 * Make an empty file so long, and map it where large pages can be: at 'kept', which may be NULL, if they can be there.
 * NULL: neither of those.
 */
uint8_t *large_map(int fd, size_t bytes, uint8_t *kept);

/* Fill that with large pages. False: its space is not reserved, or in part. */
bool large_fill(int fd, uint8_t *base, size_t bytes);

/* Take the mapping back; the file stays. */
void segment_free(struct segment *segment);

/* The file as well, or what is unused of it. */
void segment_drop(const struct session *session, struct segment *segment, uint32_t cpu);
void segment_cut(const struct session *session, const struct segment *segment, uint32_t cpu,
		 uint32_t packets);

/* All of them are lost: the child of a fork() does not have them. */
void segment_forget_all(void);

struct user_packet *segment_packet(const struct segment *segment, uint32_t i);

/* Let the pages of a packet be there before they are written to. */
void segment_warm(const struct segment *segment, uint32_t i);

/*
 * Let 'cpu' have a packet of 'session', which 'word' asks for, with room for 'bytes' more. False when there is none:
 * the event is lost.
 */
bool room_make(struct session *session, uint64_t word, uint32_t cpu, size_t bytes);

/* Prepare what is to be written to, ahead of all CPUs that write, and clear up behind them. */
void room_tend_all(struct session *session);

/*
 * A thread that looks at packets outside of restartable sequences is counted from the one to
 * the other: what it may see stays meanwhile. room_enter() returns what room_leave() takes.
 */
uint32_t room_enter(struct cpu_room *room);
void room_leave(struct cpu_room *room, uint32_t phase);
bool room_is_empty(const struct cpu_room *room);

/*
 * Take away the segments of a session that is over, while nobody is inside its room; and give
 * back all that were taken away, while nobody is inside any room: who is, may have read the
 * address of a packet of any session. What a CPU still writes to stays. All probe_lock()ed.
 */
void room_retire(struct session *session, uint32_t cpu);
void room_free_retired(void);
void room_forget_retired(void); /* in the child of a fork() */

/* Count an event that finds no room, here or nowhere. */
void room_lose(struct session *session, uint32_t cpu);

/*
 * On 'cpu', let 'next' follow 'old' as the packet that is written to, and begin now. False
 * when somebody else has done it, or the thread is no longer there.
 */
bool put_switch(uint32_t cpu, struct user_packet *old, struct user_packet *next);

/* The CPU that the thread is on; cpu_count or more when it cannot be told. */
uint32_t put_cpu(void);

/* No thread is inside a restartable sequence that began before. */
void put_wait_for_others(void);

void put_init(void);

/*
 * The helper: a thread that prepares space, so that the threads that log need not wait for it.
 * Only for streams, and only where a thread can be started: not in signal handlers.
 */
enum helper_state {
	HELPER_NONE,
	HELPER_RUNS
};
void helper_begin(void);
bool helper_is_me(void);
bool helper_runs(void);

/* Wait until it is at rest, for some ms at most. */
void helper_settle(void);
void helper_wake(void);
void helper_end(void);

/* Folder for what is not kept: made if need be. False when there is none. Not signal safe. */
bool control_runtime_dir(char *out_dir, size_t size);

/* Make the file that others see and map it over holdup_state_.control. Not signal safe. */
void control_begin(void);
void control_end(void);

/* Ask for a trace: 'dir' NULL = the runtime folder. Returns 0 or a negative errno. */
int control_ask(struct holdup_control_ *control, const char *dir, enum holdup_mode mode,
		uint64_t cpu_bytes);

/* Alone among processes that change the control. */
void control_lock(void);
void control_unlock(void);

#endif
