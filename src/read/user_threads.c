/*
 * user_threads.c - remember who runs on each CPU.
 *
 * Some kernels leave out switches out of the idle task: any event of a CPU tells who is on it,
 * and a thread that logs is never the idle one.
 */
#include "read/user_threads.h"

#include <stdlib.h>

#include "base/mem.h"
#include "event/event.h"
#include "read/fill.h"

#define CPUS 65536u

struct user_threads {
	struct fill fill;
	uint64_t until_ns;
	int32_t *on_cpu; /* owned; 0 and below: nobody knows */
};

static void learn(struct user_threads *threads, const struct event *event)
{
	int32_t *on_cpu = &threads->on_cpu[event->cpu];

	switch (event->type) {
	case EV_SCHED_SWITCH:
		*on_cpu = event->sched_switch.next_tid;
		break;
	case EV_LOST:
		*on_cpu = -1;
		break;
	case EV_FD_NAME: /* of no CPU */
	case EV_STACK:	 /* of the thread that has left */
		break;
	default:
		if (event->tid >= 0)
			*on_cpu = event->tid;
		break;
	}
}

static void fill_in(struct fill *fill, struct event *event)
{
	struct user_threads *threads = (struct user_threads *)fill;

	if (!(event->context & EV_CTX_USER)) {
		learn(threads, event);
	} else if (event->context & EV_CTX_VTID && event->type != EV_LOST) {
		int32_t tid = threads->on_cpu[event->cpu];

		event->tid = tid > 0 && event->time_ns <= threads->until_ns ? tid : -1;
	}
}

static void forget(struct fill *fill)
{
	struct user_threads *threads = (struct user_threads *)fill;

	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		threads->on_cpu[cpu] = -1;
}

static void user_threads_free(struct fill *fill)
{
	struct user_threads *threads = (struct user_threads *)fill;

	free(threads->on_cpu);
	free(threads);
}

static const struct fill_ops user_threads_ops = { fill_in, forget, user_threads_free };

struct source *user_threads_new(struct source *inner, uint64_t warm_ns, uint64_t until_ns)
{
	struct user_threads *threads = xcalloc(1, sizeof(*threads));

	threads->until_ns = until_ns;
	threads->on_cpu = xcalloc(CPUS, sizeof(int32_t));
	fill_init(&threads->fill, inner, warm_ns, &user_threads_ops);
	return &threads->fill.source;
}
