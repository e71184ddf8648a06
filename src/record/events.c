/*
 * events.c - the tables of events, and the lists users write.
 */
#include "record/events.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "record/ftrace.h"
#include "record/interrupt.h"
#include "store/manifest.h"

#define NEED 1u /* nothing can be said without it */
#define BASE 2u /* always recorded: the state engine lives on it */
#define CORE 4u
#define FULL 8u
#define ALL  (CORE | FULL)

#define WISH_MAX_BYTES	  65536
#define SUGGESTIONS_MAX	  4
#define SUGGEST_MAX_EDITS 3
#define EVENT_NAME_MAX	  128

/* One line per event or group of events. */
static const struct event_row {
	const char *system;
	const char *event; /* may hold wildcards */
	unsigned int sets;
} event_rows[] = {
	/* Who runs, who waits, who woke whom. */
	{ "sched", "sched_switch", NEED | BASE | ALL },
	{ "sched", "sched_waking", NEED | BASE | ALL },
	{ "sched", "sched_wakeup_new", BASE | ALL },
	{ "sched", "sched_process_fork", BASE | ALL },
	{ "sched", "sched_process_exec", BASE | ALL },
	{ "sched", "sched_process_exit", BASE | ALL },
	{ "sched", "sched_migrate_task", BASE | ALL },
	{ "sched", "sched_pi_setprio", BASE | ALL },
	{ "task", "task_newtask", BASE | ALL },
	{ "task", "task_rename", BASE | ALL },
	/* What interrupts, and what hardware wakes. */
	{ "irq", "irq_handler_*", ALL },
	{ "irq", "softirq_entry", ALL },
	{ "irq", "softirq_exit", ALL },
	{ "irq_vectors", "*_entry", ALL },
	{ "irq_vectors", "*_exit", ALL },
	{ "ipi", "ipi_send_cpu", ALL },
	{ "timer", "hrtimer_expire_entry", ALL },
	{ "timer", "hrtimer_expire_exit", ALL },
	{ "timer", "hrtimer_start", FULL },
	{ "timer", "timer_expire_entry", ALL },
	{ "timer", "timer_expire_exit", ALL },
	{ "signal", "signal_generate", ALL },
	{ "signal", "signal_deliver", ALL },
	/* Work that the kernel does later, for somebody. */
	{ "workqueue", "workqueue_queue_work", ALL },
	{ "workqueue", "workqueue_execute_start", ALL },
	{ "workqueue", "workqueue_execute_end", ALL },
	{ "block", "block_rq_insert", ALL },
	{ "block", "block_rq_issue", ALL },
	{ "block", "block_rq_complete", ALL },
	{ "block", "block_bio_remap",
	  ALL }, /* of devices that stand on others, and of partitions */
	{ "net", "net_dev_queue", ALL },
	{ "net", "netif_rx", ALL },
	{ "net", "netif_receive_skb", ALL },
	/* For whom the threads of io_uring act. */
	{ "io_uring", "io_uring_submit_req", ALL },
	{ "io_uring", "io_uring_task_add", ALL },
	{ "io_uring", "io_uring_complete", ALL },
	{ "io_uring", "io_uring_queue_async_work", ALL },
	{ "io_uring", "io_uring_file_get", ALL },
	{ "lock", "contention_begin", ALL },
	{ "lock", "contention_end", ALL },
	/* What threads ask of the kernel. */
	{ "raw_syscalls", "sys_enter", FULL },
	{ "raw_syscalls", "sys_exit", FULL },
	{ "exceptions", "page_fault_user", FULL },
	{ "exceptions", "page_fault_kernel", FULL },
	/* Memory that a thread frees or moves for itself, before it may go on. */
	{ "vmscan", "mm_vmscan_direct_reclaim_*", ALL },
	{ "vmscan", "mm_vmscan_memcg_reclaim_*", ALL },
	{ "compaction", "mm_compaction_begin", ALL },
	{ "compaction", "mm_compaction_end", ALL },
	/* A writer pauses, for the device is slower. */
	{ "writeback", "balance_dirty_pages", ALL },
};

static const struct {
	const char *name;
	unsigned int set;
} set_names[] = {
	{ "core", CORE },
	{ "lean", CORE }, /* and what BPF tells */
	{ "full", FULL },
};

/* Every event the kernel has, in the order of the alphabet. */
struct catalogue {
	char **names; /* "system:event" */
	size_t count;
	size_t cap;
};

static void catalogue_fini(struct catalogue *catalogue)
{
	for (size_t i = 0; i < catalogue->count; i++)
		free(catalogue->names[i]);
	free(catalogue->names);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What cannot be listed is not what the kernel does not have. */
static int read_system(struct catalogue *catalogue, int events_fd, const char *system,
		       struct err *err)
{
	int fd = openat(events_fd, system, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		int rc = errno == ENOENT || errno == ENOTDIR
				 ? 0
				 : err_set(err, -errno, "cannot list the events of %s: %s", system,
					   strerror(errno));

		mem_close_fd(&fd);
		return rc;
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || entry->d_type == DT_REG)
			continue;
		catalogue->names = vec_room(catalogue->names, catalogue->count, &catalogue->cap,
					    sizeof(*catalogue->names));
		catalogue->names[catalogue->count++] = xasprintf("%s:%s", system, entry->d_name);
	}
	closedir(dir);
	return 0;
}

static int catalogue_read(struct catalogue *catalogue, int tracing_fd, struct err *err)
{
	int fd = openat(tracing_fd, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int rc = 0;

	if (!dir && errno != ENOENT)
		rc = err_set(err, -errno, "cannot list the kernel's events: %s", strerror(errno));
	if (!dir) {
		mem_close_fd(&fd);
		if (rc < 0)
			return rc;
		return err_set(err, -ENOTSUP,
			       "this kernel has no events directory: it was built without "
			       "CONFIG_EVENT_TRACING");
	}
	while (rc == 0 && (entry = readdir(dir))) {
		/* The events of the tracers themselves cannot be switched on. */
		if (entry->d_name[0] != '.' && entry->d_type != DT_REG &&
		    strcmp(entry->d_name, "ftrace"))
			rc = read_system(catalogue, dirfd(dir), entry->d_name, err);
	}
	closedir(dir);
	if (catalogue->count)
		qsort(catalogue->names, catalogue->count, sizeof(*catalogue->names), compare_names);
	return rc;
}

void event_set_fini(struct event_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		free(set->names[i]);
	free(set->names);
	*set = (struct event_set){ 0 };
}

bool event_set_has(const struct event_set *set, const char *name)
{
	for (size_t i = 0; i < set->count; i++) {
		if (!strcmp(set->names[i], name))
			return true;
	}
	return false;
}

const char *events_table_name(size_t i)
{
	return i < ARRAY_LEN(event_rows) ? event_rows[i].event : NULL;
}

bool events_has_system(const char *system)
{
	for (size_t i = 0; i < ARRAY_LEN(event_rows); i++) {
		if (!strcmp(event_rows[i].system, system))
			return true;
	}
	return false;
}

static void add_name(struct event_set *set, const char *name)
{
	if (event_set_has(set, name))
		return;
	set->names = vec_room(set->names, set->count, &set->cap, sizeof(*set->names));
	set->names[set->count++] = xstrdup(name);
}

void event_set_add(struct event_set *set, const char *system, const char *event)
{
	AUTO_FREE char *name = xasprintf("%s:%s", system, event);

	add_name(set, name);
}

/* Add what matches. Returns how many did. 'system' NULL = any. */
static size_t add_matching(struct event_set *set, const struct catalogue *catalogue,
			   const char *system, const char *event)
{
	AUTO_FREE char *pattern = xasprintf("%s:%s", system ? system : "*", event);
	size_t matches = 0;

	for (size_t i = 0; i < catalogue->count; i++) {
		if (fnmatch(pattern, catalogue->names[i], 0))
			continue;
		add_name(set, catalogue->names[i]);
		matches++;
	}
	return matches;
}

/* Add the rows of some sets. What is not there is noted; -ENOTSUP for a needed one. */
static int add_rows(struct event_set *set, const struct catalogue *catalogue, unsigned int sets,
		    struct manifest *manifest, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(event_rows); i++) {
		const struct event_row *row = &event_rows[i];
		AUTO_FREE char *what = NULL;

		if (!(row->sets & sets))
			continue;
		if (add_matching(set, catalogue, row->system, row->event))
			continue;
		if (row->sets & NEED)
			return err_set(err, -ENOTSUP, "this kernel has no event %s:%s", row->system,
				       row->event);
		what = xasprintf("event %s:%s", row->system, row->event);
		manifest_add_missing(manifest, what, "this kernel does not have it");
	}
	return 0;
}

/* How unlike a known event is to what was typed; 0 = it contains it. */
static size_t unlikeness(const char *known, const char *typed)
{
	const char *event = strchr(known, ':') + 1;
	AUTO_FREE char *system = xstrndup(known, (size_t)(event - 1 - known));
	size_t whole = text_edits(known, typed);
	size_t part = text_edits(event, typed);

	if (strlen(typed) >= 4 && strstr(known, typed))
		return 0;
	if (!strchr(typed, ':') && text_edits(system, typed) < part)
		part = text_edits(system, typed);
	return whole < part ? whole : part;
}

static int unknown_name(const struct catalogue *catalogue, const char *typed, struct err *err)
{
	char close_names[SUGGESTIONS_MAX * (EVENT_NAME_MAX + 2)] = "";
	size_t used = 0, found = 0;

	for (size_t edits = 0; edits <= SUGGEST_MAX_EDITS; edits++) {
		for (size_t i = 0; i < catalogue->count && found < SUGGESTIONS_MAX; i++) {
			const char *name = catalogue->names[i];

			if (strlen(name) >= EVENT_NAME_MAX || unlikeness(name, typed) != edits)
				continue;
			used += (size_t)snprintf(close_names + used, sizeof(close_names) - used,
						 "%s%s", found ? ", " : "", name);
			found++;
		}
	}
	if (!found)
		return err_set(err, -EINVAL, "no event matches '%s'", typed);
	return err_set(err, -EINVAL, "no event matches '%s'; close to it: %s", typed, close_names);
}

static int add_item(struct event_set *set, const struct catalogue *catalogue, char *item,
		    struct manifest *manifest, struct err *err)
{
	char *colon = strchr(item, ':');
	AUTO_FREE char *typed = xstrdup(item);
	size_t matches;

	for (size_t i = 0; i < ARRAY_LEN(set_names); i++) {
		if (strcmp(item, set_names[i].name) != 0)
			continue;
		set->is_lean |= !strcmp(item, "lean");
		return add_rows(set, catalogue, set_names[i].set, manifest, err);
	}
	if (strlen(item) >= EVENT_NAME_MAX)
		return err_set(err, -EINVAL, "event name '%.40s...' is too long", item);
	if (colon) {
		*colon = '\0';
		matches = add_matching(set, catalogue, item, colon[1] ? colon + 1 : "*");
	} else {
		matches = add_matching(set, catalogue, item, "*");
		if (!matches)
			matches = add_matching(set, catalogue, NULL, item);
	}
	return matches ? 0 : unknown_name(catalogue, typed, err);
}

static int add_list(struct event_set *set, const struct catalogue *catalogue, const char *wish,
		    struct manifest *manifest, struct err *err)
{
	AUTO_FREE char *list = xstrdup(wish);
	char *item, *rest = list;

	while ((item = strsep(&rest, ","))) {
		int rc;

		item += strspn(item, " ");
		item[strcspn(item, " ")] = '\0';
		if (!*item)
			return err_set(err, -EINVAL, "an empty name in the list of events '%s'",
				       wish);
		rc = add_item(set, catalogue, item, manifest, err);
		if (rc < 0)
			return rc;
	}
	return add_rows(set, catalogue, BASE, manifest, err);
}

int event_set_choose(struct event_set *set, int tracing_fd, const char *wish,
		     struct manifest *manifest, struct err *err)
{
	struct catalogue catalogue = { 0 };
	int rc;

	if (!wish)
		wish = "full";
	if (strlen(wish) > WISH_MAX_BYTES)
		return err_set(err, -EINVAL, "the list of events is too long");
	rc = catalogue_read(&catalogue, tracing_fd, err);
	if (rc == 0)
		rc = add_list(set, &catalogue, wish, manifest, err);
	catalogue_fini(&catalogue);
	return rc;
}

static bool is_needed(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(event_rows); i++) {
		AUTO_FREE char *row = NULL;

		if (!(event_rows[i].sets & NEED))
			continue;
		row = xasprintf("%s:%s", event_rows[i].system, event_rows[i].event);
		if (!strcmp(row, name))
			return true;
	}
	return false;
}

/* Calls and faults alone are as many as all others together on most machines. */
static bool is_of_calls(const char *name)
{
	return strncmp(name, "raw_syscalls:", 13) == 0 || strncmp(name, "syscalls:", 9) == 0 ||
	       strncmp(name, "exceptions:", 11) == 0 || strcmp(name, "timer:hrtimer_start") == 0;
}

static bool is_base(const char *name)
{
	/* Where the kernel omits switches it takes their place. */
	if (strcmp(name, "sched:sched_stat_runtime") == 0)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(event_rows); i++) {
		size_t system = strlen(event_rows[i].system);

		if (event_rows[i].sets & BASE && strncmp(name, event_rows[i].system, system) == 0 &&
		    name[system] == ':' && strcmp(name + system + 1, event_rows[i].event) == 0)
			return true;
	}
	return false;
}

enum record_step events_last_step(const char *name)
{
	if (is_base(name))
		return STEP_SWITCHES;
	return is_of_calls(name) ? STEP_ALL : STEP_NO_CALLS;
}

int events_switch(int instance_fd, const char *name, bool on, struct err *err)
{
	const char *event = strchr(name, ':') + 1;
	AUTO_FREE char *path =
		xasprintf("events/%.*s/%s/enable", (int)(event - 1 - name), name, event);

	return ftrace_write(instance_fd, path, on ? "1" : "0", err);
}

int event_set_enable(const struct event_set *set, int instance_fd, struct manifest *manifest,
		     struct err *err)
{
	for (size_t i = 0; i < set->count && !interrupt_pending(); i++) {
		const char *name = set->names[i];
		AUTO_FREE char *what = xasprintf("event %s", name);
		struct err why = { 0 };
		int rc = events_switch(instance_fd, name, true, &why);

		if (rc == 0) {
			manifest_add_event(manifest, name);
			continue;
		}
		if (is_needed(name))
			return err_set(err, rc, "%s", why.text);
		manifest_add_missing(manifest, what, why.text);
	}
	return interrupt_check(err);
}

bool events_enable_stacks(int instance_fd, struct manifest *manifest)
{
	/* The low byte of prev_state is set when the thread blocks, not when it is preempted. */
	static const char *const triggers[] = {
		"stacktrace if prev_state & 255",
		"stacktrace if prev_state > 0 && prev_state < 256",
	};
	struct err why = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(triggers); i++) {
		if (ftrace_write(instance_fd, "events/sched/sched_switch/trigger", triggers[i],
				 &why) == 0)
			return true;
	}
	manifest_add_missing(manifest, "kernel stacks at blocking points", why.text);
	return false;
}
