/*
 * model_events.c - a program that logs as many instances of a model as are asked for.
 *
 *	usage: model_events [NAME=NUMBER]...
 *	  instances=1000000	each is load:begin, its steps, load:end
 *	  steps=1		events between the two: load:step
 *	  kinds=0		1 to 64: the steps are load:k0, load:k1 ... in turn instead
 *	  depth=0		instances that are begun while one is open
 *	  threads=1		each logs its share, with keys of its own
 *	  calls=0		every so many instances one system call, and every 100 calls a sleep
 *	  open=0		1: no instance ends
 *
 * HOLDUP and "holdup record" say where the events go, as for any program.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <holdup/trace.h>

HOLDUP_EVENT(load, begin, (flow, id), (u32, budget))
HOLDUP_EVENT(load, step, (flow, id), (u32, step))
HOLDUP_EVENT(load, end, (flow, id), (u32, result))

/* clang-format off */
#define EIGHT(X, tens) X(tens##0) X(tens##1) X(tens##2) X(tens##3) X(tens##4) X(tens##5) X(tens##6) X(tens##7)
/* Numbers in octal: k00 to k77. */
#define ALL(X) EIGHT(X, 0) EIGHT(X, 1) EIGHT(X, 2) EIGHT(X, 3) EIGHT(X, 4) EIGHT(X, 5) EIGHT(X, 6) EIGHT(X, 7)
/* clang-format on */

#define DECLARE(number) HOLDUP_EVENT(load, k##number, (flow, id), (u32, step))
#define NAME(number)	holdup_load_k##number,
ALL(DECLARE)
static void (*const kinds[])(uint64_t, uint32_t) = { ALL(NAME) };

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static struct {
	const char *name;
	uint64_t number;
} options[] = { { "instances", 1000000 }, { "steps", 1 }, { "kinds", 0 }, { "depth", 0 },
		{ "threads", 1 },	  { "calls", 0 }, { "open", 0 } };

enum option {
	INSTANCES,
	STEPS,
	KIND_COUNT,
	DEPTH,
	THREADS,
	CALLS,
	OPEN,
	OPTION_COUNT
};

static void step(uint64_t id)
{
	uint64_t count = options[KIND_COUNT].number;

	for (uint32_t i = 0; i < options[STEPS].number; i++) {
		if (count)
			kinds[(id + i) % count](id, i);
		else
			holdup_load_step(id, i);
	}
}

/* Something for the kernel's events. */
static void call(uint64_t nr)
{
	const struct timespec nap = { .tv_nsec = 100000 };

	if (nr % 100 == 99)
		(void)nanosleep(&nap, NULL);
	else
		(void)syscall(SYS_getppid);
}

static void *work(void *context)
{
	uint64_t first = (uint64_t)(uintptr_t)context << 40;
	uint64_t count = options[INSTANCES].number / options[THREADS].number;
	uint64_t depth = options[DEPTH].number, calls = options[CALLS].number;

	for (uint64_t i = 0; i < count + depth; i++) {
		if (i < count)
			holdup_load_begin(first + i, 1000);
		if (i < depth)
			continue;
		step(first + i - depth);
		if (calls && i % calls == 0)
			call(i / calls);
		if (!options[OPEN].number)
			holdup_load_end(first + i - depth, 0);
	}
	return NULL;
}

static int set(const char *word)
{
	const char *equals = strchr(word, '=');

	for (size_t i = 0; equals && i < OPTION_COUNT; i++) {
		if (strlen(options[i].name) == (size_t)(equals - word) &&
		    strncmp(options[i].name, word, (size_t)(equals - word)) == 0) {
			options[i].number = strtoull(equals + 1, NULL, 10);
			return 0;
		}
	}
	fprintf(stderr, "model_events: what is %s?\n", word);
	return -1;
}

int main(int argc, char **argv)
{
	pthread_t threads[256];
	uint64_t count;

	for (int i = 1; i < argc; i++) {
		if (set(argv[i]) < 0)
			return 2;
	}
	count = options[THREADS].number;
	if (count < 1 || count > 256 || options[KIND_COUNT].number > KINDS)
		return 2;
	for (uint64_t i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) != 0)
			return 3;
	}
	for (uint64_t i = 0; i < count; i++)
		(void)pthread_join(threads[i], NULL);
	return holdup_lost_count() ? 3 : 0;
}
