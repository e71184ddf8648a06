/*
 * socket.c - requests in batches, replies by their sequence numbers.
 *
 * The kernel answers while it takes the request, so after sending all replies lie in the
 * receive buffer: nothing here ever waits.
 */
#include "accounts/socket.h"

#include <errno.h>
#include <linux/taskstats.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/mem.h"
#include "accounts/message.h"

#define BATCH	    32u
#define REPLY_BYTES 4096u

struct delays_socket {
	struct nl_sock *sock; /* owned */
	uint16_t family;
	uint32_t sequence; /* of the next request */
	uint8_t requests[BATCH * DELAYS_REQUEST_BYTES];
	uint8_t replies[BATCH][REPLY_BYTES];
};

int delays_connect(struct nl_sock **out_sock, uint16_t *out_family, struct err *err)
{
	struct nl_sock *sock = nl_socket_alloc();
	int rc;

	if (!sock)
		return err_set(err, -ENOMEM, "no memory for a netlink socket");
	rc = genl_connect(sock);
	if (rc < 0) {
		nl_socket_free(sock);
		return err_set(err, -EIO, "no netlink socket: %s", nl_geterror(rc));
	}
	rc = genl_ctrl_resolve(sock, TASKSTATS_GENL_NAME);
	if (rc < 0) {
		nl_socket_free(sock);
		return err_set(err, -ENOENT,
			       "no taskstats: the kernel was built without CONFIG_TASKSTATS, or "
			       "this is not the initial network namespace");
	}
	*out_sock = sock;
	*out_family = (uint16_t)rc;
	return 0;
}

/* May we ask at all? The kernel says so for any task; we exist. */
static int socket_try_out(struct delays_socket *socket, struct err *err)
{
	struct delays_request request = { .id = 1 };
	int rc = delays_socket_ask(socket, &request, 1, err);

	if (rc < 0)
		return rc;
	if (request.error == -EPERM)
		return err_set(err, -EPERM,
			       "the kernel's delay accounting needs CAP_NET_ADMIN (use sudo)");
	return 0;
}

int delays_socket_open(struct delays_socket **out_socket, struct err *err)
{
	struct delays_socket *socket = xcalloc(1, sizeof(*socket));
	int rc = delays_connect(&socket->sock, &socket->family, err);

	if (rc == 0)
		rc = socket_try_out(socket, err);
	if (rc < 0) {
		delays_socket_close(socket);
		return rc;
	}
	*out_socket = socket;
	return 0;
}

void delays_socket_close(struct delays_socket *socket)
{
	if (!socket)
		return;
	if (socket->sock)
		nl_socket_free(socket->sock);
	free(socket);
}

/* One datagram of the kernel; answers to earlier batches are left out. */
static int take_reply(struct delays_socket *socket, const uint8_t *bytes, size_t count,
		      struct delays_request *requests, size_t request_count, struct err *err)
{
	struct delays_message_at at = { bytes, count };
	struct delays_message message;
	int rc;

	while ((rc = delays_message_next(&at, socket->family, &message, err)) > 0) {
		uint32_t i = message.sequence - socket->sequence;

		if (i >= request_count)
			continue;
		requests[i].error = message.error;
		if (message.error)
			continue;
		if (requests[i].is_process && message.has_process)
			requests[i].stats = message.process;
		else if (!requests[i].is_process && message.has_thread)
			requests[i].stats = message.thread;
		else
			requests[i].error = -ENOMSG;
	}
	return rc;
}

static int take_replies(struct delays_socket *socket, struct delays_request *requests, size_t count,
			struct err *err)
{
	struct mmsghdr heads[BATCH] = { 0 };
	struct iovec parts[BATCH];
	int got, rc = 0;

	for (size_t i = 0; i < BATCH; i++) {
		parts[i] = (struct iovec){ socket->replies[i], REPLY_BYTES };
		heads[i].msg_hdr.msg_iov = &parts[i];
		heads[i].msg_hdr.msg_iovlen = 1;
	}
	do {
		got = recvmmsg(nl_socket_get_fd(socket->sock), heads, BATCH, MSG_DONTWAIT, NULL);
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return err_set(err, -errno, "no reply from taskstats: %s", strerror(errno));
		for (int i = 0; i < got && rc == 0; i++)
			rc = take_reply(socket, socket->replies[i], heads[i].msg_len, requests,
					count, err);
	} while (rc == 0 && (got == (int)BATCH || (got < 0 && errno == EINTR)));
	return rc;
}

static int ask_batch(struct delays_socket *socket, struct delays_request *requests, size_t count,
		     struct err *err)
{
	size_t bytes = 0;
	int rc;

	for (size_t i = 0; i < count; i++) {
		requests[i].error = -ENOMSG;
		bytes += delays_request_write(socket->requests + bytes, socket->family,
					      socket->sequence + (uint32_t)i, requests[i].id,
					      requests[i].is_process);
	}
	if (send(nl_socket_get_fd(socket->sock), socket->requests, bytes, 0) < 0)
		return err_set(err, -errno, "cannot query taskstats: %s", strerror(errno));
	rc = take_replies(socket, requests, count, err);
	socket->sequence += (uint32_t)count;
	return rc;
}

int delays_socket_ask(struct delays_socket *socket, struct delays_request *requests, size_t count,
		      struct err *err)
{
	for (size_t i = 0; i < count; i += BATCH) {
		size_t part = count - i < BATCH ? count - i : BATCH;
		int rc = ask_batch(socket, requests + i, part, err);

		if (rc < 0)
			return rc;
	}
	return 0;
}
