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
#include <sys/types.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "record/bpf/raw.h"
#include "store/manifest.h"
#include "wire/wire.h"

#define BATCH_RECORDS 256u

/* What the program writes begins with what is written to the file. */
_Static_assert(sizeof(struct wire_call) == 64, "a record of the file");
_Static_assert(offsetof(struct raw_block, cpu) == sizeof(struct wire_call),
	       "and what is before it");
_Static_assert(RAW_BLOCK_NONE == WIRE_CALL_NONE && RAW_BLOCK_COMPAT == WIRE_CALL_COMPAT &&
		       RAW_BLOCK_ENDED == WIRE_CALL_ENDED && RAW_BLOCK_LOSS == WIRE_CALL_LOSS,
	       "the same numbers");

struct of_cpu {
	int file; /* -1 = none yet */
	off_t bytes;
	size_t count;
	bool loses; /* what comes next has lost some before it */
	struct wire_call batch[BATCH_RECORDS];
};

struct blocked {
	struct ring_buffer *ring;
	int kernel_fd;
	struct of_cpu **cpus; /* owned; NULL = nothing of it yet */
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
static void flush_cpu(struct blocked *blocked, uint32_t cpu)
{
	struct of_cpu *of_cpu = blocked->cpus[cpu];
	size_t bytes = of_cpu->count * sizeof(of_cpu->batch[0]);

	if (!of_cpu->count)
		return;
	if (calls_file(blocked, of_cpu, cpu) >= 0 &&
	    file_write(of_cpu->file, of_cpu->batch, bytes) == 0) {
		of_cpu->bytes += (off_t)bytes;
	} else {
		blocked->unwritten += of_cpu->count;
		of_cpu->loses = true;
		if (of_cpu->file >= 0)
			(void)!ftruncate(of_cpu->file, of_cpu->bytes);
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

/* Called by libbpf for each record. */
static int take_block(void *context, void *data, size_t bytes)
{
	const struct raw_block *block = data; /* the ring aligns records to 8 bytes */
	struct blocked *blocked = context;
	struct of_cpu *of_cpu;
	struct wire_call *wire;

	if (bytes < sizeof(*block) || block->cpu >= MANIFEST_MAX_CPUS)
		return 0;
	of_cpu = cpu_of(blocked, block->cpu);
	wire = &of_cpu->batch[of_cpu->count++];
	memcpy(wire, block, sizeof(*wire));
	if (of_cpu->loses)
		wire->flags |= WIRE_CALL_LOSS;
	of_cpu->loses = false;
	if (of_cpu->count == BATCH_RECORDS)
		flush_cpu(blocked, block->cpu);
	return 0;
}

int blocked_new(struct bpf_object *object, const char *dir, struct blocked **out_blocked,
		struct err *err)
{
	struct bpf_map *ring = bpf_object__find_map_by_name(object, "blocks");
	AUTO_FREE char *path = xasprintf("%s/kernel", dir);
	struct blocked *blocked;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	blocked = xcalloc(1, sizeof(*blocked));
	blocked->kernel_fd = fd;
	blocked->ring =
		ring ? ring_buffer__new(bpf_map__fd(ring), take_block, blocked, NULL) : NULL;
	if (!blocked->ring) {
		blocked_free(blocked);
		return err_set(err, -EINVAL,
			       "no BPF ring buffer for the calls that threads block in");
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
	for (uint32_t cpu = 0; cpu < blocked->cpu_count; cpu++) {
		if (blocked->cpus[cpu])
			flush_cpu(blocked, cpu);
	}
}

uint64_t blocked_unwritten(const struct blocked *blocked)
{
	return blocked->unwritten;
}

void blocked_free(struct blocked *blocked)
{
	if (!blocked)
		return;
	ring_buffer__free(blocked->ring);
	for (size_t i = 0; i < blocked->cpu_count; i++) {
		if (blocked->cpus[i])
			mem_close_fd(&blocked->cpus[i]->file);
		free(blocked->cpus[i]);
	}
	free(blocked->cpus);
	mem_close_fd(&blocked->kernel_fd);
	free(blocked);
}
