/* share.c - see share.h. */
#include "record/share.h"

#include <sys/resource.h>
#include <unistd.h>

#define RAISED_NICE (-10)

void share_raise(void)
{
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(),
			  RAISED_NICE); /* without the right: as it is */
}
