/* flight_user.c - see flight_user.h. */
#include "record/flight_user.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/known.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/mem.h"
#include "guard/caps.h"

#define COPY_MS	    1500 /* one copy may take so long */
#define ANSWER_MS   2500 /* the helper answers by then, whatever its child does */
#define CPU_SECONDS 3
#define SCAN_NS	    UINT64_C(1000000000) /* programs are looked for so often */
#define COST_PART   200			 /* ... and more rarely where that costs more of a CPU */
#define FILES_MOST  4096
#define RIGHTS                                                                       \
	(GUARD_CAP(CAP_SETUID) | GUARD_CAP(CAP_SETGID) | GUARD_CAP(CAP_SYS_PTRACE) | \
	 GUARD_CAP(CAP_DAC_READ_SEARCH) | GUARD_CAP(CAP_DAC_OVERRIDE) | GUARD_CAP(CAP_LEASE))

/* ------------------------------------------------------------------ messages */

/* A folder and what is to be copied into it. */
union folder_control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

static bool send_folder(int fd, int folder_fd, const struct user_part *part)
{
	union folder_control control = { 0 };
	struct iovec data = { (void *)(uintptr_t)part, sizeof(*part) };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control.room,
				  .msg_controllen = sizeof(control.room) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(folder_fd));
	memcpy(CMSG_DATA(header), &folder_fd, sizeof(folder_fd));
	return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(*part);
}

/* The folder, or -1 at the end. */
static int receive_folder(int fd, struct user_part *out_part)
{
	union folder_control control = { 0 };
	struct iovec data = { out_part, sizeof(*out_part) };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control.room,
				  .msg_controllen = sizeof(control.room) };
	struct cmsghdr *header;
	int folder_fd = -1;
	ssize_t got;

	do
		got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	header = got == (ssize_t)sizeof(*out_part) ? CMSG_FIRSTHDR(&message) : NULL;
	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(&folder_fd, CMSG_DATA(header), sizeof(folder_fd));
	return folder_fd;
}

/* ------------------------------------------------------------------ the helper */

static void __attribute__((noreturn))
copy(int folder_fd, const struct user_part *part, const struct user_known *known,
     struct user_flights *flights)
{
	const struct rlimit limit = { CPU_SECONDS, CPU_SECONDS };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setrlimit(RLIMIT_CPU, &limit);
	user_flights_copy(folder_fd, part, known, flights);
	_exit(0);
}

/* Whether it ended by itself. */
static bool await_copy(pid_t worker)
{
	AUTO_CLOSE int pidfd = pidfd_open(worker, 0);
	struct pollfd end = { .fd = pidfd, .events = POLLIN };
	int status;

	if (pidfd < 0 || poll(&end, 1, COPY_MS) <= 0)
		(void)kill(worker, SIGKILL); /* our child, not reaped yet */
	status = child_await(worker);
	return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void serve_copy(int fd, int folder_fd, const struct user_part *part,
		       const struct user_known *known, struct user_flights *flights)
{
	struct flight_user_copied copied = { 0 };
	pid_t worker;

	*flights = (struct user_flights){ 0 };
	worker = fork();
	if (worker == 0)
		copy(folder_fd, part, known, flights);
	copied.is_failed = worker < 0;
	copied.worker = worker > 0 ? worker : 0;
	copied.is_cut = worker > 0 && !await_copy(worker);
	copied.flights = *flights;
	(void)!send(fd, &copied, sizeof(copied), MSG_NOSIGNAL); /* who asked may be gone */
}

/* Programs, and when they are looked for next. */
struct watch {
	struct user_known known;
	uint64_t next_ns, cost_ns; /* CPU time of the last one */
};

/* The first one asks all processes there are: the smaller cost of two counts. */
static void look_for_programs(struct watch *watch, uint64_t now_ns)
{
	uint64_t cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID), least_ns;

	user_known_scan(&watch->known);
	cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
	least_ns = (cpu_ns < watch->cost_ns ? cpu_ns : watch->cost_ns) * COST_PART;
	watch->cost_ns = cpu_ns;
	watch->next_ns = now_ns + (least_ns > SCAN_NS ? least_ns : SCAN_NS);
}

/* Returns whether there is a question, and not the end. */
static bool await_question(struct watch *watch)
{
	struct pollfd question = { .fd = STDERR_FILENO + 1, .events = POLLIN };

	for (;;) {
		uint64_t now_ns = clock_now_ns();
		int wait_ms = now_ns < watch->next_ns
				      ? (int)((watch->next_ns - now_ns) / 1000000) + 1
				      : 0;

		if (poll(&question, 1, wait_ms) > 0)
			return question.revents & POLLIN;
		if (clock_now_ns() >= watch->next_ns)
			look_for_programs(watch, clock_now_ns());
	}
}

static void __attribute__((noreturn)) serve(int fd)
{
	struct user_flights *flights = mmap(NULL, sizeof(*flights), PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct rlimit files = { FILES_MOST, FILES_MOST };
	struct watch watch = { 0 };
	struct user_part part;
	int folder_fd;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "holdup-user");
	(void)setrlimit(RLIMIT_NOFILE, &files);
	guard_caps_seal();
	guard_caps_helper(RIGHTS);
	if (flights == MAP_FAILED || dup2(fd, STDERR_FILENO + 1) < 0)
		_exit(1);
	(void)close_range(STDERR_FILENO + 2, ~0u, 0);
	while (await_question(&watch) &&
	       (folder_fd = receive_folder(STDERR_FILENO + 1, &part)) >= 0) {
		serve_copy(STDERR_FILENO + 1, folder_fd, &part, &watch.known, flights);
		(void)close(folder_fd);
	}
	_exit(0);
}

/* ------------------------------------------------------------------ the recorder */

void flight_user_start(struct flight_user *user)
{
	int pair[2];

	*user = FLIGHT_USER_NONE;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	user->pid = fork();
	if (user->pid == 0)
		serve(pair[1]);
	(void)close(pair[1]);
	if (user->pid > 0) {
		user->fd = pair[0];
		return;
	}
	user->pid = 0;
	(void)close(pair[0]);
}

void flight_user_begin(struct flight_user *user, int folder_fd, const struct user_part *part)
{
	user->is_asked = user->pid && folder_fd >= 0 && send_folder(user->fd, folder_fd, part);
}

void flight_user_end(struct flight_user *user, struct flight_user_copied *out_copied)
{
	struct pollfd answer = { .fd = user->fd, .events = POLLIN };

	*out_copied = (struct flight_user_copied){ 0 };
	if (user->is_asked && poll(&answer, 1, ANSWER_MS) > 0 &&
	    recv(user->fd, out_copied, sizeof(*out_copied), 0) == (ssize_t)sizeof(*out_copied)) {
		user->is_asked = false;
		return;
	}
	*out_copied = (struct flight_user_copied){ .is_failed = true };
	flight_user_stop(user); /* an answer that comes late would be taken for the next one */
}

void flight_user_stop(struct flight_user *user)
{
	if (user->pid) {
		(void)kill(user->pid, SIGKILL);
		(void)child_await(user->pid);
	}
	mem_close_fd(&user->fd);
	*user = FLIGHT_USER_NONE;
}
