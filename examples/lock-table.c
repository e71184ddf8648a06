/*
 * lock-table.c - a mutex, a read-write lock and a condition, used so often and so long.
 *
 * Threads take turns that are enforced with semaphores, which are no locks of the table: so it
 * is known who had which lock when another one asked for it, and for how long at least.
 */
#include <semaphore.h>

#include "truth.h"

static const struct example example = {
	.name = "lock-table",
	.shows = "A mutex is held 20 times for 5 ms while another thread waits for it, and taken\n"
		 "1000 times by nobody else; a read-write lock is held by a writer for 30 ms\n"
		 "while two readers wait; 50 items go through a queue with a condition. Run it as\n"
		 "holdup run --locks; its truth is what holdup locks --json must say.",
};

#define TURNS	5 /* ms that a lock is held in one */
#define ROUNDS	20
#define ALONE	1000
#define READERS 2
#define ITEMS	50

static pthread_mutex_t convoy_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_cond = PTHREAD_COND_INITIALIZER;

static const struct run *run;
static sem_t held, asking, done;
static uint64_t hold_ns, hold_max_ns; /* of the holder's holds under contention */
static uint64_t wait_ns, wait_max_ns; /* of the waiter's calls */
static uint64_t write_ns, read_wait_ns;
static int queued, waits_of_queue;
static int32_t holder_tid, writer_tid;

static void add(uint64_t ns, uint64_t *sum_ns, uint64_t *most_ns)
{
	*sum_ns += ns;
	if (ns > *most_ns)
		*most_ns = ns;
}

static void *hold(void *unused)
{
	holder_tid = (int32_t)gettid();
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t since_ns;

		pthread_mutex_lock(&convoy_mutex);
		since_ns = now_ns();
		sem_post(&held);
		sem_wait(&asking);
		nap(run_ms(run, TURNS)); /* it asks by now */
		add(now_ns() - since_ns, &hold_ns, &hold_max_ns);
		pthread_mutex_unlock(&convoy_mutex);
		sem_wait(&done);
	}
	return unused;
}

static void *ask(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t since_ns;

		sem_wait(&held);
		since_ns = now_ns();
		sem_post(&asking);
		pthread_mutex_lock(&convoy_mutex);
		add(now_ns() - since_ns, &wait_ns, &wait_max_ns);
		pthread_mutex_unlock(&convoy_mutex);
		sem_post(&done);
	}
	return unused;
}

static void *write_table(void *unused)
{
	uint64_t since_ns;

	writer_tid = (int32_t)gettid();
	pthread_rwlock_wrlock(&table_rwlock);
	since_ns = now_ns();
	for (int i = 0; i < READERS; i++)
		sem_post(&held);
	for (int i = 0; i < READERS; i++)
		sem_wait(&asking);
	nap(run_ms(run, 30));
	write_ns = now_ns() - since_ns;
	pthread_rwlock_unlock(&table_rwlock);
	return unused;
}

static void *read_table(void *unused)
{
	uint64_t since_ns;

	sem_wait(&held);
	since_ns = now_ns();
	sem_post(&asking);
	pthread_rwlock_rdlock(&table_rwlock);
	__atomic_add_fetch(&read_wait_ns, now_ns() - since_ns, __ATOMIC_RELAXED);
	pthread_rwlock_unlock(&table_rwlock);
	return unused;
}

static void *produce(void *unused)
{
	for (int i = 0; i < ITEMS; i++) {
		nap(run_ms(run, 1));
		pthread_mutex_lock(&queue_mutex);
		queued++;
		pthread_cond_signal(&queue_cond);
		pthread_mutex_unlock(&queue_mutex);
	}
	return unused;
}

static void *consume(void *unused)
{
	for (int taken = 0; taken < ITEMS; taken++) {
		pthread_mutex_lock(&queue_mutex);
		while (queued == 0) {
			waits_of_queue++;
			pthread_cond_wait(&queue_cond, &queue_mutex);
		}
		queued--;
		pthread_mutex_unlock(&queue_mutex);
	}
	return unused;
}

static void run_threads(void *(*const *bodies)(void *), size_t count)
{
	pthread_t threads[4];

	for (size_t i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, bodies[i], NULL);
	for (size_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void print_truth(FILE *out)
{
	fprintf(out,
		"{\"convoy_mutex\":{\"taken\":%d,\"waits\":%d,\"wait_ns\":%llu,"
		"\"wait_max_ns\":%llu,\"contended_hold_ns\":%llu,\"hold_max_ns\":%llu,"
		"\"owner\":%d},",
		2 * ROUNDS + ALONE, ROUNDS, (unsigned long long)wait_ns,
		(unsigned long long)wait_max_ns, (unsigned long long)hold_ns,
		(unsigned long long)hold_max_ns, holder_tid);
	fprintf(out,
		"\"table_rwlock\":{\"taken\":%d,\"taken_write\":1,\"waits\":%d,\"wait_ns\":%llu,"
		"\"write_ns\":%llu,\"owner\":%d},",
		1 + READERS, READERS, (unsigned long long)read_wait_ns,
		(unsigned long long)write_ns, writer_tid);
	fprintf(out,
		"\"queue_cond\":{\"waits\":%d,\"signals\":%d},\"queue_mutex\":{\"taken\":%d}}\n",
		waits_of_queue, ITEMS, 2 * ITEMS + waits_of_queue);
}

int main(int argc, char **argv)
{
	static void *(*const convoy[])(void *) = { hold, ask };
	static void *(*const table[])(void *) = { write_table, read_table, read_table };
	static void *(*const queue[])(void *) = { produce, consume };
	struct run options = run_begin(&example, argc, argv);

	run = &options;
	sem_init(&held, 0, 0);
	sem_init(&asking, 0, 0);
	sem_init(&done, 0, 0);
	run_threads(convoy, 2);
	for (int i = 0; i < ALONE; i++) {
		pthread_mutex_lock(&convoy_mutex);
		pthread_mutex_unlock(&convoy_mutex);
	}
	run_threads(table, 3);
	run_threads(queue, 2);
	print_truth(stdout);
	return 0;
}
