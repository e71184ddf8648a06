/* pieces.c - events by their plans, or by a walk where there is none; see lane.c for all of what they tell. */
#include "read/ctf/pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "read/ctf/meta.h"
#include "read/ctf/packets.h"
#include "read/ctf/plan.h"
#include "read/ctf/walk.h"

#define TYPES_MOST 4096u /* of one trace; more for a longer text */

_Static_assert(CTF_PIECES_SLACK >= CTF_WINDOW_SLACK, "what readers may touch behind a window");

struct ctf_pieces {
	struct ctf_meta *meta;
	const struct ctf_stream *stream; /* of programs that log with libholdup there is one */
	uint64_t *slots;		 /* owned */
};

/* ctf_event.number: the index of its name plus 1; 0 = nobody asked. */
static void number_events(const struct ctf_stream *stream, const char *const *names, size_t count)
{
	for (size_t i = 0; i < stream->event_count; i++) {
		struct ctf_event *event = stream->events[i];

		event->number = 0;
		for (size_t k = 0; k < count && !event->number; k++) {
			if (strcmp(event->name, names[k]) == 0)
				event->number = (uint32_t)k + 1;
		}
	}
}

int ctf_pieces_new(const char *text, size_t bytes, const char *const *names, size_t count,
		   struct ctf_pieces **out_pieces, struct err *err)
{
	struct ctf_pieces *pieces = xcalloc(1, sizeof(*pieces));
	size_t types_left = TYPES_MOST;
	int rc = ctf_meta_new_of(text, bytes, &types_left, &pieces->meta, err);

	if (rc == 0 && pieces->meta->stream_count != 1)
		rc = err_set(err, -EBADMSG, "it is not of libholdup");
	if (rc < 0) {
		ctf_pieces_free(pieces);
		return rc;
	}
	pieces->stream = pieces->meta->streams[0];
	pieces->slots = xcalloc(ctf_slots_needed(pieces->meta), sizeof(*pieces->slots));
	number_events(pieces->stream, names, count);
	ctf_plan_stream(pieces->meta, pieces->meta->streams[0]);
	*out_pieces = pieces;
	return 0;
}

void ctf_pieces_free(struct ctf_pieces *pieces)
{
	if (!pieces)
		return;
	free(pieces->slots);
	ctf_meta_free(pieces->meta);
	free(pieces);
}

/* An event that was read. */
struct one_event {
	const struct ctf_event *kind;
	uint64_t ticks;
	int32_t tid;
	const uint8_t *next;
};

/* The fast way. False: take the other one. */
static bool run_plan(const struct ctf_stream *stream, const struct ctf_piece *piece,
		     struct one_event *out_one)
{
	const struct ctf_window window = { piece->bytes, piece->bytes + piece->count,
					   piece->first };
	const struct ctf_head_form *form = stream->head ? &stream->head->forms[0] : NULL;
	struct event event = { .tid = -1 };
	const uint8_t *start = piece->bytes;
	uint64_t padding, id;

	if (!form || stream->head->form_count != 1 || !form->id.bits)
		return false;
	padding = ctf_window_padding(&window, start, stream->head->align);
	if (padding >= piece->count || form->bytes > piece->count - padding)
		return false;
	start += padding;
	id = ctf_load(&form->id, start);
	out_one->kind = ctf_stream_event(stream, id);
	if (!out_one->kind || !out_one->kind->plans || !out_one->kind->plans[0])
		return false;
	out_one->ticks =
		ctf_clock_next(piece->ticks, ctf_load(&form->time, start), form->time.bits);
	out_one->next =
		ctf_plan_run(out_one->kind->plans[0], &window, start + form->bytes, &event, NULL);
	out_one->tid = event.tid;
	return out_one->next;
}

static int walk_part(struct ctf_walk *walk, const struct ctf_type *type)
{
	return type ? ctf_walk(walk, type) : 0;
}

static int32_t thread_of(const struct ctf_walk *walk)
{
	if (ctf_walk_has(walk, CTF_ROLE_TID))
		return (int32_t)walk->roles[CTF_ROLE_TID];
	return ctf_walk_has(walk, CTF_ROLE_VTID) ? (int32_t)walk->roles[CTF_ROLE_VTID] : -1;
}

/* False: it is damaged. */
static bool walk_event(struct ctf_pieces *pieces, const struct ctf_piece *piece,
		       struct one_event *out_one)
{
	const struct ctf_stream *stream = pieces->stream;
	uint64_t first = (uint64_t)piece->first * 8, end = first + (uint64_t)piece->count * 8;
	struct ctf_walk walk = {
		.cursor = { .bytes = piece->bytes,
			    .first = first,
			    .at = first,
			    .window_end = end,
			    .end = end },
		.slots = pieces->slots,
		.clock = piece->ticks,
	};

	if (walk_part(&walk, stream->event_header) < 0)
		return false;
	out_one->kind = ctf_walk_has(&walk, CTF_ROLE_EVENT_ID)
				? ctf_stream_event(stream, walk.roles[CTF_ROLE_EVENT_ID])
				: NULL;
	if (!out_one->kind || walk_part(&walk, stream->event_context) < 0 ||
	    walk_part(&walk, out_one->kind->context) < 0 ||
	    walk_part(&walk, out_one->kind->fields) < 0)
		return false;
	out_one->ticks = walk.clock;
	out_one->tid = thread_of(&walk);
	out_one->next = piece->bytes + (walk.cursor.at - first + 7) / 8;
	return out_one->next > piece->bytes;
}

size_t ctf_pieces_take(struct ctf_pieces *pieces, struct ctf_piece *piece, struct ctf_found *found,
		       size_t most, bool *out_damaged)
{
	size_t count = 0;

	*out_damaged = false;
	while (piece->count && count < most) {
		struct one_event one = { 0 };

		if (!run_plan(pieces->stream, piece, &one) && !walk_event(pieces, piece, &one)) {
			*out_damaged = true;
			piece->count = 0;
			break;
		}
		if (one.kind->number)
			found[count++] =
				(struct ctf_found){ one.ticks, one.tid, one.kind->number - 1 };
		piece->first += (uint32_t)(one.next - piece->bytes);
		piece->count -= (uint32_t)(one.next - piece->bytes);
		piece->bytes = one.next;
		piece->ticks = one.ticks;
	}
	return count;
}
