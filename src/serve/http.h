/*
 * http.h - a small HTTP/1.1 server for answers that are made in memory: one thread, one poll().
 *
 *	struct http_opts opts = { .listen = "9123", .answer = answer };
 *	struct http *http;
 *
 *	rc = http_open(&opts, &http, err);
 *	rc = http_run(http, signal_fd, err);
 *	http_close(http);
 *
 * GET and HEAD, one request for each connection. Who is slow, sends too much or nothing at
 * all is bounded in time and memory and keeps nobody else waiting: HTTP_CLIENTS_MAX connections
 * of HTTP_HEAD_MAX bytes each; when one more comes, the oldest that has not asked anything yet goes.
 *
 * On loopback only requests to "localhost" or a numeric host are answered, so that a web page
 * cannot read the answers by a name that points here.
 */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct http;

#define HTTP_CLIENTS_MAX 64u
#define HTTP_HEAD_MAX	 8192u
#define HTTP_ASK_NS	 UINT64_C(5000000000)  /* from the connection to the end of the head */
#define HTTP_ANSWER_NS	 UINT64_C(10000000000) /* to take the whole answer */

/* A text that several connections may send at once. */
struct http_body {
	uint32_t refs;
	size_t bytes;
	char *text; /* owned, from malloc() */
};

struct http_body *http_body_new(char *text, size_t bytes); /* takes the text; one ref */
void http_body_drop(struct http_body *body);		   /* NULL is fine */

struct http_answer {
	int status;
	const char *type;	/* "text/plain; charset=utf-8" */
	struct http_body *body; /* one ref goes to the server; NULL = the status in words */
};

struct http_opts {
	/* "PORT", ":PORT" (127.0.0.1), "ADDRESS:PORT", "[ADDRESS]:PORT"; port 0 = any */
	const char *listen;
	/* Called for each request that makes sense; 'path' is without its query. */
	void (*answer)(void *context, const char *path, struct http_answer *out_answer);
	void *context;
};

/* Returns 0, or a negative errno with err filled; -EINVAL when 'listen' is no address. */
int http_open(const struct http_opts *opts, struct http **out_http, struct err *err);
void http_close(struct http *http); /* NULL is fine */

/* "127.0.0.1:9123": where it listens. Lives as long as the server. */
const char *http_where(const struct http *http);

/* Serve until stop_fd is readable. Returns 0, or a negative errno with err filled. */
int http_run(struct http *http, int stop_fd, struct err *err);

#endif
