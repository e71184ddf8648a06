/* files.c - openat2(2) and leases. */
#include "attach/files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "guard/drop.h"
#include "guard/user.h"
#include "wire/user.h"

#define NAME_BYTES 200u
#define NAME_TRIES 10000u

int user_open_in(int root_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

bool user_is_own_folder(int fd, uint32_t uid)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == uid &&
	       !(st.st_mode & 022);
}

/* With the rights of the moment. The folder is not a link, and what is in it is not, either. */
static int open_in_own(int root_fd, const char *path, int flags, uint32_t uid)
{
	AUTO_FREE char *above = xstrdup(path);
	char *slash = strrchr(above, '/');
	AUTO_CLOSE int folder = -1;
	struct stat st;
	int fd;

	if (!slash || !slash[1])
		return -EPERM;
	*slash = '\0';
	folder = user_open_in(root_fd, *above ? above : "/", O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (folder < 0)
		return folder;
	if (!(flags & O_DIRECTORY) && !user_is_own_folder(folder, uid))
		return -EPERM;
	fd = openat(folder, slash + 1, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && st.st_uid == uid)
		return fd;
	mem_close_fd(&fd);
	return -EPERM;
}

int user_open_of(int root_fd, const char *path, int flags, const struct user_owner *owner)
{
	const struct guard_user user = { .uid = owner->uid, .gid = owner->gid };
	struct guard_lent lent;
	int fd;

	if (geteuid() != 0)
		return user_open_in(root_fd, path, flags);
	if (guard_lend(&user, &lent, NULL) < 0)
		return -EPERM;
	fd = open_in_own(root_fd, path, flags, owner->uid);
	guard_take_back(&lent);
	return fd;
}

enum user_use user_file_use(int fd)
{
	struct statfs system;
	enum user_use use;

	/* What is mapped there is another file below: the lease knows nothing of it. */
	if (fstatfs(fd, &system) < 0 || system.f_type == OVERLAYFS_SUPER_MAGIC)
		return USER_USE_UNKNOWN;
	/* Who opens the file while we have the lease makes a signal: one that does nothing. */
	if (fcntl(fd, F_SETSIG, SIGURG) < 0)
		return USER_USE_UNKNOWN;
	if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0)
		use = USER_UNUSED;
	else
		use = errno == EAGAIN ? USER_IN_USE : USER_USE_UNKNOWN;
	(void)fcntl(fd, F_SETLEASE, F_UNLCK); /* there may be none */
	return use;
}

bool user_is_plain(int fd, uint64_t *out_bytes)
{
	struct stat stat;

	if (fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) || stat.st_nlink != 1 ||
	    stat.st_size < 0)
		return false;
	*out_bytes = (uint64_t)stat.st_size;
	return true;
}

bool user_file_has_events(int folder_fd, const char *name)
{
	AUTO_CLOSE int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct user_packet packet;

	return fd >= 0 && pread(fd, &packet, sizeof(packet), 0) == sizeof(packet) &&
	       packet.magic == USER_MAGIC && packet.begin < USER_NOT_BEGUN &&
	       packet.content_bits > USER_HEAD * 8;
}

char *user_make_folder(int at_fd, const char *name)
{
	AUTO_FREE char *plain = xstrndup(name, NAME_BYTES);
	char *unique = NULL;

	for (char *c = plain; *c; c++)
		*c = *c <= ' ' || *c == '/' || (unsigned char)*c >= 127 ? '_' : *c;
	if (!*plain || *plain == '.')
		*plain = '_';
	for (unsigned i = 1; i < NAME_TRIES; i++) {
		free(unique);
		unique = i == 1 ? xstrdup(plain) : xasprintf("%s-%u", plain, i);
		if (mkdirat(at_fd, unique, 0700) == 0)
			return unique;
		if (errno != EEXIST)
			break;
	}
	free(unique);
	return NULL;
}
