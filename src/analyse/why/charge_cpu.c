/*
 * charge_cpu.c - time in which a thread could run, and an interrupt or another thread did: charged to these.
 *
 * Who calls sched_yield() is not preempted: it gave up its CPU, and waits for one from then on. That is known where
 * it is in that call when it comes back.
 */
#include <stdio.h>
#include <string.h>

#include "analyse/why/charge_add.h"
#include "analyse/why/why_int.h"
#include "base/names.h"

/* include/linux/sched/prio.h */
#define PRIO_REAL_TIME 99
#define PRIO_NICE      100
#define PRIO_USUAL     120

uint32_t charge_unknown(struct charger *charger, const struct place *place, uint32_t slot,
			enum why_reason_kind why, uint64_t ns)
{
	return charge_add(charger, place,
			  (struct root){
				  .kind = WHY_UNKNOWN,
				  .slot = slot,
				  .reason = charge_reason(charger, why),
			  },
			  ns);
}

void charge_irq(struct charger *charger, const struct place *place, const struct tl_interval *in)
{
	(void)charge_add(charger, place,
			 (struct root){
				 .kind = word_kind(in->word) == WORD_SOFTIRQ ? WHY_SOFTIRQ
									     : WHY_IRQ,
				 .slot = SLOT_NONE,
				 .what = charge_word_text(charger, in->word),
			 },
			 in->end_ns - in->start_ns);
}

/* Who had no CPU meanwhile; from some number on it is nobody in particular. */
static void add_kept_off(struct root *root, uint32_t slot, uint64_t ns)
{
	bool known = root->part_count < KEPT_OFF_MAX;

	for (size_t i = 0; i < root->part_count && !known; i++)
		known = root->parts[i].id == slot;
	charge_part(root, known ? slot : SLOT_NONE, ns);
}

/* The CPU was idle: held back, for a reason, or about to take the thread. */
static struct root idle_root(struct charger *charger, uint32_t slot, const struct tl_interval *in)
{
	const struct why_reason *reason = query_idle(charger->query, slot, in);

	return (struct root){
		.kind = WHY_CPU_QUEUE,
		.slot = SLOT_NONE,
		.what = reason ? 0 : charge_what(charger, "wake-up of an idle CPU"),
		.reason = why_reason_id(reason),
	};
}

static void put_scheduled(char *out, size_t room, uint8_t sched_as)
{
	int prio = sched_as - SCHED_AS;

	if (sched_as == SCHED_AS_IDLE)
		snprintf(out, room, "SCHED_IDLE");
	else if (prio < 0)
		snprintf(out, room, "SCHED_DEADLINE");
	else if (prio < PRIO_NICE)
		snprintf(out, room, "real-time priority %d", PRIO_REAL_TIME - prio);
	else
		snprintf(out, room, "nice %d", prio - PRIO_USUAL);
}

/*
 * How both were scheduled, where that is not the same: who had the CPU comes before who waited. Where both are in
 * different groups their nice values do not tell who does, so that this is told as it is, and no cause.
 */
static uint32_t scheduled(struct charger *charger, uint32_t waits, uint32_t runs, uint64_t since_ns)
{
	const struct tl_thread *waiter = charger->query->tl->threads[waits];
	const struct tl_thread *runner = charger->query->tl->threads[runs];
	uint32_t key = (uint32_t)runner->sched_as << 8 | waiter->sched_as;
	char name[32], object[32];

	/* The lower one comes first; the stoppers and so on, of the kernel, are always before all. */
	if (!waiter->sched_as || !runner->sched_as || runner->sched_as >= waiter->sched_as ||
	    runner->sched_as == SCHED_AS || waiter->sched_as_ns > since_ns ||
	    runner->sched_as_ns > since_ns)
		return 0;
	if (charger->scheduled_key != key) {
		struct why_reason reason = { .kind = WHY_REASON_SCHEDULED };

		put_scheduled(name, sizeof(name), runner->sched_as);
		put_scheduled(object, sizeof(object), waiter->sched_as);
		reason.name = name;
		reason.object = object;
		charger->scheduled_key = key;
		charger->scheduled = why_reason_id(why_reason_keep(charger->query->why, &reason));
	}
	return charger->scheduled;
}

/* It may not use all CPUs, so that it waits for this one. */
static uint32_t allowed(struct charger *charger, uint32_t waits, uint64_t since_ns)
{
	const struct tl_thread *waiter = charger->query->tl->threads[waits];

	if (!waiter->allowed || waiter->allowed_ns > since_ns)
		return 0;
	if (charger->allowed_key != waiter->allowed) {
		struct why_reason reason = {
			.kind = WHY_REASON_ALLOWED,
			.name = timeline_name(charger->query->tl, waiter->allowed),
		};

		charger->allowed_key = waiter->allowed;
		charger->allowed = why_reason_id(why_reason_keep(charger->query->why, &reason));
	}
	return charger->allowed;
}

/* Did it give up its CPU itself? */
static bool gave_way(struct query *query, uint32_t slot, const struct tl_interval *in)
{
	struct tl_interval next;
	struct tl_iter iter;

	tl_iter_thread(&iter, query->tl, slot, in->end_ns, query_known_ns(query, slot));
	while (tl_iter_entry(&iter, &next)) {
		if (word_kind(next.word) == WORD_SYSCALL)
			return strcmp(describe_word(query, word_plain(next.word)), "sched_yield") ==
			       0;
		if (word_wib(next.word) != WIB_INTERRUPTED)
			break;
	}
	return false;
}

/* Runnable without a CPU: whoever had it. */
void charge_queue(struct charger *charger, const struct place *place, uint32_t slot,
		  const struct tl_interval *in)
{
	const struct timeline *tl = charger->query->tl;
	bool yielded = word_kind(in->word) == WORD_PREEMPTED && gave_way(charger->query, slot, in);
	bool preempted = word_kind(in->word) == WORD_PREEMPTED && !yielded;
	uint32_t cpu = word_arg(in->word);
	struct root idle = { .kind = WHY_KIND_COUNT };
	struct tl_iter iter;
	struct tl_interval ran;

	if (cpu >= tl->cpu_count) {
		(void)charge_unknown(charger, place, slot, WHY_REASON_CPU_UNKNOWN,
				     in->end_ns - in->start_ns);
		return;
	}
	tl_iter_begin(&iter, tl, tl->cpus[cpu], in->start_ns, in->end_ns);
	while (tl_iter_next(&iter, &ran)) {
		struct root root = { .kind = preempted ? WHY_PREEMPTED : WHY_CPU_QUEUE,
				     .slot = ran.word };
		uint32_t index;

		if (ran.word >= tl->thread_count || ran.word == slot) {
			root = (struct root){ .kind = WHY_CPU_QUEUE, .slot = SLOT_NONE };
			root.what = charge_what(charger, "CPU queue");
		} else if (tl->threads[ran.word]->tid == 0) {
			if (idle.kind == WHY_KIND_COUNT)
				idle = idle_root(charger, slot, in);
			root = idle;
		} else {
			root.what = charge_what(charger, "ran instead");
			root.reason = yielded ? charge_reason(charger, WHY_REASON_GAVE_WAY)
					      : scheduled(charger, slot, ran.word, ran.start_ns);
			if (!root.reason)
				root.reason = allowed(charger, slot, ran.start_ns);
		}
		index = charge_add(charger, place, root, ran.end_ns - ran.start_ns);
		if (root.slot != SLOT_NONE)
			code_work(charger->query, &charger->roots[index], root.slot, &ran);
		if (place->depth > 0)
			add_kept_off(&charger->roots[index], slot, ran.end_ns - ran.start_ns);
	}
}
