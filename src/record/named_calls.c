/* named_calls.c - see named_calls.h. */
#include "record/named_calls.h"

#include <sys/syscall.h>

#include "base/mem.h"

#define CALL(name, what)                            \
	{                                           \
#name, __NR_##name, RAW_CALL_##what \
	}

/*
 * System calls of this architecture whose descriptors somebody may come to wait for.
 * Not those of mounts and rule sets: each call takes the kernel time to detach.
 */
static const struct named_call opening[] = {
#ifdef __NR_open
	CALL(open, OPEN_PATH),
#endif
#ifdef __NR_creat
	CALL(creat, OPEN_PATH),
#endif
#ifdef __NR_pipe
	CALL(pipe, PIPE),
#endif
#ifdef __NR_dup2
	CALL(dup2, DUP),
#endif
#ifdef __NR_epoll_create
	CALL(epoll_create, OPEN),
#endif
#ifdef __NR_eventfd
	CALL(eventfd, OPEN),
#endif
#ifdef __NR_signalfd
	CALL(signalfd, OPEN),
#endif
#ifdef __NR_inotify_init
	CALL(inotify_init, OPEN),
#endif
#ifdef __NR_poll
	CALL(poll, POLL),
#endif
#ifdef __NR_select
	CALL(select, SELECT),
#endif
	CALL(ppoll, POLL),
	CALL(pselect6, SELECT),
	CALL(openat, OPEN_AT),
	CALL(openat2, OPEN_AT),
	CALL(flock, FLOCK),
	CALL(execve, EXEC),
	CALL(execveat, EXEC),
	CALL(open_by_handle_at, OPEN),
	CALL(mq_open, OPEN),
	CALL(memfd_create, OPEN),
	CALL(epoll_create1, OPEN),
	CALL(eventfd2, OPEN),
	CALL(timerfd_create, OPEN),
	CALL(signalfd4, OPEN),
	CALL(inotify_init1, OPEN),
	CALL(fanotify_init, OPEN),
	CALL(pidfd_open, OPEN),
	CALL(io_uring_setup, OPEN),
	CALL(userfaultfd, OPEN),
	CALL(perf_event_open, OPEN),
	CALL(socket, OPEN),
	CALL(accept, ACCEPT),
	CALL(accept4, ACCEPT),
	CALL(dup, DUP),
	CALL(dup3, DUP),
	CALL(pidfd_getfd, DUP),
	CALL(fcntl, FCNTL),
	CALL(connect, CONNECT),
	CALL(getsockopt, SOCKET_OPTION),
	CALL(listen, LISTEN),
	CALL(bind, BIND),
	CALL(pipe2, PIPE),
	CALL(socketpair, SOCKETPAIR),
};

/*
 * What changes names of files, or a file by its name: looked at from when somebody asked in vain, slept, and
 * asked again.
 */
static const struct named_call making[] = {
#ifdef __NR_mkdir
	CALL(mkdir, PATH),
#endif
#ifdef __NR_rmdir
	CALL(rmdir, PATH),
#endif
#ifdef __NR_unlink
	CALL(unlink, PATH),
#endif
#ifdef __NR_link
	CALL(link, LINK),
#endif
#ifdef __NR_chmod
	CALL(chmod, PATH),
#endif
	CALL(fchmodat, AT),
#ifdef __NR_symlink
	CALL(symlink, LINK),
#endif
#ifdef __NR_rename
	CALL(rename, RENAME),
#endif
#ifdef __NR_renameat
	CALL(renameat, RENAME_AT),
#endif
	CALL(truncate, PATH),	    CALL(utimensat, AT),   CALL(mkdirat, AT),
	CALL(unlinkat, AT),	    CALL(linkat, LINK_AT), CALL(symlinkat, SYMLINK_AT),
	CALL(renameat2, RENAME_AT),
};

/*
 * These are made often, and nearly always succeed: their exits are looked at only from when the command was
 * seen to sleep again and again, so that it may be polling.
 */
static const struct named_call looking[] = {
#ifdef __NR_access
	CALL(access, LOOK),
#endif
#ifdef __NR_newfstatat
	CALL(newfstatat, LOOK_AT),
#endif
#ifdef __NR_readlink
	CALL(readlink, LOOK),
#endif
	CALL(readlinkat, LOOK_AT),  CALL(statx, LOOK_AT), CALL(faccessat, LOOK_AT),
#ifdef __NR_faccessat2
	CALL(faccessat2, LOOK_AT),
#endif
#ifdef __NR_nanosleep
	CALL(nanosleep, NAP),
#endif
	CALL(clock_nanosleep, NAP), CALL(futex, FUTEX),	  CALL(epoll_pwait, TIMED),
#ifdef __NR_epoll_wait
	CALL(epoll_wait, TIMED),
#endif
	CALL(rt_sigtimedwait, NAP),
};

/* Calls that may block, on the descriptor that is their first argument. */
static const int on_fd[] = {
	__NR_read,
	__NR_write,
	__NR_pread64,
	__NR_pwrite64,
	__NR_readv,
	__NR_writev,
	__NR_preadv,
	__NR_pwritev,
	__NR_preadv2,
	__NR_pwritev2,
	__NR_recvfrom,
	__NR_sendto,
	__NR_recvmsg,
	__NR_sendmsg,
	__NR_recvmmsg,
	__NR_sendmmsg,
	__NR_fsync,
	__NR_fdatasync,
	__NR_ftruncate,
	__NR_fallocate,
	__NR_ioctl,
	__NR_getdents64,
	__NR_sendfile,
	__NR_splice,
	__NR_tee,
	__NR_vmsplice,
	__NR_copy_file_range,
	__NR_accept,
	__NR_accept4,
	__NR_connect,
	__NR_flock,
	__NR_fcntl,
	__NR_io_uring_enter,
	__NR_mq_timedsend,
	__NR_mq_timedreceive,
	__NR_epoll_pwait,
	__NR_sync_file_range,
	__NR_syncfs,
	__NR_close,
#ifdef __NR_epoll_wait
	__NR_epoll_wait,
#endif
#ifdef __NR_epoll_pwait2
	__NR_epoll_pwait2,
#endif
#ifdef __NR_getdents
	__NR_getdents,
#endif
};

const struct named_calls named_calls_opening = { opening, ARRAY_LEN(opening) };
const struct named_calls named_calls_making = { making, ARRAY_LEN(making) };
const struct named_calls named_calls_looking = { looking, ARRAY_LEN(looking) };

const int *named_calls_on_fd(size_t *out_count)
{
	*out_count = ARRAY_LEN(on_fd);
	return on_fd;
}

bool named_calls_is_on_fd(int nr)
{
	for (size_t i = 0; i < ARRAY_LEN(on_fd); i++) {
		if (on_fd[i] == nr)
			return true;
	}
	return false;
}
