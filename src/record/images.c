/* images.c - see images.h. */
#include "record/images.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "record/image_vdso.h"

#define RING_PAGES 32u
#define WAKE_BYTES (RING_PAGES * 1024u)
#define EVENTS_MAX 500000u
#define FILES_MAX  1024u /* held open */
#define REMOVED	   " (deleted)"
#define VDSO	   "[vdso]"
#define VDSO_OURS  0 /* instead of an inode */
#define VDSO_32	   1 /* in 32-bit programs */
#define RECORD_MAX 8192u

struct image_ring {
	struct perf_event_mmap_page *head; /* mapped, and the pages behind it */
};

struct images {
	struct image_ring *rings; /* owned */
	int *fds;		  /* owned; as many */
	size_t ring_count;
	size_t page_bytes;
	struct image_event *events; /* owned */
	size_t event_count, event_cap;
	struct image_file *files; /* owned */
	size_t file_count, file_cap, open_count;
	struct map file_index; /* hash of what a file is -> index */
	struct map known;      /* tgid -> 1: its exec, or its maps, are among the events */
	uint64_t lost;
	bool is_sorted;
};

/* The sample_id behind each record, as asked for. */
struct image_sample {
	uint32_t pid, tid;
	uint64_t time_ns;
};

static void image_add(struct images *images, struct image_event event)
{
	if (images->event_count >= EVENTS_MAX) {
		images->lost++;
		return;
	}
	images->events = vec_room(images->events, images->event_count, &images->event_cap,
				  sizeof(*images->events));
	images->events[images->event_count++] = event;
	images->is_sorted = false;
}

/* ------------------------------------------------------------------ files */

static bool image_is_vdso(const char *path)
{
	return strcmp(path, VDSO) == 0;
}

/* Opened without a look into it first: it may be anything by now. */
static int image_open_at(const char *path, const struct image_file *file)
{
	AUTO_CLOSE int place = open(path, O_PATH | O_CLOEXEC);
	char again[64];
	struct stat st;
	int fd;

	if (place < 0)
		return -errno;
	if (fstat(place, &st) < 0 || !S_ISREG(st.st_mode) || st.st_ino != file->inode ||
	    st.st_dev != file->device)
		return -ESTALE;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
	fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* By any of its ways, of which the last two lead to removed files, too. Negative errno on failure. */
static int image_open_any(const struct image_file *file, const struct image_event *map)
{
	AUTO_FREE char *inside = xasprintf("/proc/%d/root%s", map->tgid, file->path);
	AUTO_FREE char *mapped = xasprintf("/proc/%d/map_files/%" PRIx64 "-%" PRIx64, map->tgid,
					   map->start, map->start + map->bytes);
	AUTO_FREE char *program = xasprintf("/proc/%d/exe", map->tgid);
	const char *const ways[] = { file->path, inside, mapped, program };
	int fd = -ENOENT;

	for (size_t i = 0; fd < 0 && i < ARRAY_LEN(ways); i++)
		fd = image_open_at(ways[i], file);
	return fd;
}

/* The kernel says so behind the path of a file that was removed. */
static void image_cut_removed(struct image_file *file)
{
	size_t bytes = strlen(file->path), cut = strlen(REMOVED);
	struct stat st;

	if (fstat(file->fd, &st) == 0 && !st.st_nlink && bytes > cut &&
	    strcmp(file->path + bytes - cut, REMOVED) == 0)
		file->path[bytes - cut] = '\0';
}

static void image_open(struct images *images, struct image_file *file,
		       const struct image_event *map)
{
	file->why = "too many files to keep open";
	if (images->open_count >= FILES_MAX)
		return;
	if (image_is_vdso(file->path)) {
		file->fd = file->inode == VDSO_32 ? image_vdso_32() : image_vdso();
		file->why = "the kernel's code cannot be copied";
	} else {
		file->fd = image_open_any(file, map);
		file->why =
			file->fd == -ESTALE ? "the file was replaced" : "the file cannot be opened";
	}
	if (file->fd < 0) {
		file->fd = -1;
		return;
	}
	file->why = NULL;
	image_cut_removed(file);
	images->open_count++;
}

/* 'known' may have lost what the kernel said behind its path. */
static bool image_same_file(const struct image_file *known, const struct image_file *wanted)
{
	size_t bytes = strlen(known->path);

	return known->inode == wanted->inode && known->device == wanted->device &&
	       strncmp(known->path, wanted->path, bytes) == 0 &&
	       (!wanted->path[bytes] || strcmp(wanted->path + bytes, REMOVED) == 0);
}

static uint32_t image_file_of(struct images *images, const struct image_event *map,
			      const struct image_file *wanted)
{
	uint64_t hash =
		hash_bytes(wanted->path, strlen(wanted->path), wanted->inode * 31 + wanted->device);
	struct image_file *file;
	uint64_t *found;

	/* Equal hashes of different files: take the next number. */
	for (; (found = map_find(&images->file_index, hash)); hash++) {
		if (image_same_file(&images->files[*found], wanted))
			return (uint32_t)*found;
	}
	images->files = vec_room(images->files, images->file_count, &images->file_cap,
				 sizeof(*images->files));
	file = &images->files[images->file_count];
	*file = (struct image_file){ .path = xstrdup(wanted->path),
				     .inode = wanted->inode,
				     .device = wanted->device,
				     .fd = -1 };
	image_open(images, file, map);
	map_put(&images->file_index, hash, images->file_count);
	return (uint32_t)images->file_count++;
}

/* Is it a file, or the kernel's code? Else it holds no code that could be read later. */
static bool image_is_file(const char *path)
{
	return (path[0] == '/' && path[1] != '/') || image_is_vdso(path);
}

/* 32-bit programs on x86-64 have it below 4 GiB, and no others. */
static uint64_t vdso_inode(uint64_t start)
{
#if defined(__x86_64__)
	return start <= UINT32_MAX ? VDSO_32 : VDSO_OURS;
#else
	(void)start;
	return VDSO_OURS;
#endif
}

/* ------------------------------------------------------------------ what /proc tells */

static void image_read_line(struct images *images, int32_t tgid, const char *line)
{
	uint64_t start, end, offset;
	unsigned int major, minor;
	struct image_file file = { 0 };
	struct image_event map;
	char rights[8], path[4096];

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %4095[^\n]",
		   &start, &end, rights, &offset, &major, &minor, &file.inode, path) != 8 ||
	    rights[2] != 'x' || end <= start || !image_is_file(path))
		return;
	file.path = path;
	file.device = makedev(major, minor);
	if (image_is_vdso(path))
		file.inode = vdso_inode(start);
	map = (struct image_event){ .start = start,
				    .bytes = end - start,
				    .offset = offset,
				    .tgid = tgid,
				    .kind = IMAGE_MAP };
	map.file = image_file_of(images, &map, &file);
	image_add(images, map);
}

void images_want(struct images *images, int32_t tgid)
{
	AUTO_FREE char *path = xasprintf("/proc/%d/maps", tgid);
	AUTO_FREE char *line = NULL;
	AUTO_FILE FILE *maps = NULL;
	size_t room = 0;

	if (map_find(&images->known, (uint64_t)tgid))
		return;
	map_put(&images->known, (uint64_t)tgid, 1);
	maps = fopen(path, "re");
	while (maps && getline(&line, &room, maps) > 0)
		image_read_line(images, tgid, line);
}

/* ------------------------------------------------------------------ what the kernel tells */

struct image_mmap2 {
	uint32_t pid, tid;
	uint64_t start, bytes, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t prot, flags;
};

static void image_take_map(struct images *images, const uint8_t *body, size_t bytes,
			   const struct image_sample *sample)
{
	struct image_mmap2 map;
	struct image_event event;
	struct image_file file = { 0 };
	char path[4096];
	size_t room;

	if (bytes <= sizeof(map))
		return;
	memcpy(&map, body, sizeof(map));
	room = bytes - sizeof(map) < sizeof(path) ? bytes - sizeof(map) : sizeof(path);
	memcpy(path, body + sizeof(map), room);
	path[room - 1] = '\0';
	if (!map.bytes || map.start + map.bytes < map.start || !image_is_file(path))
		return;
	file.path = path;
	file.inode = path[0] == '/' ? map.inode : vdso_inode(map.start);
	file.device = path[0] == '/' ? makedev(map.major, map.minor) : 0;
	event = (struct image_event){ .time_ns = sample->time_ns,
				      .start = map.start,
				      .bytes = map.bytes,
				      .offset = map.offset,
				      .tgid = (int32_t)map.pid,
				      .kind = IMAGE_MAP };
	event.file = image_file_of(images, &event, &file);
	image_add(images, event);
}

static void image_take_fork(struct images *images, const uint8_t *body, size_t bytes)
{
	struct {
		uint32_t pid, parent, tid, parent_tid;
		uint64_t time_ns;
	} fork;

	if (bytes < sizeof(fork))
		return;
	memcpy(&fork, body, sizeof(fork));
	if (fork.pid == fork.parent) /* a thread */
		return;
	images_want(images, (int32_t)fork.parent);
	map_put(&images->known, fork.pid, 1);
	image_add(images, (struct image_event){ .time_ns = fork.time_ns,
						.tgid = (int32_t)fork.pid,
						.parent = (int32_t)fork.parent,
						.kind = IMAGE_FORK });
}

static void image_take_record(struct images *images, const uint8_t *record,
			      const struct perf_event_header *header)
{
	struct image_sample sample;
	const uint8_t *body = record + sizeof(*header);
	size_t bytes = header->size - sizeof(*header);

	if (bytes < sizeof(sample))
		return;
	bytes -= sizeof(sample);
	memcpy(&sample, body + bytes, sizeof(sample));
	if (header->type == PERF_RECORD_MMAP2) {
		image_take_map(images, body, bytes, &sample);
	} else if (header->type == PERF_RECORD_FORK) {
		image_take_fork(images, body, bytes);
	} else if (header->type == PERF_RECORD_COMM && header->misc & PERF_RECORD_MISC_COMM_EXEC) {
		map_put(&images->known, sample.pid, 1);
		image_add(images, (struct image_event){ .time_ns = sample.time_ns,
							.tgid = (int32_t)sample.pid,
							.kind = IMAGE_EXEC });
	} else if (header->type == PERF_RECORD_LOST && bytes >= 16) {
		uint64_t lost;

		memcpy(&lost, body + 8, sizeof(lost));
		images->lost += lost;
	}
}

/* Copied out of the ring, at whose end a record may go on at its start. */
static void image_copy(const struct images *images, const struct image_ring *ring, uint64_t at,
		       void *to, size_t bytes)
{
	const uint8_t *data = (const uint8_t *)ring->head + images->page_bytes;
	size_t room = RING_PAGES * images->page_bytes, from = at & (room - 1);
	size_t first = bytes < room - from ? bytes : room - from;

	memcpy(to, data + from, first);
	memcpy((uint8_t *)to + first, data, bytes - first);
}

static void image_take_ring(struct images *images, const struct image_ring *ring)
{
	uint64_t tail = ring->head->data_tail;
	/* Pairs with the kernel's barrier: what is before the head is written. */
	uint64_t head = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE);
	uint64_t record[RECORD_MAX / 8];

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;

		image_copy(images, ring, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		if (header.size <= sizeof(record)) {
			image_copy(images, ring, tail, record, header.size);
			image_take_record(images, (const uint8_t *)record, &header);
		}
		tail += header.size;
	}
	/* Pairs with the kernel's read of it: the records are copied. */
	__atomic_store_n(&ring->head->data_tail, head, __ATOMIC_RELEASE);
}

void images_take(struct images *images)
{
	for (size_t i = 0; i < images->ring_count; i++)
		image_take_ring(images, &images->rings[i]);
}

/* ------------------------------------------------------------------ life */

static int image_open_ring(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.exclude_kernel = 1,
		.disabled = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.watermark = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.wakeup_watermark = WAKE_BYTES,
		.clockid = CLOCK_MONOTONIC,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int image_add_ring(struct images *images, int cpu)
{
	size_t bytes = (RING_PAGES + 1) * images->page_bytes;
	int fd = image_open_ring(cpu), code;
	void *head;

	if (fd < 0)
		return -errno;
	head = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (head == MAP_FAILED) {
		code = -errno;
		close(fd);
		return code;
	}
	images->rings[images->ring_count] = (struct image_ring){ head };
	images->fds[images->ring_count++] = fd;
	return 0;
}

struct images *images_new_still(void)
{
	struct images *images = xcalloc(1, sizeof(*images));

	images->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	return images;
}

struct images *images_new(const char **out_why)
{
	struct images *images = images_new_still();
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	images->rings = xcalloc((size_t)cpus, sizeof(*images->rings));
	images->fds = xcalloc((size_t)cpus, sizeof(*images->fds));
	*out_why = NULL;
	for (int cpu = 0; cpu < cpus; cpu++) {
		int rc = image_add_ring(images, cpu);

		if (rc < 0 && rc != -ENODEV) /* a CPU that is off */
			*out_why = strerror(-rc);
	}
	return images;
}

void images_listen(const struct images *images)
{
	for (size_t i = 0; i < images->ring_count; i++)
		(void)ioctl(images->fds[i], PERF_EVENT_IOC_ENABLE,
			    0); /* of our own: it cannot fail */
}

const int *images_fds(const struct images *images, size_t *out_count)
{
	*out_count = images->ring_count;
	return images->fds;
}

static int compare_images(const void *a, const void *b)
{
	const struct image_event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->kind == y->kind ? 0 : x->kind > y->kind ? -1 : 1; /* exec before its maps */
}

const struct image_event *images_next(const struct images *images, size_t *cursor)
{
	return *cursor < images->event_count ? &images->events[(*cursor)++] : NULL;
}

const struct image_event *images_events(struct images *images, size_t *out_count)
{
	if (!images->is_sorted && images->event_count)
		qsort(images->events, images->event_count, sizeof(*images->events), compare_images);
	images->is_sorted = true;
	*out_count = images->event_count;
	return images->events;
}

const struct image_file *images_file(const struct images *images, uint32_t file)
{
	return &images->files[file];
}

uint64_t images_bytes(const struct images *images)
{
	return images->event_cap * sizeof(*images->events) +
	       images->file_cap * sizeof(*images->files) +
	       images->ring_count * (RING_PAGES + 1) * images->page_bytes;
}

uint64_t images_lost(const struct images *images)
{
	return images->lost;
}

void images_free(struct images *images)
{
	if (!images)
		return;
	for (size_t i = 0; i < images->ring_count; i++) {
		(void)munmap(images->rings[i].head, (RING_PAGES + 1) * images->page_bytes);
		close(images->fds[i]);
	}
	for (size_t i = 0; i < images->file_count; i++) {
		free(images->files[i].path);
		mem_close_fd(&images->files[i].fd);
	}
	map_fini(&images->file_index);
	map_fini(&images->known);
	free(images->rings);
	free(images->fds);
	free(images->events);
	free(images->files);
	free(images);
}
