/*
 * texts.c - log strings that another thread changes meanwhile.
 *
 * usage: probe-texts COUNT
 *
 * Each event carries its number before and behind the string: a reader that finds both knows
 * that the string has the length that was counted.
 */
#include <holdup/trace.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

HOLDUP_EVENT(texts, one, (u64, before), (str, text), (u64, behind))

#define LONGEST 3000

static char text[LONGEST + 1];
static int stop;

/* Ends in it come and go. */
static void *change(void *unused)
{
	unsigned seed = 1;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		size_t at = (size_t)rand_r(&seed) % LONGEST;

		at = at % 3 ? LONGEST - 1 - at % 30 : at;
		__atomic_store_n(&text[at], '\0', __ATOMIC_RELAXED);
		__atomic_store_n(&text[at], 'x', __ATOMIC_RELAXED);
	}
	return unused;
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
	pthread_t thread;

	memset(text, 'x', LONGEST);
	if (pthread_create(&thread, NULL, change, NULL))
		return 2;
	for (uint64_t i = 0; i < count; i++) {
		static const size_t lengths[] = { 20, 400, LONGEST };

		holdup_texts_one(i, text + LONGEST - lengths[i % 3], i);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	(void)pthread_join(thread, NULL);
	return 0;
}
