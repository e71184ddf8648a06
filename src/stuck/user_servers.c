/* user_servers.c - waits of the kernel for a program that serves it: FUSE, userfaultfd and seccomp. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proc/proc.h"
#include "stuck/snap_int.h"

#define FUSE_DEVICE "/dev/fuse"
#define FAULT_LINK  "anon_inode:[userfaultfd]"
#define NOTIFY_LINK "anon_inode:seccomp notify"

#define MOUNTS_BYTES (64u << 10)

/* The number behind a word in what /proc tells of a descriptor; 0 = it tells none. */
static unsigned long number_of_fd(struct look *look, struct process *process, int32_t fd,
				  const char *word)
{
	char name[64], text[1024] = "";
	const char *at;

	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	if (!process || look_file(look, process, name, text, sizeof(text)) <= 0)
		return 0;
	at = strstr(text, word);
	return at ? strtoul(at + strlen(word), NULL, 10) : 0;
}

/* The FUSE file system behind a server's descriptor; 0 = that is not known. */
static unsigned long connection_of(struct look *look, const struct holder *server)
{
	return number_of_fd(look, look_process(look, server->tgid), server->fd,
			    "fuse_connection:"); /* since Linux 6.11 */
}

/* How many requests of it have no answer yet; -1 = that is not known. */
static long requests_of(unsigned long connection)
{
	char name[64], text[64] = "";

	snprintf(name, sizeof(name), "/sys/fs/fuse/connections/%lu/waiting", connection);
	if (!connection ||
	    proc_read(AT_FDCWD, name, text, sizeof(text)) <= 0) /* it may not be mounted */
		return -1;
	return strtol(text, NULL, 10);
}

static bool may_serve(struct asleep *asleep, const struct holder *server, unsigned long connection)
{
	unsigned long served = connection_of(&asleep->snap->look, server);

	return (!connection || !served || connection == served) && requests_of(served) != 0;
}

/*
 * Every process that has a file open of that name; which one serves this wait is not known. 'connection': of FUSE, the
 * file system; 0 = it is not known.
 */
static void add_servers(struct asleep *asleep, const char *link, int32_t only,
			unsigned long connection, enum stuck_how how)
{
	const struct holder *holder;
	uint64_t inode, key = holders_key(link, &inode);
	int32_t last = 0;
	size_t count;

	snap_make_holders(asleep->snap);
	holder = holders_find(&asleep->snap->holders, key, &count);
	for (size_t i = 0; i < count; i++) {
		struct stuck_edge edge = {
			.tid = holder[i].tgid, .is_process = true, .is_inferred = true, .how = how
		};

		if (edge.tid == last || (only && edge.tid != only))
			continue;
		if (how == STUCK_HOW_FUSE && !may_serve(asleep, &holder[i], connection))
			continue;
		last = edge.tid;
		wait_edge(asleep->wait, &edge);
	}
	asleep->wait->has_hole = true;
	asleep->wait->has_unowned = true;
}

unsigned long fuse_connection(const char *mounts, unsigned long mount)
{
	for (const char *line = mounts; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t length = strcspn(line, "\n");
		const char *type = memmem(line, length, " - fuse", strlen(" - fuse"));
		unsigned long id, device;

		/* "43 27 0:47 / /mnt rw - fuse.sshfs host:/ rw" */
		if (sscanf(line, "%lu %*u %*u:%lu ", &id, &device) == 2 && id == mount)
			return type ? device : 0;
	}
	return 0;
}

/* Of a file in the page cache it waits for the page, which is read by a request that nobody waits for. */
static unsigned long waits_for_page_of(struct asleep *asleep, const char *call)
{
	static const char reads[] = " read pread64 readv preadv preadv2 write pwrite64 writev "
				    "pwritev pwritev2 fsync fdatasync ftruncate getdents64 ";
	const char *wchan = asleep->task.wchan;
	struct look *look = &asleep->snap->look;
	AUTO_FREE char *word = xasprintf(" %s ", call), *mounts = NULL;
	unsigned long mount;

	if (asleep->task.state != 'D' || !strstr(reads, word) ||
	    (strncmp(wchan, "folio_", 6) != 0 && strncmp(wchan, "__folio_lock", 12) != 0))
		return 0;
	mount = number_of_fd(look, asleep->process, (int32_t)asleep->task.args[0], "mnt_id:");
	mounts = xcalloc(1, MOUNTS_BYTES);
	if (!mount || look_file(look, asleep->process, "mountinfo", mounts, MOUNTS_BYTES) <= 0)
		return 0;
	return fuse_connection(mounts, mount);
}

bool fuse_wait(struct asleep *asleep, const char *call)
{
	unsigned long connection = waits_for_page_of(asleep, call);

	if (!connection && strcmp(asleep->task.wchan, "request_wait_answer") != 0)
		return false;
	wait_object(asleep->wait, "an answer of a FUSE file system");
	add_servers(asleep, FUSE_DEVICE, 0, connection, STUCK_HOW_FUSE);
	return true;
}

bool userfault_wait(struct asleep *asleep)
{
	if (strcmp(asleep->task.wchan, "handle_userfault") != 0)
		return false;
	wait_object(asleep->wait, "a page that a userfaultfd is to fill");
	add_servers(asleep, FAULT_LINK, asleep->task.tgid, 0, STUCK_HOW_USERFAULTFD);
	return true;
}

bool seccomp_wait(struct asleep *asleep)
{
	if (strncmp(asleep->task.wchan, "seccomp_do_user_notification",
		    strlen("seccomp_do_user_notification")) != 0)
		return false;
	wait_object(asleep->wait, "a decision on the call (seccomp)");
	add_servers(asleep, NOTIFY_LINK, 0, 0, STUCK_HOW_SECCOMP);
	return true;
}
