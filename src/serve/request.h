/* request.h - the head of an HTTP request. Nothing in it is trusted. */
#ifndef SERVE_REQUEST_H
#define SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

struct http_request {
	bool is_head;	/* HEAD, not GET */
	char path[256]; /* without the query; begins with '/' */
};

/* Length of the head with its empty line, 0 when it is not all there. */
size_t http_head_bytes(const char *text, size_t bytes);

/*
 * Parse a whole head. Returns 0 with *out_request filled, or the status to refuse it with.
 * 'local': only the hosts "localhost" and numeric ones are right.
 */
int http_request_parse(const char *text, size_t bytes, bool local,
		       struct http_request *out_request);

#endif
