/* flight_pair.c - see flight_pair.h. */
#include "record/flight_pair.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "record/bpf/raw_pair.h"
#include "record/bpf_parts.h"
#include "record/flight_event.h"

extern const unsigned char holdup_bpf_pair[];
extern const size_t holdup_bpf_pair_bytes;

#define FIRSTS_MAX 65536u /* of the program */
#define PLACES_MAX 16u	  /* of one point */

/* One of the two. */
struct pair_end {
	struct flight_event *point; /* owned; NULL = it is an event of the kernel */
	struct bpf_link *links[PLACES_MAX];
	size_t count;
};

struct flight_pair {
	struct bpf_object *object;
	struct pair_end ends[2];
	struct ring_buffer *ring;
	struct raw_pair_control *control; /* mapped */
	char *told;			  /* owned; the first one that was taken */
	int32_t tid;			  /* of that */
	uint64_t first_ns, second_ns;	  /* when it passed the two */
};

static int take_record(void *context, void *data, size_t bytes)
{
	struct flight_pair *pair = context;
	struct raw_pair raw;

	if (bytes < sizeof(raw) || pair->told)
		return 0;
	memcpy(&raw, data, sizeof(raw));
	pair->tid = (int32_t)raw.tid;
	pair->first_ns = raw.at_ns - raw.apart_ns;
	pair->second_ns = raw.at_ns;
	pair->told = xasprintf("thread %u (%.*s), %s", raw.tid, (int)sizeof(raw.comm), raw.comm,
			       text_duration(raw.apart_ns).s);
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
	pair->ring = ring_buffer__new(bpf_map__fd(ring), take_record, pair, NULL);
	return pair->ring ? 0 : err_set(err, -errno, "no BPF ring buffer: %s", strerror(errno));
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
		rc = attach(pair, 0, first, err);
	if (rc >= 0)
		rc = attach(pair, 1, second, err);
	if (rc < 0) {
		flight_pair_close(pair);
		return rc;
	}
	flight_pair_arm(pair);
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

/* What threads passed before it rested: they are forgotten, as the second event may have come meanwhile. */
static void forget_firsts(const struct flight_pair *pair)
{
	int fd = bpf_object__find_map_fd_by_name(pair->object, "firsts");
	uint32_t tid;

	for (size_t i = 0; i < FIRSTS_MAX && bpf_map_get_next_key(fd, NULL, &tid) == 0; i++)
		(void)bpf_map_delete_elem(fd, &tid);
}

void flight_pair_arm(struct flight_pair *pair)
{
	if (!pair || __atomic_load_n(&pair->control->is_armed, __ATOMIC_RELAXED))
		return;
	forget_firsts(pair);
	__atomic_store_n(&pair->control->is_armed, 1, __ATOMIC_RELAXED);
}

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
	ring_buffer__free(pair->ring);
	if (pair->control)
		(void)munmap(pair->control, sizeof(*pair->control)); /* cannot fail */
	bpf_object__close(pair->object);
	free(pair->told);
	free(pair);
}
