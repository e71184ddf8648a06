/*
 * landlock.c - rules for writing. The C library has no functions for it.
 *
 * The numbers stand here, since the headers of an older distribution lack the newer ones.
 */
#include "guard/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "guard/filter.h"

#ifndef SYS_landlock_create_ruleset /* the same on every machine */
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule	    445
#define SYS_landlock_restrict_self  446
#endif

#define TELL_VERSION 1u /* LANDLOCK_CREATE_RULESET_VERSION */
#define BELOW_PATH   1	/* LANDLOCK_RULE_PATH_BENEATH */

enum access {
	FS_EXECUTE = 1 << 0,
	FS_WRITE_FILE = 1 << 1,
	FS_REMOVE_DIR = 1 << 4,
	FS_REMOVE_FILE = 1 << 5,
	FS_MAKE_CHAR = 1 << 6,
	FS_MAKE_DIR = 1 << 7,
	FS_MAKE_REG = 1 << 8,
	FS_MAKE_SOCK = 1 << 9,
	FS_MAKE_FIFO = 1 << 10,
	FS_MAKE_BLOCK = 1 << 11,
	FS_MAKE_SYM = 1 << 12,
	FS_REFER = 1 << 13,    /* from version 2 on */
	FS_TRUNCATE = 1 << 14, /* from version 3 on */
};

#define ALL_FIRST                                                                     \
	(FS_EXECUTE | FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_CHAR | \
	 FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SOCK | FS_MAKE_FIFO | FS_MAKE_BLOCK | FS_MAKE_SYM)
#define OF_FOLDER                                                                                \
	(FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | FS_REFER | \
	 FS_TRUNCATE)
#define OF_FILE (FS_WRITE_FILE | FS_TRUNCATE)

/* As the kernel wants them. */
struct ruleset {
	uint64_t handled;
};

struct below {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

int landlock_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, TELL_VERSION);

	return version > 0 ? (int)version : 0;
}

static uint64_t handled_by(int version)
{
	return (uint64_t)ALL_FIRST | (version >= 2 ? FS_REFER : 0) |
	       (version >= 3 ? FS_TRUNCATE : 0);
}

static void allow(int ruleset_fd, uint64_t handled, const struct guard_place *place)
{
	AUTO_CLOSE int fd = open(place->path, O_PATH | O_CLOEXEC);
	struct below rule = { .fd = fd, .allowed = OF_FILE };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return; /* what is not there cannot be written to */
	if (S_ISDIR(st.st_mode) && !place->only_write)
		rule.allowed = OF_FOLDER;
	rule.allowed &= handled;
	/* EBADFD: a pipe or a memory file, which no rule is needed for. */
	(void)syscall(SYS_landlock_add_rule, ruleset_fd, BELOW_PATH, &rule, 0);
}

int landlock_writes(const struct guard_place *places, size_t count, struct err *err)
{
	int version = landlock_version();
	const struct ruleset rules = { .handled = handled_by(version) };
	AUTO_CLOSE int fd = -1;

	if (!version)
		return 0;
	fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
	if (fd < 0)
		return err_set(err, -errno, "cannot set up Landlock rules: %s", strerror(errno));
	for (size_t i = 0; i < count; i++)
		allow(fd, rules.handled, &places[i]);
	if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		return err_set(err, -errno, "cannot enforce Landlock rules: %s", strerror(errno));
	return 1;
}
