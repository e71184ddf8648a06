/* names_log.c - see names_log.h. */
#include "record/names_log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "event/event.h"
#include "record/recent.h"
#include "wire/wire.h"

#define NAMES_BUFFER (256u << 10)
#define GONE_MOST    8192u /* then all are forgotten */

/* The last record of a descriptor. */
struct gone {
	uint64_t ended_ns; /* since then its process is not there; 0 = it is */
	uint8_t record[];
};

int names_log_open(struct names_log *log, const char *dir, struct err *err)
{
	AUTO_FREE char *path = xasprintf("%s/kernel/names", dir);

	log->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0600);
	return log->file >= 0 ? 0 : err_set(err, -errno, "%s: %s", path, strerror(errno));
}

static bool is_name(const struct wire_name *wire)
{
	return fd_watch_of(wire->role) == FD_NAMED && wire->fd >= 0;
}

static uint64_t key_of(const struct wire_name *wire)
{
	return (uint64_t)(uint32_t)wire->tgid << 32 | (uint32_t)wire->fd;
}

static struct gone *gone_at(const struct names_log *log, size_t i)
{
	return log->gone.used[i] ? (struct gone *)(uintptr_t)log->gone.slots[i].value : NULL;
}

static void forget_gone(struct names_log *log)
{
	for (size_t i = 0; i < log->gone.cap; i++)
		free(gone_at(log, i));
	map_fini(&log->gone);
	log->gone = (struct map){ 0 };
	log->gone_bytes = 0;
}

static void forget_all(struct names_log *log)
{
	forget_gone(log);
	log->forgot = true;
}

/* Of a record in memory, whole. */
static size_t record_bytes(const struct wire_name *wire)
{
	return sizeof(*wire) + ((wire->name_bytes + 7u) & ~(size_t)7);
}

static void drop(struct names_log *log, struct gone *gone)
{
	struct wire_name wire;

	memcpy(&wire, gone->record, sizeof(wire));
	log->gone_bytes -= sizeof(*gone) + record_bytes(&wire);
	free(gone);
}

static void keep_last(struct names_log *log, const struct wire_name *wire, const uint8_t *record)
{
	size_t bytes = record_bytes(wire);
	struct gone *gone = xmalloc(sizeof(*gone) + bytes);
	bool is_new;
	uint64_t *slot;

	gone->ended_ns = 0;
	memcpy(gone->record, record, bytes);

	if (log->gone.count == GONE_MOST)
		forget_all(log);
	slot = map_add(&log->gone, key_of(wire), &is_new);
	if (!is_new)
		drop(log, (struct gone *)(uintptr_t)*slot);
	*slot = (uintptr_t)gone;
	log->gone_bytes += sizeof(*gone) + bytes;
}

/* Called for each piece that goes. */
static void note_gone(void *context, const struct recent_piece *piece)
{
	const uint8_t *at = piece->data, *end = at + piece->bytes;

	while ((size_t)(end - at) >= sizeof(struct wire_name)) {
		struct wire_name wire;

		memcpy(&wire, at, sizeof(wire));
		if (is_name(&wire))
			keep_last(context, &wire, at);
		at += record_bytes(&wire);
	}
}

void names_log_keep(struct names_log *log, uint64_t most_bytes)
{
	log->recent = recent_new(most_bytes, note_gone, log);
}

/* It ended before: nobody waits for it in what is held. Its number may be another's next. */
static bool is_over(struct gone *gone, int32_t tgid, uint64_t now_ns, uint64_t before_ns)
{
	if (kill(tgid, 0) == 0 || errno != ESRCH)
		gone->ended_ns = 0;
	else if (!gone->ended_ns)
		gone->ended_ns = now_ns;
	return gone->ended_ns && gone->ended_ns < before_ns;
}

void names_log_sweep(struct names_log *log, uint64_t now_ns, uint64_t before_ns)
{
	struct map left = { 0 };

	for (size_t i = 0; i < log->gone.cap; i++) {
		struct gone *gone = gone_at(log, i);
		uint64_t key = log->gone.slots[i].key;

		if (gone && is_over(gone, (int32_t)(key >> 32), now_ns, before_ns))
			drop(log, gone);
		else if (gone)
			map_put(&left, key, (uintptr_t)gone);
	}
	map_fini(&log->gone);
	log->gone = left;
}

bool names_log_write(struct names_log *log, const void *records, size_t bytes, uint64_t now_ns)
{
	if (log->recent) {
		recent_add(log->recent, records, bytes, now_ns);
		return true;
	}
	if (file_write(log->file, records, bytes) == 0) {
		log->file_bytes += (off_t)bytes;
		return true;
	}
	/* No half record between whole ones; if that fails too, the reader notices. */
	(void)!ftruncate(log->file, log->file_bytes);
	return false;
}

/* ---------------------------------------------------------------- snapshots */

typedef void names_each_fn(void *context, const struct wire_name *wire, const uint8_t *record,
			   size_t bytes, uint64_t number);

/* All records in memory, the oldest first, with their numbers. They are whole: we wrote them. */
static void names_each(const struct names_log *log, names_each_fn *each, void *context)
{
	const struct recent_piece *piece;
	uint64_t number = 0;

	for (size_t i = 0; (piece = recent_at(log->recent, i)); i++) {
		const uint8_t *at = piece->data, *end = at + piece->bytes;

		while ((size_t)(end - at) >= sizeof(struct wire_name)) {
			struct wire_name wire;
			size_t bytes;

			memcpy(&wire, at, sizeof(wire));
			bytes = record_bytes(&wire);
			each(context, &wire, at, bytes, number++);
			at += bytes;
		}
	}
}

struct names_snapshot {
	FILE *out;
	uint64_t begin_ns;
	struct names_told *told;
	struct map last; /* process and descriptor -> number of the last record before the begin */
};

static void note_last(void *context, const struct wire_name *wire, const uint8_t *record,
		      size_t bytes, uint64_t number)
{
	struct names_snapshot *snapshot = context;

	(void)record;
	(void)bytes;
	if (is_name(wire))
		map_put(&snapshot->told->keys, key_of(wire), 1);
	if (wire->mono_ns < snapshot->begin_ns && is_name(wire))
		map_put(&snapshot->last, key_of(wire), number);
}

/* Told since it begins. Which thread did that is over: it is the process that has it. */
static void write_record(struct names_snapshot *snapshot, struct wire_name wire,
			 const uint8_t *record)
{
	if (wire.mono_ns < snapshot->begin_ns) {
		wire.mono_ns = snapshot->begin_ns;
		wire.tid = is_name(&wire) ? wire.tgid : wire.tid;
	}
	(void)fwrite(&wire, sizeof(wire), 1, snapshot->out);
	(void)fwrite(record + sizeof(wire), record_bytes(&wire) - sizeof(wire), 1, snapshot->out);
}

/* What went from memory is older than all that is there. */
static void write_gone(const struct names_log *log, struct names_snapshot *snapshot)
{
	for (size_t i = 0; i < log->gone.cap; i++) {
		const struct gone *gone = gone_at(log, i);
		struct wire_name wire;

		if (gone)
			map_put(&snapshot->told->keys, log->gone.slots[i].key, 1);
		if (!gone || map_find(&snapshot->last, log->gone.slots[i].key))
			continue;
		memcpy(&wire, gone->record, sizeof(wire));
		write_record(snapshot, wire, gone->record);
	}
}

/* What else happened before it began says nothing of the time since. */
static void write_one(void *context, const struct wire_name *wire, const uint8_t *record,
		      size_t bytes, uint64_t number)
{
	struct names_snapshot *snapshot = context;

	(void)bytes;
	if (wire->mono_ns < snapshot->begin_ns && fd_watch_of(wire->role) != FD_VTID) {
		const uint64_t *last =
			is_name(wire) ? map_find(&snapshot->last, key_of(wire)) : NULL;

		if (!last || *last != number)
			return;
	}
	write_record(snapshot, *wire, record);
}

int names_log_snapshot(const struct names_log *log, int kernel_fd, uint64_t begin_ns,
		       struct names_told *out_told, struct err *err)
{
	struct names_snapshot snapshot = { .begin_ns = begin_ns, .told = out_told };
	int fd = openat(kernel_fd, "names", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
	int rc;

	snapshot.out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!snapshot.out) {
		rc = err_set(err, -errno, "cannot make kernel/names: %s", strerror(errno));
		mem_close_fd(&fd);
		return rc;
	}
	(void)setvbuf(snapshot.out, NULL, _IOFBF, NAMES_BUFFER); /* slower without, nothing else */
	names_each(log, note_last, &snapshot);
	write_gone(log, &snapshot);
	names_each(log, write_one, &snapshot);
	map_fini(&snapshot.last);
	out_told->is_whole = !log->forgot;
	rc = ferror(snapshot.out) ? -EIO : 0;
	if (fclose(snapshot.out) != 0)
		rc = -errno;
	return rc < 0 ? err_set(err, rc, "cannot write kernel/names: %s", strerror(-rc)) : 0;
}

uint64_t names_log_bytes(const struct names_log *log)
{
	return recent_bytes(log->recent) + log->gone_bytes +
	       log->gone.cap * (sizeof(struct map_slot) + 1);
}

void names_log_close(struct names_log *log)
{
	mem_close_fd(&log->file);
	forget_gone(log);
	recent_free(log->recent);
	*log = NAMES_LOG_NONE;
}
