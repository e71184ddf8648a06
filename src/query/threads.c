/* threads.c - the threads of a recording, by index. */
#include "base/mem.h"
#include "event/facts.h"
#include "query/read_int.h"

static const struct tl_thread *hr_thread_of(const struct hr_trace *trace, uint32_t thread)
{
	const struct timeline *tl = trace->loaded.timeline;

	return thread < tl->thread_count ? tl->threads[thread] : NULL;
}

uint32_t hr_thread_count(const struct hr_trace *trace)
{
	return trace->loaded.timeline->thread_count;
}

uint32_t hr_find_thread(const struct hr_trace *trace, int32_t tid, uint64_t at_ns)
{
	const struct timeline *tl = trace->loaded.timeline;
	uint32_t slot = tid > 0 ? timeline_find_thread(tl, tid, at_ns) : HR_NONE;
	const struct tl_thread *thread;

	if (slot == HR_NONE || at_ns == HR_LAST)
		return slot;
	thread = tl->threads[slot];
	/* The last one to be born before that may have died before it, too. */
	return thread->died && at_ns >= thread->death_ns ? HR_NONE : slot;
}

uint32_t hr_idle_thread(const struct hr_trace *trace, uint32_t cpu)
{
	const struct timeline *tl = trace->loaded.timeline;
	uint32_t slot = timeline_find_thread(tl, 0, UINT64_MAX);

	while (slot != SLOT_NONE && tl->threads[slot]->idle_cpu != cpu)
		slot = tl->next_same_tid[slot];
	return slot;
}

uint32_t hr_command_thread(const struct hr_trace *trace)
{
	const struct timeline *tl = trace->loaded.timeline;
	const struct facts *facts = trace->loaded.facts;
	uint32_t slot = SLOT_NONE;

	if (facts->target_tid <= 0)
		return HR_NONE;
	if (facts->target_start_ns)
		slot = timeline_find_thread(tl, facts->target_tid, facts->target_start_ns);
	return slot != SLOT_NONE ? slot : timeline_find_thread(tl, facts->target_tid, UINT64_MAX);
}

int32_t hr_thread_tid(const struct hr_trace *trace, uint32_t thread)
{
	const struct tl_thread *found = hr_thread_of(trace, thread);

	return found ? found->tid : -1;
}

int32_t hr_thread_tgid(const struct hr_trace *trace, uint32_t thread)
{
	const struct tl_thread *found = hr_thread_of(trace, thread);

	return found ? found->tgid : -1;
}

const char *hr_thread_comm(const struct hr_trace *trace, uint32_t thread)
{
	return timeline_comm(trace->loaded.timeline, thread);
}

const char *hr_thread_cmdline(const struct hr_trace *trace, uint32_t thread)
{
	const struct tl_thread *found = hr_thread_of(trace, thread);

	return found ? timeline_name(trace->loaded.timeline, found->cmdline) : "";
}

uint32_t hr_thread_flags(const struct hr_trace *trace, uint32_t thread)
{
	const struct tl_thread *found = hr_thread_of(trace, thread);

	if (!found)
		return 0;
	return (found->born ? HR_THREAD_BORN : 0u) | (found->died ? HR_THREAD_DIED : 0u) |
	       (found->kernel ? HR_THREAD_KERNEL : 0u) | (found->tid == 0 ? HR_THREAD_IDLE : 0u);
}

uint32_t hr_thread_parent(const struct hr_trace *trace, uint32_t thread)
{
	const struct tl_thread *found = hr_thread_of(trace, thread);

	return found ? found->parent : HR_NONE;
}

uint32_t hr_thread_leader(const struct hr_trace *trace, uint32_t thread)
{
	const struct tl_thread *found = hr_thread_of(trace, thread);

	if (!found)
		return HR_NONE;
	if (found->tid == 0 || found->tid == found->tgid)
		return thread;
	return timeline_find_thread(trace->loaded.timeline, found->tgid, found->birth_ns);
}

uint64_t hr_thread_birth_ns(const struct hr_trace *trace, uint32_t thread)
{
	const struct tl_thread *found = hr_thread_of(trace, thread);

	return found ? found->birth_ns : 0;
}

uint64_t hr_thread_death_ns(const struct hr_trace *trace, uint32_t thread)
{
	const struct tl_thread *found = hr_thread_of(trace, thread);

	return found ? found->death_ns : 0;
}
