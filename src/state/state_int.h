/*
 * state_int.h - what the files of the state engine share.
 *
 *	engine.c    routes events; proof of who runs; start and finish
 *	flow.c      the control-flow stack of a thread, writing its changes
 *	unsure.c    holes, unknown starts, switches that were not recorded
 *	sched.c     switch, wake-up, fork, exec, exit
 *	irq.c       interrupts, softirqs, timers, packets, disk requests, work: who acts
 *	uring.c     threads of io_uring: for whom they act
 *	served.c    disks of which a kworker serves the requests: loop devices
 *	syscall.c   system calls, faults, locks: what a thread waits in and for
 *	fds.c       what file descriptors name, from call to call
 *	polled.c    what a wait for several descriptors is about
 *	throttle.c  who is held back by a limit
 *	pressure.c  what limits of memory keep threads at
 *	queue.c     packets that a queue of a device holds back
 *	used.c      what a thread used lately
 *	supervised.c  tracers, and supervisors of system calls
 *	again.c     what the recorder told of a call, for the same call made again
 *	asked.c     what a call asked for in vain, by path, and who had the lock
 *	ends.c      who has the other end of a pipe, a connection, a terminal
 *	expect.c    who could have ended a wait that nobody ended
 *	moment_*.c  all of it as text, and back: what a cut begins with
 *
 * A thread's life as the engine sees it:
 *
 *	            waking            switch in
 *	 BLOCKED ------------> RUNNABLE --------> RUNNING --- switch out ---> BLOCKED | RUNNABLE
 *	    any of them --- hole, contradiction ---> UNKNOWN --- next event ---> resolved
 */
#ifndef STATE_STATE_INT_H
#define STATE_STATE_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/map.h"
#include "event/event.h"
#include "timeline/timeline.h"

#define FLOW_MAX     12 /* deepest nesting kept: user, call, trap, softirq, irqs */
#define COMM_BYTES   16
#define DEVICE_BYTES 32

enum sched_state {
	SCHED_UNKNOWN,
	SCHED_RUNNING,
	SCHED_RUNNABLE,
	SCHED_BLOCKED,
	SCHED_DEAD,
};

#define FUTEX_LIMIT	      3u    /* the argument of futex(2) that a time limit is in */
#define FUTEX_CMD_MASK	      0x7fu /* the command in the second argument of futex(2) */
#define FUTEX_PRIVATE	      128u  /* beside the command: of threads of one process */
#define FUTEX_CMD_WAIT	      0u
#define FUTEX_CMD_WAIT_BITSET 9u
#define FUTEX_CMD_WAKE	      1u
#define FUTEX_CMD_WAKE_BITSET 10u
#define FUTEX_CMD_REQUEUE     3u
#define FUTEX_CMD_CMP_REQUEUE 4u
#define FUTEX_CMD_WAKE_OP     5u
#define FUTEX_CMD_UNLOCK_PI   7u

/* What a system call waits for, and where its arguments say it. */
enum call_kind {
	CALL_OTHER,
	CALL_FD,   /* descriptor in argument 'arg' */
	CALL_OPEN, /* makes a descriptor: its name is known at the exit */
	CALL_MAKE, /* the same, of something without a path */
	CALL_ACCEPT,
	CALL_CONNECT,
	CALL_PAIR, /* pipe, socketpair: makes both ends */
	CALL_NAME, /* bind, listen: the descriptor gets a meaning */
	CALL_SLEEP,
	CALL_POLL,  /* several descriptors in user memory */
	CALL_EPOLL, /* epoll_wait: argument 0 names the set */
	CALL_EPOLL_CTL,
	CALL_FUTEX,
	CALL_WAIT,    /* for a child */
	CALL_KILL,    /* signal in argument 'arg' */
	CALL_SIGNAL,  /* for a signal */
	CALL_SEM,     /* System V semaphores */
	CALL_MSG,     /* System V message queues */
	CALL_IPC,     /* looks at one of these, or changes it, and does not wait */
	CALL_PENDING, /* looks for signals */
	CALL_CLOSE,
	CALL_CLOSE_RANGE,
	CALL_DUP,
	CALL_DUP2,
	CALL_FCNTL,
	CALL_FLOCK,
	CALL_FORK,
	CALL_EXEC,
	CALL_END,  /* of all threads of the process */
	CALL_RING, /* io_uring_enter: argument 0 names the ring */
	CALL_PTRACE,
	CALL_PATH,   /* looks at a file, or changes its name */
	CALL_MEMORY, /* writes into the memory of process 'arg' */
};

struct call {
	const char *name;
	uint8_t kind; /* enum call_kind */
	uint8_t arg;

	/*
	 * What it makes closes when another program is run, if one of these bits is in argument 'exec_arg' - 1.
	 * Without an argument: always, if there are any bits. EXEC_UNKNOWN: it is not in the arguments.
	 */
	uint8_t exec_arg;
	uint32_t exec_bits;
	uint8_t moves; /* enum moves, of CALL_FD */
};

/* What a call does to a pipe or a socket. */
enum moves {
	MOVES_NOTHING,
	MOVES_OUT,   /* it takes out what came */
	MOVES_LOOKS, /* or looks whether any did */
	MOVES_IN,
};

#define EXEC_UNKNOWN 7

/* A thing that a descriptor names. */
struct object {
	uint32_t name; /* name id */
	uint8_t role;  /* enum fd_role */
	uint64_t inode;
	uint64_t since_ns; /* when it got this name; 0 = before the recording */
	uint64_t call_ns;  /* when the call began that made it with another one; 0 = not known */
	uint32_t pair;	   /* index of that: the other end; 0 = not known */
	uint32_t channels
		[2]; /* as channel.c found them for channels_of, a name; by what it does to them */
	uint32_t channels_of;
};

#define POLL_TOLD 64 /* of poll and select the recorder tells so many at most */

#define USED_FDS 4 /* kept of the descriptors that a thread used */

#define FD_UNSEEN 1u /* it is known by its use alone: it may be from before the recording */
#define FD_COPIED 2u /* by dup() and its kin, from it or to it: to close it ends nothing */

/* What a number stands for in a process: how the values of process.fds are put together. */
struct slot_fd {
	uint32_t object; /* index into state->objects; 0 = not known */
	uint8_t marks; /* FD_STAYS, FD_CLOSES, or none: not known; FD_UNSEEN, FD_PARTLY, FD_COPIED */
	uint32_t made; /* counts what had a number in this process: another one is another thing */
};

/* What the set of an epoll descriptor says about who waits for it. */
struct polled_set {
	bool serves;   /* work arrives through it, and no answers do */
	bool whole;    /* all of it is known */
	int32_t fd;    /* the only one it watches; -1 = none, or several */
	uint32_t name; /* name id: what it watches; 0 = not known */
};

/* Descriptors of one process, shared by its threads; and its requests of io_uring. */
struct process {
	int32_t tgid;
	uint32_t refs;
	uint32_t made;	  /* of the last one: see struct slot_fd */
	struct map fds;	  /* fd -> struct slot_fd, packed */
	struct map epoll; /* epoll fd << 32 | target fd -> what both had as 'made' */

	uint32_t ring_count; /* requests that are not done */
	uint64_t ring_req;   /* the last one; 0 = it is done */
	int32_t ring_fd;     /* what that is about; -1 = not known */

	size_t sweep_at; /* entries of 'epoll' that make it worth to look for old ones */

	/* What polled.c found last, when set_change is as change, which grows whenever one of the maps changes. */
	uint32_t change, set_change;
	int32_t set_fd;
	struct polled_set set;
};

/* A switch-in that was not recorded, waiting for the event that places it. */
struct placing {
	bool open;
	bool was_runnable; /* before it ran it waited for a CPU; else not known */
	bool counts;	   /* it is one of the repairs */
	uint32_t cpu;
	uint32_t thread_index; /* first of its two entries in the thread's track */
	uint32_t cpu_index;    /* first of its two entries in the CPU's track */
	uint32_t before_slot;  /* who ran on that CPU before */
	uint32_t run_word;
	uint64_t low_ns;
	uint64_t high_ns;
};

/* A request of io_uring: of a worker what it is at, else what the thread handed over last. */
struct uring_job {
	uint64_t req; /* 0 = none */
	int32_t fd;   /* -1 = not known */
	uint32_t opcode;
	bool is_queued; /* and no worker was seen to take it */
};

/* The last call that waits, if its time was up, and what was told of it and of those before it: see again.c. */
struct again {
	uint64_t args[4];
	int32_t nr;	    /* of it; -1 = there is none */
	uint32_t held;	    /* slot: who has the lock; SLOT_NONE = not told */
	uint32_t held_by;   /* as 'held_by' of the thread */
	uint8_t poll_count; /* of its 'poll_fds'; 0 = not told */
};

struct thread {
	struct tl_thread *tl;
	struct process *process; /* refcounted; NULL for idle and dead threads */
	uint64_t unsure_until;	 /* UNKNOWN: what comes before this stays uncertain */
	uint8_t sched;		 /* enum sched_state */
	uint8_t depth;		 /* frames in use, at least 1 */
	bool idle;		 /* an idle task: it has no track */
	bool exiting;
	uint32_t ender; /* the thread of its process that ended all of them; SLOT_NONE = none did */
	uint64_t ender_ns; /* when that one called exit_group() */
	bool seen;	   /* some event told about it */
	bool known_end;	   /* what comes after the end told what it is in there */
	uint32_t slot;
	uint32_t cpu;	 /* where it runs, or will */
	uint32_t wait;	 /* index of the current or last wait */
	uint32_t word;	 /* last word written to its track */
	uint32_t on_cpu; /* the CPU that its track knows; SLOT_NONE = none yet */
	uint32_t frames[FLOW_MAX];
	char comm[COMM_BYTES];

	/* The system call it is in, or the last one. */
	int64_t call_nr; /* -1 = none known */
	uint64_t call_args[6];
	uint32_t call_path;	  /* name id of the file that it opens; 0 = not told */
	uint64_t call_ns;	  /* when it began; 0 = not known */
	uint32_t call_first_wait; /* waits from here on belong to it */
	uint32_t first_named; /* those before were in calls that were not recorded: see steps.c */
	bool in_call;
	bool compat;	 /* call_nr is of the 32-bit table */
	bool fresh_exec; /* made no system call since it ran a new program */
	bool is_32bit;

	uint32_t asked;	     /* name id of what its last call failed at; 0 = not known */
	int32_t asked_fd;    /* -1 = not at a descriptor */
	uint32_t connecting; /* fd + 1 that its last connect() left under way; 0 = none */
	uint32_t told;	    /* name id: the path or address that the call was given; 0 = not told */
	uint32_t told_also; /* and of a rename the new one */
	uint32_t
		held; /* slot: who has the file lock that it asks for, or did last; SLOT_NONE = not known */
	uint64_t held_ns; /* when that call began */
	uint32_t
		held_by; /* name id: from what it is inferred that 'held' has it; 0 = it is known */
	uint32_t
		child_asked; /* 'left' of its last child that ended; 0 = nothing, or it slept for that already */
	uint32_t child_held; /* and 'held' of that */
	uint32_t
		left; /* name id: what it asked for in vain, as programs do that a shell runs to ask; 0 = nothing */
	uint32_t left_held; /* and 'held' of that */
	uint32_t
		looked; /* name id: the file that it, or its last child that ended, looked into last; 0 = none since it slept */
	uint32_t looked_by; /* word of that call */

	int32_t used_fd[USED_FDS]; /* descriptors and 1, of its last calls; 0 = none */
	int32_t came_fd; /* and 1: what it read from last, of which it has not answered; 0 = none */
	int32_t passed_fd; /* and 1: what it wrote to since, and has read nothing since; 0 = none */
	uint64_t used_ipc; /* what it used of System V last, as ipc_of(); 0 = nothing */
	uint64_t used_ipc_ns; /* when */

	const struct fact_thread *dumped; /* with the call that the dump saw it in; NULL = none */

	uint64_t stopped_ns; /* the dump saw it stopped then; UINT64_MAX = it did not */
	bool frozen;	     /* by the freezer of its cgroup */
	uint64_t freezes_ns; /* it froze a cgroup last, or thawed one; 0 = it did not */
	uint32_t freezes;    /* name id: which */
	bool thaws;
	uint32_t freezing; /* name id: what it was woken for, maybe, to be frozen by; 0 = nothing */
	uint32_t unfrozen_in, unfrozen_object; /* of that wait, as it was */
	int32_t unfrozen_fd;

	uint64_t fault_ns; /* a page fault that nothing proved over yet; 0 = none */
	uint64_t lock;	   /* kernel lock it contends for; 0 = none */
	uint64_t lock_ns;  /* since when, spinning not counted; 0 = not known */
	uint32_t lock_flags;
	uint32_t
		told_owner; /* slot: who had the lock that the recorder told of last; SLOT_NONE = not known */
	uint32_t told_word;	/* what that one was in then */
	uint64_t told_lock;	/* its address; 0 = none was */
	uint64_t told_lock_ns;	/* when it began to wait for that */
	uint64_t reclaim_ns;	/* it frees memory since then; 0 = it does not */
	uint32_t reclaim_depth; /* so many of these began within each other */
	uint8_t reclaim_kind;	/* enum memory_kind */
	uint32_t reclaim_limit; /* name id: for which limit, as the recorder told; 0 = it did not */
	bool reclaim_high;	/* and that one may have it pause */
	uint64_t reclaimed_ns;	/* it has freed some for a cgroup up to then; 0 = it has not */
	uint32_t dirty_limit;	/* the same of its pauses as it writes */
	uint32_t deadline; /* name id: its runtime and period, of SCHED_DEADLINE; 0 = not told */
	uint64_t dirty_ns; /* it came to where such a pause begins; 0 = it did not */
	uint32_t tracer;   /* slot: who traces it; SLOT_NONE = nobody, as far as it is known */
	bool answered;	   /* a supervisor just answered for the call that it asks for */
	bool poll_open;	   /* a wait for many things ended: what is used next may be what came */
	int32_t poll_set;  /* the epoll descriptor that it waited for; -1 = poll, select */
	bool poll_known;   /* who ended it told what came */
	uint8_t poll_count;
	int32_t poll_fds[POLL_TOLD]; /* what the recorder told that poll, select watch */
	uint64_t poll_room;	     /* bit i: 'poll_fds[i]' only until there is room to write */
	struct actor early_wake;     /* a wake-up recorded just before its switch out */
	struct actor work;	     /* a kworker: who queued what it runs */
	struct actor
		held_work; /* and the limit that held back what that was queued for, up to then */
	struct actor
		ready; /* it polls for io_uring: what the request waited for that it completes */
	struct actor
		disk_done; /* a thread of the kernel: the last request to a disk that it issued is complete */
	struct uring_job job;
	struct placing placing;
	struct again again;
};

/* What goes on on a CPU beside its thread. */
struct cpu {
	uint32_t cur;		/* slot; SLOT_NONE = not known */
	uint32_t idle;		/* slot of its idle task; SLOT_NONE = not made yet */
	int32_t cur_tid;	/* tid of cur; INT32_MIN when not known */
	uint64_t last_ns;	/* last event of this CPU */
	uint64_t unknown_since; /* cur unknown: since when */
	bool known;		/* seen in any event */
	uint64_t timer_fn;	/* callback that runs now; 0 = none */
	uint64_t timer;		/* its address */
	bool timer_below;	/* it runs in a softirq: an interrupt on top is not of it */
	uint32_t disk_name;	/* request completed in this interrupt; 0 = none */
	uint32_t disk_slot;
	bool disk_flushed; /* its last part was a flush, before which others were: it began before disk_ns */
	uint64_t disk_ns;
	uint64_t disk_done_ns; /* when one was complete last */
	uint64_t
		disk_server; /* the kworker that served that request, as in state.servers; 0 = none known */
	struct actor
		disk_below; /* and what that issued for it, and did not wait for; time 0 = nothing */
	uint32_t issued_slot; /* the thread that issued a request here last */
	uint32_t issued_dev;
	uint64_t issued_ns; /* 0 = none yet, or its work is known */
	uint32_t
		disk_limit; /* name: the limit that held the request back up to disk_ns; 0 = none */
	uint8_t disk_limit_by; /* enum limit_by */
	uint32_t packet_dev;   /* packet being received; 0 = none */
	uint32_t packet_slot;
	uint32_t packet_timer; /* name: it was sent because this timer went off; 0 = no timer */
	uint64_t packet_ns;
	uint32_t packet_queue; /* name: of the queue that it was in from packet_ns on; 0 = none */
	uint32_t out;	       /* thread switched out last; SLOT_NONE = none yet */
	int32_t left_tid;      /* who left with the last switch ... */
	uint64_t
		left_ns; /* ... and the last event of the CPU, if that belongs to it; else long ago */
	uint32_t woken;		 /* thread woken last in this context; SLOT_NONE = none */
	uint8_t doubt;		 /* EV_CTX_* bits of interrupts whose beginning was not seen */
	uint32_t irq_wakes;	 /* name of an interrupt that wakes its thread now; 0 = none */
	bool irq_before_softirq; /* this softirq runs on the way out of an interrupt */
};

/* Who queued a work item, sent a packet, issued a request: kept until it is used. */
struct pending {
	struct map index;     /* identity -> index into actors */
	struct actor *actors; /* owned */
	uint32_t *free_list;  /* owned */
	size_t count, cap, free_count, free_cap;
};

#define NO_WATCHDOGS 16u /* a power of two */
#define RECENT_TIDS  256u

/* The thread that was asked for last, of those whose tid ends in the same bits. */
struct recent {
	int32_t tid;
	uint32_t slot; /* SLOT_NONE = none */
};

/* The last request that a limit had held back, is complete, and woke nobody, or one that polls for io_uring. */
struct limited {
	struct actor limit; /* up to when; time 0 = there is none */
	uint32_t woke;	    /* slot; SLOT_NONE = nobody */
	uint64_t done_ns;
	uint64_t other_ns; /* when the last one of another limit was complete; 0 = there was none */
};

/* What the recorder told of a kernel lock last. */
struct known_lock {
	uint64_t time_ns;
	uint32_t told; /* name id: as the recorder told of it, see event/kernel_lock.h */
	int32_t tgid;  /* whose thread waited for it */
};

struct state;

typedef void state_handler_fn(struct state *state, struct cpu *cpu, const struct event *ev);

struct state {
	state_handler_fn *on[EV_TYPE_COUNT]; /* who handles an event; NULL = nobody */
	const struct facts *facts;
	struct timeline *tl;
	struct thread **threads; /* owned; index = slot */
	size_t thread_cap;
	struct map live;		   /* tid -> slot of the living thread; see state_live() */
	struct recent recent[RECENT_TIDS]; /* some of 'live' */
	struct map processes;		   /* tgid -> struct process * */
	struct cpu *cpus;		   /* owned */
	uint32_t cpu_count;
	struct object *objects; /* owned; 0 is nothing */
	size_t object_count, object_cap;
	struct map symbol_names;  /* address -> name id */
	struct map timer_setters; /* hrtimer -> slot of who started it */
	struct map lock_index;	  /* address -> index into locks */
	struct known_lock *locks; /* owned */
	size_t lock_count, lock_cap;
	struct pending works, packets, requests;
	struct pending
		held_works; /* work that is about requests which a limit held back: up to when */
	struct limited limited;
	struct pending ready;	  /* requests of io_uring: who made them ready */
	struct map uring_open;	  /* request of io_uring that is not done -> see uring.c */
	struct map uring_workers; /* request of io_uring -> slot of the worker that has it */
	struct map server_works;  /* work item -> device whose requests it serves; see served.c */
	struct map
		servers; /* device -> slot of the kworker that ran such a work last, function << 32 */
	struct map remaps; /* request to a device below -> the device above; see served.c */
	struct map queues; /* of devices: name id -> name id of how the queue is told */
	uint64_t watchdog, no_watchdogs[NO_WATCHDOGS]; /* functions that are the timer's, or not */
	uint64_t queue_since_ns;  /* no packet was let go on time since then; 0 = not known */
	uint64_t queue_passed_ns; /* when one was let go last */
	uint64_t queue_set_ns, queue_expired_ns; /* when its timer was set last, and went off */
	uint64_t handed_skb;			 /* the packet that was handed to a device last */
	char handed_to[DEVICE_BYTES];		 /* and to which */
	struct map
		device_pairs; /* name id of where packets arrive -> of the device they are handed to */
	bool queue_waits;     /* and the timer was set since */
	char device[DEVICE_BYTES]; /* the network device seen last; "" = none */
	uint32_t device_name;	   /* its name id; 0 = none */
	struct call calls[TL_SYSCALLS];
	struct call compat_calls[TL_SYSCALLS];
	uint64_t now_ns;
	uint64_t gap_end_ns; /* latest end of a hole so far; 0 = none */
	uint64_t file_looks; /* descriptors looked at for who has a file open */
	bool omits_idle;
	unsigned int lacks;  /* enum step_lacks: kinds of events that are not recorded now */
	bool has_syscalls;   /* they are recorded now */
	bool is_lean;	     /* only the call that a thread blocks in is told */
	bool has_wakings;    /* sched_waking is recorded */
	bool no_irqs;	     /* an event came out of an interrupt whose entry is not recorded */
	bool has_connecting; /* some connection was under way when it was told of */
	bool timers_end;     /* the ends of timers' callbacks are recorded, too */
};

struct state_handler {
	enum event_type type; /* EV_NONE ends a table */
	state_handler_fn *handle;
};

extern const struct state_handler sched_handlers[];
extern const struct state_handler irq_handlers[];
extern const struct state_handler syscall_handlers[];
extern const struct state_handler unsure_handlers[];
extern const struct state_handler uring_handlers[];
extern const struct state_handler pressure_handlers[];

static inline uint64_t track_ns(const struct state *state, uint64_t time_ns)
{
	return time_ns > state->tl->origin_ns ? time_ns - state->tl->origin_ns : 0;
}

/* engine.c */
struct thread *state_thread_new(struct state *state, int32_t tid, uint64_t birth_ns);
struct thread *state_thread(struct state *state, int32_t tid); /* living one, or new */
struct thread *state_living_slow(struct state *state, int32_t tid);
void state_live(struct state *state, const struct thread *thread); /* its tid is its own now */
struct thread *state_idle(struct state *state, uint32_t cpu);
void cpu_grow(struct state *state, uint32_t cpu); /* there are CPUs up to this one */

/* The thread that runs on 'cpu'; NULL = not known. */
static inline struct thread *state_current(const struct state *state, const struct cpu *cpu)
{
	return cpu->cur == SLOT_NONE ? NULL : state->threads[cpu->cur];
}

/* The living thread of that tid, or NULL. */
static inline struct thread *state_living(struct state *state, int32_t tid)
{
	const struct recent *recent = &state->recent[(uint32_t)tid % RECENT_TIDS];

	if (__builtin_expect(recent->tid == tid && recent->slot != SLOT_NONE, 1))
		return state->threads[recent->slot];
	return state_living_slow(state, tid);
}

static inline uint32_t cpu_index(const struct state *state, const struct cpu *cpu)
{
	return (uint32_t)(cpu - state->cpus);
}

static inline void cpu_set_current(struct cpu *cpu, const struct thread *thread)
{
	cpu->cur = thread ? thread->slot : SLOT_NONE;
	cpu->cur_tid = thread ? thread->tl->tid : INT32_MIN;
}

void cpu_forget_context(struct cpu *cpu); /* interrupt, packet, timer ... of the moment */
uint32_t state_symbol(struct state *state, uint64_t address); /* name id */
void thread_set_comm(struct state *state, struct thread *thread, const char *comm);

/* An event says 'comm' of the thread: nearly always what is known. 'wide': it has 16 bytes. */
static inline void thread_see_comm(struct state *state, struct thread *thread, const char *comm,
				   bool wide)
{
	if (wide && memcmp(comm, thread->comm, COMM_BYTES) == 0)
		return;
	thread_set_comm(state, thread, comm);
}

void thread_bury(struct state *state, struct thread *thread, uint64_t time_ns);

/* flow.c */
static inline uint32_t flow_top(const struct thread *thread)
{
	return thread->frames[thread->depth - 1];
}

/* 'word' is written to the thread's track. A queue names the CPU that it is on next. */
static inline void flow_set(struct thread *thread, uint32_t word)
{
	enum word_kind kind = word_kind(word);

	thread->word = word;
	if (kind == WORD_PREEMPTED || kind == WORD_WAIT_CPU)
		thread->on_cpu = word_arg(word);
}

/*
 * Append to a track. Its memory was packed by another thread a moment ago: to have the
 * next lines brought over before they are written to saves a tenth of all the time.
 */
static inline void flow_append(struct track *track, uint64_t time, uint32_t word)
{
	track_append(track, time, word);
	__builtin_prefetch((const char *)(track->tail + (track->count - track->base)) + 192, 1);
}

/* From 'time_ns' on the thread's track says 'word'. */
static inline void flow_write(struct state *state, struct thread *thread, uint64_t time_ns,
			      uint32_t word)
{
	if (word == thread->word)
		return;
	flow_set(thread, word);
	flow_append(&thread->tl->track, track_ns(state, time_ns), word);
}

/* An entry even when the state is the same: for what happened as it began. */
static inline void flow_note(struct state *state, struct thread *thread, uint64_t time_ns,
			     uint32_t word)
{
	flow_append(&thread->tl->track, track_ns(state, time_ns), word);
	thread->word = word;
}

/* The track knows that it is on thread->cpu. */
static inline void flow_mark_cpu(struct state *state, struct thread *thread, uint64_t time_ns)
{
	if (thread->on_cpu == thread->cpu || thread->idle)
		return;
	thread->on_cpu = thread->cpu;
	flow_note(state, thread, time_ns, word_make(WORD_CPU, thread->cpu));
}

/* It comes onto thread->cpu: the top of its stack shows. */
static inline void flow_onto_cpu(struct state *state, struct thread *thread, uint64_t time_ns)
{
	flow_mark_cpu(state, thread, time_ns);
	flow_write(state, thread, time_ns, flow_top(thread));
}

static inline void flow_push(struct state *state, struct thread *thread, uint64_t time_ns,
			     uint32_t word)
{
	/* Deeper than any kernel nests: exits were lost. Keep the bottom, replace the top. */
	if (thread->depth == FLOW_MAX)
		thread->depth--;
	thread->frames[thread->depth++] = word;
	flow_write(state, thread, time_ns, word);
}

/* Pop down to and including the innermost frame of 'kind'; nothing when there is none. */
static inline void flow_pop(struct state *state, struct thread *thread, uint64_t time_ns,
			    enum word_kind kind)
{
	uint8_t depth = thread->depth;

	while (depth > 1 && word_kind(thread->frames[depth - 1]) != kind)
		depth--;
	if (depth <= 1)
		return; /* its beginning was not seen */
	thread->depth = (uint8_t)(depth - 1);
	flow_write(state, thread, time_ns, flow_top(thread));
}

static inline void flow_reset(struct thread *thread, uint32_t base)
{
	thread->depth = 1;
	thread->frames[0] = base;
	thread->in_call = false;
	thread->fault_ns = 0;
	thread->lock = 0;
}

static inline uint32_t flow_base(const struct state *state, const struct thread *thread)
{
	if (thread->idle)
		return word_make(WORD_IDLE, 0);
	if (thread->tl->kernel)
		return word_make(WORD_KERNEL, 0);
	/* Without system calls, user and kernel code cannot be told apart. */
	return word_make(state->has_syscalls ? WORD_USER : WORD_RUN, 0);
}

static inline bool word_is_irq(uint32_t word)
{
	enum word_kind kind = word_kind(word);

	return kind == WORD_IRQ || kind == WORD_VECTOR || kind == WORD_SOFTIRQ;
}

void flow_drop_irqs(struct thread *thread); /* those on top, an unseen one too */
void flow_doubt(struct thread *thread);	    /* it may be in an interrupt that began unseen */

/* steps.c */
bool steps_lack(const struct state *state, enum event_type type);
bool steps_lack_name(const struct state *state, const struct event *ev);
void steps_take(struct state *state, const struct event *ev);

/* unsure.c */
bool unsure_settle(struct state *state, struct thread *thread, uint64_t time_ns,
		   enum word_kind proven);
/* A hole since its track last changed: it may have run, and have done anything. */
bool unsure_since(const struct state *state, const struct thread *thread);
/* What it was in before it came onto a CPU, as WORD_BLOCKED or WORD_WAIT_CPU. */
enum word_kind unsure_before_run(const struct state *state, const struct thread *thread);
void unsure_forget(struct state *state, struct thread *thread, uint64_t since_ns, enum unsure why);
void unsure_prove(struct state *state, struct cpu *cpu, int32_t tid, const struct event *ev);
void unsure_context(struct state *state, struct cpu *cpu, const struct event *ev);
void unsure_place(struct state *state, struct thread *thread, uint64_t time_ns,
		  uint64_t runtime_ns);
void unsure_rename(struct state *state, struct thread *old, struct thread *thread,
		   uint64_t time_ns);
void unsure_close(struct state *state, struct thread *thread, uint64_t end_ns);

/* sched.c */
void use_early_wake(struct state *state, struct thread *thread);

/* irq.c */
void actor_now(struct state *state, struct cpu *cpu, const struct event *ev, struct actor *out);
void actor_completes(const struct state *state, const struct cpu *cpu, struct actor *actor);
struct actor *pending_place(struct pending *pending, uint64_t key); /* to be written */
bool pending_take(struct pending *pending, uint64_t key, struct actor *out_actor);
void pending_fini(struct pending *pending);

/* uring.c */
void uring_ended(struct state *state, const struct thread *waker, struct wait *wait);
void uring_give(struct state *state, struct thread *by, struct thread *worker);
void uring_awaits(struct state *state, const struct thread *thread, struct wait *wait);
bool uring_polls(const struct thread *thread);
bool uring_works(const struct thread *thread); /* for others: see uring_describe() */
void uring_describe(struct state *state, const struct thread *thread, struct wait *wait);

/* served.c */
void served_issued(struct cpu *cpu, const struct event *ev, const struct actor *by);
void served_remapped(struct state *state, const struct event *ev);
/* The device that was asked for what this request asks of one below it; 'dev' of the event where there is none. */
uint32_t served_top(struct state *state, const struct event *ev);
void served_queued(struct state *state, struct cpu *cpu, const struct event *ev);
void served_started(struct state *state, const struct thread *worker, const struct event *ev);
void served_disk_done(struct state *state, const struct cpu *cpu, const struct event *ev);
void served_completed(struct state *state, struct cpu *cpu, const struct event *ev);

/* syscall.c */
void call_tables_init(struct state *state);
const struct call *call_of(const struct state *state,
			   const struct thread *thread); /* the last one */
bool call_takes_work(const struct call *call); /* of a client, from a descriptor that serves */
bool call_wakes_all(const struct state *state, const struct thread *waker); /* in a futex call */
void call_describe_wait(struct state *state, struct thread *thread, struct wait *wait);
void call_end_fault(struct state *state, struct thread *thread); /* it goes on behind the end */
void call_forget_told(const struct state *state,
		      struct thread *thread); /* it has slept, and runs */
/* A call that began before it could be seen: the thread's waits so far were in it. */
void call_name_waits(struct thread *thread, uint32_t word);
void call_describe_dumped(struct state *state, struct thread *thread, uint64_t since_ns,
			  uint64_t until_ns); /* the wait it was proven to be in all the time */

/* frozen.c */
void frozen_dumped(struct state *state, const struct thread *thread, struct wait *wait);
void frozen_told(struct state *state, struct thread *thread,
		 const struct event *ev); /* THROTTLE_FREEZES, THROTTLE_THAWS */
void frozen_at_wake(const struct state *state, const struct thread *waker, struct thread *thread,
		    struct wait *wait);
void frozen_at_sleep(struct thread *thread, struct wait *wait); /* 'freezing' is set */

/* klock.c */
void klock_begin(struct thread *thread, const struct event *ev);
struct known_lock *klock_place(struct state *state, uint64_t address); /* to be written */
void klock_told(struct state *state, const struct event *ev);	       /* EV_FD_NAME with FD_LOCK */
void klock_describe(struct state *state, struct thread *thread, struct wait *wait);

/* fds.c */
struct process *process_get(struct state *state, int32_t tgid); /* takes a reference */
struct process *process_copy(struct state *state, int32_t tgid, const struct process *from);
void process_exec(struct process *process); /* NULL is fine */
void process_put(struct state *state, struct process *process);
void fds_load(struct state *state);
void fds_on_name(struct state *state, struct cpu *cpu, const struct event *ev);
const struct object *fds_find(const struct state *state, const struct thread *thread, int32_t fd);
/* Is it, or was it made, a copy of another descriptor of the process? */
bool fds_is_copy(const struct thread *thread, int32_t fd);
/* Name id of the file that the call opens by 'path', which may begin in a directory that is open. */
uint32_t fds_path(struct state *state, const struct thread *thread, const char *path);

struct process *process_find(const struct state *state, int32_t tgid); /* NULL = there is none */

/* Has the process something open of that name? */
bool process_has(const struct state *state, const struct process *process, uint32_t name);

/* Where the ends stand in a name like "tcp A->B", whose other end is "tcp B->A". */
struct ends_name {
	size_t kind, left, right; /* bytes of "tcp ", A and B */
};
bool ends_of_name(const char *name, struct ends_name *out_ends);

void fds_after_call(struct state *state, struct thread *thread, int64_t ret);
/* Its connection was under way, and is made now, or has failed. */
void fds_connected(struct state *state, const struct thread *thread, int32_t fd);

static inline struct slot_fd slot_fd_of(uint64_t value)
{
	return (struct slot_fd){ (uint32_t)value, (uint8_t)(value >> 32), (uint32_t)(value >> 40) };
}

/* What a value of process.fds stands for; NULL = not known. */
static inline const struct object *fds_object(const struct state *state, uint64_t value)
{
	uint32_t object = slot_fd_of(value).object;

	return object && object < state->object_count ? &state->objects[object] : NULL;
}

static inline uint64_t slot_fd_value(struct slot_fd slot)
{
	return slot.object | (uint64_t)slot.marks << 32 | (uint64_t)slot.made << 40;
}

static inline uint64_t epoll_key(int32_t set, int32_t target)
{
	return (uint64_t)(uint32_t)set << 32 | (uint32_t)target;
}

/* polled.c */
void polled_enter(struct state *state, struct thread *thread);
bool role_serves(uint8_t role);
/* The same, but for the end of a terminal that programs at the other one write to. */
bool object_serves(const struct state *state, const struct object *object);
bool polled_has(const struct process *process, int32_t set, int32_t target);
void polled_begin(struct state *state, struct thread *thread, struct wait *wait);
void polled_ended(struct state *state, struct thread *thread, struct wait *wait);
void polled_found(struct state *state, struct thread *thread); /* the call found something */
void polled_used(struct state *state, struct thread *thread, const struct event *ev);
void polled_told(struct state *state, struct thread *thread, const struct event *ev);
/* What the wait that the thread is in watches, as far as all of it is known; how many there are, else 0. */
/* seen.c: what the recorder saw the thread wait for in this wait; NULL = nothing. There are *out_count. */
const struct fact_wait *seen_wait(const struct state *state, const struct thread *thread,
				  const struct wait *wait, size_t *out_count);
/* Who traced the thread, as it was seen in that stop; NULL = nobody, or it was not seen. */
const struct fact_wait *seen_tracer(const struct state *state, const struct thread *thread,
				    const struct wait *wait);

/* From what it is known who could end it, as struct wait's origin tells it. */
const char *seen_by(struct state *state, const struct fact_wait *seen);

/* Whether it waits for a lock that somebody has. */
bool seen_has_lock(const struct fact_wait *seen);

/* Tell by the object of the wait what was seen of it, where that is more than is known. */
void seen_object(struct state *state, struct wait *wait, const struct fact_wait *seen);

size_t polled_watched(const struct state *state, const struct thread *thread, int32_t *out_fds,
		      size_t max);
int32_t polled_for_room(
	const struct thread *thread); /* the only one watched for that; -1 = none, or several */
/* The same as it was told of the same call the last time that it was looked at. */
size_t polled_watched_before(const struct thread *thread, int32_t *out_fds, size_t max);
/* Name 'wait' by that, which is inferred; there is something. */
void polled_tell_before(struct state *state, const struct thread *thread, struct wait *wait);

/* used.c */
void used_enter(struct thread *thread, const struct call *call); /* a call begins */
void used_leave(struct thread *thread, const struct call *call, const struct event *ev);
/* Which other thread used the System V queue or semaphore last that the call under way is about; NULL = none is known. */
const struct thread *used_ipc_last(const struct state *state, const struct thread *thread);
/* Slot of the only thread of the process that has used something of that name lately; SLOT_NONE = none, or several. */
uint32_t used_only_by(const struct state *state, const struct process *process, uint32_t name);

/* queue.c */
void queue_timer_set(struct state *state, const struct event *ev);
void queue_timer_ends(struct state *state, const struct event *ev);
/* net_dev_queue */
void queue_handed(struct state *state, const struct event *ev);
/* Handed to a device, and by whom is not known. */
void queue_handed_by_none(struct state *state, const struct event *ev);
/* netif_rx, while 'by' has the CPU: was the packet in a queue until now? */
bool queue_passes(struct state *state, const struct event *ev, const struct thread *by,
		  bool in_softirq_tx);
/* Name id of the queue that the packet was in; 0 = in none. */
uint32_t queue_of_packet(const struct actor *sender);
void queue_at_wake(const struct cpu *cpu, struct wait *wait);
void queue_told(struct state *state, const char *text);

/* supervised.c */
/* The thread enters ptrace(). */
void supervised_ptrace(struct state *state, struct thread *thread);
/* The thread was stopped, and waits so. */
void supervised_stops(const struct thread *thread, struct wait *wait);
/* 'waker' ends the wait of 'thread'. */
void supervised_at_wake(struct state *state, const struct thread *waker, struct thread *thread,
			struct wait *wait);
/* A call of the thread begins or ends: if it was answered for, the wait for that was in it. */
void supervised_call(struct thread *thread, uint32_t word);

/* throttle.c */
/* FD_THROTTLED */
void throttle_told(struct state *state, const struct event *ev);
/* A thread that could run was switched out: was its real time used up? */
void throttle_at_switch(struct state *state, struct thread *thread, const struct event *ev);
/* A thread that comes onto a CPU is not held back any more. False: it was not. */
bool throttle_end(struct state *state, struct thread *thread, uint64_t now_ns);
/* Does that work of the kernel's issue what a limit held back? */
bool throttle_releases(const struct state *state, const struct actor *issuer);
/* Name id of the limit that held the request back; 0 = none did. */
uint32_t throttle_of_request(struct state *state, const struct actor *issuer);
/* Work is queued, by 'actor', and is started. */
void throttle_queued(struct state *state, const struct cpu *cpu, const struct event *ev,
		     const struct actor *actor);
void throttle_started(struct state *state, struct thread *worker, const struct event *ev);
/* The wait that ends now, of which all but 'flags' is known; 'current' may be NULL. */
void throttle_at_wake(struct state *state, const struct cpu *cpu, const struct thread *thread,
		      struct wait *wait);
/* A request to a disk is complete, and what held it back is known. */
void throttle_completed(struct state *state, const struct cpu *cpu, const struct event *ev);
/* What 'poller' is done with now waited for a limit, as inferred: up to when. False: no limit, or it is not known. */
bool throttle_polled(struct state *state, const struct thread *poller, uint64_t now_ns,
		     struct actor *out_limit);
/* The recorder saw the limit hold it back: see HOW_IO_LIMIT. */
void throttle_seen(struct state *state, struct wait *wait, const char *limit);
/* Its wait is ended by who polls, through what throttle_polled() gave. */
void throttle_passed_on(struct state *state, const struct actor *limit, struct wait *wait);

/* pressure.c */
/* FD_THROTTLED, of memory */
void pressure_told(struct state *state, struct thread *thread, const struct event *ev);
/* A wait of the thread begins now. */
void pressure_at_sleep(struct state *state, struct thread *thread, struct wait *wait);
/* Its wait that ends now, of which all is known. */
void pressure_at_wake(struct state *state, const struct thread *thread, struct wait *wait);
/* The recording ends. */
void pressure_at_end(struct state *state);

/* about.c: whom a call asked about; waitid() is not told. */
int32_t about_process(const struct call *call, const uint64_t *args);
/* Which file, process or futex the call under way is about, as the argument of WORD_USER. */
uint32_t about_of_call(const struct state *state, const struct thread *thread, int64_t ret);
/* channel.c: WORD_CHANNEL and which one, of a call that is about no file; 0 = none, or not known. */
uint32_t channel_of_call(const struct state *state, const struct thread *thread);
/* What a call that did not fail found or did, as the argument of WORD_USER. */
uint32_t about_result(struct state *state, const struct thread *thread, int64_t ret);

/* again.c: the call under way begins, of which arguments and time are known, and ends. */
void again_enter(const struct state *state, struct thread *thread);
void again_leave(const struct state *state, struct thread *thread, int64_t ret);

/* asked.c */
void asked_on_name(struct state *state, struct thread *thread, const struct ev_fd_name *name);
/* What a descriptor stands for is told a moment after the call that made it, or the first one that used it, has ended. */
void asked_open_is_named(const struct state *state, struct thread *thread, int32_t fd);
uint32_t asked_about(const struct state *state, uint32_t name); /* a name id; as word_about() */
uint32_t asked_about_both(const struct state *state, uint32_t from, uint32_t to);
uint32_t asked_about_content(const struct state *state, const struct thread *thread, int64_t fd);
/* Name id of a descriptor of a file whose content others may change; 0 = it is of anything else. */
uint32_t asked_content_name(const struct state *state, const struct thread *thread, int64_t fd);
/* The call of 'thread' has ended, and did not fail: if it looked into a file, a sleep that follows is told. */
void asked_looked(const struct state *state, struct thread *thread, int64_t fd);
void asked_tell_looked(struct thread *thread, struct wait *wait);
/* The thread ended: what it asked for is left to its parent. */
void asked_after_connect(struct thread *thread, int64_t ret);
void asked_leave(const struct state *state, const struct thread *thread);

/* expect.c: who was awaited, where a signal comes first, or the recording ends. */
/* The thread of a process that 'thread' waits for, or SLOT_NONE when it is not known. */
uint32_t expect_thread(struct state *state, const struct thread *thread,
		       const struct process *process);
void expect_at_signal(struct state *state, struct thread *thread, struct wait *wait);
void expect_at_return(struct state *state, struct thread *thread);
/* It ends between two slices of a wait: who was awaited in the last one. */
void expect_cut_off(struct state *state, struct thread *thread);
void expect_at_end(struct state *state);
/* A limit ended the wait: what did not come is told, where it is a connection. */
void expect_timed_out(struct state *state, const struct thread *thread, struct wait *wait);
/* A connection was made, but its first request was dropped: who listens there did not accept others. */
void expect_asked_again(struct state *state, const struct thread *thread, struct wait *wait);

#endif
