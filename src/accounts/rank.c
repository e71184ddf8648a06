/* rank.c - rows in order. */
#include "accounts/rank.h"

#include <stdlib.h>

#include "base/mem.h"

static const enum delays_class memory_classes[] = {
	DELAYS_SWAPIN, DELAYS_RECLAIM, DELAYS_THRASHING, DELAYS_COMPACTION, DELAYS_COW,
};

uint64_t delays_memory_ns(const struct delays_stats *stats)
{
	uint64_t most = 0;

	for (size_t i = 0; i < ARRAY_LEN(memory_classes); i++) {
		uint64_t ns = stats->delay[memory_classes[i]].total_ns;

		if (delays_has_class(stats, memory_classes[i]) && ns > most)
			most = ns;
	}
	return most;
}

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

uint64_t delays_rest_ns(const struct delays_stats *stats, uint64_t base_ns)
{
	uint64_t rest = less(base_ns, stats->run_ns);

	rest = less(rest, stats->delay[DELAYS_CPU].total_ns);
	return delays_has_class(stats, DELAYS_DISK) ? less(rest, stats->delay[DELAYS_DISK].total_ns)
						    : rest;
}

bool delays_worst(const struct delays_stats *stats, enum delays_class *out_class)
{
	uint64_t most = 0;

	for (enum delays_class class = 0; class < DELAYS_CLASSES; class ++) {
		if (!delays_has_class(stats, class) || stats->delay[class].total_ns <= most)
			continue;
		most = stats->delay[class].total_ns;
		*out_class = class;
	}
	return most > 0;
}

/* CPU and disk never overlap; memory is mostly in one of them or in run time. */
static double waited(const struct delays_row *row)
{
	uint64_t ns = row->stats->delay[DELAYS_CPU].total_ns;
	uint64_t disk = delays_has_class(row->stats, DELAYS_DISK)
				? row->stats->delay[DELAYS_DISK].total_ns
				: 0;
	uint64_t memory = delays_memory_ns(row->stats);

	ns += disk > memory ? disk : memory;
	return row->base_ns ? (double)ns / (double)row->base_ns : 0;
}

static double rank_weight(const struct delays_row *row, enum delays_sort sort)
{
	const struct delays_stats *stats = row->stats;

	switch (sort) {
	case DELAYS_SORT_CPU:
		return (double)stats->delay[DELAYS_CPU].total_ns;
	case DELAYS_SORT_DISK:
		return (double)stats->delay[DELAYS_DISK].total_ns;
	case DELAYS_SORT_MEMORY:
		return (double)delays_memory_ns(stats);
	case DELAYS_SORT_RUN:
		return (double)stats->run_ns;
	case DELAYS_SORT_IO:
		return (double)stats->read_bytes + (double)stats->write_bytes;
	default:
		return waited(row);
	}
}

struct weighted {
	double weight;
	struct delays_row row;
};

static int rank_by_weight(const void *a, const void *b)
{
	const struct weighted *left = a, *right = b;

	if (left->weight != right->weight)
		return left->weight > right->weight ? -1 : 1;
	if (left->row.task->tid != right->row.task->tid)
		return left->row.task->tid < right->row.task->tid ? -1 : 1;
	return (int)right->row.task->is_process - (int)left->row.task->is_process;
}

static void sort_rows(struct delays_rows *rows, enum delays_sort sort)
{
	AUTO_FREE struct weighted *all = xcalloc(rows->count + 1, sizeof(*all));

	for (size_t i = 0; i < rows->count; i++)
		all[i] = (struct weighted){ rank_weight(&rows->rows[i], sort), rows->rows[i] };
	qsort(all, rows->count, sizeof(*all), rank_by_weight);
	for (size_t i = 0; i < rows->count; i++)
		rows->rows[i] = all[i].row;
}

void delays_rows_of_sample(const struct delays_sample *sample, enum delays_sort sort,
			   struct delays_rows *out_rows)
{
	struct delays_rows rows = { xcalloc(sample->count + 1, sizeof(*rows.rows)), 0 };

	for (size_t i = 0; i < sample->count; i++) {
		const struct delays_task *task = &sample->tasks[i];
		bool many = task->is_process && task->threads > 1;

		rows.rows[rows.count++] = (struct delays_row){
			.task = task,
			.stats = &task->stats,
			.base_ns = many && task->stats.life_us ? task->stats.life_us * 1000
							       : task->wall_ns,
		};
	}
	sort_rows(&rows, sort);
	*out_rows = rows;
}

void delays_rows_of_delta(const struct delays_delta *delta, enum delays_sort sort,
			  struct delays_rows *out_rows)
{
	struct delays_rows rows = { xcalloc(delta->count + 1, sizeof(*rows.rows)), 0 };

	for (size_t i = 0; i < delta->count; i++) {
		const struct delays_change *change = &delta->tasks[i];
		uint32_t threads = change->task->is_process ? change->task->threads : 1;

		if (change->ended)
			continue;
		rows.rows[rows.count++] = (struct delays_row){
			.task = change->task,
			.stats = &change->stats,
			.base_ns = change->span_ns * (threads ? threads : 1),
			.born = change->born,
		};
	}
	sort_rows(&rows, sort);
	*out_rows = rows;
}

void delays_rows_fini(struct delays_rows *rows)
{
	free(rows->rows);
	*rows = (struct delays_rows){ 0 };
}
