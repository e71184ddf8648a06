/* name_trace.c - see name_trace.h. */
#include "record/name_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/stacks.h"
#include "guard/place.h"
#include "record/name_debuginfod.h"
#include "record/name_file.h"
#include "store/stack_file.h"
#include "store/stack_rewrite.h"

#define NEW_NAME  "stacks.new" /* one that was left behind is replaced: the lock is ours */
#define FILES_MAX 4096u
#define NO_FILE	  UINT32_MAX

struct name_run {
	const struct name_trace_opts *opts;
	struct named_trace *named;
	int kernel_fd;
	int fd;		/* kernel/stacks, locked */
	char *text;	/* owned; what it is */
	struct stat st; /* of it */
	struct stacks stacks;
	struct stack_groups groups;
	uint32_t *file_of;   /* owned; the file of each group that is wanted, else NO_FILE */
	struct stacks names; /* what was learned */
	struct stack_renamed *renamed; /* owned; of each group */
	bool is_changed;
};

/* ------------------------------------------------------------------ the trace */

/* Its folder kernel/, where nobody else can change anything. */
static int open_kernel_folder(const char *path, int *out_fd, struct err *err)
{
	AUTO_CLOSE int dir = -1;
	struct stat st;
	int fd, rc = 0;

	if (stat(path, &st) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return err_set(err, -ENOTSUP,
			       "%s is a file, not a trace directory of holdup: only these have "
			       "stacks to name",
			       path);
	dir = guard_open_folder(path, err);
	if (dir < 0)
		return dir;
	fd = openat(dir, "kernel", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return err_set(err, -ENOENT, "%s has no stacks: nothing to name", path);
	if (fd < 0)
		return err_set(err, -errno, "%s/kernel: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || st.st_mode & S_IWOTH)
		rc = err_set(err, -EPERM, "%s/kernel: other users can access it", path);
	if (rc < 0)
		mem_close_fd(&fd);
	else
		*out_fd = fd;
	return rc;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Is what is at its name still what was read? */
static bool stacks_are_still(const struct name_run *run)
{
	struct stat st;

	return fstatat(run->kernel_fd, "stacks", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       is_same_file(&st, &run->st);
}

static int lock_stacks(struct name_run *run, struct err *err)
{
	run->fd = openat(run->kernel_fd, "stacks",
			 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (run->fd < 0 && errno == ENOENT)
		return err_set(err, -ENOENT, "the trace has no stacks: nothing to name");
	if (run->fd < 0)
		return err_set(err, -errno, "kernel/stacks: %s", strerror(errno));
	if (!guard_is_own_file(run->fd))
		return err_set(err, -EPERM,
			       "kernel/stacks: not a regular file of yours with one name");
	/* Held by the recorder, too, as long as it writes: see stack_names_begin(). */
	if (flock(run->fd, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, -EBUSY, "kernel/stacks: another holdup writes it now");
	if (fstat(run->fd, &run->st) < 0 || !stacks_are_still(run))
		return err_set(err, -EBUSY, "kernel/stacks: another holdup has just written it");
	return 0;
}

static int read_stacks(struct name_run *run, struct err *err)
{
	size_t bytes = (size_t)run->st.st_size, got, bad;
	AUTO_FREE char *copy = NULL;

	if (bytes > STACK_FILE_BYTES_MAX)
		return err_set(err, -EFBIG, "kernel/stacks: %zu bytes are more than a trace has",
			       bytes);
	run->text = xmalloc(bytes + 1);
	got = file_read_at(run->fd, 0, run->text, bytes);
	run->text[got] = '\0';
	if (got < bytes || strlen(run->text) < got)
		return err_set(err, -EBADMSG, "kernel/stacks: damaged, not changed");
	copy = xstrdup(run->text);
	if (stack_file_parse(copy, &run->stacks, &bad) < 0)
		return err_set(err, -EBADMSG, "kernel/stacks: not a file of stacks");
	if (bad >= STACK_FILE_BAD_MAX)
		return err_set(err, -EBADMSG, "kernel/stacks: too much damage, not changed");
	return 0;
}

/* ------------------------------------------------------------------ what is wanted */

static bool has_line(const struct stack_frame *frame)
{
	return frame->file && frame->line;
}

/* The function itself, which holds what was inlined. */
static const struct stack_frame *holder_of(const struct name_run *run, size_t group)
{
	const struct stack_group *of = &run->groups.items[group];

	return &run->stacks.frames[of->first + of->count - 1];
}

static bool can_be_named(const struct stack_frame *frame)
{
	return !frame->is_kernel && !frame->is_script && frame->path && frame->path[0] == '/' &&
	       frame->build_id && frame->offset;
}

/* The number of the frame's file in the result, which is made when it is new. */
static uint32_t wanted_file(struct name_run *run, struct map *files,
			    const struct stack_frame *frame)
{
	struct named_trace *named = run->named;
	uint64_t key = hash_bytes(frame->path, strlen(frame->path), 0);
	uint64_t *number;
	bool is_new;

	key = hash_bytes(frame->build_id, strlen(frame->build_id), key);
	number = map_add(files, key, &is_new);
	if (is_new && named->file_count == FILES_MAX)
		*number = NO_FILE;
	else if (is_new) {
		*number = named->file_count;
		named->files[named->file_count++] = (struct named_file){
			.path = xstrdup(frame->path),
			.build_id = xstrdup(frame->build_id),
		};
	}
	return (uint32_t)*number;
}

static void want_group(struct name_run *run, struct map *files, size_t group)
{
	const struct stack_frame *frame = holder_of(run, group);
	bool is_known = frame->function && (!run->opts->all || has_line(frame));
	struct named_file *file;

	run->file_of[group] = NO_FILE;
	if (is_known || run->groups.items[group].is_broken)
		return;
	if (can_be_named(frame))
		run->file_of[group] = wanted_file(run, files, frame);
	if (run->file_of[group] == NO_FILE) {
		run->named->no_file += !frame->function && !frame->is_kernel && !frame->is_script;
		return;
	}
	file = &run->named->files[run->file_of[group]];
	if (frame->function)
		file->unlined++;
	else
		file->wanted++;
}

static void find_wanted(struct name_run *run)
{
	struct map files = { 0 };

	stack_groups_find(&run->stacks, &run->groups);
	run->file_of = xcalloc(run->groups.count + 1, sizeof(*run->file_of));
	run->renamed = xcalloc(run->groups.count + 1, sizeof(*run->renamed));
	run->named->files = xcalloc(FILES_MAX, sizeof(*run->named->files));
	for (size_t i = 0; i < run->groups.count; i++)
		want_group(run, &files, i);
	map_fini(&files);
}

/* ------------------------------------------------------------------ what was learned */

/* Nothing that was known is lost, and something comes. */
static bool knows_more(const struct name_run *run, size_t group, const struct stack_frame *frames,
		       uint32_t count)
{
	const struct stack_frame *old = holder_of(run, group), *new = &frames[count - 1];

	if (count < run->groups.items[group].count || (old->function && !new->function) ||
	    (has_line(old) && !has_line(new)))
		return false;
	return (!old->function && new->function) || (!has_line(old) && has_line(new)) ||
	       (!old->function && !old->start && new->start);
}

/* What a child told of an address: the file, its build and the address are as they were. */
static void take_group(struct name_run *run, uint32_t number, size_t group,
		       const struct stack_frame *frames, uint32_t count)
{
	const struct stack_frame *old = holder_of(run, group);
	struct named_file *file = &run->named->files[number];

	run->renamed[group].first = (uint32_t)run->names.frame_count;
	run->renamed[group].count = count;
	run->is_changed = true;
	for (uint32_t i = 0; i < count; i++) {
		struct stack_frame frame = {
			.function = frames[i].function,
			.signature = frames[i].signature,
			.file = frames[i].file,
			.line = frames[i].line,
			.module = old->module,
			.path = old->path,
			.build_id = old->build_id,
			.offset = old->offset,
			.start = frames[i].function || frames[i].start ? frames[i].start
								       : old->start,
			.is_inlined = i + 1 < count,
		};

		stacks_add_frame(&run->names, &frame);
	}
	if (old->function)
		file->lined++;
	else
		file->named += frames[count - 1].function != NULL;
}

static void take_told(struct name_run *run, uint32_t number, const struct stacks *told)
{
	for (uint32_t i = 0; i < told->stack_count; i++) {
		const struct stack *stack = &told->stacks[i];
		struct stack_frame frames[STACK_FILE_FRAMES_MAX];
		bool is_sane = stack->count && stack->end;
		uint64_t group;

		for (uint32_t k = 0; is_sane && k < stack->count; k++) {
			frames[k] = *stacks_frame(told, i, k);
			is_sane = frames[k].is_inlined == (k + 1 < stack->count);
		}
		if (is_sane && text_parse_u64(stack->end, &group) && group < run->groups.count &&
		    run->file_of[group] == number && !run->renamed[group].count &&
		    knows_more(run, group, frames, stack->count))
			take_group(run, number, group, frames, stack->count);
	}
}

/* The file was read to its end: what has no name now has none in it. */
static void settle_rest(struct name_run *run, uint32_t number)
{
	for (size_t i = 0; i < run->groups.count; i++) {
		if (run->file_of[i] != number || run->renamed[i].count ||
		    !holder_of(run, i)->is_unnamed)
			continue;
		run->renamed[i].is_settled = true;
		run->is_changed = true;
	}
}

/* ------------------------------------------------------------------ files */

static void tell_phase(const struct name_run *run, const char *verb, const struct named_file *file)
{
	AUTO_FREE char *what = file ? xasprintf("%s %s", verb, text_base_name(file->path)) : NULL;
	AUTO_FREE char *safe = what ? text_escaped(what) : NULL;

	if (run->opts->phase)
		run->opts->phase(run->opts->phase_context, safe);
}

static int name_trace_fetch(const struct name_run *run, enum debuginfod_kind kind,
			    struct named_file *file)
{
	struct err why = { 0 };
	int fd;

	tell_phase(run,
		   kind == DEBUGINFOD_DEBUG ? "fetching the debug file of" : "fetching the file",
		   file);
	fd = debuginfod_fetch(run->opts->debuginfod, kind, file->build_id, &why);
	if (fd < 0) {
		free(file->not_fetched);
		file->not_fetched = xstrdup(why.text);
	}
	return fd;
}

/* From servers: the file, where the one at its path is not that build; and its debug file, where none is here. */
static void fetch_missing(const struct name_run *run, struct name_file_job *job,
			  struct named_file *file)
{
	struct err ignored = { 0 }; /* reading it tells it again */
	bool has_lines = false;

	if (job->fd < 0 || name_file_look(job, &has_lines, &ignored) != NAME_FILE_READ) {
		int fd = name_trace_fetch(run, DEBUGINFOD_PROGRAM, file);

		if (fd < 0)
			return;
		mem_close_fd(&job->fd);
		job->fd = fd;
	}
	if (!has_lines)
		job->debug_fd = name_trace_fetch(run, DEBUGINFOD_DEBUG, file);
}

static void read_file(struct name_run *run, uint32_t number, const struct name_file_job *job)
{
	static const enum named_file_state states[] = {
		[NAME_FILE_CUT] = NAMED_FILE_CUT,
		[NAME_FILE_READ] = NAMED_FILE_READ,
		[NAME_FILE_OTHER_BUILD] = NAMED_FILE_OTHER_BUILD,
		[NAME_FILE_NO_ELF] = NAMED_FILE_NO_ELF,
	};
	struct named_file *file = &run->named->files[number];
	struct stacks told = { 0 };
	struct err why = { 0 };

	tell_phase(run, "reading names of", file);
	file->state = states[name_file_read(job, &told, &why)];
	if (file->state == NAMED_FILE_CUT)
		file->why = xstrdup(why.text);
	take_told(run, number, &told);
	if (file->state == NAMED_FILE_READ)
		settle_rest(run, number);
	stacks_fini(&told);
}

static void name_one_file(struct name_run *run, uint32_t number)
{
	struct named_file *file = &run->named->files[number];
	AUTO_FREE struct name_wanted *wanted =
		xcalloc(file->wanted + file->unlined + 1, sizeof(*wanted));
	int rc = file_open_plain(file->path);
	struct name_file_job job = { .fd = rc,
				     .debug_fd = -1,
				     .path = file->path,
				     .build_id = file->build_id,
				     .wanted = wanted };

	for (size_t i = 0; i < run->groups.count; i++) {
		if (run->file_of[i] == number)
			wanted[job.count++] =
				(struct name_wanted){ holder_of(run, i)->offset, (uint32_t)i };
	}
	if (run->opts->debuginfod)
		fetch_missing(run, &job, file);
	if (job.fd >= 0) {
		read_file(run, number, &job);
	} else {
		file->state = NAMED_FILE_CLOSED;
		file->why = xstrdup(rc == -EBADMSG ? "not a regular file" : strerror(-rc));
	}
	mem_close_fd(&job.fd);
	mem_close_fd(&job.debug_fd);
}

/* ------------------------------------------------------------------ the new file */

/* With the mode and group of the old one, and on disk. */
static int write_new(const struct name_run *run, FILE *out, struct err *err)
{
	const struct stack_rewriting rewriting = { &run->stacks, &run->groups, &run->names,
						   run->renamed };
	int rc = stack_rewrite(run->text, &rewriting, out, err), fd = fileno(out);
	struct stat st;

	if (rc < 0)
		return rc;
	if (fstat(fd, &st) < 0 ||
	    (st.st_gid != run->st.st_gid && fchown(fd, (uid_t)-1, run->st.st_gid) < 0) ||
	    fchmod(fd, run->st.st_mode & 0777) < 0)
		return err_set(err, -errno, "kernel/" NEW_NAME ": its group and mode: %s",
			       strerror(errno));
	if (fsync(fd) < 0)
		return err_set(err, -errno, "kernel/" NEW_NAME ": %s", strerror(errno));
	return 0;
}

static int replace_old(const struct name_run *run, struct err *err)
{
	if (!stacks_are_still(run))
		return err_set(err, -EBUSY, "kernel/stacks: it was changed meanwhile");
	if (renameat(run->kernel_fd, NEW_NAME, run->kernel_fd, "stacks") < 0)
		return err_set(err, -errno, "kernel/stacks: %s", strerror(errno));
	(void)fsync(run->kernel_fd); /* without it a crash may leave the old one, which is whole */
	return 0;
}

static int write_stacks(struct name_run *run, struct err *err)
{
	AUTO_FILE FILE *out = NULL;
	int fd, rc;

	if (unlinkat(run->kernel_fd, NEW_NAME, 0) < 0 && errno != ENOENT)
		return err_set(err, -errno, "kernel/" NEW_NAME ": %s", strerror(errno));
	fd = openat(run->kernel_fd, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return err_set(err, -errno, "kernel/" NEW_NAME ": %s", strerror(errno));
	out = fdopen(fd, "w");
	if (!out) {
		rc = err_set(err, -errno, "kernel/" NEW_NAME ": %s", strerror(errno));
		mem_close_fd(&fd);
	} else {
		rc = write_new(run, out, err);
	}
	if (rc == 0)
		rc = replace_old(run, err);
	if (rc < 0)
		(void)unlinkat(run->kernel_fd, NEW_NAME, 0); /* best effort; the next run does it */
	run->named->is_written = rc == 0;
	return rc;
}

/* ------------------------------------------------------------------ all */

static int compare_left(const void *a, const void *b)
{
	const struct named_file *x = a, *y = b;
	size_t left_x = x->wanted - x->named + x->unlined - x->lined;
	size_t left_y = y->wanted - y->named + y->unlined - y->lined;

	if (left_x != left_y)
		return left_x > left_y ? -1 : 1;
	return strcmp(x->path, y->path) ? strcmp(x->path, y->path)
					: strcmp(x->build_id, y->build_id);
}

static void sum_files(struct named_trace *named)
{
	for (size_t i = 0; i < named->file_count; i++) {
		named->wanted += named->files[i].wanted;
		named->named += named->files[i].named;
		named->unlined += named->files[i].unlined;
		named->lined += named->files[i].lined;
	}
	qsort(named->files, named->file_count, sizeof(*named->files), compare_left);
}

static int name_trace_run(struct name_run *run, const char *path, struct err *err)
{
	int rc = open_kernel_folder(path, &run->kernel_fd, err);

	if (rc == 0)
		rc = lock_stacks(run, err);
	if (rc == 0)
		rc = read_stacks(run, err);
	if (rc < 0)
		return rc;
	find_wanted(run);
	for (uint32_t i = 0; i < run->named->file_count; i++)
		name_one_file(run, i);
	tell_phase(run, NULL, NULL);
	sum_files(run->named);
	return run->is_changed ? write_stacks(run, err) : 0;
}

int name_trace(const char *path, const struct name_trace_opts *opts, struct named_trace *out_named,
	       struct err *err)
{
	struct name_run run = { .opts = opts, .named = out_named, .kernel_fd = -1, .fd = -1 };
	int rc;

	*out_named = (struct named_trace){ 0 };
	rc = name_trace_run(&run, path, err);
	stacks_fini(&run.stacks);
	stacks_fini(&run.names);
	stack_groups_fini(&run.groups);
	free(run.file_of);
	free(run.renamed);
	free(run.text);
	mem_close_fd(&run.fd);
	mem_close_fd(&run.kernel_fd);
	return rc;
}

void named_trace_fini(struct named_trace *named)
{
	for (size_t i = 0; i < named->file_count; i++) {
		free(named->files[i].path);
		free(named->files[i].build_id);
		free(named->files[i].why);
		free(named->files[i].not_fetched);
	}
	free(named->files);
	*named = (struct named_trace){ 0 };
}
