/* share.c - see share.h. */
#include "record/share.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"

#define RAISED_NICE  (-10)
#define LOWERED_NICE 10

void share_raise(void)
{
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(),
			  RAISED_NICE); /* without the right: as it is */
}

void share_raise_session(void)
{
	AUTO_CLOSE int fd =
		getsid(0) == getpid() ? open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC) : -1;

	/* Without the right, and where the kernel knows no such groups: as it is. */
	if (fd >= 0)
		(void)dprintf(fd, "%d", RAISED_NICE);
}

bool share_goes_by_session(void)
{
	AUTO_CLOSE int fd = open("/proc/sys/kernel/sched_autogroup_enabled", O_RDONLY | O_CLOEXEC);
	char first;

	return geteuid() == 0 && fd >= 0 && read(fd, &first, 1) == 1 && first == '1';
}

void share_lower(void)
{
	(void)setpriority(PRIO_PROCESS, 0, LOWERED_NICE); /* lower is always allowed */
	(void)setsid();					  /* a new one is shared out as any other */
}
