/* go_take.c - see go_take.h. Children write plain structs into a file in memory. */
#include "record/go_take.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "proc/stat.h"
#include "record/name_child.h"
#include "stuck/goroutines.h"
#include "stuck/stuck.h"
#include "symbol/go_layout.h"

#define PROGRAMS_MAX  256u  /* of Go, in one look */
#define PROCESSES_MAX 4096u /* that are asked whether they are some */
#define TEXT_MAX      120u
#define GO_LATE	      "reading the program's file failed or took too long"
#define GO_ELSE	      "it ended, or executed another program, while this was read"
#define ANSWER_MAX    (64 << 20)

/* Which file it is, and in which state. */
struct go_file {
	dev_t device;
	ino_t inode;
	off_t bytes;
	struct timespec changed;
};

/* Which process it is: an execve() changes the name, if not always. */
struct go_process_id {
	int32_t tgid;
	uint64_t birth;
	char comm[STUCK_COMM_MAX];
};

/* A process of Go, and its runtime. */
struct go_program {
	int32_t tgid;
	struct go_process_id id;
	struct go_file file;
	bool is_read;	    /* the file is, and that is all that it says */
	char why[TEXT_MAX]; /* it is not known; "" = it is */
	struct go_layout layout;
};

/* The tgid says nothing. */
struct go_layouts {
	struct go_program items[PROGRAMS_MAX];
	size_t count;
	uint64_t spent_ns;
};

/* What the first child is to look at: in memory that both have. */
struct go_files {
	struct go_process_id ids[PROCESSES_MAX];
	size_t id_count;
	const struct go_layouts *layouts;      /* NULL = none are known */
	struct go_program found[PROGRAMS_MAX]; /* those of Go, without a layout, with ... */
	int fds[PROGRAMS_MAX];
	size_t count;
};

struct go_layouts *go_layouts_new(void)
{
	return xcalloc(1, sizeof(struct go_layouts));
}

uint64_t go_layouts_spent_ns(const struct go_layouts *layouts)
{
	return layouts->spent_ns;
}

void go_layouts_free(struct go_layouts *layouts)
{
	free(layouts);
}

static struct go_file go_file_of(const struct stat *st)
{
	return (struct go_file){ st->st_dev, st->st_ino, st->st_size, st->st_ctim };
}

static bool go_is_same_file(const struct go_file *a, const struct go_file *b)
{
	return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* Of that file in an array; NULL = it is in none. */
static const struct go_program *go_find_layout(const struct go_program *programs, size_t count,
					       const struct go_file *file)
{
	for (size_t i = 0; i < count; i++) {
		if (programs[i].is_read && go_is_same_file(&programs[i].file, file))
			return &programs[i];
	}
	return NULL;
}

/* Those of whose files all is read. A file that changed takes a new place; those that find none are read each time. */
static void go_keep_layouts(struct go_layouts *layouts, const struct go_program *programs,
			    size_t count, uint64_t spent_ns)
{
	size_t before = layouts->count;

	for (size_t i = 0; i < count && layouts->count < PROGRAMS_MAX; i++) {
		if (programs[i].is_read &&
		    !go_find_layout(layouts->items, layouts->count, &programs[i].file))
			layouts->items[layouts->count++] = programs[i];
	}
	if (layouts->count > before)
		layouts->spent_ns += spent_ns;
}

/*
 * Whether it is still the process that was looked at, under the name that it had. *out_stack, which may be NULL, is
 * another one after each execve(). May hang: for a child.
 */
static bool go_is_same_process(const struct go_process_id *id, uint64_t *out_stack)
{
	char path[32], line[STAT_BYTES_MAX], comm[STUCK_COMM_MAX];
	struct proc_stat stat;

	snprintf(path, sizeof(path), "/proc/%d/stat", id->tgid);
	if (!stat_read(AT_FDCWD, path, line, &stat) || stat.field[STAT_BIRTH] != id->birth)
		return false;
	if (out_stack)
		*out_stack = stat.field[STAT_STACK];
	stat_copy_comm(&stat, comm, sizeof(comm));
	return strcmp(comm, id->comm) == 0;
}

/* In which calls Go's runtime parks threads. */
static bool go_is_in_parking(const struct stuck_thread *thread)
{
	static const char *const calls[] = { "futex", "epoll_wait", "epoll_pwait" };

	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		if (strcmp(thread->in, calls[i]) == 0)
			return true;
	}
	return false;
}

/* Whether a process may have nobody but goroutines that all wait; its first thread is at 'first'. */
static bool go_may_be_stuck(const struct stuck *stuck, size_t first)
{
	for (size_t i = first;
	     i < stuck->count && stuck->threads[i].tgid == stuck->threads[first].tgid; i++) {
		if (!stuck->threads[i].runs || !go_is_in_parking(&stuck->threads[i]))
			return false;
	}
	return true;
}

static void go_find_files(const struct stuck *stuck, const struct go_wanted *wanted,
			  struct go_files *files)
{
	for (size_t i = 0; i < stuck->count && files->id_count < PROCESSES_MAX; i++) {
		const struct stuck_thread *thread = &stuck->threads[i];
		const struct stuck_thread *main = stuck_find(stuck, thread->tgid);
		struct go_process_id *id;

		if (!thread->is_asked || !main || (i && thread[-1].tgid == thread->tgid))
			continue;
		if (wanted->is_wanted && (!go_may_be_stuck(stuck, i) ||
					  !wanted->is_wanted(wanted->context, thread->tgid)))
			continue;
		id = &files->ids[files->id_count++];
		*id = (struct go_process_id){ .tgid = main->tid, .birth = main->birth };
		memcpy(id->comm, main->comm, sizeof(id->comm));
	}
}

/* In the child, which may still open files. */
static void go_open_files(struct go_files *files)
{
	for (size_t i = 0; i < files->id_count && files->count < PROGRAMS_MAX; i++) {
		struct go_program *program = &files->found[files->count];
		char path[32];
		struct stat st;
		int fd;

		snprintf(path, sizeof(path), "/proc/%d/exe", files->ids[i].tgid);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			continue;
		if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !go_layout_is_go(fd)) {
			close(fd);
			continue;
		}
		*program = (struct go_program){ .tgid = files->ids[i].tgid,
						.id = files->ids[i],
						.file = go_file_of(&st) };
		snprintf(program->why, TEXT_MAX, "%s",
			 go_is_same_process(&program->id, NULL) ? GO_LATE : GO_ELSE);
		files->fds[files->count++] = fd;
	}
}

/* In the child. Of several that run one program, it is read once. */
static void go_read_file(const struct go_files *files, const struct go_program *before,
			 size_t index, struct go_program *program)
{
	const struct go_layouts *layouts = files->layouts;
	const struct go_program *known =
		layouts ? go_find_layout(layouts->items, layouts->count, &program->file) : NULL;
	const char *why;

	if (!known)
		known = go_find_layout(before, index, &program->file);
	if (known) {
		program->layout = known->layout;
		memcpy(program->why, known->why, sizeof(program->why));
	} else {
		why = go_layout_read(files->fds[index], &program->layout);
		snprintf(program->why, TEXT_MAX, "%s", why ? why : "");
	}
	program->is_read = true;
}

/* In the child. Those that it has no time for stand there without a layout. */
static _Noreturn void go_read_files(struct go_files *files, int fd)
{
	struct go_program *programs = files->found;

	go_open_files(files);
	name_child_give_up();
	if (file_write(fd, programs, files->count * sizeof(*programs)) < 0)
		_exit(1);
	for (size_t i = 0; i < files->count; i++) {
		if (strcmp(programs[i].why, GO_LATE) != 0)
			continue;
		go_read_file(files, programs, i, &programs[i]);
		if (pwrite(fd, &programs[i], sizeof(programs[i]),
			   (off_t)(i * sizeof(programs[i]))) != (ssize_t)sizeof(programs[i]))
			_exit(1);
	}
	_exit(0);
}

/* All that a child wrote, for the caller to free; NULL = nothing. */
static void *go_answer(int fd, size_t *out_bytes)
{
	off_t bytes = lseek(fd, 0, SEEK_END);
	void *answer = bytes > 0 && bytes < ANSWER_MAX ? xcalloc(1, (size_t)bytes) : NULL;

	*out_bytes = 0;
	if (!answer)
		return NULL;
	if (pread(fd, answer, (size_t)bytes, 0) != bytes) {
		free(answer);
		return NULL;
	}
	*out_bytes = (size_t)bytes;
	return answer;
}

/* ------------------------------------------------------------------ memory */

static size_t go_threads_of(const struct stuck *stuck, int32_t tgid, struct go_thread **out_threads)
{
	struct go_thread *threads = xcalloc(stuck->count + 1, sizeof(*threads));
	size_t count = 0;

	for (size_t i = 0; i < stuck->count; i++) {
		const struct stuck_thread *thread = &stuck->threads[i];

		if (thread->tgid == tgid)
			threads[count++] =
				(struct go_thread){ thread->tid, thread->pc, thread->runs,
						    go_is_in_parking(thread) };
	}
	*out_threads = threads;
	return count;
}

/* A process is one piece: itself, its groups, its numbers. */
static bool go_write(int fd, const struct goroutines *goroutines)
{
	const struct go_process *process = &goroutines->processes[0];
	uint64_t ids = goroutines->id_count;

	return file_write(fd, &ids, sizeof(ids)) == 0 &&
	       file_write(fd, process, sizeof(*process)) == 0 &&
	       file_write(fd, goroutines->groups,
			  goroutines->group_count * sizeof(*goroutines->groups)) == 0 &&
	       file_write(fd, goroutines->ids, goroutines->id_count * sizeof(*goroutines->ids)) ==
		       0;
}

/* What was read is of another program. */
static void go_forget(struct goroutines *goroutines)
{
	struct go_process *process = &goroutines->processes[0];

	*process = (struct go_process){ .tgid = process->tgid };
	snprintf(process->missing, sizeof(process->missing), "%s", GO_ELSE);
	goroutines->group_count = goroutines->id_count = 0;
}

/*
 * In the child: whether it is the process with the program that its layout is of; twice with the same *out_stack it has
 * been so all the time between.
 */
static bool go_is_same_program(const struct go_program *program, uint64_t *out_stack)
{
	char path[32];
	struct go_file file;
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", program->tgid);
	if (stat(path, &st) < 0)
		return false;
	file = go_file_of(&st);
	return go_is_same_file(&file, &program->file) &&
	       go_is_same_process(&program->id, out_stack);
}

/* In the child. */
static _Noreturn void go_read_memory(const struct stuck *stuck, const struct go_program *programs,
				     size_t count, int fd)
{
	int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (proc_fd < 0)
		_exit(1);
	for (size_t i = 0; i < count; i++) {
		struct goroutines goroutines = { 0 };
		struct go_thread *threads;
		uint64_t before = 0, after = 0;
		bool is_same;
		struct go_target target = { .tgid = programs[i].tgid,
					    .layout = &programs[i].layout };

		if (programs[i].why[0])
			continue;
		is_same = go_is_same_program(&programs[i], &before);
		target.thread_count = go_threads_of(stuck, target.tgid, &threads);
		target.threads = threads;
		goroutines_read(&target, proc_fd, &goroutines);
		if (!is_same || !go_is_same_program(&programs[i], &after) || after != before)
			go_forget(&goroutines);
		if (!go_write(fd, &goroutines))
			_exit(1);
		free(threads);
		goroutines_fini(&goroutines);
	}
	_exit(0);
}

static void go_end_text(char *text, size_t bytes)
{
	text[bytes - 1] = '\0';
}

static void go_check_frame(struct go_frame *frame)
{
	go_end_text(frame->function, sizeof(frame->function));
	go_end_text(frame->file, sizeof(frame->file));
}

/* It may be anything. False when it is none. */
static bool go_check_group(struct go_group *group, uint64_t ids)
{
	if (group->first > ids || group->count > ids - group->first || !group->count ||
	    group->state > GO_OTHER || group->frames > GO_FRAMES_MAX ||
	    (group->frames ? group->place >= group->frames : group->place != 0))
		return false;
	go_end_text(group->reason, sizeof(group->reason));
	go_end_text(group->object, sizeof(group->object));
	for (uint32_t i = 0; i < group->frames; i++)
		go_check_frame(&group->stack[i]);
	go_check_frame(&group->created);
	return true;
}

static void go_add_process(struct goroutines *goroutines, const struct go_process *process)
{
	goroutines->processes = vec_room(goroutines->processes, goroutines->process_count,
					 &goroutines->process_cap, sizeof(*process));
	goroutines->processes[goroutines->process_count++] = *process;
}

/* Groups and numbers of one process go behind those that are there. */
static bool go_add_piece(struct goroutines *goroutines, struct go_process *process,
			 const uint8_t *bytes, uint64_t ids)
{
	uint32_t group_base = (uint32_t)goroutines->group_count;
	uint32_t id_base = (uint32_t)goroutines->id_count;

	for (uint32_t i = 0; i < process->groups; i++) {
		struct go_group *group;

		goroutines->groups = vec_room(goroutines->groups, goroutines->group_count,
					      &goroutines->group_cap, sizeof(*group));
		group = &goroutines->groups[goroutines->group_count];
		memcpy(group, bytes, sizeof(*group));
		bytes += sizeof(*group);
		if (!go_check_group(group, ids))
			return false;
		group->first += id_base;
		goroutines->group_count++;
	}
	goroutines->ids =
		xrealloc(goroutines->ids, goroutines->id_count + ids + 1, sizeof(int64_t));
	goroutines->id_cap = goroutines->id_count + ids + 1;
	memcpy(goroutines->ids + goroutines->id_count, bytes, ids * sizeof(int64_t));
	goroutines->id_count += ids;
	process->first = group_base;
	go_end_text(process->open, sizeof(process->open));
	go_end_text(process->missing, sizeof(process->missing));
	go_add_process(goroutines, process);
	return true;
}

static void go_parse(const uint8_t *bytes, size_t count, struct goroutines *goroutines)
{
	struct go_process process;
	uint64_t ids;

	while (count >= sizeof(ids) + sizeof(process)) {
		size_t need;

		memcpy(&ids, bytes, sizeof(ids));
		memcpy(&process, bytes + sizeof(ids), sizeof(process));
		bytes += sizeof(ids) + sizeof(process);
		count -= sizeof(ids) + sizeof(process);
		if (ids > ANSWER_MAX || process.groups > ANSWER_MAX)
			return;
		need = process.groups * sizeof(struct go_group) + ids * sizeof(int64_t);
		if (need > count || !go_add_piece(goroutines, &process, bytes, ids))
			return;
		bytes += need;
		count -= need;
	}
}

/* ------------------------------------------------------------------ all together */

static bool go_is_told(const struct goroutines *goroutines, int32_t tgid)
{
	for (size_t i = 0; i < goroutines->process_count; i++) {
		if (goroutines->processes[i].tgid == tgid)
			return true;
	}
	return false;
}

/* Of those that nothing is known of, why. */
static void go_add_missing(struct goroutines *goroutines, const struct go_program *programs,
			   size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct go_process process = { .tgid = programs[i].tgid,
					      .first = (uint32_t)goroutines->group_count };

		if (go_is_told(goroutines, process.tgid))
			continue;
		snprintf(process.missing, sizeof(process.missing), "%s",
			 programs[i].why[0] ? programs[i].why
					    : "reading its memory failed or took too long");
		go_add_process(goroutines, &process);
	}
}

/* What the first child found: an array, for the caller to free. It may have come to no end. */
static struct go_program *go_programs(const struct stuck *stuck, const struct go_wanted *wanted,
				      size_t *out_count, int *out_rc)
{
	AUTO_CLOSE int fd = memfd_create("holdup-go", MFD_CLOEXEC);
	AUTO_FREE struct go_files *files = xcalloc(1, sizeof(*files));
	uint64_t begun_ns = clock_usage_ns(RUSAGE_CHILDREN);
	struct go_program *programs;
	struct err ignored = { 0 };
	size_t bytes;
	pid_t child;

	*out_count = 0;
	*out_rc = 0;
	files->layouts = wanted->layouts;
	go_find_files(stuck, wanted, files);
	child = fd < 0 || !files->id_count ? -1 : fork();
	if (child < 0)
		return NULL;
	if (child == 0)
		go_read_files(files, fd);
	*out_rc = name_child_await(child, wanted->wait_ms, &ignored);
	programs = go_answer(fd, &bytes);
	*out_count = bytes / sizeof(*programs);
	for (size_t i = 0; i < *out_count; i++)
		go_end_text(programs[i].why, TEXT_MAX);
	if (wanted->layouts)
		go_keep_layouts(wanted->layouts, programs, *out_count,
				clock_usage_ns(RUSAGE_CHILDREN) - begun_ns);
	return programs;
}

ORDER_FUNCTION(by_tgid, struct go_process, ORDER_UP(tgid));

int go_take(const struct stuck *stuck, const struct go_wanted *wanted,
	    struct goroutines *goroutines, struct err *err)
{
	size_t count, bytes;
	int rc;
	AUTO_FREE struct go_program *programs = go_programs(stuck, wanted, &count, &rc);
	AUTO_CLOSE int fd = count ? memfd_create("holdup-go", MFD_CLOEXEC) : -1;
	AUTO_FREE uint8_t *answer = NULL;
	struct err ignored = { 0 };
	pid_t child = fd < 0 ? -1 : fork();

	if (!count)
		return rc < 0 ? err_set(err, rc, "looking for Go programs failed or took too long")
			      : 0;
	if (child == 0)
		go_read_memory(stuck, programs, count, fd);
	if (child > 0)
		(void)name_child_await(child, wanted->wait_ms,
				       &ignored); /* who is missing, is told */
	answer = child > 0 ? go_answer(fd, &bytes) : NULL;
	if (answer)
		go_parse(answer, bytes, goroutines);
	go_add_missing(goroutines, programs, count);
	qsort(goroutines->processes, goroutines->process_count, sizeof(*goroutines->processes),
	      by_tgid);
	return count < PROGRAMS_MAX
		       ? 0
		       : err_set(err, -E2BIG, "only %u Go programs are inspected", PROGRAMS_MAX);
}
