/*
 * dump.c - walk /proc once and write down who lives and what is open.
 *
 * The order matters little for threads, which events follow anyway; sockets are read
 * after descriptors, so that a descriptor that was seen finds its socket.
 */
#include "record/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/sorting.h"
#include "event/event.h"
#include "event/facts.h"
#include "proc/fdname.h"
#include "record/allowed.h"
#include "record/interrupt.h"
#include "record/last_calls.h"
#include "record/named_calls.h"
#include "record/opened.h"
#include "proc/proc.h"
#include "proc/sockets.h"
#include "store/dump.h"
#include "store/manifest.h"
#include "wire/wire.h"

#define PATIENCE_MS 250
#define EARLY_MOST  65536u /* of descriptors, noted */
#define FILE_BUFFER (256u << 10)

struct dump {
	int proc_fd;	/* owned */
	int32_t *tgids; /* owned; every process, ascending */
	size_t tgid_count;
	struct proc_thread *threads; /* owned; by process, then by tid */
	size_t thread_count;
	size_t thread_cap;
	int32_t *users; /* owned; processes that are not kernel threads, ascending */
	size_t user_count;
	size_t user_cap;
	struct opened_all opened; /* of each of users */
	struct map owners;	  /* socket inode to two processes: first | second << 32 */
	struct sockets sockets;
	bool is_late;			/* of open files those alone that threads wait for */
	const struct last_calls *calls; /* a view; NULL = not known */
	uint64_t begin_ns;		/* of these */
	const struct dump_since *since; /* a view; NULL = nobody tells of new descriptors */
	uint64_t born_ns;		/* of CLOCK_BOOTTIME: threads born later are left out */
};

static void dump_fini(struct dump *dump)
{
	opened_fini(&dump->opened, dump->user_count);
	sockets_fini(&dump->sockets);
	map_fini(&dump->owners);
	free(dump->tgids);
	free(dump->threads);
	free(dump->users);
	mem_close_fd(&dump->proc_fd);
}

static bool was_born(const struct dump *dump, const struct proc_thread *thread)
{
	return !dump->is_late ||
	       thread->born_ticks <= dump->born_ns / (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void dump_add_thread(struct dump *dump, int32_t tgid, int32_t tid)
{
	dump->threads = vec_room(dump->threads, dump->thread_count, &dump->thread_cap,
				 sizeof(*dump->threads));
	if (proc_read_thread(dump->proc_fd, tgid, tid, &dump->threads[dump->thread_count]) &&
	    was_born(dump, &dump->threads[dump->thread_count]))
		dump->thread_count++;
}

static void dump_add_process(struct dump *dump, int32_t tgid)
{
	AUTO_FREE int32_t *tids = NULL;
	size_t before = dump->thread_count;
	char path[32];
	int count;

	snprintf(path, sizeof(path), "%d/task", tgid);
	count = proc_numbers(dump->proc_fd, path, &tids);
	for (int i = 0; i < count && !interrupt_pending(); i++)
		dump_add_thread(dump, tgid, tids[i]);
	if (dump->thread_count == before || dump->threads[before].kernel)
		return;
	dump->users =
		vec_room(dump->users, dump->user_count, &dump->user_cap, sizeof(*dump->users));
	dump->users[dump->user_count++] = tgid;
}

static int read_threads(struct dump *dump, struct err *err)
{
	int count;

	dump->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dump->proc_fd < 0)
		return err_set(err, -errno, "/proc: %s", strerror(errno));
	count = proc_numbers(dump->proc_fd, ".", &dump->tgids);
	if (count < 0)
		return err_set(err, count, "/proc: %s", strerror(-count));
	if (count == 0)
		return err_set(err, -ENOENT, "/proc shows no processes; it may not be mounted");
	dump->tgid_count = (size_t)count;
	for (size_t i = 0; i < dump->tgid_count && !interrupt_pending(); i++)
		dump_add_process(dump, dump->tgids[i]);
	return interrupt_check(err);
}

/* The inode in "socket:[123]"; 0 = not a socket. */
static uint64_t socket_inode(const char *link)
{
	return strncmp(link, "socket:[", 8) == 0 ? strtoull(link + 8, NULL, 10) : 0;
}

/* Note who holds the sockets. Returns whether the process has any. */
static bool add_owner(struct dump *dump, int32_t tgid, const struct opened *opened)
{
	bool any = false;

	for (size_t i = 0; i < opened->fd_count; i++) {
		uint64_t inode = socket_inode(opened->fds[i].link);
		uint64_t *held = inode ? map_find(&dump->owners, inode) : NULL;

		any = any || inode;
		if (inode && !held)
			map_put(&dump->owners, inode, (uint32_t)tgid);
		else if (held && (uint32_t)*held != (uint32_t)tgid && !(*held >> 32))
			*held |= (uint64_t)(uint32_t)tgid << 32;
	}
	return any;
}

static int32_t dump_owner_of(const void *context, uint64_t inode, int32_t other_than)
{
	const struct dump *dump = context;
	const uint64_t *held = map_find(&dump->owners, inode);

	if (!held)
		return 0;
	return (int32_t)((uint32_t)*held == (uint32_t)other_than && *held >> 32 ? *held >> 32
										: *held);
}

static void read_sockets(struct dump *dump)
{
	struct sockets_owners owners = { dump_owner_of, dump };
	struct map spaces = { 0 };

	for (size_t i = 0; i < dump->user_count && !interrupt_pending(); i++) {
		char path[32], link[64] = "";
		uint64_t space;

		if (!add_owner(dump, dump->users[i], &dump->opened.processes[i]))
			continue;
		snprintf(path, sizeof(path), "%d/ns/net", dump->users[i]);
		if (readlinkat(dump->proc_fd, path, link, sizeof(link) - 1) <= 0 ||
		    strncmp(link, "net:[", 5) != 0)
			continue;
		space = strtoull(link + 5, NULL, 10);
		if (map_find(&spaces, space))
			continue;
		map_put(&spaces, space, 1);
		sockets_read(&dump->sockets, dump->proc_fd, dump->users[i]);
	}
	map_fini(&spaces);
	sockets_join(&dump->sockets, &owners);
}

static void set_call(struct fact_thread *thread, int32_t nr, const uint64_t *args)
{
	thread->call = nr;
	thread->arg0 = args[0];
	thread->arg1 = args[1];
	thread->arg2 = args[2];
	thread->untimed = nr == SYS_futex && !args[3] && !thread->compat;
}

ORDER_FUNCTION(compare_calls, struct opened_call, ORDER_UP(tid));

/* As of then: it waits in it since, or not any more. */
static bool add_last_call(const struct dump *dump, struct fact_thread *thread)
{
	const struct wire_call *call =
		dump->calls ? last_calls_find(dump->calls, thread->tid) : NULL;

	if (!call || call->flags & ~WIRE_CALL_LOSS || call->nr == WIRE_CALL_NONE)
		return false;
	set_call(thread, call->nr, call->args);
	thread->call_ns = dump->begin_ns;
	return true;
}

/* What the thread was blocked in. Its events tell what became of that. */
static void add_call(const struct opened *opened, struct fact_thread *thread)
{
	const struct opened_call key = { .tid = thread->tid };
	const struct opened_call *call = opened->call_count
						 ? bsearch(&key, opened->calls, opened->call_count,
							   sizeof(*opened->calls), compare_calls)
						 : NULL;

	if (!call)
		return;
	set_call(thread, call->nr, call->args);
	thread->call_ns = call->seen_ns;
}

/* With all of its process: the others are not asked where the main thread is not frozen. */
static bool is_frozen(const struct dump *dump, const struct proc_thread *thread,
		      bool is_main_frozen)
{
	return !thread->kernel && (thread->state == 'S' || thread->state == 'D') &&
	       (is_main_frozen || thread->tid == thread->tgid) &&
	       (proc_is_frozen(dump->proc_fd, thread->tgid, thread->tid) ||
		(thread->state == 'D' &&
		 proc_is_frozen_asleep(dump->proc_fd, thread->tgid, PROC_FREEZER_ROOT)));
}

/* Threads of a process stand together, and share what is the process's. */
static void print_threads(const struct dump *dump, FILE *out)
{
	char cgroup[1024] = "", frozen[1024] = "", allowed[128];
	const char *cmdline = "";
	const struct opened *opened = NULL;
	bool is_main_frozen = false;
	int32_t tgid = -1;
	size_t user = 0;

	for (size_t i = 0; i < dump->thread_count && !interrupt_pending(); i++) {
		const struct proc_thread *from = &dump->threads[i];
		struct fact_thread thread = {
			.tid = from->tid,
			.tgid = from->tgid,
			.ppid = from->ppid,
			.comm = from->comm,
			.uid = from->uid,
			.policy = from->policy,
			.prio = from->prio,
			.state = from->state,
			.kernel = from->kernel,
			.seen_ns = from->seen_ns,
		};

		if (from->tgid != tgid) {
			tgid = from->tgid;
			is_main_frozen = is_frozen(dump, from, false);
			proc_read_cgroup(dump->proc_fd, tgid, cgroup, sizeof(cgroup));
			frozen[0] = '\0';
			if (is_main_frozen)
				proc_read_frozen(dump->proc_fd, tgid, frozen, sizeof(frozen));
			while (user < dump->user_count && dump->users[user] < tgid)
				user++;
			opened = user < dump->user_count && dump->users[user] == tgid
					 ? &dump->opened.processes[user]
					 : NULL;
			cmdline = opened ? opened->cmdline : "";
		}
		if (is_frozen(dump, from, is_main_frozen)) {
			thread.state = DUMP_FROZEN;
			thread.frozen = frozen;
		}
		if (!add_last_call(dump, &thread) && opened)
			add_call(opened, &thread);
		thread.compat = opened && opened->compat;
		allowed[0] = '\0';
		if (!from->kernel)
			allowed_cpus(from->tid, allowed, sizeof(allowed));
		thread.allowed = allowed;
		thread.cgroup = cgroup;
		thread.cmdline = cmdline;
		dump_print_thread(out, &thread);
	}
}

/* Programs in a container tell of their threads by these numbers. */
static void print_vtids(const struct dump *dump, FILE *out)
{
	uint64_t space = 0;
	int32_t tgid = -1;

	for (size_t i = 0; i < dump->thread_count && !interrupt_pending(); i++) {
		const struct proc_thread *thread = &dump->threads[i];

		if (!thread->vtid)
			continue;
		if (thread->tgid != tgid)
			space = proc_pid_namespace(dump->proc_fd, thread->tgid);
		tgid = thread->tgid;
		if (space)
			dump_print_vtid(out, &(struct fact_vtid){ .space = space,
								  .vtid = thread->vtid,
								  .tid = thread->tid,
								  .tgid = thread->tgid,
								  .start = thread->born_ticks });
	}
}

static void print_fd(const struct dump *dump, int32_t tgid, const struct opened_fd *fd, FILE *out)
{
	struct fdname_object object = {
		.link = fd->link,
		.mode = fd->mode,
		.major = fd->major,
		.pid = fd->pid,
		.pts = fd->pts,
	};
	uint64_t inode = socket_inode(fd->link);
	struct fdname_socket guess;
	struct fdname name;

	object.socket = inode ? sockets_find(&dump->sockets, inode) : NULL;
	if (inode && !object.socket && sockets_guess(tgid, fd->fd, &guess))
		object.socket = &guess;
	fdname_make(&object, &name);
	dump_print_fd(out, &(struct fact_fd){ .tgid = tgid,
					      .fd = fd->fd,
					      .role = name.role | fd->marks,
					      .inode = name.inode,
					      .name = name.text });
}

static bool waits_on(const struct opened *opened, int32_t fd)
{
	for (size_t i = 0; i < opened->call_count; i++) {
		const struct opened_call *call = &opened->calls[i];

		if (call->args[0] == (uint64_t)fd && named_calls_is_on_fd(call->nr))
			return true;
	}
	return false;
}

static uint64_t born_ticks_of(const struct dump *dump, int32_t tgid)
{
	size_t at = SEARCH_FROM(dump->threads, dump->thread_count, tgid, tgid);

	return at < dump->thread_count && dump->threads[at].tgid == tgid
		       ? dump->threads[at].born_ticks
		       : 0;
}

/* What is the same for a descriptor as long as it is. */
static uint64_t identity_of(int32_t tgid, uint64_t born_ticks, const struct opened_fd *fd)
{
	uint64_t hash = hash_mix(hash_mix(born_ticks, (uint32_t)tgid), (uint32_t)fd->fd);

	return hash_bytes(fd->link, strlen(fd->link), hash);
}

void dump_late_note(const struct dump *dump, struct map *early)
{
	for (size_t i = 0; i < dump->user_count; i++) {
		const struct opened *opened = &dump->opened.processes[i];
		uint64_t born_ticks = born_ticks_of(dump, dump->users[i]);

		for (size_t k = 0; k < opened->fd_count && early->count < EARLY_MOST; k++)
			map_put(early, identity_of(dump->users[i], born_ticks, &opened->fds[k]), 1);
	}
}

/* By a message of a unix socket, or of io_uring: nobody tells of these. */
static bool may_get_descriptors(const struct opened *opened)
{
	for (size_t i = 0; i < opened->fd_count; i++) {
		if (strncmp(opened->fds[i].link, "socket:", 7) == 0 ||
		    strcmp(opened->fds[i].link, "anon_inode:[io_uring]") == 0)
			return true;
	}
	return false;
}

struct since_of_process {
	const struct dump_since *since;
	int32_t tgid;
	uint64_t born_ticks;
	bool is_inherited; /* all of which nobody told */
};

static struct since_of_process since_of_process(const struct dump *dump, size_t user)
{
	const struct dump_since *since = dump->since;
	const struct opened *opened = &dump->opened.processes[user];
	struct since_of_process of = { since, dump->users[user], 0, false };
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);

	if (!since)
		return of;
	of.born_ticks = born_ticks_of(dump, of.tgid);
	of.is_inherited = since->is_whole && !opened->compat &&
			  of.born_ticks > since->early_ns / tick_ns && !may_get_descriptors(opened);
	return of;
}

static bool is_told(const struct since_of_process *of, int32_t fd)
{
	return of->since &&
	       map_find(of->since->told, (uint64_t)(uint32_t)of->tgid << 32 | (uint32_t)fd);
}

static bool was_open(const struct since_of_process *of, const struct opened_fd *fd)
{
	return of->since && (of->is_inherited ||
			     map_find(of->since->early, identity_of(of->tgid, of->born_ticks, fd)));
}

/* Descriptors that threads wait for, since before the recording maybe, and what was open for sure. */
static void print_waited(const struct dump *dump, FILE *out)
{
	for (size_t i = 0; i < dump->user_count && !interrupt_pending(); i++) {
		const struct opened *opened = &dump->opened.processes[i];
		const struct since_of_process of = since_of_process(dump, i);

		for (size_t k = 0; k < opened->fd_count; k++) {
			const struct opened_fd *fd = &opened->fds[k];

			if (!is_told(&of, fd->fd) &&
			    (was_open(&of, fd) || waits_on(opened, fd->fd)))
				print_fd(dump, of.tgid, fd, out);
		}
	}
}

static void print_opened(const struct dump *dump, FILE *out)
{
	for (size_t i = 0; i < dump->user_count && !interrupt_pending(); i++) {
		const struct opened *opened = &dump->opened.processes[i];

		for (size_t k = 0; k < opened->fd_count; k++)
			print_fd(dump, dump->users[i], &opened->fds[k], out);
		for (size_t k = 0; k < opened->epoll_count; k++)
			dump_print_epoll(
				out, &(struct fact_epoll){ .tgid = dump->users[i],
							   .epoll = opened->epolls[k].epoll,
							   .target = opened->epolls[k].target });
	}
}

/* " 24:   1   0  PCI-MSI 512-edge      virtio0-req.0": the name is behind the last wide gap. */
static void print_irq(FILE *out, char *line)
{
	char *end, *name = line, *gap;
	unsigned long nr = strtoul(line, &end, 10);

	if (end == line || *end != ':')
		return;
	line[strcspn(line, "\n")] = '\0';
	while ((gap = strstr(name, "  ")))
		name = gap + strspn(gap, " ");
	if (*name && name > end)
		dump_print_irq(out, &(struct fact_name){ .nr = nr, .name = name });
}

static void print_table(const struct dump *dump, const char *path, FILE *out,
			void (*print)(FILE *out, char *line))
{
	int fd = openat(dump->proc_fd, path, O_RDONLY | O_CLOEXEC);
	AUTO_FILE FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	AUTO_FREE char *line = NULL;
	size_t room = 0;

	if (!in) {
		mem_close_fd(&fd);
		return;
	}
	while (getline(&line, &room, in) > 0)
		print(out, line);
}

static void note_hung(const struct dump *dump, struct manifest *manifest)
{
	const struct opened_all *opened = &dump->opened;
	AUTO_FREE char *why = NULL;

	if (!opened->hung_count)
		return;
	why = xasprintf("reading them from /proc took too long, process %d was the first of %zu",
			opened->hung[0], opened->hung_count);
	manifest_add_missing(manifest, "open files or command lines of some processes", why);
}

static void note_refused(const struct dump *dump, struct manifest *manifest)
{
	AUTO_FREE char *why = NULL;
	size_t refused = 0;
	int error = 0;

	for (size_t i = 0; i < dump->user_count; i++) {
		if (dump->opened.processes[i].error) {
			error = dump->opened.processes[i].error;
			refused++;
		}
	}
	if (!refused)
		return;
	why = xasprintf("/proc denies access: %s (%zu of %zu processes)", strerror(-error), refused,
			dump->user_count);
	manifest_add_missing(manifest, "open files of some processes", why);
}

static int write_file(const struct dump *dump, const char *path, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	int rc;

	if (!out) {
		rc = err_set(err, -errno, "%s: %s", path, strerror(errno));
		mem_close_fd(&fd);
		return rc;
	}
	(void)setvbuf(out, NULL, _IOFBF, FILE_BUFFER); /* slower without, nothing else */
	/* Within a pid namespace the ids found here are not those of the events. */
	if (proc_is_outermost()) {
		print_threads(dump, out);
		if (dump->is_late)
			print_waited(dump, out);
		else
			print_opened(dump, out);
		print_vtids(dump, out);
	}
	print_table(dump, "interrupts", out, print_irq);
	rc = ferror(out) ? -EIO : 0;
	if (fclose(out) != 0)
		rc = -errno;
	return rc < 0 ? err_set(err, rc, "%s: %s", path, strerror(-rc)) : 0;
}

static int read_all(struct dump *dump, struct manifest *manifest, struct err *err)
{
	int rc = read_threads(dump, err);

	if (rc < 0)
		return rc;
	opened_read(dump->proc_fd, dump->users, dump->user_count, PATIENCE_MS, &dump->opened);
	read_sockets(dump);
	rc = interrupt_check(err);
	if (rc < 0)
		return rc;
	note_hung(dump, manifest);
	note_refused(dump, manifest);
	return 0;
}

static int write_all(const struct dump *dump, const char *dir, struct err *err)
{
	AUTO_FREE char *path = xasprintf("%s/kernel/dump.jsonl", dir);

	return write_file(dump, path, err);
}

int dump_write(const char *dir, struct manifest *manifest, struct err *err)
{
	struct dump dump = { .proc_fd = -1 };
	int rc = read_all(&dump, manifest, err);

	if (rc == 0)
		rc = write_all(&dump, dir, err);
	dump_fini(&dump);
	return rc;
}

int dump_late_read(uint64_t born_ns, struct manifest *manifest, struct dump **out_dump,
		   struct err *err)
{
	uint64_t mono_ns =
		clock_read_ns(CLOCK_MONOTONIC); /* first: the difference is not below 0 */
	uint64_t slept_ns = clock_read_ns(CLOCK_BOOTTIME) - mono_ns;
	struct dump *dump = xcalloc(1, sizeof(*dump));
	int rc;

	dump->proc_fd = -1;
	dump->is_late = true;
	dump->born_ns = born_ns < UINT64_MAX - slept_ns ? born_ns + slept_ns : UINT64_MAX;
	rc = read_all(dump, manifest, err);
	if (rc < 0) {
		dump_late_free(dump);
		return rc;
	}
	*out_dump = dump;
	return 0;
}

int dump_late_write(struct dump *dump, const char *dir, const struct last_calls *calls,
		    const struct dump_since *since, uint64_t begin_ns, struct err *err)
{
	dump->since = since;
	dump->calls = calls;
	dump->begin_ns = begin_ns;
	return write_all(dump, dir, err);
}

void dump_late_free(struct dump *dump)
{
	if (!dump)
		return;
	dump_fini(dump);
	free(dump);
}
