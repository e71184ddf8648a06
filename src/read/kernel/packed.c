/* packed.c - see packed.h. */
#include "read/kernel/packed.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/facts.h"
#include "read/kernel/ring.h"
#include "store/file.h"

#define UNPACKED_TIMES 64u
#define UNPACKED_LEAST ((uint64_t)8 << 20)

struct packed {
	struct ring_bytes ring;
	struct dat_file file;
	struct ring_bytes *chunks; /* owned; looks into the file */
};

static size_t packed_read(struct ring_bytes *from, uint64_t offset, void *buffer, size_t bytes)
{
	struct packed *packed = (struct packed *)from;

	return packed->chunks->read(packed->chunks, offset, buffer, bytes);
}

static void packed_close(struct ring_bytes *from)
{
	struct packed *packed = (struct packed *)from;

	packed->chunks->close(packed->chunks);
	mem_close_fd(&packed->file.fd);
	free(packed);
}

struct dat_room packed_room_of(uint64_t bytes)
{
	struct dat_room room = dat_room_of(bytes);

	if (bytes < UINT64_MAX / UNPACKED_TIMES / 2)
		room.unpacked = bytes * UNPACKED_TIMES + UNPACKED_LEAST;
	return room;
}

struct ring_bytes *packed_open(const char *path, bool big_endian, struct dat_room *room,
			       struct facts *facts)
{
	uint64_t bytes;
	int fd = file_open(path, &bytes, NULL);
	struct dat_cpu cpu = { 0 };
	struct packed *packed;

	if (fd < 0)
		return NULL;
	packed = xcalloc(1, sizeof(*packed));
	packed->file = (struct dat_file){
		.fd = fd, .bytes = bytes, .big_endian = big_endian, .zip = DAT_ZIP_ZSTD
	};
	cpu.bytes = bytes;
	packed->chunks =
		dat_pages_open(&packed->file, &cpu, true, room, text_base_name(path), facts);
	packed->ring = (struct ring_bytes){ .read = packed_read,
					    .close = packed_close,
					    .bytes = packed->chunks->bytes };
	return &packed->ring;
}
