/* comms.c - names by thread id, in pages that are made when needed. */
#include "event/comms.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"

#define PAGE_TIDS 1024u
#define PAGES	  4096u /* the kernel has 4 Mi thread ids at most */

struct comms {
	char (*pages[PAGES])[COMMS_BYTES]; /* owned */
};

static void learn(struct comms *comms, int32_t tid, const char *comm)
{
	uint32_t page = (uint32_t)tid / PAGE_TIDS;

	if (!comm || tid <= 0 || page >= PAGES)
		return;
	if (__builtin_expect(!comms->pages[page], 0))
		comms->pages[page] = xcalloc(PAGE_TIDS, COMMS_BYTES);
	/* What stands behind a terminator is copied along, and does not matter. */
	memcpy(comms->pages[page][(uint32_t)tid % PAGE_TIDS], comm, COMMS_BYTES);
}

static void learn_short(struct comms *comms, int32_t tid, const char *comm)
{
	char name[COMMS_BYTES] = "";

	if (!comm)
		return;
	memcpy(name, comm, strnlen(comm, COMMS_BYTES));
	learn(comms, tid, name);
}

struct comms *comms_new(const struct facts *facts)
{
	struct comms *comms = xcalloc(1, sizeof(*comms));

	for (size_t i = 0; i < facts->comm_count; i++)
		learn_short(comms, (int32_t)facts->comms[i].nr, facts->comms[i].name);
	for (size_t i = 0; i < facts->thread_count; i++)
		learn_short(comms, facts->threads[i].tid, facts->threads[i].comm);
	return comms;
}

void comms_free(struct comms *comms)
{
	if (!comms)
		return;
	for (size_t i = 0; i < PAGES; i++)
		free(comms->pages[i]);
	free(comms);
}

void comms_feed(struct comms *comms, const struct event *ev)
{
	switch (ev->type) {
	case EV_SCHED_SWITCH:
		if (ev->sched_switch.prev_comm)
			learn(comms, ev->sched_switch.prev_tid, ev->sched_switch.prev_comm);
		if (ev->sched_switch.next_comm)
			learn(comms, ev->sched_switch.next_tid, ev->sched_switch.next_comm);
		break;
	case EV_SCHED_WAKING:
	case EV_SCHED_WAKEUP:
	case EV_SCHED_WAKEUP_NEW:
		if (ev->wake.comm)
			learn(comms, ev->wake.tid, ev->wake.comm);
		break;
	case EV_SCHED_FORK:
	case EV_TASK_NEW:
	case EV_TASK_RENAME:
		learn_short(comms, ev->task.tid, ev->task.comm);
		break;
	default:
		break;
	}
}

/* NULL = not known */
static const char *comms_find_name(const struct comms *comms, int32_t tid)
{
	static const char idle[COMMS_BYTES] = "<idle>";
	uint32_t page = (uint32_t)tid / PAGE_TIDS;
	const char *name;

	if (tid == 0)
		return idle;
	if (tid < 0 || page >= PAGES || !comms->pages[page])
		return NULL;
	name = comms->pages[page][(uint32_t)tid % PAGE_TIDS];
	return name[0] ? name : NULL;
}

const char *comms_find(const struct comms *comms, int32_t tid)
{
	static const char unknown[COMMS_BYTES] = "<...>";
	const char *name = comms_find_name(comms, tid);

	return name ? name : unknown;
}

bool comms_knows(const struct comms *comms, int32_t tid)
{
	return comms_find_name(comms, tid) != NULL;
}
