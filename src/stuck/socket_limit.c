/* socket_limit.c - see socket_limit.h. */
#include "stuck/socket_limit.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/mem.h"
#include "stuck/look.h"
#include "stuck/worker.h"

struct limit_job {
	struct worker_job job;
	int32_t tgid, fd;
	bool writes;
	enum socket_limit limit;
};

static void limit_job_free(struct worker_job *job)
{
	free(job);
}

static enum socket_limit timeout_of(int fd, bool writes)
{
	struct timeval time = { 0 };
	socklen_t bytes = sizeof(time);

	if (getsockopt(fd, SOL_SOCKET, writes ? SO_SNDTIMEO : SO_RCVTIMEO, &time, &bytes) < 0)
		return SOCKET_LIMIT_UNKNOWN;
	return time.tv_sec || time.tv_usec ? SOCKET_LIMIT_SET : SOCKET_LIMIT_NONE;
}

/* How long TCP tries to send; other sockets have no such thing. */
static bool has_user_timeout(int fd)
{
	unsigned int ms = 0;
	socklen_t bytes = sizeof(ms);

	return getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, &bytes) == 0 && ms;
}

static void limit_job_run(struct worker_job *worker_job)
{
	struct limit_job *job = (struct limit_job *)worker_job;
	AUTO_CLOSE int process_fd = (int)syscall(SYS_pidfd_open, job->tgid, 0);
	AUTO_CLOSE int fd =
		process_fd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process_fd, job->fd, 0);

	if (fd < 0)
		return;
	job->limit = timeout_of(fd, job->writes);
	if (job->writes && has_user_timeout(fd))
		job->limit = SOCKET_LIMIT_SET;
}

enum socket_limit socket_limit_find(struct look *look, struct process *process, int32_t fd,
				    bool writes)
{
	struct limit_job *job;
	enum socket_limit limit;

	if (process->is_hung)
		return SOCKET_LIMIT_UNKNOWN;
	job = xcalloc(1, sizeof(*job));
	job->job = (struct worker_job){ limit_job_run, limit_job_free };
	job->tgid = process->tgid;
	job->fd = fd;
	job->writes = writes;
	if (!worker_do(look->worker, &job->job)) {
		look->hung++;
		process->is_hung = true;
		return SOCKET_LIMIT_UNKNOWN;
	}
	limit = job->limit;
	free(job);
	return limit;
}
