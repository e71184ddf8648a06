/*
 * export_ctf.c - write a trace as CTF 1.8: what export_ctf.py compares with the trace.
 *
 * usage: export_ctf TRACE DIR        DIR must exist; prints the number of events
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "export/ctf_export.h"
#include "read/read.h"

int main(int argc, char **argv)
{
	const struct ctf_choice all = { 0 };
	struct err err = { 0 };
	struct trace *trace;
	int64_t events;

	if (argc != 3)
		return 2;
	if (read_open(argv[1], &trace, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	events = ctf_export(trace, argv[2], &all, &err);
	trace_close(trace);
	if (events < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	printf("%" PRId64 "\n", events);
	return 0;
}
