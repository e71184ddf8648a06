/*
 * meta.h - what the metadata of a CTF trace says: trace, clocks, streams, events.
 */
#ifndef READ_CTF_META_H
#define READ_CTF_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/ctf/type.h"

struct clock;
struct ctf_head;
struct ctf_plan;
struct err;
struct event;

#define CTF_MAGIC	 0xc1fc1fc1u
#define CTF_MAX_METADATA ((size_t)64 << 20) /* bytes; a longer one is refused */
#define CTF_MAX_TYPES	 (1u << 16)	    /* instances, of all events together */

struct ctf_clock {
	const char *name;
	uint64_t freq;	 /* Hz, not 0 */
	uint64_t offset; /* in ticks, added to offset_s */
	int64_t offset_s;
	uint64_t precision;
	bool absolute;
	const struct clock *line; /* set by the reader: this says what time a tick is; else NULL */
};

struct ctf_env {
	const char *name;
	const char *text; /* NULL = a number */
	int64_t number;
};

/* A kind of event. */
struct ctf_event {
	const char *name; /* "" = has none */
	const char *emf_uri;
	uint64_t id;
	uint64_t stream_id;
	int64_t loglevel;
	uint32_t line;
	struct ctf_type *context; /* NULL = none; the same below */
	struct ctf_type *fields;
	/* Set by the reader of the trace. */
	uint32_t number;	       /* among all events that are open together */
	uint32_t record_bytes;	       /* of the places of its fields; see ctf_record.h */
	const struct event *base;      /* what all events of this kind have */
	const struct ctf_plan **plans; /* fast ways to read it, one for each form of header */
	const struct ctf_plan **record_plans; /* the same with all fields, for records */
	uint8_t native;			      /* enum ctf_native */
	bool big_endian;		      /* native: the byte order of its records */
};

/* A kind of stream. */
struct ctf_stream {
	uint64_t id;
	uint32_t line;
	struct ctf_type *packet_header; /* the trace's, as an instance of this stream */
	struct ctf_type *packet_context;
	struct ctf_type *event_header;
	struct ctf_type *event_context;
	struct ctf_event **events; /* in order of their ids */
	size_t event_count;
	uint32_t slot_count;	       /* values that others refer to */
	const char *clock_name;	       /* CTF 2: of all its timestamps; NULL = there are none */
	const struct ctf_clock *clock; /* of the timestamps; NULL = there are none */
	const struct ctf_head *head;   /* forms of event headers; NULL = there is no fast way */
};

struct ctf_meta {
	struct ctf_arena arena;
	bool has_trace;
	bool big_endian;
	bool has_uuid;
	bool is_ctf2;
	uint8_t uuid[16];
	struct ctf_type *packet_header; /* NULL = none */
	uint32_t slot_count;		/* values within packet_header that others of it refer to */
	struct ctf_env *envs;
	size_t env_count, env_cap;
	struct ctf_clock **clocks;
	size_t clock_count, clock_cap;
	struct ctf_stream **streams;
	size_t stream_count, stream_cap;
	struct ctf_event **events; /* all of them, as they are declared */
	size_t event_count, event_cap;
};

/*
 * Read the text of metadata, of CTF 1.8 or of CTF 2. Returns 0 and *out_meta (free with ctf_meta_free()), or
 * -EBADMSG with err saying the line and what is wrong there.
 */
int ctf_meta_new(const char *text, size_t bytes, struct ctf_meta **out_meta, struct err *err);

/*
 * The same for one of several that are open together. A few types that are made of each other can
 * stand for any number of fields, so there is a limit for all: *types_left, CTF_MAX_TYPES at first.
 * Each text may have more for its length, so that one that takes all leaves the others readable.
 */
int ctf_meta_new_of(const char *text, size_t bytes, size_t *types_left, struct ctf_meta **out_meta,
		    struct err *err);
void ctf_meta_free(struct ctf_meta *meta);

/* The second half of it: ctf_resolve.c. */
int ctf_resolve(struct ctf_meta *meta, size_t *types_left, struct err *err);

const struct ctf_env *ctf_meta_env(const struct ctf_meta *meta, const char *name);
struct ctf_stream *ctf_meta_stream(const struct ctf_meta *meta, uint64_t id);

/* The event of the stream with this number, or NULL. O(log events). */
struct ctf_event *ctf_stream_event(const struct ctf_stream *stream, uint64_t id);

/*
 * Make the text out of a metadata file: text as it is, or packets with a header each.
 * Returns 0, *out_text (free it) and its length; -EBADMSG or -ENOTSUP with err filled.
 */
int ctf_metadata_text(const uint8_t *file, size_t bytes, char **out_text, size_t *out_bytes,
		      struct err *err);

#endif
