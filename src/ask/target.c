/* target.c - threads by number or by name. */
#include "ask/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/facts.h"
#include "timeline/timeline.h"

void targets_fini(struct targets *targets)
{
	free(targets->slots);
	*targets = (struct targets){ 0 };
}

static void add_slot(struct targets *targets, uint32_t slot)
{
	targets->slots =
		vec_room(targets->slots, targets->count, &targets->cap, sizeof(*targets->slots));
	targets->slots[targets->count++] = slot;
}

static bool is_main(const struct tl_thread *thread)
{
	return thread->tid == thread->tgid;
}

/* All threads named 'comm'; only main threads when any of them is one. */
static int find_by_comm(const struct timeline *timeline, const char *comm, struct targets *targets,
			struct err *err)
{
	AUTO_FREE char *safe = text_escaped(comm);
	bool main_only = false;

	for (uint32_t slot = 0; slot < timeline->thread_count && !main_only; slot++)
		main_only = is_main(timeline->threads[slot]) &&
			    strcmp(timeline_comm(timeline, slot), comm) == 0;
	for (uint32_t slot = 0; slot < timeline->thread_count; slot++) {
		if (strcmp(timeline_comm(timeline, slot), comm) == 0 &&
		    (!main_only || is_main(timeline->threads[slot])))
			add_slot(targets, slot);
	}
	if (targets->count == 0)
		return err_set(err, -ESRCH, "no thread of this recording is named \"%s\"", safe);
	return 0;
}

/* The thread named by --tid, --pid or the recording; SLOT_NONE with err filled. */
static uint32_t find_one(const struct timeline *timeline, const struct facts *facts,
			 const struct target_opts *opts, struct err *err)
{
	int32_t tid = opts->tid ? opts->tid : opts->pid ? opts->pid : facts->target_tid;
	uint64_t at_ns = UINT64_MAX;
	uint32_t slot;

	if (tid == 0) {
		(void)err_set(err, -ESRCH,
			      "this recording has no command; choose with --pid, --tid or --comm");
		return SLOT_NONE;
	}
	if (!opts->tid && !opts->pid && facts->target_start_ns)
		at_ns = facts->target_start_ns;
	slot = timeline_find_thread(timeline, tid, at_ns);
	if (slot == SLOT_NONE && at_ns != UINT64_MAX)
		slot = timeline_find_thread(timeline, tid, UINT64_MAX);
	for (uint32_t i = 0; i < timeline->thread_count && slot == SLOT_NONE && opts->pid; i++)
		slot = timeline->threads[i]->tgid == tid ? i : SLOT_NONE;
	if (slot == SLOT_NONE)
		(void)err_set(err, -ESRCH, "no %s %d in this recording",
			      opts->pid ? "process" : "thread", tid);
	return slot;
}

/* libholdup's own, in the program that it is linked to: src/runtime/helper.c. */
static bool target_is_ours(const struct timeline *timeline, uint32_t slot)
{
	return !is_main(timeline->threads[slot]) &&
	       strcmp(timeline_comm(timeline, slot), "holdup-helper") == 0;
}

/* The threads of the process of 'main_slot'; not those of another one that had its number. */
static void target_add_process(const struct timeline *timeline, uint32_t main_slot,
			       struct targets *targets)
{
	const struct tl_thread *of = timeline->threads[main_slot];

	for (uint32_t slot = 0; slot < timeline->thread_count; slot++) {
		const struct tl_thread *thread = timeline->threads[slot];
		bool overlaps = thread->birth_ns < of->death_ns && of->birth_ns < thread->death_ns;

		if (thread->tgid == of->tgid && (overlaps || slot == main_slot) &&
		    !target_is_ours(timeline, slot))
			add_slot(targets, slot);
	}
}

int targets_find(const struct timeline *timeline, const struct facts *facts,
		 const struct target_opts *opts, struct targets *out_targets, struct err *err)
{
	struct targets targets = { 0 };
	uint32_t slot;
	int rc;

	if (opts->comm) {
		rc = find_by_comm(timeline, opts->comm, &targets, err);
		if (rc == 0)
			*out_targets = targets;
		return rc;
	}
	slot = opts->at_slot ? opts->at_slot - 1 : find_one(timeline, facts, opts, err);
	if (slot == SLOT_NONE)
		return -ESRCH;
	targets.main_slot = slot;
	if ((opts->threads || opts->pid) && timeline->threads[slot]->tgid > 0)
		target_add_process(timeline, slot, &targets);
	else
		add_slot(&targets, slot);
	*out_targets = targets;
	return 0;
}

/* Of the recorder, or of the kernel. */
static bool is_beside(const struct timeline *timeline, const struct facts *facts, uint32_t slot)
{
	const struct tl_thread *thread = timeline->threads[slot];

	for (size_t i = 0; i < facts->recorder_tid_count; i++) {
		if (facts->recorder_tids[i] == thread->tid ||
		    facts->recorder_tids[i] == thread->tgid)
			return true;
	}
	return thread->kernel || thread->tid == 0;
}

static bool is_chosen(const struct target_opts *opts, int32_t tgid)
{
	for (size_t i = 0; i < opts->pid_count; i++) {
		if (opts->pids[i] == tgid)
			return true;
	}
	return opts->every;
}

int targets_find_processes(const struct timeline *timeline, const struct facts *facts,
			   const struct target_opts *opts, struct targets *out_targets,
			   struct err *err)
{
	struct targets targets = { 0 };

	/* Of a number that was given out twice, the last one that had it. */
	for (uint32_t slot = 0; slot < timeline->thread_count; slot++) {
		const struct tl_thread *thread = timeline->threads[slot];

		if (is_main(thread) && is_chosen(opts, thread->tgid) &&
		    !is_beside(timeline, facts, slot) &&
		    timeline_find_thread(timeline, thread->tid, UINT64_MAX) == slot)
			add_slot(&targets, slot);
	}
	if (targets.count == 0)
		return err_set(err, -ESRCH, "this recording has none of these processes");
	targets.main_slot = targets.slots[0];
	*out_targets = targets;
	return 0;
}
