/* pack.c - see pack.h. */
#include "record/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file.h"
#include "base/mem.h"

#define CHUNK_BYTES ((size_t)128 << 10)
#define TIMES_MOST  48u /* a reader refuses what shrank much more: read/kernel/packed.h */
#define ALWAYS	    ((uint64_t)64 << 10)
#define LEVEL	    1 /* the fastest: who asks for a snapshot waits for it */

struct packing {
	int from_fd, to_fd;
	ZSTD_CCtx *zstd;
	uint8_t *chunk, *packed; /* owned */
	uint64_t read_bytes, packed_bytes;
	uint32_t count;
};

/* Returns 1 when there was a chunk, 0 at the end, or a negative errno. */
static int pack_chunk(struct packing *packing)
{
	size_t room = ZSTD_compressBound(CHUNK_BYTES), packed;
	size_t bytes =
		file_read_at(packing->from_fd, packing->read_bytes, packing->chunk, CHUNK_BYTES);
	uint32_t head[2];
	int rc;

	if (bytes == 0)
		return 0;
	packed = ZSTD_compressCCtx(packing->zstd, packing->packed, room, packing->chunk, bytes,
				   LEVEL);
	if (ZSTD_isError(packed))
		return -ENOMEM;
	head[0] = (uint32_t)packed;
	head[1] = (uint32_t)bytes;
	rc = file_write(packing->to_fd, head, sizeof(head));
	if (rc == 0)
		rc = file_write(packing->to_fd, packing->packed, packed);
	packing->read_bytes += bytes;
	packing->packed_bytes += packed;
	packing->count++;
	return rc < 0 ? rc : 1;
}

static int pack_file(struct packing *packing)
{
	int rc = file_write(packing->to_fd, &packing->count, sizeof(packing->count));

	packing->zstd = ZSTD_createCCtx();
	packing->chunk = xmalloc(CHUNK_BYTES);
	packing->packed = xmalloc(ZSTD_compressBound(CHUNK_BYTES));
	if (!packing->zstd)
		rc = -ENOMEM;
	while (rc == 0) {
		rc = pack_chunk(packing);
		if (rc == 0)
			break;
		rc = rc > 0 ? 0 : rc;
	}
	if (packing->read_bytes > ALWAYS &&
	    packing->read_bytes / TIMES_MOST > packing->packed_bytes)
		rc = -E2BIG;
	if (rc == 0)
		rc = file_write_at(packing->to_fd, 0, &packing->count, sizeof(packing->count));
	ZSTD_freeCCtx(packing->zstd);
	free(packing->chunk);
	free(packing->packed);
	return rc;
}

int pack_ring(int kernel_fd, uint32_t cpu)
{
	AUTO_FREE char *ring = xasprintf("cpu%" PRIu32 ".ring", cpu);
	AUTO_FREE char *packed = xasprintf("cpu%" PRIu32 ".packed", cpu);
	AUTO_CLOSE int from_fd = openat(kernel_fd, ring, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_CLOSE int to_fd = from_fd < 0 ? -1
					   : openat(kernel_fd, packed,
						    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct packing packing = { .from_fd = from_fd, .to_fd = to_fd };
	int rc;

	if (to_fd < 0)
		return -errno;
	rc = pack_file(&packing);
	(void)unlinkat(kernel_fd, rc < 0 ? packed : ring, 0);
	return rc;
}
