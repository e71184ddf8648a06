/* name_file.c - see name_file.h. */
#include "record/name_file.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "event/stacks.h"
#include "record/name_child.h"
#include "store/stack_file.h"
#include "symbol/unwind.h"

#define WAIT_MS	    60000
#define FLUSH_EVERY 256 /* addresses; what is written is whole, whatever the next one does to us */

/* Shared with the child, which writes it. */
struct name_report {
	uint8_t state;
	uint8_t has_lines;
};

static void put_names(FILE *out, const struct unwind_name *names, size_t count, uint32_t id,
		      uint32_t *frame_count)
{
	uint32_t frames[UNWIND_INLINED_MAX + 1];
	char end[16];

	if (!names[count - 1].function && !names[count - 1].line && !names[count - 1].start)
		return;
	for (size_t i = 0; i < count; i++) {
		stack_file_frame(out, &(struct stack_frame){ .function = names[i].function,
							     .signature = names[i].signature,
							     .file = names[i].file,
							     .line = names[i].line,
							     .start = names[i].start,
							     .is_inlined = names[i].is_inlined });
		frames[i] = (*frame_count)++;
	}
	(void)snprintf(end, sizeof(end), "%u", id);
	stack_file_stack(out, frames, count, end);
}

static void name_file_put(const struct name_file_job *job, struct unwind_names *names, FILE *out)
{
	uint32_t frame_count = 0;

	stack_file_begin(out);
	for (size_t i = 0; i < job->count; i++) {
		struct unwind_name found[UNWIND_INLINED_MAX + 1] = { 0 };
		size_t count = unwind_names_find(names, job->wanted[i].address, found);

		put_names(out, found, count, job->wanted[i].id, &frame_count);
		if (i % FLUSH_EVERY == 0)
			(void)fflush(out);
	}
}

static enum name_file_state name_file_state_of(struct unwind_names *names, const char *build_id)
{
	const char *own = names ? unwind_names_build_id(names) : NULL;

	if (!names)
		return NAME_FILE_NO_ELF;
	return own && strcmp(own, build_id) == 0 ? NAME_FILE_READ : NAME_FILE_OTHER_BUILD;
}

/* The trace stays the parent's, and its lock, should that end before us. */
static void close_others(int a, int b, int c)
{
	int kept[] = { a, b, c };
	unsigned int next = STDERR_FILENO + 1;

	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		for (size_t k = i + 1; k < ARRAY_LEN(kept); k++) {
			int other = kept[k];

			if (other >= kept[i])
				continue;
			kept[k] = kept[i];
			kept[i] = other;
		}
		if (kept[i] < (int)next)
			continue;
		if (kept[i] > (int)next)
			(void)close_range(next, (unsigned int)kept[i] - 1, 0);
		next = (unsigned int)kept[i] + 1;
	}
	(void)close_range(next, UINT_MAX, 0);
}

/* 'fd' -1: it is only looked at. */
static _Noreturn void name_file_child(const struct name_file_job *job, int fd,
				      struct name_report *report)
{
	struct unwind_names *names;
	enum name_file_state state;
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

	close_others(job->fd, job->debug_fd, fd);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* else its limits end it */
	name_child_give_up();
	names = unwind_names_new(job->fd, job->path);
	state = name_file_state_of(names, job->build_id);
	if (state == NAME_FILE_READ) {
		if (job->debug_fd >= 0)
			(void)unwind_names_add_debug(names, job->debug_fd); /* else it is not its */
		if (out)
			name_file_put(job, names, out);
		else
			report->has_lines = unwind_names_have_lines(names);
	}
	if (out && (fflush(out) != 0 || ferror(out)))
		_exit(1);
	report->state = (uint8_t)state;
	_exit(0);
}

static enum name_file_state name_file_run(const struct name_file_job *job, int fd,
					  bool *out_has_lines, struct err *err)
{
	struct name_report *report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	enum name_file_state state = NAME_FILE_CUT;
	pid_t pid;
	int rc;

	if (report == MAP_FAILED) {
		(void)err_set(err, -errno, "no memory: %s", strerror(errno));
		return NAME_FILE_CUT;
	}
	pid = fork();
	if (pid == 0)
		name_file_child(job, fd, report);
	rc = pid < 0 ? err_set(err, -errno, "cannot start a process: %s", strerror(errno))
		     : name_child_await(pid, WAIT_MS, err);
	if (rc == 0 && report->state <= NAME_FILE_NO_ELF)
		state = (enum name_file_state)report->state;
	if (rc == 0 && state == NAME_FILE_CUT)
		(void)err_set(err, -EIO, "its process told nothing");
	*out_has_lines = report->has_lines;
	(void)munmap(report, sizeof(*report));
	return state;
}

enum name_file_state name_file_look(const struct name_file_job *job, bool *out_has_lines,
				    struct err *err)
{
	*out_has_lines = false;
	return name_file_run(job, -1, out_has_lines, err);
}

/* What the child wrote: all whole lines of it. */
static void name_file_take(int fd, struct stacks *out_names)
{
	AUTO_FREE char *text = NULL;
	struct stat st;
	size_t got, bad;
	char *end;

	if (fstat(fd, &st) < 0 || st.st_size <= 0 || (size_t)st.st_size > STACK_FILE_BYTES_MAX)
		return;
	text = xmalloc((size_t)st.st_size + 1);
	got = file_read_at(fd, 0, text, (size_t)st.st_size);
	end = memrchr(text, '\n', got);
	if (!end)
		return;
	end[1] = '\0';
	(void)stack_file_parse(text, out_names, &bad); /* what is left out has no names */
}

enum name_file_state name_file_read(const struct name_file_job *job, struct stacks *out_names,
				    struct err *err)
{
	AUTO_CLOSE int fd = memfd_create("names", MFD_CLOEXEC);
	enum name_file_state state;
	bool ignored;

	if (fd < 0) {
		(void)err_set(err, -errno, "no room for names: %s", strerror(errno));
		return NAME_FILE_CUT;
	}
	state = name_file_run(job, fd, &ignored, err);
	name_file_take(fd, out_names);
	return state;
}
