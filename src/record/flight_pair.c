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

extern const unsigned char holdup_bpf_pair[];
extern const size_t holdup_bpf_pair_bytes;

#define FIRSTS_MAX 65536u /* of the program */

struct flight_pair {
	struct bpf_object *object;
	struct bpf_link *links[2];
	struct ring_buffer *ring;
	struct raw_pair_control *control; /* mapped */
	char *told;			  /* owned; the first one that was taken */
};

static int take_record(void *context, void *data, size_t bytes)
{
	struct flight_pair *pair = context;
	struct raw_pair raw;

	if (bytes < sizeof(raw) || pair->told)
		return 0;
	memcpy(&raw, data, sizeof(raw));
	pair->told = xasprintf("thread %u (%.*s), %s", raw.tid, (int)sizeof(raw.comm), raw.comm,
			       text_duration(raw.apart_ns).s);
	return 0;
}

static int load(struct flight_pair *pair, struct err *err)
{
	int rc = bpf_parts_open("holdup_pair", holdup_bpf_pair, holdup_bpf_pair_bytes,
				&pair->object, err);

	return rc < 0 ? rc : bpf_parts_load(pair->object, err);
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

/* "system/event" */
static int attach(struct flight_pair *pair, size_t which, const char *name, struct err *err)
{
	static const char *const programs[2] = { "on_first", "on_second" };
	AUTO_FREE char *system = xstrndup(name, strcspn(name, "/"));
	const char *event = name + strlen(system) + (name[strlen(system)] == '/');
	struct bpf_program *program =
		bpf_object__find_program_by_name(pair->object, programs[which]);
	struct bpf_link *link =
		program ? bpf_program__attach_tracepoint(program, system, event) : NULL;
	int rc = program ? (int)libbpf_get_error(link) : -ENOENT;

	if (rc == -ENOENT)
		return err_set(err, rc, "this kernel has no event %s", name);
	if (rc)
		return err_set(err, rc, "the BPF program cannot be attached to event %s: %s", name,
			       strerror(-rc));
	pair->links[which] = link;
	return 0;
}

int flight_pair_open(const char *first, const char *second, uint64_t limit_ns,
		     struct flight_pair **out_pair, struct err *err)
{
	struct flight_pair *pair = xcalloc(1, sizeof(*pair));
	int rc;

	rc = load(pair, err);
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

void flight_pair_close(struct flight_pair *pair)
{
	if (!pair)
		return;
	for (size_t i = 0; i < ARRAY_LEN(pair->links); i++) {
		if (pair->links[i])
			(void)bpf_link__destroy(pair->links[i]); /* the kernel detaches anyway */
	}
	ring_buffer__free(pair->ring);
	if (pair->control)
		(void)munmap(pair->control, sizeof(*pair->control)); /* cannot fail */
	bpf_object__close(pair->object);
	free(pair->told);
	free(pair);
}
