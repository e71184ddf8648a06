/*
 * opened.c - read what may block in a thread that may be left behind.
 *
 * The work is a row of items: the descriptors of each process, then the command line
 * of each, then the system calls that its threads are in. The worker goes along the row and puts each result into the item's slot;
 * the caller watches. When nothing moves for too long the caller puts ABANDONED into
 * the slot that is due and starts another worker behind it. Whoever gets to the slot
 * first wins, by one compare-and-swap: a worker that finds its slot taken frees its
 * result and ends. The shared memory is freed by the last who leaves.
 */
#include "record/opened.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "event/event.h"
#include "record/interrupt.h"
#include "proc/proc.h"
#include "proc/stat.h"

#define CMDLINE_MAX 4096
#define LINK_MAX    4096
#define TICK_MS	    10
#define INFO_MAX    256 /* descriptors of a process that are asked what exec does with them */
#define STACK_BYTES (256u << 10)

#define CALLS_PATIENCE 8 /* a part of the patience */

/* What is asked of each process, a row each. */
enum {
	PART_FDS,
	PART_CMDLINE,
	PART_CALLS,
	PARTS
};

struct shared {
	_Atomic int users;
	int proc_fd;			 /* owned */
	size_t count;			 /* processes; PARTS times as many items */
	int32_t *tgids;			 /* owned; never written */
	_Atomic(struct opened *) *slots; /* owned; written by worker or caller, once each */
	_Atomic size_t next; /* item that is due; written by the live worker and, when that
				is given up, by the caller */
	sem_t done;
};

/* In a slot: nobody waits for this result any more. */
#define ABANDONED ((struct opened *)(uintptr_t)1)

struct start {
	struct shared *shared;
	size_t item;
};

static void free_one(struct opened *opened)
{
	for (size_t i = 0; i < opened->fd_count; i++)
		free(opened->fds[i].link);
	free(opened->fds);
	free(opened->epolls);
	free(opened->cmdline);
	free(opened->calls);
}

/* The numbers behind 'key' in an fdinfo; calls take(number) for each. */
static const char *next_number(const char *text, const char *key, int32_t *out_number)
{
	const char *at = strstr(text, key);

	if (!at)
		return NULL;
	at += strlen(key);
	*out_number = (int32_t)strtol(at, NULL, 10);
	return at;
}

/* fdinfo can be long: an epoll descriptor has a line for each target. */
static char *read_fdinfo(int proc_fd, int32_t tgid, int32_t fd)
{
	size_t room = 4096;
	char path[64];

	snprintf(path, sizeof(path), "%d/fdinfo/%d", tgid, fd);
	for (;;) {
		char *text = xmalloc(room);
		int got = proc_read(proc_fd, path, text, room);

		if (got >= 0 && ((size_t)got < room - 1 || room >= 16u << 20))
			return text;
		free(text);
		if (got < 0)
			return NULL;
		room *= 4;
	}
}

static void add_epolls(const char *info, int32_t epoll, struct opened *opened)
{
	const char *at = info;
	int32_t target;

	while (at && (at = next_number(at, "tfd:", &target))) {
		opened->epolls = vec_room(opened->epolls, opened->epoll_count, &opened->epoll_cap,
					  sizeof(*opened->epolls));
		opened->epolls[opened->epoll_count++] = (struct opened_epoll){ epoll, target };
	}
}

/* "flags:\t02100002", in octal: O_CLOEXEC is one of them, and how it is open. */
static uint8_t marks_of(const char *info, bool is_pipe)
{
	const char *at = strstr(info, "flags:");
	unsigned long flags;

	if (!at)
		return 0;
	flags = strtoul(at + strlen("flags:"), NULL, 8);
	return (flags & O_CLOEXEC ? FD_CLOSES : FD_STAYS) |
	       (is_pipe && (flags & O_ACCMODE) == O_RDONLY ? FD_READS : 0);
}

/* What the kernel says beside the name. Of who has very many open, only where that is needed. */
static void read_info(int proc_fd, int32_t tgid, struct opened_fd *fd, const char *link,
		      struct opened *opened)
{
	bool is_set = strcmp(link, "anon_inode:[eventpoll]") == 0;
	bool is_pid = strcmp(link, "anon_inode:[pidfd]") == 0 || strncmp(link, "pidfd:", 6) == 0;
	AUTO_FREE char *info = is_set || is_pid || opened->fd_count < INFO_MAX
				       ? read_fdinfo(proc_fd, tgid, fd->fd)
				       : NULL;
	int32_t pid = 0, index = 0;

	if (!info)
		return;
	fd->marks = marks_of(info, strncmp(link, "pipe:[", 6) == 0 || S_ISFIFO(fd->mode));
	if (is_set)
		add_epolls(info, fd->fd, opened);
	if (is_pid && next_number(info, "Pid:", &pid) && pid > 0)
		fd->pid = pid;
	if (next_number(info, "tty-index:", &index) && index >= 0 && index < INT32_MAX)
		fd->pts = index + 1;
}

/* A file's type, without asking the server of a network file system. */
static void read_type(int dir_fd, const char *name, struct opened_fd *fd)
{
	struct statx info;

	if (statx(dir_fd, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &info) < 0)
		return;
	fd->mode = info.stx_mode;
	fd->major = info.stx_rdev_major;
}

static void read_fd(const struct shared *shared, int32_t tgid, int dir_fd, const char *name,
		    struct opened *opened)
{
	struct opened_fd fd = { .fd = atoi(name) };
	char link[LINK_MAX];
	ssize_t len = readlinkat(dir_fd, name, link, sizeof(link) - 1);

	if (len < 0)
		return; /* closed meanwhile */
	link[len] = '\0';
	if (link[0] == '/')
		read_type(dir_fd, name, &fd);
	read_info(shared->proc_fd, tgid, &fd, link, opened);
	fd.link = xstrdup(link);
	opened->fds =
		vec_room(opened->fds, opened->fd_count, &opened->fd_cap, sizeof(*opened->fds));
	opened->fds[opened->fd_count++] = fd;
}

static void read_fds(const struct shared *shared, int32_t tgid, struct opened *opened)
{
	char path[32];
	int dir_fd;
	DIR *dir;
	struct dirent *entry;

	snprintf(path, sizeof(path), "%d/fd", tgid);
	dir_fd = openat(shared->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0) {
		opened->error = errno == ENOENT || errno == ESRCH ? 0 : -errno;
		return;
	}
	dir = fdopendir(dir_fd);
	if (!dir) {
		opened->error = -errno;
		mem_close_fd(&dir_fd);
		return;
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			read_fd(shared, tgid, dir_fd, entry->d_name, opened);
	}
	closedir(dir);
}

static void read_cmdline(const struct shared *shared, int32_t tgid, struct opened *opened)
{
	char path[32], text[CMDLINE_MAX];
	int got;

	snprintf(path, sizeof(path), "%d/cmdline", tgid);
	got = proc_read(shared->proc_fd, path, text, sizeof(text));
	while (got > 0 && text[got - 1] == '\0')
		got--;
	for (int i = 0; i < got; i++) {
		if (text[i] == '\0')
			text[i] = ' ';
	}
	opened->cmdline = xstrndup(text, got > 0 ? (size_t)got : 0);
}

/*
 * The kernel hands every program a list of pairs of its own kind of long, each begun by a small
 * number (AT_...). As a 64-bit number that of a 32-bit program has its value in the upper half.
 */
static bool is_compat(const struct shared *shared, int32_t tgid)
{
	uint64_t pairs[3] = { 0 }; /* one and a half: proc_read() ends with a 0 */
	char path[32];

	if (sizeof(long) != sizeof(uint64_t))
		return false;
	snprintf(path, sizeof(path), "%d/auxv", tgid);
	return proc_read(shared->proc_fd, path, (char *)pairs, sizeof(pairs)) >=
		       (int)sizeof(pairs[0]) &&
	       pairs[0] > UINT32_MAX;
}

/*
 * "202 0x7f.. 0x80 0x2 0x0 0x0 0x0 SP PC"; "running"; "-1 SP PC" when it sleeps outside of a call.
 * The stack of a 32-bit program lies below 4 GiB; its numbers mean other calls.
 */
static bool parse_call(const char *line, struct opened_call *out_call)
{
	unsigned long long args[6], stack;
	int nr;

	if (sscanf(line, "%d %llx %llx %llx %llx %llx %llx %llx", &nr, &args[0], &args[1], &args[2],
		   &args[3], &args[4], &args[5], &stack) != 8 ||
	    nr < 0 || (sizeof(long) == 8 && stack <= UINT32_MAX))
		return false;
	out_call->nr = nr;
	out_call->args[0] = args[0];
	out_call->args[1] = args[1];
	out_call->args[2] = args[2];
	out_call->args[3] = args[3];
	return true;
}

/* The kernel lets the reader wait until a thread that is about to sleep does: do not ask of those that run. */
static bool runs(int proc_fd, int32_t tgid, int32_t tid)
{
	char path[64], line[STAT_BYTES_MAX];
	struct proc_stat stat;

	snprintf(path, sizeof(path), "%d/task/%d/stat", tgid, tid);
	return stat_read(proc_fd, path, line, &stat) && stat.state == 'R';
}

static void read_calls(const struct shared *shared, int32_t tgid, struct opened *opened)
{
	AUTO_FREE int32_t *tids = NULL;
	char path[64], line[256];
	int count;

	snprintf(path, sizeof(path), "%d/task", tgid);
	count = proc_numbers(shared->proc_fd, path, &tids);
	for (int i = 0; i < count; i++) {
		struct opened_call call = { .tid = tids[i], .seen_ns = clock_now_ns() };

		if (runs(shared->proc_fd, tgid, tids[i]))
			continue;
		snprintf(path, sizeof(path), "%d/task/%d/syscall", tgid, tids[i]);
		if (proc_read(shared->proc_fd, path, line, sizeof(line)) <= 0 ||
		    !parse_call(line, &call))
			continue;
		opened->calls = vec_room(opened->calls, opened->call_count, &opened->call_cap,
					 sizeof(*opened->calls));
		opened->calls[opened->call_count++] = call;
	}
}

static struct opened *read_item(const struct shared *shared, size_t item)
{
	struct opened *opened = xcalloc(1, sizeof(*opened));

	int32_t tgid = shared->tgids[item % shared->count];

	switch (item / shared->count) {
	case PART_FDS:
		read_fds(shared, tgid, opened);
		break;
	case PART_CMDLINE:
		read_cmdline(shared, tgid, opened);
		opened->compat = is_compat(shared, tgid);
		break;
	default:
		read_calls(shared, tgid, opened);
		break;
	}
	return opened;
}

static void leave(struct shared *shared)
{
	/* Acquire and release: the last sees all that the others did. */
	if (atomic_fetch_sub_explicit(&shared->users, 1, memory_order_acq_rel) != 1)
		return;
	mem_close_fd(&shared->proc_fd);
	sem_destroy(&shared->done);
	free(shared->tgids);
	free(shared->slots);
	free(shared);
}

/* Put a result, or the mark, into an empty slot. False when the other was first. */
static bool fill(struct shared *shared, size_t item, struct opened *with)
{
	struct opened *empty = NULL;

	/* Release pairs with the acquire in collect(): the result is whole before it is seen. */
	return atomic_compare_exchange_strong_explicit(&shared->slots[item], &empty, with,
						       memory_order_acq_rel, memory_order_acquire);
}

static void *work(void *context)
{
	struct start start = *(struct start *)context;
	struct shared *shared = start.shared;
	size_t item;

	free(context);
	for (item = start.item; item < shared->count * PARTS; item++) {
		struct opened *opened = read_item(shared, item);

		if (!fill(shared, item, opened)) {
			free_one(opened);
			free(opened);
			break;
		}
		/* Relaxed: only looked at to see that it moves. */
		atomic_store_explicit(&shared->next, item + 1, memory_order_relaxed);
	}
	if (item == shared->count * PARTS)
		sem_post(&shared->done);
	leave(shared);
	return NULL;
}

/* Start a worker at 'item'. False when there is no thread to be had. */
static bool start_worker(struct shared *shared, size_t item)
{
	struct start *start = xmalloc(sizeof(*start));
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	*start = (struct start){ shared, item };
	atomic_fetch_add_explicit(&shared->users, 1, memory_order_relaxed); /* we hold one */
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	rc = thread_start_quiet(&thread, &attr, work, start);
	pthread_attr_destroy(&attr);
	if (rc == 0)
		return true;
	free(start);
	leave(shared);
	return false;
}

/* Wait for the end of the row, a tick at most. */
static bool wait_tick(struct shared *shared)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += TICK_MS * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return sem_timedwait(&shared->done, &until) == 0;
}

/* Calls are worth less than descriptors, and who runs much may let the reader wait for long. */
static unsigned int patience_of(const struct shared *shared, size_t item, unsigned int patience_ms)
{
	return item / shared->count == PART_CALLS ? patience_ms / CALLS_PATIENCE : patience_ms;
}

static void watch(struct shared *shared, unsigned int patience_ms)
{
	unsigned int still_ms = 0, spent_ms = 0;
	size_t seen = 0;

	while (!wait_tick(shared)) {
		size_t next = atomic_load_explicit(&shared->next, memory_order_relaxed);

		if (interrupt_pending())
			return;
		still_ms = next == seen ? still_ms + TICK_MS : 0;
		seen = next;
		if (still_ms < patience_of(shared, next, patience_ms) ||
		    next >= shared->count * PARTS || !fill(shared, next, ABANDONED))
			continue;
		spent_ms += still_ms;
		still_ms = 0;
		atomic_store_explicit(&shared->next, next + 1, memory_order_relaxed);
		if (spent_ms >= 4 * patience_ms || next + 1 == shared->count * PARTS ||
		    !start_worker(shared, next + 1))
			return;
	}
}

static void opened_give_up(struct opened_all *all, int32_t tgid)
{
	if (all->hung_count && all->hung[all->hung_count - 1] == tgid)
		return;
	all->hung = vec_room(all->hung, all->hung_count, &all->hung_cap, sizeof(*all->hung));
	all->hung[all->hung_count++] = tgid;
}

/* Move what 'from' has of this part. */
static void take_part(struct opened *to, const struct opened *from, int part)
{
	if (part == PART_FDS) {
		*to = *from;
	} else if (part == PART_CMDLINE) {
		to->cmdline = from->cmdline;
		to->compat = from->compat;
	} else {
		to->calls = from->calls;
		to->call_count = from->call_count;
		to->call_cap = from->call_cap;
	}
}

/* Move the results out of the slots; slots of a row that was given up are marked. */
static void collect(struct shared *shared, struct opened_all *all)
{
	for (size_t i = 0; i < shared->count; i++) {
		struct opened *to = &all->processes[i];

		for (int part = 0; part < PARTS; part++) {
			size_t item = i + (size_t)part * shared->count;
			struct opened *from;

			(void)fill(shared, item, ABANDONED); /* where there is nothing yet */
			/* Pairs with the release in fill(). */
			from = atomic_load_explicit(&shared->slots[item], memory_order_acquire);
			if (from == ABANDONED) {
				if (part != PART_CALLS)
					opened_give_up(all, shared->tgids[i]);
				continue;
			}
			take_part(to, from, part);
			free(from);
		}
		if (!to->cmdline)
			to->cmdline = xstrdup("");
	}
}

void opened_read(int proc_fd, const int32_t *tgids, size_t count, unsigned int patience_ms,
		 struct opened_all *out_all)
{
	struct shared *shared = xcalloc(1, sizeof(*shared));

	*out_all = (struct opened_all){ .processes = xcalloc(count + 1, sizeof(struct opened)) };
	shared->users = 1;
	shared->count = count;
	shared->proc_fd = fcntl(proc_fd, F_DUPFD_CLOEXEC, 0);
	shared->tgids = xcalloc(count + 1, sizeof(*tgids));
	if (count)
		memcpy(shared->tgids, tgids, count * sizeof(*tgids));
	shared->slots = xcalloc(PARTS * count + 1, sizeof(*shared->slots));
	sem_init(&shared->done, 0, 0);
	if (count && start_worker(shared, 0))
		watch(shared, patience_ms);
	collect(shared, out_all);
	leave(shared);
}

void opened_fini(struct opened_all *all, size_t count)
{
	for (size_t i = 0; all->processes && i < count; i++)
		free_one(&all->processes[i]);
	free(all->processes);
	free(all->hung);
	*all = (struct opened_all){ 0 };
}
