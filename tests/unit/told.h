/*
 * told.h - replay a trace in text and tell the answers in text, for one-line checks.
 *
 *	struct told *told = replayed("0 cpu0 switch 0(runnable) 7\n" ...);
 *
 *	assert_string_equal(track_of(told, 7), "0 running, 10 blocked, 40 queued/0 - 60");
 *	assert_string_equal(verdict_of(told, 7), "timer 7 30 nanosleep; working 7 10 running");
 *	told_free(told);
 *
 * Every replay checks the invariants of timeline_check.h. Strings live until told_free().
 *
 * Words of a track: none ?lost ?start ?switch ?order ?waking running user SYSCALL fault
 * kernel work:FN irq:NAME vector:NAME softirq:NAME preempted/CPU queued/CPU blocked
 */
#ifndef TOLD_H
#define TOLD_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/why.h"
#include "base/err.h"
#include "report/why_reason.h"
#include "state/state.h"
#include "text_trace.h"
#include "timeline/timeline.h"
#include "timeline_check.h"

struct told {
	struct text_trace *trace;
	struct timeline *tl;
	struct why why;
	bool has_why;
};

/* The words of a reason; "" for none. Valid until eight more were asked for. */
static inline const char *told_reason(const struct why_reason *reason)
{
	static char texts[8][512];
	static unsigned int next;
	char *text = texts[next++ % 8], *words = report_why_reason(reason);

	snprintf(text, sizeof(texts[0]), "%s", words);
	free(words);
	return text;
}

static inline struct told *told_trace(struct text_trace *trace)
{
	struct told *told = xcalloc(1, sizeof(*told));
	struct err err = { 0 };
	char text[FAULT_BYTES];
	const char *wrong;

	told->trace = trace;
	if (state_run(&trace->source, &trace->facts, NULL, NULL, &told->tl, &err) < 0)
		fail_msg("%s", err.text);
	wrong = timeline_fault(told->tl, text);
	if (wrong)
		fail_msg("%s", wrong);
	return told;
}

static inline struct told *replayed(const char *text)
{
	return told_trace(text_trace_of(text));
}

static inline void told_free(struct told *told)
{
	if (told->has_why)
		why_fini(&told->why);
	timeline_free(told->tl);
	text_trace_free(told->trace);
	free(told);
}

/* A growing text that lives as long as the trace. */
static inline const char *told_keep(struct told *told, char *text)
{
	return facts_take(&told->trace->facts, text);
}

static inline uint32_t slot_of(struct told *told, int32_t tid)
{
	uint32_t slot = timeline_find_thread(told->tl, tid, UINT64_MAX);

	if (slot == SLOT_NONE)
		fail_msg("no thread %d", tid);
	return slot;
}

static inline const struct tl_thread *thread_of(struct told *told, int32_t tid)
{
	return told->tl->threads[slot_of(told, tid)];
}

static inline const char *word_text(struct told *told, uint32_t word)
{
	static const char *const unsure[] = { "?lost",	"?start",   "?switch",
					      "?order", "?damaged", "?waking" };
	static const char *const plain[WORD_KIND_COUNT] = {
		[WORD_NONE] = "none",	    [WORD_RUN] = "running",   [WORD_USER] = "user",
		[WORD_TRAP] = "fault",	    [WORD_KERNEL] = "kernel", [WORD_IDLE] = "idle",
		[WORD_BLOCKED] = "blocked",
	};
	uint32_t arg = word_arg(word);
	const char *name = timeline_name(told->tl, arg);

	switch (word_kind(word)) {
	case WORD_UNCERTAIN:
		return arg < ARRAY_LEN(unsure) ? unsure[arg] : "?";
	case WORD_SYSCALL:
		name = facts_syscall(&told->trace->facts, arg & 0xffff, arg & WORD_COMPAT);
		return name ? name : told_keep(told, xasprintf("call%u", arg));
	case WORD_WORK:
		return told_keep(told, xasprintf("work:%s", name));
	case WORD_IRQ:
		return told_keep(told, xasprintf("irq:%s", name));
	case WORD_VECTOR:
		return told_keep(told, xasprintf("vector:%s", arg < ARRAY_LEN(tt_vectors) - 1
								      ? tt_vectors[arg]
								      : "?"));
	case WORD_SOFTIRQ:
		return told_keep(told, xasprintf("softirq:%s", arg < ARRAY_LEN(tt_softirqs) - 1
								       ? tt_softirqs[arg]
								       : "?"));
	case WORD_PREEMPTED:
		return told_keep(told, xasprintf("preempted/%u", arg));
	case WORD_WAIT_CPU:
		return told_keep(told, xasprintf("queued/%u", arg));
	default:
		return word_kind(word) < WORD_KIND_COUNT ? plain[word_kind(word)] : "?";
	}
}

static inline void told_add(char **text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static inline void told_add(char **text, const char *format, ...)
{
	AUTO_FREE char *more = NULL;
	char *both;
	va_list args;

	va_start(args, format);
	if (vasprintf(&more, format, args) < 0)
		abort();
	va_end(args);
	both = xasprintf("%s%s", *text ? *text : "", more);
	free(*text);
	*text = both;
}

/* The life of the thread in 'slot': "START WORD, START WORD ... - END". */
static inline const char *track_of_slot(struct told *told, uint32_t slot)
{
	const struct tl_thread *thread = told->tl->threads[slot];
	struct tl_iter iter;
	struct tl_interval in;
	const char *before = "";
	char *text = NULL;

	tl_iter_begin(&iter, told->tl, &thread->track, thread->birth_ns, thread->death_ns);
	while (tl_iter_next(&iter, &in)) {
		const char *word = word_text(told, in.word);

		/* Two waits in a row are two; anything else that repeats is one. */
		if (strcmp(before, word) != 0 || word_kind(in.word) == WORD_BLOCKED)
			told_add(&text, "%s%" PRIu64 " %s", text ? ", " : "", in.start_ns, word);
		before = word;
	}
	told_add(&text, " - %" PRIu64, thread->death_ns);
	return told_keep(told, text);
}

/* The same of the last thread that had 'tid'. */
static inline const char *track_of(struct told *told, int32_t tid)
{
	return track_of_slot(told, slot_of(told, tid));
}

/* Who had the CPU: "START TID ... - END"; '?' = not known. */
static inline const char *cpu_of(struct told *told, uint32_t cpu)
{
	struct tl_iter iter;
	struct tl_interval in;
	uint32_t before = SLOT_NONE - 1;
	char *text = NULL;

	tl_iter_begin(&iter, told->tl, told->tl->cpus[cpu], told->tl->origin_ns, told->tl->end_ns);
	while (tl_iter_next(&iter, &in)) {
		if (in.word == before)
			continue;
		before = in.word;
		told_add(&text, "%s%" PRIu64 " ", text ? ", " : "", in.start_ns);
		if (in.word == SLOT_NONE)
			told_add(&text, "?");
		else
			told_add(&text, "%d", told->tl->threads[in.word]->tid);
	}
	told_add(&text, " - %" PRIu64, told->tl->end_ns);
	return told_keep(told, text);
}

static inline uint64_t spent_ns(struct told *told, int32_t tid, enum wib wib)
{
	struct tl_iter iter;
	struct tl_interval in;
	uint64_t ns = 0;

	tl_iter_begin(&iter, told->tl, &thread_of(told, tid)->track, told->tl->origin_ns,
		      told->tl->end_ns);
	while (tl_iter_next(&iter, &in))
		ns += word_wib(in.word) == wib ? in.end_ns - in.start_ns : 0;
	return ns;
}

/* -------------------------------------------------------------------- waits */

static inline const struct wait *wait_of(struct told *told, int32_t tid, uint32_t index)
{
	const struct tl_thread *thread = thread_of(told, tid);

	if (index >= thread->wait_count)
		fail_msg("thread %d has %u waits", tid, thread->wait_count);
	return &thread->waits[index];
}

static inline const char *object_of(struct told *told, int32_t tid, uint32_t index)
{
	return timeline_name(told->tl, wait_of(told, tid, index)->object);
}

/* "KIND [TID] [NAME]": "thread 8", "timer 7 hrtimer_wakeup", "disk vda read". */
static inline const char *actor_text(struct told *told, const struct actor *actor)
{
	static const char *const kinds[] = { "none",	"thread", "timer", "disk",
					     "network", "ipi",	  "irq",   "softirq" };
	char *text = NULL;

	told_add(&text, "%s", kinds[actor->kind]);
	if (actor->slot != SLOT_NONE)
		told_add(&text, " %d", told->tl->threads[actor->slot]->tid);
	if (actor->name)
		told_add(&text, " %s", timeline_name(told->tl, actor->name));
	return told_keep(told, text);
}

/* "BEGIN-WOKEN in WORD by ACTOR": "10-40 in read by thread 8". */
static inline const char *wait_text(struct told *told, int32_t tid, uint32_t index)
{
	const struct wait *wait = wait_of(told, tid, index);

	return told_keep(told, xasprintf("%" PRIu64 "-%" PRIu64 " in %s by %s", wait->begin_ns,
					 wait->woken_ns, word_text(told, wait->in),
					 actor_text(told, &wait->waker)));
}

/* ------------------------------------------------------------------ answers */

static inline const struct why *why_of(struct told *told, const struct why_opts *opts)
{
	struct err err = { 0 };
	char text[FAULT_BYTES];
	const char *wrong;

	if (told->has_why)
		why_fini(&told->why);
	told->has_why = false;
	if (why_run(told->tl, &told->trace->facts, opts, &told->why, &err) < 0)
		fail_msg("%s", err.text);
	told->has_why = true;
	wrong = why_fault(&told->why, text);
	if (wrong)
		fail_msg("%s", wrong);
	return &told->why;
}

/* Explain 'tid' over [start, end); 0, 0 = its life. */
static inline const struct why *explained(struct told *told, int32_t tid, uint64_t start_ns,
					  uint64_t end_ns)
{
	return why_of(told, &(struct why_opts){
				    .slot = slot_of(told, tid),
				    .start_ns = start_ns,
				    .end_ns = end_ns,
				    .want_waits = true,
			    });
}

/* The roots of the last answer: "KIND TID NS WHAT [OBJECT]; ...", largest first. */
static inline const char *roots_text(struct told *told)
{
	char *text = NULL;

	for (size_t i = 0; i < told->why.root_count; i++) {
		const struct why_root *root = &told->why.roots[i];

		told_add(&text, "%s%s %d %" PRIu64 " %s%s%s", i ? "; " : "",
			 why_kind_name(root->kind), root->who.tid, root->ns,
			 *root->what ? root->what : told_reason(root->what_data),
			 *root->what && root->why ? ": " : "", told_reason(root->why));
		if (*root->object)
			told_add(&text, " [%s]", root->object);
	}
	return told_keep(told, text);
}

static inline const char *verdict_in(struct told *told, int32_t tid, uint64_t start_ns,
				     uint64_t end_ns)
{
	(void)explained(told, tid, start_ns, end_ns);
	return roots_text(told);
}

static inline const char *verdict_of(struct told *told, int32_t tid)
{
	return verdict_in(told, tid, 0, 0);
}

/* The chain of the last answer: "TID WHAT NS, ...", target first. */
static inline const char *chain_text(struct told *told)
{
	char *text = NULL;

	for (size_t i = 0; i < told->why.chain_count; i++) {
		const struct why_hop *hop = &told->why.chain[i];

		told_add(&text, "%s%d %s %" PRIu64, i ? ", " : "", hop->who.tid,
			 *hop->what ? hop->what : told_reason(hop->what_data), hop->ns);
	}
	return text ? told_keep(told, text) : "";
}

/* The causality of the last answer: "DEPTH:TID START-END KIND, ...". */
static inline const char *waits_text(struct told *told)
{
	char *text = NULL;

	for (size_t i = 0; i < told->why.wait_count; i++) {
		const struct why_wait *wait = &told->why.waits[i];

		told_add(&text, "%s%u:%d %" PRIu64 "-%" PRIu64 " %s", i ? ", " : "", wait->depth,
			 wait->who.tid, wait->start_ns, wait->end_ns, why_waker_name(wait->waker));
	}
	return text ? told_keep(told, text) : "";
}

/* The lines of the last answer, one per depth mark: "Working 10; -user 10; ...". */
static inline const char *lines_text(struct told *told)
{
	char *text = NULL;

	for (size_t i = 0; i < told->why.line_count; i++) {
		const struct why_line *line = &told->why.lines[i];

		told_add(&text, "%s%.*s%s %" PRIu64 " x%" PRIu64, i ? "; " : "", (int)line->depth,
			 "---", line->name, line->ns, line->count);
	}
	return told_keep(told, text);
}

#endif
