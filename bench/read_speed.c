/*
 * read_speed.c - how fast a trace is read.
 *
 *	read_speed [-t THREADS] [-w NS] [-n TIMES] TRACE
 *
 * Reads all events of the trace in order and prints millions of events a second,
 * the best of -n runs. -w burns about that many ns on each event, as an analysis
 * would; -t 0 decodes without threads of its own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "event/event.h"
#include "event/source.h"
#include "read/read.h"

struct opts {
	int threads; /* -1 = as the reader likes */
	double work_ns;
	int times;
};

struct result {
	uint64_t events;
	uint64_t lost;
	double seconds;
	double cpu_seconds;    /* of all threads */
	double reader_seconds; /* on the CPU, of the thread that reads */
};

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* A chain of dependent steps that cannot be optimised away. */
static uint64_t burn(uint64_t value, unsigned int steps)
{
	while (steps--)
		value = value * 6364136223846793005u + 1442695040888963407u;
	return value;
}

/* Steps of burn() that take one ns: the best of several, in time on the CPU. */
static double steps_per_ns(void)
{
	const unsigned int steps = 2000000;
	double best = 0;

	for (int i = 0; i < 20; i++) {
		double start = now(CLOCK_THREAD_CPUTIME_ID), rate;
		volatile uint64_t sink = burn(1, steps);

		(void)sink;
		rate = steps / ((now(CLOCK_THREAD_CPUTIME_ID) - start) * 1e9);
		best = rate > best ? rate : best;
	}
	return best;
}

static int read_once(const char *path, const struct opts *opts, struct result *out_result,
		     struct err *err)
{
	unsigned int steps = (unsigned int)(opts->work_ns * steps_per_ns());
	struct result result = { 0 };
	const struct event *event;
	struct trace *trace;
	volatile uint64_t sink;
	uint64_t sum = 0;
	double start, cpu_start, reader_start;
	int rc = read_open(path, &trace, err);

	if (rc < 0)
		return rc;
	if (opts->threads >= 0)
		trace_set_threads(trace, (uint32_t)opts->threads);
	start = now(CLOCK_MONOTONIC);
	cpu_start = now(CLOCK_PROCESS_CPUTIME_ID);
	reader_start = now(CLOCK_THREAD_CPUTIME_ID);
	while ((rc = source_next(trace_source(trace), &event, err)) > 0) {
		result.events++;
		result.lost += event->type == EV_LOST;
		sum = burn(sum + event->time_ns + (uint64_t)event->tid + event->type, steps);
	}
	result.seconds = now(CLOCK_MONOTONIC) - start;
	result.reader_seconds = now(CLOCK_THREAD_CPUTIME_ID) - reader_start;
	result.cpu_seconds = now(CLOCK_PROCESS_CPUTIME_ID) - cpu_start;
	sink = sum;
	(void)sink;
	trace_close(trace);
	*out_result = result;
	return rc;
}

int main(int argc, char **argv)
{
	struct opts opts = { .threads = -1, .times = 5 };
	struct result best = { 0 }, result;
	struct err err = { 0 };
	int option;

	while ((option = getopt(argc, argv, "t:w:n:")) != -1) {
		if (option == 't')
			opts.threads = atoi(optarg);
		else if (option == 'w')
			opts.work_ns = atof(optarg);
		else if (option == 'n')
			opts.times = atoi(optarg);
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "usage: read_speed [-t THREADS] [-w NS] [-n TIMES] TRACE\n");
		return 2;
	}
	for (int i = 0; i < opts.times; i++) {
		if (read_once(argv[optind], &opts, &result, &err) < 0) {
			fprintf(stderr, "read_speed: %s\n", err.text);
			return 3;
		}
		if (i == 0 || result.seconds < best.seconds)
			best = result;
	}
	printf("%" PRIu64 " events (%" PRIu64 " holes) in %.3f s: %.1f million/s, %.1f ns each; "
	       "on the CPU %.1f ns, reader alone %.1f ns\n",
	       best.events, best.lost, best.seconds, (double)best.events / best.seconds / 1e6,
	       best.seconds * 1e9 / (double)(best.events ? best.events : 1),
	       best.cpu_seconds * 1e9 / (double)(best.events ? best.events : 1),
	       best.reader_seconds * 1e9 / (double)(best.events ? best.events : 1));
	return 0;
}
