/*
 * model-orders.c - orders in four steps, each time the same; or with one of six faults.
 *
 * What holdup learn learns from, and what a check of that finds. A thread handles 30 orders:
 *
 *	orders:order_begin, orders:parsed, orders:paid, orders:stored, orders:order_end  order
 *
 * With a fault, orders 11 and 23 have it.
 *
 *	sudo holdup record -o good.holdup -- model-orders
 *	holdup learn -o orders.yaml good.holdup
 *	sudo holdup check orders.yaml -- model-orders --lock
 */
#include <holdup/trace.h>
#include <semaphore.h>

#include "cold.h"
#include "planted.h"

#define ORDERS 30

HOLDUP_EVENT(orders, order_begin, (u32, order))
HOLDUP_EVENT(orders, parsed, (u32, order))
HOLDUP_EVENT(orders, paid, (u32, order))
HOLDUP_EVENT(orders, stored, (u32, order))
HOLDUP_EVENT(orders, order_end, (u32, order))

enum fault {
	SLEEP,
	LOCK,
	DISK,
	HOG,
	CALLS,
	SKIP,
	FAULT_COUNT
};

static const struct {
	const char *kind, *comm;
} faults[FAULT_COUNT] = {
	[SLEEP] = { "timer", "model-orders" },
	[LOCK] = { "lock", "keeper" },
	[DISK] = { "disk", "" },
	[HOG] = { "preempted", "hog" },
	[CALLS] = { "self", "model-orders" },
	[SKIP] = { "", "" },
};

static const struct variant variants[] = {
	[SLEEP] = { "--sleep", "orders 11 and 23 sleep for 20 ms" },
	[LOCK] = { "--lock", "they wait 20 ms for a mutex" },
	[DISK] = { "--disk", "they read 24 MiB from the disk" },
	[HOG] = { "--hog", "another thread takes the CPU for 100 ms" },
	[CALLS] = { "--calls", "they make 300 system calls in a loop" },
	[SKIP] = { "--skip", "they are not paid" },
	[FAULT_COUNT] = { 0 },
};

static const struct example example = {
	.name = "model-orders",
	.shows =
		"30 orders in four steps of about 0.1 ms each, and one of six faults in two of them.",
	.variants = variants,
	.wants_dir = true,
};

struct shop {
	const struct run *run;
	int cpu;
	int fd; /* of the data on the disk */
	pthread_mutex_t till;
	sem_t keeper_wanted, kept, hog_wanted, ready;
	bool is_over;
};

static void *keep(void *context)
{
	struct shop *shop = context;

	set_name("keeper");
	while (sem_wait(&shop->keeper_wanted) == 0 && !shop->is_over) {
		pthread_mutex_lock(&shop->till);
		sem_post(&shop->kept);
		nap(run_ms(shop->run, 20));
		pthread_mutex_unlock(&shop->till);
	}
	return NULL;
}

static void *hog(void *context)
{
	struct shop *shop = context;

	set_name("hog");
	planted_alone(shop->cpu, 20);
	sem_post(&shop->ready);
	while (sem_wait(&shop->hog_wanted) == 0 && !shop->is_over)
		burn_until(now_ns() + run_ms(shop->run, 100));
	return NULL;
}

static void read_disk(const struct shop *shop)
{
	uint64_t *block = new_block();

	for (uint64_t off = 0; off < 24 * COLD_BLOCK; off += COLD_BLOCK) {
		if (pread(shop->fd, block, COLD_BLOCK, (off_t)off) != COLD_BLOCK)
			fail("pread");
	}
	free(block);
}

static void do_fault(struct shop *shop, enum fault fault)
{
	switch (fault) {
	case SLEEP:
		nap(run_ms(shop->run, 20));
		break;
	case DISK:
		read_disk(shop);
		break;
	case HOG:
		sem_post(&shop->hog_wanted);
		break;
	case CALLS:
		for (int i = 0; i < 300; i++)
			(void)getppid();
		break;
	default:
		break;
	}
}

/* A step: some work, a system call, a short wait. */
static void do_step(void)
{
	struct timespec ts = { .tv_nsec = 50000 };

	burn_until(now_ns() + 50000);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

static void handle(struct shop *shop, uint32_t order, enum fault fault)
{
	holdup_orders_order_begin(order);
	do_step();
	holdup_orders_parsed(order);
	pthread_mutex_lock(&shop->till);
	do_step();
	pthread_mutex_unlock(&shop->till);
	if (fault != SKIP)
		holdup_orders_paid(order);
	do_step();
	do_fault(shop, fault);
	holdup_orders_stored(order);
	do_step();
	holdup_orders_order_end(order);
}

static enum fault fault_of(const struct run *run, uint32_t order)
{
	for (uint32_t i = 0; i < FAULT_COUNT && (order == 11 || order == 23); i++) {
		if (run_has(run, i))
			return (enum fault)i;
	}
	return FAULT_COUNT;
}

static void take_order(struct shop *shop, struct plants *plants, uint32_t order)
{
	enum fault fault = fault_of(shop->run, order);

	if (fault == LOCK) {
		sem_post(&shop->keeper_wanted);
		sem_wait(&shop->kept);
	}
	planted_begin(plants);
	handle(shop, order, fault);
	planted_end(plants, fault == FAULT_COUNT ? NULL : faults[fault].kind,
		    fault == FAULT_COUNT ? "" : faults[fault].comm);
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct shop shop = {
		.run = &run, .cpu = last_cpu(), .fd = -1, .till = PTHREAD_MUTEX_INITIALIZER
	};
	struct plants plants = { .count = 0 };
	pthread_t threads[2];

	if (run.prepare || run_has(&run, DISK))
		shop.fd = cold_open(&run, O_DIRECT);
	sem_init(&shop.keeper_wanted, 0, 0);
	sem_init(&shop.kept, 0, 0);
	sem_init(&shop.ready, 0, 0);
	sem_init(&shop.hog_wanted, 0, 0);
	pthread_create(&threads[0], NULL, keep, &shop);
	pthread_create(&threads[1], NULL, hog, &shop);
	sem_wait(&shop.ready);
	planted_alone(shop.cpu, 10);
	for (uint32_t order = 0; order < ORDERS; order++)
		take_order(&shop, &plants, order);
	shop.is_over = true;
	sem_post(&shop.keeper_wanted);
	sem_post(&shop.hog_wanted);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return planted_print(&run, &plants);
}
