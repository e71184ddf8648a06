/*
 * reader.c - the threads that empty the ring buffer.
 *
 *	trace_pipe_raw ──splice──▶ pipe ──splice──▶ cpuN.ring
 *
 * splice() on trace_pipe_raw hands out full sub-buffers only; the one that is
 * being written to stays. Where little happens that takes long to fill, and a killed
 * recorder would leave nothing. So when nothing woke a thread for a while it fetches what
 * is there by read(), which copies; what comes into that sub-buffer afterwards is fetched the
 * same way, as another one with a header of its own. The last one is fetched like that, too,
 * when tracing is off. Both ways deliver whole sub-buffers, so a file is always cut at
 * a sub-buffer's end, except when a write is cut short by a kill or a full disk; a
 * reader of the file ignores that rest. The unused end of a copied one takes no room on disk.
 *
 * The wait is a poll() with the stop event beside it: older kernels do not wake a
 * splice() that waits when tracing is switched off.
 */
#include "record/reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "guard/caps.h"
#include "record/clock.h"
#include "record/ftrace.h"
#include "record/share.h"
#include "store/manifest.h"

#define PIPE_PAGES	16   /* sub-buffers moved at once; what a pipe has slots for by default */
#define FIRST_DRAIN_MS	100  /* then twice as long each time, up to the latest: */
#define LATEST_DRAIN_MS 1000 /* a killed recorder loses what is younger than this */
#define FOLLOW_DRAIN_MS 150  /* the latest when somebody reads the files as they grow */
#define THREAD_STACK	(256 << 10)

struct reader {
	struct readers *all;
	pthread_t thread;
	bool started;
	uint32_t cpu;
	int raw_fd;
	int file_fd;
	int pipe_fds[2];
	bool failed;		/* the thread's; the main thread's once that has ended */
	bool partial;		/* the sub-buffer that is next was read in part; as above */
	uint64_t last_raw;	/* time stamp of the last whole sub-buffer of one that failed */
	_Atomic uint64_t bytes; /* written by the thread, read by anybody */
	_Atomic int32_t tid;	/* set once by the thread */
	_Atomic uint64_t drained_ns; /* all before it is in the file; as 'bytes' */
};

struct readers {
	struct reader *readers; /* owned; 'count' of them */
	size_t count;
	int instance_fd; /* not owned */
	int kernel_fd;	 /* not owned */
	uint32_t page_bytes;
	int stop_fd;  /* eventfd; readable = finish */
	int event_fd; /* eventfd; readable = a thread failed */
	_Atomic int failure;
	_Atomic int latest_ms; /* between two drains; written by the main thread */
	bool stopped;
};

static void note_failure(struct readers *all, int code)
{
	int none = 0;
	uint64_t one = 1;

	if (atomic_compare_exchange_strong(&all->failure, &none, code))
		(void)!write(all->event_fd, &one, sizeof(one)); /* cannot fill up: it is 1 */
}

/* Cut the file to whole sub-buffers. What cannot be cut off is ignored on reading. */
static void cut_to(struct reader *reader, uint64_t bytes)
{
	bytes -= bytes % reader->all->page_bytes;
	atomic_store(&reader->bytes, bytes);
	(void)!ftruncate(reader->file_fd, (off_t)bytes);
	(void)lseek(reader->file_fd, (off_t)bytes, SEEK_SET);
}

static void fail(struct reader *reader)
{
	note_failure(reader->all, -errno);
	cut_to(reader, atomic_load(&reader->bytes));
	reader->failed = true;
}

/* Has any thread failed? Then all of them end. */
static bool any_failed(const struct readers *all)
{
	return atomic_load_explicit(&all->failure, memory_order_relaxed) != 0;
}

/* Empty the pipe into the file. False when the disk does not take it. */
static bool pipe_to_file(struct reader *reader, size_t bytes)
{
	while (bytes) {
		ssize_t done = splice(reader->pipe_fds[0], NULL, reader->file_fd, NULL, bytes,
				      SPLICE_F_MOVE);

		if (done < 0 && errno == EINTR)
			continue;
		if (done == 0)
			errno = ENOSPC;
		if (done <= 0) {
			fail(reader);
			return false;
		}
		bytes -= (size_t)done;
		atomic_fetch_add_explicit(&reader->bytes, (uint64_t)done, memory_order_relaxed);
	}
	return true;
}

/* Move all full sub-buffers that are there now. */
static void move_full(struct reader *reader)
{
	size_t most = (size_t)PIPE_PAGES * reader->all->page_bytes;

	while (!reader->failed && !any_failed(reader->all)) {
		ssize_t got = splice(reader->raw_fd, NULL, reader->pipe_fds[1], NULL, most,
				     SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 || !pipe_to_file(reader, (size_t)got))
			return;
	}
}

/* The bytes of a sub-buffer up to the last one that is not zero. */
static size_t used_bytes(const char *page, size_t bytes)
{
	while (bytes && page[bytes - 1] == 0)
		bytes--;
	return bytes;
}

/* Append a sub-buffer. The file has its length first, so that it always is of whole ones. */
static void write_page(struct reader *reader, const char *page)
{
	uint64_t at = atomic_load(&reader->bytes), end = at + reader->all->page_bytes;
	size_t used = used_bytes(page, reader->all->page_bytes);
	int rc;

	if (ftruncate(reader->file_fd, (off_t)end) < 0) {
		fail(reader);
		return;
	}
	rc = file_write_at(reader->file_fd, at, page, used);
	if (rc < 0) {
		errno = rc == -EIO ? ENOSPC : -rc;
		fail(reader);
		return;
	}
	(void)lseek(reader->file_fd, (off_t)end, SEEK_SET); /* where splice() goes on */
	atomic_store(&reader->bytes, end);
}

/* Copy what is in the next sub-buffer, full or not. False when nothing is, or the disk is full. */
static bool copy_page(struct reader *reader, char *page)
{
	size_t page_bytes = reader->all->page_bytes;
	ssize_t got;

	do {
		got = read(reader->raw_fd, page, page_bytes); /* one sub-buffer a call */
	} while (got < 0 && errno == EINTR);
	if (got != (ssize_t)page_bytes)
		return false;
	write_page(reader, page);
	return !reader->failed;
}

/* Copy what is left in partly filled sub-buffers. Tracing is off. */
static void copy_rest(struct reader *reader)
{
	AUTO_FREE char *page = xmalloc(reader->all->page_bytes);

	while (!reader->failed && copy_page(reader, page))
		;
}

/*
 * Move what is there. 'all': the sub-buffer that is being filled as well. One that was read in
 * part is finished by read(): older kernels never hand out the rest of it by splice().
 */
static void move(struct reader *reader, char *page, bool all)
{
	if (reader->partial)
		(void)copy_page(reader, page);
	move_full(reader);
	if (all && !reader->failed)
		reader->partial = copy_page(reader, page) || reader->partial;
}

/* Busy CPUs fill whole sub-buffers all the time; the one being filled has its turn, too. */
static bool is_due(const struct reader *reader, int latest_ms, uint64_t now_ns)
{
	return latest_ms < LATEST_DRAIN_MS &&
	       now_ns - atomic_load_explicit(&reader->drained_ns, memory_order_relaxed) >=
		       (uint64_t)latest_ms * 1000000;
}

static void reader_drain(struct reader *reader, char *page, bool is_idle)
{
	int latest_ms = atomic_load_explicit(&reader->all->latest_ms, memory_order_relaxed);
	uint64_t now_ns = clock_mono_ns();
	bool all = is_idle || is_due(reader, latest_ms, now_ns);

	move(reader, page, all);
	/* Pairs with the acquire in readers_drained_ns(): what is said to be there is. */
	if (all && !reader->failed)
		atomic_store_explicit(&reader->drained_ns, now_ns, memory_order_release);
}

static int next_wait(const struct readers *all, int wait_ms)
{
	int latest_ms = atomic_load_explicit(&all->latest_ms, memory_order_relaxed);

	return 2 * wait_ms < latest_ms ? 2 * wait_ms : latest_ms;
}

static void *reader_main(void *argument)
{
	struct reader *reader = argument;
	struct pollfd waits[] = {
		{ .fd = reader->all->stop_fd, .events = POLLIN },
		{ .fd = reader->raw_fd, .events = POLLIN },
	};
	AUTO_FREE char *page = xmalloc(reader->all->page_bytes);
	int wait_ms = FIRST_DRAIN_MS;

	share_raise();
	guard_caps_helper(0); /* from descriptor to descriptor */
	prctl(PR_SET_NAME, "holdup-reader");
	atomic_store(&reader->tid, gettid());
	while (!any_failed(reader->all)) {
		int ready = poll(waits, ARRAY_LEN(waits), wait_ms);

		if (waits[0].revents || (ready < 0 && errno != EINTR))
			break;
		reader_drain(reader, page, ready == 0);
		wait_ms = next_wait(reader->all, wait_ms);
	}
	if (!any_failed(reader->all)) {
		move_full(reader);
		copy_rest(reader);
	}
	return NULL;
}

static int reader_open(struct readers *all, struct reader *reader, struct err *err)
{
	char path[64];

	snprintf(path, sizeof(path), "per_cpu/cpu%" PRIu32 "/trace_pipe_raw", reader->cpu);
	reader->raw_fd = openat(all->instance_fd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (reader->raw_fd < 0)
		return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	snprintf(path, sizeof(path), "cpu%" PRIu32 ".ring", reader->cpu);
	reader->file_fd = openat(all->kernel_fd, path,
				 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (reader->file_fd < 0)
		return err_set(err, -errno, "cannot make kernel/%s: %s", path, strerror(errno));
	if (pipe2(reader->pipe_fds, O_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	/* A pipe of a user over his limit may have one slot: then more turns are needed. */
	(void)fcntl(reader->pipe_fds[0], F_SETPIPE_SZ, PIPE_PAGES * (int)all->page_bytes);
	return 0;
}

static void reader_close(struct reader *reader)
{
	mem_close_fd(&reader->raw_fd);
	mem_close_fd(&reader->file_fd);
	mem_close_fd(&reader->pipe_fds[0]);
	mem_close_fd(&reader->pipe_fds[1]);
	reader->raw_fd = reader->file_fd = reader->pipe_fds[0] = reader->pipe_fds[1] = -1;
}

static int reader_start_thread(struct reader *reader, struct err *err)
{
	pthread_attr_t attr;
	int rc;

	pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, THREAD_STACK); /* the default is fine, too */
	rc = pthread_create(&reader->thread, &attr, reader_main, reader);
	pthread_attr_destroy(&attr);
	if (rc)
		return err_set(err, -rc, "cannot start a thread: %s", strerror(rc));
	reader->started = true;
	return 0;
}

/* The list in sysfs reads "0-3,8,10-11". */
static void read_online(struct readers *all)
{
	AUTO_FREE char *text = ftrace_read(AT_FDCWD, "/sys/devices/system/cpu/online", NULL);
	const char *at = text ? text : "0";
	size_t cap = 0;

	while (*at >= '0' && *at <= '9') {
		char *end;
		unsigned long first = strtoul(at, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (unsigned long cpu = first; cpu <= last && cpu < MANIFEST_MAX_CPUS; cpu++) {
			all->readers =
				vec_room(all->readers, all->count, &cap, sizeof(*all->readers));
			memset(&all->readers[all->count], 0, sizeof(*all->readers));
			all->readers[all->count++].cpu = (uint32_t)cpu;
		}
		at = *end == ',' ? end + 1 : end;
	}
	for (size_t i = 0; i < all->count; i++) {
		struct reader *reader = &all->readers[i];

		reader->all = all;
		reader->raw_fd = reader->file_fd = -1;
		reader->pipe_fds[0] = reader->pipe_fds[1] = -1;
	}
}

/* A tid is known once its thread runs. */
static int32_t wait_for_tid(struct reader *reader)
{
	int32_t tid;

	while (!(tid = atomic_load(&reader->tid)))
		sched_yield();
	return tid;
}

int readers_start(int instance_fd, int kernel_fd, uint32_t page_bytes, struct manifest *manifest,
		  struct readers **out_readers, struct err *err)
{
	struct readers *all = xcalloc(1, sizeof(*all));
	int rc = 0;

	*all = (struct readers){
		.instance_fd = instance_fd,
		.kernel_fd = kernel_fd,
		.page_bytes = page_bytes,
		.stop_fd = eventfd(0, EFD_CLOEXEC),
		.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
		.latest_ms = LATEST_DRAIN_MS,
	};
	if (all->stop_fd < 0 || all->event_fd < 0)
		rc = err_set(err, -errno, "cannot make an event descriptor: %s", strerror(errno));
	read_online(all);
	for (size_t i = 0; rc == 0 && i < all->count; i++)
		rc = reader_open(all, &all->readers[i], err);
	for (size_t i = 0; rc == 0 && i < all->count; i++)
		rc = reader_start_thread(&all->readers[i], err);
	if (rc < 0) {
		readers_free(all);
		return rc;
	}
	for (size_t i = 0; i < all->count; i++) {
		manifest_add_recorder_tid(manifest, wait_for_tid(&all->readers[i]));
		manifest_add_cpu(manifest, &(struct manifest_cpu){ .cpu = all->readers[i].cpu });
	}
	*out_readers = all;
	return 0;
}

uint64_t readers_bytes(const struct readers *readers)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < readers->count; i++)
		bytes += atomic_load_explicit(&readers->readers[i].bytes, memory_order_relaxed);
	return bytes;
}

void readers_follow(struct readers *readers)
{
	atomic_store_explicit(&readers->latest_ms, FOLLOW_DRAIN_MS, memory_order_relaxed);
}

uint64_t readers_drained_ns(const struct readers *readers)
{
	uint64_t drained_ns = UINT64_MAX;

	for (size_t i = 0; i < readers->count; i++) {
		/* Pairs with the release in reader_drain(). */
		uint64_t ns =
			atomic_load_explicit(&readers->readers[i].drained_ns, memory_order_acquire);

		drained_ns = ns < drained_ns ? ns : drained_ns;
	}
	return drained_ns == UINT64_MAX ? 0 : drained_ns;
}

int readers_event_fd(const struct readers *readers)
{
	return readers->event_fd;
}

int readers_failure(const struct readers *readers)
{
	return atomic_load(&readers->failure);
}

static void join_threads(struct readers *all)
{
	uint64_t one = 1;

	(void)!write(all->stop_fd, &one, sizeof(one)); /* cannot fill up: it is 1 */
	for (size_t i = 0; i < all->count; i++) {
		if (all->readers[i].started)
			pthread_join(all->readers[i].thread, NULL);
		all->readers[i].started = false;
	}
	all->stopped = true;
}

/* Bytes of events that still are in the kernel's buffer of a CPU. */
static uint64_t bytes_waiting(const struct reader *reader)
{
	char path[64];
	AUTO_FREE char *stats = NULL;
	const char *at;

	snprintf(path, sizeof(path), "per_cpu/cpu%" PRIu32 "/stats", reader->cpu);
	stats = ftrace_read(reader->all->instance_fd, path, NULL);
	at = stats ? strstr(stats, "\nbytes: ") : NULL;
	return at ? strtoull(at + strlen("\nbytes: "), NULL, 10) : 0;
}

/*
 * The disk is full. One CPU has filled it while what others recorded at that time
 * is not written yet; a trace of one CPU is worth little. So the ones that failed
 * give up the end of their files, and the others use the room.
 */
static void share_room(struct readers *all)
{
	uint64_t wanted = 0;

	for (size_t i = 0; i < all->count; i++) {
		if (!all->readers[i].failed)
			wanted += bytes_waiting(&all->readers[i]) + 2 * all->page_bytes;
	}
	for (size_t i = 0; i < all->count; i++) {
		struct reader *reader = &all->readers[i];
		uint64_t bytes = atomic_load(&reader->bytes);
		uint64_t give = wanted < bytes / 2 ? wanted : bytes / 2;

		if (!reader->failed)
			continue;
		cut_to(reader, bytes - give);
		wanted -= bytes - atomic_load(&reader->bytes) < wanted
				  ? bytes - atomic_load(&reader->bytes)
				  : wanted;
	}
	for (size_t i = 0; i < all->count; i++) {
		if (all->readers[i].failed)
			continue;
		move_full(&all->readers[i]);
		copy_rest(&all->readers[i]);
	}
}

static void note_last_time(struct reader *reader)
{
	uint64_t bytes = atomic_load(&reader->bytes);
	char path[64];
	AUTO_CLOSE int fd = -1;

	snprintf(path, sizeof(path), "cpu%" PRIu32 ".ring", reader->cpu);
	fd = openat(reader->all->kernel_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || bytes < reader->all->page_bytes ||
	    pread(fd, &reader->last_raw, sizeof(reader->last_raw),
		  (off_t)(bytes - reader->all->page_bytes)) != sizeof(reader->last_raw))
		reader->last_raw = 0;
}

uint64_t readers_whole_until(const struct readers *readers)
{
	uint64_t until = UINT64_MAX;

	for (size_t i = 0; i < readers->count; i++) {
		if (readers->readers[i].failed && readers->readers[i].last_raw < until)
			until = readers->readers[i].last_raw;
	}
	return until;
}

static bool is_read(const struct readers *all, uint32_t cpu)
{
	for (size_t i = 0; i < all->count; i++) {
		if (all->readers[i].cpu == cpu)
			return true;
	}
	return false;
}

/* Fetch the buffer of a CPU that came online while recording; it has no thread. */
static void take_late_cpu(struct readers *all, uint32_t cpu, struct manifest *manifest)
{
	struct reader late = {
		.all = all, .cpu = cpu, .raw_fd = -1, .file_fd = -1, .pipe_fds = { -1, -1 }
	};
	char path[64];
	AUTO_FREE char *stats = NULL;

	snprintf(path, sizeof(path), "per_cpu/cpu%" PRIu32 "/stats", cpu);
	stats = ftrace_read(all->instance_fd, path, NULL);
	if (!stats || !strncmp(stats, "entries: 0\n", 11))
		return;
	if (reader_open(all, &late, NULL) == 0) {
		move_full(&late);
		copy_rest(&late);
		manifest_add_cpu(manifest, &(struct manifest_cpu){
						   .cpu = cpu, .bytes = atomic_load(&late.bytes) });
	}
	reader_close(&late);
}

static void take_late_cpus(struct readers *all, struct manifest *manifest)
{
	int fd = openat(all->instance_fd, "per_cpu", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		mem_close_fd(&fd);
		return;
	}
	while ((entry = readdir(dir))) {
		uint32_t cpu;

		if (sscanf(entry->d_name, "cpu%" SCNu32, &cpu) == 1 && !is_read(all, cpu))
			take_late_cpu(all, cpu, manifest);
	}
	closedir(dir);
}

void readers_stop(struct readers *readers, struct manifest *manifest)
{
	if (readers->stopped)
		return;
	join_threads(readers);
	if (readers_failure(readers))
		share_room(readers);
	for (size_t i = 0; i < manifest->cpu_count && i < readers->count; i++)
		manifest->cpus[i].bytes = atomic_load(&readers->readers[i].bytes);
	if (!readers_failure(readers))
		take_late_cpus(readers, manifest);
	for (size_t i = 0; i < readers->count; i++) {
		if (readers->readers[i].failed)
			note_last_time(&readers->readers[i]);
		reader_close(&readers->readers[i]);
	}
}

void readers_free(struct readers *readers)
{
	if (!readers)
		return;
	if (!readers->stopped) {
		/* Nobody wants what is left; as long as events come, there would be no end to it. */
		note_failure(readers, -ECANCELED);
		join_threads(readers);
	}
	for (size_t i = 0; i < readers->count; i++)
		reader_close(&readers->readers[i]);
	mem_close_fd(&readers->stop_fd);
	mem_close_fd(&readers->event_fd);
	free(readers->readers);
	free(readers);
}
