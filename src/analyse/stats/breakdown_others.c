/*
 * breakdown_others.c - what the process waited for, and what the threads that ended its
 * waits did meanwhile.
 *
 * Several threads of the process may wait for the same one at the same time: the spans
 * are joined, so that no moment of another thread is counted twice.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/stats/breakdown_int.h"
#include "base/mem.h"
#include "base/sorting.h"

/* A wait that a thread outside of the process ended. */
struct helped {
	uint32_t slot; /* who */
	bool queued;
	uint64_t start_ns, end_ns;
};

static struct breakdown_wait *wait_line(struct breakdown_query *query, uint32_t slot, uint32_t word,
					const struct wait *wait)
{
	struct breakdown *result = query->result;
	bool ended = wait->woken_ns != 0;
	struct breakdown_wait line = {
		.kind = wait_kind(wait),
		.in = describe_in(&query->words, wait),
		.object = describe_object(&query->words, slot, wait),
		.waker = ended ? describe_actor(&query->words, &wait->waker) : "",
		.how = wait_waker(&query->words, slot, word, wait),
		.by = why_thread(&query->words, ended ? wait->waker.slot : SLOT_NONE),
	};
	AUTO_FREE char *text =
		xasprintf("%u\n%s\n%s\n%s\n%u\n%u", line.kind, line.in, line.object, line.waker,
			  line.how, ended ? wait->waker.slot : SLOT_NONE);
	uint64_t key = names_add(&query->why.texts, text, 8192);
	uint64_t *found = map_find(&query->wait_of, key);

	if (found)
		return &result->waits[*found];
	map_put(&query->wait_of, key, result->wait_count);
	result->waits = vec_room(result->waits, result->wait_count, &query->wait_cap,
				 sizeof(*result->waits));
	result->waits[result->wait_count] = line;
	return &result->waits[result->wait_count++];
}

/* Who worked for the end of the wait: the waker, or who sent the packet that ended it. */
static uint32_t helper_of(const struct breakdown_query *query, const struct wait *wait)
{
	uint8_t kind = wait->waker.kind;
	uint32_t slot = wait->waker.slot;

	if (!wait->woken_ns || (kind != ACTOR_THREAD && kind != ACTOR_NETWORK) ||
	    slot >= query->tl->thread_count || query->tl->threads[slot]->tid == 0 ||
	    map_find(&query->of_slot, slot))
		return SLOT_NONE;
	return slot;
}

size_t others_add_wait(struct breakdown_query *query, uint32_t slot, const struct segment *segment)
{
	uint64_t ns = segment->end_ns - segment->start_ns;
	struct breakdown_wait *line;
	size_t row;
	struct wait wait;
	uint32_t helper;

	timeline_wait(query->tl, slot, word_arg(segment->word), &wait);
	line = wait_line(query, slot, segment->word, &wait);
	line->ns += ns;
	line->count++;
	if (ns > line->max_ns)
		line->max_ns = ns;
	row = (size_t)(line - query->result->waits);
	helper = helper_of(query, &wait);
	if (helper == SLOT_NONE)
		return row;
	query->helps =
		vec_room(query->helps, query->help_count, &query->help_cap, sizeof(*query->helps));
	query->helps[query->help_count++] = (struct helped){
		.slot = helper,
		.queued = wait.waker.kind == ACTOR_THREAD && wait.origin.time_ns &&
			  wait.origin.slot != SLOT_NONE &&
			  map_find(&query->of_slot, wait.origin.slot),
		.start_ns = segment->start_ns,
		.end_ns = segment->end_ns,
	};
	return row;
}

/* ------------------------------------------------------------------- others */

ORDER_FUNCTION(compare_helps, struct helped, ORDER_UP(slot), ORDER_UP(start_ns), ORDER_UP(end_ns));

static void other_add_span(struct breakdown_query *query, struct breakdown_other *other,
			   struct code_sums *code, uint32_t slot, const struct segment *span)
{
	struct tl_iter iter;
	struct tl_interval in;

	other->ns += span->end_ns - span->start_ns;
	tl_iter_thread(&iter, query->tl, slot, span->start_ns, span->end_ns);
	while (tl_iter_next(&iter, &in)) {
		uint64_t ns = in.end_ns - in.start_ns;
		enum word_kind kind = word_kind(in.word);

		breakdown_code_other(query, code, slot,
				     &(struct segment){ .start_ns = in.start_ns,
							.end_ns = in.end_ns,
							.word = in.word });
		switch (segment_part(in.word)) {
		case PART_WORKING:
			*(kind == WORD_USER || kind == WORD_RUN ? &other->own_ns
								: &other->kernel_ns) += ns;
			break;
		case PART_IRQ:
			other->irq_ns += ns;
			break;
		case PART_WAITING:
			other->waiting_ns += ns;
			break;
		case PART_BLOCKED:
			other->blocked_ns += ns;
			break;
		default:
			other->uncertain_ns += ns;
			break;
		}
	}
}

/* The helps [first, last) are of one thread, in order of their start. */
static void add_other(struct breakdown_query *query, size_t first, size_t last)
{
	const struct helped *helps = query->helps;
	struct breakdown *result = query->result;
	struct breakdown_other *other = &result->others[result->other_count++];
	struct segment span = { .start_ns = helps[first].start_ns, .end_ns = helps[first].end_ns };
	struct code_sums code = { 0 };

	other->who = why_thread(&query->words, helps[first].slot);
	for (size_t i = first; i < last; i++) {
		other->waits++;
		other->queued |= helps[i].queued;
		if (helps[i].start_ns > span.end_ns) {
			other_add_span(query, other, &code, helps[first].slot, &span);
			span.start_ns = helps[i].start_ns;
			span.end_ns = helps[i].end_ns;
		} else if (helps[i].end_ns > span.end_ns) {
			span.end_ns = helps[i].end_ns;
		}
	}
	other_add_span(query, other, &code, helps[first].slot, &span);
	other->code = code_sums_end(&code, other->own_ns + other->kernel_ns);
}

static int compare_others(const void *a, const void *b)
{
	const struct breakdown_other *x = a, *y = b;
	uint64_t x_ns = x->own_ns + x->kernel_ns, y_ns = y->own_ns + y->kernel_ns;

	if (x_ns != y_ns)
		return x_ns < y_ns ? 1 : -1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->who.tid < y->who.tid ? -1 : x->who.tid > y->who.tid;
}

static int compare_waits(const void *a, const void *b)
{
	const struct breakdown_wait *x = a, *y = b;
	int in = strcmp(x->in, y->in), object = strcmp(x->object, y->object);
	int waker = strcmp(x->waker, y->waker);

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	if (in || object || waker)
		return in ? in : object ? object : waker;
	return x->by.tid < y->by.tid ? -1 : x->by.tid > y->by.tid;
}

void others_finish(struct breakdown_query *query)
{
	struct breakdown *result = query->result;
	size_t first = 0;

	if (result->wait_count)
		qsort(result->waits, result->wait_count, sizeof(*result->waits), compare_waits);
	if (!query->help_count)
		return;
	qsort(query->helps, query->help_count, sizeof(*query->helps), compare_helps);
	result->others = xcalloc(query->help_count, sizeof(*result->others));
	for (size_t i = 1; i <= query->help_count; i++) {
		if (i < query->help_count && query->helps[i].slot == query->helps[first].slot)
			continue;
		add_other(query, first, i);
		first = i;
	}
	qsort(result->others, result->other_count, sizeof(*result->others), compare_others);
}
