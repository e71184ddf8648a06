/* flight_event_name.c - see flight_event_name.h. */
#include "record/flight_event_name.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "proc/proc.h"
#include "record/ftrace.h"

#define NAME_WIDTH 16 /* the kernel prints "%16s-%-7d" */
#define COMM_BYTES 64

int32_t flight_event_tid(const char *line)
{
	char *end;
	long tid;

	if (strnlen(line, NAME_WIDTH + 1) <= NAME_WIDTH || line[NAME_WIDTH] != '-' ||
	    !isdigit((unsigned char)line[NAME_WIDTH + 1]))
		return 0;
	tid = strtol(line + NAME_WIDTH + 1, &end, 10);
	return *end == ' ' && tid <= INT32_MAX ? (int32_t)tid : 0;
}

char *flight_event_saved(const char *text, int32_t tid)
{
	while (*text) {
		const char *end = strchrnul(text, '\n');
		char *name;

		if (strtol(text, &name, 10) == tid && *name == ' ')
			return xstrndup(name + 1, (size_t)(end - name - 1));
		text = end + (*end == '\n');
	}
	return NULL;
}

/* NULL = nobody of that number is here. */
static char *name_now(int32_t tid)
{
	AUTO_CLOSE int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char path[32], comm[COMM_BYTES];
	int bytes;

	snprintf(path, sizeof(path), "%d/comm", tid);
	bytes = proc_fd < 0 || !proc_is_outermost() ? -1
						    : proc_read(proc_fd, path, comm, sizeof(comm));
	if (bytes <= 1)
		return NULL;
	if (comm[bytes - 1] == '\n')
		comm[bytes - 1] = '\0';
	return xstrdup(comm);
}

static char *name_last(int32_t tid, int tracing_fd)
{
	AUTO_FREE char *text = ftrace_read(tracing_fd, "saved_cmdlines", NULL);

	return text ? flight_event_saved(text, tid) : NULL;
}

char *flight_event_rename(const char *line, int tracing_fd)
{
	int32_t tid = flight_event_tid(line);
	AUTO_FREE char *name = tid ? name_now(tid) : NULL;

	if (tid && !name)
		name = name_last(tid, tracing_fd);
	return name ? xasprintf("%s%s", name, line + NAME_WIDTH) : xstrdup(line);
}
