/* sums.c - totals of a thread, a process and a CPU over a window. */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "query/read_int.h"
#include "timeline/totals.h"

struct hr_totals {
	struct totals sums;
	uint32_t at; /* next row */
};

_Static_assert((int)HR_TOTAL_STATE == (int)TOTAL_STATE && (int)HR_TOTAL_CALL == (int)TOTAL_CALL &&
		       (int)HR_TOTAL_COUNTER == (int)TOTAL_COUNTER,
	       "kinds of rows are those of the timeline");
_Static_assert((int)HR_MODE_IDLE == (int)MODE_IDLE, "modes are those of the timeline");
_Static_assert((int)HR_COUNTER_FAULTS == (int)COUNT_FAULTS, "counters are those of the timeline");

/* A window, and what is added up in it. */
struct adding {
	struct hr_trace *trace;
	uint64_t start_ns;
	uint64_t end_ns;
	struct hr_totals *out; /* owned until it is done */
};

static int adding_begin(struct adding *adding)
{
	int rc = read_cut_window(adding->trace, &adding->start_ns, &adding->end_ns);

	if (rc == 0)
		adding->out = xcalloc(1, sizeof(*adding->out));
	return rc;
}

static int adding_end(struct adding *adding, struct hr_totals **out_totals)
{
	int rc = read_check_damage(adding->trace);

	if (rc < 0) {
		hr_totals_free(adding->out);
		return rc;
	}
	totals_sort(&adding->out->sums);
	*out_totals = adding->out;
	return 0;
}

void hr_totals_free(struct hr_totals *totals)
{
	if (!totals)
		return;
	totals_fini(&totals->sums);
	free(totals);
}

/* ------------------------------------------------------------------------ adding up */

int hr_thread_totals(struct hr_trace *trace, uint32_t thread, uint64_t start_ns, uint64_t end_ns,
		     struct hr_totals **out_totals)
{
	struct adding adding = { .trace = trace, .start_ns = start_ns, .end_ns = end_ns };
	int rc = read_check_thread(trace, thread);

	if (rc == 0)
		rc = adding_begin(&adding);
	if (rc < 0)
		return rc;
	timeline_totals(trace->loaded.timeline, thread, adding.start_ns, adding.end_ns,
			&adding.out->sums);
	return adding_end(&adding, out_totals);
}

/* Whether a thread was there in the window. Idle tasks always are. */
static bool lived(const struct tl_thread *thread, const struct adding *adding)
{
	return thread->tid == 0 ||
	       (thread->birth_ns < adding->end_ns && thread->death_ns > adding->start_ns);
}

/* Add the rows of one thread for which 'wanted' says so. */
static void sums_add_thread(struct adding *adding, uint32_t thread,
			    bool (*wanted)(uint64_t key, uint32_t arg), uint32_t arg)
{
	struct totals sums = { 0 };

	timeline_totals(adding->trace->loaded.timeline, thread, adding->start_ns, adding->end_ns,
			&sums);
	for (uint32_t i = 0; i < sums.count; i++) {
		struct total *row;

		if (!wanted(sums.rows[i].key, arg))
			continue;
		row = totals_row(&adding->out->sums, sums.rows[i].key);
		row->ns += sums.rows[i].ns;
		row->count += sums.rows[i].count;
		if (sums.rows[i].max_ns > row->max_ns)
			row->max_ns = sums.rows[i].max_ns;
	}
	totals_fini(&sums);
}

static bool is_there(uint64_t key, uint32_t unused)
{
	(void)unused;
	return total_kind(key) != TOTAL_STATE || word_kind(total_a(key)) != WORD_NONE;
}

static bool is_of_process(const struct hr_trace *trace, uint32_t thread, uint32_t member)
{
	const struct tl_thread *a = trace->loaded.timeline->threads[thread];
	const struct tl_thread *b = trace->loaded.timeline->threads[member];

	if (thread == member)
		return true;
	return a->tid != 0 && b->tid != 0 && a->tgid > 0 && a->tgid == b->tgid &&
	       hr_thread_leader(trace, thread) == hr_thread_leader(trace, member);
}

int hr_process_totals(struct hr_trace *trace, uint32_t thread, uint64_t start_ns, uint64_t end_ns,
		      struct hr_totals **out_totals)
{
	struct adding adding = { .trace = trace, .start_ns = start_ns, .end_ns = end_ns };
	const struct timeline *tl = trace->loaded.timeline;
	int rc = read_check_thread(trace, thread);

	if (rc == 0)
		rc = adding_begin(&adding);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < tl->thread_count; i++) {
		if (is_of_process(trace, thread, i) && lived(tl->threads[i], &adding))
			sums_add_thread(&adding, i, is_there, 0);
	}
	return adding_end(&adding, out_totals);
}

static bool is_on_cpu(uint64_t key, uint32_t cpu)
{
	return total_kind(key) == TOTAL_CPU && total_a(key) == cpu;
}

int hr_cpu_totals(struct hr_trace *trace, uint32_t cpu, uint64_t start_ns, uint64_t end_ns,
		  struct hr_totals **out_totals)
{
	struct adding adding = { .trace = trace, .start_ns = start_ns, .end_ns = end_ns };
	const struct timeline *tl = trace->loaded.timeline;
	int rc = read_check_cpu(trace, cpu);

	if (rc == 0)
		rc = adding_begin(&adding);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < tl->thread_count; i++) {
		if (lived(tl->threads[i], &adding))
			sums_add_thread(&adding, i, is_on_cpu, cpu);
	}
	return adding_end(&adding, out_totals);
}

/* ----------------------------------------------------------------------------- rows */

static struct hr_total total_of(const struct total *row)
{
	uint32_t a = total_a(row->key), b = total_b(row->key);
	struct hr_total total = {
		.ns = row->ns,
		.count = row->count,
		.max_ns = row->max_ns,
		.kind = total_kind(row->key),
		.wait_kind = HR_NONE,
		.error = HR_NONE,
		.cpu = HR_NONE,
		.mode = HR_NONE,
		.counter = HR_NONE,
	};

	switch (total_kind(row->key)) {
	case TOTAL_WAIT:
		total.wait_kind = b;
		total.state = state_of_word(a, true);
		break;
	case TOTAL_STATE:
		total.state = state_of_word(a, true);
		break;
	case TOTAL_ERROR:
		total.error = b;
		total.state = state_of_word(word_make(WORD_SYSCALL, a), true);
		break;
	case TOTAL_CALL:
		total.state = state_of_word(word_make(WORD_SYSCALL, a), true);
		break;
	case TOTAL_CPU:
		total.cpu = a;
		total.mode = b;
		break;
	case TOTAL_COUNTER:
		total.counter = a;
		break;
	case TOTAL_KIND_COUNT:
		break;
	}
	return total;
}

int hr_totals_next(struct hr_totals *totals, struct hr_total *out_total)
{
	int rc = read_check_size(NULL, out_total, sizeof(*out_total));
	struct hr_total total;

	if (rc < 0)
		return rc;
	if (totals->at >= totals->sums.count)
		return 0;
	total = total_of(&totals->sums.rows[totals->at++]);
	read_give(out_total, &total, sizeof(total));
	return 1;
}

void hr_totals_rewind(struct hr_totals *totals)
{
	totals->at = 0;
}

uint64_t hr_totals_group_ns(const struct hr_totals *totals, enum hr_group group)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < totals->sums.count; i++) {
		const struct total *row = &totals->sums.rows[i];

		if (total_kind(row->key) == TOTAL_STATE &&
		    hr_state_group(total_a(row->key)) == group)
			ns += row->ns;
	}
	return ns;
}

uint64_t hr_totals_mode_ns(const struct hr_totals *totals, enum hr_mode mode)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < totals->sums.count; i++) {
		const struct total *row = &totals->sums.rows[i];

		ns += total_kind(row->key) == TOTAL_CPU && total_b(row->key) == (uint32_t)mode
			      ? row->ns
			      : 0;
	}
	return ns;
}

uint64_t hr_totals_counter(const struct hr_totals *totals, enum hr_counter counter)
{
	const struct total *row =
		totals_find(&totals->sums, total_key(TOTAL_COUNTER, (uint32_t)counter, 0));

	return row ? row->count : 0;
}
