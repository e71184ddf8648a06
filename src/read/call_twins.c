/*
 * call_twins.c - what each thread was last told of.
 *
 * Two events are of one call when a thread has nothing else of calls between them, and they
 * have the same number and direction, and one of them is told by name and the other is not.
 */
#include "read/call_twins.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "event/event.h"
#include "read/fill.h"

#define WARM_NS UINT64_C(1000000) /* two that belong together are closer, but for a preemption */
#define NONE	UINT64_MAX

struct twins {
	struct fill fill;
	struct map told; /* thread: what its last event of a call was; NONE = one of a pair */
};

static uint64_t code_of(const struct event *event, bool by_name)
{
	return (uint64_t)event->syscall.nr << 2 | (uint64_t)(event->type == EV_SYS_ENTER) << 1 |
	       by_name;
}

static void call_twins_fill_in(struct fill *fill, struct event *event)
{
	struct twins *twins = (struct twins *)fill;
	bool by_name, is_new;
	uint64_t *told;

	if ((event->type != EV_SYS_ENTER && event->type != EV_SYS_EXIT) || event->tid < 0)
		return;
	by_name = event->syscall.by_name;
	told = map_add(&twins->told, (uint32_t)event->tid, &is_new);
	if (is_new || *told != code_of(event, !by_name)) {
		*told = code_of(event, by_name);
		return;
	}
	*told = NONE;
	event->other = (struct ev_other){
		by_name ? "syscalls" : "raw_syscalls",
		event->type == EV_SYS_ENTER ? "sys_enter" : "sys_exit",
	};
	event->type = EV_OTHER;
}

static void twins_forget(struct fill *fill)
{
	struct twins *twins = (struct twins *)fill;

	map_fini(&twins->told);
	twins->told = (struct map){ 0 };
}

static void twins_free(struct fill *fill)
{
	struct twins *twins = (struct twins *)fill;

	map_fini(&twins->told);
	free(twins);
}

static const struct fill_ops twins_ops = { call_twins_fill_in, twins_forget, twins_free };

struct source *call_twins_new(struct source *inner)
{
	struct twins *twins = xcalloc(1, sizeof(*twins));

	fill_init(&twins->fill, inner, WARM_NS, &twins_ops);
	return &twins->fill.source;
}
