/*
 * ctf_writer.h - streams of packets of CTF 1.8, a file each, and the metadata that explains them.
 *
 *	writer = ctf_writer_new("out/kernel", &setup);
 *	ctf_writer_put(writer, CTF_STREAM_KERNEL, cpu, time_ns, &event);
 *	ctf_writer_lost(writer, CTF_STREAM_KERNEL, cpu, time_ns, count);
 *	rc = ctf_writer_end(writer, &err);
 *	ctf_writer_free(writer);
 *
 * Memory: one packet for each stream. A failure to write stays, and ctf_writer_end() tells it. The
 * metadata comes last: without it a folder is no trace. Used by one thread at a time.
 */
#ifndef EXPORT_CTF_WRITER_H
#define EXPORT_CTF_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct ctf_writer;
struct err;
struct facts;

enum ctf_stream_kind {
	CTF_STREAM_KERNEL, /* one for each CPU */
	CTF_STREAM_NAMES,  /* what descriptors name */
	CTF_STREAM_USER,   /* what programs said, for each CPU */
	CTF_STREAM_STATE,  /* the state dump */
	CTF_STREAM_COUNT
};

/* Views that must live as long as the writer. */
struct ctf_writer_setup {
	const struct facts *facts; /* for env */
	bool big_endian;
	const char *clock; /* name of it */
	/* Write "event { ... };" for all kinds of events of this kind of stream. */
	void (*print_events)(void *context, enum ctf_stream_kind kind, FILE *out);
	void *context;
	uint64_t first_ns, last_ns; /* of the trace that is written */
	const uint8_t *uuid;	    /* 16 bytes */
};

/* The folder exists. */
struct ctf_writer *ctf_writer_new(const char *folder, const struct ctf_writer_setup *setup);

struct ctf_writer_event {
	const uint8_t *record; /* and what was told of it behind it */
	uint32_t bytes;	       /* of the record */
	uint32_t tail;	       /* elements of the array that ends it */
	uint32_t told;	       /* bytes behind it; see read/ctf/told.h */
};

/* Add an event: a record in the form of ctf_layout_put(). Times of a stream never go back. */
void ctf_writer_put(struct ctf_writer *writer, enum ctf_stream_kind kind, uint32_t cpu,
		    uint64_t time_ns, const struct ctf_writer_event *event);

/* Events are missing before the next one; 'count' 0 = nobody knows how many. */
void ctf_writer_lost(struct ctf_writer *writer, enum ctf_stream_kind kind, uint32_t cpu,
		     uint64_t time_ns, uint64_t count);

/* Write what is left, and the metadata. Returns 0 or a negative errno with err filled. */
int ctf_writer_end(struct ctf_writer *writer, struct err *err);
void ctf_writer_free(struct ctf_writer *writer);

/* A string of TSDL, with its quotes. */
void ctf_print_string(FILE *out, const char *text);

#endif
