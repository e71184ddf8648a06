/* files.c - openat2(2) and leases. */
#include "user/files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "wire/user.h"

int user_open_in(int root_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
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
