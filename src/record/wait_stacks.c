/*
 * wait_stacks.c - load the BPF programs, drain their rings, fetch stacks of waits that are still open.
 */
#include "record/wait_stacks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"
#include "event/stacks.h"
#include "guard/caps.h"
#include "record/bpf/raw_stack.h"
#include "record/bpf_parts.h"
#include "record/clock.h"
#include "record/futex_place.h"
#include "record/images.h"
#include "record/jit_files.h"
#include "record/python_codes.h"
#include "record/python_walk.h"
#include "record/pythons.h"
#include "record/share.h"
#include "record/stack_fetch.h"
#include "record/stack_keep.h"
#include "record/stack_names.h"
#include "record/work_samples.h"
#include "store/manifest.h"

#define LOOK_MS		  100
#define KEPT_LOOK_MS	  250 /* the same, where it is always on */
#define SOON_MS		  2   /* after a Python began, as it maps its library a little later */
#define SOON_LOOKS	  12  /* so many times */
#define RING_LEAST	  (256u << 10)
#define NAP_BYTES	  64u
#define PYTHON_BYTES	  168u /* that an entry of these maps takes, about */
#define CODE_BYTES	  80u
#define RING_MOST	  (4u << 20)
#define BUDGET_BYTES	  (8u << 20) /* of stacks, in a second */
#define KEPT_BUDGET_BYTES (1u << 20) /* the same, where it is always on */
#define SECONDS_KEPT_NS	  UINT64_C(30000000000)
#define OPEN_MS		  300		     /* for the waits that are open, at a snapshot */
#define LONG_NS		  UINT64_C(50000000) /* lean: who sleeps for longer has its stack fetched */
#define LONG_MOST	  16		     /* in one look */
#define SAVED_MOST_NS	  INT64_C(200000000)
#define LONG_PART	  50u  /* looks take this part of the time at most, */
#define KEPT_PART	  200u /* or this, where it is always on */
#define LOOKED_MOST	  1024
#define LATE_LEAST	  2   /* so many stacks that came too late, */
#define LATE_PART	  256 /* and this part of all, are too many */
#define SECOND_NS	  UINT64_C(1000000000)
#define SECONDS_MAX_NS	  UINT64_C(3600000000000)

extern const unsigned char holdup_bpf_stack[];
extern const size_t holdup_bpf_stack_bytes;
extern const unsigned char holdup_bpf_stack_work[]; /* the same with task works */
extern const size_t holdup_bpf_stack_work_bytes;

/* What is attached, in this order; the last one is called by us. */
enum stack_program {
	PROGRAM_SLEEP,
	PROGRAM_WAKING,
	PROGRAM_EXIT,
	PROGRAM_FORK,
	PROGRAM_EXEC,
	PROGRAM_EACH_THREAD,
};

static const char *const programs[] = { "on_sleep", "on_waking", "on_exit",
					"on_fork",  "on_exec",	 "on_each_thread" };

/* What a word of a process is called that is in a shared mapping; 'hash' is of what the program tells of it. */
struct shared_path {
	uint64_t hash;
	char path[RAW_FUTEX_PATH];
};

/*
 * What was told since a time, with all that gives it names. Where it is always on, two of them are filled at once: when
 * the older one is older than is asked for twice, it goes, and a new one begins.
 */
struct stack_age {
	uint64_t since_ns;
	struct images *images;
	const char *no_images; /* why the kernel does not tell what is mapped; NULL = it does */
	struct jit_files *jit_files;
	struct pythons *pythons;
	struct python_codes *codes;
	struct stack_keep *keep;
	uint64_t over, over_lost, over_gone; /* of the program, when it began */
};

/* A stack that was fetched while its thread slept: it is that of the wait when it is over. */
struct looked {
	uint64_t begin_ns;
	int32_t tid;
	uint32_t stacks[2]; /* of each age; UINT32_MAX = it is not kept there */
};

struct wait_stacks {
	/* Of waits; NULL = they are not asked for. */
	struct bpf_object *object;
	struct bpf_link *links[ARRAY_LEN(programs)];
	bool is_lean;
	bool names_later;
	bool has_work; /* the kernel has task works: no end of a system call is looked at, unless: */
	bool has_late; /* they came too late; of the thread */
	bool rests;    /* see wait_stacks_rest() */
	struct ring_buffer *ring;
	struct raw_stack_control *control; /* mapped; the program writes the counters */
	struct work_samples *samples;	   /* NULL = they are not asked for, or: */
	struct err no_samples;		   /* why there are none; "" = there are */
	struct stack_sampling sampling;
	struct stack_age ages[2];   /* the older one first */
	size_t age_count;	    /* 1, but where it is always on */
	uint64_t keep_bytes;	    /* of stacks, in each age; 0 = a recording, which has an end */
	_Atomic uint64_t keep_ns;   /* the older age shall reach so far back */
	struct stack_naming naming; /* of a snapshot; not of the thread */
	int soon;		    /* looks that are made soon */
	uint64_t looked_ns;	    /* when threads were looked at last; of the thread */
	int64_t saved_ns;	    /* CPU time that looks may take; of the thread */
	uint64_t saved_at_ns;	    /* when that was */
	struct looked looked[LOOKED_MOST]; /* by their threads; of the thread */
	int pythons_fd; /* the map of the program for waits; a view; -1 = there is none */
	int kernel_fd;	/* a view; -1 = nothing is on disk */
	int stop_fd;
	int open_fd;	       /* eventfd: readable = tell of the waits that are open */
	int told_fd;	       /* eventfd: that was done */
	pthread_mutex_t mutex; /* of what the thread has, and a snapshot takes */
	pthread_t thread;
	_Atomic int32_t tid; /* written by the thread, once */
	bool is_running;
	uint64_t moved; /* open waits that went on while their stacks were fetched; of the thread */
	struct shared_path paths[64]; /* by their hashes; of the thread */
	struct raw_stack raw;
};

/* ------------------------------------------------------------------ open waits */

/* How often the thread has left a CPU, as /proc tells; UINT64_MAX = it is gone. */
static uint64_t switches_of(const struct raw_stack *raw)
{
	AUTO_FREE char *path = xasprintf("/proc/%u/task/%u/status", raw->tgid, raw->tid);
	AUTO_FILE FILE *status = fopen(path, "re");
	unsigned long long count, sum = 0;
	char line[256];
	int found = 0;

	while (status && fgets(line, sizeof(line), status)) {
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &count) != 1 &&
		    sscanf(line, "nonvoluntary_ctxt_switches: %llu", &count) != 1)
			continue;
		sum += count;
		found++;
	}
	return found == 2 ? sum : UINT64_MAX;
}

/* It sleeps, so its stack stays as it is; when it went on meanwhile, what was read is of no use. */
static bool fetch_stack(struct wait_stacks *stacks, struct raw_stack *raw)
{
	const struct stack_age *age = &stacks->ages[0];
	const struct raw_python *python = pythons_find(age->pythons, (int32_t)raw->tgid);

	futex_place_read((int32_t)raw->tgid, &raw->futex);
	stack_fetch(raw);
	if (python)
		python_fetch(python, age->codes, raw);
	return switches_of(raw) == raw->switches;
}

/* ------------------------------------------------------------------ processes that run Python */

static void put_python(int map_fd, uint32_t tgid, const struct raw_python *python)
{
	if (map_fd < 0)
		return;
	if (python)
		(void)bpf_map_update_elem(map_fd, &tgid, python, BPF_ANY); /* no room: no names */
	else
		(void)bpf_map_delete_elem(map_fd, &tgid); /* it may not be there */
}

static void tell_of_python(void *context, int32_t tgid, const struct raw_python *python)
{
	const struct wait_stacks *stacks = context;

	put_python(stacks->pythons_fd, (uint32_t)tgid, python);
	if (stacks->samples)
		put_python(work_samples_pythons_fd(stacks->samples), (uint32_t)tgid, python);
}

static void look_for_pythons(struct wait_stacks *stacks)
{
	for (size_t i = 0; i < stacks->age_count; i++)
		pythons_look(stacks->ages[i].pythons, tell_of_python, stacks);
}

/* ------------------------------------------------------------------ what the program tells */

/* The path of the file that a word is in; it is looked for once, while the process has it mapped. */
static void wait_stacks_path(struct wait_stacks *stacks, struct raw_stack *raw)
{
	uint64_t hash = hash_bytes(&raw->futex, sizeof(raw->futex), raw->tgid);
	struct shared_path *known = &stacks->paths[hash % ARRAY_LEN(stacks->paths)];

	if (raw->futex.kind != RAW_FUTEX_SHARED || raw->flags & RAW_STACK_OPEN)
		return;
	if (known->hash != hash) {
		known->hash = hash;
		futex_place_path((int32_t)raw->tgid, &raw->futex);
		memcpy(known->path, raw->futex.path, sizeof(known->path));
	}
	memcpy(raw->futex.path, known->path, sizeof(known->path));
}

static void want_process(struct wait_stacks *stacks, const struct raw_stack *raw)
{
	for (size_t i = 0; i < stacks->age_count; i++) {
		images_want(stacks->ages[i].images, (int32_t)raw->tgid);
		jit_files_want(stacks->ages[i].jit_files, (int32_t)raw->tgid, raw->end_ns);
	}
	look_for_pythons(stacks);
}

static struct looked *looked_of(struct wait_stacks *stacks, uint32_t tid)
{
	return &stacks->looked[tid % LOOKED_MOST];
}

static void note_looked(struct wait_stacks *stacks, struct raw_stack *raw, size_t bytes)
{
	struct looked *looked = looked_of(stacks, raw->tid);

	*looked = (struct looked){ raw->begin_ns, (int32_t)raw->tid, { UINT32_MAX, UINT32_MAX } };
	raw->flags &= RAW_STACK_COMPAT; /* else it is a stack as those of all waits */
	for (size_t i = 0; i < stacks->age_count; i++)
		looked->stacks[i] = stack_keep_put(stacks->ages[i].keep, raw, bytes);
}

/* Is the stack of that very wait kept? */
static bool is_kept(struct wait_stacks *stacks, const struct raw_stack *raw)
{
	const struct looked *looked = looked_of(stacks, raw->tid);

	return raw->flags & (RAW_STACK_LOOKED | RAW_STACK_KNOWN) &&
	       looked->tid == (int32_t)raw->tid && looked->begin_ns == raw->begin_ns &&
	       looked->stacks[0] != UINT32_MAX;
}

static void keep_wait(struct wait_stacks *stacks, struct raw_stack *raw, size_t bytes)
{
	const struct looked *looked = looked_of(stacks, raw->tid);
	bool is_looked = is_kept(stacks, raw);

	for (size_t i = 0; i < stacks->age_count; i++) {
		if (!is_looked || !stack_keep_wait(stacks->ages[i].keep, raw, looked->stacks[i]))
			stack_keep_add(stacks->ages[i].keep, raw, bytes);
	}
}

/* Called by libbpf for each record. */
static int wait_stacks_take_record(void *context, void *data, size_t bytes)
{
	const struct raw_stack *told = data; /* the ring aligns records to 8 bytes */
	struct wait_stacks *stacks = context;
	struct raw_stack *raw = &stacks->raw;
	size_t head = offsetof(struct raw_stack, stack);

	if (bytes == sizeof(uint64_t)) { /* RAW_PYTHON_BEGINS */
		stacks->soon = SOON_LOOKS;
		return 0;
	}
	if (bytes >= offsetof(struct raw_python_code, table) && told->begin_ns == RAW_PYTHON_CODE) {
		for (size_t i = 0; i < stacks->age_count; i++)
			python_codes_add(stacks->ages[i].codes, data, bytes);
		return 0;
	}
	if (bytes < head || told->bytes > bytes - head || told->bytes > RAW_STACK_MAX ||
	    told->kernel_count > RAW_STACK_KERNEL || told->python_count > RAW_PYTHON_FRAMES)
		return 0;
	memcpy(raw, told, head + told->bytes);
	want_process(stacks, raw);
	if ((raw->flags & (RAW_STACK_OPEN | RAW_STACK_FAULT | RAW_STACK_UNREAD)) ==
		    RAW_STACK_OPEN &&
	    !is_kept(stacks, raw) && !fetch_stack(stacks, raw)) {
		stacks->moved += !(raw->flags & RAW_STACK_LOOKED);
		return 0;
	}
	wait_stacks_path(stacks, raw);
	if (raw->flags & RAW_STACK_LOOKED && raw->flags & RAW_STACK_OPEN)
		note_looked(stacks, raw, head + raw->bytes);
	else
		keep_wait(stacks, raw, head + raw->bytes);
	return 0;
}

static void wait_stacks_look(struct wait_stacks *stacks)
{
	for (size_t i = 0; i < stacks->age_count; i++)
		images_take(stacks->ages[i].images);
	look_for_pythons(stacks);
	if (stacks->ring)
		(void)ring_buffer__consume(stacks->ring);
	if (stacks->samples)
		work_samples_look(stacks->samples);
}

static void look_at_threads(struct wait_stacks *stacks, enum raw_looks looks)
{
	__atomic_store_n(&stacks->control->looks, looks, __ATOMIC_RELAXED);
	bpf_parts_iterate(bpf_link__fd(stacks->links[PROGRAM_EACH_THREAD]));
}

/* What looks may cost: a part of the time, of which some is saved. */
static int64_t look_room_ns(struct wait_stacks *stacks, uint64_t now_ns)
{
	uint64_t part = stacks->keep_bytes ? KEPT_PART : LONG_PART;

	stacks->saved_ns += (int64_t)((now_ns - stacks->saved_at_ns) / part);
	if (stacks->saved_ns > SAVED_MOST_NS)
		stacks->saved_ns = SAVED_MOST_NS;
	stacks->saved_at_ns = now_ns;
	return stacks->saved_ns;
}

/* Lean events: stacks of those that sleep for long, which are told of once in each sleep. */
static void look_at_long(struct wait_stacks *stacks)
{
	uint64_t now_ns = clock_mono_ns(), cpu_ns;

	if (!stacks->is_lean || stacks->has_work || stacks->rests || !stacks->control ||
	    now_ns - stacks->looked_ns < LONG_NS || look_room_ns(stacks, now_ns) < 0)
		return;
	stacks->looked_ns = now_ns;
	cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	stacks->control->long_left = LONG_MOST;
	look_at_threads(stacks, RAW_LOOKS_LONG);
	wait_stacks_look(stacks);
	stacks->saved_ns -= (int64_t)(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns);
}

/* Those that still wait: told of by the program, which looks at all threads, and fetched at once. */
static void look_at_open(struct wait_stacks *stacks)
{
	wait_stacks_look(stacks);
	if (!stacks->control || stacks->rests)
		return;
	look_at_threads(stacks, RAW_LOOKS_LAST);
	wait_stacks_look(stacks);
}

static void look_last(struct wait_stacks *stacks)
{
	if (stacks->samples)
		work_samples_end(stacks->samples);
	look_at_open(stacks);
}

/* ------------------------------------------------------------------ programs */

static int attach_one(struct wait_stacks *stacks, size_t i, struct err *err)
{
	struct bpf_program *program = bpf_object__find_program_by_name(stacks->object, programs[i]);
	struct bpf_link *link = program ? bpf_program__attach(program) : NULL;
	int rc = program ? (int)libbpf_get_error(link) : -ENOENT;

	if (rc)
		return err_set(err, rc, "the BPF program cannot be attached: %s", strerror(-rc));
	stacks->links[i] = link;
	return 0;
}

/* Lean events: no end of a system call is seen. */
static bool is_used(const struct wait_stacks *stacks, size_t program)
{
	return program != PROGRAM_EXIT || !stacks->is_lean;
}

/* Task works that come too late are helped, from now on. */
static void look_for_late(struct wait_stacks *stacks)
{
	const struct raw_stack_control *control = stacks->control;
	struct err ignored = { 0 }; /* they are counted, and told of as missing */

	if (!control || stacks->rests || !stacks->has_work || !is_used(stacks, PROGRAM_EXIT) ||
	    stacks->has_late || control->gone < LATE_LEAST ||
	    control->gone < control->told / LATE_PART)
		return;
	stacks->has_late = true;
	(void)attach_one(stacks, PROGRAM_EXIT, &ignored);
}

/* ------------------------------------------------------------------ ages */

static void age_end(struct stack_age *age)
{
	images_free(age->images);
	jit_files_free(age->jit_files);
	pythons_free(age->pythons);
	python_codes_free(age->codes);
	stack_keep_free(age->keep);
	*age = (struct stack_age){ 0 };
}

/* Returns whether there is a place for stacks. */
static bool age_begin(struct wait_stacks *stacks, struct stack_age *age)
{
	age->since_ns = clock_mono_ns();
	age->images = images_new(&age->no_images);
	age->jit_files = jit_files_new();
	age->pythons = pythons_new(age->images);
	age->codes = python_codes_new();
	age->keep = stack_keep_new(stacks->kernel_fd, stacks->keep_bytes);
	age->over = stacks->control ? stacks->control->over : 0;
	age->over_lost = stacks->control ? stacks->control->lost : 0;
	age->over_gone = stacks->control ? stacks->control->gone : 0;
	return age->keep != NULL;
}

/* The older one goes, where the younger one reaches far enough back. */
static void ages_turn(struct wait_stacks *stacks)
{
	uint64_t keep_ns =
		atomic_load_explicit(&stacks->keep_ns, memory_order_relaxed); /* a plain number */
	struct stack_age fresh = { 0 };

	if (!stacks->keep_bytes ||
	    clock_mono_ns() - stacks->ages[stacks->age_count - 1].since_ns < keep_ns)
		return;
	if (!age_begin(stacks, &fresh)) {
		age_end(&fresh);
		return;
	}
	images_listen(fresh.images);
	pthread_mutex_lock(&stacks->mutex);
	if (stacks->age_count == ARRAY_LEN(stacks->ages)) {
		age_end(&stacks->ages[0]);
		stacks->ages[0] = stacks->ages[1];
		stacks->age_count--;
		for (size_t i = 0; i < LOOKED_MOST; i++) {
			stacks->looked[i].stacks[0] = stacks->looked[i].stacks[1];
			stacks->looked[i].stacks[1] = UINT32_MAX;
		}
	}
	stacks->ages[stacks->age_count++] = fresh;
	pthread_mutex_unlock(&stacks->mutex);
}

/* What is waited for: it is another one with each age. Returns how many; to be freed. */
static struct pollfd *waited_for(const struct wait_stacks *stacks, size_t *out_count)
{
	struct pollfd *fds;
	size_t count = 4, ring_count;

	for (size_t i = 0; i < stacks->age_count; i++) {
		(void)images_fds(stacks->ages[i].images, &ring_count);
		count += ring_count;
	}
	fds = xcalloc(count, sizeof(*fds));
	fds[0] = (struct pollfd){ .fd = stacks->stop_fd, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = stacks->ring ? ring_buffer__epoll_fd(stacks->ring) : -1,
				  .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = stacks->samples ? work_samples_fd(stacks->samples) : -1,
				  .events = POLLIN };
	fds[3] = (struct pollfd){ .fd = stacks->open_fd, .events = POLLIN };
	*out_count = 4;
	for (size_t i = 0; i < stacks->age_count; i++) {
		const int *rings = images_fds(stacks->ages[i].images, &ring_count);

		for (size_t k = 0; k < ring_count; k++)
			fds[(*out_count)++] = (struct pollfd){ .fd = rings[k], .events = POLLIN };
	}
	return fds;
}

/* A snapshot is taken. */
static void tell_of_open(struct wait_stacks *stacks)
{
	eventfd_t asked;

	if (eventfd_read(stacks->open_fd, &asked) < 0)
		return;
	look_at_open(stacks);
	(void)eventfd_write(stacks->told_fd, 1);
}

static int look_after_ms(const struct wait_stacks *stacks)
{
	if (stacks->soon)
		return SOON_MS;
	return stacks->keep_bytes ? KEPT_LOOK_MS : LOOK_MS;
}

/* One wait for what is to be done, and that. Returns whether it was the last one. */
static bool drain_once(struct wait_stacks *stacks)
{
	size_t count;
	AUTO_FREE struct pollfd *fds = waited_for(stacks, &count);
	bool stop;

	(void)poll(fds, count, look_after_ms(stacks)); /* an error is a time-out too */
	stacks->soon -= stacks->soon > 0;
	stop = fds[0].revents & POLLIN;
	pthread_mutex_lock(&stacks->mutex);
	look_for_late(stacks);
	if (stop)
		look_last(stacks);
	else
		wait_stacks_look(stacks);
	look_at_long(stacks);
	tell_of_open(stacks);
	pthread_mutex_unlock(&stacks->mutex);
	ages_turn(stacks);
	return stop;
}

static void *drain(void *context)
{
	struct wait_stacks *stacks = context;

	share_raise();
	guard_caps_helper(guard_caps_bpf() | GUARD_CAP(CAP_SYS_PTRACE) |
			  GUARD_CAP(CAP_DAC_READ_SEARCH) |
			  (stacks->keep_bytes ? GUARD_CAP(CAP_PERFMON) : 0));
	/* Pairs with the acquire in wait_stacks_tid(). */
	atomic_store_explicit(&stacks->tid, (int32_t)syscall(SYS_gettid), memory_order_release);
	while (!drain_once(stacks))
		;
	return NULL;
}

/* ------------------------------------------------------------------ start */

static void leave_out(struct bpf_object *object, const char *name)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);

	if (program)
		(void)bpf_program__set_autoload(program, false);
}

/* Always on: a ring for a quarter of what is kept, and tables of Python's code as small as that. */
static void size_maps(struct wait_stacks *stacks)
{
	bpf_parts_size(stacks->object, "ring", stacks->keep_bytes / 4, RING_LEAST, RING_MOST);
	bpf_parts_size(stacks->object, "naps", stacks->keep_bytes / 16 / NAP_BYTES, 1024,
		       RAW_STACK_NAPS);
	bpf_parts_size(stacks->object, "pythons", stacks->keep_bytes / 16 / PYTHON_BYTES, 256,
		       RAW_PYTHON_PROCESSES);
	bpf_parts_size(stacks->object, "python_codes", stacks->keep_bytes / 4 / CODE_BYTES, 2048,
		       RAW_PYTHON_CODES);
}

static int wait_stacks_open(struct wait_stacks *stacks, struct err *err)
{
	if (stacks->has_work)
		return bpf_parts_open("holdup_stack", holdup_bpf_stack_work,
				      holdup_bpf_stack_work_bytes, &stacks->object, err);
	return bpf_parts_open("holdup_stack", holdup_bpf_stack, holdup_bpf_stack_bytes,
			      &stacks->object, err);
}

static void size_rooms(struct wait_stacks *stacks)
{
	if (stacks->has_work)
		bpf_parts_size(stacks->object, "stack_room", 0, RAW_STACK_ROOMS, RAW_STACK_ROOMS);
	else
		bpf_parts_each_cpu(stacks->object, "stack_room");
}

static int wait_stacks_load(struct wait_stacks *stacks, bool has_work, struct err *err)
{
	int rc;

	stacks->has_work = has_work;
	rc = wait_stacks_open(stacks, err);
	if (rc < 0)
		return rc;
	size_rooms(stacks);
	if (stacks->keep_bytes)
		size_maps(stacks);
	if (!is_used(stacks, PROGRAM_EXIT))
		leave_out(stacks->object, programs[PROGRAM_EXIT]);
	return bpf_parts_load(stacks->object, err);
}

/* Task works are there since Linux 6.18. */
static int wait_stacks_load_any(struct wait_stacks *stacks, bool no_work, struct err *err)
{
	struct err ignored = { 0 };

	if (!no_work && wait_stacks_load(stacks, true, &ignored) >= 0)
		return 0;
	bpf_object__close(stacks->object);
	stacks->object = NULL;
	return wait_stacks_load(stacks, false, err);
}

static int prepare(struct wait_stacks *stacks, uint64_t min_ns, struct err *err)
{
	struct bpf_map *ring = bpf_object__find_map_by_name(stacks->object, "ring");
	struct bpf_map *pythons = bpf_object__find_map_by_name(stacks->object, "pythons");
	struct bpf_map *naps = bpf_object__find_map_by_name(stacks->object, "naps");

	stacks->control = bpf_parts_map(stacks->object, sizeof(*stacks->control));
	if (!stacks->control || !ring || !pythons || !naps)
		return err_set(err, -EINVAL, "the data of the BPF program cannot be mapped");
	stacks->pythons_fd = bpf_map__fd(pythons);
	stacks->control->nap_mask = bpf_map__max_entries(naps) - 1; /* a power of two, less one */
	stacks->control->min_ns = min_ns;
	stacks->control->is_lean = stacks->is_lean;
	stacks->control->long_ns = LONG_NS;
	stacks->control->budget = stacks->keep_bytes ? KEPT_BUDGET_BYTES : BUDGET_BYTES;
	stacks->control->recorder_tgid = (uint32_t)getpid();
	stacks->control->wake_bytes = bpf_map__max_entries(ring) / 8;
	stacks->ring = ring_buffer__new(bpf_map__fd(ring), wait_stacks_take_record, stacks, NULL);
	return stacks->ring ? 0 : err_set(err, -errno, "no BPF ring buffer: %s", strerror(errno));
}

/* Those that are not. */
static int attach(struct wait_stacks *stacks, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(programs); i++) {
		if (!stacks->links[i] && is_used(stacks, i) &&
		    (i != PROGRAM_EXIT || !stacks->has_work || stacks->has_late))
			rc = attach_one(stacks, i, err);
	}
	/* Who sleeps already. */
	if (rc == 0)
		look_at_threads(stacks, RAW_LOOKS_FIRST);
	return rc;
}

static void detach_one(struct wait_stacks *stacks, size_t i)
{
	if (stacks->links[i])
		(void)bpf_link__destroy(stacks->links[i]); /* the kernel detaches anyway */
	stacks->links[i] = NULL;
}

int wait_stacks_rest(struct wait_stacks *stacks, bool rests, struct err *err)
{
	int rc = 0;

	if (!stacks || !stacks->control || stacks->rests == rests)
		return 0;
	pthread_mutex_lock(&stacks->mutex);
	stacks->rests = rests;
	/* Births, and what is begun, are rare, and nobody tells of them later. */
	for (size_t i = PROGRAM_SLEEP; rests && i <= PROGRAM_EXIT; i++)
		detach_one(stacks, i);
	if (!rests) {
		__atomic_store_n(&stacks->control->since_ns, clock_mono_ns(), __ATOMIC_RELAXED);
		rc = attach(stacks, err);
	}
	pthread_mutex_unlock(&stacks->mutex);
	return rc;
}

static int start_thread(struct wait_stacks *stacks, struct err *err)
{
	int rc;

	stacks->stop_fd = eventfd(0, EFD_CLOEXEC);
	stacks->open_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	stacks->told_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (stacks->stop_fd < 0 || stacks->open_fd < 0 || stacks->told_fd < 0)
		return err_set(err, -errno, "eventfd: %s", strerror(errno));
	/* Not earlier: while programs are loaded nobody takes what it tells. */
	images_listen(stacks->ages[0].images);
	rc = thread_start_quiet(&stacks->thread, NULL, drain, stacks);
	if (rc)
		return err_set(err, -rc, "cannot start the thread for stacks: %s", strerror(rc));
	stacks->is_running = true;
	return 0;
}

static int start_waits(struct wait_stacks *stacks, uint64_t min_ns, struct err *err)
{
	const char *no_work = secure_getenv(WAIT_STACKS_NO_WORK);
	int rc = wait_stacks_load_any(stacks, no_work && strcmp(no_work, "late") != 0, err);

	if (rc >= 0)
		rc = prepare(stacks, min_ns < SECONDS_MAX_NS ? min_ns : SECONDS_MAX_NS, err);
	stacks->has_late = no_work && stacks->has_work;
	return rc >= 0 ? attach(stacks, err) : rc;
}

/* Without them there are waits still. */
static void start_samples(struct wait_stacks *stacks, const struct wait_stacks_opts *opts)
{
	const struct work_samples_opts sample_opts = {
		.hz = opts->sample_hz,
		.takes_all = opts->samples_all,
		.pids = opts->pids,
		.pid_count = opts->pid_count,
		.take = wait_stacks_take_record,
		.context = stacks,
	};

	if (!opts->sample_hz)
		return;
	stacks->sampling.period_ns = SECOND_NS / opts->sample_hz;
	stacks->sampling.is_all = opts->samples_all;
	if (work_samples_start(&sample_opts, &stacks->samples, &stacks->no_samples) < 0)
		stacks->sampling.period_ns = 0;
}

int wait_stacks_start(int kernel_fd, const struct wait_stacks_opts *opts,
		      struct wait_stacks **out_stacks, struct err *err)
{
	struct wait_stacks *stacks = xcalloc(1, sizeof(*stacks));
	int rc = 0;

	stacks->kernel_fd = kernel_fd;
	stacks->is_lean = opts->is_lean;
	stacks->names_later = opts->names_later;
	stacks->stop_fd = stacks->open_fd = stacks->told_fd = stacks->pythons_fd = -1;
	stacks->keep_bytes = opts->keep_bytes;
	stacks->keep_ns = SECONDS_KEPT_NS;
	stacks->saved_ns = SAVED_MOST_NS;
	(void)pthread_mutex_init(&stacks->mutex, NULL); /* cannot fail on Linux */
	stacks->naming = STACK_NAMING_NONE;
	stacks->age_count = 1;
	if (!age_begin(stacks, &stacks->ages[0]))
		rc = err_set(err, -errno, "cannot create the file for stacks: %s", strerror(errno));
	if (rc >= 0 && opts->min_ns)
		rc = start_waits(stacks, opts->min_ns, err);
	if (rc >= 0)
		start_samples(stacks, opts);
	for (size_t i = 0; rc >= 0 && i < opts->pid_count; i++)
		images_want(stacks->ages[0].images, opts->pids[i]);
	if (rc >= 0)
		rc = start_thread(stacks, err);
	if (rc < 0) {
		wait_stacks_stop(stacks);
		return rc;
	}
	*out_stacks = stacks;
	return 0;
}

void wait_stacks_probe(struct wait_stacks_probed *out_probed)
{
	const struct wait_stacks_opts opts = { .min_ns = SECONDS_MAX_NS, .sample_hz = 1 };
	struct wait_stacks *stacks;

	*out_probed = (struct wait_stacks_probed){ 0 };
	if (wait_stacks_start(-1, &opts, &stacks, &out_probed->waits) < 0) {
		const struct wait_stacks_opts samples = { .sample_hz = 1 };

		if (wait_stacks_start(-1, &samples, &stacks, &out_probed->samples) < 0)
			return;
	}
	if (stacks->no_samples.text[0])
		out_probed->samples = stacks->no_samples;
	out_probed->no_images = stacks->ages[0].no_images;
	out_probed->has_work = stacks->has_work;
	wait_stacks_stop(stacks);
}

int32_t wait_stacks_tid(const struct wait_stacks *stacks)
{
	int32_t tid;

	/* Pairs with the release in drain(): the thread sets it first of all. */
	while (!(tid = atomic_load_explicit(&stacks->tid, memory_order_acquire)))
		usleep(100);
	return tid;
}

/* ------------------------------------------------------------------ end */

void wait_stacks_end(struct wait_stacks *stacks)
{
	uint64_t one = 1;

	if (stacks->is_running) {
		(void)!write(stacks->stop_fd, &one, sizeof(one)); /* takes its first 1 */
		pthread_join(stacks->thread, NULL);
		if (stacks->control)
			__atomic_store_n(&stacks->control->ended, 1, __ATOMIC_RELAXED);
	}
	stacks->is_running = false;
	for (size_t i = 0; i < ARRAY_LEN(programs); i++)
		detach_one(stacks, i);
}

static void wait_stacks_note_missing(struct manifest *manifest, const char *of, uint64_t count,
				     const char *why)
{
	AUTO_FREE char *what = xasprintf("stacks of %llu %s", (unsigned long long)count, of);

	if (count)
		manifest_add_missing(manifest, what, why);
}

static void note_waits(const struct wait_stacks *stacks, struct manifest *manifest)
{
	const struct stack_age *age = &stacks->ages[0];

	if (!stacks->control)
		return;
	wait_stacks_note_missing(manifest, "waits", stacks->control->over - age->over,
				 stacks->keep_bytes ? "more than 1 MiB of stacks per second"
						    : "more than 8 MiB of stacks per second");
	wait_stacks_note_missing(manifest, "waits", stacks->control->lost - age->over_lost,
				 "the buffer for stacks was full");
	wait_stacks_note_missing(manifest, "waits", stacks->control->gone - age->over_gone,
				 "their threads went on, or began another program, before");
	wait_stacks_note_missing(manifest, "waits", stack_keep_lost(age->keep), "no room for them");
	wait_stacks_note_missing(manifest, "waits", stacks->moved,
				 "their waits ended while the recording "
				 "ended");
}

static void note_samples(struct wait_stacks *stacks, struct manifest *manifest)
{
	uint64_t kept_not = stack_keep_lost_samples(stacks->ages[0].keep);

	if (stacks->no_samples.text[0])
		manifest_add_missing(manifest, "code of running threads", stacks->no_samples.text);
	if (!stacks->samples)
		return;
	wait_stacks_note_missing(manifest, "samples of work", work_samples_over(stacks->samples),
				 "more than 8 MiB of stacks per second");
	wait_stacks_note_missing(manifest, "samples of work", work_samples_lost(stacks->samples),
				 "the buffer for samples was full");
	wait_stacks_note_missing(manifest, "samples of work", kept_not, "no room for them");
	stacks->sampling.lost =
		work_samples_over(stacks->samples) + work_samples_lost(stacks->samples) + kept_not;
}

static void note_images(const struct stack_age *age, struct manifest *manifest)
{
	const char *no_gil = pythons_no_gil(age->pythons);

	if (age->no_images)
		manifest_add_missing(manifest, "stacks of processes that ended", age->no_images);
	if (images_lost(age->images))
		manifest_add_missing(manifest, "stacks in some files that were mapped",
				     "the buffer for mapped files was full");
	if (no_gil) {
		AUTO_FREE char *what = xasprintf("Python functions of %s", no_gil);

		manifest_add_missing(manifest, what, "it is a CPython built without the GIL");
	}
}

/* Of the older age. */
static void begin_names(struct wait_stacks *stacks, int kernel_fd, uint64_t since_ns,
			struct manifest *manifest)
{
	const struct stack_age *age = &stacks->ages[0];
	const struct stack_names_from from = { .keep = age->keep,
					       .images = age->images,
					       .jit_files = age->jit_files,
					       .pythons = age->pythons,
					       .codes = age->codes,
					       .since_ns = since_ns,
					       .names_later = stacks->names_later };
	struct err why = { 0 };

	note_waits(stacks, manifest);
	note_samples(stacks, manifest);
	note_images(age, manifest);
	(void)stack_names_end(&stacks->naming, &why); /* of an earlier snapshot */
	jit_files_last(age->jit_files);
	if (stack_names_begin(&from, &stacks->sampling, kernel_fd, &stacks->naming, &why) < 0)
		manifest_add_missing(manifest, "code of running and waiting threads", why.text);
}

void wait_stacks_write(struct wait_stacks *stacks, struct manifest *manifest)
{
	struct err why = { 0 };

	wait_stacks_end(stacks);
	begin_names(stacks, stacks->kernel_fd, 0, manifest);
	if (wait_stacks_named(stacks, &why) < 0)
		manifest_add_missing(manifest, "code of running and waiting threads", why.text);
}

/* ------------------------------------------------------------------ always on */

void wait_stacks_keep(struct wait_stacks *stacks, uint64_t keep_ns)
{
	if (stacks) /* relaxed: a plain number */
		atomic_store_explicit(&stacks->keep_ns, keep_ns, memory_order_relaxed);
}

void wait_stacks_take_open(struct wait_stacks *stacks)
{
	struct pollfd told = { .fd = stacks ? stacks->told_fd : -1, .events = POLLIN };
	eventfd_t done;

	if (!stacks || eventfd_write(stacks->open_fd, 1) < 0)
		return;
	if (poll(&told, 1, OPEN_MS) > 0)
		(void)eventfd_read(stacks->told_fd, &done);
}

void wait_stacks_snapshot(struct wait_stacks *stacks, int kernel_fd, uint64_t begin_ns,
			  struct manifest *manifest)
{
	if (!stacks)
		return;
	pthread_mutex_lock(&stacks->mutex);
	begin_names(stacks, kernel_fd, begin_ns, manifest);
	pthread_mutex_unlock(&stacks->mutex);
}

int32_t wait_stacks_naming_pid(const struct wait_stacks *stacks)
{
	return stacks ? stacks->naming.pid : 0;
}

int wait_stacks_named_fd(const struct wait_stacks *stacks)
{
	return stacks ? stacks->naming.end_fd : -1;
}

int wait_stacks_named(struct wait_stacks *stacks, struct err *err)
{
	return stacks ? stack_names_end(&stacks->naming, err) : 0;
}

uint64_t wait_stacks_bytes(struct wait_stacks *stacks)
{
	uint64_t bytes = 0;

	if (!stacks)
		return 0;
	pthread_mutex_lock(&stacks->mutex);
	for (size_t i = 0; i < stacks->age_count; i++)
		bytes += stack_keep_bytes(stacks->ages[i].keep) +
			 images_bytes(stacks->ages[i].images);
	pthread_mutex_unlock(&stacks->mutex);
	return bytes;
}

uint64_t wait_stacks_file_bytes(struct wait_stacks *stacks)
{
	uint64_t bytes = 0;

	if (!stacks)
		return 0;
	pthread_mutex_lock(&stacks->mutex);
	for (size_t i = 0; i < stacks->age_count; i++)
		bytes += stack_keep_file_bytes(stacks->ages[i].keep);
	pthread_mutex_unlock(&stacks->mutex);
	return bytes;
}

void wait_stacks_stop(struct wait_stacks *stacks)
{
	struct err ignored = { 0 };

	if (!stacks)
		return;
	wait_stacks_end(stacks);
	ring_buffer__free(stacks->ring);
	bpf_object__close(stacks->object);
	if (stacks->control)
		(void)munmap(stacks->control, sizeof(*stacks->control)); /* cannot fail */
	work_samples_free(stacks->samples);
	(void)stack_names_end(&stacks->naming, &ignored);
	for (size_t i = 0; i < stacks->age_count; i++)
		age_end(&stacks->ages[i]);
	mem_close_fd(&stacks->stop_fd);
	mem_close_fd(&stacks->open_fd);
	mem_close_fd(&stacks->told_fd);
	(void)pthread_mutex_destroy(&stacks->mutex);
	free(stacks);
}
