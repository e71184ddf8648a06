/*
 * follow.h - read what a program logs while it logs, without being noticed.
 *
 * A program's files of packets (wire/user.h) are in a folder: at each look what was written since the look before is handed
 * over, each CPU's in its order. Between looks no file of the program is kept open: it could not use its memory anew.
 * Packets that were overwritten, or given up when the program is faster than we are, are counted.
 *
 * The folder belongs to another user, who may mean ill: one look has bounds for all that it does. Whoever calls it needs the
 * right to read there.
 */
#ifndef ATTACH_FOLLOW_H
#define ATTACH_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct user_follow;

/* Whole events of one packet of a CPU. */
struct user_piece {
	uint32_t cpu;
	const uint8_t *data; /* with USER_PIECE_SLACK bytes behind */
	uint32_t bytes;
	uint32_t first; /* of these in the packet */
	uint64_t
		ticks; /* of the last event before in the packet, as user_piece_fn told, or when the packet began */
};

#define USER_PIECE_SLACK 16u

/* Returns the time of the last event of the piece, ticks; less than piece->ticks: not known. */
typedef uint64_t (*user_piece_fn)(void *context, const struct user_piece *piece);

/* What came of a look. */
struct user_followed {
	uint64_t bytes;	     /* of events */
	uint64_t lost;	     /* packets, at least in part */
	bool has_rest;	     /* there was more than one look takes: */
	uint64_t rest_ticks; /* no event of it is older; UINT64_MAX = there is none */
};

/* 'folder_fd' is taken. */
struct user_follow *user_follow_new(int folder_fd);
void user_follow_free(struct user_follow *follow);

/*
 * The text of the metadata, if it has grown since the last call. Returns 1 and *out_text, to be freed, 0 if it has not,
 * or a negative errno: -EFBIG = it is longer than 'most'.
 */
int user_follow_metadata(struct user_follow *follow, size_t most, char **out_text,
			 size_t *out_bytes);

/* The next user_follow_metadata() tells the text again. */
void user_follow_forget_metadata(struct user_follow *follow);

/* Forget where we were: the next look begins with the packets that are written to at 'since_ticks'. */
void user_follow_from(struct user_follow *follow, uint64_t since_ticks);

/* Hand over what there is, at most 'most_bytes'. */
void user_follow_look(struct user_follow *follow, uint64_t most_bytes, user_piece_fn fn,
		      void *context, struct user_followed *out_followed);

#endif
