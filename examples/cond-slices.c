/*
 * cond-slices.c - a thread waits for a condition, and looks up every 20 ms.
 *
 * As locks of Java and Python do, and loops around pthread_cond_timedwait(): each wait but the last
 * is ended by its time-out, which nobody asked for. All of them wait for the same.
 */
#include "truth.h"

static const struct example example = {
	.name = "cond-slices",
	.shows =
		"A thread waits for a condition with a time-out of 20 ms, again and again. Another\n"
		"thread computes for 300 ms and signals the condition. The answer is that thread.",
};

struct order {
	pthread_mutex_t mutex;
	pthread_cond_t done;
	bool is_done;
	uint64_t work_ns;
	struct root root;
};

static void *produce(void *context)
{
	struct order *order = context;

	prctl(PR_SET_NAME, "slices-producer");
	root_set(&order->root, burn(order->work_ns));
	pthread_mutex_lock(&order->mutex);
	order->is_done = true;
	pthread_cond_signal(&order->done);
	pthread_mutex_unlock(&order->mutex);
	return NULL;
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct order order = { .mutex = PTHREAD_MUTEX_INITIALIZER,
			       .done = PTHREAD_COND_INITIALIZER,
			       .work_ns = run_ms(&run, 300) };
	uint64_t start_ns, end_ns;
	struct timespec until;
	pthread_t producer;
	char note[32];
	int slices = 0;

	start_ns = now_ns();
	if (pthread_create(&producer, NULL, produce, &order) != 0)
		fail("pthread_create");
	pthread_mutex_lock(&order.mutex);
	while (!order.is_done) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += (long)(20 * NS_PER_MS);
		until.tv_sec += until.tv_nsec / (long)NS_PER_S;
		until.tv_nsec %= (long)NS_PER_S;
		slices += pthread_cond_timedwait(&order.done, &order.mutex, &until) == ETIMEDOUT;
	}
	pthread_mutex_unlock(&order.mutex);
	end_ns = now_ns();
	pthread_join(producer, NULL);
	snprintf(note, sizeof(note), "%d time-outs", slices);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = "other_thread",
				     .root = order.root,
				     .what = "the thread that signals the condition",
				     .note = note,
			     });
}
