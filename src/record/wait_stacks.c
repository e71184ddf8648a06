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

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"
#include "event/stacks.h"
#include "guard/caps.h"
#include "record/bpf/raw_stack.h"
#include "record/bpf_parts.h"
#include "record/futex_place.h"
#include "record/images.h"
#include "record/jit_files.h"
#include "record/python_codes.h"
#include "record/python_walk.h"
#include "record/pythons.h"
#include "record/stack_fetch.h"
#include "record/stack_keep.h"
#include "record/stack_names.h"
#include "record/work_samples.h"
#include "store/manifest.h"

#define LOOK_MS	       100
#define SOON_MS	       2  /* after a Python began, as it maps its library a little later */
#define SOON_LOOKS     12 /* so many times */
#define WAKE_BYTES     (512u << 10)
#define BUDGET_BYTES   (8u << 20) /* of stacks, in a second */
#define SECOND_NS      UINT64_C(1000000000)
#define SECONDS_MAX_NS UINT64_C(3600000000000)

extern const unsigned char holdup_bpf_stack[];
extern const size_t holdup_bpf_stack_bytes;

/* What is attached, in this order; the last one is called by us. */
static const char *const programs[] = { "on_sleep", "on_waking", "on_exit",
					"on_fork",  "on_exec",	 "on_each_thread" };

/* What a word of a process is called that is in a shared mapping; 'hash' is of what the program tells of it. */
struct shared_path {
	uint64_t hash;
	char path[RAW_FUTEX_PATH];
};

struct wait_stacks {
	/* Of waits; NULL = they are not asked for. */
	struct bpf_object *object;
	struct bpf_link *links[ARRAY_LEN(programs)];
	struct ring_buffer *ring;
	struct raw_stack_control *control; /* mapped; the program writes the counters */
	struct work_samples *samples;	   /* NULL = they are not asked for, or: */
	struct err no_samples;		   /* why there are none; "" = there are */
	struct stack_sampling sampling;
	struct images *images;
	const char *no_images; /* why the kernel does not tell what is mapped; NULL = it does */
	struct jit_files *jit_files;
	struct pythons *pythons;
	struct python_codes *codes;
	int soon;	/* looks that are made soon */
	int pythons_fd; /* the map of the program for waits; a view; -1 = there is none */
	struct stack_keep *keep;
	int kernel_fd; /* a view */
	int stop_fd;
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
	const struct raw_python *python = pythons_find(stacks->pythons, (int32_t)raw->tgid);

	futex_place_read((int32_t)raw->tgid, &raw->futex);
	stack_fetch(raw);
	if (python)
		python_fetch(python, stacks->codes, raw);
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
	pythons_look(stacks->pythons, tell_of_python, stacks);
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
		python_codes_add(stacks->codes, data, bytes);
		return 0;
	}
	if (bytes < head || told->bytes > bytes - head || told->bytes > RAW_STACK_MAX ||
	    told->kernel_count > RAW_STACK_KERNEL || told->python_count > RAW_PYTHON_FRAMES)
		return 0;
	memcpy(raw, told, head + told->bytes);
	images_want(stacks->images, (int32_t)raw->tgid);
	look_for_pythons(stacks);
	jit_files_want(stacks->jit_files, (int32_t)raw->tgid, raw->end_ns);
	if ((raw->flags & (RAW_STACK_OPEN | RAW_STACK_FAULT | RAW_STACK_COMPAT)) ==
		    RAW_STACK_OPEN &&
	    !fetch_stack(stacks, raw)) {
		stacks->moved++;
		return 0;
	}
	wait_stacks_path(stacks, raw);
	stack_keep_add(stacks->keep, raw, head + raw->bytes);
	return 0;
}

static void wait_stacks_look(struct wait_stacks *stacks)
{
	images_take(stacks->images);
	look_for_pythons(stacks);
	if (stacks->ring)
		(void)ring_buffer__consume(stacks->ring);
	if (stacks->samples)
		work_samples_look(stacks->samples);
}

/* Those that still wait: told of by the program, which looks at all threads, and fetched at once. */
static void look_last(struct wait_stacks *stacks)
{
	if (stacks->samples)
		work_samples_end(stacks->samples);
	wait_stacks_look(stacks);
	if (!stacks->control)
		return;
	__atomic_store_n(&stacks->control->looks_last, 1, __ATOMIC_RELAXED);
	bpf_parts_iterate(bpf_link__fd(stacks->links[ARRAY_LEN(programs) - 1]));
	wait_stacks_look(stacks);
}

static void *drain(void *context)
{
	struct wait_stacks *stacks = context;
	size_t ring_count;
	const int *rings = images_fds(stacks->images, &ring_count);
	AUTO_FREE struct pollfd *fds = xcalloc(ring_count + 3, sizeof(*fds));
	bool stop = false;

	guard_caps_helper(guard_caps_bpf() | GUARD_CAP(CAP_SYS_PTRACE) |
			  GUARD_CAP(CAP_DAC_READ_SEARCH));
	/* Pairs with the acquire in wait_stacks_tid(). */
	atomic_store_explicit(&stacks->tid, (int32_t)syscall(SYS_gettid), memory_order_release);
	fds[0] = (struct pollfd){ .fd = stacks->stop_fd, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = stacks->ring ? ring_buffer__epoll_fd(stacks->ring) : -1,
				  .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = stacks->samples ? work_samples_fd(stacks->samples) : -1,
				  .events = POLLIN };
	for (size_t i = 0; i < ring_count; i++)
		fds[i + 3] = (struct pollfd){ .fd = rings[i], .events = POLLIN };
	while (!stop) {
		(void)poll(fds, ring_count + 3,
			   stacks->soon ? SOON_MS : LOOK_MS); /* an error is a time-out too */
		stacks->soon -= stacks->soon > 0;
		stop = fds[0].revents & POLLIN;
		if (stop)
			look_last(stacks);
		else
			wait_stacks_look(stacks);
	}
	return NULL;
}

/* ------------------------------------------------------------------ start */

static int wait_stacks_load(struct wait_stacks *stacks, struct err *err)
{
	int rc = bpf_parts_open("holdup_stack", holdup_bpf_stack, holdup_bpf_stack_bytes,
				&stacks->object, err);

	if (rc < 0)
		return rc;
	bpf_parts_each_cpu(stacks->object, "stack_room");
	return bpf_parts_load(stacks->object, err);
}

static int prepare(struct wait_stacks *stacks, uint64_t min_ns, struct err *err)
{
	struct bpf_map *ring = bpf_object__find_map_by_name(stacks->object, "ring");
	struct bpf_map *pythons = bpf_object__find_map_by_name(stacks->object, "pythons");

	stacks->control = bpf_parts_map(stacks->object, sizeof(*stacks->control));
	if (!stacks->control || !ring || !pythons)
		return err_set(err, -EINVAL, "the data of the BPF program cannot be mapped");
	stacks->pythons_fd = bpf_map__fd(pythons);
	stacks->control->min_ns = min_ns;
	stacks->control->budget = BUDGET_BYTES;
	stacks->control->recorder_tgid = (uint32_t)getpid();
	stacks->control->wake_bytes = WAKE_BYTES;
	stacks->ring = ring_buffer__new(bpf_map__fd(ring), wait_stacks_take_record, stacks, NULL);
	return stacks->ring ? 0 : err_set(err, -errno, "no BPF ring buffer: %s", strerror(errno));
}

static int attach(struct wait_stacks *stacks, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		struct bpf_program *program =
			bpf_object__find_program_by_name(stacks->object, programs[i]);
		struct bpf_link *link = program ? bpf_program__attach(program) : NULL;
		int rc = program ? (int)libbpf_get_error(link) : -ENOENT;

		if (rc)
			return err_set(err, rc, "the BPF program cannot be attached: %s",
				       strerror(-rc));
		stacks->links[i] = link;
	}
	/* Who sleeps already. */
	bpf_parts_iterate(bpf_link__fd(stacks->links[ARRAY_LEN(programs) - 1]));
	return 0;
}

static int start_thread(struct wait_stacks *stacks, struct err *err)
{
	int rc;

	stacks->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (stacks->stop_fd < 0)
		return err_set(err, -errno, "eventfd: %s", strerror(errno));
	rc = thread_start_quiet(&stacks->thread, NULL, drain, stacks);
	if (rc)
		return err_set(err, -rc, "cannot start the thread for stacks: %s", strerror(rc));
	stacks->is_running = true;
	return 0;
}

static int start_waits(struct wait_stacks *stacks, uint64_t min_ns, struct err *err)
{
	int rc = wait_stacks_load(stacks, err);

	if (rc >= 0)
		rc = prepare(stacks, min_ns < SECONDS_MAX_NS ? min_ns : SECONDS_MAX_NS, err);
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
	stacks->stop_fd = stacks->pythons_fd = -1;
	stacks->images = images_new(&stacks->no_images);
	stacks->jit_files = jit_files_new();
	stacks->pythons = pythons_new(stacks->images);
	stacks->codes = python_codes_new();
	stacks->keep = stack_keep_new(kernel_fd);
	if (!stacks->keep)
		rc = err_set(err, -errno, "cannot create the file for stacks: %s", strerror(errno));
	if (rc >= 0 && opts->min_ns)
		rc = start_waits(stacks, opts->min_ns, err);
	if (rc >= 0)
		start_samples(stacks, opts);
	for (size_t i = 0; rc >= 0 && i < opts->pid_count; i++)
		images_want(stacks->images, opts->pids[i]);
	if (rc >= 0)
		rc = start_thread(stacks, err);
	if (rc < 0) {
		wait_stacks_stop(stacks);
		return rc;
	}
	*out_stacks = stacks;
	return 0;
}

void wait_stacks_probe(struct err *out_waits, struct err *out_samples, const char **out_images)
{
	const struct wait_stacks_opts opts = { .min_ns = SECONDS_MAX_NS, .sample_hz = 1 };
	struct wait_stacks *stacks;

	*out_samples = *out_waits = (struct err){ 0 };
	*out_images = NULL;
	if (wait_stacks_start(-1, &opts, &stacks, out_waits) < 0) {
		const struct wait_stacks_opts samples = { .sample_hz = 1 };

		if (wait_stacks_start(-1, &samples, &stacks, out_samples) < 0)
			return;
	}
	if (stacks->no_samples.text[0])
		*out_samples = stacks->no_samples;
	*out_images = stacks->no_images;
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
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		if (stacks->links[i])
			(void)bpf_link__destroy(stacks->links[i]); /* the kernel detaches anyway */
		stacks->links[i] = NULL;
	}
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
	if (!stacks->control)
		return;
	wait_stacks_note_missing(manifest, "waits", stacks->control->over,
				 "more than 8 MiB of stacks per second");
	wait_stacks_note_missing(manifest, "waits", stacks->control->lost,
				 "the buffer for stacks was full");
	wait_stacks_note_missing(manifest, "waits", stack_keep_lost(stacks->keep),
				 "no room for them");
	wait_stacks_note_missing(manifest, "waits", stacks->moved,
				 "their waits ended while the recording "
				 "ended");
}

static void note_samples(struct wait_stacks *stacks, struct manifest *manifest)
{
	uint64_t kept_not = stack_keep_lost_samples(stacks->keep);

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

void wait_stacks_write(struct wait_stacks *stacks, struct manifest *manifest)
{
	const struct stack_names_from from = { stacks->keep, stacks->images, stacks->jit_files,
					       stacks->pythons, stacks->codes };
	struct err why = { 0 };

	wait_stacks_end(stacks);
	note_waits(stacks, manifest);
	note_samples(stacks, manifest);
	if (stacks->no_images)
		manifest_add_missing(manifest, "stacks of processes that ended", stacks->no_images);
	if (images_lost(stacks->images))
		manifest_add_missing(manifest, "stacks in some files that were mapped",
				     "the buffer for mapped files was full");
	if (stack_names_write(&from, &stacks->sampling, stacks->kernel_fd, &why) < 0)
		manifest_add_missing(manifest, "code of running and waiting threads", why.text);
}

void wait_stacks_stop(struct wait_stacks *stacks)
{
	if (!stacks)
		return;
	wait_stacks_end(stacks);
	ring_buffer__free(stacks->ring);
	bpf_object__close(stacks->object);
	if (stacks->control)
		(void)munmap(stacks->control, sizeof(*stacks->control)); /* cannot fail */
	work_samples_free(stacks->samples);
	images_free(stacks->images);
	jit_files_free(stacks->jit_files);
	pythons_free(stacks->pythons);
	python_codes_free(stacks->codes);
	stack_keep_free(stacks->keep);
	mem_close_fd(&stacks->stop_fd);
	free(stacks);
}
