/*
 * probe_group.c - the kernel's list of points in user programs, our part of it.
 *
 * Opening that file with O_TRUNC would remove the points of everybody: it is only
 * ever appended to.
 */
#include "record/probe_group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "record/ftrace.h"
#include "record/instance.h"

#define LIST "uprobe_events"

char *probe_group_name(const char *instance_path)
{
	const char *slash = strrchr(instance_path, '/');
	char *group = xstrdup(slash ? slash + 1 : instance_path);

	for (char *at = group; *at; at++)
		*at = *at == '-' ? '_' : *at;
	return group;
}

/*
 * What the kernel said about a line that it refused; NULL = nothing. To be freed. Its log has
 * the errors of everybody, each with the line that it is about:
 *
 *	[  12.345678] trace_uprobe: error: Invalid register name
 *	  Command: p:GROUP/p0 /bin/x:0x10 a=%qq:u64
 */
static char *complaint_about(int tracing_fd, const char *line)
{
	static const char error[] = "trace_uprobe: error: ", command[] = "\n  Command: ";
	AUTO_FREE char *log = ftrace_read(tracing_fd, "error_log", NULL);
	const char *at = log, *last = NULL;
	size_t name_bytes = strcspn(line, " ");

	while (at && (at = strstr(at, error))) {
		const char *end = at + strcspn(at, "\n");

		at += strlen(error);
		if (!strncmp(end, command, strlen(command)) &&
		    !strncmp(end + strlen(command), line, name_bytes))
			last = at;
	}
	return last ? xstrndup(last, strcspn(last, "\n")) : NULL;
}

static int group_append(int tracing_fd, const char *line)
{
	AUTO_CLOSE int fd = openat(tracing_fd, LIST, O_WRONLY | O_APPEND | O_CLOEXEC);
	ssize_t done;

	if (fd < 0)
		return -errno;
	do {
		done = write(fd, line, strlen(line));
	} while (done < 0 && errno == EINTR);
	return done < 0 ? -errno : 0;
}

int probe_group_add(int tracing_fd, const char *line, struct err *err)
{
	AUTO_FREE char *why = NULL;
	int rc;

	if (!ftrace_has(tracing_fd, LIST))
		return err_set(err, -ENOTSUP,
			       "this kernel has no uprobe events: it was built without "
			       "CONFIG_UPROBE_EVENTS");
	rc = group_append(tracing_fd, line);
	if (rc == 0)
		return 0;
	why = complaint_about(tracing_fd, line);
	return err_set(err, rc, "the kernel refuses the point \"%.300s\": %s", line,
		       why ? why : strerror(-rc));
}

bool probe_group_parse(const char *line, char out_group[PROBE_GROUP_NAME_MAX],
		       char out_event[PROBE_GROUP_NAME_MAX])
{
	const char *group = line + strcspn(line, ": \n"), *slash;
	size_t group_bytes, event_bytes;

	if ((line[0] != 'p' && line[0] != 'r') || *group != ':')
		return false;
	group++;
	slash = group + strcspn(group, "/ \n");
	group_bytes = (size_t)(slash - group);
	event_bytes = *slash == '/' ? strcspn(slash + 1, " \n") : 0;
	if (!group_bytes || group_bytes >= PROBE_GROUP_NAME_MAX || !event_bytes ||
	    event_bytes >= PROBE_GROUP_NAME_MAX)
		return false;
	memcpy(out_group, group, group_bytes);
	out_group[group_bytes] = '\0';
	memcpy(out_event, slash + 1, event_bytes);
	out_event[event_bytes] = '\0';
	return true;
}

/* Is the owner of the group dead? */
static bool is_stale(const char *group)
{
	char name[PROBE_GROUP_NAME_MAX];
	uint64_t start, now_start;
	pid_t pid;

	for (size_t i = 0; i == 0 || group[i - 1]; i++)
		name[i] = group[i] == '_' ? '-' : group[i];
	if (!instance_parse_name(name, &pid, &start))
		return false;
	return !instance_process_start(pid, &now_start) || now_start != start;
}

/* Remove the events of one group, or of all that nobody owns (NULL). */
static int remove_events(int tracing_fd, const char *wanted)
{
	AUTO_FREE char *list = ftrace_read(tracing_fd, LIST, NULL);
	char group[PROBE_GROUP_NAME_MAX], event[PROBE_GROUP_NAME_MAX];
	int removed = 0;

	for (const char *line = list; line && *line; line += *line == '\n') {
		if (probe_group_parse(line, group, event) &&
		    (wanted ? !strcmp(group, wanted) : is_stale(group))) {
			AUTO_FREE char *command = xasprintf("-:%s/%s", group, event);

			removed += group_append(tracing_fd, command) == 0;
		}
		line += strcspn(line, "\n");
	}
	return removed;
}

int probe_group_remove(const char *instance_path)
{
	AUTO_FREE char *group = probe_group_name(instance_path);
	const char *below = strstr(instance_path, "/instances/");
	AUTO_FREE char *dir =
		below ? xstrndup(instance_path, (size_t)(below - instance_path)) : NULL;
	AUTO_CLOSE int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	return fd < 0 ? 0 : remove_events(fd, group);
}

int probe_group_remove_stale(const char *tracing_dir)
{
	AUTO_CLOSE int fd = open(tracing_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? 0 : remove_events(fd, NULL);
}
