/*
 * moved_on.c - work that went on in other code, as the looks at a thread that had a CPU tell.
 *
 *	look ──sleep── look ──sleep── look ──sleep── look ──sleep── look: it goes on
 *	W: burn < load   burn < load    burn < load    burn < load | log < save    log < save
 *
 * Who sets something in memory and works on makes no call, and does not stop. From the outermost frame inwards all
 * its stacks are alike up to where it left one place for good: the function there is another one, or what was run
 * of it before and what is run behind it do not overlap. What it was in before must be so in all the sleeps, and
 * what it is in behind must have been seen before the waiter could look again: else it may be because that went on.
 *
 * Of a script its own frames count alone: those of its interpreter are in the same loop all the time.
 */
#include <string.h>

#include "analyse/why/asks_int.h"
#include "event/facts.h"
#include "event/stacks.h"

#define BEFORE_LEAST 5u /* looks: fewer may be chance */
#define BEHIND_LEAST 3u
#define BEFORE_MOST  1024u	/* a bound on time: the last ones */
#define BEHIND_NS    100000000u /* from when the waiter could look */
#define DEPTH_MAX    128u

/* Looks at one thread, by index into stacks.samples. */
struct looks {
	const struct stacks *stacks;
	size_t first, asleep, looked, end; /* [first, asleep) before, [looked, end) behind */
	bool scripts;			   /* only frames of scripts count */
};

/* Where in a function, of several looks. */
struct code_range {
	const struct stack_frame *frame; /* of one of them */
	uint64_t low, high;
};

/* Frame 'depth' of a look, from the outermost one on; NULL = it is not so deep. */
static const struct stack_frame *frame_at(const struct looks *looks, size_t look, size_t depth)
{
	uint32_t number = looks->stacks->samples[look].stack;
	const struct stack *stack;

	if (number >= looks->stacks->stack_count)
		return NULL;
	stack = &looks->stacks->stacks[number];
	for (size_t i = stack->count; i > 0; i--) {
		const struct stack_frame *frame = stacks_frame(looks->stacks, number, i - 1);

		if (frame->is_kernel)
			return NULL;
		if (looks->scripts && !frame->is_script)
			continue;
		if (!depth--)
			return frame;
	}
	return NULL;
}

/* A stack that is cut off says nothing of how deep it is. */
static bool is_whole(const struct looks *looks, size_t look)
{
	uint32_t number = looks->stacks->samples[look].stack;

	return number < looks->stacks->stack_count && !looks->stacks->stacks[number].end &&
	       frame_at(looks, look, 0);
}

static bool has_script(const struct stacks *stacks, uint32_t number)
{
	return number < stacks->stack_count && stacks->stacks[number].script != FRAME_NONE;
}

static bool is_text(const char *one, const char *other)
{
	return one == other || (one && other && strcmp(one, other) == 0);
}

static bool is_one_function(const struct stack_frame *one, const struct stack_frame *other)
{
	return is_text(one->function, other->function) && is_text(one->path, other->path) &&
	       (!one->is_script || is_text(one->file, other->file));
}

static uint64_t position_of(const struct stack_frame *frame)
{
	return frame->is_script ? frame->line : frame->offset;
}

/* What these looks were in at that depth: one function, or false. */
static bool range_of(const struct looks *looks, size_t from, size_t to, size_t depth,
		     struct code_range *out_range)
{
	*out_range = (struct code_range){ .low = UINT64_MAX };
	for (size_t i = from; i < to; i++) {
		const struct stack_frame *frame;
		uint64_t position;

		if (!is_whole(looks, i))
			continue;
		frame = frame_at(looks, i, depth);
		if (!frame || (out_range->frame && !is_one_function(frame, out_range->frame)))
			return false;
		position = position_of(frame);
		out_range->frame = frame;
		out_range->low = position < out_range->low ? position : out_range->low;
		out_range->high = position > out_range->high ? position : out_range->high;
	}
	return out_range->frame;
}

static bool is_one_place(const struct code_range *one, const struct code_range *other)
{
	return one->low == one->high && other->low == other->high && one->low == other->low &&
	       is_one_function(one->frame, other->frame);
}

static bool is_apart(const struct code_range *one, const struct code_range *other)
{
	return !is_one_function(one->frame, other->frame) || one->high < other->low ||
	       other->high < one->low;
}

/* Is that look in what the thread was in behind it, rather than before? */
static bool is_behind(const struct looks *looks, size_t look, size_t depth,
		      const struct code_range *before, const struct code_range *behind)
{
	const struct stack_frame *frame = frame_at(looks, look, depth);
	uint64_t position;

	if (!frame || !is_one_function(frame, behind->frame))
		return false;
	if (!is_one_function(before->frame, behind->frame))
		return true;
	position = position_of(frame);
	return before->high < behind->low ? position > before->high : position < before->low;
}

/* When it was seen there first, before the waiter looked, and nowhere else since; 0 = it was not. */
static uint64_t moved_ns(const struct looks *looks, size_t depth, const struct code_range *before,
			 const struct code_range *behind)
{
	uint64_t ns = 0;

	for (size_t i = looks->looked; i > looks->asleep; i--) {
		if (!is_whole(looks, i - 1))
			continue;
		if (!is_behind(looks, i - 1, depth, before, behind))
			break;
		ns = looks->stacks->samples[i - 1].time_ns;
	}
	return ns;
}

static size_t count_whole(const struct looks *looks, size_t from, size_t to)
{
	size_t count = 0;

	for (size_t i = from; i < to; i++)
		count += is_whole(looks, i);
	return count;
}

/* From when on the last looks are in one place, if any are: who ends when the waiter goes on has none behind that. */
static size_t behind_from(const struct looks *looks)
{
	size_t from = looks->end, count = 0;

	while (from > looks->asleep && (from > looks->looked || count < BEHIND_LEAST))
		count += is_whole(looks, --from);
	return count < BEHIND_LEAST ? looks->end : from;
}

static struct looks looks_of(const struct query *query, uint32_t slot, const struct missed *missed)
{
	const struct stacks *stacks = query->facts->stacks;
	int32_t tid = query->tl->threads[slot]->tid;
	uint64_t known_ns = query_known_ns(query, slot);
	uint64_t end_ns = missed->looked_ns + BEHIND_NS;
	struct looks looks = { .stacks = stacks };

	looks.first = stacks_first_sample(stacks, tid, missed->first_ns);
	looks.asleep = stacks_first_sample(stacks, tid, missed->last.begin_ns);
	looks.looked = stacks_first_sample(stacks, tid, missed->looked_ns);
	looks.end = stacks_first_sample(stacks, tid, end_ns < known_ns ? end_ns : known_ns);
	if (looks.asleep - looks.first > BEFORE_MOST)
		looks.first = looks.asleep - BEFORE_MOST;
	for (size_t i = looks.first; i < looks.asleep; i++)
		looks.scripts |= has_script(stacks, stacks->samples[i].stack);
	return looks;
}

uint64_t query_moved_on(const struct query *query, uint32_t slot, const struct missed *missed)
{
	struct code_range before, behind;
	struct looks looks;
	size_t from;

	if (!query->facts->stacks || !query->facts->stacks->sample_count)
		return 0;
	looks = looks_of(query, slot, missed);
	if (looks.end < looks.looked || looks.looked <= looks.asleep ||
	    count_whole(&looks, looks.first, looks.asleep) < BEFORE_LEAST)
		return 0;
	from = behind_from(&looks);
	for (size_t depth = 0; depth < DEPTH_MAX; depth++) {
		if (!range_of(&looks, looks.first, looks.asleep, depth, &before) ||
		    !range_of(&looks, from, looks.end, depth, &behind))
			return 0;
		if (is_apart(&before, &behind))
			return moved_ns(&looks, depth, &before, &behind);
		if (!is_one_place(&before, &behind))
			return 0;
	}
	return 0;
}
