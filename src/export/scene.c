/* scene.c - what the timeline tells: who ran, who waited for what, who woke whom. */
#include "export/scene.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/locks/lock_owner.h"
#include "analyse/locks/lock_track.h"
#include "analyse/stats/states.h"
#include "base/err.h"
#include "base/mem.h"
#include "event/facts.h"
#include "event/stacks.h"
#include "export/code.h"
#include "export/scene_int.h"
#include "export/words.h"
#include "report/vocabulary.h"

const char *scene_counter_name(enum scene_counter counter)
{
	static const char *const names[SCENE_COUNTERS] = {
		[SCENE_RUNNABLE] = "runnable threads",
		[SCENE_BLOCK] = "disk requests in flight",
		[SCENE_LOST_EVENTS] = "events lost",
	};

	return names[counter];
}

struct scene_thread scene_thread_of(const struct timeline *tl, uint32_t id)
{
	const struct tl_thread *thread;

	if (id & SCENE_STRAY)
		return (struct scene_thread){ "", (int32_t)(id & ~SCENE_STRAY),
					      (int32_t)(id & ~SCENE_STRAY) };
	if (id >= tl->thread_count)
		return (struct scene_thread){ "", 0, 0 };
	thread = tl->threads[id];
	return (struct scene_thread){
		.comm = timeline_comm(tl, id),
		.tid = thread->tid,
		.tgid = thread->tgid > 0 ? thread->tgid : thread->tid,
	};
}

/* ----------------------------------------------------------------------- CPUs */

/* Did a hole on the CPU end at or before 'until_ns'? From hole *gap on, which is moved. */
static bool passes_gap(const struct timeline *tl, uint32_t cpu, uint64_t until_ns, size_t *gap)
{
	bool passed = false;

	for (; *gap < tl->gap_count && tl->gaps[*gap].until_ns <= until_ns; (*gap)++)
		passed |= tl->gaps[*gap].cpu == cpu;
	return passed;
}

static bool sleeps_hard(const struct timeline *tl, uint32_t slot, uint32_t word)
{
	struct wait wait;

	if (word_kind(word) != WORD_BLOCKED)
		return false;
	timeline_wait(tl, slot, word_arg(word), &wait);
	return wait.flags & WAIT_DISK_SLEEP;
}

static void show_cpu(struct scene *scene, uint32_t cpu)
{
	const struct export_job *job = scene->job;
	const struct timeline *tl = job->timeline;
	uint32_t before = SLOT_NONE;
	struct tl_iter iter;
	struct tl_interval in;
	size_t gap = 0;

	(void)passes_gap(tl, cpu, job->start_ns, &gap);
	tl_iter_begin(&iter, tl, tl->cpus[cpu], job->start_ns, job->end_ns);
	while (tl_iter_next(&iter, &in) && !scene_failed(scene)) {
		struct scene_run run = {
			.cpu = cpu,
			.start_ns = in.start_ns,
			.end_ns = in.end_ns,
			.slot = in.word < tl->thread_count ? in.word : SLOT_NONE,
			.before = before,
		};

		if (before == SLOT_NONE && run.slot == SLOT_NONE)
			continue; /* nothing is known of this CPU yet */
		if (before != SLOT_NONE) {
			run.before_word = timeline_state_at(tl, before, in.start_ns);
			run.before_sleeps_hard = sleeps_hard(tl, before, run.before_word);
		}
		run.lost = passes_gap(tl, cpu, in.start_ns, &gap);
		scene->ops->run(scene->context, &run);
		before = run.slot;
	}
}

/* ---------------------------------------------------------------------- waits */

#define WAIT_ARGS 14

struct waits {
	struct scene *scene;
	uint32_t slot;
};

static struct scene_arg text_arg(const char *name, const char *text)
{
	return (struct scene_arg){ .name = name, .kind = SCENE_TEXT, .text = text };
}

static struct scene_arg number_arg(const char *name, int64_t number)
{
	return (struct scene_arg){ .name = name, .kind = SCENE_I64, .number = (uint64_t)number };
}

/* A slice of the thread's waits that has no others in it. */
static void show_slice(const struct waits *waits, const struct states_span *span, const char *name,
		       const struct scene_arg *args, size_t arg_count)
{
	struct scene *scene = waits->scene;
	struct scene_mark mark = {
		.track = { SCENE_WAITS, waits->slot },
		.time_ns = span->start_ns,
		.name = name,
		.category = report_wib_name(span->wib),
		.args = args,
		.arg_count = arg_count,
	};

	scene->ops->begin(scene->context, &mark);
	mark.time_ns = span->end_ns;
	mark.args = NULL;
	mark.arg_count = 0;
	scene->ops->end(scene->context, &mark);
}

/* Who had the lock, as slices within the wait. */
static void show_owners(const struct waits *waits, const struct states_span *span,
			const struct lock_owner_wait *lock)
{
	struct scene *scene = waits->scene;
	const struct timeline *tl = scene->job->timeline;

	for (size_t i = 0; i < lock->span_count; i++) {
		struct lock_span owned = lock_owner_span(lock, i, span->start_ns, span->end_ns);
		uint32_t slot = SLOT_NONE;
		char name[96] = "held by a thread that is not known";
		struct scene_mark mark = {
			.track = { SCENE_WAITS, waits->slot },
			.time_ns = owned.start_ns,
			.name = name,
			.category = "lock",
		};

		if (owned.start_ns >= owned.end_ns)
			continue;
		if (owned.owner_tid > 0)
			slot = timeline_find_thread(tl, owned.owner_tid, owned.start_ns);
		if (owned.owner_tid == LOCK_OWNER_NOBODY)
			(void)snprintf(name, sizeof(name), "held by nobody");
		else if (owned.owner_tid > 0)
			(void)snprintf(name, sizeof(name), "held by %s[%d]",
				       slot == SLOT_NONE ? "" : timeline_comm(tl, slot),
				       owned.owner_tid);
		scene->ops->begin(scene->context, &mark);
		mark.time_ns = owned.end_ns;
		scene->ops->end(scene->context, &mark);
	}
}

/* An arrow from the thread that ended the wait to the one that waited. */
static void show_edge(const struct waits *waits, const struct states_span *span)
{
	struct scene *scene = waits->scene;
	const struct timeline *tl = scene->job->timeline;
	uint32_t word = timeline_state_at(tl, waits->slot, span->start_ns);
	AUTO_FREE char *out_name = NULL, *in_name = NULL;
	struct scene_mark mark = { .category = "wake-up" };
	struct scene_thread waker, woken = scene_thread_of(tl, waits->slot);
	struct wait wait;

	if (word_kind(word) != WORD_BLOCKED)
		return;
	timeline_wait(tl, waits->slot, word_arg(word), &wait);
	if (wait.woken_ns != span->end_ns || wait.waker.slot >= tl->thread_count ||
	    (wait.waker.kind != ACTOR_THREAD && wait.waker.kind != ACTOR_NETWORK))
		return;
	waker = scene_thread_of(tl, wait.waker.slot);
	if (waker.tid == 0)
		return;
	out_name = xasprintf("wakes %s[%d]", woken.comm, woken.tid);
	in_name = xasprintf("woken by %s[%d]", waker.comm, waker.tid);
	mark.time_ns = wait.woken_ns;
	mark.track = (struct scene_track){ SCENE_THREAD, wait.waker.slot };
	mark.name = out_name;
	mark.flow_out = ++scene->flow;
	scene->ops->instant(scene->context, &mark);
	mark.track.id = waits->slot;
	mark.name = in_name;
	mark.flow_in = mark.flow_out;
	mark.flow_out = 0;
	scene->ops->instant(scene->context, &mark);
}

static size_t wait_args(const struct why_wait *wait, struct scene_arg args[WAIT_ARGS])
{
	size_t count = 0;

	args[count++] = text_arg("in", wait->in);
	if (*wait->object)
		args[count++] = text_arg("for", wait->object);
	args[count++] = text_arg("class", export_class_name(wait->class));
	args[count++] = text_arg("woken by", why_waker_name(wait->waker));
	if (wait->woken_by.tid) {
		args[count++] = text_arg("waker", wait->woken_by.comm);
		args[count++] = number_arg("waker tid", wait->woken_by.tid);
	}
	if (*wait->waker_name)
		args[count++] = text_arg("waker name", wait->waker_name);
	if (*wait->waker_state)
		args[count++] = text_arg("waker in", wait->waker_state);
	if (*wait->stack)
		args[count++] = text_arg("kernel stack", wait->stack);
	return count;
}

/* "wait_first;read", the innermost last; NULL = no stack is known. */
static char *wait_code(const struct export_job *job, uint32_t slot, const struct states_span *span,
		       char **out_place)
{
	const struct stacks *stacks = job->facts->stacks;
	uint32_t id = stacks ? stacks_find(stacks, job->timeline->threads[slot]->tid,
					   span->start_ns, span->end_ns)
			     : STACK_NONE;
	char *text = NULL;

	if (id == STACK_NONE)
		return NULL;
	for (uint32_t i = stacks->stacks[id].count; i-- > 0;) {
		AUTO_FREE char *name = code_frame_text(stacks_frame(stacks, id, i));
		char *longer = xasprintf("%s%s%s", text ? text : "", text ? ";" : "", name);

		free(text);
		text = longer;
	}
	if (stacks->stacks[id].place != FRAME_NONE)
		*out_place = code_frame_text(stacks_frame(stacks, id, stacks->stacks[id].place));
	return text;
}

static void show_blocked(const struct waits *waits, const struct states_span *span)
{
	struct scene *scene = waits->scene;
	const struct timeline *tl = scene->job->timeline;
	const struct why_wait *wait = &span->wait;
	struct scene_mark mark = { .track = { SCENE_WAITS, waits->slot },
				   .time_ns = span->start_ns,
				   .category = report_wib_name(span->wib) };
	struct scene_arg args[WAIT_ARGS];
	AUTO_FREE char *name =
		xasprintf("%s%s%s", wait->in, *wait->object ? ": " : "", wait->object);
	AUTO_FREE char *locked = NULL, *place = NULL;
	AUTO_FREE char *code = wait_code(scene->job, waits->slot, span, &place);
	struct lock_owner_wait lock;
	bool is_lock = scene->job->locks &&
		       lock_owners_find(scene->job->locks, tl->threads[waits->slot]->tid,
					span->start_ns, span->end_ns, &lock);

	mark.name = name;
	mark.args = args;
	mark.arg_count = wait_args(wait, args);
	if (place)
		args[mark.arg_count++] = text_arg("code", place);
	if (code)
		args[mark.arg_count++] = text_arg("stack", code);
	if (is_lock) {
		const char *lock_name = lock_owners_name(scene->job->locks, &lock);

		args[mark.arg_count++] = text_arg("lock", lock_name);
		locked = xasprintf("%s: %s", wait->in, lock_name);
		mark.name = locked;
	}
	scene->ops->begin(scene->context, &mark);
	if (is_lock)
		show_owners(waits, span, &lock);
	mark.time_ns = span->end_ns;
	mark.args = NULL;
	mark.arg_count = 0;
	scene->ops->end(scene->context, &mark);
	show_edge(waits, span);
}

static void show_span(void *context, const struct states_span *span)
{
	const struct waits *waits = context;
	struct scene_arg cpu = number_arg("cpu", span->cpu);
	AUTO_FREE char *name = NULL;

	if (scene_failed(waits->scene))
		return;
	if (span->is_wait) {
		show_blocked(waits, span);
	} else if (span->cpu >= 0) {
		show_slice(waits, span, span->state, &cpu, 1);
	} else if (span->wib == WIB_UNCERTAIN) {
		name = xasprintf("uncertain: %s", span->state);
		show_slice(waits, span, name, NULL, 0);
	}
}

static void scene_show_waits(struct scene *scene, uint32_t slot)
{
	const struct export_job *job = scene->job;
	struct states_opts opts = { .slot = slot,
				    .start_ns = job->start_ns,
				    .end_ns = job->end_ns };
	struct waits waits = { scene, slot };
	struct states_sum sum;

	if (states_window(job->timeline, &opts, NULL) == 0)
		states_run(job->timeline, job->facts, &opts, show_span, &waits, &sum);
}

int scene_run(struct export_job *job, const struct scene_ops *ops, void *context, struct err *err)
{
	const struct timeline *tl = job->timeline;
	struct scene scene = { .job = job, .ops = ops, .context = context };
	int rc;

	for (uint32_t cpu = 0; cpu < tl->cpu_count; cpu++)
		show_cpu(&scene, cpu);
	for (uint32_t slot = 0; slot < tl->thread_count && !scene_failed(&scene); slot++) {
		if (tl->threads[slot]->tid != 0 && export_is_chosen(job, slot))
			scene_show_waits(&scene, slot);
	}
	if (!scene_failed(&scene))
		scene_queue(&scene);
	rc = scene_failed(&scene) ? 0 : scene_events(&scene, err);
	if (rc == 0 && timeline_damage(tl))
		rc = err_set(err, -EIO, "%s: holdup index builds it again", timeline_damage(tl));
	return rc;
}
