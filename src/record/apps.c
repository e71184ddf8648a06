/* apps.c - known points of known programs in the files that run. */
#include "record/apps.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "event/app_table.h"
#include "guard/drop.h"
#include "record/ftrace.h"
#include "record/probe_find.h"
#include "record/probe_spec.h"
#include "record/probes.h"
#include "proc/proc.h"
#include "store/manifest.h"
#include "symbol/binary.h"
#include "symbol/elf_file.h"

#define FILES_MAX      64      /* looked into; others may run as many as they like */
#define FIRST_WISH     0x10000 /* the user's own points are numbered below it */
#define LOOKING_NS_MAX 3000000000u
#define DEBUG_ROOT     "/usr/lib/debug"
#define LIBRARIES_MAX  128

struct file_id {
	dev_t dev;
	ino_t inode;
};

struct looking {
	struct probe_finder finder;
	const struct probes_wish *wish;
	const struct app_table *table;
	bool costly;
	struct file_id seen[FILES_MAX];
	size_t seen_count;
	uint64_t until_ns;
	app_found_fn *tell; /* NULL = the points are added */
	void *context;
};

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_file_of(const struct app *app, const char *path)
{
	for (size_t i = 0; i < app->file_count; i++) {
		if (fnmatch(app->files[i], last_part(path), 0) == 0)
			return true;
	}
	return false;
}

static bool is_file_of_any(const struct app_table *table, const char *path)
{
	for (size_t i = 0; i < table->app_count; i++) {
		if (is_file_of(&table->apps[i], path))
			return true;
	}
	return false;
}

/* Does a program of this name load files whose points are known? */
static bool is_via(const struct app_table *table, const char *path)
{
	for (size_t i = 0; i < table->app_count; i++) {
		if (table->apps[i].via && fnmatch(table->apps[i].via, last_part(path), 0) == 0)
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------ one file */

/* The same point in another line is the same event. */
static size_t first_alike(const struct app_table *table, size_t point)
{
	const struct app_point *at = &table->points[point];

	for (size_t i = 0; i < point; i++) {
		const struct app_point *other = &table->points[i];

		if (other->place == at->place && !strcmp(other->point, at->point) &&
		    table->spans[other->span].app == table->spans[at->span].app)
			return i;
	}
	return point;
}

static int parse_point(const struct app_point *point, struct probe_spec *out_spec, struct err *err)
{
	/* Only what was written is fetched. The file is known: its name is there for the parser. */
	AUTO_FREE char *text =
		point->place == APP_USDT
			? xasprintf("%s%s", point->point, strchr(point->point, '(') ? "" : "()")
			: xasprintf("/:%s%s", point->point,
				    point->place == APP_RETURN ? "%return" : "");

	return probe_spec_parse(text, point->place == APP_USDT, out_spec, err);
}

static void tell_found(struct looking *looking, const char *path, size_t point, size_t lines,
		       int rc, const struct err *err)
{
	struct app_found found = { .path = path, .point = (uint32_t)point };

	if (rc < 0)
		found.why_not = err->text;
	else if (looking->finder.probes->line_count == lines)
		found.why_not = "not there";
	looking->tell(looking->context, &found);
}

static void look_for(struct looking *looking, struct elf_file *file, const char *path, size_t point)
{
	const struct app_point *at = &looking->table->points[point];
	const struct app_span *span = &looking->table->spans[at->span];
	size_t first = first_alike(looking->table, point);
	size_t lines = looking->finder.probes->line_count;
	struct probe_spec spec = { 0 };
	struct err err = { 0 };
	int rc;

	if (at->place == APP_EVENT || (span->is_costly && !looking->costly))
		return;
	looking->finder.index = FIRST_WISH + first;
	rc = parse_point(at, &spec, &err);
	if (rc == 0)
		rc = probe_find_here(&looking->finder, file, path, &spec, &err);
	probe_spec_fini(&spec);
	if (looking->tell && first == point)
		tell_found(looking, path, point, lines, rc, &err);
}

static bool was_seen(struct looking *looking, struct elf_file *file)
{
	struct stat st;

	if (fstat(elf_file_fd(file), &st) < 0)
		return true;
	for (size_t i = 0; i < looking->seen_count; i++) {
		if (looking->seen[i].dev == st.st_dev && looking->seen[i].inode == st.st_ino)
			return true;
	}
	if (looking->seen_count == FILES_MAX)
		return true;
	looking->seen[looking->seen_count++] = (struct file_id){ st.st_dev, st.st_ino };
	return false;
}

static void look_into(struct looking *looking, struct elf_file *file, const char *path)
{
	bool has_debug = false;

	if (was_seen(looking, file))
		return;
	for (size_t i = 0; i < looking->table->point_count; i++) {
		const struct app_point *point = &looking->table->points[i];
		const struct app *app =
			&looking->table->apps[looking->table->spans[point->span].app];

		if (!is_file_of(app, path))
			continue;
		if (!has_debug && (point->place == APP_FUNC || point->place == APP_RETURN)) {
			elf_file_add_debug(file, DEBUG_ROOT);
			has_debug = true;
		}
		look_for(looking, file, path, i);
	}
}

/* ------------------------------------------------------------------ which files */

static bool is_over(const struct looking *looking)
{
	return looking->seen_count == FILES_MAX || clock_now_ns() > looking->until_ns;
}

/*
 * Which regular file that is, as the kernel remembers it: nobody who serves a network or user file system is asked,
 * who may never answer.
 */
static bool id_without_server(const char *path, struct file_id *out_id)
{
	struct statx info;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_INO,
		  &info) < 0 ||
	    !S_ISREG(info.stx_mode))
		return false;
	*out_id = (struct file_id){ makedev(info.stx_dev_major, info.stx_dev_minor), info.stx_ino };
	return true;
}

/* Has a process with the same file been looked at? That is cheaper to ask than to open it. */
static bool app_is_known(const struct looking *looking, const char *path)
{
	struct file_id id;

	if (!id_without_server(path, &id))
		return true;
	for (size_t i = 0; i < looking->seen_count; i++) {
		if (looking->seen[i].dev == id.dev && looking->seen[i].inode == id.inode)
			return true;
	}
	return false;
}

/* What a process sees at 'path'; a probe_mapped_fn. */
static void look_at_mapped(void *context, int32_t pid, const char *path)
{
	struct looking *looking = context;
	AUTO_FREE char *whole = xasprintf("/proc/%d/root%s", (int)pid, path);
	struct elf_file *file;

	if (is_over(looking) || !is_file_of_any(looking->table, path) ||
	    probe_open_mapped(whole, pid, &file, NULL) < 0)
		return;
	look_into(looking, file, whole);
	elf_file_close(file);
}

/* What others run may hold the target up. */
static void look_at_processes(struct looking *looking)
{
	AUTO_CLOSE int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_FREE int32_t *pids = NULL;
	int count = proc_fd < 0 ? 0 : proc_numbers(proc_fd, ".", &pids);

	for (int i = 0; i < count && !is_over(looking); i++) {
		AUTO_FREE char *link = xasprintf("/proc/%d/exe", (int)pids[i]);
		char path[PATH_MAX];
		ssize_t bytes = readlink(link, path, sizeof(path) - 1);

		if (bytes <= 0)
			continue;
		path[bytes] = '\0';
		if (is_via(looking->table, path))
			probe_each_mapped(pids[i], look_at_mapped, looking);
		else if (is_file_of_any(looking->table, path) && !app_is_known(looking, link))
			look_at_mapped(looking, pids[i], path);
	}
}

static char *real_path(const struct looking *looking, const char *path)
{
	struct guard_lent lent;
	char *real;

	if (guard_lend(looking->wish->user, &lent, NULL) < 0)
		return NULL;
	real = realpath(path, NULL);
	guard_take_back(&lent);
	return real;
}

/* A file that is named by the user, or by one that the user may read: opened with those rights. */
static void look_at_named(struct looking *looking, const char *path, unsigned int depth)
{
	struct elf_file *file;
	AUTO_FREE char *real = real_path(looking, path);
	size_t count;
	const char *const *needed;

	if (!real || is_over(looking) || probe_open_named(&looking->finder, real, &file, NULL) < 0)
		return;
	if (is_file_of_any(looking->table, real))
		look_into(looking, file, real);
	needed = elf_file_needed(file, &count);
	for (size_t i = 0; i < count && i < LIBRARIES_MAX && depth == 0; i++) {
		AUTO_FREE char *library =
			strchr(needed[i], '/')
				? xstrdup(needed[i])
				: binary_find_library(needed[i], BINARY_LOADER_CACHE);

		if (library && is_file_of_any(looking->table, library))
			look_at_named(looking, library, depth + 1);
	}
	elf_file_close(file);
	for (size_t i = 0; i < looking->table->app_count && depth == 0; i++) {
		const struct app *app = &looking->table->apps[i];
		AUTO_FREE char *beside = NULL;

		if (!app->via || !app->via_path || fnmatch(app->via, last_part(real), 0) != 0)
			continue;
		beside = xasprintf("%.*s%s", (int)(last_part(real) - real), real, app->via_path);
		look_at_named(looking, beside, depth + 1);
	}
}

static char *find_command(const struct looking *looking, const char *name)
{
	struct guard_lent lent;
	char *path = NULL;

	if (guard_lend(looking->wish->user, &lent, NULL) < 0)
		return NULL;
	if (binary_find(name, &path, NULL) < 0)
		path = NULL;
	guard_take_back(&lent);
	return path;
}

/* What the command may start: programs of PATH whose names are in the table. */
static void look_at_programs(struct looking *looking)
{
	for (size_t i = 0; i < looking->table->app_count; i++) {
		const struct app *app = &looking->table->apps[i];

		for (size_t k = 0; k <= app->file_count; k++) {
			const char *name = k < app->file_count ? app->files[k] : app->via;
			AUTO_FREE char *path = name && !strpbrk(name, "*?[") && !strstr(name, ".so")
						       ? find_command(looking, name)
						       : NULL;

			if (path)
				look_at_named(looking, path, 0);
		}
	}
}

static void look_everywhere(struct looking *looking)
{
	const struct probes_wish *wish = looking->wish;
	AUTO_FREE char *command = wish->command ? find_command(looking, wish->command) : NULL;

	looking->until_ns = clock_now_ns() + LOOKING_NS_MAX;
	if (command)
		look_at_named(looking, command, 0);
	for (size_t i = 0; i < wish->pid_count; i++)
		probe_each_mapped(wish->pids[i], look_at_mapped, looking);
	look_at_processes(looking);
	if (command)
		look_at_programs(looking);
}

/* ------------------------------------------------------------------------ results */

static char *events_of(const struct probes *probes, size_t wish)
{
	char *names = NULL;

	for (size_t i = 0; i < probes->event_count; i++) {
		char *longer;

		if (probes->events[i].wish != wish)
			continue;
		longer = xasprintf("%s%s%s", names ? names : "", names ? " " : "",
				   probes->events[i].name);
		free(names);
		names = longer;
	}
	return names;
}

/* What the points mean goes with the trace. */
static void tell_manifest(const struct probes *probes, const struct apps_wish *apps,
			  struct manifest *manifest)
{
	const struct app_table *table = apps->table;
	char **events = xcalloc(table->point_count + 1, sizeof(*events));
	bool any = false;

	for (size_t i = 0; i < table->point_count; i++) {
		if (!table->spans[table->points[i].span].is_costly || apps->costly)
			events[i] = events_of(probes, FIRST_WISH + first_alike(table, i));
		any |= events[i] != NULL;
	}
	if (any) {
		free(manifest->apps);
		manifest->apps = app_table_text(table, (const char *const *)events);
	}
	for (size_t i = 0; i < table->point_count; i++)
		free(events[i]);
	free(events);
}

int apps_choose(struct probes *probes, int tracing_fd, const struct probes_wish *wish,
		const struct apps_wish *apps, struct manifest *manifest, struct err *err)
{
	struct looking *looking;

	if (!apps->table)
		return 0;
	if (!ftrace_has(tracing_fd, "uprobe_events"))
		return err_set(err, -ENOTSUP,
			       "this kernel has no uprobe events: it was built without "
			       "CONFIG_UPROBE_EVENTS");
	looking = xcalloc(1, sizeof(*looking));
	looking->finder =
		(struct probe_finder){ probes, wish, manifest, wish->user, tracing_fd, 0, true };
	looking->wish = wish;
	looking->table = apps->table;
	looking->costly = apps->costly;
	look_everywhere(looking);
	free(looking);
	tell_manifest(probes, apps, manifest);
	return 0;
}

void apps_look(const struct probes_wish *wish, const struct app_table *table, app_found_fn *tell,
	       void *context)
{
	struct probes probes = { 0 };
	struct manifest manifest = { 0 };
	struct looking *looking = xcalloc(1, sizeof(*looking));

	looking->finder =
		(struct probe_finder){ &probes, wish, &manifest, wish->user, -1, 0, true };
	looking->wish = wish;
	looking->table = table;
	looking->costly = true;
	looking->tell = tell;
	looking->context = context;
	look_everywhere(looking);
	free(looking);
	probes_fini(&probes);
	manifest_fini(&manifest);
}
