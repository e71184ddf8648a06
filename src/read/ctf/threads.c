/* threads.c - remember who runs on each CPU. */
#include "read/ctf/threads.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "event/event.h"
#include "read/fill.h"

#define CPUS 65536u

struct threads {
	struct fill fill;
	int32_t *on_cpu;  /* owned; -1 = nobody knows */
	struct map calls; /* thread: system call it is in, twice, plus 1 when 32-bit */
};

static void threads_forget(struct fill *fill)
{
	struct threads *threads = (struct threads *)fill;

	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		threads->on_cpu[cpu] = -1;
	map_fini(&threads->calls);
	threads->calls = (struct map){ 0 };
}

static void learn_call(struct threads *threads, struct event *event)
{
	uint64_t *known;

	if (event->tid < 0)
		return;
	if (event->type == EV_SYS_ENTER) {
		map_put(&threads->calls, (uint64_t)event->tid,
			(uint64_t)event->syscall.nr * 2 + event->syscall.compat);
		return;
	}
	known = event->syscall.nr < 0 ? map_find(&threads->calls, (uint64_t)event->tid) : NULL;
	if (!known)
		return;
	event->syscall.nr = (int64_t)*known >> 1;
	event->syscall.compat = *known & 1;
}

static void ctf_threads_fill_in(struct fill *fill, struct event *event)
{
	struct threads *threads = (struct threads *)fill;
	int32_t *on_cpu = &threads->on_cpu[event->cpu];

	switch (event->type) {
	case EV_SCHED_SWITCH:
		if (event->tid < 0)
			event->tid = event->sched_switch.prev_tid;
		*on_cpu = event->sched_switch.next_tid;
		return;
	case EV_LOST:
		*on_cpu = -1;
		return;
	default:
		if (event->tid < 0)
			event->tid = *on_cpu;
		break;
	}
	if (event->type == EV_SYS_ENTER || event->type == EV_SYS_EXIT)
		learn_call(threads, event);
	else if (event->type == EV_SIGNAL_DELIVER)
		event->signal.tid = event->tid;
}

static void threads_free(struct fill *fill)
{
	struct threads *threads = (struct threads *)fill;

	map_fini(&threads->calls);
	free(threads->on_cpu);
	free(threads);
}

static const struct fill_ops threads_ops = { ctf_threads_fill_in, threads_forget, threads_free };

struct source *ctf_threads_new(struct source *inner, uint64_t warm_ns)
{
	struct threads *threads = xcalloc(1, sizeof(*threads));

	threads->on_cpu = xcalloc(CPUS, sizeof(int32_t));
	fill_init(&threads->fill, inner, warm_ns, &threads_ops);
	return &threads->fill.source;
}
