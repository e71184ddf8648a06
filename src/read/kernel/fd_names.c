/*
 * fd_names.c - the names of descriptors, sorted by time.
 *
 * The thread that learnt a name was on a CPU, but nobody wrote down on which: the
 * events have no thread, so that they prove nothing about a CPU.
 */
#include "read/kernel/fd_names.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "base/search.h"
#include "event/event.h"
#include "event/facts.h"
#include "read/lane.h"
#include "store/file.h"
#include "wire/wire.h"

#define NAMES_MAX_BYTES ((size_t)1 << 30)
#define CHUNK_BYTES	(32u << 10)
#define END_BYTES	(256u << 10)
#define LATE_NS		2000000000u /* records are written at most so late */

struct entry {
	uint64_t mono_ns;
	size_t offset; /* of the record; orders equal times */
};

struct fd_names {
	struct lane lane;
	uint8_t *bytes; /* owned; the file */
	bool swap;
	struct entry *entries; /* owned */
	size_t count;
	size_t cap;
	size_t next;
};

static struct wire_name wire_at(const struct fd_names *names, size_t offset)
{
	struct wire_name wire;

	memcpy(&wire, names->bytes + offset, sizeof(wire));
	if (names->swap) {
		wire.magic = __builtin_bswap32(wire.magic);
		wire.name_bytes = __builtin_bswap32(wire.name_bytes);
		wire.mono_ns = __builtin_bswap64(wire.mono_ns);
		wire.inode = __builtin_bswap64(wire.inode);
		wire.tgid = (int32_t)__builtin_bswap32((uint32_t)wire.tgid);
		wire.tid = (int32_t)__builtin_bswap32((uint32_t)wire.tid);
		wire.fd = (int32_t)__builtin_bswap32((uint32_t)wire.fd);
		wire.role = __builtin_bswap32(wire.role);
	}
	return wire;
}

static bool is_record(const struct fd_names *names, size_t bytes, size_t at)
{
	struct wire_name wire;

	if (at > bytes || bytes - at < sizeof(wire))
		return false;
	wire = wire_at(names, at);
	return wire.magic == WIRE_NAME_MAGIC && wire.name_bytes <= WIRE_NAME_MAX;
}

/* Where a record begins that another one, or the end, follows. What was read may begin inside one. */
static size_t first_record(const struct fd_names *names, size_t bytes)
{
	for (size_t at = 0; bytes - at >= sizeof(struct wire_name); at += 8) {
		size_t next;

		if (!is_record(names, bytes, at))
			continue;
		next = at + sizeof(struct wire_name) +
		       (((size_t)wire_at(names, at).name_bytes + 7) & ~(size_t)7);
		if (next == bytes || is_record(names, bytes, next))
			return at;
	}
	return bytes;
}

/* Read 'bytes' of the file from 'start' on. Returns how many there were. */
static size_t read_part(struct fd_names *names, int fd, uint64_t start, size_t bytes)
{
	free(names->bytes);
	names->bytes = xmalloc(bytes + 1);
	return file_read_at(fd, start, names->bytes, bytes);
}

/*
 * As much of the end as reaches back to 'from_ns'; of a file whose beginning was given up, what is
 * left. *out_at is where the first record is.
 */
static size_t read_end(struct fd_names *names, int fd, uint64_t size, uint64_t from_ns,
		       size_t *out_at)
{
	uint64_t first = file_behind_hole(fd, 0) & ~UINT64_C(7), want = END_BYTES, start;
	size_t bytes;

	first = first < size ? first : size;
	do {
		start = from_ns && size - first > want ? (size - want) & ~UINT64_C(7) : first;
		bytes = read_part(names, fd, start, (size_t)(size - start));
		*out_at = start ? first_record(names, bytes) : 0;
		want *= 4;
	} while (start > first &&
		 (*out_at == bytes || wire_at(names, *out_at).mono_ns + LATE_NS > from_ns));
	return bytes;
}

/* A number of a container is no event: it is known from the beginning on. */
static void take_vtid(const struct fd_names *names, const struct wire_name *wire, size_t offset,
		      struct facts *facts)
{
	char text[12] = "";
	long vtid;

	if (wire->name_bytes < sizeof(text))
		memcpy(text, names->bytes + offset + sizeof(*wire), wire->name_bytes);
	vtid = strtol(text, NULL, 10);
	if (vtid <= 0 || vtid > INT32_MAX || wire->tid <= 0 || wire->tgid <= 0)
		return;
	facts->vtids =
		vec_room(facts->vtids, facts->vtid_count, &facts->vtid_cap, sizeof(*facts->vtids));
	facts->vtids[facts->vtid_count++] = (struct fact_vtid){
		.space = wire->inode,
		.vtid = (int32_t)vtid,
		.tid = wire->tid,
		.tgid = wire->tgid,
		.from_ns = wire->mono_ns,
	};
}

/* Index all records; stops at the first that is none. Names get a terminator. */
static void index_records(struct fd_names *names, size_t bytes, size_t at, struct facts *facts)
{
	while (bytes - at >= sizeof(struct wire_name)) {
		struct wire_name wire = wire_at(names, at);
		size_t left = bytes - at - sizeof(wire), padded;

		padded = ((size_t)wire.name_bytes + 7) & ~(size_t)7;
		if (wire.magic != WIRE_NAME_MAGIC || wire.name_bytes > WIRE_NAME_MAX ||
		    padded > left)
			break;
		if (fd_watch_of(wire.role) == FD_VTID) {
			take_vtid(names, &wire, at, facts);
		} else {
			names->entries = vec_room(names->entries, names->count, &names->cap,
						  sizeof(*names->entries));
			names->entries[names->count++] = (struct entry){ wire.mono_ns, at };
		}
		at += sizeof(wire) + padded;
	}
	if (at < bytes)
		facts_note_damage(facts, "kernel/names: byte %zu of %zu begins no whole record", at,
				  bytes);
}

ORDER_FUNCTION(fd_name_by_time, struct entry, ORDER_UP(mono_ns), ORDER_UP(offset));

/* Copy the name to 'to', which holds WIRE_NAME_MAX + 1 bytes, and make the event. */
static struct event fd_names_event_of(const struct fd_names *names, const struct entry *entry,
				      char *to)
{
	struct wire_name wire = wire_at(names, entry->offset);

	memcpy(to, names->bytes + entry->offset + sizeof(wire), wire.name_bytes);
	to[wire.name_bytes] = '\0';
	return (struct event){
		.time_ns = wire.mono_ns,
		.tid = -1,
		.type = EV_FD_NAME,
		.fd_name.name = to,
		.fd_name.tgid = wire.tgid,
		.fd_name.tid = wire.tid,
		.fd_name.fd = wire.fd,
		.fd_name.inode = wire.inode,
		.fd_name.role = fd_role_of(wire.role),
		.fd_name.watch = fd_watch_of(wire.role),
	};
}

static bool names_fill(struct lane *lane, struct batch *batch)
{
	struct fd_names *names = (struct fd_names *)lane;
	char *start, *to;

	batch_clear(batch, lane);
	batch->chunk = chunk_get(lane);
	start = to = (char *)batch->chunk->bytes;
	while (batch->count < batch->max && names->next < names->count &&
	       (size_t)(to - start) <= CHUNK_BYTES - WIRE_NAME_MAX - 1) {
		struct event *event = &batch->cells[batch->count++].event;

		*event = fd_names_event_of(names, &names->entries[names->next++], to);
		to += strlen(to) + 1;
	}
	return batch->count > 0;
}

static void names_seek(struct lane *lane, uint64_t time_ns)
{
	struct fd_names *names = (struct fd_names *)lane;
	size_t low = SEARCH_FROM(names->entries, names->count, mono_ns, time_ns);

	names->next = low;
}

static void names_close(struct lane *lane)
{
	struct fd_names *names = (struct fd_names *)lane;

	lane_fini(lane);
	free(names->bytes);
	free(names->entries);
	free(names);
}

static const struct lane_ops names_ops = {
	.fill = names_fill,
	.seek = names_seek,
	.close = names_close,
};

struct lane *fd_names_open(const char *path, bool big_endian, uint64_t from_ns, struct facts *facts)
{
	struct fd_names *names = xcalloc(1, sizeof(*names));
	struct err err = { 0 };
	uint64_t size = 0;
	size_t bytes = 0, at = 0;
	AUTO_CLOSE int fd = file_open(path, &size, &err);

	if (fd < 0 && fd != -ENOENT)
		facts_note_damage(facts, "kernel/names: %s", err.text);
	names->lane.ops = &names_ops;
	names->lane.chunk_bytes = CHUNK_BYTES;
	names->swap = big_endian != (BYTE_ORDER == BIG_ENDIAN);
	if (size > NAMES_MAX_BYTES && !from_ns) {
		facts_note_damage(facts, "kernel/names: it has %llu bytes, too many to read",
				  (unsigned long long)size);
		size = 0;
	}
	if (fd >= 0 && size)
		bytes = read_end(names, fd, size, from_ns, &at);
	index_records(names, bytes, at, facts);
	if (names->count == 0) {
		names_close(&names->lane);
		return NULL;
	}
	qsort(names->entries, names->count, sizeof(*names->entries), fd_name_by_time);
	/* Names are learnt for a moment longer than events are recorded. */
	while (facts->last_ns && names->count &&
	       names->entries[names->count - 1].mono_ns > facts->last_ns)
		names->count--;
	return &names->lane;
}
