/* flight_event.c - see flight_event.h. */
#include "record/flight_event.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "record/flight_event_name.h"
#include "record/ftrace.h"
#include "record/instance.h"
#include "record/probes.h"
#include "store/manifest.h"

#define TEXT_BYTES 4096u
#define READS_MOST 256 /* to empty it */
#define CPU_KIB	   "16"

struct flight_event {
	struct instance instance;
	char *enable; /* owned; path of the switch in the instance */
	int tracing_fd, pipe_fd;
	bool is_armed;
	struct probes probes; /* of a point in a program: removed with the instance */
};

static int set_filter(const struct flight_event *event, const char *name, const char *filter,
		      struct err *err)
{
	AUTO_FREE char *path = xasprintf("events/%s/filter", name);

	if (ftrace_write(event->instance.dir_fd, path, filter, NULL) == 0)
		return 0;
	return err_set(err, -EINVAL, "the kernel refuses the filter \"%s\" of event %s", filter,
		       name);
}

/* Wake for each event, keep the first ones. Where the kernel has no such file, it does so anyway. */
static void set_options(int dir_fd)
{
	(void)ftrace_write(dir_fd, "buffer_percent", "0", NULL);
	(void)ftrace_write(dir_fd, "buffer_size_kb", CPU_KIB, NULL);
	(void)ftrace_write(dir_fd, "options/overwrite", "0", NULL);
}

static int prepare(struct flight_event *event, const char *name, const char *filter,
		   struct err *err)
{
	int dir_fd = event->instance.dir_fd, rc = 0;

	event->enable = xasprintf("events/%s/enable", name);
	if (!ftrace_has(dir_fd, event->enable))
		return err_set(err, -ENOENT, "this kernel has no event %s", name);
	set_options(dir_fd);
	if (filter)
		rc = set_filter(event, name, filter, err);
	if (rc < 0)
		return rc;
	event->pipe_fd = openat(dir_fd, "trace_pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (event->pipe_fd < 0)
		return err_set(err, -errno, "cannot open trace_pipe: %s", strerror(errno));
	rc = ftrace_write(dir_fd, "tracing_on", "1", err);
	if (rc == 0)
		rc = ftrace_write(dir_fd, event->enable, "1", err);
	event->is_armed = rc == 0;
	return rc;
}

static int flight_event_new(struct flight_event **out_event, struct err *err)
{
	AUTO_FREE char *tracing_dir = NULL;
	struct flight_event *event = xcalloc(1, sizeof(*event));
	int rc = ftrace_find(&tracing_dir, err);

	event->instance = INSTANCE_NONE;
	event->tracing_fd = event->pipe_fd = -1;
	*out_event = event;
	if (rc < 0)
		return rc;
	event->tracing_fd = open(tracing_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (event->tracing_fd < 0)
		return err_set(err, -errno, "cannot open %s: %s", tracing_dir, strerror(errno));
	return instance_open(tracing_dir, &event->instance, err);
}

int flight_event_open(const char *name, const char *filter, struct flight_event **out_event,
		      struct err *err)
{
	struct flight_event *event;
	int rc = flight_event_new(&event, err);

	if (rc == 0)
		rc = prepare(event, name, filter, err);
	if (rc < 0) {
		flight_event_close(event);
		return rc;
	}
	*out_event = event;
	return 0;
}

/* Arguments that could not be had are not needed. */
static int choose_point(struct flight_event *event, const char *point, bool is_usdt,
			struct err *err)
{
	const struct probes_wish wish = { .functions = &point,
					  .function_count = !is_usdt,
					  .usdt = &point,
					  .usdt_count = is_usdt };
	struct manifest manifest = { 0 };
	int rc = probes_choose(&event->probes, event->tracing_fd, &wish, &manifest, err);

	manifest_fini(&manifest);
	return rc == 0 ? probes_register(&event->probes, event->tracing_fd, event->instance.path,
					 err)
		       : rc;
}

int flight_event_make_point(const char *point, bool is_usdt, struct flight_event **out_event,
			    struct err *err)
{
	struct flight_event *event;
	int rc = flight_event_new(&event, err);

	if (rc == 0)
		rc = choose_point(event, point, is_usdt, err);
	if (rc < 0) {
		flight_event_close(event);
		return rc;
	}
	*out_event = event;
	return 0;
}

int flight_event_open_point(const char *point, bool is_usdt, struct flight_event **out_event,
			    struct err *err)
{
	struct flight_event *event;
	int rc = flight_event_make_point(point, is_usdt, &event, err);

	if (rc < 0)
		return rc;
	/* The folder of all places of the point. */
	rc = prepare(event, event->probes.group, NULL, err);
	if (rc < 0) {
		flight_event_close(event);
		return rc;
	}
	*out_event = event;
	return 0;
}

const char *flight_event_group(const struct flight_event *event)
{
	return event->probes.group;
}

const char *flight_event_place(const struct flight_event *event, size_t index)
{
	return index < event->probes.event_count ? event->probes.events[index].kernel_name : NULL;
}

int flight_event_fd(const struct flight_event *event)
{
	return event && event->is_armed ? event->pipe_fd : -1;
}

void flight_event_squeeze(char *line)
{
	char *to = line;

	for (const char *from = line; *from; from++) {
		if (*from != ' ' || (to > line && to[-1] != ' '))
			*to++ = *from;
	}
	while (to > line && to[-1] == ' ')
		to--;
	*to = '\0';
}

char *flight_event_take(struct flight_event *event)
{
	char text[TEXT_BYTES], rest[TEXT_BYTES], *line;
	ssize_t got = read(event->pipe_fd, text, sizeof(text) - 1);

	if (got <= 0)
		return NULL;
	(void)ftrace_write(event->instance.dir_fd, event->enable, "0", NULL);
	event->is_armed = false;
	for (int i = 0; i < READS_MOST && read(event->pipe_fd, rest, sizeof(rest)) > 0; i++)
		;
	text[got] = '\0';
	text[strcspn(text, "\n")] = '\0';
	line = flight_event_rename(text, event->tracing_fd);
	flight_event_squeeze(line);
	return line;
}

void flight_event_arm(struct flight_event *event)
{
	if (event && !event->is_armed)
		event->is_armed =
			ftrace_write(event->instance.dir_fd, event->enable, "1", NULL) == 0;
}

void flight_event_close(struct flight_event *event)
{
	if (!event)
		return;
	mem_close_fd(&event->pipe_fd);
	mem_close_fd(&event->tracing_fd);
	instance_close(&event->instance);
	probes_fini(&event->probes);
	free(event->enable);
	free(event);
}
