/* asked.c - see asked.h. */
#include "stuck/asked.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "proc/proc.h"
#include "stuck/stuck.h"
#include "stuck/task.h"

#define FAMILY_MOST  1024 /* processes, of those that were begun */
#define THREADS_MOST 256  /* of each, that are asked whom they began */

static void add_target(struct asked *targets, int32_t tgid)
{
	targets->tgids =
		vec_room(targets->tgids, targets->count, &targets->cap, sizeof(*targets->tgids));
	targets->tgids[targets->count++] = tgid;
}

static int asked_add_number(struct asked *targets, int proc_fd, int32_t number, struct err *err)
{
	char path[32], text[4096];
	const char *at;

	snprintf(path, sizeof(path), "%d/status", number);
	if (proc_read(proc_fd, path, text, sizeof(text)) <= 0)
		return err_set(err, -ESRCH, "no process %d", number);
	at = strstr(text, "\nTgid:");
	add_target(targets, at ? (int32_t)strtol(at + 6, NULL, 10) : number);
	return 0;
}

/* Not ourselves: we look. */
static void add_named(struct asked *targets, int proc_fd, const struct stuck_select *select)
{
	AUTO_FREE int32_t *tgids = NULL;
	int count = proc_numbers(proc_fd, ".", &tgids);

	for (int i = 0; i < count; i++) {
		struct task task = { 0 };
		char path[32], text[1024];

		snprintf(path, sizeof(path), "%d/stat", tgids[i]);
		if (tgids[i] == getpid() || (select->without_parent && tgids[i] == getppid()) ||
		    proc_read(proc_fd, path, text, sizeof(text)) <= 0 ||
		    !task_parse_stat(text, &task) || task.is_kernel)
			continue;
		if (select->all || strcmp(task.comm, select->comm) == 0)
			add_target(targets, tgids[i]);
	}
}

static bool is_added(const struct asked *targets, int32_t tgid)
{
	for (size_t i = 0; i < targets->count; i++) {
		if (targets->tgids[i] == tgid)
			return true;
	}
	return false;
}

/* "PID PID ..." that one thread began. */
static void add_begun_by(struct asked *targets, int proc_fd, int32_t tgid, int32_t tid)
{
	char path[64], text[4096];
	const char *at = text;
	int32_t child;

	snprintf(path, sizeof(path), "%d/task/%d/children", tgid, tid);
	if (proc_read(proc_fd, path, text, sizeof(text)) <= 0)
		return;
	while (targets->count < FAMILY_MOST && (child = proc_next_child(&at))) {
		if (!is_added(targets, child))
			add_target(targets, child);
	}
}

/* The list grows while it is gone through. */
static void add_children(struct asked *targets, int proc_fd)
{
	for (size_t i = 0; i < targets->count; i++) {
		AUTO_FREE int32_t *tids = NULL;
		char path[32];
		int count;

		snprintf(path, sizeof(path), "%d/task", targets->tgids[i]);
		count = proc_numbers(proc_fd, path, &tids);
		for (int k = 0; k < count && k < THREADS_MOST; k++)
			add_begun_by(targets, proc_fd, targets->tgids[i], tids[k]);
	}
}

static int compare_tgids(const void *left, const void *right)
{
	int32_t a, b;

	memcpy(&a, left, sizeof(a));
	memcpy(&b, right, sizeof(b));
	return (a > b) - (a < b);
}

int asked_find(struct asked *targets, int proc_fd, const struct stuck_select *select,
	       struct err *err)
{
	for (size_t i = 0; i < select->count; i++) {
		int rc = asked_add_number(targets, proc_fd, select->tgids[i], err);

		if (rc < 0 && !select->may_be_gone)
			return rc;
	}
	if (select->with_children)
		add_children(targets, proc_fd);
	if (select->all || select->comm)
		add_named(targets, proc_fd, select);
	if (targets->count) {
		qsort(targets->tgids, targets->count, sizeof(*targets->tgids), compare_tgids);
		return 0;
	}
	if (!select->comm)
		return err_set(err, -ESRCH, "the process exited");
	return err_set(err, -ESRCH, "no process named \"%s\"", select->comm);
}

bool asked_has(const struct asked *targets, int32_t tgid)
{
	return bsearch(&tgid, targets->tgids, targets->count, sizeof(tgid), compare_tgids);
}

void asked_fini(struct asked *targets)
{
	free(targets->tgids);
	*targets = (struct asked){ 0 };
}
