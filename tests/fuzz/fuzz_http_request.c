/* fuzz_http_request.c - any bytes as the head of a request: a path that begins with '/', or a status. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const char *text = (const char *)data;
	size_t head_bytes = http_head_bytes(text, bytes);
	struct http_request request;

	if (head_bytes > bytes)
		abort();
	for (int local = 0; local < 2; local++) {
		int status = http_request_parse(text, head_bytes, local, &request);

		if (status != 0 && (status < 400 || status > 599))
			abort();
		if (status == 0 &&
		    (request.path[0] != '/' || !memchr(request.path, '\0', sizeof(request.path))))
			abort();
	}
	return 0;
}
