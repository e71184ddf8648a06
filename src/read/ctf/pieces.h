/*
 * pieces.h - find some events of one trace in pieces of its packets, as they are written.
 *
 * For who follows programs that log: only the time and the thread of an event are told, and nothing is opened or kept of the
 * bytes. They may be anything: what cannot be read is damage, and the rest of the piece with it.
 */
#ifndef READ_CTF_PIECES_H
#define READ_CTF_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ctf_pieces;
struct err;

#define CTF_PIECES_SLACK 16u /* bytes behind a piece that may be read, whatever they are */

/* Whole events of a packet. */
struct ctf_piece {
	const uint8_t *bytes; /* with CTF_PIECES_SLACK more */
	uint32_t count;
	uint32_t first; /* of them in the packet */
	uint64_t ticks; /* of the event before, or when the packet begins: no event is older */
};

/* An event that was asked for. */
struct ctf_found {
	uint64_t ticks;
	int32_t tid;   /* as the trace has it; -1 = it has none */
	uint32_t name; /* index */
};

/*
 * 'text': the metadata. 'names': titles of the events, "class:event". Returns 0 and *out_pieces (free with
 * ctf_pieces_free()), or -EBADMSG with err filled.
 */
int ctf_pieces_new(const char *text, size_t bytes, const char *const *names, size_t count,
		   struct ctf_pieces **out_pieces, struct err *err);
void ctf_pieces_free(struct ctf_pieces *pieces);

/*
 * Read on, up to 'most' events that were asked for. Returns how many there are in 'found'. *piece becomes what is left, with
 * count 0 at the end; *out_damaged: behind these it cannot be read.
 */
size_t ctf_pieces_take(struct ctf_pieces *pieces, struct ctf_piece *piece, struct ctf_found *found,
		       size_t most, bool *out_damaged);

#endif
