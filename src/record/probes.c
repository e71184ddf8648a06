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
#include <sys/stat.h>

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
	struct probe_finder finder = { probes, wish, manifest, wish->user, tracing_fd, 0, false };
	int rc = 0;

	if (wish->function_count + wish->usdt_count == 0)
		return 0;
	if (!ftrace_has(tracing_fd, "uprobe_events"))
		return err_set(err, -ENOTSUP,
			       "this kernel has no uprobe events: it was built without "
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
				     .is_known = found->is_known,
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

static bool is_same_file(int one, int other)
{
	struct stat a, b;

	return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* A descriptor of the file that stays open until the kernel was told; one for each file. */
static int keep_file(struct probes *probes, int file_fd)
{
	int fd;

	for (size_t i = 0; i < probes->fd_count; i++) {
		if (is_same_file(probes->fds[i], file_fd))
			return probes->fds[i];
	}
	fd = fcntl(file_fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return -errno;
	probes->fds = vec_room(probes->fds, probes->fd_count, &probes->fd_cap, sizeof(int));
	probes->fds[probes->fd_count++] = fd;
	return fd;
}

/*
 * The path by which the kernel finds the open file itself: a name could be another file's by
 * then, and blanks and '#' would end it. NULL with err filled when /proc does not lead there.
 */
static char *path_of(struct probes *probes, const struct probe_found *found, struct err *err)
{
	int fd = keep_file(probes, found->file_fd);
	char *path = xasprintf("/proc/self/fd/%d", fd);
	struct stat st, shown;

	if (fd >= 0 && fstat(fd, &st) == 0 && stat(path, &shown) == 0 &&
	    st.st_dev == shown.st_dev && st.st_ino == shown.st_ino)
		return path;
	free(path);
	(void)err_set(err, -EBADF, "cannot show the kernel the open file %s: %s", found->path,
		      fd < 0 ? strerror(-fd) : "/proc belongs to another PID namespace");
	return NULL;
}

int probes_add(struct probes *probes, const struct probe_found *found, struct err *err)
{
	AUTO_FREE char *path = path_of(probes, found, err);
	char counter[32] = "";
	struct probe_line line = { .kind = found->kind };

	if (!path)
		return -EBADF;
	if (probes->line_count >= PROBES_MAX)
		return err_set(err, -E2BIG, "more than %d points in programs", PROBES_MAX);
	if (found->counter_offset)
		snprintf(counter, sizeof(counter), "(0x%" PRIx64 ")", found->counter_offset);
	line.place = xasprintf("%s:0x%" PRIx64 "%s%s%s", path, found->offset, counter,
			       found->args[0] ? " " : "", found->args);
	if (strlen(line.place) > LINE_MAX_BYTES) {
		free(line.place);
		return err_set(err, -E2BIG, "the path and the arguments of %s:%s are too long",
			       found->system, found->event);
	}
	line.path = xstrdup(found->path);
	line.event = find_event(probes, found);
	for (size_t i = 0; i < probes->line_count; i++) {
		if (probes->lines[i].event == line.event &&
		    !strcmp(probes->lines[i].place, line.place)) {
			free(line.place);
			free(line.path);
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

		if (rc < 0 && !event->is_known)
			return err_wrap(err, "adding %s of %s", event->name, line->path);
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

		if (rc < 0 && event->is_known) {
			manifest_add_missing(manifest, event->name, why.text);
			continue;
		}
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
	for (size_t i = 0; i < probes->line_count; i++) {
		free(probes->lines[i].place);
		free(probes->lines[i].path);
	}
	for (size_t i = 0; i < probes->fd_count; i++)
		mem_close_fd(&probes->fds[i]);
	free(probes->events);
	free(probes->lines);
	free(probes->fds);
	free(probes->group);
	*probes = (struct probes){ 0 };
}
