/* maps.c - goes through /proc/PID/maps, in a worker: the memory's lock may be taken. */
#include "stuck/maps.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "stuck/look.h"
#include "stuck/worker.h"

struct maps_job {
	struct worker_job job;
	int proc_fd;
	int32_t tid;	    /* of the process, one that lives */
	uint64_t address;   /* 0 = what is asked for is 'mapping', or the library */
	char library[32];   /* "" = none */
	bool wants_private; /* of 'address', where its mapping begins and ends */
	uint64_t start, end;
	struct mapping mapping;
	bool is_found;
};

static void maps_job_free(struct worker_job *job)
{
	free(job);
}

/* "7f00-7f10 rw-s 00001000 00:01 1234   /dev/zero" */
static bool is_it(struct maps_job *job, const char *line)
{
	uint64_t start, end, offset, inode;
	char device[16], shared;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%*c%*c%c %" SCNx64 " %15s %" SCNu64, &start,
		   &end, &shared, &offset, device, &inode) != 6 ||
	    shared != 's' || !inode)
		return false;
	if (!job->address)
		return inode == job->mapping.inode && strcmp(device, job->mapping.device) == 0 &&
		       job->mapping.offset >= offset && job->mapping.offset - offset < end - start;
	if (job->address < start || job->address >= end)
		return false;
	job->mapping.inode = inode;
	job->mapping.offset = offset + (job->address - start);
	snprintf(job->mapping.device, sizeof(job->mapping.device), "%s", device);
	return true;
}

/* The line is that of the address, and of memory that is copied, not shared. */
static bool is_private_one(struct maps_job *job, const char *line)
{
	char shared;

	return sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%*c%*c%c", &job->start, &job->end,
		      &shared) == 3 &&
	       job->address >= job->start && job->address < job->end && shared == 'p';
}

/* A "*" in the pattern stands for anything. */
static bool is_named(const char *name, size_t length, const char *pattern)
{
	const char *star = strchr(pattern, '*');
	size_t head = star ? (size_t)(star - pattern) : strlen(pattern);
	size_t tail = star ? strlen(star + 1) : 0;

	if (star ? length < head + tail : length != head)
		return false;
	return memcmp(name, pattern, head) == 0 &&
	       (!tail || memcmp(name + length - tail, star + 1, tail) == 0);
}

/* "7f00-7f10 r--p 00000000 00:01 1234   /usr/lib/libx.so": its first page. */
static bool is_library(struct maps_job *job, const char *line)
{
	const char *name = strrchr(line, '/');
	uint64_t start, offset;

	if (!name || !is_named(name + 1, strcspn(name + 1, " \n"), job->library) ||
	    sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64, &start, &offset) != 2 || offset)
		return false;
	job->address = start;
	return true;
}

static void maps_job_run(struct worker_job *worker_job)
{
	struct maps_job *job = (struct maps_job *)worker_job;
	AUTO_FREE char *line = NULL;
	AUTO_FILE FILE *file = NULL;
	size_t room = 0;
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "%d/maps", job->tid);
	fd = openat(job->proc_fd, path, O_RDONLY | O_CLOEXEC);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		mem_close_fd(&fd);
		return;
	}
	while (!job->is_found && getline(&line, &room, file) > 0)
		job->is_found = job->library[0]	     ? is_library(job, line)
				: job->wants_private ? is_private_one(job, line)
						     : is_it(job, line);
}

/* Whether it was found; what was asked for is in 'asked' and answered there. */
static bool maps_run(struct look *look, struct process *process, struct maps_job *asked)
{
	struct maps_job *job;
	bool is_found;

	if (process->is_hung)
		return false;
	job = xcalloc(1, sizeof(*job));
	*job = *asked;
	job->job = (struct worker_job){ maps_job_run, maps_job_free };
	job->proc_fd = look->proc_fd;
	job->tid = process->via ? process->via : process->tgid;
	if (!worker_do(look->worker, &job->job)) {
		process->is_hung = true;
		look->hung++;
		return false;
	}
	is_found = job->is_found;
	*asked = *job;
	free(job);
	return is_found;
}

bool maps_at(struct look *look, struct process *process, uint64_t address,
	     struct mapping *out_mapping)
{
	struct maps_job asked = { .address = address };

	if (!address || !maps_run(look, process, &asked))
		return false;
	*out_mapping = asked.mapping;
	return true;
}

bool maps_is_private(struct look *look, struct process *process, uint64_t address)
{
	struct maps_job asked = { .address = address, .wants_private = true };

	if (address >= process->private_from && address < process->private_to)
		return true;
	if (!address || !maps_run(look, process, &asked))
		return false;
	process->private_from = asked.start;
	process->private_to = asked.end;
	return true;
}

bool maps_library(struct look *look, struct process *process, const char *name,
		  uint64_t *out_address)
{
	struct maps_job asked = { 0 };

	snprintf(asked.library, sizeof(asked.library), "%s", name);
	if (!maps_run(look, process, &asked))
		return false;
	*out_address = asked.address;
	return true;
}

bool maps_has(struct look *look, struct process *process, const struct mapping *mapping)
{
	struct maps_job asked = { .mapping = *mapping };

	return maps_run(look, process, &asked);
}
