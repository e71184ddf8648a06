/*
 * decode.c - read all events of a trace of any format and do nothing with them.
 *
 *	decode TRACE		prints how many there are
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "event/event.h"
#include "event/source.h"
#include "read/read.h"

int main(int argc, char **argv)
{
	struct err err = { 0 };
	struct event_run run;
	struct trace *trace;
	uint64_t count = 0;
	int rc;

	if (argc != 2) {
		fprintf(stderr, "usage: decode TRACE\n");
		return 2;
	}
	if (read_open(argv[1], &trace, &err) < 0) {
		fprintf(stderr, "decode: %s\n", err.text);
		return 3;
	}
	while ((rc = source_next_run(trace_source(trace), &run, &err)) > 0)
		count += run.count;
	trace_close(trace);
	if (rc < 0) {
		fprintf(stderr, "decode: %s\n", err.text);
		return 3;
	}
	printf("%" PRIu64 "\n", count);
	return 0;
}
