/*
 * flocks.c - who has a lock of a file, by /proc/locks and the lines of /proc/PID/fdinfo.
 *
 *	7: FLOCK  ADVISORY  WRITE 812 fe:01:4242 0 EOF
 *	7: -> FLOCK  ADVISORY  WRITE 815 fe:01:4242 0 EOF
 *
 * The arrow says that 815 waits for the one above it. A lock of flock() or of an open file description
 * is let go by anyone who has that description, by fork too: that is told by fdinfo, where each such
 * descriptor has the lock's line. A lock of fcntl() is its process's.
 *
 * Several locks may be in the way: then all of their owners must let go.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proc/proc.h"
#include "stuck/snap_int.h"

#define LOCKS_BYTES (4u << 20)
#define TO_END	    UINT64_MAX

struct file_lock {
	uint64_t id;
	bool waits;
	char type[16];	/* FLOCK, POSIX, OFDLCK, LEASE, DELEG */
	char access[8]; /* READ, WRITE, UNLCK */
	int32_t pid;
	char place[48];	   /* major:minor:inode */
	uint64_t from, to; /* the bytes of the file; TO_END = all behind */
};

/* The bytes that a thread asks for, as its call says. */
struct file_range {
	bool is_known;
	uint64_t from, to;
};

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

static bool parse_lock(const char *line, struct file_lock *out_lock)
{
	struct file_lock lock = { 0 };
	char to[24], *end;

	lock.id = strtoull(line, &end, 10);
	if (end == line || *end != ':')
		return false;
	line = skip_blanks(end + 1);
	if (strncmp(line, "->", 2) == 0) {
		lock.waits = true;
		line = skip_blanks(line + 2);
	}
	if (sscanf(line, "%15s %*s %7s %d %47s %" SCNu64 " %23s", lock.type, lock.access, &lock.pid,
		   lock.place, &lock.from, to) != 6)
		return false;
	lock.to = strcmp(to, "EOF") == 0 ? TO_END : strtoull(to, NULL, 10);
	*out_lock = lock;
	return true;
}

static const char *next_line(const char *at)
{
	at = strchr(at, '\n');
	return at ? at + 1 : NULL;
}

static const char *all_locks(struct snap *snap)
{
	if (!snap->locks) {
		snap->locks = xmalloc(LOCKS_BYTES);
		if (proc_read(snap->look.proc_fd, "locks", snap->locks, LOCKS_BYTES) < 0)
			snap->locks[0] = '\0';
	}
	return snap->locks;
}

/* Whether one of the process's descriptors has such a lock. */
static bool has_lock(struct asleep *asleep, const struct holder *holder,
		     const struct file_lock *wanted)
{
	struct file_lock lock;
	char name[48], text[8192];

	snprintf(name, sizeof(name), "%d/fdinfo/%d", holder->tgid, holder->fd);
	if (proc_read(asleep->snap->look.proc_fd, name, text, sizeof(text)) <= 0)
		return false;
	for (const char *at = strstr(text, "lock:"); at; at = strstr(at + 5, "lock:")) {
		if (parse_lock(skip_blanks(at + 5), &lock) && !lock.waits &&
		    strcmp(lock.type, wanted->type) == 0 && lock.pid == wanted->pid &&
		    strcmp(lock.place, wanted->place) == 0 &&
		    strcmp(lock.access, wanted->access) == 0 && lock.from == wanted->from &&
		    lock.to == wanted->to)
			return true;
	}
	return false;
}

static void add_owner(struct asleep *asleep, int32_t tgid, enum stuck_how how)
{
	const struct stuck_edge edge = { .tid = tgid, .is_process = true, .how = how };

	wait_edge(asleep->wait, &edge);
}

/* Whether the process's descriptors could be read. */
static bool is_read(const struct holders *holders, int32_t tgid)
{
	for (size_t i = 0; i < holders->count; i++) {
		if (holders->all[i].tgid == tgid)
			return true;
	}
	return false;
}

/* Who has the description is not readable: who locked it is written for everybody, and may have given it away. */
static void add_taker(struct asleep *asleep, int32_t tgid)
{
	const struct stuck_edge edge = { .tid = tgid,
					 .is_process = true,
					 .is_inferred = true,
					 .how = STUCK_HOW_TOOK_FILE_LOCK };

	if (tgid > 0 && !is_read(&asleep->snap->holders, tgid) &&
	    look_process(&asleep->snap->look, tgid))
		wait_edge(asleep->wait, &edge);
}

/* All who have the description that was locked, by the name that the waiter has the file by. */
static void add_descriptions(struct asleep *asleep, const struct file_lock *lock, uint64_t key)
{
	struct snap *snap = asleep->snap;
	const struct holder *holder;
	size_t count, found = 0;

	snap_make_holders(snap);
	holder = holders_find(&snap->holders, key, &count);
	for (size_t i = 0; i < count; i++) {
		if (!has_lock(asleep, &holder[i], lock))
			continue;
		add_owner(asleep, holder[i].tgid, STUCK_HOW_FILE_LOCK);
		found++;
	}
	if (snap->holders.is_complete)
		return;
	asleep->wait->has_hole = true;
	if (!found)
		add_taker(asleep, lock->pid);
}

static void add_lock(struct asleep *asleep, const struct file_lock *lock, uint64_t key)
{
	if (strcmp(lock->type, "POSIX") != 0) {
		add_descriptions(asleep, lock, key);
		return;
	}
	if (lock->pid > 0)
		add_owner(asleep, lock->pid, STUCK_HOW_FILE_LOCK);
	else
		asleep->wait->has_hole = true; /* of another PID namespace, or another machine */
}

/*
 * Of what fcntl() was called with. Of one that counts from where the file is at, or from its end, it is not known. The kernel
 * has refused what does not fit; but the memory may be another one by now.
 */
static struct file_range range_of(struct asleep *asleep)
{
	struct file_range range = { 0 };
	int64_t from, to;
	struct flock lock;

	if (!look_memory(&asleep->snap->look, asleep->process, asleep->task.args[2], &lock,
			 sizeof(lock)) ||
	    lock.l_whence != SEEK_SET || lock.l_start < 0)
		return range;
	from = lock.l_len < 0 ? lock.l_start + lock.l_len : lock.l_start;
	if (from < 0 || __builtin_add_overflow(lock.l_len < 0 ? lock.l_start : lock.l_start - 1,
					       lock.l_len < 0 ? -1 : lock.l_len, &to))
		return range;
	range.is_known = true;
	range.from = (uint64_t)from;
	range.to = lock.l_len == 0 || to == INT64_MAX ? TO_END : (uint64_t)to;
	return range;
}

static bool is_range(const struct file_lock *lock, const struct file_range *range)
{
	return !range->is_known || (lock->from == range->from && lock->to == range->to);
}

static bool is_mine(const struct asleep *asleep, const struct file_lock *lock, const char *type,
		    uint64_t inode)
{
	const char *number = strrchr(lock->place, ':');

	/* A lock of a description names no process: the file must do. */
	return lock->waits && strcmp(lock->type, type) == 0 &&
	       (lock->pid == asleep->task.tgid || lock->pid == -1) && number &&
	       strtoull(number + 1, NULL, 10) == inode;
}

/* Several waits of that process, or without its name, fit: which one is this thread's is not known. */
static void infer(struct wait *wait)
{
	wait->has_hole = true;
	for (size_t i = 0; i < wait->count; i++) {
		wait->edges[i].is_inferred = true;
		wait->edges[i].how = STUCK_HOW_A_FILE_LOCK;
	}
}

static bool is_in_the_way(const struct file_lock *lock, const struct file_lock *wanted)
{
	bool is_flock = strcmp(wanted->type, "FLOCK") == 0;

	return !lock->waits && (strcmp(lock->type, "FLOCK") == 0) == is_flock &&
	       strcmp(lock->place, wanted->place) == 0 && lock->from <= wanted->to &&
	       wanted->from <= lock->to &&
	       (strcmp(lock->access, "WRITE") == 0 || strcmp(wanted->access, "WRITE") == 0);
}

/*
 * The kernel tells one lock that is in the way; when that one is gone, the others are. Where each has one owner, all of
 * these must let go. Of who shares a lock, anybody may: such locks are not told.
 */
static void add_others(struct asleep *asleep, const struct file_lock *wanted, uint64_t key)
{
	struct wait *wait = asleep->wait;
	struct file_lock lock;

	if (wait->count != 1)
		return;
	for (const char *at = all_locks(asleep->snap); at; at = next_line(at)) {
		size_t before = wait->count;

		if (!parse_lock(at, &lock) || !is_in_the_way(&lock, wanted))
			continue;
		add_lock(asleep, &lock, key);
		if (wait->count != before + 1 || wait->edges[before].tid == asleep->task.tgid)
			wait->count = before;
	}
	wait->needs_all = wait->count > 1;
}

static void find_owners(struct asleep *asleep, const char *type, uint64_t inode, uint64_t key)
{
	bool is_flock = strcmp(type, "FLOCK") == 0;
	const struct file_range range = is_flock ? (struct file_range){ 0 } : range_of(asleep);
	struct file_lock lock, owner = { 0 }, own = { 0 };
	uint64_t first = 0;
	bool is_several = false;

	for (const char *at = all_locks(asleep->snap); at; at = next_line(at)) {
		if (!parse_lock(at, &lock))
			continue;
		if (!lock.waits)
			owner = lock;
		if (!lock.waits || !owner.type[0] || lock.id != owner.id ||
		    !is_mine(asleep, &lock, type, inode) || !is_range(&lock, &range))
			continue;
		is_several |= first && first != lock.id;
		first = lock.id;
		own = lock;
		add_lock(asleep, &owner, key);
	}
	if (is_several)
		infer(asleep->wait);
	else if (first)
		add_others(asleep, &own, key);
}

static uint64_t inode_of(struct asleep *asleep, int32_t fd)
{
	char name[64], text[8192];
	const char *at;

	snprintf(name, sizeof(name), "task/%d/fdinfo/%d", asleep->task.tid, fd);
	if (look_file(&asleep->snap->look, asleep->process, name, text, sizeof(text)) <= 0)
		return 0;
	at = strstr(text, "\nino:");
	return at ? strtoull(at + 5, NULL, 10) : 0;
}

void flock_wait(struct asleep *asleep, bool is_flock)
{
	int32_t fd = (int32_t)asleep->task.args[0];
	bool is_ofd = !is_flock && asleep->task.args[1] == F_OFD_SETLKW;
	uint64_t inode = inode_of(asleep, fd), other;
	char name[64], link[512] = "";

	snprintf(name, sizeof(name), "task/%d/fd/%d", asleep->task.tid, fd);
	if (look_link(&asleep->snap->look, asleep->process, name, link, sizeof(link)) <= 0 ||
	    !inode) {
		asleep->wait->has_unknown = true;
		return;
	}
	wait_object(asleep->wait, "lock of fd %d = %s", fd, link);
	asleep->wait->common_at = (uint16_t)snprintf(NULL, 0, "lock of fd %d = ", fd);
	find_owners(asleep,
		    is_flock ? "FLOCK"
		    : is_ofd ? "OFDLCK"
			     : "POSIX",
		    inode, holders_key(link, &other));
	if (!asleep->wait->count)
		asleep->wait->has_unknown = true;
}

void lease_wait(struct asleep *asleep)
{
	struct file_lock lock, owner = { 0 };

	wait_object(asleep->wait, "a lease of the file, to be given up");
	asleep->wait->is_timed = true; /* /proc/sys/fs/lease-break-time */
	for (const char *at = all_locks(asleep->snap); at; at = next_line(at)) {
		if (!parse_lock(at, &lock))
			continue;
		if (!lock.waits)
			owner = lock;
		else if (lock.id == owner.id && lock.pid == asleep->task.tgid && owner.pid > 0)
			add_owner(asleep, owner.pid, STUCK_HOW_LEASE);
	}
	asleep->wait->has_hole |= !asleep->wait->count;
}
