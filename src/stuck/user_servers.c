/* user_servers.c - waits of the kernel for a program that serves it: FUSE, userfaultfd and seccomp. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proc/proc.h"
#include "stuck/snap_int.h"

#define FUSE_DEVICE "/dev/fuse"
#define FAULT_LINK  "anon_inode:[userfaultfd]"
#define NOTIFY_LINK "anon_inode:seccomp notify"

/* How many requests of the FUSE file system behind a descriptor have no answer yet; -1 = that is not known. */
static long requests_of(struct look *look, const struct holder *server)
{
	struct process *process = look_process(look, server->tgid);
	char name[64], text[1024] = "";
	const char *at;

	snprintf(name, sizeof(name), "fdinfo/%d", server->fd);
	if (!process || look_file(look, process, name, text, sizeof(text)) <= 0)
		return -1;
	at = strstr(text, "fuse_connection:"); /* since Linux 6.11 */
	if (!at)
		return -1;
	snprintf(name, sizeof(name), "/sys/fs/fuse/connections/%lu/waiting",
		 strtoul(at + strlen("fuse_connection:"), NULL, 10));
	if (proc_read(AT_FDCWD, name, text, sizeof(text)) <= 0) /* it may not be mounted */
		return -1;
	return strtol(text, NULL, 10);
}

/* Every process that has a file open of that name; which one serves this wait is not known. */
static void add_servers(struct asleep *asleep, const char *link, int32_t only, enum stuck_how how)
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
		if (how == STUCK_HOW_FUSE && requests_of(&asleep->snap->look, &holder[i]) == 0)
			continue;
		last = edge.tid;
		wait_edge(asleep->wait, &edge);
	}
	asleep->wait->has_hole = true;
	asleep->wait->has_unowned = true;
}

bool fuse_wait(struct asleep *asleep)
{
	if (strcmp(asleep->task.wchan, "request_wait_answer") != 0)
		return false;
	wait_object(asleep->wait, "an answer of a FUSE file system");
	add_servers(asleep, FUSE_DEVICE, 0, STUCK_HOW_FUSE);
	return true;
}

bool userfault_wait(struct asleep *asleep)
{
	if (strcmp(asleep->task.wchan, "handle_userfault") != 0)
		return false;
	wait_object(asleep->wait, "a page that a userfaultfd is to fill");
	add_servers(asleep, FAULT_LINK, asleep->task.tgid, STUCK_HOW_USERFAULTFD);
	return true;
}

bool seccomp_wait(struct asleep *asleep)
{
	if (strncmp(asleep->task.wchan, "seccomp_do_user_notification",
		    strlen("seccomp_do_user_notification")) != 0)
		return false;
	wait_object(asleep->wait, "a decision on the call (seccomp)");
	add_servers(asleep, NOTIFY_LINK, 0, STUCK_HOW_SECCOMP);
	return true;
}
