/* flight_pair.c - see flight_pair.h. */
#include "record/flight_pair.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "proc/proc.h"
#include "record/bpf/raw_pair.h"
#include "record/bpf_parts.h"
#include "record/flight_event.h"

extern const unsigned char holdup_bpf_pair[];
extern const size_t holdup_bpf_pair_bytes;

#define PLACES_MAX  16u		       /* of one point */
#define BATCH	    512u	       /* threads that are read at once */
#define BATCHES_MAX 512u	       /* of one look: the program knows fewer threads */
#define SOONEST_NS  UINT64_C(10000000) /* between two looks */
#define LATEST_NS   UINT64_C(250000000)
#define LATE_PART   8u	 /* a look is late by such a part of the limit, at most */
#define COST_PART   100u /* of a CPU */
/* A second event that comes soon says what held the thread up: it is waited for half of the limit more, and not longer than this. */
#define SETTLE_NS  UINT64_C(500000000)
#define COMM_BYTES 64

/* One of the two. */
struct pair_end {
	struct flight_event *point; /* owned; NULL = it is an event of the kernel */
	struct bpf_link *links[PLACES_MAX];
	size_t count;
};

struct flight_pair {
	struct bpf_object *object;
	struct pair_end ends[2];
	struct bpf_link *exit_link;
	struct ring_buffer *ring;
	struct raw_pair_control *control; /* mapped */
	char *told;			  /* owned; the first one that was taken */
	int32_t tid;			  /* of that */
	uint64_t first_ns, second_ns;	  /* when it passed the two */
	struct map late;  /* thread -> when it passed the first one: these were told */
	uint64_t late_ns; /* looked for are those for whom the first one is so long ago */
	uint64_t next_ns; /* when the next look is due */
};

/* Was it told when it was too late, and now it is over? */
static bool was_told(const struct flight_pair *pair, uint32_t tid, uint64_t first_ns)
{
	const uint64_t *told_ns = map_find(&pair->late, tid);

	return told_ns && *told_ns == first_ns;
}

static void set_armed(const struct flight_pair *pair, bool is_armed)
{
	__atomic_store_n(&pair->control->is_armed, is_armed, __ATOMIC_RELAXED);
}

/* The second one came, or the thread ended. */
static int take_record(void *context, void *data, size_t bytes)
{
	struct flight_pair *pair = context;
	struct raw_pair raw;

	if (bytes < sizeof(raw) || pair->told)
		return 0;
	memcpy(&raw, data, sizeof(raw));
	if (was_told(pair, raw.tid, raw.at_ns - raw.apart_ns)) {
		set_armed(pair, true);
		return 0;
	}
	pair->tid = (int32_t)raw.tid;
	pair->first_ns = raw.at_ns - raw.apart_ns;
	pair->second_ns = raw.at_ns;
	pair->told = xasprintf("thread %u (%.*s), %s%s", raw.tid, (int)sizeof(raw.comm), raw.comm,
			       text_duration(raw.apart_ns).s,
			       raw.has_ended ? " and not over as it ended" : "");
	return 0;
}

/* Of events of the kernel, and of points. */
static const char *const programs[2][2] = { { "on_first", "on_second" },
					    { "on_first_point", "on_second_point" } };

static bool is_point(const char *name)
{
	return strncmp(name, "usdt:", 5) == 0 || strncmp(name, "probe:", 6) == 0;
}

/* Those of the other type are left out: a kernel may not have it. */
static void choose(struct bpf_object *object, size_t which, const char *name)
{
	struct bpf_program *other =
		bpf_object__find_program_by_name(object, programs[!is_point(name)][which]);

	if (other)
		(void)bpf_program__set_autoload(other, false);
}

static int load(struct flight_pair *pair, const char *first, const char *second, struct err *err)
{
	int rc = bpf_parts_open("holdup_pair", holdup_bpf_pair, holdup_bpf_pair_bytes,
				&pair->object, err);

	if (rc < 0)
		return rc;
	choose(pair->object, 0, first);
	choose(pair->object, 1, second);
	return bpf_parts_load(pair->object, err);
}

static int prepare(struct flight_pair *pair, uint64_t limit_ns, struct err *err)
{
	struct bpf_map *ring = bpf_object__find_map_by_name(pair->object, "ring");

	pair->control = bpf_parts_map(pair->object, sizeof(*pair->control));
	if (!pair->control || !ring)
		return err_set(err, -EINVAL, "the data of the BPF program cannot be mapped");
	pair->control->limit_ns = limit_ns;
	pair->late_ns = limit_ns + (limit_ns / 2 < SETTLE_NS ? limit_ns / 2 : SETTLE_NS);
	pair->next_ns = clock_now_ns() + pair->late_ns;
	pair->ring = ring_buffer__new(bpf_map__fd(ring), take_record, pair, NULL);
	return pair->ring ? 0 : err_set(err, -errno, "no BPF ring buffer: %s", strerror(errno));
}

static int attach_exit(struct flight_pair *pair, struct err *err)
{
	struct bpf_program *program = bpf_object__find_program_by_name(pair->object, "on_exit");

	pair->exit_link =
		program ? bpf_program__attach_tracepoint(program, "sched", "sched_process_exit")
			: NULL;
	if (pair->exit_link && libbpf_get_error(pair->exit_link) == 0)
		return 0;
	pair->exit_link = NULL;
	return err_set(err, -ENOENT, "the BPF program cannot be attached to where threads end");
}

static int attach_one(struct flight_pair *pair, size_t which, const char *system, const char *event,
		      struct err *err)
{
	struct pair_end *end = &pair->ends[which];
	struct bpf_program *program =
		bpf_object__find_program_by_name(pair->object, programs[end->point != NULL][which]);
	struct bpf_link *link =
		program ? bpf_program__attach_tracepoint(program, system, event) : NULL;
	int rc = program ? (int)libbpf_get_error(link) : -ENOENT;

	if (rc == -ENOENT)
		return err_set(err, rc, "this kernel has no event %s/%s", system, event);
	if (rc)
		return err_set(err, rc, "the BPF program cannot be attached to event %s/%s: %s",
			       system, event, strerror(-rc));
	end->links[end->count++] = link;
	return 0;
}

/* All places of the point. */
static int attach_point(struct flight_pair *pair, size_t which, const char *point, bool is_usdt,
			struct err *err)
{
	struct pair_end *end = &pair->ends[which];
	const char *place;
	int rc = flight_event_make_point(point, is_usdt, &end->point, err);

	if (rc < 0) {
		end->point = NULL;
		return rc;
	}
	for (size_t i = 0; rc == 0 && (place = flight_event_place(end->point, i)); i++)
		rc = i < PLACES_MAX
			     ? attach_one(pair, which, flight_event_group(end->point), place, err)
			     : err_set(err, -E2BIG, "%s has more than %u places", point,
				       PLACES_MAX);
	return rc;
}

/* "system/event", or a point. */
static int attach(struct flight_pair *pair, size_t which, const char *name, struct err *err)
{
	AUTO_FREE char *system = xstrndup(name, strcspn(name, "/"));
	const char *event = name + strlen(system) + (name[strlen(system)] == '/');

	if (strncmp(name, "usdt:", 5) == 0)
		return attach_point(pair, which, name + 5, true, err);
	if (strncmp(name, "probe:", 6) == 0)
		return attach_point(pair, which, name + 6, false, err);
	return attach_one(pair, which, system, event, err);
}

int flight_pair_open(const char *first, const char *second, uint64_t limit_ns,
		     struct flight_pair **out_pair, struct err *err)
{
	struct flight_pair *pair = xcalloc(1, sizeof(*pair));
	int rc;

	rc = load(pair, first, second, err);
	if (rc >= 0)
		rc = prepare(pair, limit_ns, err);
	if (rc >= 0)
		rc = attach_exit(pair, err);
	if (rc >= 0)
		rc = attach(pair, 0, first, err);
	if (rc >= 0)
		rc = attach(pair, 1, second, err);
	if (rc < 0) {
		flight_pair_close(pair);
		return rc;
	}
	set_armed(pair, true);
	*out_pair = pair;
	return 0;
}

int flight_pair_fd(const struct flight_pair *pair)
{
	return ring_buffer__epoll_fd(pair->ring);
}

char *flight_pair_take(struct flight_pair *pair)
{
	char *told;

	(void)ring_buffer__consume(pair->ring);
	told = pair->told;
	pair->told = NULL;
	return told;
}

int32_t flight_pair_tid(const struct flight_pair *pair, uint64_t *out_first_ns,
			uint64_t *out_second_ns)
{
	*out_first_ns = pair->first_ns;
	*out_second_ns = pair->second_ns;
	return pair->tid;
}

void flight_pair_arm(struct flight_pair *pair, bool is_armed)
{
	if (pair)
		set_armed(pair, is_armed);
}

/* --------------------------------------------------------- what does not come */

/* A look at all threads that are between the two events. */
struct pair_look {
	struct flight_pair *pair;
	int firsts_fd, proc_fd;
	uint64_t now_ns;
	uint64_t next_ns; /* the first of the others is too late then */
	struct map late;
	uint64_t count; /* of those that were not told yet; the longest one: */
	uint32_t tid;
	struct raw_pair_first first;
};

/*
 * The program forgets a thread as it ends, but for one that executes a program while it is not the main thread: it gets
 * another number, and what it passed before is not of the new program.
 */
static bool is_gone(const struct pair_look *look, uint32_t tid, uint32_t tgid)
{
	AUTO_FREE char *path = xasprintf("%u/task/%u", tgid, tid);

	return look->proc_fd >= 0 && faccessat(look->proc_fd, path, F_OK, 0) < 0;
}

static void look_at(struct pair_look *look, uint32_t tid, const struct raw_pair_first *first)
{
	uint64_t late_ns = first->at_ns + look->pair->late_ns;

	if (late_ns >= look->now_ns) {
		look->next_ns = late_ns < look->next_ns ? late_ns : look->next_ns;
		return;
	}
	if (was_told(look->pair, tid, first->at_ns)) {
		map_put(&look->late, tid, first->at_ns);
		return;
	}
	if (is_gone(look, tid, first->tgid)) {
		(void)bpf_map_delete_elem(look->firsts_fd, &tid);
		return;
	}
	map_put(&look->late, tid, first->at_ns);
	if (!look->count++ || first->at_ns < look->first.at_ns) {
		look->tid = tid;
		look->first = *first;
	}
}

static void look_at_all(struct pair_look *look)
{
	uint32_t tids[BATCH], place = 0;
	struct raw_pair_first firsts[BATCH];
	bool is_begun = false;
	int rc = 0;

	for (size_t i = 0; i < BATCHES_MAX && rc == 0; i++) {
		uint32_t count = BATCH;

		rc = bpf_map_lookup_batch(look->firsts_fd, is_begun ? &place : NULL, &place, tids,
					  firsts, &count, NULL);
		if (rc && errno != ENOENT)
			break;
		is_begun = true;
		for (uint32_t k = 0; k < count; k++)
			look_at(look, tids[k], &firsts[k]);
	}
}

static void read_comm(const struct pair_look *look, char comm[COMM_BYTES])
{
	AUTO_FREE char *path = xasprintf("%u/task/%u/comm", look->first.tgid, look->tid);

	if (look->proc_fd < 0 || proc_read(look->proc_fd, path, comm, COMM_BYTES) <= 0)
		comm[0] = '\0';
	comm[strcspn(comm, "\n")] = '\0';
}

static char *tell_late(const struct pair_look *look)
{
	char comm[COMM_BYTES];
	AUTO_FREE char *more = NULL;

	read_comm(look, comm);
	if (look->count > 1)
		more = xasprintf("; so are %s more", text_count(look->count - 1).s);
	look->pair->tid = (int32_t)look->tid;
	look->pair->first_ns = look->first.at_ns;
	look->pair->second_ns = 0;
	return xasprintf("thread %u%s%s%s, %s and not over%s", look->tid, comm[0] ? " (" : "", comm,
			 comm[0] ? ")" : "", text_duration(look->now_ns - look->first.at_ns).s,
			 more ? more : "");
}

/* As soon as the next one is too late, not too often, and less often where it costs much. */
static void plan_look(const struct pair_look *look, uint64_t cost_ns)
{
	uint64_t least_ns = look->pair->late_ns / LATE_PART;

	least_ns = least_ns < SOONEST_NS ? SOONEST_NS : least_ns;
	least_ns = least_ns > LATEST_NS ? LATEST_NS : least_ns;
	least_ns = least_ns < cost_ns * COST_PART ? cost_ns * COST_PART : least_ns;
	look->pair->next_ns = look->next_ns + 1 < look->now_ns + least_ns ? look->now_ns + least_ns
									  : look->next_ns + 1;
}

char *flight_pair_look(struct flight_pair *pair, uint64_t *out_count)
{
	uint64_t cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID), now_ns = clock_now_ns();
	AUTO_CLOSE int proc_fd =
		proc_is_outermost() ? open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	struct pair_look look = { .pair = pair,
				  .firsts_fd =
					  bpf_object__find_map_fd_by_name(pair->object, "firsts"),
				  .proc_fd = proc_fd,
				  .now_ns = now_ns,
				  .next_ns = now_ns + pair->late_ns };
	char *told = NULL;

	look_at_all(&look);
	map_fini(&pair->late);
	pair->late = look.late;
	*out_count = look.count;
	if (look.count)
		told = tell_late(&look);
	plan_look(&look, clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns);
	return told;
}

uint64_t flight_pair_next_ns(const struct flight_pair *pair)
{
	return pair ? pair->next_ns : UINT64_MAX;
}

/* --------------------------------------------------------------------- the end */

/* The event can be removed when nobody is attached to it. */
static void end_close(struct pair_end *end)
{
	for (size_t i = 0; i < end->count; i++)
		(void)bpf_link__destroy(end->links[i]); /* the kernel detaches anyway */
	flight_event_close(end->point);
}

void flight_pair_close(struct flight_pair *pair)
{
	if (!pair)
		return;
	for (size_t i = 0; i < ARRAY_LEN(pair->ends); i++)
		end_close(&pair->ends[i]);
	if (pair->exit_link)
		(void)bpf_link__destroy(pair->exit_link); /* as above */
	map_fini(&pair->late);
	ring_buffer__free(pair->ring);
	if (pair->control)
		(void)munmap(pair->control, sizeof(*pair->control)); /* cannot fail */
	bpf_object__close(pair->object);
	free(pair->told);
	free(pair);
}
