/* scene_events.c - what single events tell: system calls, interrupts, disk requests, losses. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "event/comms.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "export/scene_int.h"
#include "export/words.h"
#include "read/read.h"

#define IRQ_DEPTH    16u    /* interrupts within interrupts on one CPU */
#define BLOCK_FLIGHT 65536u /* requests known to be in flight; then all are forgotten */

/* The system call that a thread is in. */
struct call {
	int64_t nr;
	bool compat;
	bool is_open;
	bool is_seen; /* an event told of one already */
};

struct irq {
	uint8_t entry; /* enum event_type */
	int32_t nr;
	char name[EXPORT_NAME_BYTES];
};

struct cpu {
	struct irq irqs[IRQ_DEPTH];
	uint32_t depth;
};

struct walk {
	struct scene *scene;
	const struct timeline *tl;
	struct scene_user *user;
	struct comms *comms;
	struct call *calls; /* owned; by slot */
	struct cpu *cpus;   /* owned; by CPU */
	uint32_t cpu_count;
	struct map flight; /* requests on their way to a device */
	uint64_t lost;
	bool has_waking; /* this trace has sched_waking */
};

static uint32_t scene_events_slot_of(const struct walk *walk, int32_t tid, uint64_t time_ns)
{
	return tid > 0 ? timeline_find_thread(walk->tl, tid, time_ns) : SLOT_NONE;
}

/* ------------------------------------------------------------------- system calls */

static void scene_events_put_call(struct walk *walk, uint32_t slot, uint64_t time_ns, bool is_begin,
				  const struct event *event)
{
	static const char *const names[6] = { "arg0", "arg1", "arg2", "arg3", "arg4", "arg5" };
	const struct call *call = &walk->calls[slot];
	char buffer[EXPORT_NAME_BYTES];
	struct scene_arg args[6];
	struct scene_mark mark = {
		.track = { SCENE_THREAD, slot },
		.time_ns = time_ns,
		.name = export_call_name(walk->scene->job->facts, call->nr, call->compat, buffer),
		.category = "syscall",
		.args = args,
	};

	if (is_begin && event) {
		for (size_t i = 0; i < ARRAY_LEN(names); i++)
			args[i] = (struct scene_arg){ names[i], SCENE_U64, event->syscall.args[i],
						      NULL };
		mark.arg_count = ARRAY_LEN(names);
	} else if (event) {
		args[0] =
			(struct scene_arg){ "ret", SCENE_I64, (uint64_t)event->syscall.ret, NULL };
		mark.arg_count = 1;
	}
	(is_begin ? walk->scene->ops->begin : walk->scene->ops->end)(walk->scene->context, &mark);
}

static void scene_events_end_call(struct walk *walk, uint32_t slot, uint64_t time_ns,
				  const struct event *event)
{
	if (walk->calls[slot].is_open)
		scene_events_put_call(walk, slot, time_ns, false, event);
	walk->calls[slot].is_open = false;
}

static void on_enter(struct walk *walk, const struct event *event, uint32_t slot)
{
	struct call *call = &walk->calls[slot];

	scene_events_end_call(walk, slot, event->time_ns, NULL); /* its end was not recorded */
	*call = (struct call){ event->syscall.nr, event->syscall.compat, true, true };
	scene_events_put_call(walk, slot, event->time_ns, true, event);
}

/* A call that began before the window, or before the recording. */
static void begin_late(struct walk *walk, uint32_t slot, int64_t nr, bool compat)
{
	uint64_t birth_ns = walk->tl->threads[slot]->birth_ns;
	uint64_t start_ns = walk->scene->job->start_ns;

	walk->calls[slot] = (struct call){ nr, compat, true, true };
	scene_events_put_call(walk, slot, birth_ns > start_ns ? birth_ns : start_ns, true, NULL);
}

static void on_exit_call(struct walk *walk, const struct event *event, uint32_t slot)
{
	struct call *call = &walk->calls[slot];

	if (!call->is_seen && event->syscall.nr >= 0)
		begin_late(walk, slot, event->syscall.nr, event->syscall.compat);
	scene_events_end_call(walk, slot, event->time_ns, event);
	call->is_seen = true;
}

/* Nothing was told of its calls: what it was in, as far as the timeline knows. */
static void show_unseen(struct walk *walk, uint32_t slot)
{
	const struct export_job *job = walk->scene->job;
	const struct tl_thread *thread = walk->tl->threads[slot];
	uint64_t from_ns = thread->birth_ns > job->start_ns ? thread->birth_ns : job->start_ns;
	uint32_t word;
	struct wait wait;

	if (thread->tid == 0 || from_ns >= job->end_ns || thread->death_ns <= from_ns)
		return;
	word = timeline_state_at(walk->tl, slot, from_ns);
	if (word_kind(word) == WORD_BLOCKED) {
		timeline_wait(walk->tl, slot, word_arg(word), &wait);
		word = wait.in;
	}
	if (word_kind(word) == WORD_SYSCALL)
		begin_late(walk, slot, word_call(word) & ~WORD_COMPAT, word & WORD_COMPAT);
}

static void end_calls(struct walk *walk)
{
	for (uint32_t slot = 0; slot < walk->tl->thread_count; slot++) {
		const struct tl_thread *thread = walk->tl->threads[slot];
		uint64_t end_ns = walk->scene->job->end_ns;

		if (!export_is_chosen(walk->scene->job, slot))
			continue;
		if (!walk->calls[slot].is_seen)
			show_unseen(walk, slot);
		scene_events_end_call(walk, slot,
				      thread->death_ns < end_ns ? thread->death_ns : end_ns, NULL);
	}
}

static void on_fault(struct walk *walk, const struct event *event, uint32_t slot)
{
	const struct scene_arg args[] = {
		{ "address", SCENE_U64, event->fault.address, NULL },
		{ "ip", SCENE_U64, event->fault.ip, NULL },
		{ "error_code", SCENE_U64, event->fault.error_code, NULL },
	};
	const struct scene_mark mark = {
		.track = { SCENE_THREAD, slot },
		.time_ns = event->time_ns,
		.name = event->type == EV_FAULT_USER ? "page fault" : "page fault in the kernel",
		.category = "fault",
		.args = args,
		.arg_count = ARRAY_LEN(args),
	};

	walk->scene->ops->instant(walk->scene->context, &mark);
}

/* --------------------------------------------------------------------- interrupts */

static void put_irq(struct walk *walk, uint32_t cpu, const struct irq *irq, uint64_t time_ns,
		    bool is_begin)
{
	const struct scene_mark mark = {
		.track = { SCENE_IRQ, cpu },
		.time_ns = time_ns,
		.name = irq->name,
		.category = "irq",
	};

	(is_begin ? walk->scene->ops->begin : walk->scene->ops->end)(walk->scene->context, &mark);
}

static void name_irq(struct irq *irq, const struct event *event)
{
	const char *name;

	if (event->type == EV_IRQ_ENTRY) {
		(void)snprintf(irq->name, sizeof(irq->name), "irq %d%s%.40s", event->irq.nr,
			       event->irq.name ? " " : "", event->irq.name ? event->irq.name : "");
		return;
	}
	name = event->type == EV_SOFTIRQ_ENTRY ? event_softirq_name((uint32_t)event->irq.nr)
					       : event_vector_name((uint32_t)event->irq.nr);
	(void)snprintf(irq->name, sizeof(irq->name), "%s%s",
		       event->type == EV_SOFTIRQ_ENTRY ? "softirq " : "",
		       name ? name : "that has no name");
}

static void scene_events_on_irq_entry(struct walk *walk, const struct event *event)
{
	struct cpu *cpu;
	struct irq *irq;

	if (event->cpu >= walk->cpu_count)
		return;
	cpu = &walk->cpus[event->cpu];
	if (cpu->depth == IRQ_DEPTH)
		return;
	irq = &cpu->irqs[cpu->depth++];
	irq->entry = event->type;
	irq->nr = event->irq.nr;
	name_irq(irq, event);
	put_irq(walk, event->cpu, irq, event->time_ns, true);
}

static void end_irqs(struct walk *walk, uint32_t cpu_number, uint32_t depth, uint64_t time_ns)
{
	struct cpu *cpu;

	if (cpu_number >= walk->cpu_count)
		return;
	cpu = &walk->cpus[cpu_number];
	while (cpu->depth > depth)
		put_irq(walk, cpu_number, &cpu->irqs[--cpu->depth], time_ns, false);
}

/* The innermost one of its kind ends, and what stands open in it. */
static void scene_events_on_irq_exit(struct walk *walk, const struct event *event, uint8_t entry)
{
	uint32_t depth = event->cpu < walk->cpu_count ? walk->cpus[event->cpu].depth : 0;

	for (; depth > 0; depth--) {
		const struct irq *irq = &walk->cpus[event->cpu].irqs[depth - 1];

		if (irq->entry == entry && irq->nr == event->irq.nr) {
			end_irqs(walk, event->cpu, depth - 1, event->time_ns);
			return;
		}
	}
}

/* ------------------------------------------------------------------ disk requests */

static void count_flight(struct walk *walk, const struct event *event)
{
	uint64_t key = (uint64_t)event->block.dev << 44 ^ ev_block_start(&event->block);
	size_t before = walk->flight.count;

	if (event->type == EV_BLOCK_ISSUE)
		map_put(&walk->flight, key, 1);
	else
		(void)map_remove(&walk->flight, key);
	if (walk->flight.count > BLOCK_FLIGHT) {
		map_fini(&walk->flight);
		walk->flight = (struct map){ 0 };
	}
	if (walk->flight.count != before)
		walk->scene->ops->counter(walk->scene->context, SCENE_BLOCK, 0, event->time_ns,
					  walk->flight.count);
}

/* ------------------------------------------------------------------------- losses */

static void scene_events_on_lost(struct walk *walk, const struct event *event)
{
	struct scene *scene = walk->scene;
	bool is_user = event->context & EV_CTX_USER;
	uint64_t since_ns = event->lost.since_ns;
	char name[64] = "events lost, not known how many";
	const struct scene_arg arg = { "count", SCENE_U64, event->lost.count, NULL };
	struct scene_mark mark = {
		.track = { SCENE_LOST, event->cpu },
		.name = name,
		.category = is_user ? "lost by programs" : "lost",
		.args = &arg,
		.arg_count = event->lost.count ? 1 : 0,
	};

	if (event->lost.count)
		(void)snprintf(name, sizeof(name), "%" PRIu64 " events lost%s", event->lost.count,
			       is_user ? " by a program" : "");
	mark.time_ns = since_ns > scene->job->start_ns ? since_ns : scene->job->start_ns;
	/* Those of programs may overlap. */
	if (is_user || mark.time_ns >= event->time_ns) {
		mark.time_ns = event->time_ns;
		scene->ops->instant(scene->context, &mark);
	} else {
		scene->ops->begin(scene->context, &mark);
		mark.time_ns = event->time_ns;
		mark.arg_count = 0;
		scene->ops->end(scene->context, &mark);
	}
	walk->lost += event->lost.count ? event->lost.count : 1;
	scene->ops->counter(scene->context, SCENE_LOST_EVENTS, 0, event->time_ns, walk->lost);
	if (!is_user)
		end_irqs(walk, event->cpu, 0, mark.time_ns);
}

/* --------------------------------------------------------------------- wake-ups */

static void scene_events_on_waking(struct walk *walk, const struct event *event)
{
	char comm[COMMS_BYTES + 1] = "";
	struct scene_wake wake = {
		.time_ns = event->time_ns,
		.cpu = event->cpu,
		.target =
			event->wake.target_cpu >= 0 ? (uint32_t)event->wake.target_cpu : event->cpu,
		.waker_tid = event->tid,
		.tid = event->wake.tid,
		.comm = comm,
		.in_hardirq = event->context & EV_CTX_HARDIRQ,
		.in_softirq = event->context & EV_CTX_SOFTIRQ,
	};

	memcpy(comm, comms_find(walk->comms, event->wake.tid), COMMS_BYTES);
	walk->scene->ops->wake(walk->scene->context, &wake);
}

/* ------------------------------------------------------------------------ the walk */

/* Where an event that is known by its fields alone is shown. */
static struct scene_track scene_events_track_of(const struct event *event, uint32_t slot)
{
	if (slot != SLOT_NONE)
		return (struct scene_track){ SCENE_USER, slot };
	if (event->tid > 0)
		return (struct scene_track){ SCENE_USER, SCENE_STRAY | (uint32_t)event->tid };
	return (struct scene_track){ SCENE_EVENTS, event->cpu };
}

/* What is about a thread. */
static void feed_thread(struct walk *walk, const struct event *event)
{
	uint32_t slot = scene_events_slot_of(walk, event->tid, event->time_ns);
	bool is_known = slot != SLOT_NONE;

	if (is_known ? !export_is_chosen(walk->scene->job, slot) : !!walk->scene->job->chosen)
		return;
	switch (event->type) {
	case EV_SYS_ENTER:
		if (is_known)
			on_enter(walk, event, slot);
		break;
	case EV_SYS_EXIT:
		if (is_known)
			on_exit_call(walk, event, slot);
		break;
	case EV_FAULT_USER:
	case EV_FAULT_KERNEL:
		if (is_known)
			on_fault(walk, event, slot);
		break;
	default:
		scene_user_feed(walk->user, event, scene_events_track_of(event, slot));
		break;
	}
}

static void scene_feed(struct walk *walk, const struct event *event)
{
	struct scene *scene = walk->scene;

	switch (event->type) {
	case EV_SYS_ENTER:
	case EV_SYS_EXIT:
	case EV_FAULT_USER:
	case EV_FAULT_KERNEL:
	case EV_OTHER:
	case EV_USER_LOCK:
		feed_thread(walk, event);
		break;
	case EV_IRQ_ENTRY:
	case EV_VECTOR_ENTRY:
	case EV_SOFTIRQ_ENTRY:
		scene_events_on_irq_entry(walk, event);
		break;
	case EV_IRQ_EXIT:
	case EV_VECTOR_EXIT:
	case EV_SOFTIRQ_EXIT:
		scene_events_on_irq_exit(walk, event,
					 event->type == EV_IRQ_EXIT	 ? EV_IRQ_ENTRY
					 : event->type == EV_VECTOR_EXIT ? EV_VECTOR_ENTRY
									 : EV_SOFTIRQ_ENTRY);
		break;
	case EV_BLOCK_ISSUE:
	case EV_BLOCK_COMPLETE:
		count_flight(walk, event);
		break;
	case EV_SCHED_WAKING:
		walk->has_waking = true;
		scene_events_on_waking(walk, event);
		break;
	case EV_SCHED_WAKEUP: /* follows upon the other, where that one is recorded */
		if (!walk->has_waking)
			scene_events_on_waking(walk, event);
		break;
	case EV_SCHED_FORK:
		if (scene->ops->made)
			scene->ops->made(scene->context, event,
					 scene_events_slot_of(walk, event->task.tid,
							      event->time_ns));
		break;
	case EV_LOST:
		scene_events_on_lost(walk, event);
		break;
	default:
		break;
	}
}

static int scene_events_feed_all(struct walk *walk, struct err *err)
{
	const struct export_job *job = walk->scene->job;
	struct source *source = trace_source(job->trace);
	const struct event *event;
	int rc;

	trace_keep_records(job->trace, true);
	rc = source_seek(source, job->start_ns, err);
	if (rc < 0)
		return rc;
	while ((rc = source_next(source, &event, err)) > 0 && event->time_ns <= job->end_ns) {
		comms_feed(walk->comms, event);
		scene_feed(walk, event);
		if (scene_failed(walk->scene))
			return 0;
	}
	return rc < 0 ? err_wrap(err, "reading events") : 0;
}

int scene_events(struct scene *scene, struct err *err)
{
	const struct export_job *job = scene->job;
	const struct timeline *tl = job->timeline;
	struct walk *walk = xcalloc(1, sizeof(*walk));
	int rc;

	walk->scene = scene;
	walk->tl = tl;
	walk->cpu_count = tl->cpu_count > job->facts->cpu_count ? tl->cpu_count
								: (uint32_t)job->facts->cpu_count;
	if (walk->cpu_count > UINT16_MAX)
		walk->cpu_count = UINT16_MAX + 1;
	walk->calls = xcalloc(tl->thread_count ? tl->thread_count : 1, sizeof(struct call));
	walk->cpus = xcalloc(walk->cpu_count ? walk->cpu_count : 1, sizeof(struct cpu));
	walk->comms = comms_new(job->facts);
	walk->user = scene_user_new(scene);
	rc = scene_events_feed_all(walk, err);
	if (rc == 0) {
		end_calls(walk);
		for (uint32_t cpu = 0; cpu < walk->cpu_count; cpu++)
			end_irqs(walk, cpu, 0, job->end_ns);
	}
	scene_user_free(walk->user);
	comms_free(walk->comms);
	map_fini(&walk->flight);
	free(walk->cpus);
	free(walk->calls);
	free(walk);
	return rc;
}
