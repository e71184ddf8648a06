/*
 * planted.h - for the examples of models: which instances have a fault, and whose it is.
 *
 *	planted_begin(&plants);
 *	holdup_demo_begin(...);
 *	...
 *	holdup_demo_end(...);
 *	planted_end(&plants, is_faulty ? "timer" : NULL, "who");
 *
 * Each instance lies between two readings of CLOCK_MONOTONIC, so it can be found in a report. The line
 * of ground truth has those with a fault:
 *
 *	{"example":"model-sleep","pid":7,"instances":20,
 *	 "planted":[{"tid":7,"start_ns":...,"end_ns":...,"kind":"timer","comm":"..."}],"steal_ns":0}
 */
#ifndef EXAMPLES_PLANTED_H
#define EXAMPLES_PLANTED_H

#include "truth.h"

#define PLANTED_MAX 256

struct planted {
	pid_t tid;
	uint64_t start_ns, end_ns;
	const char *kind; /* of the root that the verdict must name */
	char comm[16];
};

struct plants {
	struct planted items[PLANTED_MAX];
	uint32_t count;
	uint32_t instances;
	uint64_t start_ns; /* of the instance at hand */
};

static inline void planted_begin(struct plants *plants)
{
	plants->start_ns = now_ns();
}

/* 'kind' NULL: the instance is a good one. */
static inline void planted_end(struct plants *plants, const char *kind, const char *comm)
{
	struct planted *planted;

	plants->instances++;
	if (!kind || plants->count == PLANTED_MAX)
		return;
	planted = &plants->items[plants->count++];
	*planted = (struct planted){
		.tid = gettid(), .start_ns = plants->start_ns, .end_ns = now_ns(), .kind = kind
	};
	snprintf(planted->comm, sizeof(planted->comm), "%s", comm);
}

/* Add what another thread noted. */
static inline void planted_join(struct plants *plants, const struct plants *other)
{
	for (uint32_t i = 0; i < other->count && plants->count < PLANTED_MAX; i++)
		plants->items[plants->count++] = other->items[i];
	plants->instances += other->instances;
}

/* Print the ground truth. Returns the exit status of the example. */
static inline int planted_print(const struct run *run, const struct plants *plants)
{
	FILE *out = run->truth_path ? fopen(run->truth_path, "we") : stdout;

	if (!out)
		fail(run->truth_path);
	fprintf(out, "{\"example\":\"%s\",\"pid\":%d,\"instances\":%u,\"planted\":[",
		run->example->name, getpid(), plants->instances);
	for (uint32_t i = 0; i < plants->count; i++) {
		const struct planted *planted = &plants->items[i];

		fprintf(out,
			"%s{\"tid\":%d,\"start_ns\":%llu,\"end_ns\":%llu,\"kind\":\"%s\",\"comm\":\"%s\"}",
			i ? "," : "", planted->tid, (unsigned long long)planted->start_ns,
			(unsigned long long)planted->end_ns, planted->kind, planted->comm);
	}
	fprintf(out, "],\"steal_ns\":%llu}\n",
		(unsigned long long)(steal_ns() - run->start_steal_ns));
	if (fflush(out) != 0)
		fail("writing the truth");
	return EXIT_SUCCESS;
}

/* Real time on one CPU, so that nobody else's work is in the way of an instance. */
static inline void planted_alone(int cpu, int priority)
{
	pin(cpu);
	go_fifo(priority);
}

#endif
