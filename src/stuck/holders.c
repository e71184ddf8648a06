/* holders.c - tables of descriptors, process by process, as a sorted array. */
#include "stuck/holders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "base/search.h"
#include "proc/proc.h"
#include "stuck/look.h"
#include "stuck/worker.h"

#define HOLDERS_MAX	1000000 /* descriptors of all */
#define PROCESS_MAX	200000	/* of one */
#define TABLES_MAX	32	/* processes at once */
#define LINK_BYTES	4096
#define SOCKETS_AT_ONCE 256
#define SOCKETS_MAX	20000u
#define KIND_PIPE	0u
#define KIND_SOCKET	1u
#define KIND_PATH	2u
#define KIND_MASTER	3u

uint64_t holders_key(const char *link, uint64_t *out_inode)
{
	*out_inode = 0;
	if (strncmp(link, "pipe:[", 6) == 0) {
		*out_inode = strtoull(link + 6, NULL, 10);
		return *out_inode << 2 | KIND_PIPE;
	}
	if (strncmp(link, "socket:[", 8) == 0) {
		*out_inode = strtoull(link + 8, NULL, 10);
		return *out_inode << 2 | KIND_SOCKET;
	}
	return hash_bytes(link, strlen(link), 0) << 2 | KIND_PATH;
}

uint64_t holders_master_key(int32_t pts)
{
	return (uint64_t)pts << 2 | KIND_MASTER;
}

/* The tables of some processes: to hand each over by itself takes long on a busy machine. */
struct table_job {
	struct worker_job job;
	int proc_fd;
	uint64_t budget_ns; /* of look_spent_ns() */
	int32_t tgids[TABLES_MAX];
	size_t tgid_count;
	size_t barred, left_out; /* of them */

	/* Of the one that is being read. */
	int32_t tgid;
	int error;
	bool is_cut;
	size_t first; /* its first entry */

	struct holder *holders; /* owned */
	size_t count;
	size_t cap;
};

static void table_job_free(struct worker_job *worker_job)
{
	struct table_job *job = (struct table_job *)worker_job;

	free(job->holders);
	free(job);
}

int64_t holders_eventfd_id(const char *fdinfo)
{
	const char *at = strstr(fdinfo, "eventfd-id:");

	return at ? strtoll(at + 11, NULL, 10) : -1;
}

uint64_t holders_eventfd_key(int64_t id)
{
	AUTO_FREE char *name = xasprintf("anon_inode:[eventfd] %lld", (long long)id);
	uint64_t inode;

	return holders_key(name, &inode);
}

/* What is told of the descriptor; "" = nothing. */
static void read_fdinfo(const struct table_job *job, const char *name, char *text, size_t bytes)
{
	char path[64];

	snprintf(path, sizeof(path), "%d/fdinfo/%.16s", job->tgid, name);
	if (proc_read(job->proc_fd, path, text, bytes) <= 0)
		text[0] = '\0';
}

static uint64_t holder_key(const struct table_job *job, const char *name, const char *link)
{
	bool is_master = strcmp(link, "/dev/ptmx") == 0 || strcmp(link, "/dev/pts/ptmx") == 0;
	bool is_eventfd = strcmp(link, "anon_inode:[eventfd]") == 0;
	char text[1024] = "";
	const char *at;
	uint64_t inode;

	if (is_master || is_eventfd)
		read_fdinfo(job, name, text, sizeof(text));
	at = strstr(text, "tty-index:");
	if (is_master && at)
		return holders_master_key((int32_t)strtol(at + 10, NULL, 10));
	if (is_eventfd && holders_eventfd_id(text) >= 0)
		return holders_eventfd_key(holders_eventfd_id(text));
	return holders_key(link, &inode);
}

static void add_entry(struct table_job *job, int dir_fd, const char *name)
{
	char link[LINK_BYTES];
	ssize_t len = readlinkat(dir_fd, name, link, sizeof(link) - 1);
	struct holder *holder;
	struct stat st;

	if (len <= 0 || fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	link[len] = '\0';
	job->holders = vec_room(job->holders, job->count, &job->cap, sizeof(*job->holders));
	holder = &job->holders[job->count++];
	holder->key = holder_key(job, name, link);
	holder->tgid = job->tgid;
	holder->fd = (int32_t)strtol(name, NULL, 10);
	holder->modes = (st.st_mode & S_IRUSR ? HOLDER_READS : 0u) |
			(st.st_mode & S_IWUSR ? HOLDER_WRITES : 0u);
}

/* The table as this thread has it; its entries, or a negative errno. */
static void read_entries(struct table_job *job, int32_t tid)
{
	struct dirent *entry;
	char path[64];
	DIR *dir;
	int fd;

	snprintf(path, sizeof(path), "%d/task/%d/fd", job->tgid, tid);
	fd = openat(job->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	job->error = dir ? 0 : -errno;
	if (!dir)
		return;
	errno = 0;
	while (!job->is_cut && (entry = readdir(dir))) {
		job->is_cut = job->count - job->first >= PROCESS_MAX;
		if (entry->d_name[0] != '.' && !job->is_cut)
			add_entry(job, dirfd(dir), entry->d_name);
		errno = 0;
	}
	if (!job->is_cut)
		job->error = -errno;
	closedir(dir);
}

/* A main thread that ended before the others has no table any more: then another one's. */
static void read_table(struct table_job *job, int32_t tgid)
{
	AUTO_FREE int32_t *tids = NULL;
	char path[64];
	int count;

	job->tgid = tgid;
	job->is_cut = false;
	job->first = job->count;
	read_entries(job, tgid);
	if (job->count > job->first || job->error == -EACCES || job->error == -EPERM)
		return;
	snprintf(path, sizeof(path), "%d/task", tgid);
	count = proc_numbers(job->proc_fd, path, &tids);
	if (count > 0 && tids[count - 1] != tgid)
		read_entries(job, tids[count - 1]);
}

static void table_job_run(struct worker_job *worker_job)
{
	struct table_job *job = (struct table_job *)worker_job;

	for (size_t i = 0; i < job->tgid_count; i++) {
		if (look_spent_ns() > job->budget_ns) {
			job->left_out += job->tgid_count - i;
			return;
		}
		read_table(job, job->tgids[i]);
		/* A process that is gone has nothing, nor has a zombie. */
		job->barred += job->error == -EACCES || job->error == -EPERM;
		job->left_out += job->is_cut;
	}
}

static void add_tables(struct holders *holders, const struct table_job *job)
{
	holders->barred += job->barred;
	holders->left_out += job->left_out;
	for (size_t i = 0; i < job->count; i++) {
		holders->all = vec_room(holders->all, holders->count, &holders->cap,
					sizeof(*holders->all));
		holders->all[holders->count++] = job->holders[i];
	}
}

/* False = that took too long: nothing of it is known. */
static bool read_tables(struct holders *holders, const struct table_job *asked,
			struct worker *worker)
{
	struct table_job *job = xcalloc(1, sizeof(*job));

	*job = *asked;
	job->job = (struct worker_job){ table_job_run, table_job_free };
	if (!worker_do(worker, &job->job))
		return false;
	add_tables(holders, job);
	table_job_free(&job->job);
	return true;
}

/* One process that hangs does not cost what the others have. */
static void read_each(struct holders *holders, const struct table_job *asked, struct worker *worker)
{
	for (size_t i = 0; i < asked->tgid_count; i++) {
		struct table_job one = { .proc_fd = asked->proc_fd,
					 .budget_ns = asked->budget_ns,
					 .tgids = { asked->tgids[i] },
					 .tgid_count = 1 };

		holders->left_out += !read_tables(holders, &one, worker);
	}
}

ORDER_FUNCTION(by_key, struct holder, ORDER_UP(key), ORDER_UP(tgid));

void holders_make(struct holders *holders, int proc_fd, struct worker *worker, uint64_t budget_ns)
{
	AUTO_FREE int32_t *tgids = NULL;
	int count;

	if (holders->is_made)
		return;
	holders->is_made = true;
	count = proc_numbers(proc_fd, ".", &tgids);
	for (int i = 0; i < count; i += TABLES_MAX) {
		struct table_job asked = { .proc_fd = proc_fd, .budget_ns = budget_ns };

		if (look_spent_ns() > budget_ns || holders->count > HOLDERS_MAX) {
			holders->left_out += (size_t)(count - i);
			break;
		}
		while (asked.tgid_count < TABLES_MAX && i + (int)asked.tgid_count < count) {
			asked.tgids[asked.tgid_count] = tgids[i + (int)asked.tgid_count];
			asked.tgid_count++;
		}
		if (!read_tables(holders, &asked, worker))
			read_each(holders, &asked, worker);
	}
	if (holders->count)
		qsort(holders->all, holders->count, sizeof(*holders->all), by_key);
	holders->is_complete = count > 0 && !holders->barred && !holders->left_out;
}

/* Some sockets. */
struct flight_job {
	struct worker_job job;
	int proc_fd;
	struct holder sockets[SOCKETS_AT_ONCE];
	size_t count;
	bool is_found;
};

static void flight_job_free(struct worker_job *job)
{
	free(job);
}

static void flight_job_run(struct worker_job *worker_job)
{
	struct flight_job *job = (struct flight_job *)worker_job;
	char path[64], text[1024];

	for (size_t i = 0; i < job->count && !job->is_found; i++) {
		const char *at;

		snprintf(path, sizeof(path), "%d/fdinfo/%d", job->sockets[i].tgid,
			 job->sockets[i].fd);
		if (proc_read(job->proc_fd, path, text, sizeof(text)) <= 0)
			continue;
		at = strstr(text, "\nscm_fds:");
		job->is_found = at && strtoul(at + 9, NULL, 10);
	}
}

bool holders_in_flight(const struct holders *holders, int proc_fd, struct worker *worker)
{
	bool is_found = false;
	size_t at = 0, asked = 0;

	while (at < holders->count && !is_found && asked < SOCKETS_MAX) {
		struct flight_job *job = xcalloc(1, sizeof(*job));

		job->job = (struct worker_job){ flight_job_run, flight_job_free };
		job->proc_fd = proc_fd;
		for (; at < holders->count && job->count < SOCKETS_AT_ONCE; at++) {
			if ((holders->all[at].key & 3) == KIND_SOCKET)
				job->sockets[job->count++] = holders->all[at];
		}
		asked += job->count;
		if (!worker_do(worker, &job->job))
			return true;
		is_found = job->is_found;
		flight_job_free(&job->job);
	}
	return is_found || at < holders->count;
}

const struct holder *holders_find(const struct holders *holders, uint64_t key, size_t *out_count)
{
	size_t low = SEARCH_FROM(holders->all, holders->count, key, key), end;

	for (end = low; end < holders->count && holders->all[end].key == key;)
		end++;
	*out_count = end - low;
	return end > low ? &holders->all[low] : NULL;
}

void holders_fini(struct holders *holders)
{
	free(holders->all);
}
