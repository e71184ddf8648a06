/*
 * event.h - the one shape that every event takes, whatever tracer wrote it.
 *
 * A reader in read/ fills it from the bytes of its format; everything behind
 * the readers sees nothing else. The well-known kernel events have a type and
 * plain fields; all others arrive as EV_OTHER with their name.
 *
 * Pointers inside an event are views: valid until the next event is fetched.
 */
#ifndef EVENT_EVENT_H
#define EVENT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

enum event_type {
	EV_NONE,
	EV_LOST, /* a hole in this CPU's stream; see struct ev_lost */
	EV_OTHER,

	EV_SCHED_SWITCH,
	EV_SCHED_WAKING,     /* runs in the waker's context: the cause of the wake-up */
	EV_SCHED_WAKEUP,     /* the thread is runnable; may run on another CPU */
	EV_SCHED_WAKEUP_NEW, /* first time runnable */
	EV_SCHED_FORK,
	EV_SCHED_EXEC,
	EV_SCHED_EXIT,
	EV_SCHED_MIGRATE,
	EV_SCHED_PI_SETPRIO,
	EV_SCHED_STAT_RUNTIME,
	EV_SCHED_BLOCKED_REASON, /* an uninterruptible sleep ends: for I/O, or not */
	EV_TASK_NEW,		 /* task_newtask: clone flags tell thread from process */
	EV_TASK_RENAME,

	EV_IRQ_ENTRY,
	EV_IRQ_EXIT,
	EV_VECTOR_ENTRY, /* irq_vectors: local timer, reschedule, call function ... */
	EV_VECTOR_EXIT,
	EV_SOFTIRQ_ENTRY,
	EV_SOFTIRQ_EXIT,
	EV_SOFTIRQ_RAISE,

	EV_SYS_ENTER,
	EV_SYS_EXIT,
	EV_FAULT_USER,	 /* page fault taken in user mode; no exit event exists */
	EV_FAULT_KERNEL, /* page fault taken in kernel mode */

	EV_BLOCK_INSERT,
	EV_BLOCK_ISSUE,
	EV_BLOCK_COMPLETE,

	EV_WORK_QUEUE, /* workqueue_queue_work: someone asks for work */
	EV_WORK_START, /* a kworker begins the function */
	EV_WORK_END,

	EV_HRTIMER_START,
	EV_HRTIMER_EXPIRE,
	EV_HRTIMER_DONE,
	EV_TIMER_EXPIRE, /* timer wheel */
	EV_TIMER_DONE,

	EV_LOCK_BEGIN, /* contention on a kernel lock begins */
	EV_LOCK_END,

	EV_NET_QUEUE,	/* net_dev_queue: a packet is handed to a device */
	EV_NET_RX,	/* netif_rx: queued to the backlog (loopback, veth) */
	EV_NET_RECEIVE, /* netif_receive_skb: a packet enters the stack */

	EV_SIGNAL_GENERATE,
	EV_SIGNAL_DELIVER,
	EV_IPI_SEND,

	EV_STACK, /* kernel stack of a thread that was just switched out; event.tid is that thread */
	EV_FD_NAME, /* what a file descriptor names, learnt by the recorder */

	EV_USER_LOCK, /* what a thread did with a lock of its program, told by libholdup-locks */

	EV_URING_READY,	 /* io_uring_task_add: a request has become ready, in this context */
	EV_URING_DONE,	 /* io_uring_complete */
	EV_URING_QUEUE,	 /* io_uring_queue_async_work: a request is given to a worker */
	EV_URING_FILE,	 /* io_uring_file_get: what descriptor a request is about */
	EV_URING_SUBMIT, /* io_uring_submit_req: a request is taken from the ring */

	/*
	 * The thread leaves its CPU to sleep, in this call: of recordings with lean events, right before
	 * the switch. 'syscall' without 'ret'; nr -1: in no call, but in a page fault, mostly.
	 */
	EV_BLOCKED_IN,

	EV_BLOCK_REMAP, /* block_bio_remap: what a device is asked for, it asks of one below */

	EV_CPU_FREQUENCY, /* a CPU's frequency is changed */

	EV_TYPE_COUNT
};

/* struct event.context: what the CPU was doing as the event itself says; 0 = unknown. */
enum event_context {
	EV_CTX_KNOWN = 1 << 0,	 /* the bits below are meaningful */
	EV_CTX_HARDIRQ = 1 << 1, /* recorded inside a hard interrupt */
	EV_CTX_SOFTIRQ = 1 << 2, /* recorded inside a softirq */
	/*
	 * Written by a program itself, beside a recording of the kernel: proves nothing about
	 * the CPU; as EV_LOST, a hole in what programs wrote.
	 */
	EV_CTX_USER = 1 << 3,
	/* Numbers of threads in its record are those of another pid namespace; event.tid is the machine's. */
	EV_CTX_VTID = 1 << 4,
};

/* struct ev_switch.prev_state */
enum task_state {
	TASK_STATE_RUNNABLE, /* still runnable: preempted or yielded */
	TASK_STATE_SLEEPING, /* interruptible: S */
	TASK_STATE_DISK,     /* uninterruptible: D */
	TASK_STATE_IDLE,     /* uninterruptible, not counted in the load: I */
	TASK_STATE_STOPPED,  /* stopped or traced: T, t */
	TASK_STATE_DEAD,     /* exiting: X, Z */
	TASK_STATE_PARKED,   /* P */
	TASK_STATE_UNKNOWN,  /* not runnable, and the letter is not known */
};

/* What an object named by a file descriptor is, when the recorder could tell. */
enum fd_role {
	FD_ROLE_UNKNOWN,
	FD_ROLE_FILE,
	FD_ROLE_DIR,
	FD_ROLE_PIPE,
	FD_ROLE_TTY,
	FD_ROLE_DEVICE,
	FD_ROLE_SOCKET,	   /* socket whose role is not known (datagram, pair) */
	FD_ROLE_LISTEN,	   /* socket that waits for connections: work arrives here */
	FD_ROLE_ACCEPTED,  /* socket made by accept(): requests arrive here */
	FD_ROLE_CONNECTED, /* socket made by connect(): answers arrive here */
	FD_ROLE_EPOLL,
	FD_ROLE_EVENTFD,
	FD_ROLE_TIMERFD,
	FD_ROLE_SIGNALFD,
	FD_ROLE_INOTIFY,
	FD_ROLE_PIDFD,
	FD_ROLE_OTHER,
	FD_ROLE_CONNECTING, /* socket whose connection is under way */
};

#define FD_ROLE_MASK 0x1fu

/* Beside the role, of descriptors at the start: if it is an epoll set, not all that it watches is known. */
#define FD_PARTLY 0x20u
#define FD_READS  FD_PARTLY /* the same, of a pipe: it is open to read alone */

/* And where it is known: what becomes of the descriptor when its process runs another program. */
#define FD_STAYS  0x40u
#define FD_CLOSES 0x80u

/* What a name tells beside itself. */
enum fd_watch {
	FD_NAMED,
	FD_WATCHED, /* the thread sleeps in poll or select, for this one, too */
	FD_LOCK, /* no descriptor: the thread begins to wait for a kernel lock; see kernel_lock.h */
	FD_THROTTLED, /* no descriptor: a limit, and whom it holds back: see enum throttle */
	FD_HELD, /* a lock on it is asked for, and process 'inode' has one: FD_HELD_BY_SEVERAL */
	FD_ASKED, /* no descriptor: a call by the path, or to the address, failed with error 'inode'; 0: it did not */
	FD_RUNS, /* no descriptor: the arguments of what the process runs from now on */
	FD_OWNER, /* no descriptor: thread 'inode' has the mutex that is waited for: FD_OWNER_INFERRED */
	FD_VTID, /* no descriptor: a thread begins that has another number, 'name', in pid namespace 'inode' */
	FD_WATCHED_ROOM, /* as FD_WATCHED, but only until there is room for what is to be written */
	FD_WATCH_COUNT
};

/* Of a descriptor; else of none, or of what somebody else has. */
static inline bool fd_watch_names(uint8_t watch)
{
	return watch <= FD_WATCHED || watch == FD_WATCHED_ROOM;
}

/* Who had the lock, in the place of the descriptor; 0 = not known. Readers that do not know FD_LOCK take no number below 0. */
static inline int32_t fd_of_owner(int32_t tid)
{
	return tid < 0 ? -1 : -1 - tid;
}

static inline int32_t fd_owner(int32_t fd)
{
	return fd < 0 ? -1 - fd : 0;
}

/* FD_THROTTLED: what happens, in the place of the descriptor. */
enum throttle {
	THROTTLE_BEGINS = -1, /* the thread leaves its CPU: its cgroup has used up its quota */
	THROTTLE_ENDS = -2,   /* it may run again */
	THROTTLE_REQUEST =
		-3, /* the thread issues a request that was held back: throttle_request() */
	THROTTLE_QUEUE = -4,   /* a device has such a queue; the name: "queue of DEVICE: ..." */
	THROTTLE_RECLAIM = -5, /* from now on the thread frees memory for that limit */
	THROTTLE_HIGH = -6,    /* the same, and the limit may have it pause after that */
	THROTTLE_DIRTY = -7,   /* from now on its pauses as it writes are for those dirty pages */
	THROTTLE_KILLED = -8, /* its process ends by a signal; the name: which, and why that came */
	THROTTLE_DEADLINE =
		-9,	     /* the thread is of SCHED_DEADLINE; the name: what may hold it back */
	THROTTLE_IDLE = -10, /* the thread set its policy; the name: SCHED_IDLE, or another one */
	THROTTLE_ALLOWED = -11, /* the CPUs that the thread may use; the name: "CPU 0", "" = all */
	THROTTLE_FREEZES = -12, /* the thread freezes a cgroup, from now on; the name: its path */
	THROTTLE_THAWS = -13,	/* and thaws it */
};

/* By which a request is known while it lives. */
static inline uint64_t throttle_request(uint32_t dev, uint64_t sector)
{
	return (uint64_t)dev << 40 ^ (sector == UINT64_MAX ? 0 : sector);
}

#define FD_HELD_BY_SEVERAL (UINT64_C(1) << 32) /* above the process: others have one, too */
#define FD_OWNER_INFERRED  (UINT64_C(1) << 32) /* above the thread: if that is a mutex of glibc */

#define FD_WATCH_SHIFT 8 /* enum fd_watch above the role, in files */

/* A role with its marks, and what the call had to do with it, out of a number in a file. */
static inline uint8_t fd_role_of(uint64_t number)
{
	uint64_t role = number & FD_ROLE_MASK, marks = number & (FD_PARTLY | FD_STAYS | FD_CLOSES);

	if (number >> FD_WATCH_SHIFT >= FD_WATCH_COUNT || role > FD_ROLE_CONNECTING ||
	    (marks & FD_STAYS && marks & FD_CLOSES))
		return FD_ROLE_UNKNOWN;
	return (uint8_t)(role | marks);
}

static inline uint8_t fd_watch_of(uint64_t number)
{
	uint64_t watch = number >> FD_WATCH_SHIFT;

	return watch >= FD_WATCH_COUNT ? FD_NAMED : (uint8_t)watch;
}

struct ev_lost {
	uint64_t
		since_ns; /* the last instant this CPU's stream is known whole; event time = whole again */
	uint64_t count;	  /* events lost; 0 = unknown number, at least one */
	bool is_step;	  /* not lost, but not recorded: the step changes here; see event/steps.h */
	uint8_t step;	  /* enum record_step, of now on */
	uint64_t packets; /* packets of a stream that are missing; 0 = none, or not known */
};

struct ev_switch {
	const char *prev_comm; /* 16 bytes at most, may lack a terminator; NULL = not recorded */
	const char *next_comm;
	int32_t prev_tid;
	int32_t next_tid; /* 0 = the idle task */
	int32_t prev_prio;
	int32_t next_prio;  /* kernel scale: 0..98 real time (FIFO/RR), 100..139 nice -20..19 */
	uint8_t prev_state; /* enum task_state */
	bool comms_wide;    /* both can be read as 16 bytes, whatever is in them */
};

struct ev_wake {
	const char *comm; /* of the woken thread */
	int32_t tid;	  /* the woken thread; the waker is event.tid */
	int32_t prio;
	int32_t target_cpu;
	bool comm_wide; /* it can be read as 16 bytes, whatever is in it */
};

struct ev_task {	      /* fork, exec, exit, task_newtask, task_rename, pi_setprio */
	const char *comm;     /* child's (fork, new), new name (rename), else the task's */
	const char *filename; /* exec: path; else NULL */
	int32_t tid;	      /* fork, new: the child; else the task meant */
	int32_t parent_tid; /* fork: who called; exec: the tid before (differs when a thread execs) */
	uint64_t clone_flags; /* task_newtask */
	bool group_dead;      /* exit: last thread of its process */
	bool group_dead_known;
	int32_t prio;
	int32_t tgid; /* fork, new: the child's process; 0 = not told */
};

struct ev_migrate {
	int32_t tid;
	int32_t from_cpu;
	int32_t to_cpu;
};

struct ev_runtime {
	int32_t tid;
	uint64_t runtime_ns; /* on CPU since this thread's last accounting or switch-in */
};

struct ev_blocked_reason {
	int32_t tid;
	uint8_t io; /* 1 = the kernel counted the sleep as one for I/O */
};

struct ev_irq { /* irq_handler: nr = irq number; vector: nr = enum vector_id; softirq: nr = action */
	const char *name; /* irq handler's device name at entry; NULL otherwise */
	int32_t nr;
	int32_t ret; /* irq exit: 1 = handled */
};

/* The irq_vectors events by what they are for; the hardware number differs per CPU family. */
enum vector_id {
	VECTOR_LOCAL_TIMER,
	VECTOR_RESCHEDULE,
	VECTOR_CALL_FUNCTION,
	VECTOR_CALL_FUNCTION_SINGLE,
	VECTOR_IRQ_WORK,
	VECTOR_X86_PLATFORM,
	VECTOR_ERROR,
	VECTOR_SPURIOUS,
	VECTOR_THERMAL,
	VECTOR_THRESHOLD,
	VECTOR_DEFERRED_ERROR,
	VECTOR_OTHER,
	VECTOR_COUNT
};

struct ev_syscall {
	int64_t nr;	  /* as recorded; -1 = none (restart, ptrace) */
	int64_t ret;	  /* exit */
	bool compat;	  /* a 32-bit call: nr is of the 32-bit table */
	bool by_name;	  /* told by an event of this call alone, syscalls:sys_enter_NAME */
	bool ended;	  /* blocked_in: the call has returned, and the thread is on its way out */
	uint64_t args[6]; /* enter; else not set */
	const char *path; /* enter: the file's name, where the tracer copied it; else NULL */
};

struct ev_fault {
	uint64_t address;
	uint64_t ip;
	uint64_t error_code; /* x86: bit 0 protection, bit 1 write, bit 2 user */
};

struct ev_block {
	uint64_t sector;
	uint32_t dev;	  /* kernel dev_t: major << 20 | minor */
	uint32_t sectors; /* 512-byte units */
	uint32_t bytes;	  /* insert, issue; 0 = not recorded */
	int32_t error;	  /* complete */
	const char *rwbs; /* "R", "WS", "FF" ...; 10 bytes at most */
	const char *comm; /* of the issuer; NULL = not recorded */
	uint64_t
		old_sector; /* remap: on the device above; 'dev' and 'sector' are of the one below */
	uint32_t old_dev;
};

/*
 * Where a request begins, the same at its issue and its completion: one without a place (a flush, a
 * command to the device) begins at 0 when it is issued, and at -1 when it is complete.
 */
static inline uint64_t ev_block_start(const struct ev_block *block)
{
	return block->sector == UINT64_MAX ? 0 : block->sector;
}

struct ev_work {
	uint64_t work;	       /* address of the work item: its identity */
	uint64_t function;     /* address; 0 = not recorded */
	const char *workqueue; /* queue: name or NULL */
	int32_t cpu;
};

struct ev_timer {	    /* hrtimer and timer wheel */
	uint64_t timer;	    /* address: its identity */
	uint64_t function;  /* address of the callback; 0 = not recorded */
	int64_t expires_ns; /* start */
};

struct ev_lock {
	uint64_t address;
	uint32_t flags; /* LCB_F_*: 1 spin, 2 read, 4 write, 8 rt, 16 per-CPU, 32 mutex */
	int32_t ret;	/* end */
};

struct ev_net {
	uint64_t skb; /* address of the packet: its identity while it lives */
	uint32_t len;
	const char *dev; /* device name */
};

struct ev_signal {
	int32_t signal;
	int32_t code;	/* SI_USER 0, SI_KERNEL 0x80, SI_TIMER -2 ... */
	int32_t tid;	/* generate: the receiver; deliver: = event.tid */
	int32_t result; /* generate: 0 = delivered, 1 = ignored, 2 = already pending ... */
	const char *comm;
};

struct ev_ipi {
	int32_t cpu; /* target */
	uint64_t callback;
};

struct ev_stack {
	const void *frames; /* return addresses, innermost first; 8 bytes each, not aligned */
	uint32_t count;
};

struct ev_fd_name {
	const char *name; /* what to print: a path, "tcp 127.0.0.1:80", "pipe:[123]" */
	int32_t tgid;
	int32_t tid; /* the thread that made it; event.tid is -1: its CPU was not written down */
	int32_t fd;
	uint64_t
		inode; /* identity across processes for pipes and sockets; 0 = unknown; see enum fd_watch */
	uint8_t role;  /* enum fd_role, with FD_STAYS or FD_CLOSES where that is known */
	uint8_t watch; /* enum fd_watch */
};

/* struct ev_user_lock.op */
enum user_lock_op {
	USER_LOCK_BEGIN,  /* the process begins to tell */
	USER_LOCK_MODULE, /* a file is loaded: address to mutex (end), site is the bias, path */
	USER_LOCK_ACQUIRED,
	USER_LOCK_RELEASED,
	USER_LOCK_WAIT_BEGIN,
	USER_LOCK_WAIT_END,
	USER_LOCK_COND_BEGIN, /* 'mutex' is let go */
	USER_LOCK_COND_END,   /* and taken again */
	USER_LOCK_SIGNAL,
	USER_LOCK_BROADCAST,
	USER_LOCK_DESTROYED,
	USER_LOCK_OP_COUNT
};

/* struct ev_user_lock.kind; as in traces, see src/runtime/locks/events.h */
enum lock_kind {
	LOCK_KIND_UNKNOWN,
	LOCK_KIND_MUTEX,
	LOCK_KIND_READ, /* a read-write lock, for reading */
	LOCK_KIND_WRITE,
	LOCK_KIND_SPIN,
	LOCK_KIND_BARRIER,
	LOCK_KIND_COND, /* of the three operations on conditions; in no trace */
	LOCK_KIND_COUNT
};

struct ev_user_lock {
	uint64_t address;
	uint64_t mutex;
	uint64_t site;	  /* where the call came from */
	const char *path; /* module; "" else */
	int32_t pid;
	int32_t owner;	/* wait_begin: as the lock itself said; 0 = it did not */
	int32_t result; /* of the call: 0 or an errno */
	uint8_t op;	/* enum user_lock_op */
	uint8_t kind;	/* enum lock_kind */
};

struct ev_uring {
	uint64_t req;	 /* address: its identity while it lives */
	int32_t fd;	 /* file */
	uint32_t opcode; /* but done and file: IORING_OP_* */
};

struct ev_frequency {
	uint32_t khz;
	int32_t cpu; /* whose it is; the event may be recorded on another one */
};

struct ev_other {
	const char *system;
	const char *name;
	bool is_probe; /* where its format tells: of a probe, which somebody had set */
};

struct event {
	uint64_t
		time_ns; /* ns on the trace clock (CLOCK_MONOTONIC scale); never goes back in a source */
	int32_t tid; /* thread the event was recorded in: proof that it is on this CPU. -1 = not known */
	uint16_t cpu;
	uint8_t type;	 /* enum event_type */
	uint8_t context; /* enum event_context bits */
	union {
		struct ev_lost lost;
		struct ev_switch sched_switch;
		struct ev_wake wake;
		struct ev_task task;
		struct ev_migrate migrate;
		struct ev_runtime runtime;
		struct ev_blocked_reason blocked_reason;
		struct ev_irq irq;
		struct ev_syscall syscall;
		struct ev_fault fault;
		struct ev_block block;
		struct ev_work work;
		struct ev_timer timer;
		struct ev_lock lock;
		struct ev_net net;
		struct ev_signal signal;
		struct ev_ipi ipi;
		struct ev_stack stack;
		struct ev_fd_name fd_name;
		struct ev_user_lock user_lock;
		struct ev_uring uring;
		struct ev_frequency frequency;
		struct ev_other other;
	};
};

/* "NET_RX" for softirq 3, "local timer" for VECTOR_LOCAL_TIMER; NULL for no such number. */
const char *event_softirq_name(uint32_t nr);
const char *event_vector_name(uint32_t id);

/* "sched_switch" for EV_SCHED_SWITCH ...; the name a user filters by. Never NULL. */
const char *event_type_name(enum event_type type);

#endif
