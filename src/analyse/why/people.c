/* people.c - see why_people.h. */
#include "analyse/why/people.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/facts_at.h"
#include "analyse/why/why_int.h"
#include "analyse/why/process.h"
#include "base/mem.h"
#include "event/facts.h"

#define PEOPLE	   32  /* processes that are told of */
#define ROOTS_SEEN 100 /* the largest ones */
#define ID_SHOWN   12  /* of a container's 64 digits, as its tools show them */
#define ID_MIN	   32
#define COMM_BYTES 15

/* ------------------------------------------------------- unit and container */

/* Managers of containers, by what stands before the id in the name of a scope. */
static const struct {
	const char *prefix;
	const char *manager;
} managers[] = {
	{ "docker-", "docker" }, { "cri-containerd-", "containerd" }, { "crio-", "cri-o" },
	{ "libpod-", "podman" }, { "lxc.payload.", "lxc" },	      { "machine-", "machine" },
};

static size_t hex_length(const char *text, size_t bytes)
{
	size_t length = strspn(text, "0123456789abcdef");

	return length < bytes ? length : bytes;
}

/* "3f2a9b4c11d0"; of a name that is no id all of it */
static struct why_cgroup container_of(const char *id, size_t bytes, const char *manager)
{
	size_t shown = hex_length(id, bytes) >= ID_MIN ? ID_SHOWN : bytes;

	return (struct why_cgroup){ manager, id, shown };
}

static bool ends_in(const char *part, size_t bytes, const char *end)
{
	size_t length = strlen(end);

	return bytes > length && memcmp(part + bytes - length, end, length) == 0;
}

/* One part of a cgroup's path; 'above' is the part before it, of 'above_bytes'. */
static struct why_cgroup part_is_of(const char *part, size_t bytes, const char *above,
				    size_t above_bytes)
{
	bool is_scope = ends_in(part, bytes, ".scope");
	size_t name_bytes = is_scope ? bytes - strlen(".scope") : bytes;

	for (size_t i = 0; i < ARRAY_LEN(managers); i++) {
		size_t length = strlen(managers[i].prefix);

		if (name_bytes > length && memcmp(part, managers[i].prefix, length) == 0 &&
		    (is_scope || strcmp(managers[i].manager, "lxc") == 0))
			return container_of(part + length, name_bytes - length,
					    managers[i].manager);
	}
	if ((above_bytes == 6 && memcmp(above, "docker", 6) == 0) ||
	    (above_bytes == 3 && memcmp(above, "lxc", 3) == 0))
		return container_of(part, bytes, above_bytes == 6 ? "docker" : "lxc");
	/* user@1000.service is all that a user runs. */
	if (ends_in(part, bytes, ".service") && strncmp(part, "user@", 5) != 0)
		return (struct why_cgroup){ NULL, part, bytes };
	return (struct why_cgroup){ NULL, NULL, 0 };
}

bool why_cgroup_is_of(const char *cgroup, struct why_cgroup *out_of)
{
	struct why_cgroup of = { NULL, NULL, 0 };
	const char *above = "", *part = cgroup;
	size_t above_bytes = 0;

	while (*part) {
		size_t bytes = strcspn(part, "/");
		struct why_cgroup inner = part_is_of(part, bytes, above, above_bytes);

		/* A service within a container is the container's; a container stands for itself. */
		if (inner.name && !of.manager)
			of = inner;
		above = part;
		above_bytes = bytes;
		part += bytes + (part[bytes] == '/');
	}
	*out_of = of;
	return of.name != NULL;
}

/* ----------------------------------------------------------------- people */

struct telling {
	const struct timeline *tl;
	const struct facts *facts;
	struct why *why;
	uint32_t *fact_of;    /* owned */
	int32_t seen[PEOPLE]; /* processes */
	size_t seen_count;
};

static const char *last_part(const char *path, size_t bytes)
{
	const char *part = path;

	for (size_t i = 0; i + 1 < bytes; i++)
		part = path[i] == '/' ? path + i + 1 : part;
	return part;
}

/* Is the thread named as its program is? The kernel keeps 15 bytes of that. */
static bool is_named_so(const char *cmdline, const char *comm)
{
	size_t word = strcspn(cmdline, " ");
	const char *name = last_part(cmdline, word);
	size_t name_bytes = word - (size_t)(name - cmdline), length = strlen(comm);

	if (name_bytes == length)
		return memcmp(name, comm, length) == 0;
	return length == COMM_BYTES && name_bytes > length && memcmp(name, comm, length) == 0;
}

static bool has_arguments(const char *cmdline)
{
	return cmdline[strcspn(cmdline, " ")] != '\0';
}

/*
 * Of the recorded command the arguments are known; what it executed later is a path. A child has
 * its parent's until it executes something.
 */
static const char *cmdline_of(const struct telling *telling, uint32_t slot)
{
	const struct tl_thread *thread = telling->tl->threads[slot];
	const char *cmdline = timeline_name(telling->tl, thread->cmdline);
	const char *target = telling->facts->target_cmdline;
	size_t word = target ? strcspn(target, " ") : 0;
	AUTO_FREE char *name = target ? xstrndup(last_part(target, word),
						 word - (size_t)(last_part(target, word) - target))
				      : NULL;

	if (!name || thread->tgid != telling->facts->target_tid)
		return cmdline;
	return has_arguments(cmdline) || strcmp(last_part(cmdline, strlen(cmdline)), name) == 0
		       ? target
		       : cmdline;
}

/*
 * Does the command line say more than the thread's name? One that was inherited, under another name,
 * may be that of before an exec that was lost.
 */
static bool says_more(const struct telling *telling, uint32_t slot, const char *cmdline,
		      const char *comm)
{
	const struct tl_thread *thread = telling->tl->threads[slot];
	bool is_sure = !thread->born || telling->tl->gap_count == 0;

	if (!*cmdline || strncmp(cmdline, "/proc/", 6) == 0)
		return false;
	if (is_named_so(cmdline, comm))
		return has_arguments(cmdline);
	return is_sure && (!thread->born || !has_arguments(cmdline) ||
			   cmdline == telling->facts->target_cmdline);
}

static const char *cgroup_of(struct telling *telling, uint32_t slot)
{
	uint32_t fact;

	if (!telling->fact_of)
		telling->fact_of = fact_of_threads(telling->tl, telling->facts);
	fact = telling->fact_of[slot];
	return fact ? telling->facts->threads[fact - 1].cgroup : "";
}

static bool is_new(struct telling *telling, int32_t tgid)
{
	for (size_t i = 0; i < telling->seen_count; i++) {
		if (telling->seen[i] == tgid)
			return false;
	}
	if (tgid <= 0 || telling->seen_count == PEOPLE)
		return false;
	telling->seen[telling->seen_count++] = tgid;
	return true;
}

/* The main thread of its process knows. */
static const char *killed_by(const struct telling *telling, int32_t tgid)
{
	uint32_t slot = timeline_find_thread(telling->tl, tgid, telling->why->end_ns - 1);
	const struct tl_thread *main = slot == SLOT_NONE ? NULL : telling->tl->threads[slot];

	return main && main->died && main->death_ns <= telling->why->end_ns
		       ? timeline_name(telling->tl, main->killed_by)
		       : "";
}

static void tell(struct telling *telling, const struct why_thread *who)
{
	struct why *why = telling->why;
	uint32_t slot = timeline_find_thread(telling->tl, who->tid, why->end_ns - 1);
	const char *cmdline, *killed;
	struct why_cgroup of;
	bool is_of;

	if (!who->tid || slot == SLOT_NONE || telling->tl->threads[slot]->kernel ||
	    !is_new(telling, who->tgid))
		return;
	cmdline = cmdline_of(telling, slot);
	if (!says_more(telling, slot, cmdline, who->comm))
		cmdline = "";
	is_of = why_cgroup_is_of(cgroup_of(telling, slot), &of);
	killed = killed_by(telling, who->tgid);
	if (!*cmdline && !is_of && !*killed)
		return;
	why->people[why->person_count++] = (struct why_person){
		.who = *who,
		.cmdline = why_keep(why, xstrdup(cmdline)),
		.cgroup = why_keep(why, xstrdup(cgroup_of(telling, slot))),
		.manager = why_keep(why, xstrdup(is_of && of.manager ? of.manager : "")),
		.place = why_keep(why, is_of ? xstrndup(of.name, of.bytes) : xstrdup("")),
		.killed_by = why_keep(why, xstrdup(killed)),
	};
}

void why_tell_people(const struct timeline *timeline, const struct facts *facts, struct why *why)
{
	const struct why *details = why->process ? &why->process->told : why;
	struct telling telling = { .tl = timeline, .facts = facts, .why = why };

	free(why->people);
	why->people = xcalloc(PEOPLE, sizeof(*why->people));
	why->person_count = 0;
	tell(&telling, &why->target);
	for (size_t i = 0; i < details->chain_count; i++)
		tell(&telling, &details->chain[i].who);
	for (size_t i = 0; i < why->root_count && i < ROOTS_SEEN; i++)
		tell(&telling, &why->roots[i].who);
	free(telling.fact_of);
}
