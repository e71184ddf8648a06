/*
 * http.c - connections and their phases.
 *
 *	asking ---- the head is whole, or refused ----> answering ---- all is sent ----> ending
 *
 * Ending: our side is shut, and what still comes is read and dropped for a moment; closing at
 * once would reset the connection, and the answer might be lost. Each phase has its end in time,
 * counted from its begin, so a byte now and then buys nothing.
 */
#include "serve/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "serve/request.h"

#define END_NS	  UINT64_C(1000000000)
#define END_BYTES (1u << 20)
#define BACKLOG	  128
#define NS_PER_S  1000000000u
#define NS_PER_MS 1000000u
#define FIXED_FDS 2u /* what stops it, and the listening socket */

enum phase {
	ASKING,
	ANSWERING,
	ENDING
};

struct client {
	int fd;
	enum phase phase;
	uint64_t until_ns;
	char ask[HTTP_HEAD_MAX];
	size_t asked;
	char head[512]; /* of the answer */
	size_t head_bytes;
	struct http_body *body; /* a ref; NULL = none */
	size_t sent;		/* of head and body together */
	size_t dropped;
};

struct http {
	struct http_opts opts;
	int fd; /* owned */
	bool is_local;
	char where[INET6_ADDRSTRLEN + 16];
	struct client *clients[HTTP_CLIENTS_MAX]; /* owned; in order of their coming */
	size_t count;
};

static const struct {
	int status;
	const char *words;
} statuses[] = {
	{ 200, "OK" },
	{ 400, "Bad Request" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 408, "Request Timeout" },
	{ 414, "URI Too Long" },
	{ 431, "Request Header Fields Too Large" },
	{ 503, "Service Unavailable" },
	{ 505, "HTTP Version Not Supported" },
};

static const char *status_words(int status)
{
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		if (statuses[i].status == status)
			return statuses[i].words;
	}
	return "Error";
}

struct http_body *http_body_new(char *text, size_t bytes)
{
	struct http_body *body = xcalloc(1, sizeof(*body));

	*body = (struct http_body){ 1, bytes, text };
	return body;
}

void http_body_drop(struct http_body *body)
{
	if (!body || --body->refs)
		return;
	free(body->text);
	free(body);
}

/* --------------------------------------------------------------------- listening */

/* "9123", ":9123", "[::1]:9123" into address and port, both owned by the caller. */
static int split_listen(const char *listen, char **out_address, char **out_port, struct err *err)
{
	const char *colon = strrchr(listen, ':');
	const char *port = colon ? colon + 1 : listen;
	const char *address = listen;
	size_t length = colon ? (size_t)(colon - listen) : 0;

	if (!port[0] || strspn(port, "0123456789") != strlen(port) || strlen(port) > 5 ||
	    strtoul(port, NULL, 10) > UINT16_MAX)
		return err_set(err, -EINVAL, "\"%s\" ends in no port: 9123 and 127.0.0.1:9123 do",
			       listen);
	if (length >= 2 && address[0] == '[' && address[length - 1] == ']') {
		address++;
		length -= 2;
	}
	if (length == 0 || (length == 9 && strncmp(address, "localhost", 9) == 0))
		*out_address = xstrdup("127.0.0.1");
	else
		*out_address = xstrndup(address, length);
	*out_port = xstrdup(port);
	return 0;
}

static bool is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in *four = (const void *)address;
	const struct sockaddr_in6 *six = (const void *)address;

	if (address->sa_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 == 127;
	return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static int bind_to(struct http *http, const struct addrinfo *at, struct err *err)
{
	struct sockaddr_storage bound = { 0 };
	socklen_t bytes = sizeof(bound);
	char address[INET6_ADDRSTRLEN], port[8];
	int yes = 1;

	http->fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (http->fd < 0)
		return err_set(err, -errno, "cannot open a socket: %s", strerror(errno));
	(void)setsockopt(http->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (at->ai_family == AF_INET6)
		(void)setsockopt(http->fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	if (bind(http->fd, at->ai_addr, at->ai_addrlen) < 0 || listen(http->fd, BACKLOG) < 0)
		return err_set(err, -errno, "cannot listen on %s: %s", http->opts.listen,
			       strerror(errno));
	http->is_local = is_loopback(at->ai_addr);
	if (getsockname(http->fd, (struct sockaddr *)&bound, &bytes) < 0 ||
	    getnameinfo((struct sockaddr *)&bound, bytes, address, sizeof(address), port,
			sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return err_set(err, -EIO, "cannot find out the address of the server's socket");
	snprintf(http->where, sizeof(http->where), strchr(address, ':') ? "[%s]:%s" : "%s:%s",
		 address, port);
	return 0;
}

int http_open(const struct http_opts *opts, struct http **out_http, struct err *err)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
					.ai_socktype = SOCK_STREAM };
	AUTO_FREE char *address = NULL, *port = NULL;
	struct addrinfo *found;
	struct http *http;
	int rc = split_listen(opts->listen, &address, &port, err);

	if (rc < 0)
		return rc;
	if (getaddrinfo(address, port, &hints, &found) != 0)
		return err_set(err, -EINVAL, "\"%s\" is no numeric address", address);
	http = xcalloc(1, sizeof(*http));
	http->opts = *opts;
	rc = bind_to(http, found, err);
	freeaddrinfo(found);
	if (rc < 0) {
		http_close(http);
		return rc;
	}
	*out_http = http;
	return 0;
}

const char *http_where(const struct http *http)
{
	return http->where;
}

/* ------------------------------------------------------------------- connections */

static void drop_client(struct http *http, size_t index)
{
	struct client *client = http->clients[index];

	close(client->fd);
	http_body_drop(client->body);
	free(client);
	memmove(&http->clients[index], &http->clients[index + 1],
		(http->count - index - 1) * sizeof(struct client *));
	http->count--;
}

void http_close(struct http *http)
{
	if (!http)
		return;
	while (http->count)
		drop_client(http, http->count - 1);
	mem_close_fd(&http->fd);
	free(http);
}

/* The oldest that has asked nothing yet goes, else the oldest of all. */
static void make_room(struct http *http)
{
	for (size_t i = 0; i < http->count; i++) {
		if (http->clients[i]->phase != ANSWERING) {
			drop_client(http, i);
			return;
		}
	}
	drop_client(http, 0);
}

/* Take who is waiting; a few at a time, so that the others get their turn. */
static void take_clients(struct http *http)
{
	for (size_t i = 0; i < HTTP_CLIENTS_MAX / 4; i++) {
		int fd = accept4(http->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct client *client;

		if (fd < 0 && (errno == EMFILE || errno == ENFILE) && http->count)
			make_room(http);
		if (fd < 0)
			return;
		if (http->count == HTTP_CLIENTS_MAX)
			make_room(http);
		client = xcalloc(1, sizeof(*client));
		client->fd = fd;
		client->until_ns = clock_now_ns() + HTTP_ASK_NS;
		http->clients[http->count++] = client;
	}
}

static void begin_answer(struct client *client, const struct http_answer *answer, bool is_head)
{
	const char *words = status_words(answer->status);
	struct http_body *body = answer->body;

	if (!body) {
		char *text = xasprintf("%d %s\n", answer->status, words);

		body = http_body_new(text, strlen(text));
	}
	client->head_bytes =
		(size_t)snprintf(client->head, sizeof(client->head),
				 "HTTP/1.1 %d %s\r\nContent-Type: %.100s\r\nContent-Length: %zu\r\n"
				 "%sX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
				 answer->status, words,
				 answer->type ? answer->type : "text/plain; charset=utf-8",
				 body->bytes, answer->status == 405 ? "Allow: GET, HEAD\r\n" : "");
	if (is_head) {
		http_body_drop(body);
		body = NULL;
	}
	client->body = body;
	client->phase = ANSWERING;
	client->until_ns = clock_now_ns() + HTTP_ANSWER_NS;
}

static void refuse(struct client *client, int status)
{
	const struct http_answer answer = { .status = status };

	begin_answer(client, &answer, false);
}

/* Returns false when the connection is over. */
static bool ask_on(struct http *http, struct client *client)
{
	ssize_t got = recv(client->fd, client->ask + client->asked,
			   sizeof(client->ask) - client->asked, 0);
	struct http_answer answer = { .status = 404 };
	struct http_request request;
	size_t bytes;
	int status;

	if (got <= 0)
		return got < 0 && (errno == EAGAIN || errno == EINTR);
	client->asked += (size_t)got;
	bytes = http_head_bytes(client->ask, client->asked);
	if (!bytes && client->asked < sizeof(client->ask))
		return true;
	status = bytes ? http_request_parse(client->ask, bytes, http->is_local, &request) : 431;
	if (status != 0) {
		refuse(client, status);
		return true;
	}
	http->opts.answer(http->opts.context, request.path, &answer);
	begin_answer(client, &answer, request.is_head);
	return true;
}

static bool answer_on(struct client *client)
{
	size_t body_bytes = client->body ? client->body->bytes : 0;
	ssize_t sent;

	if (client->sent < client->head_bytes)
		sent = send(client->fd, client->head + client->sent,
			    client->head_bytes - client->sent,
			    MSG_NOSIGNAL | (body_bytes ? MSG_MORE : 0));
	else
		sent = send(client->fd, client->body->text + (client->sent - client->head_bytes),
			    body_bytes - (client->sent - client->head_bytes), MSG_NOSIGNAL);
	if (sent < 0)
		return errno == EAGAIN || errno == EINTR;
	client->sent += (size_t)sent;
	if (client->sent < client->head_bytes + body_bytes)
		return true;
	client->phase = ENDING;
	client->until_ns = clock_now_ns() + END_NS;
	return shutdown(client->fd, SHUT_WR) == 0;
}

static bool end_on(struct client *client)
{
	char waste[4096];
	ssize_t got = recv(client->fd, waste, sizeof(waste), 0);

	if (got <= 0)
		return got < 0 && (errno == EAGAIN || errno == EINTR);
	client->dropped += (size_t)got;
	return client->dropped < END_BYTES;
}

static bool go_on(struct http *http, struct client *client)
{
	switch (client->phase) {
	case ASKING:
		return ask_on(http, client);
	case ANSWERING:
		return answer_on(client);
	default:
		return end_on(client);
	}
}

/* Returns false when it has to go; who asked too slowly is told so once. */
static bool is_in_time(struct client *client)
{
	if (clock_now_ns() < client->until_ns)
		return true;
	if (client->phase != ASKING)
		return false;
	refuse(client, 408);
	client->until_ns = clock_now_ns() + END_NS;
	return true;
}

/* ---------------------------------------------------------------------- the loop */

static size_t fill_fds(const struct http *http, struct pollfd *fds)
{
	for (size_t i = 0; i < http->count; i++)
		fds[FIXED_FDS + i] = (struct pollfd){
			.fd = http->clients[i]->fd,
			.events = http->clients[i]->phase == ANSWERING ? POLLOUT : POLLIN,
		};
	return FIXED_FDS + http->count;
}

/* How long poll() may wait, ms; -1 = for ever. */
static int patience_ms(const struct http *http)
{
	uint64_t first_ns = UINT64_MAX, time_ns = clock_now_ns();

	for (size_t i = 0; i < http->count; i++) {
		if (http->clients[i]->until_ns < first_ns)
			first_ns = http->clients[i]->until_ns;
	}
	if (first_ns == UINT64_MAX)
		return -1;
	return first_ns <= time_ns ? 0 : (int)((first_ns - time_ns) / NS_PER_MS) + 1;
}

/* From the last to the first, since those that are over leave the array. */
static void serve_clients(struct http *http, const struct pollfd *fds)
{
	for (size_t i = http->count; i-- > 0;) {
		struct client *client = http->clients[i];

		if ((fds[FIXED_FDS + i].revents && !go_on(http, client)) || !is_in_time(client))
			drop_client(http, i);
	}
}

int http_run(struct http *http, int stop_fd, struct err *err)
{
	struct pollfd fds[FIXED_FDS + HTTP_CLIENTS_MAX] = { { .fd = stop_fd, .events = POLLIN },
							    { .fd = http->fd, .events = POLLIN } };

	for (;;) {
		size_t count = fill_fds(http, fds);

		if (poll(fds, count, patience_ms(http)) < 0) {
			if (errno != EINTR)
				return err_set(err, -errno, "cannot wait for requests: %s",
					       strerror(errno));
			continue;
		}
		if (fds[0].revents)
			return 0;
		serve_clients(http, fds);
		if (fds[1].revents)
			take_clients(http);
	}
}
