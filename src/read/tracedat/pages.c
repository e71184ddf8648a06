/* pages.c - any part of a CPU's pages out of the file. */
#include "read/tracedat/pages.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "event/facts.h"

#define CACHED		2u
#define ZIP_BYTES	(96u << 10) /* what unpacking needs for itself */
#define CHUNK_MAX_BYTES (16u << 20)

#define ROOM_MEMORY    ((uint64_t)128 << 20)
#define UNPACKED_TIMES 128u /* pages are read when they are full: they do not shrink as much */
#define UNPACKED_LEAST ((uint64_t)64 << 20)

struct zipped {
	uint64_t begin; /* in the pages */
	uint64_t place; /* in the file, of its compressed bytes */
	uint32_t packed;
	uint32_t bytes;
};

struct unpacked {
	uint8_t *bytes; /* owned; NULL = none yet */
	size_t count;	/* that are there */
	uint64_t which;
	bool used;
};

struct dat_pages {
	struct ring_bytes ring;
	const struct dat_file *file;
	uint64_t offset; /* in the file, of pages that are not compressed */

	struct zipped *chunks; /* owned */
	size_t count, cap;
	uint32_t largest, largest_packed;
	struct unpacked cache[CACHED];
	uint32_t next;	 /* of the cache, to be replaced */
	uint8_t *packed; /* owned; room for the largest */
	struct dat_zip *zip;
};

/* ---------------------------------------------------------- as they stand */

static size_t plain_read(struct ring_bytes *from, uint64_t offset, void *buffer, size_t bytes)
{
	struct dat_pages *pages = (struct dat_pages *)from;

	if (offset >= from->bytes)
		return 0;
	if (bytes > from->bytes - offset)
		bytes = (size_t)(from->bytes - offset);
	return file_read_at(pages->file->fd, pages->offset + offset, buffer, bytes);
}

static uint64_t plain_behind_hole(struct ring_bytes *from, uint64_t offset)
{
	struct dat_pages *pages = (struct dat_pages *)from;
	uint64_t to = file_behind_hole(pages->file->fd, pages->offset + offset);

	return to < pages->offset ? offset : to - pages->offset;
}

static void dat_pages_open_plain(struct dat_pages *pages, const struct dat_cpu *cpu)
{
	uint64_t left = cpu->offset < pages->file->bytes ? pages->file->bytes - cpu->offset : 0;

	pages->offset = cpu->offset;
	pages->ring.bytes = cpu->bytes < left ? cpu->bytes : left;
	pages->ring.read = plain_read;
	pages->ring.behind_hole = plain_behind_hole;
}

/* ------------------------------------------------------------- in chunks */

static const struct unpacked *dat_pages_unpack(struct dat_pages *pages, size_t which)
{
	const struct zipped *chunk = &pages->chunks[which];
	struct unpacked *to = &pages->cache[pages->next];
	int64_t made = -1;

	for (uint32_t i = 0; i < CACHED; i++) {
		if (pages->cache[i].used && pages->cache[i].which == which)
			return &pages->cache[i];
	}
	pages->next = (pages->next + 1) % CACHED;
	if (!to->bytes)
		to->bytes = xmalloc(pages->largest + 1u);
	if (!pages->packed)
		pages->packed = xmalloc(pages->largest_packed + 1u);
	if (file_read_at(pages->file->fd, chunk->place, pages->packed, chunk->packed) ==
	    chunk->packed)
		made = dat_zip_unpack(pages->zip, pages->packed, chunk->packed, to->bytes,
				      chunk->bytes);
	/* Zeros are no page: the ring says that the part is damaged, and goes on behind it. */
	if (made < (int64_t)chunk->bytes)
		memset(to->bytes + (made < 0 ? 0 : made), 0,
		       chunk->bytes - (size_t)(made < 0 ? 0 : made));
	to->count = chunk->bytes;
	to->which = which;
	to->used = true;
	return to;
}

/* The last chunk that begins at or before 'offset'; there is one. */
static size_t chunk_at(const struct dat_pages *pages, uint64_t offset)
{
	size_t low = 0, high = pages->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (pages->chunks[middle].begin <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static size_t zipped_read(struct ring_bytes *from, uint64_t offset, void *buffer, size_t bytes)
{
	struct dat_pages *pages = (struct dat_pages *)from;
	size_t done = 0;

	while (done < bytes && offset + done < from->bytes) {
		size_t which = chunk_at(pages, offset + done);
		uint64_t inside = offset + done - pages->chunks[which].begin;
		const struct unpacked *chunk = dat_pages_unpack(pages, which);
		size_t part = chunk->count - (size_t)inside;

		part = part < bytes - done ? part : bytes - done;
		memcpy((char *)buffer + done, chunk->bytes + inside, part);
		done += part;
	}
	return done;
}

struct dat_room dat_room_of(uint64_t bytes)
{
	uint64_t times = bytes < UINT64_MAX / UNPACKED_TIMES / 2 ? bytes : 0;

	return (struct dat_room){ .memory = ROOM_MEMORY,
				  .unpacked = times ? times * UNPACKED_TIMES + UNPACKED_LEAST
						    : UINT64_MAX };
}

static bool add_chunk(struct dat_pages *pages, struct dat_input *input)
{
	uint64_t packed, bytes;
	struct zipped chunk = { .begin = pages->ring.bytes };

	if (!dat_take_number(input, 4, &packed) || !dat_take_number(input, 4, &bytes))
		return false;
	chunk.place = input->at;
	chunk.packed = (uint32_t)packed;
	chunk.bytes = (uint32_t)bytes;
	if (packed > CHUNK_MAX_BYTES + CHUNK_MAX_BYTES / 2 || bytes > CHUNK_MAX_BYTES ||
	    !dat_skip(input, packed))
		return false;
	if (bytes == 0)
		return true;
	pages->chunks = vec_room(pages->chunks, pages->count, &pages->cap, sizeof(chunk));
	pages->chunks[pages->count++] = chunk;
	pages->ring.bytes += bytes;
	if (chunk.bytes > pages->largest)
		pages->largest = chunk.bytes;
	if (chunk.packed > pages->largest_packed)
		pages->largest_packed = chunk.packed;
	return true;
}

/* Find all chunks. The first that cannot be one ends the data. */
static void open_zipped(struct dat_pages *pages, const struct dat_cpu *cpu, struct dat_room *room,
			const char *name, struct facts *facts)
{
	/* The length of the data is that of the chunks without their heads: no limit. */
	struct dat_input input = dat_input_file(pages->file, cpu->offset, UINT64_MAX);
	uint64_t count = 0, at;

	pages->ring.read = zipped_read;
	if (cpu->bytes == 0)
		return;
	if (!dat_take_number(&input, 4, &count))
		facts_note_damage(facts, "%s: its data at byte %llu is not there", name,
				  (unsigned long long)cpu->offset);
	for (uint64_t i = 0; i < count; i++) {
		at = input.at;
		if (pages->ring.bytes > room->unpacked) {
			facts_note_damage(
				facts,
				"%s: from chunk %llu of %llu on it is left out: unpacked, the file "
				"would have more than any recording has",
				name, (unsigned long long)i, (unsigned long long)count);
			break;
		}
		if (add_chunk(pages, &input))
			continue;
		facts_note_damage(facts, "%s: chunk %llu of %llu at byte %llu is damaged or cut",
				  name, (unsigned long long)i, (unsigned long long)count,
				  (unsigned long long)at);
		break;
	}
	room->unpacked -= pages->ring.bytes < room->unpacked ? pages->ring.bytes : room->unpacked;
	pages->zip = dat_zip_new(pages->file->zip);
}

static void check_room(struct dat_pages *pages, struct dat_room *room, const char *name,
		       struct facts *facts)
{
	uint64_t need = (uint64_t)CACHED * pages->largest + pages->largest_packed + ZIP_BYTES;

	if (need <= room->memory) {
		room->memory -= need;
		return;
	}
	facts_note_damage(facts, "%s: its chunks are too large to be unpacked: %u bytes", name,
			  pages->largest);
	pages->count = 0;
	pages->ring.bytes = 0;
}

static void dat_pages_close(struct ring_bytes *from)
{
	struct dat_pages *pages = (struct dat_pages *)from;

	for (uint32_t i = 0; i < CACHED; i++)
		free(pages->cache[i].bytes);
	dat_zip_free(pages->zip);
	free(pages->packed);
	free(pages->chunks);
	free(pages);
}

struct ring_bytes *dat_pages_open(const struct dat_file *file, const struct dat_cpu *cpu,
				  bool zipped, struct dat_room *room, const char *name,
				  struct facts *facts)
{
	struct dat_pages *pages = xcalloc(1, sizeof(*pages));

	pages->file = file;
	pages->ring.close = dat_pages_close;
	if (zipped) {
		open_zipped(pages, cpu, room, name, facts);
		check_room(pages, room, name, facts);
	} else {
		dat_pages_open_plain(pages, cpu);
	}
	return &pages->ring;
}
