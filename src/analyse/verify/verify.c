/*
 * verify.c - all events of a trace, and what is common to the checks.
 */
#include "analyse/verify/verify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/verify/verify_int.h"
#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"

#define PROGRESS_MASK 0xfffffu
#define BROKEN_EACH   (VERIFY_MAX_BROKEN / VERIFY_CHECKS) /* sentences kept of one check */

static const struct {
	const char *key, *name;
} check_words[VERIFY_CHECKS] = {
	[VERIFY_ORDER] = { "time_order", "time does not go back within a stream" },
	[VERIFY_STREAMS] = { "streams", "a stream without holes has all that was recorded" },
	[VERIFY_EVENTS] = { "events", "the timeline was made of these events" },
	[VERIFY_GAPS] = { "gaps", "the timeline knows each hole of the streams" },
	[VERIFY_LIFE] = { "life", "the states of a thread touch and are its life" },
	[VERIFY_WINDOWS] = { "windows",
			     "working + interrupted + blocked + uncertain = the window" },
	[VERIFY_TOTALS] = { "totals", "stored sums are the sums of the intervals" },
	[VERIFY_WAITS] = { "waits", "a wait has its interval, its end and a waker that lived" },
	[VERIFY_EDGES] = { "edges", "a wake-up and the wait that it ended agree" },
	[VERIFY_CPUS] = { "cpus", "the thread that a CPU names runs, and on no other CPU" },
	[VERIFY_THREADS] = { "threads", "a thread that runs is named by its CPU" },
	[VERIFY_VERDICT] = { "verdict", "what a window is charged to is the window" },
};

const char *verify_check_key(enum verify_check check)
{
	return (unsigned int)check < VERIFY_CHECKS ? check_words[check].key : "";
}

const char *verify_check_name(enum verify_check check)
{
	return (unsigned int)check < VERIFY_CHECKS ? check_words[check].name : "";
}

void verify_done(struct verify *verify, enum verify_check check)
{
	verify->checks[check].done++;
}

void verify_fail(struct verify *verify, enum verify_check check, const char *format, ...)
{
	struct verify_broken broken = { .check = check };
	va_list args;

	if (verify->checks[check].failed++ >= BROKEN_EACH)
		return;
	va_start(args, format);
	if (vasprintf(&broken.text, format, args) < 0)
		broken.text = xstrdup("out of memory for the words");
	va_end(args);
	verify->broken = vec_room(verify->broken, verify->broken_count, &verify->broken_cap,
				  sizeof(*verify->broken));
	verify->broken[verify->broken_count++] = broken;
}

struct verify_name verify_name(const struct timeline *tl, uint32_t slot)
{
	struct verify_name name;
	const struct tl_thread *thread = slot < tl->thread_count ? tl->threads[slot] : NULL;

	if (!thread)
		(void)snprintf(name.s, sizeof(name.s), "thread number %u", slot);
	else if (thread->tid == 0)
		(void)snprintf(name.s, sizeof(name.s), "idle task of CPU %u", thread->idle_cpu);
	else
		(void)snprintf(name.s, sizeof(name.s), "%.16s[%d]", timeline_comm(tl, slot),
			       thread->tid);
	return name;
}

struct text verify_when(const struct timeline *tl, uint64_t time_ns)
{
	bool before = time_ns < tl->origin_ns;
	uint64_t ns = before ? tl->origin_ns - time_ns : time_ns - tl->origin_ns;
	struct text text;

	(void)snprintf(text.s, sizeof(text.s), "%c%" PRIu64 ".%09" PRIu64 " s", before ? '-' : '+',
		       ns / 1000000000u, ns % 1000000000u);
	return text;
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
	for (size_t i = 0; i < verify->broken_count; i++)
		free(verify->broken[i].text);
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
		verify_fail(verify, VERIFY_ORDER, "on CPU %u time goes back by %s", ev->cpu,
			    text_duration(cpu->last_ns - ev->time_ns).s);
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
			verify_fail(verify, VERIFY_STREAMS,
				    "of CPU %zu %s events are read, but %s were recorded", i,
				    text_count(cpu->events).s, text_count(told).s);
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
		verify_fail(verify, VERIFY_EVENTS, "it was made of %s events, but there are %s",
			    text_count(tl->events).s, text_count(usable).s);
	verify->checks[VERIFY_GAPS].done += holes;
	if (tl->gap_count != holes)
		verify_fail(verify, VERIFY_GAPS, "the timeline has %s holes, the streams have %s",
			    text_count(tl->gap_count).s, text_count(holes).s);
}

static void compare_gaps(const struct timeline *tl, struct verify *verify)
{
	size_t count = verify->hole_count < tl->gap_count ? verify->hole_count : tl->gap_count;

	for (size_t i = 0; i < count; i++) {
		const struct verify_hole *hole = &verify->holes[i];
		const struct tl_gap *gap = &tl->gaps[i];

		if (gap->cpu != hole->cpu || gap->until_ns != hole->until_ns ||
		    gap->lost != hole->lost || gap->since_ns > gap->until_ns)
			verify_fail(
				verify, VERIFY_GAPS,
				"hole %zu: the timeline has one on CPU %u, the streams on CPU %u",
				i, gap->cpu, hole->cpu);
	}
}

void verify_timeline(const struct timeline *timeline, const struct facts *facts,
		     const struct verify_progress *progress, struct verify *verify)
{
	const char *damage;

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
