/* flight_ask.c - both ends of the control socket. */
#include "cli/flight_ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/exit.h"

#define SOCKET	   FLIGHT_RUN_DIR "/flight.sock"
#define BACKLOG	   16
#define PATIENCE_S 2 /* for who asks, and takes no answer */
#define ANSWER_MAX (16u << 20)

static const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SOCKET };

int flight_listen(struct err *err)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t before = umask(0177);
	int rc = 0;

	(void)unlink(SOCKET); /* of a killed one: we have the lock */
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, BACKLOG) < 0)
		rc = err_set(err, -errno, "cannot listen on " SOCKET ": %s", strerror(errno));
	(void)umask(before);
	if (rc == 0)
		return fd;
	mem_close_fd(&fd);
	return rc;
}

/* A line, or what came before its end. */
static void read_line(int fd, char line[FLIGHT_ASK_MAX])
{
	size_t bytes = 0;
	ssize_t got;

	do {
		got = recv(fd, line + bytes, FLIGHT_ASK_MAX - 1 - bytes, 0);
		bytes += got > 0 ? (size_t)got : 0;
	} while (got > 0 && !memchr(line, '\n', bytes) && bytes < FLIGHT_ASK_MAX - 1);
	line[bytes] = '\0';
	line[strcspn(line, "\n")] = '\0';
}

int flight_accept(int listen_fd, char line[FLIGHT_ASK_MAX])
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t length = sizeof(peer);

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 || peer.uid != 0) {
		flight_answer(fd, EXIT_FAIL, "only root may ask the flight recorder");
		return -EPERM;
	}
	read_line(fd, line);
	return fd;
}

void flight_answer(int fd, int status, const char *text)
{
	AUTO_FREE char *all = xasprintf("%d%s", status, text);
	size_t bytes = strlen(all);

	for (size_t done = 0; done < bytes;) {
		ssize_t sent = send(fd, all + done, bytes - done, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			break; /* who asked has gone */
		done += (size_t)sent;
	}
	close(fd);
}

static char *read_answer(int fd)
{
	size_t bytes = 0, cap = 4096;
	char *text = xmalloc(cap);
	ssize_t got;

	do {
		if (cap - bytes < 2048)
			text = xrealloc(text, cap *= 2, 1);
		got = recv(fd, text + bytes, cap - bytes - 1, 0);
		bytes += got > 0 ? (size_t)got : 0;
	} while ((got > 0 && bytes < ANSWER_MAX) || (got < 0 && errno == EINTR));
	text[bytes] = '\0';
	return text;
}

int flight_ask(const char *line, char **out_text, struct err *err)
{
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	AUTO_FREE char *asked = xasprintf("%s\n", line);
	AUTO_FREE char *answer = NULL;

	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		if (errno == EACCES || errno == EPERM)
			return err_set(err, -EACCES, "only root may ask the flight recorder");
		if (errno == ENOENT || errno == ECONNREFUSED)
			return err_set(err, -ESRCH,
				       "no flight recorder runs: sudo holdup flight start");
		return err_set(err, -errno, "cannot reach " SOCKET ": %s", strerror(errno));
	}
	if (send(fd, asked, strlen(asked), MSG_NOSIGNAL) < 0)
		return err_set(err, -errno, "cannot ask the flight recorder: %s", strerror(errno));
	answer = read_answer(fd);
	if (answer[0] < '0' || answer[0] > '3')
		return err_set(err, -EIO, "the flight recorder ended before it answered");
	*out_text = xstrdup(answer + 1);
	return answer[0] - '0';
}
