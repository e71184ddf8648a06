/*
 * verify.c - all events of a trace, and what is common to the checks.
 */
#include "analyse/verify/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/verify/verify_int.h"
#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"

#define PROGRESS_MASK 0xfffffu
#define BROKEN_EACH   (VERIFY_MAX_BROKEN / VERIFY_CHECKS) /* kept of one check */

const char *verify_check_key(enum verify_check check)
{
	static const char *const keys[VERIFY_CHECKS] = {
		[VERIFY_ORDER] = "time_order", [VERIFY_STREAMS] = "streams",
		[VERIFY_EVENTS] = "events",    [VERIFY_GAPS] = "gaps",
		[VERIFY_LIFE] = "life",	       [VERIFY_WINDOWS] = "windows",
		[VERIFY_TOTALS] = "totals",    [VERIFY_WAITS] = "waits",
		[VERIFY_EDGES] = "edges",      [VERIFY_CPUS] = "cpus",
		[VERIFY_THREADS] = "threads",  [VERIFY_VERDICT] = "verdict",
	};

	return (unsigned int)check < VERIFY_CHECKS ? keys[check] : "";
}

void verify_done(struct verify *verify, enum verify_check check)
{
	verify->checks[check].done++;
}

void verify_fail(struct verify *verify, const struct verify_broken *broken)
{
	if (verify->checks[broken->check].failed++ >= BROKEN_EACH)
		return;
	verify->broken = vec_room(verify->broken, verify->broken_count, &verify->broken_cap,
				  sizeof(*verify->broken));
	verify->broken[verify->broken_count++] = *broken;
}

struct verify_who verify_who(const struct timeline *tl, uint32_t slot)
{
	const struct tl_thread *thread = slot < tl->thread_count ? tl->threads[slot] : NULL;
	struct verify_who who = { .number = slot };

	if (!thread)
		return who;
	who.is_thread = true;
	who.tid = thread->tid;
	who.number = thread->idle_cpu;
	(void)snprintf(who.comm, sizeof(who.comm), "%.16s", timeline_comm(tl, slot));
	return who;
}

uint64_t verify_random(uint64_t *state, uint64_t below)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return below ? (*state >> 3) % below : 0;
}

void verify_fini(struct verify *verify)
{
	free(verify->broken);
	free(verify->cpus);
	free(verify->holes);
	free(verify->index_damage);
	*verify = (struct verify){ 0 };
}

uint64_t verify_lost(const struct verify *verify)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < verify->cpu_count; i++)
		lost += verify->cpus[i].lost;
	return lost;
}

uint64_t verify_unknown(const struct verify *verify)
{
	uint64_t unknown = 0;

	for (size_t i = 0; i < verify->cpu_count; i++)
		unknown += verify->cpus[i].unknown;
	return unknown;
}

uint64_t verify_packets(const struct verify *verify)
{
	uint64_t packets = 0;

	for (size_t i = 0; i < verify->cpu_count; i++)
		packets += verify->cpus[i].packets;
	return packets;
}

uint64_t verify_unread(const struct verify *verify, const struct facts *facts)
{
	uint64_t unread = 0;

	for (size_t i = 0; i < verify->cpu_count && i < facts->cpu_count; i++) {
		if (facts->cpus[i].events > verify->cpus[i].events)
			unread += facts->cpus[i].events - verify->cpus[i].events;
	}
	return unread;
}

bool verify_is_broken(const struct verify *verify)
{
	for (size_t i = 0; i < VERIFY_CHECKS; i++) {
		if (verify->checks[i].failed)
			return true;
	}
	return false;
}

bool verify_is_whole(const struct verify *verify, const struct facts *facts)
{
	return facts->complete && facts->damage_count == 0 && !verify->index_damage &&
	       verify_lost(verify) == 0 && verify_unknown(verify) == 0 && !verify_is_broken(verify);
}

/* --------------------------------------------------------------------- events */

static struct verify_cpu *cpu_of(struct verify *verify, uint32_t cpu)
{
	size_t count = (size_t)cpu + 1;

	if (count > verify->cpu_count) {
		verify->cpus =
			vec_grow(verify->cpus, verify->cpu_count, count, sizeof(*verify->cpus));
		verify->cpu_count = count;
	}
	return &verify->cpus[cpu];
}

static void take_hole(struct verify *verify, const struct event *ev)
{
	struct verify_cpu *cpu = cpu_of(verify, ev->cpu);
	uint64_t since = ev->lost.since_ns < ev->time_ns ? ev->lost.since_ns : ev->time_ns;

	/* They touch at most: what was seen in between was not lost. */
	if (since < cpu->hole_until_ns)
		since = cpu->hole_until_ns;
	if (ev->lost.is_step && ev->lost.since_ns >= ev->time_ns) {
		verify->steps++;
		return;
	}
	cpu->holes++;
	cpu->lost += ev->lost.count;
	cpu->unknown += ev->lost.count == 0 && !ev->lost.is_step;
	cpu->packets += ev->lost.packets;
	cpu->hole_ns += ev->time_ns - since;
	cpu->hole_until_ns = ev->time_ns;
	if (verify->hole_count == VERIFY_MAX_HOLES)
		return;
	verify->holes = vec_room(verify->holes, verify->hole_count, &verify->hole_cap,
				 sizeof(*verify->holes));
	verify->holes[verify->hole_count++] =
		(struct verify_hole){ since, ev->time_ns, ev->lost.count, ev->cpu,
				      ev->lost.is_step };
}

static void verify_take_event(struct verify *verify, const struct facts *facts,
			      const struct event *ev)
{
	struct verify_cpu *cpu;

	/* A name that was learnt beside the streams belongs to none of them. */
	if (ev->type == EV_FD_NAME || ev->context & EV_CTX_USER || /* not of the kernel's counts */
	    (ev->type == EV_BLOCKED_IN && facts->has_calls_beside))
		return;
	cpu = cpu_of(verify, ev->cpu);
	verify_done(verify, VERIFY_ORDER);
	if (ev->time_ns < cpu->last_ns) {
		verify_fail(verify,
			    &(struct verify_broken){ VERIFY_ORDER, FAULT_TIME_BACK, .cpu = ev->cpu,
						     .number = { cpu->last_ns - ev->time_ns } });
		if (cpu->last_ns - ev->time_ns > cpu->back_ns)
			cpu->back_ns = cpu->last_ns - ev->time_ns;
	} else {
		cpu->last_ns = ev->time_ns;
	}
	if (ev->type == EV_LOST) {
		take_hole(verify, ev);
		return;
	}
	cpu->events++;
	verify->events++;
	verify->early += ev->time_ns < facts->first_ns;
}

/* The kernel's counts are final when the recorder came to its end. */
static void compare_streams(const struct facts *facts, struct verify *verify)
{
	for (size_t i = 0; i < facts->cpu_count; i++) {
		const struct verify_cpu *cpu = cpu_of(verify, (uint32_t)i);
		uint64_t told = facts->cpus[i].events;

		if (!told || !facts->complete || cpu->holes)
			continue;
		verify_done(verify, VERIFY_STREAMS);
		if (cpu->events != told)
			verify_fail(verify,
				    &(struct verify_broken){ VERIFY_STREAMS, FAULT_EVENT_COUNT,
							     .cpu = (uint32_t)i,
							     .number = { cpu->events, told } });
	}
}

int verify_events(struct source *source, const struct facts *facts,
		  const struct verify_progress *progress, struct verify *out_verify,
		  struct err *err)
{
	const struct event *ev;
	uint32_t count = 0;
	int rc = source_seek(source, 0, err);

	if (rc < 0)
		return rc;
	while ((rc = source_next(source, &ev, err)) > 0) {
		verify_take_event(out_verify, facts, ev);
		if ((++count & PROGRESS_MASK) == 0 && progress && progress->say)
			progress->say(progress->context, ev->time_ns);
	}
	if (rc < 0)
		return err_wrap(err, "reading the events");
	compare_streams(facts, out_verify);
	return 0;
}

/* ------------------------------------------------------------------- timeline */

/* It is made of what was read: as many events, the same holes. */
static void compare_events(const struct timeline *tl, struct verify *verify)
{
	uint64_t holes = 0, usable = verify->events - verify->early;

	for (size_t i = 0; i < verify->cpu_count; i++)
		holes += verify->cpus[i].holes;
	usable += holes + verify->steps;
	verify_done(verify, VERIFY_EVENTS);
	/* Names of descriptors are events, too; what cannot be used is a contradiction. */
	if (tl->events + tl->contradictions < usable)
		verify_fail(verify, &(struct verify_broken){ VERIFY_EVENTS, FAULT_TIMELINE_COUNT,
							     .number = { tl->events, usable } });
	verify->checks[VERIFY_GAPS].done += holes;
	if (tl->gap_count != holes)
		verify_fail(verify, &(struct verify_broken){ VERIFY_GAPS, FAULT_HOLE_COUNT,
							     .number = { tl->gap_count, holes } });
}

static void compare_gaps(const struct timeline *tl, struct verify *verify)
{
	size_t count = verify->hole_count < tl->gap_count ? verify->hole_count : tl->gap_count;

	for (size_t i = 0; i < count; i++) {
		const struct verify_hole *hole = &verify->holes[i];
		const struct tl_gap *gap = &tl->gaps[i];

		if (gap->cpu != hole->cpu || gap->until_ns != hole->until_ns ||
		    gap->lost != hole->lost || gap->since_ns > gap->until_ns)
			verify_fail(verify, &(struct verify_broken){
						    VERIFY_GAPS, FAULT_HOLE_CPU, .cpu = gap->cpu,
						    .other_cpu = hole->cpu, .number = { i } });
	}
}

void verify_timeline(const struct timeline *timeline, const struct facts *facts,
		     const struct verify_progress *progress, struct verify *verify)
{
	const char *damage;

	verify->origin_ns = timeline->origin_ns;
	compare_events(timeline, verify);
	compare_gaps(timeline, verify);
	verify_threads(timeline, progress, verify);
	verify_cpus(timeline, progress, verify);
	/* A verdict on what contradicts itself proves nothing. */
	if (!verify_is_broken(verify))
		verify_verdicts(timeline, facts, verify);
	verify->threads = timeline->thread_count;
	verify->repairs = timeline->repairs;
	verify->repairs_exact = timeline->repairs_exact;
	verify->contradictions = timeline->contradictions;
	damage = timeline_damage(timeline);
	if (damage && !verify->index_damage)
		verify->index_damage = xstrdup(damage);
}
