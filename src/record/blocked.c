/* blocked.c - see blocked.h. */
#include "record/blocked.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "record/bpf/raw.h"
#include "record/recent.h"
#include "store/manifest.h"
#include "wire/wire.h"

#define BATCH_RECORDS 256u

/* What the program writes begins with what is written to the file. */
_Static_assert(sizeof(struct wire_call) == 64 && sizeof(struct raw_block) == 64,
	       "a record of the file");
_Static_assert(RAW_BLOCK_NONE == WIRE_CALL_NONE && RAW_BLOCK_COMPAT == WIRE_CALL_COMPAT &&
		       RAW_BLOCK_ENDED == WIRE_CALL_ENDED && RAW_BLOCK_LOSS == WIRE_CALL_LOSS,
	       "the same numbers");

struct of_cpu {
	int file; /* -1 = none yet */
	off_t bytes;
	struct recent *recent; /* owned; instead of a file; NULL = none yet */
	size_t count;
	bool loses; /* what comes next has lost some before it */
	uint64_t last_ns;
	struct wire_call batch[BATCH_RECORDS];
};

struct blocked {
	struct ring_buffer *ring;
	struct raw_lane *lanes; /* mapped; of each CPU */
	size_t lane_count;
	const struct raw_chunk *chunks; /* mapped; 'lane_chunks' of each CPU */
	size_t lane_chunks;
	int kernel_fd;		/* -1 = they are kept in memory */
	uint64_t most_bytes;	/* of each CPU */
	struct last_calls gone; /* from memory */
	struct of_cpu **cpus;	/* owned; NULL = nothing of it yet */
	size_t cpu_count;
	uint64_t unwritten;
};

static int calls_file(struct blocked *blocked, struct of_cpu *of_cpu, uint32_t cpu)
{
	AUTO_FREE char *name = xasprintf("cpu%u.calls", cpu);

	if (of_cpu->file < 0)
		of_cpu->file =
			openat(blocked->kernel_fd, name,
			       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_APPEND,
			       0600);
	return of_cpu->file;
}

/* No half record between whole ones; if that fails too, what is read ends there. */
static bool write_batch(struct blocked *blocked, struct of_cpu *of_cpu, uint32_t cpu)
{
	size_t bytes = of_cpu->count * sizeof(of_cpu->batch[0]);

	if (calls_file(blocked, of_cpu, cpu) >= 0 &&
	    file_write(of_cpu->file, of_cpu->batch, bytes) == 0) {
		of_cpu->bytes += (off_t)bytes;
		return true;
	}
	if (of_cpu->file >= 0)
		(void)!ftruncate(of_cpu->file, of_cpu->bytes);
	return false;
}

/* The last call of a thread may be one that is kept no longer. */
static void note_gone(void *context, const struct recent_piece *piece)
{
	struct blocked *blocked = context;
	const struct wire_call *calls = piece->data;

	for (size_t i = 0; i < piece->bytes / sizeof(*calls); i++)
		last_calls_put(&blocked->gone, &calls[i]);
}

static void keep_batch(struct blocked *blocked, struct of_cpu *of_cpu)
{
	if (!of_cpu->recent)
		of_cpu->recent = recent_new(blocked->most_bytes, note_gone, blocked);
	recent_add(of_cpu->recent, of_cpu->batch, of_cpu->count * sizeof(of_cpu->batch[0]),
		   of_cpu->batch[of_cpu->count - 1].mono_ns);
}

static void flush_cpu(struct blocked *blocked, uint32_t cpu)
{
	struct of_cpu *of_cpu = blocked->cpus[cpu];

	if (!of_cpu->count)
		return;
	if (blocked->kernel_fd < 0) {
		keep_batch(blocked, of_cpu);
	} else if (!write_batch(blocked, of_cpu, cpu)) {
		blocked->unwritten += of_cpu->count;
		of_cpu->loses = true;
	}
	of_cpu->count = 0;
}

static struct of_cpu *cpu_of(struct blocked *blocked, uint32_t cpu)
{
	if (cpu >= blocked->cpu_count) {
		blocked->cpus = vec_grow(blocked->cpus, blocked->cpu_count, cpu + 1,
					 sizeof(struct of_cpu *));
		blocked->cpu_count = cpu + 1;
	}
	if (!blocked->cpus[cpu]) {
		blocked->cpus[cpu] = xcalloc(1, sizeof(struct of_cpu));
		blocked->cpus[cpu]->file = -1;
	}
	return blocked->cpus[cpu];
}

/* Those of a CPU are in order, but for one that looked at sleepers and was interrupted. */
static void take_block(struct blocked *blocked, uint32_t cpu, const struct raw_block *block)
{
	struct of_cpu *of_cpu = cpu_of(blocked, cpu);
	struct wire_call *wire = &of_cpu->batch[of_cpu->count++];

	memcpy(wire, block, sizeof(*wire));
	if (wire->mono_ns < of_cpu->last_ns)
		wire->mono_ns = of_cpu->last_ns;
	of_cpu->last_ns = wire->mono_ns;
	if (of_cpu->loses)
		wire->flags |= WIRE_CALL_LOSS;
	of_cpu->loses = false;
	if (of_cpu->count == BATCH_RECORDS)
		flush_cpu(blocked, cpu);
}

/* Called by libbpf for each record of the ring. What is shorter only wakes. */
static int take_slept(void *context, void *data, size_t bytes)
{
	const struct raw_slept *slept = data; /* the ring aligns records to 8 bytes */

	if (bytes >= sizeof(*slept) && slept->cpu < MANIFEST_MAX_CPUS)
		take_block(context, slept->cpu, &slept->block);
	return 0;
}

static void take_lane(struct blocked *blocked, uint32_t cpu)
{
	const struct raw_chunk *chunks = blocked->chunks + cpu * blocked->lane_chunks;
	struct raw_lane *lane = &blocked->lanes[cpu];
	/* Pairs with the barrier in tell_block(): records before 'head' are whole. */
	uint64_t head = __atomic_load_n(&lane->head, __ATOMIC_ACQUIRE);
	uint64_t nr = lane->tail; /* written here alone */

	for (; nr != head; nr++)
		take_block(blocked, cpu,
			   &chunks[nr / RAW_CHUNK & (blocked->lane_chunks - 1)]
				    .blocks[nr & (RAW_CHUNK - 1)]);
	/* They were read before the program may write there again. */
	__atomic_store_n(&lane->tail, nr, __ATOMIC_RELEASE);
}

static void *map_array(const struct bpf_map *map, int rights)
{
	size_t bytes = (size_t)bpf_map__max_entries(map) * bpf_map__value_size(map);
	void *memory = mmap(NULL, bytes, rights, MAP_SHARED, bpf_map__fd(map), 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void unmap_array(const void *memory, size_t bytes)
{
	if (memory)
		(void)munmap((void *)(uintptr_t)memory, bytes);
}

static int map_lanes(struct blocked *blocked, struct bpf_object *object, struct err *err)
{
	struct bpf_map *lanes = bpf_object__find_map_by_name(object, "lanes");
	struct bpf_map *chunks = bpf_object__find_map_by_name(object, "chunks");

	if (!lanes || !chunks)
		return err_set(err, -EINVAL, "no room for the calls that threads block in");
	blocked->lane_count = bpf_map__max_entries(lanes);
	blocked->lane_chunks = bpf_map__max_entries(chunks) / blocked->lane_count;
	blocked->lanes = map_array(lanes, PROT_READ | PROT_WRITE);
	blocked->chunks = map_array(chunks, PROT_READ);
	if (!blocked->lanes || !blocked->chunks)
		return err_set(err, -ENOMEM, "the calls that threads block in cannot be mapped: %s",
			       strerror(errno));
	return 0;
}

int blocked_new(struct bpf_object *object, const char *dir, struct blocked **out_blocked,
		struct err *err)
{
	struct bpf_map *ring = bpf_object__find_map_by_name(object, "blocks");
	AUTO_FREE char *path = dir ? xasprintf("%s/kernel", dir) : NULL;
	struct blocked *blocked;
	int rc;
	int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (path && fd < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	blocked = xcalloc(1, sizeof(*blocked));
	blocked->kernel_fd = fd;
	blocked->ring =
		ring ? ring_buffer__new(bpf_map__fd(ring), take_slept, blocked, NULL) : NULL;
	rc = blocked->ring ? map_lanes(blocked, object, err)
			   : err_set(err, -EINVAL,
				     "no BPF ring buffer for the calls that threads block in");
	if (rc < 0) {
		blocked_free(blocked);
		return rc;
	}
	*out_blocked = blocked;
	return 0;
}

int blocked_fd(const struct blocked *blocked)
{
	return ring_buffer__epoll_fd(blocked->ring);
}

void blocked_look(struct blocked *blocked)
{
	(void)ring_buffer__consume(blocked->ring);
	for (uint32_t cpu = 0; cpu < blocked->lane_count && cpu < MANIFEST_MAX_CPUS; cpu++) {
		if (blocked->lanes[cpu].tail !=
		    __atomic_load_n(&blocked->lanes[cpu].head, __ATOMIC_RELAXED))
			take_lane(blocked, cpu);
	}
	for (uint32_t cpu = 0; cpu < blocked->cpu_count; cpu++) {
		if (blocked->cpus[cpu])
			flush_cpu(blocked, cpu);
	}
}

uint64_t blocked_unwritten(const struct blocked *blocked)
{
	return blocked->unwritten;
}

void blocked_keep(struct blocked *blocked, uint64_t most_bytes)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	blocked->most_bytes = most_bytes / (uint64_t)(cpus > 0 ? cpus : 1);
}

/* Of each CPU that has any in memory; NULL = of none from 'cpu' on. */
static struct recent *next_recent(const struct blocked *blocked, uint32_t *cpu)
{
	for (; *cpu < blocked->cpu_count; (*cpu)++) {
		if (blocked->cpus[*cpu] && blocked->cpus[*cpu]->recent)
			return blocked->cpus[*cpu]->recent;
	}
	return NULL;
}

void blocked_forget(struct blocked *blocked, uint64_t before_ns)
{
	struct recent *recent;

	for (uint32_t cpu = 0; (recent = next_recent(blocked, &cpu)); cpu++)
		recent_forget(recent, before_ns);
}

uint64_t blocked_bytes(const struct blocked *blocked)
{
	const struct recent *recent;
	uint64_t bytes = blocked->gone.cap * sizeof(*blocked->gone.calls);

	for (uint32_t cpu = 0; (recent = next_recent(blocked, &cpu)); cpu++)
		bytes += recent_bytes(recent) + sizeof(*blocked->cpus[cpu]);
	return bytes;
}

uint64_t blocked_gone_ns(const struct blocked *blocked)
{
	const struct recent *recent;
	uint64_t gone_ns = 0;

	for (uint32_t cpu = 0; (recent = next_recent(blocked, &cpu)); cpu++) {
		if (recent_gone_ns(recent) > gone_ns)
			gone_ns = recent_gone_ns(recent);
	}
	return gone_ns;
}

static void put_before(const struct recent *recent, uint64_t begin_ns, struct last_calls *last)
{
	const struct recent_piece *piece;

	for (size_t i = 0; (piece = recent_at(recent, i)); i++) {
		const struct wire_call *calls = piece->data;

		for (size_t k = 0; k < piece->bytes / sizeof(*calls); k++) {
			if (calls[k].mono_ns >= begin_ns)
				return;
			last_calls_put(last, &calls[k]);
		}
	}
}

static int write_recent(const struct recent *recent, uint32_t cpu, int kernel_fd, struct err *err)
{
	AUTO_FREE char *name = xasprintf("cpu%u.calls", cpu);
	AUTO_CLOSE int fd =
		openat(kernel_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	const struct recent_piece *piece;
	int rc = fd < 0 ? -errno : 0;

	for (size_t i = 0; rc == 0 && (piece = recent_at(recent, i)); i++)
		rc = file_write(fd, piece->data, piece->bytes);
	return rc < 0 ? err_set(err, rc, "cannot write kernel/%s: %s", name, strerror(-rc)) : 0;
}

int blocked_snapshot(const struct blocked *blocked, int kernel_fd, uint64_t begin_ns,
		     struct last_calls *out_last, struct err *err)
{
	const struct recent *recent;
	int rc = 0;

	last_calls_copy(out_last, &blocked->gone);
	for (uint32_t cpu = 0; rc == 0 && (recent = next_recent(blocked, &cpu)); cpu++) {
		put_before(recent, begin_ns, out_last);
		rc = write_recent(recent, cpu, kernel_fd, err);
	}
	return rc;
}

void blocked_free(struct blocked *blocked)
{
	if (!blocked)
		return;
	ring_buffer__free(blocked->ring);
	unmap_array(blocked->lanes, blocked->lane_count * sizeof(*blocked->lanes));
	unmap_array(blocked->chunks,
		    blocked->lane_count * blocked->lane_chunks * sizeof(*blocked->chunks));
	for (size_t i = 0; i < blocked->cpu_count; i++) {
		if (blocked->cpus[i]) {
			mem_close_fd(&blocked->cpus[i]->file);
			recent_free(blocked->cpus[i]->recent);
		}
		free(blocked->cpus[i]);
	}
	free(blocked->cpus);
	last_calls_fini(&blocked->gone);
	mem_close_fd(&blocked->kernel_fd);
	free(blocked);
}
