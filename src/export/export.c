/* export.c - the formats, and output that is there whole or not at all. */
#include "export/export.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/terminal.h"
#include "export/unfinished.h"

/* In the order of the help text. */
const struct export_format export_formats[] = {
	{ .name = "perfetto",
	  .help = "Perfetto (ui.perfetto.dev, trace_processor)",
	  .to_stream = export_perfetto,
	  .is_binary = true,
	  .needs_timeline = true,
	  .wants_locks = true },
	{ .name = "chrome",
	  .help = "chrome://tracing, Perfetto, speedscope: Trace Event JSON",
	  .to_stream = export_chrome,
	  .is_binary = true,
	  .needs_timeline = true,
	  .wants_locks = true },
	{ .name = "folded",
	  .help = "flame graphs: stacks of causes, one a line, with ns",
	  .to_stream = export_folded,
	  .needs_timeline = true,
	  .wants_locks = true },
	{ .name = "pprof",
	  .help = "pprof, speedscope: stacks of code at work and in waits, gzip'd",
	  .to_stream = export_pprof,
	  .is_binary = true,
	  .needs_timeline = true,
	  .is_code = true },
	{ .name = "csv",
	  .help = "spreadsheets, pandas: a folder with intervals, edges and waits",
	  .to_folder = export_csv,
	  .needs_timeline = true,
	  .wants_locks = true },
	{ .name = "jsonl",
	  .help = "jq and programs: one JSON object a line",
	  .to_stream = export_jsonl,
	  .needs_timeline = true,
	  .wants_locks = true },
	{ .name = "ctf",
	  .help = "babeltrace2, Trace Compass, holdup: a folder, CTF 1.8",
	  .to_folder = export_ctf },
};
const size_t export_format_count = ARRAY_LEN(export_formats);

const struct export_format export_format_code = {
	.name = "folded",
	.to_stream = export_folded_code,
	.needs_timeline = true,
	.is_code = true,
};

const struct export_format *export_find_format(const char *name)
{
	for (size_t i = 0; i < export_format_count; i++) {
		if (strcmp(export_formats[i].name, name) == 0)
			return &export_formats[i];
	}
	return NULL;
}

/*
 * Was all of it written? A stream does not remember why it failed: one more byte, in what is no
 * whole export anyway, tells.
 */
static int check_stream(FILE *out, int rc, struct err *err)
{
	bool failed = ferror(out);

	if (rc < 0)
		return rc;
	if (!failed && fflush(out) == 0)
		return 0;
	errno = failed ? 0 : errno;
	clearerr(out);
	if (failed && fputc('\n', out) != EOF)
		(void)fflush(out); /* sets errno, or does not */
	return err_set(err, errno ? -errno : -EIO, "cannot write: %s",
		       errno ? strerror(errno) : "some data was lost");
}

/* Everything to 'fd', which is closed. */
static int write_fd(const struct export_format *format, struct export_job *job, int fd,
		    struct err *err)
{
	FILE *out = format->is_binary ? fdopen(fd, "w") : terminal_open(fd);
	int rc;

	if (!out) {
		rc = err_set(err, -errno, "cannot open: %s", strerror(errno));
		if (format->is_binary)
			mem_close_fd(&fd);
		return rc;
	}
	job->fd = fd;
	rc = check_stream(out, format->to_stream(job, out, err), err);
	if (fclose(out) != 0 && rc == 0)
		rc = err_set(err, -errno, "cannot write: %s", strerror(errno));
	return rc;
}

/* What is unfinished is for its owner alone; a file is as the user's umask has it. */
static void export_set_mode(int fd, const char *path)
{
	struct stat st;
	mode_t mask = umask(0);

	(void)umask(mask);
	if (stat(path, &st) < 0)
		st.st_mode = 0600 & ~mask;   /* a trace holds secrets */
	(void)fchmod(fd, st.st_mode & 0777); /* best effort: else it is for its owner */
}

static int export_write_file(const struct export_format *format, struct export_job *job,
			     const char *path, struct err *err)
{
	AUTO_FREE char *name = unfinished_name(path);
	int fd, rc;

	unfinished_guard();
	fd = unfinished_file(path, name, err);
	if (fd < 0)
		return fd;
	export_set_mode(fd, path);
	rc = write_fd(format, job, fd, err);
	if (rc == 0) {
		rc = unfinished_place(name, path);
		if (rc < 0)
			(void)err_set(err, rc, "cannot rename %s: %s", name, strerror(-rc));
	}
	if (rc < 0)
		unfinished_drop(name);
	return rc;
}

/* Over a stream of its own, so that an error is told once, here. */
static int write_stdout(const struct export_format *format, struct export_job *job, struct err *err)
{
	int fd = dup(STDOUT_FILENO);

	if (fd < 0)
		return err_set(err, -errno, "standard output is closed: %s", strerror(errno));
	return write_fd(format, job, fd, err);
}

/* A device or a pipe is written to as it is: there is nothing to rename. */
static bool is_special(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static int write_special(const struct export_format *format, struct export_job *job,
			 const char *path, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, -errno, "cannot open: %s", strerror(errno));
	return write_fd(format, job, fd, err);
}

/* rename() of a folder replaces an empty one, and refuses any other. */
static int write_folder(const struct export_format *format, struct export_job *job,
			const char *path, struct err *err)
{
	AUTO_FREE char *name = unfinished_name(path);
	AUTO_CLOSE int lock_fd = -1;
	int rc;

	unfinished_guard();
	lock_fd = unfinished_folder(path, name, err);
	if (lock_fd < 0)
		return lock_fd;
	rc = format->to_folder(job, name, err);
	if (rc == 0) {
		rc = unfinished_place(name, path);
		if (rc == -ENOTEMPTY || rc == -EEXIST || rc == -ENOTDIR)
			rc = err_set(err, -EEXIST,
				     "it already exists and is not an empty "
				     "directory");
		else if (rc < 0)
			(void)err_set(err, rc, "cannot rename %s: %s", name, strerror(-rc));
	}
	if (rc < 0)
		unfinished_drop(name);
	return rc;
}

/* Before the work, what would only show after it. */
static int export_check_folder(const char *path, struct err *err)
{
	struct dirent *entry;
	bool is_empty = true;
	DIR *dir = opendir(path);

	if (!dir)
		return errno == ENOENT
			       ? 0
			       : err_set(err, -errno, "it already exists: %s", strerror(errno));
	while ((entry = readdir(dir)))
		is_empty &= strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	(void)closedir(dir); /* it was only read */
	return is_empty ? 0 : err_set(err, -EEXIST, "it already exists and is not empty");
}

int export_run(const struct export_format *format, struct export_job *job, const char *path,
	       struct err *err)
{
	bool is_stdout = !path || strcmp(path, "-") == 0;
	int rc;

	if (format->to_folder && is_stdout)
		return err_set(err, -EINVAL, "%s is a directory; name it with -o", format->name);
	if (format->to_folder) {
		rc = export_check_folder(path, err);
		if (rc == 0)
			rc = write_folder(format, job, path, err);
	} else if (is_stdout) {
		return write_stdout(format, job, err);
	} else if (is_special(path)) {
		rc = write_special(format, job, path, err);
	} else {
		rc = export_write_file(format, job, path, err);
	}
	return rc < 0 ? err_wrap(err, "writing %s", path) : 0;
}
