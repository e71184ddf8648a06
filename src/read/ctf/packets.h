/*
 * packets.h - which packets a stream has, and where they are.
 *
 * A stream is one file, or several whose packets name the same stream and the same instance
 * of it. Its packets are put in order of the times they begin at.
 */
#ifndef READ_CTF_PACKETS_H
#define READ_CTF_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/ctf/meta.h"
#include "read/ctf/time.h"
#include "read/ctf/walk.h"

struct facts;

/* A file of packets, and the trace that says what they mean. */
struct ctf_file {
	char *path;	  /* owned */
	const char *name; /* the last part of it */
	uint64_t bytes;
	const struct ctf_meta *meta;
	bool lost_behind; /* this tracer drops events behind those of the packet that counts them */
};

struct ctf_packet {
	const struct ctf_file *file;
	const struct ctf_stream *stream;
	uint64_t offset;       /* in the file, bytes */
	uint64_t place;	       /* in the stream: bytes of the packets before it */
	uint64_t content_bits; /* that are there */
	uint64_t begin_ticks;
	uint64_t begin_ns, end_ns; /* 0 = not told */
	uint64_t lost;		   /* events */
	uint64_t counted;	   /* events_discarded as it is written */
	uint64_t number;	   /* packet_seq_num */
	uint32_t order;		   /* as they were met */
	uint16_t cpu;
	bool has_begin, has_end, has_counted, has_number, has_cpu;
	uint64_t gap; /* so many packets before it are missing */
	bool cut;     /* more content is told of than what there is */
};

struct ctf_packets {
	struct ctf_packet *items; /* owned */
	size_t count, cap;
	uint8_t uuid[16];
	const struct ctf_meta *meta;
	uint64_t stream_id, instance_id;
	bool has_instance;
	uint64_t max_bytes; /* of the longest content */
};

/* All streams of what is open. */
struct ctf_index {
	struct ctf_packets *streams; /* owned */
	size_t count, cap;
	struct ctf_file **files; /* owned */
	size_t file_count, file_cap;
};

/*
 * Add the packets of the file at 'path', whose 'file->path' it becomes. Damage is noted in
 * 'facts'. Returns how many packets there are.
 */
size_t ctf_index_add(struct ctf_index *index, const char *path, const struct ctf_meta *meta,
		     struct facts *facts);

/* When all are there: order them, and work out what is missing. */
void ctf_index_finish(struct ctf_index *index, int64_t origin_ns);

void ctf_index_fini(struct ctf_index *index);

/*
 * Read header and context of a packet in 'walk', whose cursor stands at its start; 'out_stream'
 * is set to what kind it is. 0, CTF_MORE or CTF_BAD.
 */
int ctf_packet_head(struct ctf_walk *walk, const struct ctf_meta *meta,
		    const struct ctf_stream **out_stream);

/* Slots are needed for any stream of the trace. */
uint32_t ctf_slots_needed(const struct ctf_meta *meta);

#endif
