/* states.c - walk the track of a thread and say what each interval is. */
#include "analyse/stats/states.h"

#include <errno.h>

#include "analyse/why/why_int.h"
#include "base/err.h"
#include "base/mem.h"

#define TEXTS_MAX 4096 /* strings kept for the words before they are thrown away */

static int32_t queue_of(uint32_t word)
{
	enum word_kind kind = word_kind(word);

	return kind == WORD_PREEMPTED || kind == WORD_WAIT_CPU ? (int32_t)word_arg(word) : -1;
}

static void fill_wait(struct query *query, uint32_t slot, struct states_span *span, uint32_t word)
{
	struct wait wait;
	bool ended;

	timeline_wait(query->tl, slot, word_arg(word), &wait);
	ended = wait.woken_ns != 0;
	span->is_wait = true;
	span->state = describe_in(query, &wait);
	span->wait = (struct why_wait){
		.start_ns = span->start_ns,
		.end_ns = span->end_ns,
		.who = why_thread(query, slot),
		.in = span->state,
		.in_call = word_is_call(query, wait.in),
		.object = describe_object(query, slot, &wait),
		.stack = why_keep(query->why, xstrdup(timeline_name(query->tl, wait.stack))),
		.class = wait_class(query, slot, &wait),
		.waker = wait_waker(query, slot, word, &wait),
		.woken_by = why_thread(query, ended ? wait.waker.slot : SLOT_NONE),
		.waker_name = ended ? describe_actor(query, &wait.waker) : "",
		.waker_state = ended ? describe_stack(query, &wait.waker) : "",
		.waker_in = ended ? describe_innermost(query, &wait.waker) : "",
		.waker_in_call = ended && actor_in_call(query, &wait.waker),
		.parent = -1,
	};
}

int states_window(const struct timeline *timeline, struct states_opts *opts, struct err *err)
{
	const struct tl_thread *thread = timeline->threads[opts->slot];
	int rc = coverage_window(timeline, &opts->start_ns, &opts->end_ns, err);

	if (rc < 0)
		return rc;
	if (thread->birth_ns >= opts->end_ns || thread->death_ns <= opts->start_ns)
		return err_set(err, -EINVAL, "%s[%d] did not exist in the window",
			       timeline_comm(timeline, opts->slot), thread->tid);
	if (opts->start_ns < thread->birth_ns)
		opts->start_ns = thread->birth_ns;
	if (opts->end_ns > thread->death_ns)
		opts->end_ns = thread->death_ns;
	return 0;
}

void states_run(const struct timeline *timeline, const struct facts *facts,
		const struct states_opts *opts,
		void (*each)(void *context, const struct states_span *span), void *context,
		struct states_sum *out_sum)
{
	const struct tl_thread *thread = timeline->threads[opts->slot];
	struct why why = { 0 };
	struct query query = { .tl = timeline, .facts = facts, .why = &why };
	struct tl_iter iter;
	struct tl_interval in;

	*out_sum = (struct states_sum){
		.who = { thread->tid, thread->tgid, timeline_comm(timeline, opts->slot) },
		.start_ns = opts->start_ns,
		.end_ns = opts->end_ns,
	};
	tl_iter_begin(&iter, timeline, &thread->track, opts->start_ns, opts->end_ns);
	while (tl_iter_next(&iter, &in)) {
		struct states_span span = { .start_ns = in.start_ns,
					    .end_ns = in.end_ns,
					    .wib = word_wib(in.word),
					    .cpu = queue_of(in.word) };

		if (opts->max && out_sum->count == opts->max) {
			out_sum->more = true;
			break;
		}
		if (word_kind(in.word) == WORD_BLOCKED)
			fill_wait(&query, opts->slot, &span, in.word);
		else
			span.state = describe_word(&query, in.word);
		each(context, &span);
		out_sum->count++;
		out_sum->ns += in.end_ns - in.start_ns;
		if (why.texts.count > TEXTS_MAX)
			names_fini(&why.texts);
	}
	names_fini(&why.texts);
	out_sum->coverage = coverage_of(timeline, opts->start_ns, opts->end_ns);
}
