/* request.c - request line and Host; all other fields are read over. */
#include "serve/request.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

size_t http_head_bytes(const char *text, size_t bytes)
{
	const char *end = memmem(text, bytes, "\r\n\r\n", 4);
	const char *bare = memmem(text, bytes, "\n\n", 2);

	if (end && (!bare || end < bare))
		return (size_t)(end - text) + 4;
	return bare ? (size_t)(bare - text) + 2 : 0;
}

/* "localhost", "127.0.0.1:9123", "[::1]:9123" */
static bool is_local_host(const char *host)
{
	size_t length = host[0] == '[' ? strcspn(host, "]") : strcspn(host, ":");
	AUTO_FREE char *name = xstrndup(host + (host[0] == '['), length - (host[0] == '['));
	struct in6_addr address;

	return strcasecmp(name, "localhost") == 0 || inet_pton(AF_INET, name, &address) == 1 ||
	       inet_pton(AF_INET6, name, &address) == 1;
}

/* Cuts the line ends off. Returns 0, or a status. */
static int check_fields(char *field, bool needs_host, bool local)
{
	size_t hosts = 0;

	while (*field && *field != '\r' && *field != '\n') {
		char *end = strchr(field, '\n'), *colon = strchr(field, ':');

		if (!end || !colon || colon > end || colon == field)
			return 400;
		*end = '\0';
		if (end[-1] == '\r')
			end[-1] = '\0';
		if (strncasecmp(field, "Host:", 5) == 0) {
			hosts++;
			if (local && !is_local_host(colon + 1 + strspn(colon + 1, " \t")))
				return 403;
		}
		field = end + 1;
	}
	return hosts > 1 || (needs_host && !hosts) ? 400 : 0;
}

/* "/metrics?x", or "http://host/metrics" as proxies ask. Returns 0, or a status. */
static int parse_target(const char *target, struct http_request *request)
{
	size_t length;

	if (strncasecmp(target, "http://", 7) == 0) {
		target = strchr(target + 7, '/');
		target = target ? target : "/";
	}
	length = strcspn(target, "?#");
	if (target[0] != '/')
		return 400;
	if (length >= sizeof(request->path))
		return 414;
	memcpy(request->path, target, length);
	request->path[length] = '\0';
	return 0;
}

/* "GET /metrics HTTP/1.1"; the words are cut apart. Returns 0, or a status. */
static int parse_line(char *line, struct http_request *request, bool *out_needs_host)
{
	char *target = strchr(line, ' ');
	char *version = target ? strchr(target + 1, ' ') : NULL;
	int rc;

	if (!version || target == line)
		return 400;
	*target++ = '\0';
	*version++ = '\0';
	version[strcspn(version, "\r")] = '\0';
	if (strncmp(version, "HTTP/", 5) != 0)
		return 400;
	if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0)
		return 505;
	*out_needs_host = version[7] == '1';
	rc = parse_target(target, request);
	if (rc != 0)
		return rc;
	request->is_head = strcmp(line, "HEAD") == 0;
	return request->is_head || strcmp(line, "GET") == 0 ? 0 : 405;
}

int http_request_parse(const char *text, size_t bytes, bool local, struct http_request *out_request)
{
	AUTO_FREE char *head = xstrndup(text, bytes);
	struct http_request request = { 0 };
	char *end = strchr(head, '\n');
	bool needs_host = false;
	int status;

	if (strlen(head) != bytes || !end)
		return 400;
	*end = '\0';
	status = parse_line(head, &request, &needs_host);
	if (status == 0)
		status = check_fields(end + 1, needs_host, local);
	if (status == 0)
		*out_request = request;
	return status;
}
