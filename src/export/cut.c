/* cut.c - a cut in its place: made beside it, renamed when it is whole. */
#include "export/cut.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "export/ctf_export.h"
#include "export/cut_int.h"
#include "export/unfinished.h"
#include "read/read.h"
#include "store/file.h"
#include "store/manifest.h"

/* Is it one of our own recordings? */
static bool is_recording(const char *path)
{
	AUTO_FREE char *manifest = xasprintf("%s/" MANIFEST_FILE, path);
	struct stat st;

	return stat(manifest, &st) == 0;
}

static int write_cut(struct cut *cut, const char *dir, struct err *err)
{
	struct ctf_choice choice = cut_choice(cut);
	int64_t events;

	if (is_recording(cut->path))
		return cut_write_dir(cut, dir, err);
	events = ctf_export(cut->trace, dir, &choice, err);
	cut->events = events < 0 ? 0 : (uint64_t)events;
	return events < 0 ? (int)events : 0;
}

/* 'work' becomes 'dir', which may be there when it is empty. */
static int cut_put_in_place(const char *work, const char *dir, struct err *err)
{
	int rc;

	(void)rmdir(dir);
	rc = unfinished_place(work, dir);
	return rc < 0 ? err_set(err, rc, "cannot rename %s to %s: %s", work, dir, strerror(-rc))
		      : 0;
}

static int check_dir(const char *dir, struct err *err)
{
	struct stat st;

	if (lstat(dir, &st) < 0)
		return errno == ENOENT
			       ? 0
			       : err_set(err, -errno, "cannot use %s: %s", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode) || rmdir(dir) < 0)
		return err_set(err, -EEXIST, "%s is there already", dir);
	return 0;
}

int cut_trace(struct trace *trace, const char *path, const char *dir, const struct cut_opts *opts,
	      struct cut_result *out_result, struct err *err)
{
	AUTO_FREE char *plain = file_plain_path(path);
	struct cut cut = { .trace = trace, .path = plain, .opts = opts };
	AUTO_FREE char *work = unfinished_name(dir);
	AUTO_CLOSE int lock_fd = -1;
	int rc = check_dir(dir, err);

	if (rc < 0)
		return rc;
	unfinished_guard();
	lock_fd = unfinished_folder(dir, work, err);
	if (lock_fd < 0)
		return lock_fd;
	rc = cut_find_state(&cut, err);
	if (rc == 0)
		rc = write_cut(&cut, work, err);
	if (rc == 0)
		rc = cut_put_in_place(work, dir, err);
	if (rc < 0)
		unfinished_drop(work);
	*out_result =
		(struct cut_result){ cut.events, cut.facts.thread_count,
				     is_recording(path) ? "a holdup trace directory" : "CTF 1.8" };
	cut_state_fini(&cut);
	return rc;
}
