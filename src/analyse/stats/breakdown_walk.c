/*
 * breakdown_walk.c - what a thread was in, below interrupts and waits.
 *
 * A track tells the top of the control-flow stack. What lies below follows from the
 * order: an interrupt, a wait or a preemption comes on top of what was there before, and
 * a system call lasts until the base shows again. So the calls here are those of totals.h.
 */
#include "analyse/stats/breakdown_int.h"

static const uint32_t unknown = (uint32_t)WORD_NONE << WORD_ARG_BITS;

/* What a thread is in when the walk begins at its birth: made, but not run yet. */
static uint32_t first_context(const struct walk *walk, uint64_t from_ns)
{
	const struct tl_thread *thread = walk->timeline->threads[walk->slot];

	return thread->born && from_ns <= thread->birth_ns ? word_make(WORD_WAIT_CPU, 0) : unknown;
}

static bool is_interrupt(uint32_t word)
{
	enum word_kind kind = word_kind(word);

	return kind == WORD_IRQ || kind == WORD_VECTOR || kind == WORD_SOFTIRQ;
}

enum breakdown_part segment_part(uint32_t word)
{
	switch (word_kind(word)) {
	case WORD_IRQ:
	case WORD_VECTOR:
	case WORD_SOFTIRQ:
		return PART_IRQ;
	case WORD_PREEMPTED:
	case WORD_WAIT_CPU:
		return PART_WAITING;
	case WORD_BLOCKED:
		return PART_BLOCKED;
	case WORD_NONE:
	case WORD_UNCERTAIN:
		return PART_UNCERTAIN;
	default:
		return PART_WORKING;
	}
}

/* What a wait says it is in. */
static uint32_t wait_context(const struct walk *walk, uint32_t word)
{
	struct wait wait;
	uint32_t in;

	timeline_wait(walk->timeline, walk->slot, word_arg(word), &wait);
	in = word_plain(wait.in);
	return segment_part(in) == PART_WORKING ? in : unknown;
}

/* Says only how its neighbours were found out: what goes on goes on over it. */
static bool is_marker(const struct tl_interval *in)
{
	return word_kind(in->word) == WORD_UNCERTAIN && in->start_ns == in->end_ns;
}

static void walk_follow(struct walk *walk, uint32_t word)
{
	switch (word_kind(word)) {
	case WORD_USER:
	case WORD_RUN:
	case WORD_SYSCALL:
	case WORD_TRAP:
	case WORD_KERNEL:
	case WORD_WORK:
	case WORD_IDLE:
		walk->context = word;
		break;
	case WORD_BLOCKED:
		if (walk->context == unknown)
			walk->context = wait_context(walk, word);
		break;
	case WORD_NONE:
		walk->context = unknown;
		break;
	case WORD_UNCERTAIN:
		/* A switch not recorded lies in there: it goes on in what it was in. */
		if (word_arg(word) != UNSURE_SWITCH)
			walk->context = unknown;
		break;
	default:
		break;
	}
}

/* Returns whether an interrupt begins; one that was on the stack shows again. */
static bool follow_interrupts(struct walk *walk, uint32_t word)
{
	if (!is_interrupt(word)) {
		walk->depth = 0;
		return false;
	}
	for (uint32_t i = 0; i < walk->depth; i++) {
		if (walk->irqs[i] == word) {
			walk->depth = i + 1;
			return false;
		}
	}
	if (walk->depth < WALK_NEST)
		walk->irqs[walk->depth++] = word;
	return true;
}

/*
 * Whether the context is known when the walk over [from, start) is done. Entry by entry: a
 * call may be entered and blocked in at one instant.
 */
static bool look_back(struct walk *walk, uint64_t from_ns)
{
	struct tl_interval in;

	walk->context = first_context(walk, from_ns);
	walk->depth = 0;
	tl_iter_thread(&walk->iter, walk->timeline, walk->slot, from_ns, walk->start_ns);
	in = (struct tl_interval){ .end_ns = 1, .word = walk->iter.word };
	do {
		in.word = word_plain(in.word);
		if (word_kind(in.word) != WORD_CPU && word_kind(in.word) != WORD_NONE &&
		    !is_marker(&in)) {
			(void)follow_interrupts(walk, in.word);
			walk_follow(walk, in.word);
		}
	} while (tl_iter_entry(&walk->iter, &in));
	return walk->context != unknown;
}

void walk_begin(struct walk *walk, const struct timeline *timeline, uint32_t slot,
		uint64_t start_ns, uint64_t end_ns)
{
	uint64_t birth = timeline->threads[slot]->birth_ns;
	uint64_t back = 1000000;

	*walk = (struct walk){ .timeline = timeline,
			       .slot = slot,
			       .start_ns = start_ns,
			       .end_ns = end_ns,
			       .context = unknown };
	walk->context = first_context(walk, start_ns);
	/* It was in something when the window began: only what was before tells. */
	while (start_ns > birth &&
	       !look_back(walk, start_ns - birth > back ? start_ns - back : birth) &&
	       start_ns - birth > back)
		back *= 16;
	tl_iter_thread(&walk->iter, timeline, slot, start_ns, end_ns);
	walk->now = (struct tl_interval){ start_ns, end_ns, word_plain(walk->iter.word) };
}

/* The next entry that says another state than the one before. */
static bool next_change(struct walk *walk, uint32_t before, struct tl_interval *out_entry)
{
	while (tl_iter_entry(&walk->iter, out_entry)) {
		out_entry->word = word_plain(out_entry->word);
		if (out_entry->word != before && word_kind(out_entry->word) != WORD_CPU)
			return true;
	}
	return false;
}

/* The interval at hand; the next one is then at hand. */
static bool next_interval(struct walk *walk, struct tl_interval *out_interval)
{
	struct tl_interval next;

	if (walk->done)
		return false;
	*out_interval = walk->now;
	walk->done = !next_change(walk, walk->now.word, &next);
	out_interval->end_ns = walk->done ? walk->end_ns : next.start_ns;
	walk->now = next;
	return true;
}

bool walk_next(struct walk *walk, struct segment *out_segment)
{
	struct tl_interval in;
	bool begins;

	do {
		if (!next_interval(walk, &in))
			return false;
	} while (word_kind(in.word) == WORD_NONE && in.start_ns == in.end_ns);
	begins = follow_interrupts(walk, in.word);
	if (!is_marker(&in))
		walk_follow(walk, in.word);
	*out_segment = (struct segment){
		.start_ns = in.start_ns,
		.end_ns = in.end_ns,
		.word = in.word,
		.context = walk->context,
		.begins = begins && in.start_ns > walk->start_ns,
	};
	return true;
}
