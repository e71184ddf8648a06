/*
 * segment.c - files of packets.
 *
 * A file gets its name when all its packets are there, empty and not begun; so whatever is in
 * the folder of a trace is whole at any moment. Its space is reserved (fallocate), or a full disk
 * would end the program with SIGBUS. A child of fork() does not inherit the mappings.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "runtime/probe_int.h"
#include "runtime/text.h"

#define POOL	   8192
#define USED_BY_FD 2
#define EXCHANGE   2  /* RENAME_EXCHANGE, Linux 3.15 */
#define WARM_ALL   23 /* MADV_POPULATE_WRITE, Linux 5.14 */

static struct segment pool[POOL];
static bool fds_left; /* of segments that are used by nothing else */

/* The first one, so that no more addresses are kept than were in use at once. */
static struct segment *pool_take(void)
{
	for (uint32_t i = 0; i < POOL; i++) {
		struct segment *segment = &pool[i];
		uint32_t free_place = 0;

		/* pairs with pool_give() */
		if (!__atomic_load_n(&segment->used, __ATOMIC_RELAXED) &&
		    __atomic_compare_exchange_n(&segment->used, &free_place, 1, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return segment;
	}
	return NULL;
}

static void pool_give(struct segment *segment)
{
	/* Not our table: the helper closes it, or has closed all at its end. */
	if (segment->fd >= 0 && !helper_is_me() && helper_runs()) {
		__atomic_store_n(&segment->used, USED_BY_FD, __ATOMIC_RELEASE);
		__atomic_store_n(&fds_left, true, __ATOMIC_SEQ_CST);
		return;
	}
	if (segment->fd >= 0 && helper_is_me())
		(void)close(segment->fd);
	segment->fd = -1;
	__atomic_store_n(&segment->used, 0, __ATOMIC_RELEASE);
}

void segment_close_left(void)
{
	if (!__atomic_exchange_n(&fds_left, false, __ATOMIC_SEQ_CST))
		return;
	for (uint32_t i = 0; i < POOL; i++) {
		if (__atomic_load_n(&pool[i].used, __ATOMIC_ACQUIRE) == USED_BY_FD)
			pool_give(&pool[i]);
	}
}

void segment_forget_all(void)
{
	for (uint32_t i = 0; i < POOL; i++) {
		pool[i].used = 0;
		pool[i].kept = NULL; /* as the mappings, it is not there in a child */
	}
}

static void segment_name(const struct session *session, uint32_t cpu, uint32_t index, bool hidden,
			 char *out_path)
{
	struct text path;

	text_begin(&path, out_path, PATH_BYTES);
	text_add(&path, session->dir);
	text_add(&path, hidden ? "/.next" : "/cpu");
	text_number(&path, cpu);
	text_add(&path, "-");
	for (uint32_t above = 100000; above > index && above > 1; above /= 10)
		text_add(&path, "0");
	text_number(&path, index);
	if (hidden) { /* several threads may prepare the same one */
		text_add(&path, "-");
		text_number(&path, (uint64_t)syscall(SYS_gettid));
	}
}

struct user_packet *segment_packet(const struct segment *segment, uint32_t i)
{
	return (struct user_packet *)(void *)(segment->base + (size_t)i * USER_PACKET);
}

static void clear_packets(const struct session *session, const struct segment *segment,
			  uint32_t cpu)
{
	for (uint32_t i = 0; i < segment->packets; i++) {
		struct user_packet packet = {
			.magic = USER_MAGIC,
			.instance = cpu,
			.reserved = USER_HEAD,
			.committed = USER_HEAD,
			.content_bits = USER_HEAD * 8,
			.packet_bits = (uint64_t)USER_PACKET * 8,
			.begin = USER_NOT_BEGUN + segment->first_number + i,
			.number = segment->first_number + i,
			.cpu = cpu,
		};

		memcpy(packet.uuid, session->uuid, sizeof(packet.uuid));
		memcpy(segment_packet(segment, i), &packet, sizeof(packet));
	}
}

static size_t segment_bytes(const struct segment *segment)
{
	return (size_t)segment->packets * USER_PACKET;
}

/* Does what was written to once need no preparing? Elsewhere the kernel takes pages back. */
static bool is_in_memory(int fd)
{
	struct statfs system;

	return fstatfs(fd, &system) == 0 &&
	       (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

/* All of it, or a full disk would end the program later. What is there already stays. */
static bool reserve(const struct segment *segment, int fd)
{
	return fallocate(fd, 0, 0, (off_t)segment_bytes(segment)) == 0 ||
	       (errno != ENOSPC && errno != EFBIG && errno != EDQUOT && errno != EIO &&
		posix_fallocate(fd, 0, (off_t)segment_bytes(segment)) == 0);
}

/*
 * The addresses of a segment stay when it goes: nothing but the next one's file is ever mapped there. For a thread
 * that was preempted in a page fault of a record, which it will begin anew, ends that fault first; where nothing were
 * mapped by then, the kernel would end the program (SIGSEGV).
 */
static void keep_addresses(struct segment *segment)
{
	size_t bytes = segment_bytes(segment);

	/* No memory is taken before somebody writes there. Where that is refused, they go. */
	if (mmap(segment->base, bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
		(void)munmap(segment->base, bytes);
		segment->kept = NULL;
		return;
	}
	(void)madvise(segment->base, bytes, MADV_DONTFORK);
	if (segment->kept == segment->base)
		return; /* it may be longer */
	segment->kept = segment->base;
	segment->kept_bytes = bytes;
}

/* Where the file is mapped. NULL: anywhere. Addresses that are too few stay for nothing: files only grow, by halves or more. */
static uint8_t *kept_addresses(const struct segment *segment)
{
	return segment->kept_bytes >= segment_bytes(segment) ? segment->kept : NULL;
}

static bool map_file(struct segment *segment, int fd)
{
	uint8_t *kept = kept_addresses(segment);
	struct rlimit limit;
	void *base;

	/* A file beyond the limit would end the program by SIGXFSZ. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < segment_bytes(segment))
		return false;
	if (large_pays(segment_bytes(segment)) && is_in_memory(fd)) {
		segment->base = large_map(fd, segment_bytes(segment), kept);
		if (!segment->base)
			kept = segment->kept = NULL; /* they may be others' now */
	}
	if (segment->base) {
		(void)madvise(segment->base, segment_bytes(segment), MADV_DONTFORK);
		segment->warm = large_fill(fd, segment->base, segment_bytes(segment));
		return reserve(segment, fd);
	}
	if (!reserve(segment, fd))
		return false;
	base = mmap(kept, segment_bytes(segment), PROT_READ | PROT_WRITE,
		    MAP_SHARED | (kept ? MAP_FIXED : 0), fd, 0);
	if (base == MAP_FAILED) {
		segment->kept = NULL; /* they may be others' now */
		return false;
	}
	(void)madvise(base, segment_bytes(segment), MADV_DONTFORK);
	segment->base = base;
	return true;
}

/*
 * Can the kernel tell who else has a file? Of an overlay (a container's root) it cannot: what is
 * mapped there is another file below.
 */
static bool tells_users(int fd)
{
	struct statfs system;

	return fstatfs(fd, &system) == 0 && system.f_type != OVERLAYFS_SUPER_MAGIC;
}

struct segment *segment_new(const struct session *session, uint32_t cpu, uint32_t packets,
			    uint32_t index, uint64_t first_number)
{
	char hidden[PATH_BYTES], path[PATH_BYTES];
	struct segment *segment = pool_take();
	bool good = false;
	int fd;

	if (!segment)
		return NULL;
	segment->packets = packets;
	segment->index = index;
	segment->first_number = first_number;
	segment->next = NULL;
	segment->base = NULL;
	segment->warm = false;
	segment->fd = -1;
	segment_name(session, cpu, index, true, hidden);
	segment_name(session, cpu, index, false, path);
	fd = open(hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd >= 0 && map_file(segment, fd)) {
		clear_packets(session, segment, cpu);
		segment->stays = is_in_memory(fd);
		good = rename(hidden, path) == 0;
	}
	if (good && session->mode == HOLDUP_STREAM && packets == probe.stream_most &&
	    !segment->warm && helper_is_me() && tells_users(fd)) {
		segment->fd = fd;
		return segment;
	}
	if (fd >= 0)
		(void)close(fd);
	if (good)
		return segment;
	if (fd >= 0)
		(void)unlink(hidden);
	segment_free(segment);
	return NULL;
}

bool segment_reuse(const struct session *session, struct segment *segment, uint32_t cpu,
		   uint32_t index, uint64_t first_number)
{
	char hidden[PATH_BYTES], path[PATH_BYTES];

	segment_name(session, cpu, segment->index, true, hidden);
	segment->index = index;
	segment->first_number = first_number;
	__atomic_store_n(&segment->next, NULL, __ATOMIC_RELAXED); /* nobody else has it now */
	clear_packets(session, segment, cpu);
	segment_name(session, cpu, index, false, path);
	if (rename(hidden, path) == 0)
		return true;
	(void)unlink(hidden);
	return false;
}

void segment_hide(const struct session *session, const struct segment *segment, uint32_t cpu)
{
	char hidden[PATH_BYTES], path[PATH_BYTES];

	segment_name(session, cpu, segment->index, false, path);
	segment_name(session, cpu, segment->index, true, hidden);
	(void)rename(path, hidden); /* else segment_reuse() will find out */
}

/*
 * Has nobody else the file open, or another name for it? Only then a lease is given. Who opens it
 * just then makes a signal, to the helper alone, which takes none.
 */
static bool is_ours_alone(int fd)
{
	const struct f_owner_ex helper = { F_OWNER_TID, (pid_t)syscall(SYS_gettid) };
	struct stat stat;
	bool alone;

	if (fstat(fd, &stat) < 0 || stat.st_nlink != 1)
		return false;
	if (fcntl(fd, F_SETOWN_EX, &helper) < 0 || fcntl(fd, F_SETSIG, SIGURG) < 0)
		return false;
	alone = fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
	(void)fcntl(fd, F_SETLEASE, F_UNLCK); /* there may be none */
	return alone;
}

static bool write_copy(const struct segment *segment, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	size_t left = fd < 0 ? 0 : segment_bytes(segment);
	const uint8_t *from = segment->base;

	while (left) {
		ssize_t done = write(fd, from, left);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			break;
		from += done;
		left -= (size_t)done;
	}
	if (fd >= 0)
		(void)close(fd);
	return fd >= 0 && !left;
}

/* One step for whoever looks: the name is always that of a whole file. */
bool segment_copy_out(struct session *session, struct segment *segment, uint32_t cpu)
{
	char hidden[PATH_BYTES], path[PATH_BYTES];
	bool exchanged;

	if (segment->fd < 0 || session->no_copies || !is_ours_alone(segment->fd))
		return false;
	segment_name(session, cpu, segment->index, true, hidden);
	segment_name(session, cpu, segment->index, false, path);
	exchanged = write_copy(segment, hidden) &&
		    syscall(SYS_renameat2, AT_FDCWD, hidden, AT_FDCWD, path, EXCHANGE) == 0;
	session->no_copies = !exchanged;
	/* Who opened it before the exchange goes on reading it. */
	if (exchanged && is_ours_alone(segment->fd))
		return true;
	(void)unlink(hidden);
	return false;
}

void segment_free(struct segment *segment)
{
	if (segment->base)
		keep_addresses(segment);
	segment->base = NULL;
	pool_give(segment);
}

void segment_drop(const struct session *session, struct segment *segment, uint32_t cpu)
{
	char path[PATH_BYTES];

	segment_name(session, cpu, segment->index, false, path);
	if (unlink(path) < 0) {
		segment_name(session, cpu, segment->index, true, path);
		(void)unlink(path);
	}
	segment_free(segment);
}

void segment_cut(const struct session *session, const struct segment *segment, uint32_t cpu,
		 uint32_t packets)
{
	char path[PATH_BYTES];

	segment_name(session, cpu, segment->index, false, path);
	if (!packets)
		(void)unlink(path);
	else if (truncate(path, (off_t)packets * USER_PACKET) < 0)
		return; /* empty packets stay: harmless */
}

void segment_warm(const struct segment *segment, uint32_t i)
{
	uint8_t *at = segment->base + (size_t)i * USER_PACKET;
	static int refused; /* by an old kernel */

	if (segment->warm)
		return;
	if (!__atomic_load_n(&refused, __ATOMIC_RELAXED)) {
		if (madvise(at, USER_PACKET, WARM_ALL) == 0 || errno != EINVAL)
			return;
		__atomic_store_n(&refused, 1, __ATOMIC_RELAXED);
	}
	/* Others may write there already: add nothing, atomically. */
	for (size_t page = 0; page < USER_PACKET; page += 4096)
		(void)__atomic_fetch_or(at + page, 0, __ATOMIC_RELAXED);
}
