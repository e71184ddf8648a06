/*
 * server.c - requests, by libmicrohttpd: who may ask, for what, and what the answer carries.
 *
 * One thread does all that has to do with sockets. It makes no answer that needs the trace: the
 * connection rests until the desk has it.
 */
#include "view/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "view/guests.h"
#include "view/page.h"

#define BACKLOG	     128
#define HEAD_BYTES   (16u << 10) /* of a request */
#define REST_S	     30u	 /* a connection on which nothing moves */
#define NOT_OPEN_YET INT64_C(-1)

/* The page asks this origin alone, runs and shows nothing else, and is shown by nobody. */
#define POLICY                                                                          \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " \
	"img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static const struct {
	const char *name, *value;
} headers[] = {
	{ "Content-Security-Policy", POLICY },
	{ "Referrer-Policy", "no-referrer" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
	{ "Cache-Control", "no-store" },
};

struct serving {
	const struct view_server *server;
	struct view_desk *desk;
	struct guests guests;
	_Atomic int64_t last_s; /* CLOCK_MONOTONIC of the last request; NOT_OPEN_YET */
};

/* A request, from its first line to the end of its answer. */
struct request {
	char *uri; /* owned; as it was sent */
	char *query;
	struct serving *serving;
	struct MHD_Connection *connection;
	struct guest *guest;
	struct view_job job;
	bool is_asked; /* the desk has it, or had it */
	atomic_bool is_answered;
};

/* ----------------------------------------------------------------- listening */

static int make_token(char *out_token, struct err *err)
{
	unsigned char bytes[VIEW_TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_set(err, -EIO, "cannot make a random token");
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)sprintf(out_token + 2 * i, "%02x", bytes[i]);
	return 0;
}

/* From here on a signal is waited for: by the threads that come, too, and when it comes early. */
static void hold_signals(sigset_t *out_ends)
{
	sigset_t all;

	(void)sigemptyset(out_ends);
	(void)sigaddset(out_ends, SIGINT);
	(void)sigaddset(out_ends, SIGTERM);
	all = *out_ends;
	(void)sigaddset(&all, SIGPIPE);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
}

int view_server_listen(uint16_t port, struct view_server *out_server, struct err *err)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct view_server server = { .fd = -1 };
	socklen_t bytes = sizeof(address);
	int yes = 1, rc = make_token(server.token, err);

	if (rc < 0)
		return rc;
	hold_signals(&server.ends);
	server.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (server.fd < 0)
		return err_set(err, -errno, "cannot open a socket: %s", strerror(errno));
	(void)setsockopt(server.fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(server.fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(server.fd, BACKLOG) < 0 ||
	    getsockname(server.fd, (struct sockaddr *)&address, &bytes) < 0) {
		rc = err_set(err, -errno, "cannot listen on port %u of 127.0.0.1: %s", port,
			     strerror(errno));
		mem_close_fd(&server.fd);
		return rc;
	}
	server.port = ntohs(address.sin_port);
	(void)snprintf(server.host, sizeof(server.host), "127.0.0.1:%u", server.port);
	(void)snprintf(server.url, sizeof(server.url), "http://%s/%s/", server.host, server.token);
	*out_server = server;
	return 0;
}

/* -------------------------------------------------------------- who may ask */

static int64_t now_s(void)
{
	return (int64_t)(clock_now_ns() / 1000000000u);
}

/* In the same time, wherever they differ. */
static bool has_token(const struct view_server *server, const char *uri)
{
	const size_t bytes = sizeof(server->token) - 1;
	unsigned char differs = 0;

	if (uri[0] != '/' || strnlen(uri + 1, bytes + 1) <= bytes || uri[1 + bytes] != '/')
		return false;
	for (size_t i = 0; i < bytes; i++)
		differs |= (unsigned char)(uri[1 + i] ^ server->token[i]);
	return !differs;
}

static const char *header_of(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* A page of another origin, or one that reached us by another name, is told nothing. */
static bool is_from_here(const struct serving *serving, struct MHD_Connection *connection)
{
	const char *host = header_of(connection, "Host"), *origin = header_of(connection, "Origin");

	if (!host || strcmp(host, serving->server->host) != 0)
		return false;
	return !origin || (strncmp(origin, "http://", 7) == 0 &&
			   strcmp(origin + 7, serving->server->host) == 0);
}

/* ------------------------------------------------------------------ answering */

static enum MHD_Result send_response(struct MHD_Connection *connection, int status,
				     const char *type, struct MHD_Response *response)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	for (size_t i = 0; i < ARRAY_LEN(headers); i++)
		(void)MHD_add_response_header(response, headers[i].name, headers[i].value);
	(void)MHD_add_response_header(response, "Content-Type", type);
	if (status == 405)
		(void)MHD_add_response_header(response, "Allow", "GET, HEAD");
	result = MHD_queue_response(connection, (unsigned int)status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result send_constant(struct MHD_Connection *connection, int status,
				     const char *type, const void *bytes, size_t count)
{
	return send_response(connection, status, type,
			     MHD_create_response_from_buffer(count, (void *)(uintptr_t)bytes,
							     MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result send_words(struct MHD_Connection *connection, int status, const char *words)
{
	return send_constant(connection, status, "text/plain; charset=utf-8", words, strlen(words));
}

/* The bytes become libmicrohttpd's. */
static enum MHD_Result send_answer(struct request *request)
{
	struct view_answer *answer = &request->job.answer;
	struct MHD_Response *response = MHD_create_response_from_buffer(
		answer->count, answer->bytes, MHD_RESPMEM_MUST_FREE);

	if (response)
		answer->bytes = NULL;
	return send_response(request->connection, answer->status, answer->type, response);
}

/* From a thread of the desk. */
static void on_answered(struct view_job *job)
{
	struct request *request = job->context;

	guests_note(&request->serving->guests, request->guest, false, false);
	atomic_store(&request->is_answered, true);
	MHD_resume_connection(request->connection);
}

static enum MHD_Result ask_desk(struct request *request, const char *route, enum view_clerk clerk)
{
	request->job = (struct view_job){
		.route = route,
		.query = request->query,
		.clerk = clerk,
		.answered = on_answered,
		.context = request,
	};
	request->is_asked = true;
	guests_note(&request->serving->guests, request->guest, false, true);
	/* Before it is handed in, since it may be answered at once. */
	MHD_suspend_connection(request->connection);
	view_desk_ask(request->serving->desk, &request->job);
	return MHD_YES;
}

/* The path is one of the table, byte for byte: nothing in it is resolved or unescaped. */
static enum MHD_Result answer_path(struct request *request, const char *route)
{
	const struct view_page *page = view_page_find(route);
	enum view_clerk clerk;

	atomic_store(&request->serving->last_s, now_s());
	if (page)
		return send_constant(request->connection, 200, page->type, page->bytes,
				     page->count);
	if (strcmp(route, "alive") == 0)
		return send_words(request->connection, 200, "yes\n");
	if (!view_is_question(route, &clerk))
		return send_words(request->connection, 404, "Page not found.\n");
	return ask_desk(request, route, clerk);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_bytes, void **state)
{
	struct serving *serving = context;
	struct request *request = *state;
	const union MHD_ConnectionInfo *info;

	(void)url;
	(void)version;
	(void)upload;
	if (!request)
		return MHD_NO;
	if (request->is_asked)
		return atomic_load(&request->is_answered) ? send_answer(request) : MHD_YES;
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	request->guest = info ? info->socket_context : NULL;
	if (!request->guest)
		return MHD_NO;
	request->serving = serving;
	request->connection = connection;
	*upload_bytes = 0;
	guests_note(&serving->guests, request->guest, false, false);
	if (!has_token(serving->server, request->uri))
		return send_words(connection, 403,
				  "The token in the address is missing or "
				  "wrong.\n");
	if (!is_from_here(serving, connection))
		return send_words(connection, 403,
				  "Requests from other hosts and origins are "
				  "refused.\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return send_words(connection, 405, "Only GET and HEAD are allowed.\n");
	return answer_path(request, request->uri + sizeof(serving->server->token) + 1);
}

/* The first line came: the path and the query, as they were sent. */
static void *on_uri(void *context, const char *uri, struct MHD_Connection *connection)
{
	struct request *request = xcalloc(1, sizeof(*request));

	(void)context;
	(void)connection;
	request->uri = xstrdup(uri);
	request->query = strchr(request->uri, '?');
	if (request->query)
		*request->query++ = '\0';
	else
		request->query = request->uri + strlen(request->uri);
	return request;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
			 enum MHD_RequestTerminationCode code)
{
	struct serving *serving = context;
	struct request *request = *state;

	(void)connection;
	(void)code;
	if (!request)
		return;
	if (request->guest)
		guests_note(&serving->guests, request->guest, true, false);
	view_answer_fini(&request->job.answer);
	free(request->uri);
	free(request);
	*state = NULL;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct serving *serving = context;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (code == MHD_CONNECTION_NOTIFY_STARTED && info) {
		*socket_context = guests_add(&serving->guests, info->connect_fd);
	} else if (code == MHD_CONNECTION_NOTIFY_CLOSED && *socket_context) {
		guests_remove(&serving->guests, *socket_context);
		*socket_context = NULL;
	}
}

/* What libmicrohttpd says of its guests is of no interest to the user. */
static void on_log(void *context, const char *format, va_list args)
{
	(void)context;
	(void)format;
	(void)args;
}

/* --------------------------------------------------------------------- its life */

static struct MHD_Daemon *start_daemon(struct serving *serving)
{
	return MHD_start_daemon(
		MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME |
			MHD_USE_ERROR_LOG,
		0, NULL, NULL, on_request, serving, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, serving->server->fd, MHD_OPTION_CONNECTION_LIMIT,
		GUESTS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, REST_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_BYTES, MHD_OPTION_URI_LOG_CALLBACK,
		on_uri, serving, MHD_OPTION_NOTIFY_COMPLETED, on_completed, serving,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, serving, MHD_OPTION_END);
}

static bool is_left(struct serving *serving)
{
	int64_t last_s = atomic_load(&serving->last_s);
	uint32_t leave_s = serving->server->leave_s ? serving->server->leave_s : VIEW_LEAVE_S;

	return !serving->server->keep && last_s != NOT_OPEN_YET && now_s() - last_s > leave_s;
}

/* Until a signal, or until nobody has asked for a while. */
static void wait_for_end(struct serving *serving)
{
	const struct timespec second = { .tv_sec = 1 };

	while (sigtimedwait(&serving->server->ends, NULL, &second) < 0) {
		guests_check(&serving->guests);
		if (is_left(serving))
			return;
	}
}

int view_server_run(const struct view_server *server, const struct view_desk_opts *opts,
		    struct err *err)
{
	struct serving *serving = xcalloc(1, sizeof(*serving)); /* as long as the process */
	int rc;

	serving->server = server;
	atomic_init(&serving->last_s, NOT_OPEN_YET);
	pthread_mutex_init(&serving->guests.lock, NULL);
	rc = view_desk_open(opts, &serving->desk, err);
	if (rc < 0)
		return rc;
	if (!start_daemon(serving))
		return err_set(err, -EIO, "cannot start the server");
	wait_for_end(serving);
	return 0;
}
