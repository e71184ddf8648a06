/* postgres.c - see postgres.h and postgres_int.h. */
#include "stuck/postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/mem.h"
#include "proc/proc.h"
#include "stuck/maps.h"
#include "stuck/postgres_int.h"
#include "stuck/snap_int.h"
#include "stuck/worker.h"

#define PROGRAM	       "postgres"
#define CHILDREN_BYTES 65536
#define BACKENDS_MAX   8192
#define EVENT_CLASS    24 /* wait events: above it their class, pgstat's PG_WAIT_LWLOCK ... */
#define EVENT_LWLOCK   1u
#define EVENT_TRANCHE  0xffffu

void postgres_free(struct postgres *postgres)
{
	if (!postgres)
		return;
	remote_fini(&postgres->memory);
	map_fini(&postgres->by_proc);
	free(postgres);
}

static bool runs_postgres(struct asleep *asleep)
{
	char exe[1024];
	const char *name;

	if (strcmp(asleep->task.comm, PROGRAM) != 0 ||
	    look_link(&asleep->snap->look, asleep->process, "exe", exe, sizeof(exe)) <= 0)
		return false;
	name = strrchr(exe, '/');
	return name && strncmp(name + 1, PROGRAM, strlen(PROGRAM)) == 0;
}

static struct postgres *postgres_new(struct asleep *asleep)
{
	struct postgres *postgres = xcalloc(1, sizeof(*postgres));
	struct remote *memory = &postgres->memory;
	uint64_t base;

	memory->look = &asleep->snap->look;
	memory->process = asleep->process;
	if (!maps_library(memory->look, asleep->process, PROGRAM, &base))
		return postgres;
	postgres->my_proc = remote_symbol(memory, base, "MyProc");
	postgres->my_pid = remote_symbol(memory, base, "MyProcPid");
	postgres->wait_info = remote_symbol(memory, base, "my_wait_event_info");
	return postgres;
}

struct postgres *postgres_of(struct asleep *asleep)
{
	struct snap *snap = asleep->snap;
	uint64_t server = (uint64_t)asleep->task.ppid, *index;
	struct postgres *postgres;

	if (!runs_postgres(asleep))
		return NULL;
	index = map_find(&snap->by_postgres, server);
	if (!index) {
		snap->postgreses = vec_room(snap->postgreses, snap->postgres_count,
					    &snap->postgres_cap, sizeof(struct postgres *));
		map_put(&snap->by_postgres, server, snap->postgres_count);
		snap->postgreses[snap->postgres_count++] = postgres_new(asleep);
		index = map_find(&snap->by_postgres, server);
	}
	postgres = snap->postgreses[*index];
	postgres->memory.process = asleep->process;
	return postgres->my_proc ? postgres : NULL;
}

uint64_t postgres_variable(struct asleep *asleep, uint64_t address)
{
	uint64_t value;

	return address && look_memory(&asleep->snap->look, asleep->process, address, &value,
				      sizeof(value))
		       ? value
		       : 0;
}

/* ------------------------------------------------------------------ whose a PGPROC is */

/* The MyProc of each child of the server, in one go: there may be many. */
struct backends_job {
	struct worker_job job;
	int proc_fd;
	int32_t server;
	uint64_t my_proc;
	int32_t *pids; /* owned; with 'procs' */
	uint64_t *procs;
	size_t count;
	bool is_all;
};

static void backends_job_free(struct worker_job *worker_job)
{
	struct backends_job *job = (struct backends_job *)worker_job;

	free(job->pids);
	free(job->procs);
	free(job);
}

static void backends_job_run(struct worker_job *worker_job)
{
	struct backends_job *job = (struct backends_job *)worker_job;
	AUTO_FREE char *text = xmalloc(CHILDREN_BYTES);
	char path[64], *at = text, *end;
	int got;

	snprintf(path, sizeof(path), "%d/task/%d/children", job->server, job->server);
	got = proc_read(job->proc_fd, path, text, CHILDREN_BYTES);
	job->is_all = got > 0 && got < CHILDREN_BYTES - 1;
	while (got > 0 && job->count < BACKENDS_MAX) {
		int32_t pid = (int32_t)strtol(at, &end, 10);
		struct iovec here = { &job->procs[job->count], sizeof(*job->procs) };
		struct iovec there = { (void *)(uintptr_t)job->my_proc, sizeof(*job->procs) };

		if (end == at)
			return;
		at = end;
		job->pids[job->count] = pid;
		if (process_vm_readv(pid, &here, 1, &there, 1, 0) == sizeof(*job->procs))
			job->count++;
	}
	job->is_all &= job->count < BACKENDS_MAX;
}

static struct backends_job *backends_job_new(const struct asleep *asleep,
					     const struct postgres *postgres)
{
	struct backends_job *job = xcalloc(1, sizeof(*job));

	job->job = (struct worker_job){ backends_job_run, backends_job_free };
	job->proc_fd = asleep->snap->look.proc_fd;
	job->server = asleep->task.ppid;
	job->my_proc = postgres->my_proc;
	job->pids = xcalloc(BACKENDS_MAX, sizeof(*job->pids));
	job->procs = xcalloc(BACKENDS_MAX, sizeof(*job->procs));
	return job;
}

static void find_backends(const struct asleep *asleep, struct postgres *postgres)
{
	struct backends_job *job = backends_job_new(asleep, postgres);

	postgres->has_backends = true;
	if (!worker_do(asleep->snap->look.worker, &job->job))
		return;
	for (size_t i = 0; i < job->count; i++) {
		if (job->procs[i])
			map_put(&postgres->by_proc, job->procs[i], (uint64_t)job->pids[i]);
	}
	postgres->has_all_backends = job->is_all;
	backends_job_free(&job->job);
}

int32_t postgres_backend(struct asleep *asleep, struct postgres *postgres, uint64_t proc)
{
	uint64_t *pid;

	if (!postgres->has_backends)
		find_backends(asleep, postgres);
	pid = map_find(&postgres->by_proc, proc);
	return pid ? (int32_t)*pid : 0;
}

/* The event is said by the backend itself, for pg_stat_activity. */
bool postgres_light_lock(struct asleep *asleep, uint32_t *out_tranche)
{
	struct postgres *postgres = postgres_of(asleep);
	uint64_t at = postgres ? postgres_variable(asleep, postgres->wait_info) : 0;
	uint32_t event = (uint32_t)postgres_variable(asleep, at);

	*out_tranche = event & EVENT_TRANCHE;
	return event >> EVENT_CLASS == EVENT_LWLOCK;
}
