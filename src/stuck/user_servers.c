/* user_servers.c - waits of the kernel for a program that serves it: FUSE and userfaultfd. */
#include <stdio.h>
#include <string.h>

#include "stuck/snap_int.h"

#define FUSE_DEVICE "/dev/fuse"
#define FAULT_LINK  "anon_inode:[userfaultfd]"

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
