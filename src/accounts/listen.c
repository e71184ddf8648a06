/*
 * listen.c - registered sockets, read many datagrams at a time.
 */
#include "accounts/listen.h"

#include <assert.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <linux/taskstats.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/err.h"
#include "base/mem.h"
#include "accounts/cpus.h"
#include "accounts/proc.h"
#include "accounts/socket.h"

#define BATCH	       64u
#define DATAGRAM_BYTES 4096u
#define RECORD_LEAST   512u /* bytes that a record takes of a buffer, at least */
#define BUFFER_BYTES   (16u << 20)
#define FEW_SOCKETS    8u
#define LOSSES_MAX     1000u /* told one by one; more are added to the last */
#define OTHERS_MAX     8u
#define PAUSE_MIN_MS   1u
#define PAUSE_FIRST_MS 10u
#define PAUSE_MAX_MS   50u /* less than the exits of several CPUs may be apart in tree.c */
#define FILL_HIGH      4u  /* a buffer filled to this part and more: pause shorter */
#define FILL_WHOLE     1024u
#define FILL_LOW       16u /* all less than to this part: longer */

struct ear {
	struct nl_sock *sock; /* owned */
	char *cpus;	      /* owned; "0-3" */
	uint32_t dropped;     /* by the kernel, as of the last look */
	uint32_t room_bytes;  /* of its buffer, as the kernel counts */
};

struct delays_listener {
	int epoll_fd; /* owned */
	uint16_t family;
	struct ear ears[DELAYS_SOCKETS_MAX];
	size_t ear_count;
	struct delays_loss *losses; /* owned */
	size_t loss_count;
	size_t loss_cap;
	uint64_t lost;
	uint64_t damaged;
	bool is_muted;	   /* nobody waits for the sockets */
	bool is_busy;	   /* the last take found something */
	uint32_t pause_ms; /* before the next one, then */
	uint64_t fill;	   /* of the fullest buffer at the last take, of FILL_WHOLE */
	uint8_t (*datagrams)[DATAGRAM_BYTES]; /* owned; BATCH of them */
};

static int set_buffer(int fd, size_t bytes, struct err *err)
{
	int wanted = bytes > (1u << 30) ? 1 << 30 : (int)bytes;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &wanted, sizeof(wanted)) == 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &wanted, sizeof(wanted)) == 0)
		return 0;
	return err_set(err, -errno, "cannot set a receive buffer of %d bytes: %s", wanted,
		       strerror(errno));
}

static int explain_refusal(int code, const char *cpus, struct err *err)
{
	switch (code) {
	case -NLE_PERM:
	case -NLE_NOACCESS:
		return err_set(err, -EPERM, "listening for exits needs CAP_NET_ADMIN (use sudo)");
	case -NLE_INVAL:
	case -NLE_RANGE:
		return err_set(
			err, -EINVAL,
			"the kernel refuses exit records of CPUs %s: the CPUs do not exist, or "
			"this is not the initial PID or user namespace",
			cpus);
	default:
		return err_set(err, -EIO, "the kernel refuses exit records of CPUs %s: %s", cpus,
			       nl_geterror(code));
	}
}

/* Ask for the exits on these CPUs, and wait for the kernel's word on it. */
static int register_ear(const struct ear *ear, uint16_t family, struct err *err)
{
	struct nl_msg *message = nlmsg_alloc();
	int rc = -NLE_NOMEM;

	if (message &&
	    genlmsg_put(message, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, NLM_F_ACK, TASKSTATS_CMD_GET,
			TASKSTATS_GENL_VERSION) &&
	    nla_put_string(message, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, ear->cpus) == 0)
		rc = nl_send_auto(ear->sock, message);
	nlmsg_free(message);
	if (rc >= 0) {
		nl_socket_disable_seq_check(ear->sock); /* an exit may come before the answer */
		rc = nl_wait_for_ack(ear->sock);
	}
	return rc < 0 ? explain_refusal(rc, ear->cpus, err) : 0;
}

static int listen_wait_for(struct delays_listener *listener, const struct ear *ear, bool wanted,
			   struct err *err)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (epoll_ctl(listener->epoll_fd, wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
		      nl_socket_get_fd(ear->sock), &event) < 0)
		return err_set(err, -errno, "cannot wait for exits: %s", strerror(errno));
	return 0;
}

static int open_ear(struct delays_listener *listener, size_t buffer_bytes, struct err *err)
{
	struct ear *ear = &listener->ears[listener->ear_count];
	int rc = delays_connect(&ear->sock, &listener->family, err);

	if (rc < 0)
		return rc;
	listener->ear_count++;
	rc = set_buffer(nl_socket_get_fd(ear->sock), buffer_bytes, err);
	if (rc == 0)
		rc = register_ear(ear, listener->family, err);
	return rc == 0 ? listen_wait_for(listener, ear, true, err) : rc;
}

void delays_listener_close(struct delays_listener *listener)
{
	if (!listener)
		return;
	for (size_t i = 0; i < DELAYS_SOCKETS_MAX; i++) {
		if (listener->ears[i].sock)
			nl_socket_free(listener->ears[i].sock);
		free(listener->ears[i].cpus);
	}
	mem_close_fd(&listener->epoll_fd);
	free(listener->losses);
	free(listener->datagrams);
	free(listener);
}

static void add_loss(struct delays_listener *listener, const struct ear *ear, uint32_t dropped)
{
	struct delays_loss *last =
		listener->loss_count ? &listener->losses[listener->loss_count - 1] : NULL;
	bool is_full = listener->loss_count == LOSSES_MAX;

	listener->lost += dropped;
	if (last &&
	    (is_full || (last->cpus == ear->cpus && delays_now_ns() - last->time_ns < 100000000))) {
		last->lost_count += dropped;
		return;
	}
	listener->losses = vec_room(listener->losses, listener->loss_count, &listener->loss_cap,
				    sizeof(*listener->losses));
	listener->losses[listener->loss_count++] = (struct delays_loss){ .cpus = ear->cpus,
									 .time_ns = delays_now_ns(),
									 .lost_count = dropped };
}

/* How full the buffer of a socket is, and how many records the kernel has dropped since the last look. */
static void ear_look_at(struct delays_listener *listener, struct ear *ear)
{
	uint32_t meminfo[SK_MEMINFO_VARS] = { 0 }, dropped;
	socklen_t bytes = sizeof(meminfo);
	uint64_t fill;

	if (getsockopt(nl_socket_get_fd(ear->sock), SOL_SOCKET, SO_MEMINFO, meminfo, &bytes) < 0)
		return;
	ear->room_bytes = meminfo[SK_MEMINFO_RCVBUF];
	if (ear->room_bytes) {
		fill = (uint64_t)meminfo[SK_MEMINFO_RMEM_ALLOC] * FILL_WHOLE / ear->room_bytes;
		listener->fill = fill > listener->fill ? fill : listener->fill;
	}
	dropped = meminfo[SK_MEMINFO_DROPS] - ear->dropped;
	ear->dropped += dropped;
	if (dropped)
		add_loss(listener, ear, dropped);
}

static void take_datagram(struct delays_listener *listener, const struct mmsghdr *head,
			  const struct delays_exits *exits, uint64_t now_ns)
{
	struct delays_message_at at = { head->msg_hdr.msg_iov->iov_base, head->msg_len };
	struct delays_message message;
	int rc;

	while ((rc = delays_message_next(&at, listener->family, &message, NULL)) > 0) {
		if (message.has_thread)
			exits->on_exit(exits->context, &message, now_ns);
	}
	listener->damaged += rc < 0;
}

/* Returns how many datagrams there were, or a negative errno. */
static int read_batch(struct delays_listener *listener, const struct ear *ear,
		      const struct delays_exits *exits)
{
	struct mmsghdr heads[BATCH] = { 0 };
	struct iovec parts[BATCH];
	uint64_t now_ns;
	int got;

	for (size_t i = 0; i < BATCH; i++) {
		parts[i] = (struct iovec){ listener->datagrams[i], DATAGRAM_BYTES };
		heads[i].msg_hdr.msg_iov = &parts[i];
		heads[i].msg_hdr.msg_iovlen = 1;
	}
	got = recvmmsg(nl_socket_get_fd(ear->sock), heads, BATCH, MSG_DONTWAIT, NULL);
	now_ns = delays_now_ns();
	for (int i = 0; i < got; i++)
		take_datagram(listener, &heads[i], exits, now_ns);
	return got < 0 ? -errno : got;
}

/* All that was there: not more than fits, or a socket that fills as fast as it is read would keep us. */
static int take_ear(struct delays_listener *listener, struct ear *ear,
		    const struct delays_exits *exits, struct err *err)
{
	int got = (int)BATCH;
	uint32_t rounds;

	ear_look_at(listener, ear);
	rounds = ear->room_bytes / RECORD_LEAST / BATCH + 2;
	for (uint32_t i = 0; i < rounds && (got == (int)BATCH || got == -ENOBUFS); i++) {
		got = read_batch(listener, ear, exits);
		listener->is_busy = listener->is_busy || got > 0;
	}
	ear_look_at(listener, ear); /* what was dropped meanwhile */
	if (got < 0 && got != -EAGAIN && got != -EINTR && got != -ENOBUFS)
		return err_set(err, got, "cannot read exits of CPUs %s: %s", ear->cpus,
			       strerror(-got));
	return 0;
}

/* Shorter before the buffers are full, longer when hardly anything is in them. */
static void set_pause(struct delays_listener *listener)
{
	if (listener->fill >= FILL_WHOLE / FILL_HIGH)
		listener->pause_ms /= 2;
	else if (listener->fill < FILL_WHOLE / FILL_LOW)
		listener->pause_ms *= 2;
	if (listener->pause_ms < PAUSE_MIN_MS)
		listener->pause_ms = PAUSE_MIN_MS;
	if (listener->pause_ms > PAUSE_MAX_MS)
		listener->pause_ms = PAUSE_MAX_MS;
}

int delays_listener_take(struct delays_listener *listener, const struct delays_exits *exits,
			 struct err *err)
{
	listener->fill = 0;
	listener->is_busy = false;
	for (size_t i = 0; i < listener->ear_count; i++) {
		int rc = take_ear(listener, &listener->ears[i], exits, err);

		if (rc < 0)
			return rc;
	}
	set_pause(listener);
	return 0;
}

static int mute(struct delays_listener *listener, bool muted, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < listener->ear_count && rc == 0 && muted != listener->is_muted; i++)
		rc = listen_wait_for(listener, &listener->ears[i], !muted, err);
	listener->is_muted = muted;
	return rc;
}

/* Wait for others, or for something to take. Returns like poll(). */
static int wait_for_first(struct delays_listener *listener, struct pollfd *others, size_t count,
			  int timeout_ms, struct err *err)
{
	struct pollfd fds[OTHERS_MAX + 1];
	int rc = mute(listener, false, err), ready;

	if (rc < 0)
		return rc;
	memcpy(fds, others, count * sizeof(*fds));
	fds[count] = (struct pollfd){ .fd = listener->epoll_fd, .events = POLLIN };
	ready = poll(fds, count + 1, timeout_ms);
	if (ready < 0 && errno != EINTR)
		return err_set(err, -errno, "cannot wait for exits: %s", strerror(errno));
	if (ready > 0)
		memcpy(others, fds, count * sizeof(*fds));
	rc = mute(listener, true, err);
	return rc < 0 ? rc : ready > 0 && fds[count].revents;
}

int delays_listener_wait(struct delays_listener *listener, struct pollfd *others, size_t count,
			 int timeout_ms, struct err *err)
{
	int pause_ms, rc = 1;

	assert(count <= OTHERS_MAX);
	for (size_t i = 0; i < count; i++)
		others[i].revents = 0;
	if (!listener->is_busy)
		rc = wait_for_first(listener, others, count, timeout_ms, err);
	for (size_t i = 0; i < count; i++) {
		if (others[i].revents)
			return 0;
	}
	pause_ms = (int)listener->pause_ms;
	if (rc > 0)
		(void)poll(others, count,
			   timeout_ms >= 0 && timeout_ms < pause_ms ? timeout_ms : pause_ms);
	return rc < 0 ? rc : 0;
}

/* ---------------------------------------------------------------------- try it out */

/* Let a child exit on one of these CPUs. Returns its number; 0 = we may not run there. */
static pid_t exit_on(const struct delays_cpus *cpus)
{
	size_t bytes = CPU_ALLOC_SIZE(DELAYS_CPU_MAX);
	AUTO_FREE cpu_set_t *set = xcalloc(1, bytes);
	pid_t child;
	int status;

	for (size_t i = 0; i < cpus->count; i++)
		CPU_SET_S(cpus->cpus[i], bytes, set);
	child = fork();
	if (child == 0)
		_exit(sched_setaffinity(0, bytes, set) < 0);
	if (child < 0)
		return 0;
	status = child_await(child);
	return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? child : 0;
}

struct wanted {
	int32_t tid;
	bool is_heard;
};

static void listen_look_for(void *context, const struct delays_message *exit, uint64_t time_ns)
{
	struct wanted *wanted = context;

	(void)time_ns;
	wanted->is_heard = wanted->is_heard || exit->tid == wanted->tid;
}

/*
 * In another network namespace the kernel takes the registration, and sends to the first one: nothing
 * would ever come. It sends before the parent can know of an end, so a child of ours is there by now.
 */
static int listen_try_out(struct delays_listener *listener, const struct delays_cpus *cpus,
			  struct err *err)
{
	struct wanted wanted = { .tid = exit_on(cpus) };
	const struct delays_exits exits = { listen_look_for, &wanted };
	int rc = wanted.tid ? delays_listener_take(listener, &exits, err) : 0;

	if (rc < 0)
		return rc;
	if (wanted.tid && !wanted.is_heard && !listener->lost)
		return err_set(err, -ENOENT,
			       "the kernel sends no exit records in this network namespace");
	listener->lost = listener->damaged = 0; /* nobody listened yet */
	listener->loss_count = 0;
	listener->is_busy = false;
	return 0;
}

int delays_listener_open(const struct delays_listen_opts *opts,
			 struct delays_listener **out_listener, struct err *err)
{
	struct delays_listener *listener = xcalloc(1, sizeof(*listener));
	size_t count = opts->cpus->count;
	size_t ears = count < DELAYS_SOCKETS_MAX ? count : DELAYS_SOCKETS_MAX;
	size_t bytes = opts->buffer_bytes ? opts->buffer_bytes
					  : BUFFER_BYTES / (ears > FEW_SOCKETS ? 4 : 1);
	int rc = 0;

	listener->pause_ms = PAUSE_FIRST_MS;
	listener->datagrams = xmalloc(BATCH * DATAGRAM_BYTES);
	listener->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (listener->epoll_fd < 0)
		rc = err_set(err, -errno, "cannot wait for exits: %s", strerror(errno));
	for (size_t i = 0; i < ears && rc == 0; i++) {
		size_t first = i * count / ears, next = (i + 1) * count / ears;

		listener->ears[i].cpus = delays_cpus_text(opts->cpus, first, next - first);
		rc = open_ear(listener, bytes, err);
	}
	if (rc == 0)
		rc = listen_try_out(listener, opts->cpus, err);
	if (rc < 0) {
		delays_listener_close(listener);
		return rc;
	}
	*out_listener = listener;
	return 0;
}

const struct delays_loss *delays_listener_losses(const struct delays_listener *listener,
						 size_t *out_count, uint64_t *out_lost)
{
	*out_count = listener->loss_count;
	*out_lost = listener->lost;
	return listener->losses;
}

uint64_t delays_listener_damaged(const struct delays_listener *listener)
{
	return listener->damaged;
}
