/* klocks.c - load the BPF program, drain its ring, turn raw fields into words. */
#include "record/klocks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "record/bpf/raw_lock.h"
#include "record/bpf_parts.h"
#include "record/klock_places.h"
#include "record/klock_text.h"
#include "wire/wire.h"

#define WAKE_PART   4u	 /* of a ring wakes who takes it out */
#define ENTRY_BYTES 128u /* that an entry of a map takes, about */

extern const unsigned char holdup_bpf_locks[];
extern const size_t holdup_bpf_locks_bytes;

/* What is attached, in this order. */
static const char *const programs[] = { "on_lock_end", "on_lock_begin", "on_each_waiter" };

struct klocks {
	struct bpf_object *object;
	struct bpf_link *links[ARRAY_LEN(programs)];
	struct ring_buffer *ring;
	struct raw_lock_control *control; /* mapped; the program writes 'lost' */
	int waiters_fd;			  /* the map of who waits; the object's */
	struct klock_places *places;	  /* owned */
	klocks_sink *sink;
	void *context;
	char text[WIRE_NAME_MAX];
};

/* Called by libbpf for each record. */
static int klocks_take_record(void *context, void *data, size_t bytes)
{
	const struct raw_lock *raw = data; /* the ring aligns records to 8 bytes */
	struct klocks *klocks = context;
	struct klock_told told;

	if (bytes < offsetof(struct raw_lock, text))
		return 0;
	klock_text(raw, bytes, klocks->places, klocks->text, sizeof(klocks->text));
	told = (struct klock_told){ .mono_ns = raw->begin_ns,
				    .lock = raw->lock,
				    .tid = (int32_t)raw->tid,
				    .tgid = (int32_t)raw->tgid,
				    .owner = (int32_t)raw->owner,
				    .text = klocks->text };
	klocks->sink(klocks->context, &told);
	return 0;
}

/* For always: as small as what is kept. */
static void size_maps(struct bpf_object *object, uint64_t keep_bytes)
{
	bpf_parts_size(object, "ring", keep_bytes / 32, 32u << 10, 512u << 10);
	bpf_parts_size(object, "waiters", keep_bytes / 32 / ENTRY_BYTES, 1024, 8192);
	bpf_parts_size(object, "told", keep_bytes / 64 / ENTRY_BYTES, 512, 4096);
}

static int klocks_load(struct klocks *klocks, uint64_t keep_bytes, struct err *err)
{
	int rc = bpf_parts_open("holdup_locks", holdup_bpf_locks, holdup_bpf_locks_bytes,
				&klocks->object, err);

	if (rc >= 0 && keep_bytes)
		size_maps(klocks->object, keep_bytes);
	return rc < 0 ? rc : bpf_parts_load(klocks->object, err);
}

static int prepare(struct klocks *klocks, struct err *err)
{
	struct bpf_map *ring = bpf_object__find_map_by_name(klocks->object, "ring");

	klocks->waiters_fd = bpf_object__find_map_fd_by_name(klocks->object, "waiters");
	klocks->control = bpf_parts_map(klocks->object, sizeof(*klocks->control));
	if (!klocks->control || !ring || klocks->waiters_fd < 0)
		return err_set(err, -EINVAL, "the data of the BPF program cannot be mapped");
	klocks->control->recorder_tgid = (uint32_t)getpid();
	klocks->control->wake_bytes = bpf_map__max_entries(ring) / WAKE_PART;
	klocks->ring = ring_buffer__new(bpf_map__fd(ring), klocks_take_record, klocks, NULL);
	return klocks->ring ? 0 : err_set(err, -errno, "no BPF ring buffer: %s", strerror(errno));
}

static int attach(struct klocks *klocks, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		struct bpf_program *program =
			bpf_object__find_program_by_name(klocks->object, programs[i]);
		struct bpf_link *link = program ? bpf_program__attach(program) : NULL;
		int rc = program ? (int)libbpf_get_error(link) : -ENOENT;

		if (rc)
			return err_set(err, rc, "the BPF program cannot be attached: %s",
				       strerror(-rc));
		klocks->links[i] = link;
	}
	return 0;
}

/* Who waits since before: what begins from now on is seen. */
static void look_first(struct klocks *klocks)
{
	__atomic_store_n(&klocks->control->is_first, 1, __ATOMIC_RELAXED);
	bpf_parts_iterate(bpf_link__fd(klocks->links[ARRAY_LEN(programs) - 1]));
	__atomic_store_n(&klocks->control->is_first, 0, __ATOMIC_RELAXED);
}

int klocks_start(klocks_sink *sink, void *context, uint64_t keep_bytes, struct klocks **out_klocks,
		 struct err *err)
{
	struct klocks *klocks = xcalloc(1, sizeof(*klocks));
	int rc;

	klocks->sink = sink;
	klocks->context = context;
	rc = klocks_load(klocks, keep_bytes, err);
	if (rc >= 0)
		rc = prepare(klocks, err);
	if (rc >= 0)
		rc = attach(klocks, err);
	if (rc < 0) {
		klocks_stop(klocks);
		return rc;
	}
	look_first(klocks);
	klocks->places = klock_places_new();
	*out_klocks = klocks;
	return 0;
}

void klocks_begin(struct klocks *klocks, uint64_t mono_ns)
{
	__atomic_store_n(&klocks->control->begun_ns, mono_ns, __ATOMIC_RELAXED);
}

int klocks_fd(const struct klocks *klocks)
{
	return ring_buffer__epoll_fd(klocks->ring);
}

void klocks_look(struct klocks *klocks, bool is_last)
{
	uint32_t first;

	if (is_last)
		__atomic_store_n(&klocks->control->is_last, 1, __ATOMIC_RELAXED);
	if (bpf_map_get_next_key(klocks->waiters_fd, NULL, &first) == 0)
		bpf_parts_iterate(bpf_link__fd(klocks->links[ARRAY_LEN(programs) - 1]));
	(void)ring_buffer__consume(klocks->ring);
}

uint64_t klocks_lost(const struct klocks *klocks)
{
	return klocks->control ? __atomic_load_n(&klocks->control->lost, __ATOMIC_RELAXED) : 0;
}

void klocks_end(struct klocks *klocks)
{
	if (klocks->control)
		__atomic_store_n(&klocks->control->ended, 1, __ATOMIC_RELAXED);
}

void klocks_stop(struct klocks *klocks)
{
	if (!klocks)
		return;
	klocks_end(klocks);
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		if (klocks->links[i])
			(void)bpf_link__destroy(klocks->links[i]); /* the kernel detaches anyway */
	}
	ring_buffer__free(klocks->ring);
	if (klocks->control)
		(void)munmap(klocks->control, sizeof(*klocks->control)); /* cannot fail */
	bpf_object__close(klocks->object);
	klock_places_free(klocks->places);
	free(klocks);
}
