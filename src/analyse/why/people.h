/*
 * people.h - who the processes are that a result names: title or arguments, unit, container.
 *
 * Known are the titles and cgroups of those that lived when the recording began, the arguments of
 * the command that was recorded, and the path of what a process executed since.
 */
#ifndef ANALYSE_WHY_PEOPLE_H
#define ANALYSE_WHY_PEOPLE_H

#include <stdbool.h>
#include <stddef.h>

struct facts;
struct timeline;
struct why;

/*
 * Fill why->people of a result of why_run() or why_process_run() with those that the target, the
 * chain and the largest roots name. What is not known is left out.
 */
void why_tell_people(const struct timeline *timeline, const struct facts *facts, struct why *why);

/* The unit or container that a cgroup is of; false = none. 'name' is a view of 'bytes' of 'cgroup'. */
struct why_cgroup {
	const char *manager; /* of the container: "docker", "podman"; NULL = it is a unit */
	const char *name;    /* "nginx.service", "3f2a9b4c11d0" */
	size_t bytes;
};

bool why_cgroup_is_of(const char *cgroup, struct why_cgroup *out_of);

#endif
