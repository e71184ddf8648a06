/* work_samples.c - see work_samples.h. */
#include "record/work_samples.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "record/bpf/raw_sample.h"
#include "record/bpf/raw_stack.h"
#include "record/bpf_parts.h"

#define SECOND_NS    UINT64_C(1000000000)
#define WAKE_BYTES   (512u << 10)
#define BUDGET_BYTES (8u << 20) /* of stacks, in a second */
#define STACK_LEAST  2048u

extern const unsigned char holdup_bpf_sample[];
extern const size_t holdup_bpf_sample_bytes;

struct work_samples {
	struct bpf_object *object;
	struct ring_buffer *ring;
	int pythons_fd;			    /* a view */
	struct raw_sample_control *control; /* mapped; the program writes the counters */
	struct bpf_link **links; /* owned; of each CPU that is there, and those of 'followers' */
	size_t link_count;
};

/* So much of each stack that all CPUs at work keep to the half of the budget that is left for all of a second. */
static uint32_t stack_bytes(uint32_t hz, int cpu_count)
{
	uint64_t bytes = BUDGET_BYTES / 2 / ((uint64_t)hz * (uint64_t)cpu_count) & ~UINT64_C(1023);

	if (bytes < STACK_LEAST)
		return STACK_LEAST;
	return bytes < RAW_STACK_MAX ? (uint32_t)bytes : RAW_STACK_MAX;
}

static int samples_load(struct work_samples *samples, struct err *err)
{
	int rc = bpf_parts_open("holdup_sample", holdup_bpf_sample, holdup_bpf_sample_bytes,
				&samples->object, err);

	if (rc < 0)
		return rc;
	bpf_parts_each_cpu(samples->object, "stack_room");
	return bpf_parts_load(samples->object, err);
}

static int samples_add_root(int map_fd, uint32_t tgid)
{
	const uint8_t one = 1;

	return bpf_map_update_elem(map_fd, &tgid, &one, BPF_ANY);
}

static int samples_prepare(struct work_samples *samples, const struct work_samples_opts *opts,
			   struct err *err)
{
	struct bpf_map *ring = bpf_object__find_map_by_name(samples->object, "ring");
	struct bpf_map *roots = bpf_object__find_map_by_name(samples->object, "roots");
	struct bpf_map *pythons = bpf_object__find_map_by_name(samples->object, "pythons");

	samples->control = bpf_parts_map(samples->object, sizeof(*samples->control));
	if (!samples->control || !ring || !roots || !pythons)
		return err_set(err, -EINVAL, "the data of the BPF program cannot be mapped");
	samples->pythons_fd = bpf_map__fd(pythons);
	samples->control->budget = BUDGET_BYTES;
	samples->control->stack_bytes = stack_bytes(opts->hz, libbpf_num_possible_cpus());
	samples->control->takes_all = opts->takes_all;
	samples->control->recorder_tgid = (uint32_t)getpid();
	samples->control->wake_bytes = WAKE_BYTES;
	(void)samples_add_root(bpf_map__fd(roots), (uint32_t)getpid()); /* the map is empty yet */
	for (size_t i = 0; i < opts->pid_count; i++)
		(void)samples_add_root(bpf_map__fd(roots), (uint32_t)opts->pids[i]);
	samples->ring = ring_buffer__new(bpf_map__fd(ring), opts->take, opts->context, NULL);
	return samples->ring ? 0 : err_set(err, -errno, "no BPF ring buffer: %s", strerror(errno));
}

/* The descriptor of a timer of a CPU, or -1 with errno. */
static int samples_open_clock(int cpu, uint32_t hz)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = SECOND_NS / hz,
		.exclude_idle = 1,
		.disabled = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* 0, also when the CPU is not there. */
static int samples_attach_cpu(struct work_samples *samples, const struct bpf_program *program,
			      int cpu, uint32_t hz)
{
	int fd = samples_open_clock(cpu, hz), rc;
	struct bpf_link *link;

	if (fd < 0)
		return errno == ENODEV ? 0 : -errno;
	link = bpf_program__attach_perf_event(program, fd);
	rc = (int)libbpf_get_error(link);
	if (rc) {
		mem_close_fd(&fd);
		return rc;
	}
	samples->links[samples->link_count++] = link; /* it owns the descriptor */
	return 0;
}

/* Which processes are meant, kept up to date. */
static const char *const followers[] = { "on_fork", "on_end" };

static int samples_follow(struct work_samples *samples, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(followers); i++) {
		struct bpf_program *program =
			bpf_object__find_program_by_name(samples->object, followers[i]);
		struct bpf_link *link = program ? bpf_program__attach(program) : NULL;
		int rc = program ? (int)libbpf_get_error(link) : -ENOENT;

		if (rc)
			return err_set(err, rc, "the BPF program cannot be attached: %s",
				       strerror(-rc));
		samples->links[samples->link_count++] = link;
	}
	return 0;
}

static int samples_attach(struct work_samples *samples, uint32_t hz, struct err *err)
{
	const struct bpf_program *program =
		bpf_object__find_program_by_name(samples->object, "on_tick");
	int cpu_count = libbpf_num_possible_cpus();

	samples->links =
		xcalloc((size_t)cpu_count + ARRAY_LEN(followers), sizeof(struct bpf_link *));
	for (int cpu = 0; cpu < cpu_count; cpu++) {
		int rc = program ? samples_attach_cpu(samples, program, cpu, hz) : -ENOENT;

		if (rc < 0)
			return err_set(err, rc, "CPU %d cannot be sampled: %s", cpu, strerror(-rc));
	}
	return samples->link_count ? 0 : err_set(err, -ENODEV, "no CPU can be sampled");
}

int work_samples_start(const struct work_samples_opts *opts, struct work_samples **out_samples,
		       struct err *err)
{
	struct work_samples *samples = xcalloc(1, sizeof(*samples));
	int rc = libbpf_num_possible_cpus() > 0
			 ? samples_load(samples, err)
			 : err_set(err, -ENODEV, "the CPUs of the machine are not known");

	if (rc >= 0)
		rc = samples_prepare(samples, opts, err);
	if (rc >= 0)
		rc = samples_attach(samples, opts->hz, err);
	if (rc >= 0)
		rc = samples_follow(samples, err);
	if (rc < 0) {
		work_samples_free(samples);
		return rc;
	}
	*out_samples = samples;
	return 0;
}

int work_samples_fd(const struct work_samples *samples)
{
	return ring_buffer__epoll_fd(samples->ring);
}

int work_samples_pythons_fd(const struct work_samples *samples)
{
	return samples->pythons_fd;
}

void work_samples_look(struct work_samples *samples)
{
	(void)ring_buffer__consume(samples->ring);
}

void work_samples_end(struct work_samples *samples)
{
	if (samples->control)
		__atomic_store_n(&samples->control->ended, 1, __ATOMIC_RELAXED);
	for (size_t i = 0; i < samples->link_count; i++)
		(void)bpf_link__destroy(samples->links[i]); /* the kernel detaches anyway */
	samples->link_count = 0;
}

uint64_t work_samples_lost(const struct work_samples *samples)
{
	return samples->control->lost;
}

uint64_t work_samples_over(const struct work_samples *samples)
{
	return samples->control->over;
}

void work_samples_free(struct work_samples *samples)
{
	if (!samples)
		return;
	work_samples_end(samples);
	ring_buffer__free(samples->ring);
	bpf_object__close(samples->object);
	if (samples->control)
		(void)munmap(samples->control, sizeof(*samples->control)); /* cannot fail */
	free(samples->links);
	free(samples);
}
