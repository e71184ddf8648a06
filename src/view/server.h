/*
 * server.h - the page and its answers over HTTP, on loopback, for who has the token.
 *
 *	view_server_listen   a socket and a token, while the process may still make sockets
 *	view_server_run      answers until a signal, or until the page was closed for a while
 *
 * In between the process gives up what it no longer needs (guard_filter_server()).
 */
#ifndef VIEW_SERVER_H
#define VIEW_SERVER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "view/desk.h"

struct err;

#define VIEW_TOKEN_BYTES 32  /* random; twice so many digits */
#define VIEW_LEAVE_S	 600 /* after the last page was closed */

struct view_server {
	int fd; /* listens */
	uint16_t port;
	char token[2 * VIEW_TOKEN_BYTES + 1];
	char host[32]; /* "127.0.0.1:PORT" */
	char url[160];
	sigset_t ends;	  /* signals that end it: blocked from view_server_listen() on */
	bool keep;	  /* goes on when no page is open */
	uint32_t leave_s; /* else it ends so long after the last page closed; 0 = VIEW_LEAVE_S */
};

/* Returns 0, or a negative errno with err filled. 'port' 0 = any. */
int view_server_listen(uint16_t port, struct view_server *out_server, struct err *err);

/*
 * Open the trace and answer. SIGINT and SIGTERM end it: returns 0, and the process has to end, since threads
 * may still be at work. A negative errno with err filled when it cannot begin.
 */
int view_server_run(const struct view_server *server, const struct view_desk_opts *opts,
		    struct err *err);

#endif
