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

void share_lower(void)
{
	(void)setpriority(PRIO_PROCESS, 0, LOWERED_NICE); /* lower is always allowed */
	(void)setsid();					  /* a new one is shared out as any other */
}
