/* recent.c - see recent.h: a ring of pieces. */
#include "record/recent.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define PIECE_COST (sizeof(struct recent_piece) + 16) /* beside its records */

struct recent {
	uint64_t most_bytes, bytes, gone_ns;
	recent_goes_fn *goes;
	void *context;
	struct recent_piece *pieces; /* owned; 'cap' of them, a power of two */
	size_t cap, first, count;
};

struct recent *recent_new(uint64_t most_bytes, recent_goes_fn *goes, void *context)
{
	struct recent *recent = xcalloc(1, sizeof(*recent));

	recent->most_bytes = most_bytes;
	recent->goes = goes;
	recent->context = context;
	return recent;
}

static struct recent_piece *piece_at(const struct recent *recent, size_t index)
{
	return &recent->pieces[(recent->first + index) & (recent->cap - 1)];
}

const struct recent_piece *recent_at(const struct recent *recent, size_t index)
{
	return index < recent->count ? piece_at(recent, index) : NULL;
}

static void drop_oldest(struct recent *recent)
{
	struct recent_piece *piece = piece_at(recent, 0);

	if (recent->goes)
		recent->goes(recent->context, piece);
	recent->bytes -= piece->bytes + PIECE_COST;
	free(piece->data);
	recent->first = (recent->first + 1) & (recent->cap - 1);
	recent->count--;
}

static void make_place(struct recent *recent)
{
	size_t cap = recent->cap ? 2 * recent->cap : 16;
	struct recent_piece *pieces;

	if (recent->count < recent->cap)
		return;
	pieces = xcalloc(cap, sizeof(*pieces));
	for (size_t i = 0; i < recent->count; i++)
		pieces[i] = *piece_at(recent, i);
	free(recent->pieces);
	recent->pieces = pieces;
	recent->cap = cap;
	recent->first = 0;
}

void recent_add(struct recent *recent, const void *data, size_t bytes, uint64_t end_ns)
{
	if (!bytes)
		return;
	if (bytes + PIECE_COST > recent->most_bytes) {
		recent->gone_ns = end_ns > recent->gone_ns ? end_ns : recent->gone_ns;
		return;
	}
	while (recent->count && recent->bytes + bytes + PIECE_COST > recent->most_bytes) {
		recent->gone_ns = piece_at(recent, 0)->end_ns;
		drop_oldest(recent);
	}
	make_place(recent);
	recent->pieces[(recent->first + recent->count++) & (recent->cap - 1)] =
		(struct recent_piece){ end_ns, bytes, memcpy(xmalloc(bytes), data, bytes) };
	recent->bytes += bytes + PIECE_COST;
}

void recent_forget(struct recent *recent, uint64_t before_ns)
{
	while (recent->count && piece_at(recent, 0)->end_ns < before_ns)
		drop_oldest(recent);
}

uint64_t recent_bytes(const struct recent *recent)
{
	return recent->bytes;
}

uint64_t recent_gone_ns(const struct recent *recent)
{
	return recent->gone_ns;
}

void recent_free(struct recent *recent)
{
	if (!recent)
		return;
	for (size_t i = 0; i < recent->count; i++)
		free(piece_at(recent, i)->data);
	free(recent->pieces);
	free(recent);
}
