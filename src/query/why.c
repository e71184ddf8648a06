/* why.c - what held a thread up, as rows that the caller may keep. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why.h"
#include "analyse/why/process.h"
#include "ask/explain.h"
#include "base/mem.h"
#include "base/names.h"
#include "event/facts.h"
#include "query/read_int.h"
#include "report/why_reason.h"

#define WORDS_MAX 65536

struct hr_why {
	struct hr_trace *trace; /* for what is wrong */
	struct names words;	/* of reasons that were asked for */
	struct explanation answer;
	const struct why *why;	   /* the one result */
	const struct why *details; /* of whom the chain is */
};

_Static_assert((int)HR_CAUSE_WORKING == (int)WHY_WORKING && (int)HR_CAUSE_TIMER == (int)WHY_TIMER &&
		       (int)HR_CAUSE_STUCK == (int)WHY_STUCK &&
		       (int)HR_CAUSE_THROTTLED == (int)WHY_THROTTLED,
	       "kinds of causes are those of why");
_Static_assert((int)HR_WAIT_CLASS_HELD_UP == (int)WHY_HELD_UP &&
		       (int)HR_WAIT_CLASS_RUNS == (int)WHY_RUNS,
	       "classes of waits are those of why");

const char *hr_cause_kind_name(enum hr_cause_kind kind)
{
	return (unsigned int)kind < WHY_KIND_COUNT ? why_kind_name((enum why_kind)kind) : "";
}

const char *hr_wait_class_name(enum hr_wait_class wait_class)
{
	return (unsigned int)wait_class <= HR_WAIT_CLASS_RUNS
		       ? why_wait_class_name((enum why_class)wait_class)
		       : "";
}

static struct hr_who who_of(const struct why_thread *thread)
{
	return (struct hr_who){ .comm = read_text(thread->comm), thread->tid, thread->tgid };
}

/* Valid until hr_why_free(). */
static const char *words_of(struct hr_why *why, const char *words)
{
	return read_text(names_text(&why->words, names_add(&why->words, words, WORDS_MAX)));
}

static const char *reason_text(struct hr_why *why, const struct why_reason *reason)
{
	AUTO_FREE char *words = report_why_reason(reason);

	return words_of(why, words);
}

/* --------------------------------------------------------------------------- asked */

/* Options of a newer version are refused when they ask for something. */
static int take_options(struct hr_trace *trace, const struct hr_why_options *options,
			struct hr_why_options *out)
{
	const uint8_t *bytes = (const uint8_t *)options;
	int rc = read_check_size(trace, options, sizeof(*out));

	if (rc < 0)
		return rc;
	for (size_t i = sizeof(*out); i < options->struct_size; i++) {
		if (bytes[i])
			return err_set(&trace->err, -E2BIG,
				       "the options are those of a newer version");
	}
	if (options->whole_process > 1)
		return err_set(&trace->err, -EINVAL, "whole_process is %u, not 0 or 1",
			       options->whole_process);
	*out = *options;
	return 0;
}

/* A window that was not given is that of the thread, as the command takes it. */
static int take_window(struct hr_trace *trace, const struct hr_why_options *options,
		       struct explain_opts *opts)
{
	if (options->start_ns >= options->end_ns)
		return err_set(&trace->err, -EINVAL, "the window ends before it starts");
	if (options->start_ns)
		opts->from = (struct when){ .kind = WHEN_TRACE_CLOCK, .ns = options->start_ns };
	if (options->end_ns != HR_LAST)
		opts->to = (struct when){ .kind = WHEN_TRACE_CLOCK, .ns = options->end_ns };
	return 0;
}

static int take_thread(struct hr_trace *trace, const struct hr_why_options *options,
		       struct explain_opts *opts)
{
	uint32_t thread = options->thread == HR_NONE ? hr_command_thread(trace) : options->thread;
	int rc;

	if (thread == HR_NONE)
		return err_set(&trace->err, -EINVAL,
			       "this recording is not of a command, and no thread was named");
	rc = read_check_thread(trace, thread);
	if (rc < 0)
		return rc;
	opts->target.at_slot = thread + 1;
	if (options->whole_process)
		opts->target.pid = trace->loaded.timeline->threads[thread]->tgid;
	return 0;
}

/* What programs told is read with the first question. */
static void learn_beside(struct hr_trace *trace)
{
	if (!trace->path || trace->has_beside)
		return;
	beside_read(trace->path, trace->loaded.facts, &trace->beside);
	trace->has_beside = true;
}

static int hr_explain(struct hr_trace *trace, const struct explain_opts *opts,
		      struct explanation *out_answer)
{
	int rc = trace->path ? explain_refuse(trace->path, &trace->err) : 0;

	if (rc < 0)
		return rc;
	learn_beside(trace);
	rc = explain_loaded(&trace->loaded, &trace->beside, opts, out_answer, &trace->err);
	if (timeline_damage(trace->loaded.timeline)) {
		if (rc == 0)
			explanation_fini(out_answer);
		return read_check_damage(trace);
	}
	return rc;
}

int hr_why_new(struct hr_trace *trace, const struct hr_why_options *options,
	       struct hr_why **out_why)
{
	struct hr_why_options taken = { .struct_size = sizeof(taken),
					.end_ns = HR_LAST,
					.thread = HR_NONE };
	struct explain_opts opts = { 0 };
	struct explanation answer;
	int rc = options ? take_options(trace, options, &taken) : 0;

	if (rc == 0)
		rc = take_window(trace, &taken, &opts);
	if (rc == 0)
		rc = take_thread(trace, &taken, &opts);
	if (rc == 0)
		rc = hr_explain(trace, &opts, &answer);
	if (rc < 0)
		return rc;
	*out_why = xcalloc(1, sizeof(**out_why));
	(*out_why)->trace = trace;
	(*out_why)->answer = answer;
	(*out_why)->why = &answer.results[0];
	(*out_why)->details =
		answer.results[0].process ? &answer.results[0].process->told : &answer.results[0];
	return 0;
}

void hr_why_free(struct hr_why *why)
{
	if (!why)
		return;
	explanation_fini(&why->answer);
	names_fini(&why->words);
	free(why);
}

/* ------------------------------------------------------------------------- answers */

int hr_why_sum_get(struct hr_why *why, struct hr_why_sum *out_sum)
{
	const struct why *from = why->why;
	int rc = read_check_size(why->trace, out_sum, sizeof(*out_sum));
	struct hr_why_sum sum;

	if (rc < 0)
		return rc;
	sum = (struct hr_why_sum){
		.start_ns = from->start_ns,
		.end_ns = from->end_ns,
		.working_ns = from->working_ns,
		.interrupted_ns = from->interrupted_ns,
		.blocked_ns = from->blocked_ns,
		.uncertain_ns = from->uncertain_ns,
		.held_up_ns = from->held_up_ns,
		.asked_ns = from->asked_ns,
		.idle_ns = from->idle_ns,
		.causes_ns = from->class_ns,
		.lost_events = from->lost_events,
		.target = who_of(&from->target),
		.threads = from->process ? (uint32_t)from->process->added : 1,
	};
	read_give(out_sum, &sum, sizeof(sum));
	return 0;
}

uint32_t hr_cause_count(const struct hr_why *why)
{
	return (uint32_t)why->why->root_count;
}

int hr_cause_get(struct hr_why *why, uint32_t index, struct hr_cause *out_cause)
{
	int rc = read_check_row(why->trace, out_cause, sizeof(*out_cause), index,
				why->why->root_count);
	const struct why_root *root;
	AUTO_FREE char *what = NULL, *object = NULL;
	struct hr_cause cause;

	if (rc < 0)
		return rc;
	root = &why->why->roots[index];
	what = report_why_what(root);
	object = report_why_object(root->object, root->objects);
	cause = (struct hr_cause){
		.ns = root->ns,
		.count = root->count,
		.longest_ns = root->longest_ns,
		.told_ns = root->told_ns,
		.who = who_of(&root->who),
		.kept_off = who_of(&root->kept_off),
		.works_for = who_of(&root->client),
		.what = words_of(why, what),
		.object = words_of(why, object),
		.why = reason_text(why, root->why),
		.inferred = reason_text(why, root->inferred),
		.told = read_text(root->told),
		.kind = root->kind,
		.wait_class = root->class,
		.timed_out = root->timed_out,
	};
	read_give(out_cause, &cause, sizeof(cause));
	return 0;
}

uint32_t hr_hop_count(const struct hr_why *why)
{
	return (uint32_t)why->details->chain_count;
}

static struct hr_hop hop_of(struct hr_why *why, const struct why_hop *hop)
{
	AUTO_FREE char *did = report_why_hop_did(hop);
	AUTO_FREE char *object = report_why_object(hop->object, hop->objects);
	AUTO_FREE char *woken_by = report_why_named(hop->woken_by, hop->woken_by_data);

	return (struct hr_hop){
		.ns = hop->ns,
		.count = hop->count,
		.slices = hop->slices,
		.who = who_of(&hop->who),
		.waker = who_of(&hop->waker),
		.owner = who_of(&hop->owner),
		.holder = who_of(&hop->holder),
		.expects = who_of(&hop->expects),
		.answerer = who_of(&hop->answerer),
		.what = words_of(why, did),
		.object = words_of(why, object),
		.woken_by = words_of(why, woken_by),
		.lock = read_text(hop->lock),
		.holding = read_text(hop->holding),
		.instead = reason_text(why, hop->instead),
		.inferred = reason_text(why, hop->inferred),
		.helper = reason_text(why, hop->helper),
		.told = read_text(hop->told),
		.waker_told = read_text(hop->waker_told),
		.is_known = hop->known,
	};
}

int hr_hop_get(struct hr_why *why, uint32_t index, struct hr_hop *out_hop)
{
	int rc = read_check_row(why->trace, out_hop, sizeof(*out_hop), index,
				why->details->chain_count);
	struct hr_hop hop;

	if (rc < 0)
		return rc;
	hop = hop_of(why, &why->details->chain[index]);
	read_give(out_hop, &hop, sizeof(hop));
	return 0;
}
