/* intervals.c - what was when: the states of a thread, who ran on a CPU, columns to draw. */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "query/read_int.h"

struct hr_intervals {
	struct hr_trace *trace;
	uint32_t generation;
	struct tl_iter iter;
};

struct hr_stays {
	struct hr_trace *trace;
	uint32_t generation;
	uint32_t cpu;
	struct tl_iter iter;
};

static bool is_recorded(const struct hr_trace *trace, uint64_t at_ns)
{
	return at_ns >= trace->loaded.timeline->origin_ns && at_ns < trace->loaded.timeline->end_ns;
}

static uint32_t wait_of_word(uint32_t word)
{
	return word_kind(word) == WORD_BLOCKED ? word_arg(word) : HR_NONE;
}

int hr_state_at(struct hr_trace *trace, uint32_t thread, uint64_t at_ns, uint64_t *out_state,
		uint32_t *out_wait)
{
	int rc = read_check_thread(trace, thread);
	uint32_t word = word_make(WORD_NONE, 0);

	if (rc == 0 && is_recorded(trace, at_ns)) {
		word = timeline_state_at(trace->loaded.timeline, thread, at_ns);
		rc = read_check_damage(trace);
	}
	if (rc < 0)
		return rc;
	*out_state = state_of_word(word, false);
	if (out_wait)
		*out_wait = wait_of_word(word);
	return 0;
}

/* A slot out of the store, which is checked there; here once more. */
static uint32_t known_thread(const struct hr_trace *trace, uint32_t slot)
{
	return slot < trace->loaded.timeline->thread_count ? slot : HR_NONE;
}

int hr_running_at(struct hr_trace *trace, uint32_t cpu, uint64_t at_ns, uint32_t *out_thread)
{
	int rc = read_check_cpu(trace, cpu);
	uint32_t slot = SLOT_NONE;

	if (rc == 0 && is_recorded(trace, at_ns)) {
		slot = timeline_running_at(trace->loaded.timeline, cpu, at_ns);
		rc = read_check_damage(trace);
	}
	if (rc == 0)
		*out_thread = known_thread(trace, slot);
	return rc;
}

/* ----------------------------------------------------------------------- intervals */

int hr_intervals_new(struct hr_trace *trace, uint32_t thread, uint64_t start_ns, uint64_t end_ns,
		     struct hr_intervals **out_intervals)
{
	const struct timeline *tl = trace->loaded.timeline;
	int rc = read_check_thread(trace, thread);
	struct hr_intervals *intervals;

	if (rc == 0)
		rc = read_cut_window(trace, &start_ns, &end_ns);
	if (rc < 0)
		return rc;
	intervals = xcalloc(1, sizeof(*intervals));
	intervals->trace = trace;
	intervals->generation = trace->generation;
	tl_iter_thread(&intervals->iter, tl, thread, start_ns, end_ns);
	*out_intervals = intervals;
	return 0;
}

int hr_intervals_next(struct hr_intervals *intervals, struct hr_interval *out_interval)
{
	struct hr_trace *trace = intervals->trace;
	int rc = read_check_generation(trace, intervals->generation);
	struct hr_interval interval;
	struct tl_interval in;
	bool got;

	if (rc == 0)
		rc = read_check_size(trace, out_interval, sizeof(interval));
	if (rc < 0)
		return rc;
	got = tl_iter_next(&intervals->iter, &in);
	rc = read_check_damage(trace);
	if (rc < 0 || !got)
		return rc;
	interval = (struct hr_interval){
		.start_ns = in.start_ns,
		.end_ns = in.end_ns,
		.state = state_of_word(in.word, false),
		.wait = wait_of_word(in.word),
	};
	read_give(out_interval, &interval, sizeof(interval));
	return 1;
}

void hr_intervals_free(struct hr_intervals *intervals)
{
	free(intervals);
}

/* ---------------------------------------------------------------------------- CPUs */

int hr_stays_new(struct hr_trace *trace, uint32_t cpu, uint64_t start_ns, uint64_t end_ns,
		 struct hr_stays **out_stays)
{
	const struct timeline *tl = trace->loaded.timeline;
	int rc = read_check_cpu(trace, cpu);
	struct hr_stays *stays;

	if (rc == 0)
		rc = read_cut_window(trace, &start_ns, &end_ns);
	if (rc < 0)
		return rc;
	stays = xcalloc(1, sizeof(*stays));
	stays->trace = trace;
	stays->generation = trace->generation;
	stays->cpu = cpu;
	tl_iter_begin(&stays->iter, tl, tl->cpus[cpu], start_ns, end_ns);
	*out_stays = stays;
	return 0;
}

int hr_stays_next(struct hr_stays *stays, struct hr_stay *out_stay)
{
	struct hr_trace *trace = stays->trace;
	int rc = read_check_generation(trace, stays->generation);
	struct tl_interval in;
	struct hr_stay stay;
	bool got;

	if (rc == 0)
		rc = read_check_size(trace, out_stay, sizeof(stay));
	if (rc < 0)
		return rc;
	got = tl_iter_next(&stays->iter, &in);
	rc = read_check_damage(trace);
	if (rc < 0 || !got)
		return rc;
	stay = (struct hr_stay){
		.start_ns = in.start_ns,
		.end_ns = in.end_ns,
		.thread = known_thread(trace, in.word),
		.cpu = stays->cpu,
	};
	read_give(out_stay, &stay, sizeof(stay));
	return 1;
}

void hr_stays_free(struct hr_stays *stays)
{
	free(stays);
}

/* ------------------------------------------------------------------------- columns */

/* A window that reaches out of the recording: each column by itself, cut. */
static void columns_cut(const struct timeline *tl, uint32_t thread, uint64_t start_ns,
			uint64_t end_ns, uint32_t width, uint32_t *out_words)
{
	uint64_t from = start_ns;

	for (uint32_t i = 0; i < width; i++) {
		__uint128_t part = (__uint128_t)(end_ns - start_ns) * (i + 1) / width;
		uint64_t to = start_ns + (uint64_t)part;
		uint64_t cut_from = from > tl->origin_ns ? from : tl->origin_ns;
		uint64_t cut_to = to < tl->end_ns ? to : tl->end_ns;

		out_words[i] = word_make(WORD_NONE, 0);
		if (cut_from < cut_to)
			timeline_columns(tl, thread, cut_from, cut_to, 1, &out_words[i]);
		from = to;
	}
}

int hr_columns(struct hr_trace *trace, uint32_t thread, uint64_t start_ns, uint64_t end_ns,
	       uint32_t width, uint64_t *out_states)
{
	const struct timeline *tl = trace->loaded.timeline;
	int rc = read_check_thread(trace, thread);
	AUTO_FREE uint32_t *words = NULL;

	if (rc < 0)
		return rc;
	if (start_ns > end_ns || width == 0 || width > HR_COLUMNS_MAX)
		return err_set(&trace->err, -EINVAL,
			       "the window ends before it starts, or has no columns or too many");
	words = xcalloc(width, sizeof(*words));
	if (start_ns >= tl->origin_ns && end_ns <= tl->end_ns)
		timeline_columns(tl, thread, start_ns, end_ns, width, words);
	else
		columns_cut(tl, thread, start_ns, end_ns, width, words);
	rc = read_check_damage(trace);
	for (uint32_t i = 0; rc == 0 && i < width; i++)
		out_states[i] = state_of_word(words[i], true);
	return rc;
}
