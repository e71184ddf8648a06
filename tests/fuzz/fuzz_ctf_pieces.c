/*
 * fuzz_ctf_pieces.c - events of a program as they are read while it writes: its metadata, a line "%%", and a piece of a packet.
 *
 * All at once and one by one the same events are found.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "read/ctf/pieces.h"

#define FOUND_MOST 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static size_t take_all(struct ctf_pieces *pieces, const uint8_t *bytes, size_t count,
		       struct ctf_found *found, size_t step)
{
	struct ctf_piece piece = { bytes, (uint32_t)count, 108, 1000 };
	bool is_damaged = false;
	size_t sum = 0;

	while (piece.count && sum < FOUND_MOST - step && !is_damaged)
		sum += ctf_pieces_take(pieces, &piece, found + sum, step, &is_damaged);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const char *const names[] = { "a", "shop:paid", "shop:ordered" };
	const uint8_t *mark = memmem(data, bytes, "\n%%\n", 4);
	struct ctf_found *found = xcalloc(2 * FOUND_MOST, sizeof(*found));
	size_t left = mark ? bytes - (size_t)(mark + 4 - data) : 0;
	uint8_t *copy = xcalloc(left + CTF_PIECES_SLACK, 1);
	struct ctf_pieces *pieces;
	struct err err = { 0 };

	if (mark && ctf_pieces_new((const char *)data, (size_t)(mark - data), names,
				   ARRAY_LEN(names), &pieces, &err) == 0) {
		size_t count, again;

		memcpy(copy, mark + 4, left);
		count = take_all(pieces, copy, left, found, 1000);
		again = take_all(pieces, copy, left, found + FOUND_MOST, 1);
		if (count < FOUND_MOST - 1000 &&
		    (count != again ||
		     memcmp(found, found + FOUND_MOST, count * sizeof(*found)) != 0))
			abort();
		ctf_pieces_free(pieces);
	}
	free(copy);
	free(found);
	return 0;
}
