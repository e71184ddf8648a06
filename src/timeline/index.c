/*
 * index.c - open, build and put in place the file behind a timeline.
 *
 * The tables are at the end: counters, names, threads with the places of their
 * chunks, CPUs, holes. They are read whole; chunks when they are asked for.
 */
#include "timeline/index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "guard/place.h"
#include "timeline/cache.h"
#include "timeline/pack.h"
#include "timeline/seal.h"
#include "timeline/timeline.h"
#include "wire/index.h"

#define FILE_NAME  "index"
#define LOCK_NAME  "lock"
#define TEMP_NAME  "index.new" /* for all builders: what a killed one left is replaced */
#define OPEN_DIR   (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define MAX_TABLES (UINT64_C(1) << 32)

struct index_writer {
	int dir_fd;   /* -1 = the file has no name */
	bool is_made; /* TEMP_NAME in it is ours */
	int fd;
	int lock_fd;
	struct index_key key;
	struct seal *seal;
};

/* -------------------------------------------------------------------- tables */

enum thread_flag {
	THREAD_BORN = 1,
	THREAD_DIED = 2,
	THREAD_KERNEL = 4,
};

static void pack_track(struct pack *pack, const struct track *track)
{
	uint64_t offset = 0;

	pack_u64(pack, track->count);
	pack_u64(pack, track->sealed_last);
	pack_u64(pack, track->chunk_count);
	for (uint32_t i = 0; i < track->chunk_count; i++) {
		const struct chunk_ref *ref = &track->chunks[i];

		pack_i64(pack, (int64_t)(ref->offset - offset));
		offset = ref->offset;
		pack_u64(pack, ref->start);
		pack_u64(pack, ref->bytes);
		pack_u64(pack, ref->first);
		pack_u64(pack, ref->first_wait);
		pack_u64(pack, ref->first_edge);
		pack_u64(pack, ref->last_change ? ref->last_change - ref->start + 1 : 0);
		pack_u64(pack, ref->last_change - ref->first_change);
		pack_u64(pack, ref->longest);
	}
}

/* Times as differences: most are small. */
static void pack_limits(struct pack *pack, const struct tl_thread *thread)
{
	uint64_t time = 0;

	pack_u64(pack, thread->limit_count);
	for (size_t i = 0; i < thread->limit_count; i++) {
		const struct tl_limit *limit = &thread->limits[i];

		pack_u64(pack, limit->start_ns - time);
		pack_u64(pack, limit->end_ns - limit->start_ns);
		pack_u64(pack, limit->name);
		time = limit->end_ns;
	}
}

static void pack_thread(struct pack *pack, const struct tl_thread *thread)
{
	pack_i64(pack, thread->tid);
	pack_i64(pack, thread->tgid);
	pack_u64(pack, thread->comm);
	pack_u64(pack, thread->cmdline);
	pack_u64(pack, thread->killed_by);
	pack_u64(pack, thread->sched_as);
	pack_u64(pack, thread->sched_as_ns);
	pack_u64(pack, thread->allowed);
	pack_u64(pack, thread->allowed_ns);
	pack_u64(pack, (uint32_t)(thread->parent + 1));
	pack_u64(pack, thread->idle_cpu);
	pack_u64(pack, thread->birth_ns);
	pack_u64(pack, thread->death_ns);
	pack_u64(pack, (thread->born ? THREAD_BORN : 0u) | (thread->died ? THREAD_DIED : 0u) |
			       (thread->kernel ? THREAD_KERNEL : 0u));
	pack_u64(pack, thread->wait_count);
	pack_u64(pack, thread->edge_count);
	pack_track(pack, &thread->track);
	pack_limits(pack, thread);
}

static void pack_names(struct pack *pack, const struct names *names)
{
	pack_u64(pack, names->count);
	for (uint32_t i = 1; i < names->count; i++) {
		size_t bytes = strlen(names->texts[i]);

		pack_u64(pack, bytes);
		memcpy(pack_room(pack, bytes), names->texts[i], bytes);
		pack->count += bytes;
	}
}

static void pack_tables(struct pack *pack, const struct timeline *tl)
{
	const uint64_t numbers[] = { tl->origin_ns,	tl->end_ns,  tl->events,
				     tl->lost_events,	tl->repairs, tl->repairs_exact,
				     tl->contradictions };

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		pack_u64(pack, numbers[i]);
	pack_names(pack, &tl->names);
	pack_u64(pack, tl->thread_count);
	for (uint32_t i = 0; i < tl->thread_count; i++)
		pack_thread(pack, tl->threads[i]);
	pack_u64(pack, tl->cpu_count);
	for (uint32_t i = 0; i < tl->cpu_count; i++)
		pack_track(pack, tl->cpus[i]);
	pack_u64(pack, tl->gap_count);
	for (size_t i = 0; i < tl->gap_count; i++) {
		pack_u64(pack, tl->gaps[i].since_ns);
		pack_u64(pack, tl->gaps[i].until_ns);
		pack_u64(pack, tl->gaps[i].lost);
		pack_u64(pack, tl->gaps[i].cpu);
	}
	pack_u64(pack, tl->note_count);
	for (size_t i = 0; i < tl->note_count; i++)
		pack_u64(pack, tl->notes[i]);
}

/* How many items are left at most, when each takes 'bytes' at least. */
static bool count_fits(const struct unpack *from, uint64_t count, size_t bytes)
{
	return !from->failed && count <= (size_t)(from->end - from->at) / bytes;
}

static bool refs_are_sane(const struct track *track, uint64_t store_bytes)
{
	for (uint32_t i = 0; i < track->chunk_count; i++) {
		const struct chunk_ref *ref = &track->chunks[i];

		if (ref->offset < sizeof(struct index_head) || ref->bytes > store_bytes ||
		    ref->offset > store_bytes - ref->bytes || ref->first >= track->count)
			return false;
		if (i && (ref->start < ref[-1].start || ref->first <= ref[-1].first ||
			  ref->first_wait < ref[-1].first_wait))
			return false;
	}
	return true;
}

static void unpack_changes(struct unpack *from, struct chunk_ref *ref)
{
	uint64_t last = unpack_u64(from), between = unpack_u64(from);

	ref->last_change = last ? ref->start + last - 1 : 0;
	ref->first_change = ref->last_change - between;
	ref->longest = unpack_u64(from);
}

static bool unpack_track(struct unpack *from, struct track *track, uint64_t store_bytes)
{
	uint64_t offset = 0, count;

	track->count = track->base = unpack_u32(from);
	track->sealed_last = unpack_u64(from);
	count = unpack_u64(from);
	if (!count_fits(from, count, 9) || count > UINT32_MAX)
		return false;
	track->chunks = xcalloc(count + 1, sizeof(*track->chunks));
	track->chunk_count = track->chunk_cap = (uint32_t)count;
	for (uint32_t i = 0; i < track->chunk_count; i++) {
		struct chunk_ref *ref = &track->chunks[i];

		offset += (uint64_t)unpack_i64(from);
		ref->offset = offset;
		ref->start = unpack_u64(from);
		ref->bytes = unpack_u32(from);
		ref->first = unpack_u32(from);
		ref->first_wait = unpack_u32(from);
		ref->first_edge = unpack_u32(from);
		unpack_changes(from, ref);
	}
	return !from->failed && refs_are_sane(track, store_bytes);
}

static bool unpack_limits(struct unpack *from, struct tl_thread *thread)
{
	uint64_t time = 0, count = unpack_u64(from);

	if (!count_fits(from, count, 3))
		return false;
	thread->limits = count ? xcalloc(count, sizeof(*thread->limits)) : NULL;
	thread->limit_count = thread->limit_cap = count;
	for (size_t i = 0; i < thread->limit_count; i++) {
		struct tl_limit *limit = &thread->limits[i];

		limit->start_ns = time + unpack_u64(from);
		limit->end_ns = limit->start_ns + unpack_u64(from);
		limit->name = unpack_u32(from);
		if (limit->start_ns < time || limit->end_ns < limit->start_ns)
			return false;
		time = limit->end_ns;
	}
	return !from->failed;
}

static bool unpack_thread(struct unpack *from, struct timeline *tl, uint32_t count,
			  uint64_t store_bytes)
{
	uint32_t slot = timeline_add_thread(tl, (int32_t)unpack_i64(from));
	struct tl_thread *thread = tl->threads[slot];
	uint64_t flags;

	thread->tgid = (int32_t)unpack_i64(from);
	thread->comm = unpack_u32(from);
	thread->cmdline = unpack_u32(from);
	thread->killed_by = unpack_u32(from);
	thread->sched_as = (uint8_t)unpack_u32(from);
	thread->sched_as_ns = unpack_u64(from);
	thread->allowed = unpack_u32(from);
	thread->allowed_ns = unpack_u64(from);
	thread->parent = unpack_u32(from) - 1;
	thread->idle_cpu = unpack_u32(from);
	thread->birth_ns = unpack_u64(from);
	thread->death_ns = unpack_u64(from);
	flags = unpack_u64(from);
	thread->born = flags & THREAD_BORN;
	thread->died = flags & THREAD_DIED;
	thread->kernel = flags & THREAD_KERNEL;
	thread->wait_count = thread->wait_base = unpack_u32(from);
	thread->edge_count = thread->edge_base = unpack_u32(from);
	return unpack_track(from, &thread->track, store_bytes) && unpack_limits(from, thread) &&
	       (thread->parent < count || thread->parent == SLOT_NONE);
}

static bool unpack_names(struct unpack *from, struct names *names)
{
	uint64_t count = unpack_u64(from);

	for (uint64_t i = 1; i < count && !from->failed; i++) {
		uint64_t bytes = unpack_u64(from);

		/* Every name is there once, in order of its number. */
		if (bytes > (size_t)(from->end - from->at) || memchr(from->at, 0, bytes) != NULL ||
		    names_add(names, (const char *)from->at, bytes) != i)
			return false;
		from->at += bytes;
	}
	return !from->failed;
}

static bool unpack_gaps(struct unpack *from, struct timeline *tl)
{
	uint64_t count = unpack_u64(from);

	if (!count_fits(from, count, 4))
		return false;
	tl->gaps = xcalloc(count + 1, sizeof(*tl->gaps));
	tl->gap_count = tl->gap_cap = count;
	for (size_t i = 0; i < tl->gap_count; i++) {
		tl->gaps[i].since_ns = unpack_u64(from);
		tl->gaps[i].until_ns = unpack_u64(from);
		tl->gaps[i].lost = unpack_u64(from);
		tl->gaps[i].cpu = unpack_u32(from);
	}
	return !from->failed;
}

static bool unpack_notes(struct unpack *from, struct timeline *tl)
{
	uint64_t count = unpack_u64(from);

	if (!count_fits(from, count, 1))
		return false;
	tl->notes = xcalloc(count + 1, sizeof(*tl->notes));
	tl->note_count = tl->note_cap = count;
	for (size_t i = 0; i < tl->note_count; i++)
		tl->notes[i] = unpack_u32(from);
	return !from->failed;
}

static bool unpack_tables(struct unpack *from, struct timeline *tl, uint64_t store_bytes)
{
	uint64_t *const numbers[] = { &tl->origin_ns,	  &tl->end_ns,	&tl->events,
				      &tl->lost_events,	  &tl->repairs, &tl->repairs_exact,
				      &tl->contradictions };
	uint64_t count;

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		*numbers[i] = unpack_u64(from);
	if (!unpack_names(from, &tl->names))
		return false;
	count = unpack_u64(from);
	if (!count_fits(from, count, 11) || count >= TRACK_CPU)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (!unpack_thread(from, tl, (uint32_t)count, store_bytes))
			return false;
	}
	count = unpack_u64(from);
	if (!count_fits(from, count, 3))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (!unpack_track(from, timeline_cpu(tl, i), store_bytes))
			return false;
	}
	return unpack_gaps(from, tl) && unpack_notes(from, tl) && from->at == from->end &&
	       tl->origin_ns <= tl->end_ns;
}

/* ---------------------------------------------------------------------- open */

static int read_all(int fd, void *bytes, size_t count, uint64_t offset)
{
	return file_read_at(fd, offset, bytes, count) == count ? 0 : -EBADMSG;
}

static int check_head(const struct index_head *head, const struct index_key *key,
		      uint64_t store_bytes, struct err *err)
{
	if (memcmp(head->magic, INDEX_MAGIC, sizeof(head->magic)) != 0)
		return err_set(err, -EBADMSG, "it does not begin as one");
	if (head->version != INDEX_VERSION || head->engine != INDEX_ENGINE)
		return err_set(err, -ESTALE, "it is of another version");
	if (hash_bytes(head, offsetof(struct index_head, head_hash), 0) != head->head_hash)
		return err_set(err, -EBADMSG, "the checksum of its head is wrong");
	if (memcmp(head->key, key->bytes, sizeof(head->key)) != 0)
		return err_set(err, -ESTALE, "the trace has changed since it was built");
	if (head->table_bytes > store_bytes || head->table_bytes > MAX_TABLES ||
	    head->table_offset > store_bytes - head->table_bytes)
		return err_set(err, -EBADMSG, "it is cut short");
	return 0;
}

static int read_tables(int fd, const struct index_head *head, struct timeline *tl, struct err *err)
{
	AUTO_FREE uint8_t *bytes = xmalloc(head->table_bytes + 1);
	struct unpack from = { bytes, bytes + head->table_bytes, false };
	int rc = read_all(fd, bytes, head->table_bytes, head->table_offset);

	if (rc < 0)
		return err_set(err, rc, "its tables cannot be read: %s", strerror(-rc));
	if (hash_bytes(bytes, head->table_bytes, 0) != head->table_hash)
		return err_set(err, -EBADMSG, "the checksum of its tables is wrong");
	if (!unpack_tables(&from, tl, head->table_offset))
		return err_set(err, -EBADMSG, "its tables are invalid");
	return 0;
}

static int open_fd(int fd, const struct index_key *key, struct timeline **out_timeline,
		   struct err *err)
{
	struct timeline *tl = timeline_new(0);
	struct index_head head;
	struct stat stat;
	int rc = 0;

	if (fstat(fd, &stat) < 0 || stat.st_size < (off_t)sizeof(head))
		rc = err_set(err, -EBADMSG, "it is cut short");
	if (rc == 0 && (rc = read_all(fd, &head, sizeof(head), 0)) < 0)
		(void)err_set(err, rc, "it cannot be read: %s", strerror(-rc));
	if (rc == 0)
		rc = check_head(&head, key, (uint64_t)stat.st_size, err);
	if (rc == 0)
		rc = read_tables(fd, &head, tl, err);
	if (rc < 0) {
		timeline_free(tl);
		return rc;
	}
	tl->cache = cache_new(tl, fd);
	*out_timeline = tl;
	return 0;
}

/* A link, a pipe, a device or what a stranger put there is no index. */
static int check_owner(int above_fd, int fd, struct err *err)
{
	struct stat above, st;

	if (fstat(above_fd, &above) < 0 || fstat(fd, &st) < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EPERM, "it is no file");
	if (st.st_uid != 0 && st.st_uid != geteuid() && st.st_uid != above.st_uid)
		return err_set(err, -EPERM, "it belongs to another user");
	return 0;
}

/* The folder above 'dir': the trace itself, mostly. */
static int open_above(const char *dir, const char **out_name)
{
	AUTO_FREE char *above = xstrdup(dir);
	char *slash = strrchr(above, '/');

	*out_name = slash ? dir + (slash - above) + 1 : dir;
	if (slash)
		*slash = '\0';
	return open(!slash ? "." : slash == above ? "/" : above, OPEN_DIR);
}

static int index_open_file(const char *dir, int *out_fd, struct err *err)
{
	const char *name;
	AUTO_CLOSE int above = open_above(dir, &name);
	AUTO_CLOSE int folder = above < 0 ? -1 : openat(above, name, OPEN_DIR | O_NOFOLLOW);
	int fd = folder < 0 ? -1
			    : openat(folder, FILE_NAME,
				     O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	int rc;

	if (fd < 0)
		return err_set(err, errno == ELOOP ? -EPERM : -errno, "%s", strerror(errno));
	rc = check_owner(above, fd, err);
	if (rc < 0)
		mem_close_fd(&fd);
	else
		*out_fd = fd;
	return rc;
}

int index_open(const char *dir, const struct index_key *key, struct timeline **out_timeline,
	       struct err *err)
{
	int fd = -1;
	int rc = index_open_file(dir, &fd, err);

	if (rc == 0)
		rc = open_fd(fd, key, out_timeline, err);
	if (rc < 0) {
		mem_close_fd(&fd);
		(void)err_wrap(err, "%s/%s", dir, FILE_NAME);
		return rc;
	}
	return 0;
}

int index_open_again(const struct timeline *timeline, struct timeline **out_timeline,
		     struct err *err)
{
	int fd = timeline->cache ? cache_dup_fd(timeline->cache) : -1;
	struct index_head head;
	struct index_key key;
	int rc;

	if (fd < 0)
		return err_set(err, -ENOENT, "the timeline is in memory");
	rc = read_all(fd, &head, sizeof(head), 0);
	memcpy(key.bytes, head.key, sizeof(key.bytes));
	if (rc == 0)
		rc = open_fd(fd, &key, out_timeline, err);
	else
		(void)err_set(err, rc, "it cannot be read: %s", strerror(-rc));
	if (rc < 0)
		mem_close_fd(&fd);
	return rc;
}

/* --------------------------------------------------------------------- build */

/* The file is open for nobody but us: so nobody else can hold its lock. */
static int lock_dir(struct index_writer *writer, const char *dir, struct err *err)
{
	writer->dir_fd = guard_make_folder(dir, 0777, err);
	if (writer->dir_fd < 0)
		return writer->dir_fd;
	writer->lock_fd =
		openat(writer->dir_fd, LOCK_NAME,
		       O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
	if (writer->lock_fd < 0)
		return err_set(err, errno == ELOOP ? -EPERM : -errno, "cannot write to %s/%s: %s",
			       dir, LOCK_NAME, strerror(errno));
	if (!guard_is_own_file(writer->lock_fd) || fchmod(writer->lock_fd, 0600) < 0)
		return err_set(err, -EPERM, "%s/%s is not an index of this user", dir, LOCK_NAME);
	if (flock(writer->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return err_set(err, errno == EWOULDBLOCK ? -EBUSY : -errno, "cannot lock %s/%s: %s", dir,
		       LOCK_NAME, strerror(errno));
}

static int open_temp(struct index_writer *writer, const char *dir, struct err *err)
{
	(void)unlinkat(writer->dir_fd, TEMP_NAME, 0); /* there is none, mostly */
	writer->fd = openat(writer->dir_fd, TEMP_NAME,
			    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (writer->fd < 0)
		return err_set(err, -errno, "cannot write to %s/%s: %s", dir, TEMP_NAME,
			       strerror(errno));
	writer->is_made = true;
	return 0;
}

static int open_nameless(struct index_writer *writer, struct err *err)
{
	const char *temp = getenv("TMPDIR");
	const char *const places[] = { temp && *temp ? temp : "/var/tmp", "/tmp" };

	for (size_t i = 0; i < ARRAY_LEN(places) && writer->fd < 0; i++)
		writer->fd = open(places[i], O_RDWR | O_TMPFILE | O_EXCL | O_CLOEXEC, 0600);
	if (writer->fd < 0)
		writer->fd = memfd_create("holdup-index", MFD_CLOEXEC);
	return writer->fd < 0
		       ? err_set(err, -errno, "cannot make a temporary file: %s", strerror(errno))
		       : 0;
}

int index_begin(const char *dir, const struct index_key *key, bool again,
		struct index_writer **out_writer, struct err *err)
{
	struct index_writer *writer = xcalloc(1, sizeof(*writer));
	struct timeline *made = NULL;
	int rc;

	writer->fd = writer->lock_fd = writer->dir_fd = -1;
	writer->key = *key;
	if (dir) {
		rc = lock_dir(writer, dir, err);
		/* While we waited for the lock, another one may have done the work. */
		if (rc == 0 && !again && index_open(dir, key, &made, NULL) == 0) {
			timeline_free(made);
			rc = err_set(err, -EEXIST, "%s/%s is there", dir, FILE_NAME);
		}
		if (rc == 0)
			rc = open_temp(writer, dir, err);
	} else {
		rc = open_nameless(writer, err);
	}
	if (rc < 0) {
		index_abort(writer);
		return rc;
	}
	*out_writer = writer;
	return 0;
}

void index_attach(struct index_writer *writer, struct timeline *timeline)
{
	writer->seal = seal_new(timeline, writer->fd, sizeof(struct index_head));
	timeline->seal = writer->seal;
}

void index_fail_writes(struct index_writer *writer, int rc)
{
	seal_fail(writer->seal, rc);
}

static int write_tables(struct index_writer *writer, const struct timeline *tl, uint64_t offset)
{
	struct index_head head = {
		.magic = INDEX_MAGIC,
		.version = INDEX_VERSION,
		.engine = INDEX_ENGINE,
		.table_offset = offset,
	};
	struct pack pack = { 0 };
	int rc;

	pack_tables(&pack, tl);
	memcpy(head.key, writer->key.bytes, sizeof(head.key));
	head.table_bytes = pack.count;
	head.table_hash = hash_bytes(pack.bytes, pack.count, 0);
	head.head_hash = hash_bytes(&head, offsetof(struct index_head, head_hash), 0);
	rc = file_write_at(writer->fd, offset, pack.bytes, pack.count);
	if (rc == 0)
		rc = file_write_at(writer->fd, 0, &head, sizeof(head));
	free(pack.bytes);
	return rc;
}

static int put_in_place(struct index_writer *writer, struct err *err)
{
	if (renameat(writer->dir_fd, TEMP_NAME, writer->dir_fd, FILE_NAME) < 0)
		return err_set(err, -errno, "cannot rename %s: %s", TEMP_NAME, strerror(errno));
	writer->is_made = false;
	return 0;
}

int index_commit(struct index_writer *writer, struct timeline *timeline, struct err *err)
{
	uint64_t end = 0;
	int rc = seal_finish(writer->seal, &end, err);

	if (rc == 0 && (rc = write_tables(writer, timeline, end)) < 0)
		(void)err_set(err, rc, "cannot write it: %s", strerror(-rc));
	if (rc == 0 && writer->dir_fd >= 0)
		rc = put_in_place(writer, err);
	timeline->seal = NULL;
	if (rc == 0) {
		timeline->cache = cache_new(timeline, writer->fd);
		writer->fd = -1;
	}
	index_abort(writer);
	return rc;
}

void index_abort(struct index_writer *writer)
{
	if (!writer)
		return;
	seal_free(writer->seal);
	if (writer->is_made)
		(void)unlinkat(writer->dir_fd, TEMP_NAME, 0); /* the next builder does it, else */
	mem_close_fd(&writer->fd);
	mem_close_fd(&writer->lock_fd);
	mem_close_fd(&writer->dir_fd);
	free(writer);
}

uint64_t index_bytes(const struct timeline *timeline)
{
	return cache_store_bytes(timeline->cache);
}
