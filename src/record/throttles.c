/* throttles.c - see throttles.h. */
#include "record/throttles.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "accounts/proc.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/event.h"
#include "record/allowed.h"
#include "record/bpf/raw_throttle.h"
#include "record/bpf_parts.h"
#include "record/raw_text.h"
#include "wire/wire.h"

#define WAKE_PART    4u	  /* of a ring wakes who takes it out */
#define ENTRY_BYTES  128u /* that an entry of a map takes, about */
#define PROGRAMS_MAX 16
#define NO_LIMIT     (UINT64_C(1) << 62) /* bytes: as good as none */

extern const unsigned char holdup_bpf_throttle[];
extern const size_t holdup_bpf_throttle_bytes;

struct throttles {
	throttles_take_fn *take;
	void *context;
	struct bpf_object *object;
	struct bpf_link *links[PROGRAMS_MAX];
	size_t link_count;
	bool sees_switches;
	bool has_real_time; /* a thread has set itself to be one */
	struct ring_buffer *ring;
	struct raw_throttle_control *control; /* mapped */
};

static void make_quota(const struct raw_throttle *raw, const char *path, char *out, size_t room)
{
	uint64_t quota_us = raw->limit[0] / 1000, period_us = raw->limit[1] / 1000;

	if (raw->flags & RAW_FIRST_KIND)
		snprintf(out, room,
			 "CPU quota of cgroup %s (cpu.cfs_quota_us %" PRIu64
			 ", cpu.cfs_period_us %" PRIu64 ")",
			 path, quota_us, period_us);
	else
		snprintf(out, room, "CPU quota of cgroup %s (cpu.max %" PRIu64 " %" PRIu64 ")",
			 path, quota_us, period_us);
}

/* "950000", or "not known" where the machine does not tell. */
static void real_time_setting(const char *name, char *out, size_t room)
{
	AUTO_FREE char *path = xasprintf("/proc/sys/kernel/%s", name);

	if (delays_proc_read(path, out, room) <= 0)
		snprintf(out, room, "not known");
	out[strcspn(out, "\n")] = '\0';
}

static void make_machine(char *out, size_t room)
{
	char runtime[32], period[32];

	real_time_setting("sched_rt_runtime_us", runtime, sizeof(runtime));
	real_time_setting("sched_rt_period_us", period, sizeof(period));
	snprintf(out, room,
		 "limit of real-time threads of the machine (sched_rt_runtime_us %s, "
		 "sched_rt_period_us %s)",
		 runtime, period);
}

static void make_deadline(const struct raw_throttle *raw, char *out, size_t room)
{
	snprintf(out, room, "runtime of its SCHED_DEADLINE (%s in each %s)",
		 text_duration(raw->limit[0]).s, text_duration(raw->limit[1]).s);
}

/* The whole of the machine is the topmost cgroup. */
static void make_real_time(const struct raw_throttle *raw, const char *path, char *out, size_t room)
{
	switch ((enum raw_real_time)raw->sector) {
	case RAW_REAL_TIME_DEADLINE:
		make_deadline(raw, out, room);
		return;
	case RAW_REAL_TIME_GROUP:
		if (!raw->text_bytes)
			break;
		snprintf(out, room,
			 "limit of real-time threads of cgroup %s (cpu.rt_runtime_us %llu, "
			 "cpu.rt_period_us %llu)",
			 path, raw->limit[0] / 1000, raw->limit[1] / 1000);
		return;
	case RAW_REAL_TIME_MACHINE:
		break;
	case RAW_REAL_TIME_SERVER:
		snprintf(out, room,
			 "time that each CPU keeps for other than real-time threads (fair_server: "
			 "%s in each %s)",
			 text_duration(raw->limit[0]).s, text_duration(raw->limit[1]).s);
		return;
	case RAW_REAL_TIME_OTHER:
		snprintf(out, room, "limit of real-time threads; whose it is, is not known");
		return;
	}
	make_machine(out, room);
}

static void put_limit(char *out, size_t room, const char *name, uint64_t limit)
{
	size_t used = strlen(out);

	if (limit != UINT64_MAX)
		snprintf(out + used, room - used, "%s%s%" PRIu64, used ? ", " : "", name, limit);
}

static void make_io_limit(const struct raw_throttle *raw, const char *path, char *out, size_t room)
{
	static const char *const names[2][2][2] = {
		{ { "io.max rbps=", "io.max riops=" }, { "io.max wbps=", "io.max wiops=" } },
		{ { "blkio.throttle.read_bps_device ", "blkio.throttle.read_iops_device " },
		  { "blkio.throttle.write_bps_device ", "blkio.throttle.write_iops_device " } },
	};
	const char *const *name = names[raw->flags & RAW_FIRST_KIND][raw->write != 0];
	char limits[160] = "";

	put_limit(limits, sizeof(limits), name[0], raw->limit[0]);
	put_limit(limits, sizeof(limits), name[1], raw->limit[1]);
	if (!limits[0])
		snprintf(out, room, "I/O limit of a cgroup; which one is not known");
	else
		snprintf(out, room, "I/O limit of cgroup %s%s (%s)", path,
			 raw->flags & RAW_ABOVE ? " or of one above it" : "", limits);
}

/* Queues that hold packets back by a rate. */
static bool is_shaper(const char *kind)
{
	static const char *const kinds[] = { "tbf", "htb", "hfsc", "cbq", "cake" };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strncmp(kind, kinds[i], 16) == 0)
			return true;
	}
	return false;
}

static void make_queue(const struct raw_throttle *raw, char *out, size_t room)
{
	char rate[48] = "", delay[48] = "";

	if (raw->text_bytes != 32)
		return;
	if (raw->limit[0])
		snprintf(rate, sizeof(rate), ", rate %llu bit/s", raw->limit[0] * 8);
	else if (raw->classes)
		snprintf(rate, sizeof(rate), ", each of %u classes has its rate", raw->classes);
	else if (is_shaper(raw->text + 16) && !raw->limit[1])
		snprintf(rate, sizeof(rate), ", rate not known");
	if (raw->limit[1])
		snprintf(delay, sizeof(delay), ", delay %llu us", raw->limit[1] / 1000);
	snprintf(out, room, "queue of %.15s: tc qdisc %.15s%s%s", raw->text, raw->text + 16, rate,
		 delay);
}

/* " (memory.max 64 MiB)"; pages; nothing where there is no limit. */
static void put_pages(char *out, size_t room, const char *file, uint64_t pages)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	out[0] = '\0';
	if (pages && pages < NO_LIMIT / page)
		snprintf(out, room, " (%s %s)", file, text_size(pages * page).s);
}

static const char *reclaim_file(const struct raw_throttle *raw)
{
	return !(raw->flags & RAW_FIRST_KIND) ? "memory.max"
	       : raw->flags & RAW_SWAP	      ? "memory.memsw.limit_in_bytes"
					      : "memory.limit_in_bytes";
}

static void make_reclaim(const struct raw_throttle *raw, const char *path, char *out, size_t room)
{
	char limit[80];

	put_pages(limit, sizeof(limit), reclaim_file(raw), raw->limit[0]);
	if (limit[0])
		snprintf(out, room, "reclaims memory at the limit of cgroup %s%s", path, limit);
	else
		snprintf(out, room,
			 "reclaims memory at a limit of its cgroup; which one is not known");
}

static void make_high(const struct raw_throttle *raw, const char *path, char *out, size_t room)
{
	char limit[80];

	put_pages(limit, sizeof(limit), "memory.high", raw->limit[0]);
	snprintf(out, room, "over the limit of cgroup %s%s", path, limit);
}

/* "7:0" as /sys knows it; other names stand for themselves. */
static void device_name(const char *number, char *out, size_t room)
{
	AUTO_FREE char *link = xasprintf("/sys/dev/block/%s", number);
	char target[256];
	ssize_t length = strspn(number, "0123456789:") == strlen(number)
				 ? readlink(link, target, sizeof(target) - 1)
				 : -1;
	const char *last;

	target[length > 0 ? length : 0] = '\0';
	last = strrchr(target, '/');
	if (last)
		snprintf(out, room, "%.32s (%s)", last + 1, number);
	else
		snprintf(out, room, "%s", number);
}

static void make_dirty(const struct raw_throttle *raw, char *out, size_t room)
{
	char path[RAW_PATH_MAX + RAW_LEVEL_TEXT + 8], number[RAW_DEVICE_TEXT], device[128];

	if (raw->text_bytes < RAW_DEVICE_TEXT)
		return;
	snprintf(number, sizeof(number), "%.*s", RAW_DEVICE_TEXT - 1, raw->text);
	device_name(number, device, sizeof(device));
	raw_path(raw->text + RAW_DEVICE_TEXT, raw->text_bytes - RAW_DEVICE_TEXT, path,
		 sizeof(path));
	snprintf(out, room,
		 "dirty pages of device %s%s%s, written faster than the device can "
		 "store them",
		 device, path[1] ? ", of cgroup " : "", path[1] ? path : "");
}

static void make_no_memory(const struct raw_throttle *raw, const char *path, char *out, size_t room)
{
	char limit[80], asker[64] = "";

	put_pages(limit, sizeof(limit), reclaim_file(raw), raw->limit[0]);
	if (raw->limit[1])
		snprintf(asker, sizeof(asker), "; process %llu asked for memory", raw->limit[1]);
	if (limit[0])
		snprintf(out, room,
			 "SIGKILL: out of memory; inferred: at the limit of cgroup %s%s%s", path,
			 limit, asker);
	else
		snprintf(out, room, "SIGKILL: out of memory%s", asker);
}

static void make_killed(const struct raw_throttle *raw, const char *path, char *out, size_t room)
{
	const char *name = sigabbrev_np((int)raw->dev);
	char signal[32];

	if (name)
		snprintf(signal, sizeof(signal), "SIG%s", name);
	else
		snprintf(signal, sizeof(signal), "signal %u", raw->dev);
	switch ((enum raw_killed)raw->sector) {
	case RAW_KILLED_SENT:
		snprintf(out, room, "%s of %.15s[%llu]", signal, raw->text, raw->limit[0]);
		return;
	case RAW_KILLED_SOFT:
		snprintf(out, room, "%s: its soft limit of CPU time (RLIMIT_CPU, %llu s)", signal,
			 raw->limit[0]);
		return;
	case RAW_KILLED_HARD:
		snprintf(out, room, "%s: its hard limit of CPU time (RLIMIT_CPU, %llu s)", signal,
			 raw->limit[1]);
		return;
	case RAW_KILLED_MEMORY:
		make_no_memory(raw, path, out, room);
		return;
	case RAW_KILLED_OTHER:
		break;
	}
	snprintf(out, room, "%s", signal);
}

/* What it says, and its text. */
static void make_record(const struct raw_throttle *raw, struct wire_name *wire,
			char name[WIRE_NAME_MAX])
{
	char path[RAW_PATH_MAX + RAW_LEVEL_TEXT + 8];

	raw_path(raw->text, raw->text_bytes, path, sizeof(path));
	switch ((enum raw_throttle_kind)raw->kind) {
	case RAW_THROTTLE_BEGIN:
		wire->fd = THROTTLE_BEGINS;
		make_quota(raw, path, name, WIRE_NAME_MAX);
		break;
	case RAW_THROTTLE_REAL_TIME:
		wire->fd = THROTTLE_BEGINS;
		make_real_time(raw, path, name, WIRE_NAME_MAX);
		break;
	case RAW_THROTTLE_SET:
		wire->fd = THROTTLE_DEADLINE;
		if (raw->limit[0])
			make_deadline(raw, name, WIRE_NAME_MAX);
		break;
	case RAW_THROTTLE_IDLE:
		wire->fd = THROTTLE_IDLE;
		snprintf(name, WIRE_NAME_MAX, "%s",
			 raw->limit[0] ? "another policy" : "SCHED_IDLE");
		break;
	case RAW_THROTTLE_ALLOWED:
		wire->fd = THROTTLE_ALLOWED;
		allowed_cpus((int32_t)raw->tid, name, WIRE_NAME_MAX);
		break;
	case RAW_THROTTLE_FREEZES:
	case RAW_THROTTLE_THAWS:
		wire->fd = raw->kind == RAW_THROTTLE_THAWS ? THROTTLE_THAWS : THROTTLE_FREEZES;
		snprintf(name, WIRE_NAME_MAX, "%s", path);
		break;
	case RAW_THROTTLE_END:
		wire->fd = THROTTLE_ENDS;
		break;
	case RAW_THROTTLE_QUEUE:
		wire->fd = THROTTLE_QUEUE;
		make_queue(raw, name, WIRE_NAME_MAX);
		break;
	case RAW_THROTTLE_RECLAIM:
		wire->fd = THROTTLE_RECLAIM;
		make_reclaim(raw, path, name, WIRE_NAME_MAX);
		break;
	case RAW_THROTTLE_HIGH:
		wire->fd = THROTTLE_HIGH;
		make_high(raw, path, name, WIRE_NAME_MAX);
		break;
	case RAW_THROTTLE_DIRTY:
		wire->fd = THROTTLE_DIRTY;
		make_dirty(raw, name, WIRE_NAME_MAX);
		break;
	case RAW_THROTTLE_KILLED:
		wire->fd = THROTTLE_KILLED;
		make_killed(raw, path, name, WIRE_NAME_MAX);
		break;
	case RAW_THROTTLE_IO:
		wire->fd = THROTTLE_REQUEST;
		wire->inode = throttle_request(raw->dev, raw->sector);
		make_io_limit(raw, path, name, WIRE_NAME_MAX);
		break;
	}
}

/* Called by libbpf for each record. */
static int take_record(void *context, void *data, size_t bytes)
{
	const struct raw_throttle *raw = data; /* the ring aligns records to 8 bytes */
	struct throttles *throttles = context;
	size_t head = offsetof(struct raw_throttle, text);
	char name[WIRE_NAME_MAX] = "";
	struct wire_name wire;

	if (bytes < head || raw->text_bytes > bytes - head)
		return 0;
	wire = (struct wire_name){
		.mono_ns = raw->mono_ns,
		.tgid = (int32_t)raw->tgid,
		.tid = (int32_t)raw->tid,
		.role = FD_THROTTLED << FD_WATCH_SHIFT,
	};
	make_record(raw, &wire, name);
	throttles->has_real_time |= raw->kind == RAW_THROTTLE_SET;
	throttles->take(throttles->context, wire, name);
	return 0;
}

/* The programs, most wanted first. */
static const char *const programs[] = { "on_switch",	  "on_insert",	"on_issue",
					"on_dequeue",	  "on_reclaim", "on_dirty",
					"on_getrq",	  "on_signal",	"on_exit",
					"on_victim",	  "on_setattr", "on_setscheduler",
					"on_setaffinity", "on_freeze",	"on_unfreeze" };

static bool is_wanted(const char *name, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(programs[i], name) == 0)
			return true;
	}
	return false;
}

/* For always: as small as what is kept. */
static void size_maps(struct bpf_object *object, uint64_t keep_bytes)
{
	bpf_parts_size(object, "ring", keep_bytes / 64, 16u << 10, 256u << 10);
	bpf_parts_size(object, "all_held", keep_bytes / 16 / ENTRY_BYTES, 1024, 16384);
	bpf_parts_size(object, "all_told", keep_bytes / 64 / ENTRY_BYTES, 512, 4096);
}

/* The first 'count' of them; NULL where the kernel does not take one. */
static struct bpf_object *load(size_t count, uint64_t keep_bytes)
{
	struct bpf_object_open_opts opts = { .sz = sizeof(opts), .object_name = "holdup_held" };
	struct bpf_object *object =
		bpf_object__open_mem(holdup_bpf_throttle, holdup_bpf_throttle_bytes, &opts);
	struct bpf_program *program;

	if (libbpf_get_error(object))
		return NULL;
	bpf_object__for_each_program(program, object)(void)
		bpf_program__set_autoload(program, is_wanted(bpf_program__name(program), count));
	if (keep_bytes)
		size_maps(object, keep_bytes);
	if (bpf_object__load(object) == 0)
		return object;
	bpf_object__close(object);
	return NULL;
}

/* The program of switches, or the other ones. */
static void attach(struct throttles *throttles, bool switches)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, throttles->object)
	{
		struct bpf_link *link;

		if (bpf_program__fd(program) < 0 ||
		    (strcmp(bpf_program__name(program), programs[0]) == 0) != switches)
			continue;
		link = bpf_program__attach(program);
		if (link && !libbpf_get_error(link) && throttles->link_count < PROGRAMS_MAX)
			throttles->links[throttles->link_count++] = link;
	}
}

static void see_quota(struct throttles *throttles)
{
	if (!throttles->sees_switches)
		attach(throttles, true);
	throttles->sees_switches = true;
}

struct throttles *throttles_start(throttles_take_fn *take, void *context, bool quota,
				  uint64_t dispatch, uint64_t keep_bytes)
{
	struct throttles *throttles = xcalloc(1, sizeof(*throttles));
	struct bpf_map *ring;

	throttles->take = take;
	throttles->context = context;
	for (size_t count = ARRAY_LEN(programs); count && !throttles->object; count--)
		throttles->object = load(count, keep_bytes);
	throttles->control = throttles->object
				     ? bpf_parts_map(throttles->object, sizeof(*throttles->control))
				     : NULL;
	ring = throttles->control ? bpf_object__find_map_by_name(throttles->object, "ring") : NULL;
	if (ring)
		throttles->ring = ring_buffer__new(bpf_map__fd(ring), take_record, throttles, NULL);
	if (throttles->ring) {
		throttles->control->wake_bytes = bpf_map__max_entries(ring) / WAKE_PART;
		throttles->control->dispatch = dispatch;
		attach(throttles, false);
		if (quota)
			see_quota(throttles);
		return throttles;
	}
	throttles_stop(throttles);
	return NULL;
}

int throttles_fd(const struct throttles *throttles)
{
	return ring_buffer__epoll_fd(throttles->ring);
}

void throttles_look(struct throttles *throttles, bool quota)
{
	(void)ring_buffer__consume(throttles->ring);
	if (quota || throttles->has_real_time)
		see_quota(throttles);
}

void throttles_end(struct throttles *throttles)
{
	__atomic_store_n(&throttles->control->ended, 1, __ATOMIC_RELAXED);
}

uint64_t throttles_lost(const struct throttles *throttles)
{
	return __atomic_load_n(&throttles->control->lost, __ATOMIC_RELAXED);
}

void throttles_stop(struct throttles *throttles)
{
	if (!throttles)
		return;
	for (size_t i = 0; i < throttles->link_count; i++)
		(void)bpf_link__destroy(throttles->links[i]); /* the kernel detaches in any case */
	ring_buffer__free(throttles->ring);
	bpf_object__close(throttles->object);
	if (throttles->control)
		(void)munmap(throttles->control, sizeof(*throttles->control)); /* cannot fail */
	free(throttles);
}
