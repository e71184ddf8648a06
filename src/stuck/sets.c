/* sets.c - poll(), select() and epoll: any of several descriptors. */
#include <inttypes.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "stuck/postgres.h"
#include "stuck/snap_int.h"

#define SET_MAX	   256 /* descriptors of a set that are looked at */
#define FDINFO_MAX 65536
#define NESTED_MAX 5

/* A set of which not all is known could be ended by anything. */
static void asleep_give_up(struct asleep *asleep)
{
	asleep->wait->has_unknown = true;
	asleep->wait->has_hole = true;
}

/* Both ways: whoever has the other end can do either. */
static void add_fd(struct asleep *asleep, int32_t fd, uint64_t inode, bool reads, bool writes)
{
	if (writes)
		fd_source(asleep, fd, inode, true);
	if (reads)
		fd_source(asleep, fd, inode, false);
	if (!reads && !writes) /* an end, or an error */
		asleep_give_up(asleep);
}

/* A descriptor of a set, and whether only room to write is awaited there. */
struct watched {
	int32_t fd;
	bool for_room;
};

static void set_object(struct asleep *asleep, const struct watched *fds, size_t count, bool is_more)
{
	char list[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < count && i < 8; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%d%s", i ? ", " : "",
					 fds[i].fd, fds[i].for_room ? " (to write)" : "");
	wait_object(asleep->wait, "%sfd %s%s", count > 1 ? "any of " : "", list,
		    count > 8 || is_more ? " ..." : "");
}

static void read_timeout(struct asleep *asleep, uint64_t pointer)
{
	asleep->wait->is_timed = pointer != 0;
}

static void read_ms(struct asleep *asleep, uint64_t argument)
{
	asleep->wait->is_timed = (int32_t)argument >= 0;
}

void poll_wait(struct asleep *asleep)
{
	const uint64_t *args = asleep->task.args;
	size_t count = args[1] < SET_MAX ? (size_t)args[1] : SET_MAX, used = 0;
	AUTO_FREE struct pollfd *set = xcalloc(SET_MAX, sizeof(*set));
	struct watched fds[SET_MAX];

	if (!count) {
		asleep->wait->has_outside = true; /* a signal */
		return;
	}
	if (!look_memory(&asleep->snap->look, asleep->process, args[0], set,
			 count * sizeof(*set)) ||
	    args[1] > SET_MAX)
		asleep_give_up(asleep);
	for (size_t i = 0; i < count; i++) {
		bool reads, writes;

		if (set[i].fd < 0)
			continue;
		reads = set[i].events & (POLLIN | POLLRDNORM | POLLPRI);
		writes = set[i].events & (POLLOUT | POLLWRNORM);
		fds[used++] = (struct watched){ set[i].fd, writes && !reads };
		add_fd(asleep, set[i].fd, 0, reads, writes);
	}
	set_object(asleep, fds, used, args[1] > SET_MAX);
}

static bool has_bit(const uint64_t *words, size_t bit)
{
	return words[bit / 64] >> (bit % 64) & 1;
}

void select_wait(struct asleep *asleep)
{
	const uint64_t *args = asleep->task.args;
	size_t count = args[0] < 1024 ? (size_t)args[0] : 1024, used = 0;
	uint64_t sets[3][1024 / 64] = { 0 };
	struct watched fds[SET_MAX];

	read_timeout(asleep, args[4]);
	/* The kernel keeps the sets that were asked for in itself: those in memory are only written at the end. */
	for (size_t i = 0; i < 3; i++) {
		if (args[1 + i] && !look_memory(&asleep->snap->look, asleep->process, args[1 + i],
						sets[i], (count + 63) / 64 * 8))
			asleep_give_up(asleep);
	}
	if (args[0] > 1024)
		asleep_give_up(asleep);
	for (size_t fd = 0; fd < count; fd++) {
		bool reads = has_bit(sets[0], fd) || has_bit(sets[2], fd);
		bool writes = has_bit(sets[1], fd);

		if (!reads && !writes)
			continue;
		if (used == SET_MAX) {
			asleep_give_up(asleep);
			break;
		}
		fds[used++] = (struct watched){ (int32_t)fd, !reads };
		add_fd(asleep, (int32_t)fd, 0, reads, writes);
	}
	if (used)
		set_object(asleep, fds, used, false);
	else
		asleep->wait->has_outside = true;
}

/* Another process that has the set could add to it what is ready. */
static void add_sharers(struct asleep *asleep, int32_t fd)
{
	const struct holder *holder;
	uint64_t inode;
	size_t count;

	if (!asleep->wait->count || asleep->wait->has_hole)
		return;
	snap_make_holders(asleep->snap);
	holder = holders_find(&asleep->snap->holders, holders_key("anon_inode:[eventpoll]", &inode),
			      &count);
	for (size_t i = 0; i < count && !asleep->wait->has_hole; i++) {
		if (holder[i].tgid != asleep->task.tgid &&
		    syscall(SYS_kcmp, asleep->task.tid, holder[i].tgid, KCMP_FILE, fd,
			    holder[i].fd) == 0)
			asleep->wait->has_hole = true;
	}
}

/* "tfd:        5 events:       19 data: ...  pos:0 ino:1f4 sdev:9": the descriptors into 'fds'; how many. */
static size_t add_epoll(struct asleep *asleep, int32_t set, struct watched fds[SET_MAX])
{
	AUTO_FREE char *text = xmalloc(FDINFO_MAX);
	char name[64];
	size_t used = 0;
	const char *at;

	snprintf(name, sizeof(name), "task/%d/fdinfo/%d", asleep->task.tid, set);
	if (look_file(&asleep->snap->look, asleep->process, name, text, FDINFO_MAX) <= 0) {
		asleep_give_up(asleep);
		return 0;
	}
	if (strlen(text) == FDINFO_MAX - 1)
		asleep_give_up(asleep);
	for (at = strstr(text, "tfd:"); at; at = strstr(at + 4, "tfd:")) {
		bool reads, writes;
		uint32_t events;
		uint64_t inode = 0;

		if (used == SET_MAX ||
		    sscanf(at, "tfd: %d events: %x data: %*x pos:%*d ino:%" SCNx64, &fds[used].fd,
			   &events, &inode) < 2) {
			asleep_give_up(asleep);
			break;
		}
		reads = events & (EPOLLIN | EPOLLRDNORM | EPOLLPRI);
		writes = events & (EPOLLOUT | EPOLLWRNORM);
		fds[used].for_room = writes && !reads;
		add_fd(asleep, fds[used].fd, inode, reads, writes);
		used++;
	}
	return used;
}

/* The kernel allows no deeper ones. */
void epoll_source(struct asleep *asleep, int32_t fd)
{
	struct watched fds[SET_MAX];

	if (asleep->epoll_depth >= NESTED_MAX) {
		asleep_give_up(asleep);
		return;
	}
	asleep->epoll_depth++;
	if (!add_epoll(asleep, fd, fds)) /* whoever has the set could add to it */
		asleep_give_up(asleep);
	asleep->epoll_depth--;
	add_sharers(asleep, fd);
}

static void epoll_set(struct asleep *asleep)
{
	struct watched fds[SET_MAX];
	size_t used = add_epoll(asleep, (int32_t)asleep->task.args[0], fds);

	if (used)
		set_object(asleep, fds, used, false);
	else
		asleep->wait->has_outside = true;
	add_sharers(asleep, (int32_t)asleep->task.args[0]);
	read_ms(asleep, asleep->task.args[3]);
}

/* A backend of PostgreSQL sleeps there whatever it waits for: its memory tells. */
void epoll_wait_set(struct asleep *asleep)
{
	if (postgres_wait(asleep))
		read_ms(asleep, asleep->task.args[3]);
	else
		epoll_set(asleep);
}
