/*
 * perfetto_out.h - packets of a Perfetto trace into a stream, one after the other.
 *
 * A trace is a message with one repeated field, so packets can be written as they are made. All
 * are of one sequence: a name is written once, with the packet that first needs it, and is a
 * number from then on. When there are too many names, the table begins anew.
 */
#ifndef EXPORT_PERFETTO_OUT_H
#define EXPORT_PERFETTO_OUT_H

#include <stdint.h>
#include <stdio.h>

struct perfetto_out;
struct Holdup__Perfetto__TracePacket; /* perfetto.pb-c.h, which is made of perfetto.proto */

enum perfetto_table {
	PERFETTO_EVENTS, /* names of slices and instants */
	PERFETTO_ARGS,	 /* names of their arguments */
	PERFETTO_TABLES
};

#define PERFETTO_NEW_NAMES 80u /* that one packet can bring */

struct perfetto_out *perfetto_out_new(FILE *file);
void perfetto_out_free(struct perfetto_out *out);

/*
 * Before names are asked for: may begin the tables anew. Numbers given before are then no longer
 * valid, so it is called once for each packet, first of all.
 */
void perfetto_out_begin(struct perfetto_out *out);

/* The number of a name, which is valid UTF-8. At most PERFETTO_NEW_NAMES of each table a packet. */
uint64_t perfetto_out_name(struct perfetto_out *out, enum perfetto_table table, const char *name);

/* Write the packet, with the names that are new. */
void perfetto_out_put(struct perfetto_out *out, struct Holdup__Perfetto__TracePacket *packet);

/* Write the packet as it is: of another sequence. */
void perfetto_out_bytes(struct perfetto_out *out,
			const struct Holdup__Perfetto__TracePacket *packet);

#endif
