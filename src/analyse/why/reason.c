/* reason.c - the reasons of a result, each once. */
#include "analyse/why/reason.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/names.h"
#include "timeline/timeline.h"

#define REASON_TEXT_MAX 8192

bool why_reason_is_idle(enum why_reason_kind kind)
{
	return kind == WHY_REASON_PARKED || kind == WHY_REASON_LAUNCHED ||
	       kind == WHY_REASON_WORD_FOR_WORK || kind == WHY_REASON_OUTERMOST;
}

const char *why_reason_name(enum why_reason_kind kind)
{
	static const char *const names[WHY_REASON_KINDS] = {
		[WHY_REASON_NONE] = "none",
		[WHY_REASON_UNSURE] = "uncertain",
		[WHY_REASON_CPU_UNKNOWN] = "cpu_unknown",
		[WHY_REASON_WAKEUP_UNRECORDED] = "wakeup_unrecorded",
		[WHY_REASON_OPEN] = "not_ended",
		[WHY_REASON_TOO_DEEP] = "too_deep",
		[WHY_REASON_HAD_ENDED] = "thread_had_ended",
		[WHY_REASON_NOT_YET_THERE] = "thread_not_yet_there",
		[WHY_REASON_RECORDING_ENDED] = "recording_ended",
		[WHY_REASON_ENDED] = "thread_ended",
		[WHY_REASON_KERNEL_GAVE_UP] = "kernel_gave_up",
		[WHY_REASON_INTERRUPTED] = "interrupted",
		[WHY_REASON_CIRCLE] = "circle",
		[WHY_REASON_QUOTA] = "cpu_quota",
		[WHY_REASON_QUOTA_PROBABLY] = "cpu_quota_probably",
		[WHY_REASON_STOOD_STILL] = "throttled_or_stood_still",
		[WHY_REASON_ALLOWED] = "allowed_cpus",
		[WHY_REASON_SCHEDULED] = "scheduled_before",
		[WHY_REASON_GAVE_WAY] = "gave_way",
		[WHY_REASON_CONTINUED] = "continued",
		[WHY_REASON_THAWED] = "thawed",
		[WHY_REASON_RCU] = "rcu",
		[WHY_REASON_SRCU] = "srcu",
		[WHY_REASON_RCU_TASKS] = "rcu_tasks",
		[WHY_REASON_GRACE_ENDED] = "grace_period_ended",
		[WHY_REASON_TERMINAL_KEY] = "terminal_key",
		[WHY_REASON_TERMINAL_HUNG_UP] = "terminal_hung_up",
		[WHY_REASON_TERMINAL_WRITTEN] = "terminal_written",
		[WHY_REASON_RING_POLLER] = "io_uring_poller",
		[WHY_REASON_EXPECTED] = "expected",
		[WHY_REASON_END_USED_LATELY] = BY_OWN_END_LATELY,
		[WHY_REASON_LOCK_WORD] = BY_LOCK_WORD,
		[WHY_REASON_LISTENS] = BY_LISTENS,
		[WHY_REASON_NO_LATER_USER] = BY_NO_LATER_USER,
		[WHY_REASON_TAKER_GONE] = BY_TAKER_GONE,
		[WHY_REASON_TAKER_GONE_FAMILY] = BY_TAKER_GONE_FAMILY,
		[WHY_REASON_GLIBC_OWNER] = BY_GLIBC_OWNER,
		[WHY_REASON_TOLD_BEFORE] = BY_TOLD_BEFORE,
		[WHY_REASON_PASSED_ON] = BY_PASSED_ON,
		[WHY_REASON_WRITTEN_TO] = BY_WRITTEN_TO,
		[WHY_REASON_QUEUE_FULL] = "queue_full",
		[WHY_REASON_ENDED_BELOW] = "request_below_ended",
		[WHY_REASON_NOT_AT_DISK] = "not_at_disk",
		[WHY_REASON_POLLED_LIMIT] = "limited_request_ended",
		[WHY_REASON_WAITED_AGAIN] = "waited_again",
		[WHY_REASON_ONLY_ONE_LEFT] = BY_ONLY_ONE_LEFT,
		[WHY_REASON_CHILD_SIGNAL] = BY_CHILD_SIGNAL,
		[WHY_REASON_ALL_LEAD] = "all_lead_to_one",
		[WHY_REASON_OTHERS_WAIT] = "others_wait_for_it",
		[WHY_REASON_EQUAL_PART] = "equal_part_of_children",
		[WHY_REASON_SEEN] = "seen",
		[WHY_REASON_REPORTED] = "only_output_between",
		[WHY_REASON_UNANSWERED] = "unanswered",
		[WHY_REASON_NO_REQUEST] = "no_request",
		[WHY_REASON_GAVE_UP] = "gave_up",
		[WHY_REASON_PARKED] = "nothing_to_run",
		[WHY_REASON_LAUNCHED] = "runs_in_another_thread",
		[WHY_REASON_WORD_FOR_WORK] = "word_for_work",
		[WHY_REASON_OUTERMOST] = "outermost_code",
		[WHY_REASON_WORKER] = "only_worker",
		[WHY_REASON_A_WORKER] = "one_of_workers",
		[WHY_REASON_SUCCEEDED] = "call_succeeded",
		[WHY_REASON_CHANGED] = "content_changed",
		[WHY_REASON_CHANGED_MAPPED] = "mapped_content_changed",
		[WHY_REASON_GONE] = "object_gone",
		[WHY_REASON_ASKS_STILL] = "asks_still",
		[WHY_REASON_HAD_LOCK] = "had_file_lock",
		[WHY_REASON_PROGRAM_GONE] = "program_found_it_gone",
		[WHY_REASON_PROGRAM_FOUND] = "program_found_it",
		[WHY_REASON_WOKE_ALONE] = "woke_alone",
		[WHY_REASON_TIMED_OUT] = "call_after_timeout",
		[WHY_REASON_FOUND_LATE] = "found_after_timeout",
		[WHY_REASON_FOUND_NEXT] = "found_at_once",
		[WHY_REASON_SLEEPS_ENDED] = "changed_as_sleeps_ended",
		[WHY_REASON_TIMEOUTS_ENDED] = "changed_as_timeouts_ended",
		[WHY_REASON_FILE_SLEEPS_ENDED] = "mapped_changed_as_sleeps_ended",
		[WHY_REASON_FILE_TIMEOUTS_ENDED] = "mapped_changed_as_timeouts_ended",
		[WHY_REASON_WROTE_MEMORY] = "wrote_memory",
		[WHY_REASON_SEVERAL] = "several",
		[WHY_REASON_SHARE] = "share",
		[WHY_REASON_PACKET] = "packet_sent_by_timer",
		[WHY_REASON_TCP_GAVE_UP] = "tcp_gave_up",
	};

	return (unsigned int)kind < WHY_REASON_KINDS ? names[kind] : "none";
}

/* The text becomes the result's own. Returns its number. */
static uint32_t reason_own_text(struct why *why, const char **text)
{
	uint32_t id = *text ? names_add(&why->texts, *text, REASON_TEXT_MAX) : 0;

	*text = names_text(&why->texts, id);
	return id;
}

/* Texts of one result are equal where their pointers are. */
static bool reason_is_same(const struct why_reason *a, const struct why_reason *b)
{
	return a->kind == b->kind && a->number == b->number && a->did == b->did &&
	       a->by_timer == b->by_timer && a->found_alive == b->found_alive &&
	       a->part_ns == b->part_ns && a->whole_ns == b->whole_ns && a->who.tid == b->who.tid &&
	       a->who.tgid == b->who.tgid && a->who.comm == b->who.comm && a->call == b->call &&
	       a->object == b->object && a->name == b->name && a->by == b->by &&
	       a->inner == b->inner;
}

const struct why_reason *why_reason_keep(struct why *why, const struct why_reason *reason)
{
	struct why_reasons *reasons = &why->reasons;
	struct why_reason own;
	uint64_t hash, *found;

	if (!reason || !reason->kind)
		return NULL;
	own = *reason;
	own.inner = why_reason_keep(why, reason->inner);
	hash = hash_mix(own.kind, (uint64_t)own.number << 32 | (uint32_t)own.who.tid);
	hash = hash_mix(hash, (uint64_t)own.did << 2 | own.found_alive << 1 | own.by_timer);
	hash = hash_mix(hash_mix(hash, own.part_ns), own.whole_ns);
	hash = hash_mix(hash, reason_own_text(why, &own.who.comm));
	hash = hash_mix(hash, reason_own_text(why, &own.call));
	hash = hash_mix(hash, reason_own_text(why, &own.object));
	hash = hash_mix(hash, reason_own_text(why, &own.name));
	hash = hash_mix(hash, reason_own_text(why, &own.by));
	hash = hash_mix(hash, why_reason_id(own.inner));
	/* Equal hashes of different reasons: take the next number. */
	for (; (found = map_find(&reasons->by_hash, hash)); hash++) {
		if (reason_is_same(reasons->at[*found], &own))
			return reasons->at[*found];
	}
	map_put(&reasons->by_hash, hash, reasons->count);
	reasons->at =
		vec_room(reasons->at, reasons->count, &reasons->cap, sizeof(struct why_reason *));
	own.id = (uint32_t)reasons->count + 1;
	reasons->at[reasons->count] = xmalloc(sizeof(own));
	*reasons->at[reasons->count] = own;
	return reasons->at[reasons->count++];
}

const struct why_reason *why_reason_at(const struct why *why, uint32_t id)
{
	return id && id <= why->reasons.count ? why->reasons.at[id - 1] : NULL;
}

static int reason_order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int reason_text_order(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

int why_reason_compare(const struct why_reason *a, const struct why_reason *b)
{
	int order;

	if (!a || !b)
		return (a != NULL) - (b != NULL);
	order = reason_order(a->kind, b->kind);
	order = order ? order : reason_text_order(a->call, b->call);
	order = order ? order : reason_text_order(a->object, b->object);
	order = order ? order : reason_text_order(a->name, b->name);
	order = order ? order : reason_text_order(a->by, b->by);
	order = order ? order : reason_text_order(a->who.comm, b->who.comm);
	order = order ? order : reason_order((uint32_t)a->who.tid, (uint32_t)b->who.tid);
	order = order ? order : reason_order((uint32_t)a->who.tgid, (uint32_t)b->who.tgid);
	order = order ? order : reason_order(a->number, b->number);
	order = order ? order : reason_order(a->did, b->did);
	order = order ? order : reason_order(a->by_timer, b->by_timer);
	order = order ? order : reason_order(a->found_alive, b->found_alive);
	order = order ? order : reason_order(a->part_ns, b->part_ns);
	order = order ? order : reason_order(a->whole_ns, b->whole_ns);
	return order ? order : why_reason_compare(a->inner, b->inner);
}

void why_reasons_fini(struct why_reasons *reasons)
{
	for (size_t i = 0; i < reasons->count; i++)
		free(reasons->at[i]);
	free(reasons->at);
	map_fini(&reasons->by_hash);
	*reasons = (struct why_reasons){ 0 };
}
