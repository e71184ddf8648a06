/*
 * model-sleep.c - a sleep that is used as synchronisation.
 *
 * One thread makes 20 items, another one uses each of them. It waits on an eventfd until the item is
 * there; in three places somebody wrote a sleep of 10 ms instead, which is long enough, and
 * much longer than it takes.
 *
 *	sync:want  item
 *	sync:have  item
 *
 *	sudo holdup check examples/models/model-sleep.yaml -- model-sleep
 */
#include <holdup/trace.h>
#include <semaphore.h>
#include <sys/eventfd.h>

#include "planted.h"

#define ITEMS 20

HOLDUP_EVENT(sync, want, (u32, item))
HOLDUP_EVENT(sync, have, (u32, item))

static const struct example example = {
	.name = "model-sleep",
	.shows =
		"20 items are waited for. Three of them with a sleep of 10 ms instead of something\n"
		"that the maker of the items ends.",
};

struct items {
	const struct run *run;
	int cpu;
	int ready; /* eventfd */
	sem_t wanted, begun;
	bool is_over;
};

static void *make(void *context)
{
	struct items *items = context;
	uint64_t one = 1;

	set_name("maker");
	planted_alone(items->cpu, 10);
	sem_post(&items->begun);
	while (sem_wait(&items->wanted) == 0 && !items->is_over) {
		burn_until(now_ns() + run_ms(items->run, 0.5));
		if (write(items->ready, &one, sizeof(one)) != sizeof(one))
			fail("write");
	}
	return NULL;
}

static bool does_sleep(uint32_t item)
{
	return item == 3 || item == 8 || item == 15;
}

static void use_item(struct items *items, struct plants *plants, uint32_t item)
{
	uint64_t count;

	planted_begin(plants);
	holdup_sync_want(item);
	sem_post(&items->wanted);
	if (does_sleep(item))
		nap(run_ms(items->run, 10));
	if (read(items->ready, &count, sizeof(count)) != sizeof(count))
		fail("read");
	holdup_sync_have(item);
	planted_end(plants, does_sleep(item) ? "timer" : NULL, "model-sleep");
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct items items = { .run = &run, .cpu = last_cpu(), .ready = eventfd(0, EFD_CLOEXEC) };
	struct plants plants = { .count = 0 };
	pthread_t thread;

	if (items.ready < 0)
		fail("eventfd");
	sem_init(&items.wanted, 0, 0);
	sem_init(&items.begun, 0, 0);
	pthread_create(&thread, NULL, make, &items);
	sem_wait(&items.begun);
	planted_alone(items.cpu, 10);
	for (uint32_t item = 0; item < ITEMS; item++)
		use_item(&items, &plants, item);
	items.is_over = true;
	sem_post(&items.wanted);
	pthread_join(thread, NULL);
	return planted_print(&run, &plants);
}
