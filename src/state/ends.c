/*
 * ends.c - which other processes have what a descriptor's object is the other end of.
 *
 *	a pipe or FIFO      who has the other end of it, by its name
 *	loopback TCP        who has "tcp B->A", for "tcp A->B"
 *	loopback UDP        who is connected back, or else who is bound there, "udp B", for "udp A->B"
 *	a pair of sockets   who has the other one, by the call that made both, or by their numbers
 *	a unix socket       who connected or accepted; or who got it by fork from who listened
 *	an eventfd          who has the same one, by fork
 *	a terminal          who has "/dev/ptmx of /dev/pts/N", for "/dev/pts/N", and the other way round
 *	a message queue     who has it open, too
 *
 * Who has the same end of a pipe, as a child that got it by fork, is none of these, where it is known which one
 * that is. Where other processes are, other threads of the own one are, too, if it has the other end as well.
 *
 * The list of all ends is made when it is first asked for.
 */
#include "state/ends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define MASTER_OF   "/dev/ptmx of "
#define GENERATIONS 3 /* from who serves a connection up to who listened */

struct end {
	uint32_t name;
	uint32_t object;
	const struct process *process;
	bool reads;  /* of a pipe, it is known to be the one to read from */
	bool writes; /* it is the other one, if of any that is known which it is */
};

/* "tcp A->B", "unix 11->12" */
static bool has_two_names(const char *name)
{
	return (strncmp(name, "tcp ", 4) == 0 || strncmp(name, "udp ", 4) == 0 ||
		(strncmp(name, "unix ", 5) == 0 && name[5] >= '0' && name[5] <= '9')) &&
	       strstr(name, "->");
}

static bool is_terminal(const char *name)
{
	return strncmp(name, "/dev/pts/", 9) == 0 ||
	       strncmp(name, MASTER_OF, sizeof(MASTER_OF) - 1) == 0;
}

static bool has_ends(const char *name, uint8_t role)
{
	return role == FD_ROLE_PIPE || role == FD_ROLE_EVENTFD || role == FD_ROLE_LISTEN ||
	       strncmp(name, "pipe:[", 6) == 0 || strncmp(name, "udp ", 4) == 0 ||
	       strncmp(name, "unix", 4) == 0 || has_two_names(name) || is_terminal(name);
}

static int end_by_name(const void *left, const void *right)
{
	const struct end *a = left, *b = right;

	return a->name != b->name ? (a->name < b->name ? -1 : 1) : 0;
}

static void add_end(struct ends *ends, const struct process *process, const struct object *object,
		    uint8_t marks)
{
	const char *name = names_text(&ends->state->tl->names, object->name);
	bool is_pipe = strncmp(name, "pipe:[", 6) == 0;

	ends->all = vec_room(ends->all, ends->count, &ends->cap, sizeof(*ends->all));
	ends->all[ends->count++] = (struct end){
		.name = object->name,
		.object = (uint32_t)(object - ends->state->objects),
		.process = process,
		.reads = object->role == FD_ROLE_PIPE && marks & FD_READS,
		.writes = is_pipe && !object->since_ns && marks & (FD_STAYS | FD_CLOSES) &&
			  !(marks & FD_READS),
	};
}

static void add_ends(struct ends *ends, const struct process *process)
{
	const struct state *state = ends->state;

	for (size_t i = 0; i < process->fds.cap; i++) {
		const struct object *object =
			process->fds.used[i] ? fds_object(state, process->fds.slots[i].value)
					     : NULL;

		if (object && has_ends(names_text(&state->tl->names, object->name), object->role))
			add_end(ends, process, object,
				slot_fd_of(process->fds.slots[i].value).marks);
	}
}

static void make_ends(struct ends *ends)
{
	const struct map *processes = &ends->state->processes;

	if (ends->is_made)
		return;
	ends->is_made = true;
	for (size_t i = 0; i < processes->cap; i++) {
		if (processes->used[i])
			add_ends(ends, (struct process *)(uintptr_t)processes->slots[i].value);
	}
	if (ends->count)
		qsort(ends->all, ends->count, sizeof(*ends->all), end_by_name);
}

/* The first end of that name; NULL = there is none. */
static const struct end *first_named(struct ends *ends, uint32_t name)
{
	const struct end key = { .name = name };
	const struct end *at;

	make_ends(ends);
	at = ends->count ? bsearch(&key, ends->all, ends->count, sizeof(key), end_by_name) : NULL;
	while (at && at > ends->all && at[-1].name == name)
		at--;
	return at;
}

static void add_other(struct others *others, const struct process *process)
{
	for (uint32_t i = 0; i < others->count && i < OTHERS_MAX; i++) {
		if (others->process[i] == process)
			return;
	}
	if (others->count < OTHERS_MAX)
		others->process[others->count] = process;
	others->count++;
}

/* What an end of that name has to be, to be the other one of an object. */
struct sought {
	uint32_t name;
	uint32_t index; /* of the object */
	uint32_t pair;	/* 0 = not known */
	bool is_shared; /* of an eventfd both have the same, by fork */
	bool reads;	/* the object is the end of a pipe to read from */
	bool writes;	/* it is the other one */
};

static struct sought sought_for(struct ends *ends, uint32_t name, const struct object *object)
{
	struct sought sought = {
		.name = name,
		.index = (uint32_t)(object - ends->state->objects),
		.pair = object->pair,
		.is_shared = object->role == FD_ROLE_EVENTFD,
	};
	bool knows = false;

	for (const struct end *at = first_named(ends, name);
	     at && at < ends->all + ends->count && at->name == name; at++) {
		knows |= at->reads;
		sought.reads |= at->reads && at->object == sought.index;
		sought.writes |= at->writes && at->object == sought.index;
	}
	sought.writes = sought.writes && knows && !sought.reads;
	return sought;
}

static bool is_sought(const struct sought *sought, const struct end *end)
{
	return (end->object == sought->index) == sought->is_shared &&
	       (!sought->pair || end->object == sought->pair) && !(sought->reads && end->reads) &&
	       (!sought->writes || end->reads);
}

/*
 * The processes beside 'own' that have something of that name, but for the object itself. Where there are any, a
 * thread of 'own' may end the wait of another one as well.
 */
static void find_named(struct ends *ends, uint32_t name, const struct object *object,
		       const struct process *own, struct others *out)
{
	const struct sought sought = sought_for(ends, name, object);
	bool own_has = false;

	for (const struct end *at = first_named(ends, name);
	     at && at < ends->all + ends->count && at->name == name; at++) {
		if (!is_sought(&sought, at))
			continue;
		if (at->process == own)
			own_has = own->refs > 1;
		else
			add_other(out, at->process);
	}
	if (own_has && out->count)
		add_other(out, own);
}

/* The number at the end of "unix PATH peer PID"; 0 = there is none. */
static int32_t peer_pid(const char *name)
{
	const char *peer = strncmp(name, "unix", 4) == 0 ? strstr(name, " peer ") : NULL;
	const char *more;

	while (peer && (more = strstr(peer + 1, " peer ")))
		peer = more;
	return peer ? (int32_t)strtol(peer + 6, NULL, 10) : 0;
}

/* Who is at the other end by its number, if it has a socket whose other end is this process. */
static const struct process *peer_of(struct state *state, const struct process *own,
				     const char *name)
{
	int32_t pid = peer_pid(name);
	const struct process *process =
		pid > 0 && pid != own->tgid ? process_find(state, pid) : NULL;

	for (size_t i = 0; process && i < process->fds.cap; i++) {
		const struct object *object =
			process->fds.used[i] ? fds_object(state, process->fds.slots[i].value)
					     : NULL;

		if (object && peer_pid(names_text(&state->tl->names, object->name)) == own->tgid)
			return process;
	}
	return NULL;
}

/* The name of the other end; 0 = there is none. */
static uint32_t other_name(struct state *state, const struct object *object)
{
	const char *name = names_text(&state->tl->names, object->name);
	struct ends_name ends = { 0 };
	AUTO_FREE char *text = NULL;

	if (strncmp(name, MASTER_OF, sizeof(MASTER_OF) - 1) == 0)
		text = xstrdup(name + sizeof(MASTER_OF) - 1);
	else if (is_terminal(name))
		text = xasprintf("%s%s", MASTER_OF, name);
	else if (!has_two_names(name))
		return object->name;
	else if (ends_of_name(name, &ends))
		text = xasprintf("%.*s%s->%.*s", (int)ends.kind, name,
				 name + ends.kind + ends.left + 2, (int)ends.left,
				 name + ends.kind);
	return text ? names_add(&state->tl->names, text, 4096) : 0;
}

static bool has_object(const struct state *state, const struct process *process, const char *name)
{
	for (size_t i = 0; i < process->fds.cap; i++) {
		const struct object *object =
			process->fds.used[i] ? fds_object(state, process->fds.slots[i].value)
					     : NULL;

		if (object && strcmp(names_text(&state->tl->names, object->name), name) == 0)
			return true;
	}
	return false;
}

bool ends_at_parent(struct state *state, const struct process *own, const struct object *object,
		    const struct others *others)
{
	const struct thread *main = state_living(state, own->tgid);
	uint32_t up = main ? main->tl->parent : SLOT_NONE;

	return others->count == 1 && up < state->tl->thread_count &&
	       others->process[0] == state->threads[up]->process &&
	       object->role != FD_ROLE_ACCEPTED;
}

/* Its number is that of who listened, which has forked since: of the accepted one's process the parent, or its parent. */
static const struct process *client_of_parent(struct state *state, const struct process *own,
					      const char *name)
{
	const char *peer = strstr(name, " peer ");
	const struct process *client = process_find(state, peer_pid(name));
	const struct thread *up = state_living(state, own->tgid);

	for (int i = 0; client && peer && up && i < GENERATIONS; i++) {
		AUTO_FREE char *text = NULL;

		up = up->tl->parent < state->tl->thread_count ? state->threads[up->tl->parent]
							      : NULL;
		if (!up)
			break;
		text = xasprintf("%.*s peer %d", (int)(peer - name), name, up->tl->tgid);
		if (has_object(state, client, text))
			return client;
	}
	return NULL;
}

/* Each connection to one path has the same name at its clients: that of who listens there, and no end of one another's. */
static void find_forked(struct ends *ends, const struct process *own, const char *name,
			struct others *out)
{
	const char *peer = strstr(name, " peer ");
	AUTO_FREE char *text = xasprintf("%.*s peer %d", (int)(peer - name), name, own->tgid);
	uint32_t id = names_add(&ends->state->tl->names, text, 4096);
	const struct process *client;

	for (const struct end *at = first_named(ends, id);
	     at && at < ends->all + ends->count && at->name == id; at++) {
		if (at->process != own)
			add_other(out, at->process);
	}
	client = out->count ? NULL : client_of_parent(ends->state, own, name);
	if (client)
		add_other(out, client);
	else
		out->name = id;
}

/* A socket of a path: who made the other end, or else, without a path, nobody is known. */
static bool find_peer(struct ends *ends, const struct process *own, const char *name,
		      struct others *out)
{
	const struct process *peer = peer_of(ends->state, own, name);

	if (peer)
		add_other(out, peer);
	else if (strncmp(name, "unix /", 6) != 0 && strncmp(name, "unix @", 6) != 0)
		return true;
	else if (peer_pid(name) > 0 && peer_pid(name) != own->tgid)
		find_forked(ends, own, name, out);
	else
		return false;
	return true;
}

static void find_listeners(struct ends *ends, const struct process *own, const char *name,
			   struct others *out);

static bool is_loopback(const char *host)
{
	return strncmp(host, "127.", 4) == 0 || strncmp(host, "[::1]:", 6) == 0;
}

/* Who listens, or takes datagrams, at the address that the socket is connected to: 'kind' is "tcp listen", "udp". */
static void find_bound(struct ends *ends, const struct process *own, const char *name,
		       const char *kind, struct others *out)
{
	const char *to = strstr(name, "->"), *port = strrchr(name, ':');
	char text[192];

	if (!to || !port || port < to || !is_loopback(to + 2))
		return;
	(void)snprintf(text, sizeof(text), "%s %s", kind, to + 2);
	find_listeners(ends, own, text, out);
	(void)snprintf(text, sizeof(text), "%s *%s", kind, port);
	find_listeners(ends, own, text, out);
	(void)snprintf(text, sizeof(text), "%s [::]%s", kind, port);
	find_listeners(ends, own, text, out);
}

void ends_others(struct ends *ends, const struct process *own, const struct object *object,
		 struct others *out)
{
	const char *name = names_text(&ends->state->tl->names, object->name);
	/* Who listens may have forked since, and its number be that of the process itself. */
	bool is_unix = strncmp(name, "unix", 4) == 0 && !object->pair && !has_two_names(name);
	uint32_t other;

	*out = (struct others){ 0 };
	out->name = object->name;
	if (!has_ends(name, object->role) || object->role == FD_ROLE_LISTEN ||
	    (is_unix && find_peer(ends, own, name, out)))
		return;
	other = other_name(ends->state, object);
	out->name = other;
	if (other)
		find_named(ends, other, object, own, out);
	if (!out->count && strncmp(name, "udp ", 4) == 0)
		find_bound(ends, own, name, "udp", out);
}

/* "tcp listen *:80" or "tcp listen 127.0.0.1:80" takes what is sent to 127.0.0.1:80. */
static void find_listeners(struct ends *ends, const struct process *own, const char *name,
			   struct others *out)
{
	uint32_t id = names_add(&ends->state->tl->names, name, 4096);

	for (const struct end *at = first_named(ends, id);
	     at && at < ends->all + ends->count && at->name == id; at++) {
		if (at->process != own)
			add_other(out, at->process);
	}
}

void ends_listeners(struct ends *ends, const struct process *own, const char *name,
		    struct others *out)
{
	char text[192];

	*out = (struct others){ 0 };
	if (strncmp(name, "unix ", 5) == 0) {
		(void)snprintf(text, sizeof(text), "unix listen %s", name + 5);
		find_listeners(ends, own, text, out);
		return;
	}
	if (strncmp(name, "tcp ", 4) == 0)
		find_bound(ends, own, name, "tcp listen", out);
}

void ends_sharers(struct ends *ends, const struct process *own, const struct object *object,
		  struct others *out)
{
	const struct state *state = ends->state;

	*out = (struct others){ .name = object->name };
	for (size_t i = 0; i < state->processes.cap; i++) {
		const struct process *process =
			state->processes.used[i]
				? (struct process *)(uintptr_t)state->processes.slots[i].value
				: NULL;

		if (process && process != own && process_has(state, process, object->name))
			add_other(out, process);
	}
	if (out->count && own->refs > 1)
		add_other(out, own);
}

void ends_fini(struct ends *ends)
{
	free(ends->all);
}
