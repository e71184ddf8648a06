/* preload.c - LD_PRELOAD and HOLDUP for a command. */
#include "cli/preload.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "record/command.h"

#define LIBRARY "libholdup-locks.so"
#define UP_MAX	64 /* folders that a program is in */

/* Where it may be, from the folder of this program: built, installed. */
static const char *const places[] = {
	"src/runtime/locks/" LIBRARY,
	"../" HOLDUP_LIBDIR "/holdup/" LIBRARY,
	"../lib/holdup/" LIBRARY,
};

/* NULL = it is nowhere. */
static char *find_library(void)
{
	char folder[PATH_MAX];
	ssize_t bytes = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	char *slash;

	if (bytes < 0)
		return NULL;
	folder[bytes] = '\0';
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		AUTO_FREE char *path = xasprintf("%s/%s", folder, places[i]);

		if (access(path, R_OK) == 0)
			return realpath(path, NULL);
	}
	return NULL;
}

/* ------------------------------------------------------- what nothing goes into */

#define HEADS_MAX 256 /* of a program; more is no program of ours */

#if __SIZEOF_POINTER__ == 8
#define OWN_CLASS ELFCLASS64
#else
#define OWN_CLASS ELFCLASS32
#endif

/* As execvp() looks for it: -1 when there is none. */
static int open_program(const char *name)
{
	AUTO_FREE char *path = strchr(name, '/') ? xstrdup(name) : command_search(name, false);

	return path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
}

static bool read_whole(int fd, uint64_t at, void *out_data, size_t bytes)
{
	return at <= INT64_MAX && pread(fd, out_data, bytes, (off_t)at) == (ssize_t)bytes;
}

/* What the kernel loads before the program: "" = nothing. */
static void read_interpreter(int fd, const ElfW(Ehdr) * head, char *out_name, size_t size)
{
	out_name[0] = '\0';
	for (unsigned i = 0; i < head->e_phnum && i < HEADS_MAX; i++) {
		ElfW(Phdr) part;
		size_t bytes;

		if (!read_whole(fd, head->e_phoff + i * sizeof(part), &part, sizeof(part)) ||
		    part.p_type != PT_INTERP)
			continue;
		bytes = part.p_filesz < size ? part.p_filesz : size - 1;
		if (bytes && read_whole(fd, part.p_offset, out_name, bytes))
			out_name[bytes] = '\0';
		return;
	}
}

/* The loader takes nothing from the environment of a program with more rights than we have. */
static bool gains_rights(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	return (st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
	       (st.st_mode & S_ISGID && st.st_gid != getegid()) ||
	       (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

#ifdef __GLIBC__
#define OWN_IS_MUSL false
#else
#define OWN_IS_MUSL true
#endif

static bool is_musl(const char *interpreter)
{
	return strstr(interpreter, "/ld-musl") != NULL;
}

static const char *why_unseen(int fd)
{
	ElfW(Ehdr) head, own = { 0 };
	char interpreter[256];
	AUTO_CLOSE int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (!read_whole(fd, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return NULL; /* a script: who reads it may well be seen */
	if (head.e_ident[EI_CLASS] != OWN_CLASS ||
	    (self >= 0 && read_whole(self, 0, &own, sizeof(own)) &&
	     head.e_machine != own.e_machine))
		return "is for another architecture";
	read_interpreter(fd, &head, interpreter, sizeof(interpreter));
	if (!interpreter[0])
		return "is linked statically";
	if (is_musl(interpreter) != OWN_IS_MUSL)
		return "uses another C library";
	return gains_rights(fd) ? "is set-user-ID or has capabilities" : NULL;
}

void preload_note(const char *program)
{
	AUTO_CLOSE int fd = open_program(program);
	const char *why = fd < 0 ? NULL : why_unseen(fd);
	AUTO_FREE char *safe = text_escaped(program);

	if (why)
		fprintf(stderr, "holdup: %s %s: its locks are not recorded\n", safe, why);
}

/* The command may change its folder, and its children begin traces as well: an absolute path. */
int preload_none(const char *dir, struct err *err)
{
	AUTO_FREE char *here = getcwd(NULL, 0);
	AUTO_FREE char *value = NULL;

	if (dir[0] != '/' && !here)
		return err_set(err, -errno, "cannot get the current directory: %s",
			       strerror(errno));
	value = dir[0] == '/' ? xasprintf("stream:%s", dir) : xasprintf("stream:%s/%s", here, dir);
	if (setenv("HOLDUP", value, 1) < 0)
		return err_set(err, -errno, "cannot set HOLDUP: %s", strerror(errno));
	return 0;
}

/*
 * What LD_PRELOAD has for the library. A program of another C library does not start with a library
 * that it cannot link, and would among the command's children: so the path begins with a word that
 * only glibc's loader replaces, by the program's folder, and musl's passes over what is not there.
 */
static char *preload_word(const char *library)
{
	char up[3 * UP_MAX + 1] = "";

	if (OWN_IS_MUSL)
		return xstrdup(library);
	for (size_t i = 0; i < UP_MAX; i++)
		memcpy(up + 3 * i, "/..", 4);
	return xasprintf("$ORIGIN%s%s", up, library);
}

int preload_locks(const char *dir, const struct preload_locks *opts, struct err *err)
{
	AUTO_FREE char *library = find_library();
	const char *before = getenv("LD_PRELOAD");
	AUTO_FREE char *word = NULL, *value = NULL;
	int rc;

	if (!library)
		return err_set(err, -ENOENT,
			       "cannot find %s, neither beside this program nor "
			       "installed",
			       LIBRARY);
	if (strpbrk(library, " :"))
		return err_set(err, -EINVAL,
			       "the loader cannot preload %s: its path contains a blank or a colon",
			       library);
	rc = dir ? preload_none(dir, err) : 0;
	if (rc < 0)
		return rc;
	word = preload_word(library);
	value = before && *before ? xasprintf("%s:%s", word, before) : xstrdup(word);
	if (setenv("LD_PRELOAD", value, 1) < 0 ||
	    (opts->contended &&
	     setenv("HOLDUP_EVENTS", "all,-lock:acquired,-lock:released", 1) < 0))
		return err_set(err, -errno, "cannot set the environment: %s", strerror(errno));
	return 0;
}
