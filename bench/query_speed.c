/*
 * query_speed.c - how fast a timeline answers.
 *
 *	query_speed [-n QUESTIONS] TRACE
 *
 * Asks for the state of random threads at random times all over the trace, for who ran on
 * a random CPU, and for the sums of random windows, and prints JSON: for each question the
 * mean, the median, the 99th of a hundred and the worst time in us. The index is opened, or built.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/load.h"
#include "timeline/timeline.h"
#include "timeline/totals.h"

#define WINDOW_NS 10000000000u

struct asker {
	const struct timeline *tl;
	uint64_t random;
	struct totals totals;
	uint64_t sum; /* of the answers, so that none is left out */
};

static uint64_t any(struct asker *asker, uint64_t below)
{
	asker->random ^= asker->random << 13;
	asker->random ^= asker->random >> 7;
	asker->random ^= asker->random << 17;
	return below ? (asker->random >> 3) % below : 0;
}

static uint64_t any_time(struct asker *asker)
{
	return asker->tl->origin_ns + any(asker, asker->tl->end_ns - asker->tl->origin_ns);
}

static uint32_t any_thread(struct asker *asker)
{
	return (uint32_t)any(asker, asker->tl->thread_count);
}

static void ask_state(struct asker *asker)
{
	uint32_t slot = any_thread(asker);

	asker->sum += timeline_state_at(asker->tl, slot, any_time(asker));
}

static void ask_cpu(struct asker *asker)
{
	uint32_t cpu = (uint32_t)any(asker, asker->tl->cpu_count);

	asker->sum += timeline_running_at(asker->tl, cpu, any_time(asker));
}

/* All threads: what a table of processes asks. */
static void ask_totals(struct asker *asker)
{
	uint64_t start = any_time(asker);

	for (uint32_t slot = 0; slot < asker->tl->thread_count; slot++) {
		timeline_totals(asker->tl, slot, start, start + WINDOW_NS, &asker->totals);
		asker->sum += asker->totals.count;
	}
}

static void ask_columns(struct asker *asker)
{
	uint32_t words[1000];
	uint32_t slot = any_thread(asker);

	timeline_columns(asker->tl, slot, asker->tl->origin_ns, asker->tl->end_ns, ARRAY_LEN(words),
			 words);
	asker->sum += words[999];
}

static const struct question {
	const char *name;
	void (*ask)(struct asker *asker);
	uint32_t share; /* asked once in so many questions */
} questions[] = {
	{ "state_at", ask_state, 1 },
	{ "running_at", ask_cpu, 1 },
	{ "totals_of_all_threads_10s", ask_totals, 1000 },
	{ "columns_1000_of_a_thread", ask_columns, 1000 },
};

static double now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void measure(struct asker *asker, const struct question *question, uint32_t count)
{
	uint32_t times = count / question->share ? count / question->share : 1;
	double *us = xcalloc(times, sizeof(*us));
	double sum = 0;

	for (uint32_t i = 0; i < times; i++) {
		double start = now_us();

		question->ask(asker);
		us[i] = now_us() - start;
		sum += us[i];
	}
	qsort(us, times, sizeof(*us), compare);
	printf("%s\"%s\":{\"count\":%u,\"mean_us\":%.2f,\"p50_us\":%.2f,\"p99_us\":%.2f,"
	       "\"max_us\":%.2f}",
	       question == questions ? "{" : ",", question->name, times, sum / times, us[times / 2],
	       us[times * 99ull / 100], us[times - 1]);
	free(us);
}

int main(int argc, char **argv)
{
	struct asker asker = { .random = 0x9e3779b97f4a7c15u };
	struct loaded loaded;
	struct err err = { 0 };
	uint32_t count = 100000;
	int option;

	while ((option = getopt(argc, argv, "n:")) == 'n')
		count = (uint32_t)strtoul(optarg, NULL, 10);
	if (option != -1 || optind + 1 != argc) {
		fprintf(stderr, "usage: query_speed [-n QUESTIONS] TRACE\n");
		return 2;
	}
	if (load_trace(argv[optind], 0, &loaded, &err) < 0) {
		fprintf(stderr, "query_speed: %s\n", err.text);
		return 3;
	}
	asker.tl = loaded.timeline;
	for (size_t i = 0; i < ARRAY_LEN(questions); i++)
		measure(&asker, &questions[i], count);
	printf(",\"answers\":%" PRIu64 "}\n", asker.sum);
	totals_fini(&asker.totals);
	loaded_fini(&loaded);
	return 0;
}
