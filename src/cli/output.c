/* output.c - files get their name when they are whole. */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/reading.h"
#include "cli/rights.h"
#include "export/unfinished.h"
#include "guard/drop.h"
#include "guard/filter.h"
#include "guard/user.h"

/* The user's rights, for a few calls. A reader has given them up: it is that user, or root alone. */
struct lent {
	struct guard_user user;
	struct guard_lent rights;
};

static int lend(struct lent *lent, struct err *err)
{
	bool is_found;
	int rc;

	*lent = (struct lent){ 0 };
	is_found = !(guard_filter_state() & GUARD_FILTER_CALLS) && guard_user_find(&lent->user);
	rc = guard_lend(is_found ? &lent->user : NULL, &lent->rights, err);
	if (rc < 0)
		guard_user_fini(&lent->user);
	return rc;
}

static void output_take_back(struct lent *lent)
{
	guard_take_back(&lent->rights);
	guard_user_fini(&lent->user);
}

/* As open(2) would have made it, or as what it comes in the place of. */
static void output_set_mode(int fd, const struct stat *before)
{
	mode_t mask = umask(0);

	(void)umask(mask);
	(void)fchmod(fd,
		     before ? before->st_mode & 0777 : 0666 & ~mask); /* else it is for its owner */
}

/* Beside its place. Returns -ENOTSUP where it must be written in it. */
static int begin_beside(struct output *output, struct err *err)
{
	struct err why = { 0 };
	struct stat st;
	bool is_there = lstat(output->path, &st) == 0;

	if (is_there && (!S_ISREG(st.st_mode) || access(output->path, W_OK) < 0))
		return -ENOTSUP;
	output->name = unfinished_name(output->path);
	output->fd = unfinished_file(output->path, output->name, &why);
	if (output->fd >= 0) {
		output_set_mode(output->fd, is_there ? &st : NULL);
		return 0;
	}
	free(output->name);
	output->name = NULL;
	if (is_there)
		return -ENOTSUP;
	return err_set(err, why.code, "cannot write to %s: %s", output->path, strerror(-why.code));
}

int output_begin_here(const char *path, struct output *out_output, struct err *err)
{
	int fd = rights_open(path, O_WRONLY | O_CREAT);

	if (fd < 0)
		return err_set(err, -errno, "cannot write to %s: %s", path, strerror(errno));
	*out_output = (struct output){ .fd = fd, .path = path };
	return 0;
}

int output_begin(const char *path, struct output *out_output, struct err *err)
{
	struct output output = { .fd = -1, .path = path };
	struct lent lent;
	int rc = lend(&lent, err);

	if (rc < 0)
		return rc;
	rc = begin_beside(&output, err);
	output_take_back(&lent);
	if (rc == -ENOTSUP)
		return output_begin_here(path, out_output, err);
	if (rc == 0)
		*out_output = output;
	return rc;
}

int output_begin_reader(const char *path, struct output *out_output, struct err *err)
{
	uid_t uid;
	gid_t gid;

	if (guard_user_ids(&uid, &gid))
		return output_begin_here(path, out_output, err);
	reading_writes(path);
	unfinished_guard();
	return output_begin(path, out_output, err);
}

FILE *output_stream(const struct output *output)
{
	int fd = dup(output->fd);
	FILE *stream;

	(void)!ftruncate(fd, 0); /* fails on a terminal or a pipe, where it means nothing */
	stream = fd < 0 ? NULL : fdopen(fd, "w");
	if (!stream)
		mem_close_fd(&fd);
	return stream;
}

static int give_name(const struct output *output, struct err *err)
{
	int rc = unfinished_place(output->name, output->path);

	if (rc < 0)
		(void)err_set(err, rc, "cannot rename %s: %s", output->name, strerror(-rc));
	return rc;
}

int output_end(struct output *output, int rc, struct err *err)
{
	struct lent lent;

	if (output->fd < 0)
		return rc;
	if (output->name && lend(&lent, rc < 0 ? NULL : err) == 0) {
		rc = rc < 0 ? rc : give_name(output, err);
		if (rc < 0)
			unfinished_drop(output->name);
		output_take_back(&lent);
	} else if (output->name) {
		rc = rc < 0 ? rc : -EPERM;
	}
	free(output->name);
	output->name = NULL;
	mem_close_fd(&output->fd);
	return rc;
}
