/*
 * why.h - what held a thread up: the verdict, the chain, and what they rest on.
 *
 * The state summary, the instances and the recursive blocking causality follow
 * "The LTTV Delay Analyzer"; the verdict is the same tree flattened, so that
 * every nanosecond of the window is charged to exactly one root.
 *
 * A plain result: computed once, never printed here. Every string is owned by
 * the result and never NULL. Times are ns on the trace clock.
 */
#ifndef ANALYSE_WHY_WHY_H
#define ANALYSE_WHY_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/why/reason.h"
#include "base/names.h"
#include "accounts/stats.h"

struct app_spans;
struct err;
struct facts;
struct lock_owners;
struct memory_spans;
struct timeline;
struct why_process;

/* Classes whose spans come from events of their own, see memory_spans.h. */
#define WHY_CLASS_MEMORY (1u << DELAYS_RECLAIM | 1u << DELAYS_COMPACTION)

/* "disk", "memory", and "waiting for disk", "freeing or moving memory" of bits of enum delays_class. */
const char *why_class_name(uint32_t classes);
const char *why_class_words(uint32_t classes);

enum why_kind {
	WHY_WORKING,	  /* the target itself worked */
	WHY_CPU_QUEUE,	  /* it could run, was woken, and had no CPU yet */
	WHY_PREEMPTED,	  /* it could run, and its CPU was taken away */
	WHY_IRQ,	  /* an interrupt ran on its CPU */
	WHY_SOFTIRQ,	  /* a softirq ran on its CPU */
	WHY_TIMER,	  /* someone slept until a timer went off */
	WHY_DISK,	  /* a block device was busy with a request */
	WHY_NETWORK,	  /* a packet from outside was awaited */
	WHY_IPI,	  /* another CPU's interrupt ended the wait */
	WHY_LOCK,	  /* another thread worked while it held a lock */
	WHY_OTHER_THREAD, /* another thread worked */
	WHY_STUCK,	  /* what someone waited for did not come */
	WHY_STOPPED,	  /* a signal or the freezer of its cgroup kept somebody stopped */
	WHY_UNKNOWN,	  /* events were lost, or nothing tells */
	WHY_GRACE,	  /* RCU waited until all CPUs had let go of what they read */
	WHY_THROTTLED,	  /* a limit held it back, or had it free memory */
	WHY_KIND_COUNT
};

/* "working", "cpu_queue" ...: the word used in JSON. */
const char *why_kind_name(enum why_kind kind);

/* Why the target itself waited, told apart in words. */
enum why_class {
	WHY_HELD_UP, /* it wanted to go on and could not */
	WHY_ASKED,   /* it asked to sleep: nanosleep, a time-out that ran out */
	WHY_IDLE,    /* a server that waits for work: accept, epoll on its clients */
	WHY_RUNS,    /* not a wait: it worked or was interrupted */
};

/* "held_up", "asked", "idle", "runs": the word used in JSON. */
const char *why_wait_class_name(enum why_class class);

/* What was asked for in vain before sleeps: the last call to fail before most of them. */
struct why_polls {
	const char *call; /* "fcntl"; NULL = there was none */
	const char *
		error; /* "EAGAIN"; "" = it found nothing, or the process that it sought still there */
	uint64_t count;	 /* of the thread's sleeps in the window, before which it failed ... */
	uint64_t sleeps; /* ... of so many */
	const char
		*object; /* what the call was about: "fd 3 = /x"; "" = not known, NULL = as that */
	/* Without a call: of the sleeps, those before which it did nothing; how long each of these was. */
	uint64_t bare, bare_ns;
	bool found_alive; /* without an error: what the call looked for is a process, still there */
};

#define WHY_CODES 5 /* places of one root that are kept */

/*
 * Where a thread waited or worked: a place in code, and the stack that led there for longest at once; of facts->stacks.
 * The place of work is the innermost frame.
 */
struct why_code {
	uint32_t place; /* the first stack with it */
	uint32_t stack : 31;
	uint32_t is_work : 1; /* as samples say */
	uint64_t ns;
};

/* The places of some waits or of some work, most time first. */
struct why_codes {
	struct why_code at[WHY_CODES];
	uint32_t count;
	uint64_t seen_ns; /* of which a stack is known; also of places that are not kept */
};

/* Time of one thread of the timeline. */
struct why_work_span {
	uint32_t slot;
	uint64_t start_ns, end_ns;
};

/* Sorted by thread, then time, once why_work_end() was called. */
struct why_work {
	struct why_work_span *at; /* owned */
	size_t count, cap;
	size_t sorted; /* how many there were when they were sorted last */
};

/* All targets were explained: sort what they gave, and join what is in it more than once. */
void why_work_end(struct why_work *spans);

/* The first one of a thread that ends behind 'start_ns': an index, up to count. */
size_t why_work_find(const struct why_work *spans, uint32_t slot, uint64_t start_ns);
void why_work_fini(struct why_work *spans); /* zeroed is fine */

/* Add those of 'more' to 'sum'. */
void why_codes_add(struct why_codes *sum, const struct why_codes *more);

/* Where in time a root was charged: 'ns' of this span of the target's own states. */
struct why_span {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t ns; /* at most end - start; of joined spans the sum */
	int32_t tid; /* of the target: of a process, which of its threads */
};

/* One root of the verdict. */
struct why_root {
	uint64_t ns;
	enum why_kind kind;
	enum why_class class; /* of the target's own wait through which it was charged */
	struct why_thread who;
	const char *
		what; /* "own code", "write", "clock_nanosleep", "irq 24 virtio0-req.0"; "" = see what_data */
	const char *object; /* "/var/db/x", "sda 4096 B write", "futex 0x7f.."; "" = none */
	/* Unknown: why; stuck: what happened instead; stopped: until what; grace: which; NULL = none. */
	const struct why_reason *why;
	uint64_t count; /* spans that were added up */
	uint64_t longest_ns;
	bool timed_out; /* timer: it was the limit of a wait for something else, not a sleep */
	/* No CPU: who had none, where it is one other thread nearly all the time; else tid 0. */
	struct why_thread kept_off;
	/* It worked: at whose requests nearly all the time, where that is another process; else tid 0. */
	struct why_thread client;
	struct why_polls polls; /* timer: of who slept */
	bool in_circle; /* stuck: with what it waits for, which waits for it, maybe through others */
	/* Somebody slept between questions: from what it is inferred who changed the answer; NULL = known. */
	const struct why_reason *inferred;
	const char *told; /* what it did meanwhile, as it said at known points; NULL = it did not */
	uint64_t told_ns; /* for how much of ns, at least */
	struct why_codes waited; /* where the target itself waited, while this was charged */
	struct why_codes code;	 /* what 'who' did meanwhile: where it worked, or waited */
	struct why_span
		*spans; /* owned; in order of time, of one thread after the other; if asked for */
	size_t span_count, span_cap;
	const struct why_reason
		*what_data; /* where 'what' is "": shares of its work, or a packet */
	uint32_t objects;   /* 'object' is the most of so many; 0 = it is all */
	bool is_call;	    /* 'what' is a system call */
	bool no_name;	    /* 'object' is a descriptor of which the name is not known */
};

/* Orders over what they did, and to what; 0 = the same. */
int why_root_compare_what(const struct why_root *a, const struct why_root *b);
int why_root_compare_object(const struct why_root *a, const struct why_root *b);

/* Of a wait that a timer ended it is not known whether that was a sleep, or a time-out: its call is not. */
bool why_root_is_any_timer(const struct why_root *root);

/* One hop of the chain: from the target (first) to the root (last). */
struct why_hop {
	struct why_thread who;
	const char *what; /* what it was in while it waited, or what the root did */
	const char *object;
	const char
		*woken_by; /* how the wait of this hop ended; "" = see woken_by_data, or the root */
	uint64_t ns;	   /* time of the window charged through this hop */
	uint64_t count;	   /* waits that were added up */
	struct why_thread waker; /* who ended the wait; tid 0 = hardware, unknown, or the root */
	/* Of the root alone: as it has it; and of one that had the CPU, who waited for that. */
	const struct why_reason *why;
	struct why_thread kept_off;

	/* From the program's own lock events: the lock it waited for; NULL = it told of none. */
	const char *lock;
	struct why_thread owner; /* had it meanwhile: the next hop; tid 0 = the waker is */

	/* As a kernel lock itself told when it was asked for. */
	struct why_thread holder; /* had it; tid 0 = not known */
	const char *holding;	  /* what that one was in; "" = not known */
	bool many_held;		  /* others had it as well, at other times */

	bool halted;	/* a signal, its tracer, or its cgroup kept it from running */
	bool by_packet; /* a packet ended the wait: 'woken_by' says where it came in */

	const struct why_reason
		*instead;	   /* of what it waited for, which did not come; NULL = it did */
	struct why_thread expects; /* who could have brought it: the next hop; tid 0 = not known */
	const struct why_reason *expects_by; /* from what that is inferred; NULL = it is known */
	uint64_t
		slices; /* of its waits, that time-outs of its own ended; beside the last of each wait */
	/* From what it is inferred that it slept for the next hop, what 'answerer' did; NULL = known. */
	const struct why_reason *inferred;
	struct why_thread answerer;
	const struct why_reason *helper; /* ended the wait for somebody else; NULL = nothing did */
	bool known;	  /* it is not inferred: the answerer had the file lock that it asked for */
	const char *told; /* what it waited for, as it said at known points: in most of its waits */
	uint64_t told_count;	/* in so many of 'count'; of the root: 0 */
	const char *waker_told; /* what who woke it said just before; NULL = nothing */
	/* Owned; NULL = none: most traces have no stacks, and there may be many hops. */
	struct why_codes *code;	      /* where it waited; of the root: none */
	struct why_codes *waker_code; /* where who woke it was meanwhile, at work or not */
	const struct why_reason *what_data, *woken_by_data; /* as of a root */
	uint32_t objects;
	bool is_call, no_name;
	bool woken_by_call, holding_call; /* 'woken_by', 'holding' are system calls */
};

/* One hop of a path: a wait that led on to the next hop, or to the end. */
struct why_step {
	uint32_t
		up; /* the hop before: index into steps[]; UINT32_MAX = it is the target's own wait */
	struct why_thread who;
	const char *what;
	const char *object;
	const char *lock; /* NULL = the program told of none */
};

/* Time of the window that came to one root through the same hops. */
struct why_path {
	uint64_t ns;
	uint32_t step; /* the last hop: index into steps[]; UINT32_MAX = the target did not wait */
	bool runnable; /* it did not, and had no CPU */
	struct why_thread who; /* the root, as in struct why_root */
	enum why_kind kind;
	const char *what; /* "" where the root worked at several things */
	const char *object;
	uint32_t objects;	      /* as of the root */
	const struct why_reason *why; /* as of the root */
};

/* Who had the lock during a wait, as the program told, and what that thread did then. */
struct why_owner {
	struct why_thread who; /* tid 0: nobody had it, or it was not told who */
	uint64_t ns;
	uint64_t working_ns; /* the four add up to ns, but for tid 0 */
	uint64_t interrupted_ns;
	uint64_t blocked_ns;
	uint64_t uncertain_ns;
};

/* One line of the WIB summary tree, in print order: a line's children follow it. */
struct why_line {
	uint32_t depth;	  /* 0 = Working, Interrupted, Blocked, Uncertain */
	const char *name; /* "Blocked", "read", "fd 3 = /etc/passwd" */
	uint64_t ns;
	uint64_t count;		 /* intervals */
	uint32_t first_instance; /* instances of exactly this line: a run in instances[] */
	uint32_t instance_count; /* 0 for lines that only add up others */
	bool is_call;		 /* a wait in a system call of that name */
};

/* An uninterrupted span of the target in one state. */
struct why_instance {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t id;   /* what the user types: --instances ID; from 1, in time order */
	uint32_t line; /* index into lines[] */
	int32_t wait;  /* index into waits[]; -1 = not a wait */
};

enum why_waker {
	WHY_WAKER_THREAD,
	WHY_WAKER_TIMER,
	WHY_WAKER_DISK,
	WHY_WAKER_NETWORK,
	WHY_WAKER_IRQ,	   /* another interrupt */
	WHY_WAKER_SOFTIRQ, /* another softirq */
	WHY_WAKER_IPI,
	WHY_WAKER_SIGNAL,  /* a thread or a timer, by a signal */
	WHY_WAKER_WORK,	   /* a kworker, for whoever queued the work */
	WHY_WAKER_NONE,	   /* still blocked at the end of the window */
	WHY_WAKER_UNKNOWN, /* not recorded */
};

/* "thread", "timer", "disk", "network" ... */
const char *why_waker_name(enum why_waker waker);

/* What a thread did in a span. */
struct why_did {
	uint64_t working_ns;
	uint64_t interrupted_ns;
	uint64_t blocked_ns;
	uint64_t uncertain_ns;
};

/* One wait, as a node of the recursive blocking causality. */
struct why_wait {
	uint64_t start_ns; /* cut to the span it is asked for */
	uint64_t end_ns;
	struct why_thread who; /* who waited */
	const char *in;	       /* "read", "page fault", "exit" */
	const char *object;
	enum why_class class;
	enum why_waker waker;
	struct why_thread woken_by; /* tid 0 for hardware */
	const char *waker_name;	    /* "irq 24 virtio0-req.0", "hrtimer_wakeup", "SIGCHLD" */
	const char *stack; /* kernel functions it slept in, innermost first; "" = not recorded */
	const char *waker_state; /* the waker's control-flow stack: "write < softirq NET_RX" */
	uint32_t depth;		 /* 0 = the target's own wait */
	int32_t parent;		 /* index into waits[]; -1 at depth 0 */
	uint64_t
		working_ns; /* depth > 0 owners: what the waker (of the last slice) did in this span */
	uint64_t interrupted_ns;
	uint64_t blocked_ns;
	uint64_t uncertain_ns;

	/* From the program's own lock events: the lock it waited for; NULL = it told of none. */
	const char *lock;
	uint32_t first_owner; /* a run in owners[], which adds up to end - start */
	uint32_t owner_count; /* 0: a condition, or no lock was told of */
	/* Its own time-out ended it, and it waited on for the same: what ended the last slice. */
	bool is_slice;
	enum why_waker last_waker;
	struct why_thread last_woken_by;
	const char *last_waker_name;
	/* A sleep between questions: who changed the answer, as inferred from that; NULL = it is none. */
	const struct why_reason *inferred;
	struct why_thread answerer;
	const struct why_reason
		*helper;  /* that ended it for others, as in struct why_hop; NULL = none */
	bool known;	  /* as of a hop */
	const char *told; /* what it waited for, as it said at known points; NULL = nothing */
	/* Had the kernel lock when it was asked for, as the lock told; tid 0 = not known. */
	struct why_thread holder;
	const char *holding; /* what that one was in then; "" = not known */
	/* What it did in this span, which may be more than it had the lock; 0 where it is the waker. */
	struct why_did held;
	const char *waker_in; /* 'waker_state', but for own code where that says nothing more */
	bool in_call, waker_in_call,
		holding_call; /* 'in', 'waker_in', 'holding' are system calls */
	/* What 'waker_name' and 'last_waker_name' are, where they are ""; NULL = nothing. */
	const struct why_reason *waker_data, *last_waker_data;
};

/*
 * A process that the result names, where more is known of it than the name of its thread. What its
 * title, command line or cgroup was as the recording began, or what it executed since.
 */
struct why_person {
	struct why_thread who;
	const char *cmdline; /* title or arguments, joined by blanks; "" = they say no more */
	const char *cgroup;  /* "" = not known */
	const char *place;   /* the unit or container: "nginx.service", "3f2a9b4c11d0"; "" = none */
	const char *manager; /* of the container: "docker", "podman"; "" = it is a unit, or none */
	const char *
		killed_by; /* "SIGKILL of sh[12]", "SIGKILL: out of memory"; "" = it was not in the window, or that is not known */
};

/* An ancestor that stood in for the thread asked for, which was not born yet. */
struct why_stand_in {
	struct why_thread who;
	uint64_t start_ns;
	uint64_t end_ns; /* the birth of the thread asked for, or of the next ancestor */
};

/* Of the sums, that which is of ancestors, before the birth of the target. */
struct why_before {
	uint64_t working_ns, interrupted_ns, uncertain_ns;
	uint64_t held_up_ns, asked_ns, idle_ns;
};

/* System calls of the target that began in the window, by name. */
struct why_syscall {
	const char *name;
	uint64_t count;
	uint64_t errors; /* 0 = none, or not recorded */
	uint64_t ns;	 /* working in it; waits are not counted here */
};

struct why {
	struct why_thread target;
	const char *cmdline;
	int32_t stood_in_for; /* the tid asked for, when an ancestor stands in for part; else 0 */
	struct why_stand_in *stand_ins; /* who stands in, in order of time */
	size_t stand_in_count;
	struct why_before before; /* 0 where an ancestor is the target */
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t working_ns;
	uint64_t interrupted_ns;
	uint64_t blocked_ns;
	uint64_t uncertain_ns; /* the four add up to end - start */

	/* Blocked time by class; adds up to blocked_ns. */
	uint64_t held_up_ns;
	uint64_t asked_ns;
	uint64_t idle_ns;

	uint32_t classes;     /* as asked for */
	uint64_t class_ns;    /* time of the window in them; without: all of it */
	uint64_t class_count; /* waits, or spans */

	struct why_root *roots; /* in the order of why_roots_rank(); add up to class_ns */
	size_t root_count;
	struct why_hop *chain; /* of the largest root that is not the target's own work */
	size_t chain_count;
	struct why_line *lines;
	size_t line_count;
	struct why_instance *instances; /* grouped by line, longest first */
	size_t instance_count;
	struct why_wait *waits; /* a node is followed by its children */
	size_t wait_count;
	struct why_owner *owners; /* of waits for locks, each its run */
	size_t owner_count;
	struct why_path *paths; /* add up to end - start; only if asked for */
	size_t path_count;
	struct why_step *steps;
	size_t step_count;
	uint64_t waits_cut;    /* nodes left out by --depth or --min */
	uint64_t waits_cut_ns; /* their time (depth-0 time of cut nodes counted once each) */

	struct why_syscall *syscalls; /* most often called first */
	size_t syscall_count;

	/* Slices of the target's waits: their time-outs ran out, and it waited on for the same. */
	uint64_t slice_count;  /* beside the last one of each wait */
	uint64_t slice_ns;     /* of them; charged to what ended the last one */
	uint64_t answer_count; /* sleeps between questions, charged to who changed the answer */
	uint64_t answer_ns;    /* of them, up to then */
	uint64_t missed_count; /* slices, charged to who did unseen what the thread waited for */
	uint64_t missed_ns;    /* of them, up to then */

	uint64_t lost_events;	   /* on any CPU, within the window */
	uint64_t lost_span_ns;	   /* time of the window touched by a hole on some CPU */
	uint64_t repairs;	   /* switches of the whole recording that were not recorded */
	uint64_t repairs_exact;	   /* of these, placed exactly by other events */
	uint64_t repairs_ns;	   /* time of the window left uncertain by the others */
	uint32_t depth_limit_hits; /* recursion stopped by the bound on depth */

	struct why_person *people; /* of why_people.h, if asked for: the target first */
	size_t person_count;
	struct why_process
		*process;	 /* owned; of why_process.h; NULL = the result is of one thread */
	struct why_worst *worst; /* owned; of worst.h; NULL = none stands out, or nobody looked */
	struct names texts;	 /* every string of the result, each once */
	struct why_reasons reasons;
};

struct why_opts {
	uint32_t slot;	   /* the target: a thread of the timeline */
	uint64_t start_ns; /* window; 0 = the target's birth */
	uint64_t end_ns;   /* 0 = the target's end, or the end of the trace */
	uint32_t depth;	   /* bound of the recursion in waits[]; 0 = default */
	uint64_t min_ns;   /* waits shorter than this are cut from waits[] */
	bool want_waits;   /* fill waits[] */
	bool of_process;   /* so are all other threads of its process */
	bool want_paths;   /* fill paths[] and steps[]: all of the verdict's chains */
	/* Fill the roots' spans[]; those with gaps of at most so much between them are joined. 0 = not. */
	uint64_t spans_ns;
	const struct why_root *
		chain_of; /* tell the chain of what is of this kind and thread; NULL = the largest */

	/*
	 * Bits of enum delays_class: the verdict and the chain are of the time in this class only,
	 * and add up to class_ns. 0 = of all the window. Those of WHY_CLASS_MEMORY need 'memory', a
	 * view, and go with no other.
	 */
	uint32_t classes;
	const struct memory_spans *memory;

	/* What programs told of their locks; a view, asked by one thread. NULL = nothing. */
	struct lock_owners *lock_owners;
	const struct app_spans *told; /* what they said at known points; a view. NULL = nothing */
	struct why_work
		*work; /* to be filled: the work that the verdict charges; NULL = not asked */
};

/*
 * Explain. Returns 0 and fills *out_why (free with why_fini()); negative with err
 * filled when the window is empty or the target did not live in it.
 * Deterministic: the same timeline gives the same result, in the same order.
 */
int why_run(const struct timeline *timeline, const struct facts *facts, const struct why_opts *opts,
	    struct why *out_why, struct err *err);

void why_fini(struct why *why);

#endif
