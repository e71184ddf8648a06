/*
 * names.c - load the BPF program, drain its ring, turn raw fields into names.
 *
 * The program wakes the thread only when a quarter of the ring is full; otherwise
 * the thread looks four times a second. Records are gathered and written with one
 * write() per look, so that a killed recorder leaves whole records but for the last.
 */
#include "record/names.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/thread.h"
#include "event/event.h"
#include "guard/caps.h"
#include "record/blocked.h"
#include "record/bpf/raw.h"
#include "record/bpf_parts.h"
#include "record/clock.h"
#include "record/exits.h"
#include "proc/fdname.h"
#include "proc/proc.h"
#include "record/klocks.h"
#include "record/named_calls.h"
#include "record/names_load.h"
#include "record/names_log.h"
#include "record/quotas.h"
#include "record/throttles.h"
#include "record/raw_text.h"
#include "record/recent.h"
#include "record/share.h"
#include "wire/wire.h"

#define LOOK_MS	     250
#define LEAN_LOOK_MS 50
#define LANE_WAKE    (1u << 14) /* calls that threads of a CPU block in: that many are taken at once */
#define NAPS	     2		/* seen of the command, before its looks are looked at */
#define BATCH_BYTES  (64u << 10)
#define LOG_LEAST    (256u << 10) /* of records in memory */
#define LOOK_PART    500u	  /* the looks at all threads take this part of the time, at most */
#define MS_NS	     UINT64_C(1000000)
#if defined(__x86_64__) || defined(__aarch64__)
#define CALLS_ARE_KNOWN true /* bpf/calls.h: CALL_IS_KNOWN */
#else
#define CALLS_ARE_KNOWN false
#endif
#define ROLES_MAX    (1u << 20) /* sockets remembered; then forgotten, all at once */
#define STATE_LISTEN 10		/* TCP_LISTEN; unix sockets use it too */
#define STATE_CLOSE  7		/* TCP_CLOSE */
#define STATE_ASKED  2		/* TCP_SYN_SENT */

struct names_recorder {
	struct bpf_object *object;
	struct bpf_link *link;	 /* to the exit of all calls; NULL = not that way */
	struct exits exits;	 /* or to the exits of single ones */
	const char *dir;	 /* a view, while it starts; NULL = all is kept in memory */
	uint64_t keep_bytes;	 /* there, with what the kernel takes for it */
	uint64_t most_bytes;	 /* there, of records */
	bool is_lean;		 /* or to none: the link is to the switch */
	bool names_waits;	 /* what a thread blocks on has its name, whoever opened it when */
	bool turns_lean;	 /* both, of which that rests: names_turn_lean() */
	struct blocked *blocked; /* of lean events */
	struct bpf_link *births; /* to threads that begin; NULL = nobody tells their numbers */
	int threads_fd;		 /* the link of the look at all threads; -1 = there is none */
	struct ring_buffer *ring;
	struct raw_control *control; /* mapped; the program writes 'lost' and the root */
	struct klocks *locks;	     /* what kernel locks were; NULL = nobody tells, */
	struct err no_locks;	     /* and why */
	struct err no_threads;	     /* why threads_fd is -1 */
	struct throttles *throttles; /* limits that hold back; NULL = nobody tells */
	struct names_log log;
	pthread_mutex_t mutex; /* of what the thread has, and a snapshot takes */
	int stop_fd;	       /* eventfd: readable = end */
	int look_fd;	       /* eventfd: readable = look at once */
	pthread_t thread;
	bool running;
	bool ended;
	bool sees_makers, sees_looks;	  /* of the thread: they are looked at, too */
	size_t first_maker, first_look;	  /* of the exits */
	_Atomic int32_t tid;		  /* written by the thread, once */
	_Atomic uint64_t count;		  /* written by the thread */
	_Atomic uint64_t unwritten;	  /* written by the thread */
	_Atomic uint64_t unwritten_calls; /* written by the thread, at its end */
	uint64_t looked_ns;		  /* of the thread */
	uint64_t look_cpu_ns; /* that the last look at all threads took; of the thread */

	/* Of the thread alone: */
	struct map roles; /* socket inode to enum fd_role, as calls taught it */
	struct map ports; /* of TCP, that somebody listens on; of lean events */
	struct fdname name;
	char link_text[RAW_TEXT_MAX + RAW_NAME_MAX + 32];
	char path[RAW_UNIX_SLOT];
	uint8_t batch[BATCH_BYTES];
	size_t batch_bytes;
	uint64_t batch_count;
};

static void make_path(struct names_recorder *recorder, const struct raw_name *raw)
{
	static const char deleted[] = " (deleted)", cut[] = "...";
	char *link = recorder->link_text;
	size_t lead = raw->flags & RAW_CUT ? sizeof(cut) - 1 : 0;

	memcpy(link, cut, lead);
	raw_path(raw->text, raw->text_bytes, link + lead,
		 sizeof(recorder->link_text) - lead - sizeof(deleted));
	if (raw->flags & RAW_DELETED)
		strcat(link, deleted); /* room was left above */
}

/*
 * Of a socket that nobody was seen to make: as for those of the state dump. Whose own port is one that is
 * listened on was accepted there, and so was a unix socket that has an address of its own.
 */
static uint8_t role_of_blocked(struct names_recorder *recorder, const struct raw_name *raw)
{
	if (raw->type != SOCK_STREAM)
		return FD_ROLE_SOCKET;
	if (raw->kind == RAW_KIND_UNIX && raw->flags & RAW_CONNECTED)
		return raw->local_bytes ? FD_ROLE_ACCEPTED : FD_ROLE_CONNECTED;
	if (raw->kind != RAW_KIND_SOCKET || raw->state == STATE_CLOSE)
		return FD_ROLE_SOCKET;
	return map_find(&recorder->ports, raw->local_port) ? FD_ROLE_ACCEPTED : FD_ROLE_CONNECTED;
}

/* What calls taught about the socket, this one included. */
static uint8_t role_of_socket(struct names_recorder *recorder, const struct raw_name *raw)
{
	uint64_t *known = map_find(&recorder->roles, raw->inode);
	uint8_t role = FD_ROLE_SOCKET;

	if (recorder->is_lean && raw->state == STATE_LISTEN && raw->kind == RAW_KIND_SOCKET)
		map_put(&recorder->ports, raw->local_port, 1);

	if (raw->call == RAW_CALL_ACCEPT)
		role = FD_ROLE_ACCEPTED;
	else if (raw->call == RAW_CALL_CONNECT)
		role = FD_ROLE_CONNECTED;
	else if (raw->state == STATE_LISTEN)
		role = FD_ROLE_LISTEN;
	else if (raw->call == RAW_CALL_BLOCKED && !known)
		role = role_of_blocked(recorder, raw);
	else if (raw->call == RAW_CALL_DUP || raw->call == RAW_CALL_BLOCKED ||
		 raw->call == RAW_CALL_FCNTL || raw->call == RAW_CALL_WATCHED)
		return known ? *known : FD_ROLE_SOCKET;

	if (recorder->roles.count >= ROLES_MAX)
		map_fini(&recorder->roles);
	map_put(&recorder->roles, raw->inode, role);
	return role;
}

/* connect() goes on, or is left to itself, and nobody has answered. */
static bool is_connecting(const struct raw_name *raw)
{
	return raw->state == STATE_ASKED && raw->type == SOCK_STREAM &&
	       (raw->family == AF_INET || raw->family == AF_INET6);
}

static struct fdname_socket make_socket(struct names_recorder *recorder, const struct raw_name *raw)
{
	struct fdname_socket socket = {
		.family = raw->family,
		.type = raw->type,
		.protocol = raw->protocol,
		.listens = raw->state == STATE_LISTEN &&
			   (raw->type == SOCK_STREAM || raw->type == SOCK_SEQPACKET),
		.peer_pid = raw->pid,
		.inode = raw->inode,
		.peer_inode = raw->peer_inode,
		.local_port = raw->local_port,
		.remote_port = raw->remote_port,
		.path = recorder->path,
	};

	memcpy(socket.local, raw->local, sizeof(socket.local));
	memcpy(socket.remote, raw->remote, sizeof(socket.remote));
	socket.role = role_of_socket(recorder, raw);
	if (is_connecting(raw))
		socket.role = FD_ROLE_CONNECTING; /* for now: it is not kept */
	recorder->path[0] = '\0';
	if (raw->kind == RAW_KIND_UNIX && raw->text_bytes == 2 * RAW_UNIX_SLOT &&
	    !raw_unix_path(raw->text, raw->local_bytes, recorder->path))
		(void)raw_unix_path(raw->text + RAW_UNIX_SLOT, raw->remote_bytes, recorder->path);
	return socket;
}

/* Fill recorder->name from a record whose text_bytes are there. */
static void make_name(struct names_recorder *recorder, const struct raw_name *raw)
{
	char *link = recorder->link_text;
	size_t room = sizeof(recorder->link_text);
	int text = (int)strnlen(raw->text, raw->text_bytes);
	struct fdname_object object = {
		.link = link,
		.mode = raw->mode,
		.major = raw->rdev >> 20,
		.pid = raw->pid,
		.pts = raw->pts,
	};
	struct fdname_socket socket;

	switch (raw->kind) {
	case RAW_KIND_ANON:
		snprintf(link, room, "anon_inode:%.*s", text, raw->text);
		break;
	case RAW_KIND_PIPE:
		snprintf(link, room, "pipe:[%llu]", raw->inode);
		break;
	case RAW_KIND_PIDFD:
		snprintf(link, room, "anon_inode:[pidfd]");
		break;
	case RAW_KIND_NS:
		snprintf(link, room, "%.*s:[%llu]", text, raw->text, raw->inode);
		break;
	case RAW_KIND_SOCKET:
	case RAW_KIND_UNIX:
		snprintf(link, room, "socket:[%llu]", raw->inode);
		socket = make_socket(recorder, raw);
		object.socket = &socket;
		break;
	default:
		make_path(recorder, raw);
	}
	fdname_make(&object, &recorder->name);
}

static void flush(struct names_recorder *recorder)
{
	bool is_kept = names_log_write(&recorder->log, recorder->batch, recorder->batch_bytes,
				       clock_mono_ns());

	/* Relaxed: plain counters, read by others for display only. */
	atomic_fetch_add_explicit(is_kept ? &recorder->count : &recorder->unwritten,
				  recorder->batch_count, memory_order_relaxed);
	recorder->batch_bytes = 0;
	recorder->batch_count = 0;
}

static void names_append(struct names_recorder *recorder, struct wire_name wire, const char *name)
{
	size_t padded;
	uint8_t *to;

	wire.magic = WIRE_NAME_MAGIC;
	wire.name_bytes = (uint32_t)strlen(name);
	padded = (wire.name_bytes + 7u) & ~(size_t)7;
	if (sizeof(wire) + padded > BATCH_BYTES - recorder->batch_bytes)
		flush(recorder);
	to = recorder->batch + recorder->batch_bytes;
	memcpy(to, &wire, sizeof(wire));
	memset(to + sizeof(wire), 0, padded);
	memcpy(to + sizeof(wire), name, wire.name_bytes);
	recorder->batch_bytes += sizeof(wire) + padded;
	recorder->batch_count++;
}

static void append_name(struct names_recorder *recorder, const struct raw_name *raw)
{
	const struct fdname *name = &recorder->name;
	struct wire_name wire = {
		.mono_ns = raw->mono_ns,
		.inode = name->inode,
		.tgid = (int32_t)raw->tgid,
		.tid = (int32_t)raw->tid,
		.fd = raw->fd,
		.role = name->role | (raw->flags & RAW_CLOSES ? FD_CLOSES : FD_STAYS),
	};
	enum fd_watch watch = raw_watch(raw, &wire);

	if (wire.fd < 0)
		wire.role = FD_ROLE_UNKNOWN;
	wire.role |= (uint32_t)watch << FD_WATCH_SHIFT;
	names_append(recorder, wire, name->text);
}

/* Called by klocks_look(). */
static void take_lock(void *context, const struct klock_told *told)
{
	struct wire_name wire = {
		.mono_ns = told->mono_ns,
		.inode = told->lock,
		.tgid = told->tgid,
		.tid = told->tid,
		.fd = fd_of_owner(told->owner),
		.role = FD_LOCK << FD_WATCH_SHIFT,
	};

	names_append(context, wire, told->text);
}

/* Called by throttles_look(). */
static void take_throttle(void *context, struct wire_name wire, const char *name)
{
	names_append(context, wire, name);
}

/* Called by libbpf for each record. */
static int names_take_record(void *context, void *data, size_t bytes)
{
	const struct raw_name *raw = data; /* the ring aligns records to 8 bytes */
	struct names_recorder *recorder = context;
	size_t head = offsetof(struct raw_name, text);

	if (bytes < head || raw->text_bytes > bytes - head)
		return 0;
	if (!raw_text(raw, recorder->name.text, sizeof(recorder->name.text)))
		make_name(recorder, raw);
	append_name(recorder, raw);
	return 0;
}

static void look_from(struct names_recorder *recorder, size_t from, size_t until)
{
	struct bpf_program *program =
		bpf_object__find_program_by_name(recorder->object, NAMES_SINGLE_CALLS);

	exits_add_program(&recorder->exits, from, until, bpf_program__fd(program));
}

/* The command sleeps now and then, or somebody seems to poll: what is not found in between is of interest. */
static void look_at_more(struct names_recorder *recorder)
{
	const struct raw_control *control = recorder->control;
	bool naps = __atomic_load_n(&control->naps, __ATOMIC_RELAXED) >= NAPS;
	bool asks = naps || __atomic_load_n(&control->asked_ns, __ATOMIC_RELAXED);

	if (asks && !recorder->sees_makers)
		look_from(recorder, recorder->first_maker, recorder->first_look);
	if (naps && !recorder->sees_looks)
		look_from(recorder, recorder->first_look, recorder->exits.count);
	recorder->sees_makers |= asks;
	recorder->sees_looks |= naps;
}

/* Where the recorder is always on, the looks take 0.2 % of a CPU at most. */
static uint64_t look_every_ns(const struct names_recorder *recorder)
{
	uint64_t cost_ns = recorder->keep_bytes ? LOOK_PART * recorder->look_cpu_ns : 0;

	return cost_ns > LOOK_MS * MS_NS ? cost_ns : LOOK_MS * MS_NS;
}

/* Calls that threads block in come by the thousand: threads are looked at as often as ever. */
static bool is_time_to_look(struct names_recorder *recorder, bool at_once)
{
	uint64_t now_ns = clock_mono_ns();

	if (recorder->blocked)
		blocked_look(recorder->blocked);
	if (!at_once && (recorder->blocked || recorder->keep_bytes) &&
	    now_ns - recorder->looked_ns < look_every_ns(recorder))
		return false;
	recorder->looked_ns = now_ns;
	return true;
}

static void look_at_threads(struct names_recorder *recorder)
{
	uint64_t before_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

	bpf_parts_iterate(recorder->threads_fd);
	recorder->control->tells_sleepers = 0; /* they were told of */
	recorder->look_cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
	if (!recorder->is_lean)
		look_at_more(recorder);
}

/* Look at all threads, and hand on what the programs tell. The ring is empty: a look tells what it tells once. */
static void look_at_all(struct names_recorder *recorder, bool is_last)
{
	look_at_threads(recorder);
	(void)ring_buffer__consume(recorder->ring);
	if (recorder->locks)
		klocks_look(recorder->locks, is_last);
	if (recorder->throttles)
		throttles_look(recorder->throttles, recorder->control->quotas);
	flush(recorder);
}

static void *drain(void *context)
{
	struct names_recorder *recorder = context;
	struct pollfd fds[] = {
		{ .fd = ring_buffer__epoll_fd(recorder->ring), .events = POLLIN },
		{ .fd = recorder->stop_fd, .events = POLLIN },
		{ .fd = recorder->locks ? klocks_fd(recorder->locks) : -1, .events = POLLIN },
		{ .fd = recorder->throttles ? throttles_fd(recorder->throttles) : -1,
		  .events = POLLIN },
		{ .fd = recorder->blocked ? blocked_fd(recorder->blocked) : -1, .events = POLLIN },
		{ .fd = recorder->look_fd, .events = POLLIN },
	};
	bool stop = false, at_once;
	eventfd_t asked;

	share_raise();
	guard_caps_helper(guard_caps_bpf());
	/* Pairs with the acquire in names_tid(). */
	atomic_store_explicit(&recorder->tid, (int32_t)syscall(SYS_gettid), memory_order_release);
	while (!stop) {
		/* An error is a time-out too. */
		(void)poll(fds, ARRAY_LEN(fds),
			   recorder->blocked && !recorder->keep_bytes ? LEAN_LOOK_MS : LOOK_MS);
		stop = fds[1].revents & POLLIN;
		at_once = stop || (fds[2].revents | fds[3].revents) & POLLIN ||
			  eventfd_read(recorder->look_fd, &asked) == 0;
		pthread_mutex_lock(&recorder->mutex);
		(void)ring_buffer__consume(recorder->ring);
		if (is_time_to_look(recorder, at_once))
			look_at_all(recorder, stop);
		pthread_mutex_unlock(&recorder->mutex);
	}
	if (recorder->blocked)
		atomic_store_explicit(&recorder->unwritten_calls,
				      blocked_unwritten(recorder->blocked),
				      memory_order_relaxed); /* a plain counter */
	return NULL;
}

/* Whoever cannot have that is not told what such a call does not find. */
static void add_for_later(struct names_recorder *recorder, const struct named_call *call)
{
	struct err ignored = { 0 };

	if (call->call < RAW_CALL_POLL)
		(void)exits_add(&recorder->exits, call->name, -1, &ignored);
}

static int attach_to_single_calls(struct names_recorder *recorder, struct bpf_program *program,
				  struct err *err)
{
	int rc = exits_open(&recorder->exits, err);

	for (size_t i = 0; rc == 0 && i < named_calls_opening.count; i++) {
		if (named_calls_opening.at[i].call >= RAW_CALL_POLL)
			continue; /* not at its exit */
		rc = exits_add(&recorder->exits, named_calls_opening.at[i].name,
			       bpf_program__fd(program), err);
		if (rc == -ENOENT)
			rc = 0; /* nobody can make that call */
	}
	recorder->first_maker = recorder->exits.count;
	for (size_t i = 0; rc == 0 && i < named_calls_making.count; i++)
		add_for_later(recorder, &named_calls_making.at[i]);
	recorder->first_look = recorder->exits.count;
	for (size_t i = 0; rc == 0 && i < named_calls_looking.count; i++)
		add_for_later(recorder, &named_calls_looking.at[i]);
	if (rc == 0)
		exits_hold(&recorder->exits, &recorder->control->ended);
	return rc;
}

static int attach_to_all_calls(struct names_recorder *recorder, struct bpf_program *program,
			       struct err *err)
{
	struct bpf_link *link = bpf_program__attach(program);
	int rc = (int)libbpf_get_error(link);

	if (rc)
		return names_load_failed(err, rc);
	recorder->link = link;
	return 0;
}

/* It is told of no call as such: only of threads that go to sleep. */
static int attach_to_switches(struct names_recorder *recorder, struct bpf_program *program,
			      struct err *err)
{
	int rc = blocked_new(recorder->object, recorder->dir, &recorder->blocked, err);

	if (rc == 0)
		rc = attach_to_all_calls(recorder, program, err);
	return rc;
}

/* How the program gets to see calls: the first that works. */
static const struct way {
	const char *program;
	bool with_threads;
	int (*attach)(struct names_recorder *, struct bpf_program *, struct err *);
	const char *also;
} ways[] = {
	{ NAMES_SINGLE_CALLS, true, attach_to_single_calls },
	{ "on_any_exit", false, attach_to_all_calls }, /* costs every call of the machine */
};

static const struct way lean_way = { NAMES_BLOCKS, true, attach_to_switches };

/* Of what was opened before anybody told, or came some other way. */
static int attach_to_calls_and_blocks(struct names_recorder *recorder, struct bpf_program *program,
				      struct err *err)
{
	struct bpf_program *blocks =
		bpf_object__find_program_by_name(recorder->object, NAMES_OF_BLOCKS);
	int rc = attach_to_single_calls(recorder, program, err);

	return rc < 0 ? rc : attach_to_all_calls(recorder, blocks, err);
}

static const struct way kept_way = { NAMES_SINGLE_CALLS, true, attach_to_calls_and_blocks,
				     NAMES_OF_BLOCKS };

/* First the one, and later the other: that rests until then. */
static int attach_to_both(struct names_recorder *recorder, struct bpf_program *program,
			  struct err *err)
{
	struct bpf_program *blocks =
		bpf_object__find_program_by_name(recorder->object, NAMES_BLOCKS);
	int rc;

	recorder->control->rests = recorder->keep_bytes ? RAW_RESTS_CALLS : RAW_RESTS_ALL;
	rc = attach_to_single_calls(recorder, program, err);
	if (rc == 0)
		rc = attach_to_switches(recorder, blocks, err);
	return rc;
}

static const struct way both_ways = { NAMES_SINGLE_CALLS, true, attach_to_both, NAMES_BLOCKS };

/* Without it nobody tells which thread of a container is which. */
static void attach_to_births(struct names_recorder *recorder)
{
	struct bpf_program *program =
		bpf_object__find_program_by_name(recorder->object, NAMES_BIRTHS);
	struct bpf_link *link =
		program && bpf_program__fd(program) >= 0 ? bpf_program__attach(program) : NULL;

	recorder->births = libbpf_get_error(link) ? NULL : link;
}

static uint32_t size_of(const struct bpf_object *object, const char *name)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, name);

	return map ? bpf_map__max_entries(map) : 0;
}

/* When a quarter of a ring is full. */
static void set_wakes(struct names_recorder *recorder)
{
	uint32_t cpus = size_of(recorder->object, "lanes");
	uint32_t chunks = cpus ? size_of(recorder->object, "chunks") / cpus : 0;
	uint32_t wake = chunks * RAW_CHUNK / 4;

	recorder->control->wake_bytes = size_of(recorder->object, "ring") / 4;
	recorder->control->lane_chunks = chunks;
	recorder->control->lane_wake = wake < LANE_WAKE ? wake : LANE_WAKE;
}

static int prepare(struct names_recorder *recorder, struct err *err)
{
	struct bpf_map *ring = bpf_object__find_map_by_name(recorder->object, "ring");

	recorder->control = bpf_parts_map(recorder->object, sizeof(*recorder->control));
	if (!recorder->control || !ring)
		return err_set(err, -EINVAL, "the data of the BPF program cannot be mapped");
	names_set_control(recorder->control);
	set_wakes(recorder);
	/* Of a recording the state dump has them. */
	recorder->control->tells_sleepers = recorder->keep_bytes && recorder->is_lean;
	recorder->ring = ring_buffer__new(bpf_map__fd(ring), names_take_record, recorder, NULL);
	if (!recorder->ring)
		return err_set(err, -errno, "no BPF ring buffer: %s", strerror(errno));
	return 0;
}

/* Undo prepare() and names_load(). */
static void unload(struct names_recorder *recorder)
{
	ring_buffer__free(recorder->ring);
	recorder->ring = NULL;
	bpf_object__close(recorder->object);
	recorder->object = NULL;
	if (recorder->control)
		(void)munmap(recorder->control, sizeof(*recorder->control)); /* cannot fail */
	recorder->control = NULL;
}

static int try_way(struct names_recorder *recorder, const struct way *way, struct err *err)
{
	const struct names_load what = { way->program, way->with_threads, recorder->keep_bytes,
					 way->also };
	int rc = names_load(&what, &recorder->object, &recorder->no_threads, err);

	if (rc == 0)
		rc = prepare(recorder, err);
	if (rc == 0)
		rc = way->attach(recorder,
				 bpf_object__find_program_by_name(recorder->object, way->program),
				 err);
	if (rc < 0) {
		if (recorder->link)
			(void)bpf_link__destroy(recorder->link);
		recorder->link = NULL;
		blocked_free(recorder->blocked);
		recorder->blocked = NULL;
		exits_close(&recorder->exits);
		unload(recorder);
	}
	return rc;
}

static int attach_lean(struct names_recorder *recorder, struct err *err)
{
	return CALLS_ARE_KNOWN ? try_way(recorder, &lean_way, err)
			       : err_set(err, -ENOTSUP,
					 "the registers of this machine do not show system calls");
}

static int attach(struct names_recorder *recorder, struct err *err)
{
	int rc = -ENOTSUP, probe;

	if (recorder->is_lean)
		rc = attach_lean(recorder, err);
	else if (recorder->turns_lean && CALLS_ARE_KNOWN)
		rc = try_way(recorder, &both_ways, err);
	recorder->turns_lean = recorder->turns_lean && rc >= 0;
	recorder->names_waits = recorder->keep_bytes && rc >= 0;
	if (!recorder->is_lean && rc < 0 && recorder->keep_bytes && CALLS_ARE_KNOWN)
		recorder->names_waits = (rc = try_way(recorder, &kept_way, err)) >= 0;
	for (size_t i = 0; !recorder->is_lean && rc < 0 && i < ARRAY_LEN(ways); i++)
		rc = try_way(recorder, &ways[i], err);
	if (rc < 0)
		return rc;
	recorder->threads_fd =
		names_attach_threads(recorder->object, recorder->is_lean, &recorder->no_threads);
	attach_to_births(recorder);
	probe = open("/", O_PATH | O_CLOEXEC); /* the program learns our root from it */
	mem_close_fd(&probe);
	return 0;
}

/* What the maps of the programs do not take is for records. */
static void share_memory(struct names_recorder *recorder)
{
	uint64_t kernel_bytes = bpf_parts_memory();
	uint64_t left =
		recorder->keep_bytes > kernel_bytes ? recorder->keep_bytes - kernel_bytes : 0;

	left = left > LOG_LEAST ? left : LOG_LEAST;
	recorder->most_bytes = left;
	names_log_keep(&recorder->log, recorder->blocked ? left / 4 : left);
	if (recorder->blocked)
		blocked_keep(recorder->blocked, left - left / 4);
}

static int start_thread(struct names_recorder *recorder, struct err *err)
{
	int rc;

	recorder->stop_fd = eventfd(0, EFD_CLOEXEC);
	recorder->look_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (recorder->stop_fd < 0 || recorder->look_fd < 0)
		return err_set(err, -errno, "eventfd: %s", strerror(errno));
	rc = thread_start_quiet(&recorder->thread, NULL, drain, recorder);
	if (rc)
		return err_set(err, -rc, "cannot start the thread for names: %s", strerror(rc));
	recorder->running = true;
	return 0;
}

static int start(struct names_recorder *recorder, uint64_t dispatch,
		 struct names_recorder **out_recorder, struct err *err)
{
	int rc = recorder->dir ? names_log_open(&recorder->log, recorder->dir, err) : 0;

	if (rc >= 0)
		rc = attach(recorder, err);
	/* These two are good to have, where the kernel takes them. */
	if (rc >= 0 && klocks_start(take_lock, recorder, recorder->keep_bytes, &recorder->locks,
				    &recorder->no_locks) < 0)
		recorder->locks = NULL;
	if (rc >= 0)
		recorder->throttles = throttles_start(take_throttle, recorder, quotas_any(),
						      dispatch, recorder->keep_bytes);
	if (rc >= 0 && !recorder->dir)
		share_memory(recorder);
	if (rc >= 0)
		rc = start_thread(recorder, err);
	if (rc < 0) {
		names_stop(recorder);
		return rc;
	}
	*out_recorder = recorder;
	return 0;
}

static struct names_recorder *names_new(enum names_of of)
{
	struct names_recorder *recorder = xcalloc(1, sizeof(*recorder));

	recorder->is_lean = of == NAMES_OF_WAITS;
	recorder->turns_lean = of == NAMES_OF_CALLS_FIRST;
	recorder->log = NAMES_LOG_NONE;
	recorder->stop_fd = recorder->look_fd = recorder->threads_fd = -1;
	recorder->exits = EXITS_NONE;
	(void)pthread_mutex_init(&recorder->mutex, NULL); /* cannot fail on Linux */
	return recorder;
}

int names_start(const char *dir, uint64_t dispatch, enum names_of of,
		struct names_recorder **out_recorder, struct err *err)
{
	struct names_recorder *recorder = names_new(of);

	recorder->dir = dir;
	return start(recorder, dispatch, out_recorder, err);
}

int names_keep(uint64_t keep_bytes, enum names_of of, struct names_recorder **out_recorder,
	       struct err *err)
{
	struct names_recorder *recorder = names_new(of);

	recorder->keep_bytes = keep_bytes;
	return start(recorder, 0, out_recorder, err);
}

void names_begin(struct names_recorder *recorder)
{
	uint64_t begun_ns;

	if (!recorder)
		return;
	begun_ns = clock_mono_ns();
	__atomic_store_n(&recorder->control->begun_ns, begun_ns, __ATOMIC_RELAXED);
	if (recorder->locks)
		klocks_begin(recorder->locks, begun_ns);
	(void)eventfd_write(recorder->look_fd, 1); /* else it looks somewhat later */
}

bool names_turn_lean(struct names_recorder *recorder)
{
	if (!recorder->turns_lean)
		return false;
	pthread_mutex_lock(&recorder->mutex);
	recorder->is_lean = true;
	exits_close(&recorder->exits);
	__atomic_store_n(&recorder->control->rests, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&recorder->mutex);
	return true;
}

int names_rest(struct names_recorder *recorder, bool rests, struct err *err)
{
	struct bpf_program *blocks =
		bpf_object__find_program_by_name(recorder->object, NAMES_BLOCKS);

	__atomic_store_n(&recorder->control->rests, rests ? RAW_RESTS_ALL : 0, __ATOMIC_RELAXED);
	if (!blocks || rests == !recorder->link)
		return 0;
	if (!rests)
		return attach_to_all_calls(recorder, blocks, err);
	(void)bpf_link__destroy(recorder->link); /* the kernel detaches in any case */
	recorder->link = NULL;
	return 0;
}

/* What was told of those that sleep on is told anew, and what their descriptors name. */
void names_renew(struct names_recorder *recorder, uint64_t before_ns)
{
	uint64_t now_ns = clock_mono_ns();

	if (!recorder)
		return;
	__atomic_store_n(&recorder->control->begun_ns, now_ns, __ATOMIC_RELAXED);
	if (!proc_is_outermost())
		return;
	pthread_mutex_lock(&recorder->mutex);
	names_log_sweep(&recorder->log, now_ns, before_ns);
	pthread_mutex_unlock(&recorder->mutex);
}

void names_forget(struct names_recorder *recorder, uint64_t before_ns)
{
	if (!recorder)
		return;
	pthread_mutex_lock(&recorder->mutex);
	recent_forget(recorder->log.recent, before_ns);
	if (recorder->blocked)
		blocked_forget(recorder->blocked, before_ns);
	pthread_mutex_unlock(&recorder->mutex);
}

uint64_t names_bytes(struct names_recorder *recorder)
{
	uint64_t bytes;

	if (!recorder)
		return 0;
	pthread_mutex_lock(&recorder->mutex);
	bytes = names_log_bytes(&recorder->log) +
		(recorder->blocked ? blocked_bytes(recorder->blocked) : 0);
	pthread_mutex_unlock(&recorder->mutex);
	return bytes;
}

uint64_t names_most_bytes(const struct names_recorder *recorder)
{
	return recorder ? recorder->most_bytes : 0;
}

uint64_t names_gone_ns(struct names_recorder *recorder)
{
	uint64_t gone_ns, calls_ns = 0;

	if (!recorder)
		return 0;
	pthread_mutex_lock(&recorder->mutex);
	gone_ns = recent_gone_ns(recorder->log.recent);
	if (recorder->blocked)
		calls_ns = blocked_gone_ns(recorder->blocked);
	pthread_mutex_unlock(&recorder->mutex);
	return gone_ns > calls_ns ? gone_ns : calls_ns;
}

void names_take(struct names_recorder *recorder)
{
	if (!recorder)
		return;
	pthread_mutex_lock(&recorder->mutex);
	(void)ring_buffer__consume(recorder->ring);
	if (recorder->blocked)
		blocked_look(recorder->blocked);
	if (recorder->locks)
		klocks_look(recorder->locks, false);
	if (recorder->throttles)
		throttles_look(recorder->throttles, false);
	flush(recorder);
	pthread_mutex_unlock(&recorder->mutex);
}

int names_snapshot(struct names_recorder *recorder, int kernel_fd, uint64_t begin_ns,
		   struct last_calls *out_last, struct names_told *out_told, struct err *err)
{
	int rc;

	pthread_mutex_lock(&recorder->mutex);
	rc = names_log_snapshot(&recorder->log, kernel_fd, begin_ns, out_told, err);
	if (rc == 0 && recorder->blocked)
		rc = blocked_snapshot(recorder->blocked, kernel_fd, begin_ns, out_last, err);
	pthread_mutex_unlock(&recorder->mutex);
	return rc;
}

bool names_of_waits(const struct names_recorder *recorder)
{
	return recorder->names_waits;
}

int32_t names_tid(const struct names_recorder *recorder)
{
	int32_t tid;

	/* Pairs with the release in drain(): the thread sets it first of all. */
	while (!(tid = atomic_load_explicit(&recorder->tid, memory_order_acquire)))
		usleep(100);
	return tid;
}

const char *names_without_locks(const struct names_recorder *recorder)
{
	return recorder->locks ? NULL : recorder->no_locks.text;
}

const char *names_without_threads(const struct names_recorder *recorder)
{
	return recorder->threads_fd >= 0 ? NULL : recorder->no_threads.text;
}

const char *names_without_limits(const struct names_recorder *recorder)
{
	return recorder->throttles ? NULL : "the kernel rejected the BPF program";
}

int32_t names_holder(const struct names_recorder *recorder)
{
	return recorder->exits.holder;
}

uint64_t names_lost(const struct names_recorder *recorder)
{
	uint64_t kernel = __atomic_load_n(&recorder->control->lost, __ATOMIC_RELAXED);

	kernel += recorder->throttles ? throttles_lost(recorder->throttles) : 0;
	kernel += recorder->locks ? klocks_lost(recorder->locks) : 0;
	/* Relaxed: a plain counter. */
	return kernel + atomic_load_explicit(&recorder->unwritten, memory_order_relaxed);
}

uint64_t names_lost_calls(const struct names_recorder *recorder)
{
	/* Relaxed: a plain counter. */
	return __atomic_load_n(&recorder->control->lost_blocks, __ATOMIC_RELAXED) +
	       atomic_load_explicit(&recorder->unwritten_calls, memory_order_relaxed);
}

uint64_t names_count(const struct names_recorder *recorder)
{
	/* Relaxed: a plain counter. */
	return atomic_load_explicit(&recorder->count, memory_order_relaxed);
}

void names_end(struct names_recorder *recorder)
{
	uint64_t one = 1;

	if (recorder->ended)
		return;
	recorder->ended = true;
	if (recorder->control)
		__atomic_store_n(&recorder->control->ended, 1, __ATOMIC_RELAXED);
	if (recorder->locks)
		klocks_end(recorder->locks);
	if (recorder->throttles)
		throttles_end(recorder->throttles);
	if (recorder->running) {
		(void)!write(recorder->stop_fd, &one,
			     sizeof(one)); /* an eventfd takes its first 1 */
		pthread_join(recorder->thread, NULL);
	}
	exits_leave(&recorder->exits);
	/* The kernel detaches in any case. */
	if (recorder->link)
		(void)bpf_link__destroy(recorder->link);
	if (recorder->births)
		(void)bpf_link__destroy(recorder->births);
}

void names_stop(struct names_recorder *recorder)
{
	if (!recorder)
		return;
	names_end(recorder);
	klocks_stop(recorder->locks);
	throttles_stop(recorder->throttles);
	exits_close(&recorder->exits);
	blocked_free(recorder->blocked);
	unload(recorder);
	mem_close_fd(&recorder->stop_fd);
	mem_close_fd(&recorder->look_fd);
	mem_close_fd(&recorder->threads_fd);
	names_log_close(&recorder->log);
	(void)pthread_mutex_destroy(&recorder->mutex);
	map_fini(&recorder->roles);
	map_fini(&recorder->ports);
	free(recorder);
}

int names_probe(struct err *err)
{
	struct names_recorder recorder = { .exits = EXITS_NONE };
	struct exits exits;
	int rc;

	rc = names_load(&(struct names_load){ ways[0].program }, &recorder.object, NULL, err);
	if (rc == 0 && exits_open(&exits, err) == 0)
		exits_close(&exits);
	else if (rc == 0)
		rc = 1;
	else if (names_load(&(struct names_load){ ways[1].program }, &recorder.object, NULL, err) ==
		 0)
		rc = 1;
	unload(&recorder);
	return rc;
}

int names_probe_lean(struct err *err)
{
	struct names_recorder recorder = { .exits = EXITS_NONE };
	int rc;

	if (!CALLS_ARE_KNOWN)
		return err_set(err, -ENOTSUP,
			       "the registers of this machine do not show system calls");
	rc = names_load(&(struct names_load){ lean_way.program }, &recorder.object, NULL, err);
	unload(&recorder);
	return rc;
}
