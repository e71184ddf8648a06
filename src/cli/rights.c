/* rights.c - who may read it decides who reads it. */
#include "cli/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/command.h"
#include "guard/drop.h"
#include "guard/filter.h"
#include "guard/place.h"
#include "guard/user.h"
#include "model/model.h"

/* With what was lent to this thread. Pipes and devices are not opened to find out. */
static bool may_read(const char *path)
{
	AUTO_CLOSE int fd = -1;
	AUTO_CLOSE int inside = -1;
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return true;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && S_ISDIR(st.st_mode))
		inside = openat(fd, ".", O_PATH | O_CLOEXEC); /* needs the right to enter it */
	return fd >= 0 && (inside >= 0 || !S_ISDIR(st.st_mode));
}

/* Has nobody but root to do with the folder that it lies in? */
static bool is_in_roots_place(const char *path)
{
	AUTO_FREE char *copy = xstrdup(path);
	AUTO_CLOSE int fd = guard_open_folder(dirname(copy), NULL);

	return fd >= 0;
}

/* The files that were named on a command line. */
struct named {
	size_t count;
	bool is_any_closed; /* the user may not read one of them */
};

static void rights_look_at(const char *path, const struct guard_user *user, struct named *named)
{
	struct guard_lent lent;
	bool is_closed;
	struct stat st;

	if (stat(path, &st) < 0)
		return;
	named->count++;
	if (guard_lend(user, &lent, NULL) < 0) {
		named->is_any_closed = true;
		return;
	}
	is_closed = !may_read(path);
	guard_take_back(&lent);
	/* What is the user's own is theirs to open: what keeps it shut may be the command's doing. */
	named->is_any_closed |= is_closed && (st.st_uid != user->uid || is_in_roots_place(path));
}

int rights_drop_for_words(int argc, char **argv, struct err *err)
{
	struct named named = { 0 };
	struct guard_user user;
	int rc = 0;

	if (!guard_user_find(&user))
		return 0;
	for (int i = 0; i < argc; i++)
		rights_look_at(argv[i], &user, &named);
	if (!named.count)
		rights_look_at(DEFAULT_TRACE, &user, &named);
	if (!named.is_any_closed)
		rc = guard_drop(&user, err);
	guard_user_fini(&user);
	return rc;
}

int rights_drop_for_trace(const char *path, struct err *err)
{
	char *words[] = { (char *)(uintptr_t)path };

	return rights_drop_for_words(1, words, err);
}

int rights_load_model(const char *path, struct model **out_model, struct model_errors *errors,
		      struct err *err)
{
	struct guard_user user = { 0 };
	bool is_found = guard_user_find(&user);
	struct guard_lent lent;
	int rc = guard_lend(is_found ? &user : NULL, &lent, err);

	guard_user_fini(&user);
	if (rc < 0)
		return rc;
	rc = model_load(path, out_model, errors, err);
	guard_take_back(&lent);
	return rc;
}

int rights_open(const char *path, int flags)
{
	struct guard_user user = { 0 };
	/* A reader has given that right up: then reading_begin() has looked at the folder. */
	bool is_found = !(guard_filter_state() & GUARD_FILTER_CALLS) && guard_user_find(&user);
	struct guard_lent lent;
	int fd;

	if (guard_lend(is_found ? &user : NULL, &lent, NULL) < 0) {
		guard_user_fini(&user);
		errno = EPERM;
		return -1;
	}
	fd = open(path, flags | O_CLOEXEC, 0666);
	guard_take_back(&lent);
	guard_user_fini(&user);
	return fd;
}

FILE *rights_fopen(const char *path)
{
	int fd = rights_open(path, O_WRONLY | O_CREAT | O_TRUNC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		mem_close_fd(&fd);
	return file;
}
