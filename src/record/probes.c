/*
 * probes.c - points in user programs as events of a recording.
 */
#include "record/probes.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "record/ftrace.h"
#include "record/probe_find.h"
#include "record/probe_group.h"
#include "record/probe_spec.h"
#include "store/manifest.h"

#define LINE_MAX_BYTES 4000 /* the kernel takes 4096 with its end */

static int choose_one(struct probe_finder *finder, const char *text, bool is_usdt, struct err *err)
{
	struct probe_spec spec;
	int rc = probe_spec_parse(text, is_usdt, &spec, err);

	if (rc == 0)
		rc = is_usdt ? probe_find_usdt(finder, &spec, err)
			     : probe_find_function(finder, &spec, err);
	probe_spec_fini(&spec);
	finder->index++;
	return rc;
}

int probes_choose(struct probes *probes, int tracing_fd, const struct probes_wish *wish,
		  struct manifest *manifest, struct err *err)
{
	struct probe_finder finder = { probes, wish, manifest, tracing_fd, 0 };
	int rc = 0;

	if (wish->function_count + wish->usdt_count == 0)
		return 0;
	if (!ftrace_has(tracing_fd, "uprobe_events"))
		return err_set(err, -ENOTSUP,
			       "this kernel has no points in user programs: it was built without "
			       "CONFIG_UPROBE_EVENTS");
	for (size_t i = 0; rc == 0 && i < wish->function_count; i++)
		rc = choose_one(&finder, wish->functions[i], false, err);
	for (size_t i = 0; rc == 0 && i < wish->usdt_count; i++)
		rc = choose_one(&finder, wish->usdt[i], true, err);
	return rc;
}

/* Names that a filter can ask for: letters, digits and '_'. */
static char *clean_name(const char *system, const char *event)
{
	char *name = xasprintf("%s:%s", system, event);

	for (char *at = name; *at; at++) {
		if (!isalnum((unsigned char)*at) && at != name + strlen(system))
			*at = '_';
	}
	return name;
}

static bool is_taken(const struct probes *probes, const char *name)
{
	for (size_t i = 0; i < probes->event_count; i++) {
		if (!strcmp(probes->events[i].name, name))
			return true;
	}
	return false;
}

/* The event that a place belongs to: one of the same point, name and shape, or a new one. */
static size_t find_event(struct probes *probes, const struct probe_found *found)
{
	struct probe_event event = { .wish = found->wish,
				     .wanted = clean_name(found->system, found->event) };
	size_t count = probes->event_count;

	for (size_t i = 0; i < count; i++) {
		const struct probe_event *old = &probes->events[i];

		if (old->wish == found->wish && !strcmp(old->shape, found->shape) &&
		    !strcmp(old->wanted, event.wanted)) {
			free(event.wanted);
			return i;
		}
	}
	event.name = xstrdup(event.wanted);
	for (unsigned int n = 2; is_taken(probes, event.name); n++) {
		free(event.name);
		event.name = xasprintf("%s_%u", event.wanted, n);
	}
	event.shape = xstrdup(found->shape);
	snprintf(event.kernel_name, sizeof(event.kernel_name), "p%zu", count);
	probes->events = vec_room(probes->events, count, &probes->event_cap, sizeof(event));
	probes->events[probes->event_count++] = event;
	return count;
}

/*
 * The path as the kernel's list can hold it: blanks and '#' end it there. Then the kernel
 * is shown the open file instead. NULL with err filled when that cannot be opened.
 */
static char *listed_path(struct probes *probes, const char *path, struct err *err)
{
	bool is_plain = true;
	int fd;

	for (const char *at = path; *at; at++)
		is_plain = is_plain && *at != '#' && (unsigned char)*at > ' ' && *at != 127;
	if (is_plain)
		return xstrdup(path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		(void)err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
		return NULL;
	}
	probes->fds = vec_room(probes->fds, probes->fd_count, &probes->fd_cap, sizeof(int));
	probes->fds[probes->fd_count++] = fd;
	return xasprintf("/proc/self/fd/%d", fd);
}

int probes_add(struct probes *probes, const struct probe_found *found, struct err *err)
{
	AUTO_FREE char *path = listed_path(probes, found->path, err);
	char counter[32] = "";
	struct probe_line line = { .kind = found->kind };

	if (!path)
		return -ENOENT;
	if (probes->line_count >= PROBES_MAX)
		return err_set(err, -E2BIG, "these are more than %d places in programs",
			       PROBES_MAX);
	if (found->counter_offset)
		snprintf(counter, sizeof(counter), "(0x%" PRIx64 ")", found->counter_offset);
	line.place = xasprintf("%s:0x%" PRIx64 "%s%s%s", path, found->offset, counter,
			       found->args[0] ? " " : "", found->args);
	if (strlen(line.place) > LINE_MAX_BYTES) {
		free(line.place);
		return err_set(err, -E2BIG, "the path and the arguments of %s:%s are too long",
			       found->system, found->event);
	}
	line.event = find_event(probes, found);
	for (size_t i = 0; i < probes->line_count; i++) {
		if (probes->lines[i].event == line.event &&
		    !strcmp(probes->lines[i].place, line.place)) {
			free(line.place);
			return 0; /* an alias */
		}
	}
	probes->lines =
		vec_room(probes->lines, probes->line_count, &probes->line_cap, sizeof(line));
	probes->lines[probes->line_count++] = line;
	return 0;
}

int probes_register(struct probes *probes, int tracing_fd, const char *instance_path,
		    struct err *err)
{
	if (!probes->line_count)
		return 0;
	probes->group = probe_group_name(instance_path);
	for (size_t i = 0; i < probes->line_count; i++) {
		const struct probe_line *line = &probes->lines[i];
		const struct probe_event *event = &probes->events[line->event];
		AUTO_FREE char *text = xasprintf("%c:%s/%s %s", line->kind, probes->group,
						 event->kernel_name, line->place);
		int rc = probe_group_add(tracing_fd, text, err);

		if (rc < 0)
			return err_wrap(err, "adding %s", event->name);
	}
	return 0;
}

int probes_enable(const struct probes *probes, int instance_fd, struct manifest *manifest,
		  struct err *err)
{
	for (size_t i = 0; i < probes->event_count; i++) {
		const struct probe_event *event = &probes->events[i];
		AUTO_FREE char *path =
			xasprintf("events/%s/%s/enable", probes->group, event->kernel_name);
		struct err why = { 0 };
		int rc = ftrace_write(instance_fd, path, "1", &why);

		if (rc < 0)
			return err_set(err, rc, "the kernel cannot put a breakpoint at %s: %s",
				       event->name, strerror(-rc));
		manifest_add_event(manifest, event->name);
	}
	return 0;
}

char *probes_format(const struct probes *probes, int instance_fd, const char *name)
{
	for (size_t i = 0; i < probes->event_count; i++) {
		const struct probe_event *event = &probes->events[i];
		AUTO_FREE char *path = NULL, *text = NULL;
		const char *rest;

		if (strcmp(event->name, name) != 0)
			continue;
		path = xasprintf("events/%s/%s/format", probes->group, event->kernel_name);
		text = ftrace_read(instance_fd, path, NULL);
		rest = text && !strncmp(text, "name: ", 6) ? strchr(text, '\n') : NULL;
		return rest ? xasprintf("name: %s%s", strchr(name, ':') + 1, rest) : NULL;
	}
	return NULL;
}

void probes_fini(struct probes *probes)
{
	for (size_t i = 0; i < probes->event_count; i++) {
		free(probes->events[i].name);
		free(probes->events[i].wanted);
		free(probes->events[i].shape);
	}
	for (size_t i = 0; i < probes->line_count; i++)
		free(probes->lines[i].place);
	for (size_t i = 0; i < probes->fd_count; i++)
		mem_close_fd(&probes->fds[i]);
	free(probes->events);
	free(probes->lines);
	free(probes->fds);
	free(probes->group);
	*probes = (struct probes){ 0 };
}
