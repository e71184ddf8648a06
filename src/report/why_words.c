/*
 * why_words.c - the sentences of a why report.
 *
 * A root reads "who did what, to what, how often, how long at most": each kind
 * has its own beginning, the rest is common.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/why_int.h"

void words_begin(struct words *words)
{
	*words = (struct words){ 0 };
	words->out = open_memstream(&words->text, &words->bytes);
	if (!words->out) {
		perror("holdup: cannot write to memory");
		abort();
	}
}

char *words_end(struct words *words)
{
	fclose(words->out);
	return words->text;
}

static void why_put_thread(FILE *out, const struct why_thread *thread)
{
	if (thread->tid)
		fprintf(out, "%s[%d]", thread->comm[0] ? thread->comm : "?", thread->tid);
	else
		fputs("a thread", out);
}

char *words_thread(const struct why_thread *thread)
{
	struct words words;

	words_begin(&words);
	why_put_thread(words.out, thread);
	return words_end(&words);
}

char *words_place(const struct why_person *person)
{
	if (!person->place[0])
		return xstrdup("");
	return person->manager[0] ? xasprintf("container %s (%s)", person->place, person->manager)
				  : xasprintf("unit %s", person->place);
}

/* "own code", "write()": system calls are told by their brackets. */
static void put_what(FILE *out, const char *what, bool is_call)
{
	fprintf(out, "%s%s", what, what[0] && is_call ? "()" : "");
}

/* "write(), fd 3 = /var/db/x"; either part may be missing. */
static void put_in(FILE *out, const char *what, bool is_call, const char *object)
{
	put_what(out,
		 what[0]     ? what
		 : object[0] ? ""
			     : "a call that was not recorded",
		 what[0] && is_call);
	if (object[0])
		fprintf(out, "%s%s", what[0] ? ", " : "", object);
}

static bool why_words_is_target(const struct why *why, const struct why_thread *who)
{
	return !why->process && who->tid && who->tid == why->target.tid;
}

/* Of the process that is explained, and so not told apart by its number alone. */
static bool why_words_is_of_process(const struct why *why, const struct why_row *row)
{
	return why->process && row->sum.who.tid && row->sum.who.tgid == why->target.tgid;
}

static bool is_target_row(const struct why *why, const struct why_row *row)
{
	return row->threads <= 1 && why_words_is_target(why, &row->sum.who);
}

/* "make[512]", "6 threads named cc1", "8 threads named worker-*" */
static void why_words_put_who(FILE *out, const struct why_row *row)
{
	if (row->threads > 1)
		fprintf(out, "%zu threads named %s", row->threads, row->name[0] ? row->name : "?");
	else
		why_put_thread(out, &row->sum.who);
}

/* What all of them did, or that it was not one thing. */
static void put_row_in(FILE *out, const struct why_row *row)
{
	AUTO_FREE char *what = report_why_what(&row->sum);
	AUTO_FREE char *object = report_why_object(row->sum.object, row->sum.objects);

	put_in(out, row->many_whats ? "several calls" : what, row->sum.is_call && !row->many_whats,
	       row->many_objects ? "several objects" : object);
}

/* Who did it, with a verb that fits both the target and another thread. */
static void put_doer(FILE *out, const struct why *why, const struct why_row *row, const char *verb)
{
	bool told_each = why_kind_works(row->sum.kind) && row->many_whats;

	if (is_target_row(why, row)) {
		fprintf(out, "%s itself", verb);
	} else {
		why_words_put_who(out, row);
		fprintf(out, " %s", verb);
	}
	if (row->sum.client.tid && row->threads <= 1) {
		fputs(", for ", out);
		why_put_thread(out, &row->sum.client);
	}
	if (told_each && !row->sum.object[0])
		return;
	fputs(": ", out);
	if (told_each)
		fputs(row->sum.object, out);
	else
		put_row_in(out, row);
}

/* Who had no CPU, when it was not the target itself. */
static void put_kept_off(FILE *out, const struct why_root *root)
{
	if (root->class == WHY_RUNS)
		return;
	if (root->kept_off.tid) {
		why_put_thread(out, &root->kept_off);
		fputs(", which the target waited for, was ", out);
	} else {
		fputs("the awaited thread was ", out);
	}
}

/* Roots about a CPU: the target's own wait for it, or that of a thread it waited for. */
static void put_cpu_row(FILE *out, const struct why_row *row, const char *verb,
			const char *before_who, const char *after_who)
{
	put_kept_off(out, &row->sum);
	fputs(verb, out);
	if (row->sum.who.tid) {
		AUTO_FREE char *scheduled = report_why_reason(row->sum.why);

		fputs(before_who, out);
		why_words_put_who(out, row);
		fprintf(out, "%s%s%s", after_who,
			!*scheduled				   ? ""
			: row->sum.why->kind == WHY_REASON_ALLOWED ? "; "
								   : ", ",
			scheduled);
	} else {
		AUTO_FREE char *what = report_why_did(&row->sum);

		if (*what)
			fprintf(out, " (%s)", what);
	}
}

/* What the hardware was busy with; who waited for it, and for what of it. */
static void put_hardware(FILE *out, const struct why *why, const struct why_row *row,
			 const char *name)
{
	AUTO_FREE char *what = report_why_what(&row->sum);
	AUTO_FREE char *object = report_why_object(row->sum.object, row->sum.objects);

	fprintf(out, "%s: ", name);
	put_in(out, row->many_whats ? "several requests" : what,
	       row->sum.is_call && !row->many_whats, "");
	if (row->sum.who.tid && !is_target_row(why, row)) {
		fputs(", for ", out);
		why_words_put_who(out, row);
	}
	if (row->many_objects)
		fputs(", several objects", out);
	else if (object[0])
		fprintf(out, ", %s", object);
}

/* A sleep, or the limit of a wait for something else. */
static void put_timer(FILE *out, const struct why *why, const struct why_row *row)
{
	bool is_any = row->any_timers;

	if (!row->sum.timed_out && !is_any) {
		put_doer(out, why, row, row->sum.why ? "sleeping" : "sleeping until a timer");
		if (row->sum.why) {
			AUTO_FREE char *reason = report_why_reason(row->sum.why);

			fprintf(out, "; %s", reason);
		}
		return;
	}
	if (is_target_row(why, row)) {
		fprintf(out, "waiting until its own %s%s: ", is_any ? "timer" : "time-out",
			is_any && row->many_whats ? "s" : "");
	} else {
		why_words_put_who(out, row);
		fprintf(out, " waiting until %s %s%s: ", row->threads > 1 ? "their" : "its",
			is_any ? "timer" : "time-out",
			row->threads > 1 || (is_any && row->many_whats) ? "s" : "");
	}
	if (is_any) {
		fputs(row->many_whats
			      ? "sleeps, and sleeps or time-outs whose calls were not recorded"
			      : "a sleep, or a time-out (its call was not recorded)",
		      out);
		return;
	}
	put_row_in(out, row);
	if (row->sum.why) {
		AUTO_FREE char *reason = report_why_reason(row->sum.why);

		fprintf(out,
			row->sum.why->kind == WHY_REASON_NO_REQUEST ? "; %s" : "; as inferred, %s",
			reason);
	}
}

bool why_words_is_parked(const struct why_root *root)
{
	return root->why && why_reason_is_idle(root->why->kind);
}

/* What it waited for did not come: said with what happened instead. */
static void put_stuck(FILE *out, const struct why *why, const struct why_row *row)
{
	AUTO_FREE char *reason = report_why_reason(row->sum.why);

	if (!is_target_row(why, row)) {
		why_words_put_who(out, row);
		fputc(' ', out);
	}
	if (why_words_is_parked(&row->sum) || (row->sum.class == WHY_IDLE && !row->sum.why)) {
		bool inferred = row->sum.why && (row->sum.why->kind == WHY_REASON_WORD_FOR_WORK ||
						 row->sum.why->kind == WHY_REASON_OUTERMOST);

		if (why_words_is_parked(&row->sum) && !inferred)
			fprintf(out, "idle, as %s: ", reason);
		else
			fputs("idle, waiting for work: ", out);
		put_row_in(out, row);
		if (inferred)
			fprintf(out, "; as inferred, %s", reason);
		return;
	}
	fputs("waiting in ", out);
	put_row_in(out, row);
	fprintf(out, "; still when %s", reason);
}

/* By a signal, or frozen with its cgroup; until when. */
static void put_stopped(FILE *out, const struct why *why, const struct why_row *row)
{
	AUTO_FREE char *reason = report_why_reason(row->sum.why);

	if (!is_target_row(why, row)) {
		why_words_put_who(out, row);
		fputc(' ', out);
	}
	fputs(row->many_whats ? "stopped" : row->sum.what, out);
	if (row->sum.object[0] && !row->many_objects)
		fprintf(out, ", %s", row->sum.object);
	fprintf(out, ", until %s", reason);
}

/* Of the target itself, of what it waited for, or one that a wait was ended by. */
static void put_interrupt(FILE *out, const struct why *why, const struct why_row *row)
{
	if (row->sum.who.tid)
		put_hardware(out, why, row, "until an interrupt");
	else if (row->sum.class != WHY_RUNS)
		put_hardware(out, why, row, "the awaited thread was interrupted");
	else
		put_hardware(out, why, row, "interrupted");
}

/* By a limit, which says whose it is. */
static void put_throttled(FILE *out, const struct why *why, const struct why_row *row)
{
	if (!is_target_row(why, row)) {
		why_words_put_who(out, row);
		fputc(' ', out);
	}
	fprintf(out, "throttled: %s", row->many_whats ? "several limits" : row->sum.what);
}

static void put_unknown(FILE *out, const struct why *why, const struct why_row *row)
{
	AUTO_FREE char *reason = report_why_reason(row->sum.why);

	fputs("unknown", out);
	if (row->sum.who.tid && !is_target_row(why, row)) {
		bool before = row->sum.class == WHY_RUNS && !why_words_is_of_process(why, row);

		fputs(before ? ", before the target was created: what " : " what ", out);
		why_words_put_who(out, row);
		fputs(" did", out);
		if (why_words_is_of_process(why, row) && row->sum.class != WHY_RUNS)
			fputs(" in a wait", out);
	} else if (row->sum.class != WHY_RUNS) {
		fputs(" in a wait", out);
	}
	fprintf(out, ": %s", *reason ? reason : "no event tells");
}

static void why_words_put_counts(FILE *out, const struct why_root *root)
{
	if (root->count > 1)
		fprintf(out, " (%s x, longest %s)", text_count(root->count).s,
			text_duration(root->longest_ns).s);
}

/* The target's own wait was no hold-up: say so. That of a time-out of its own is told there. */
static void put_class(FILE *out, const struct why *why, const struct why_row *row)
{
	if (row->sum.class == WHY_IDLE &&
	    (row->sum.kind != WHY_STUCK || (row->sum.why && !why_words_is_parked(&row->sum))))
		fputs("; idle, waiting for work", out);
	else if (row->sum.class == WHY_IDLE)
		return;
	else if (row->sum.class == WHY_ASKED && row->sum.timed_out && !is_target_row(why, row) &&
		 !why_words_is_of_process(why, row))
		fputs("; until its own time-out", out);
	else if (row->sum.class == WHY_ASKED && !row->sum.timed_out && !row->any_timers)
		fputs("; by its own request", out);
	else if (row->sum.kind == WHY_TIMER && row->sum.class == WHY_HELD_UP &&
		 why_words_is_of_process(why, row))
		fputs("; others waited for it", out);
}

/* Why it sleeps, most likely. */
static void why_words_put_polls(FILE *out, const struct why_polls *polls)
{
	if (polls->bare)
		fprintf(out,
			"; no call before %s of %s sleeps of %s each: reads of memory are not "
			"recorded",
			text_count(polls->bare).s, text_count(polls->sleeps).s,
			text_duration(polls->bare_ns).s);
	if (!polls->call)
		return;
	fprintf(out, "; before %s of %s sleeps %s() ", text_count(polls->count).s,
		text_count(polls->sleeps).s, polls->call);
	if (polls->object && *polls->object)
		fprintf(out, "of %s ", polls->object);
	if (*polls->error)
		fprintf(out, "failed: %s", polls->error);
	else
		fputs(polls->found_alive ? "found it there" : "found nothing", out);
}

/* What it said of itself at known points of its program; of a part of the time, how much. */
static void put_told(FILE *out, const struct why_root *root)
{
	if (!root->told)
		return;
	fprintf(out, "; the program reports: %s", root->told);
	if (root->told_ns < root->ns - root->ns / 10)
		fprintf(out, " (%s of the time)", text_percent(root->told_ns, root->ns).s);
}

/* Who woke it is what ended the wait: nothing else is known of that. */
static bool hop_is_woken(const struct why_hop *hop)
{
	return !hop->instead && !hop->inferred && !hop->owner.tid;
}

static void put_hop_told(FILE *out, const struct why_hop *hop)
{
	if (!hop->told)
		return;
	fprintf(out, "; the program reports: %s", hop->told);
	if (hop->told_count && hop->told_count < hop->count)
		fprintf(out, " (%s of %s x)", text_count(hop->told_count).s,
			text_count(hop->count).s);
}

/* How it is known that it held the target up, unless events tell. */
static void put_inferred(FILE *out, const struct why_reason *inferred, bool known)
{
	AUTO_FREE char *reason = report_why_reason(inferred);

	if (inferred)
		fprintf(out, known ? "; %s" : "; inferred, for %s", reason);
}

/* The target's own, that of who it waited for, or of an ancestor before its birth. */
static void put_work(FILE *out, const struct why *why, const struct why_row *row)
{
	if (row->sum.kind == WHY_LOCK)
		put_doer(out, why, row,
			 why->process ? "running while holding a lock that others wait for"
				      : "running while holding the lock it waits for");
	else if (row->sum.kind == WHY_OTHER_THREAD && why_words_is_of_process(why, row))
		put_doer(out, why, row, "running while other threads wait for it");
	else if (row->sum.kind == WHY_WORKING && !is_target_row(why, row) &&
		 !why_words_is_of_process(why, row))
		put_doer(out, why, row, "working before the target was created");
	else if (row->sum.kind == WHY_OTHER_THREAD && is_target_row(why, row))
		put_doer(out, why, row, "working, for others,");
	else
		put_doer(out, why, row, "working");
}

static void put_grace(FILE *out, const struct why *why, const struct why_row *row)
{
	AUTO_FREE char *reason = report_why_reason(row->sum.why);
	AUTO_FREE char *verb = xasprintf("waiting for %s", reason);

	put_doer(out, why, row, verb);
}

static void why_put_row(FILE *out, const struct why *why, const struct why_row *row)
{
	switch (row->sum.kind) {
	case WHY_WORKING:
	case WHY_OTHER_THREAD:
	case WHY_LOCK:
		put_work(out, why, row);
		return;
	case WHY_TIMER:
		put_timer(out, why, row);
		return;
	case WHY_CPU_QUEUE:
		put_cpu_row(out, row, "waiting for a CPU", "; ", " ran instead");
		return;
	case WHY_PREEMPTED:
		put_cpu_row(out, row, "preempted", " by ", "");
		return;
	case WHY_IRQ:
	case WHY_SOFTIRQ:
		put_interrupt(out, why, row);
		return;
	case WHY_DISK:
		put_hardware(out, why, row, "disk");
		return;
	case WHY_NETWORK:
		put_hardware(out, why, row, "network");
		return;
	case WHY_IPI:
		put_hardware(out, why, row, "until another CPU's interrupt");
		return;
	case WHY_STUCK:
		put_stuck(out, why, row);
		return;
	case WHY_STOPPED:
		put_stopped(out, why, row);
		return;
	case WHY_GRACE:
		put_grace(out, why, row);
		return;
	case WHY_THROTTLED:
		put_throttled(out, why, row);
		return;
	case WHY_UNKNOWN:
	case WHY_KIND_COUNT:
		break;
	}
	put_unknown(out, why, row);
}

/* Who did what the wait is inferred to be for, where the row is about another one; tid 0 = that one itself, or not known. */
static struct why_thread doer_of(const struct why *why, const struct why_row *row)
{
	for (size_t i = 0; i < why->chain_count; i++) {
		const struct why_hop *hop = &why->chain[i];

		if (hop->inferred == row->sum.inferred && row->threads <= 1 &&
		    hop->answerer.tid != row->sum.who.tid &&
		    why->chain[why->chain_count - 1].who.tid == row->sum.who.tid)
			return hop->answerer;
	}
	return (struct why_thread){ 0 };
}

static void put_row_inferred(FILE *out, const struct why *why, const struct why_row *row)
{
	struct why_reason reason;

	if (!row->sum.inferred)
		return;
	reason = *row->sum.inferred;
	if (reason.kind == WHY_REASON_SUCCEEDED || reason.kind == WHY_REASON_CHANGED ||
	    reason.kind == WHY_REASON_GONE)
		reason.who = doer_of(why, row);
	put_inferred(out, &reason, false);
}

char *words_row(const struct why *why, const struct why_row *row)
{
	struct words words;

	words_begin(&words);
	why_put_row(words.out, why, row);
	why_words_put_counts(words.out, &row->sum);
	put_told(words.out, &row->sum);
	put_class(words.out, why, row);
	put_row_inferred(words.out, why, row);
	why_words_put_polls(words.out, &row->sum.polls);
	return words_end(&words);
}

char *words_row_short(const struct why *why, const struct why_row *row)
{
	struct words words;

	words_begin(&words);
	why_put_row(words.out, why, row);
	return words_end(&words);
}

static struct why_row why_row_of_root(const struct why_root *root)
{
	return (struct why_row){ .sum = *root,
				 .threads = root->who.tid != 0,
				 .name = "",
				 .any_timers = why_root_is_any_timer(root) };
}

char *words_root_short(const struct why *why, const struct why_root *root)
{
	const struct why_row row = why_row_of_root(root);

	return words_row_short(why, &row);
}

char *words_root(const struct why *why, const struct why_root *root)
{
	const struct why_row row = why_row_of_root(root);

	return words_row(why, &row);
}

/* Hardware that ended the last wait is told there: its own hop says nothing new. */
static bool root_is_told(const struct why *why, size_t index)
{
	const struct why_hop *hop = &why->chain[index], *root = hop + 1;

	if (index + 2 != why->chain_count || root->who.tid != hop->who.tid || !hop->who.tid ||
	    root->kept_off.tid)
		return false;
	if (!root->what[0])
		return root->what_data &&
		       why_reason_compare(root->what_data, hop->woken_by_data) == 0;
	return strcmp(root->what, hop->what) == 0 || strcmp(root->what, hop->woken_by) == 0;
}

size_t words_hop_count(const struct why *why)
{
	if (why->chain_count >= 2 && root_is_told(why, why->chain_count - 2))
		return why->chain_count - 1;
	return why->chain_count;
}

static void put_hop_waker(FILE *out, const struct why_hop *hop)
{
	AUTO_FREE char *woken_by = report_why_named(hop->woken_by, hop->woken_by_data);

	fputs(hop->by_packet ? "; woken by a " : "; woken by ", out);
	if (hop->helper) {
		AUTO_FREE char *helper = report_why_reason(hop->helper);

		fputs(helper, out);
		return;
	}
	if (hop->by_packet && hop->waker.tid) {
		put_what(out, woken_by, hop->woken_by_call);
		fputs(" from ", out);
		why_put_thread(out, &hop->waker);
		return;
	}
	if (hop->waker.tid && hop->waker.tid != hop->who.tid) {
		why_put_thread(out, &hop->waker);
		fputs(" in ", out);
	}
	put_what(out, woken_by, hop->woken_by_call);
}

/* The kernel tells who woke it; that another one had the lock, the program alone. */
static void put_hop_owner(FILE *out, const struct why_hop *hop)
{
	fputs("; owned by ", out);
	why_put_thread(out, &hop->owner);
	fputs(", according to lock events", out);
}

/* What the lock itself told; nothing, where it did not. */
static void why_words_put_holder(FILE *out, const struct why_thread *holder, const char *holding,
				 bool is_call, bool many_held)
{
	if (!holder->tid)
		return;
	fputs(many_held ? ", held by several threads in turn, last by " : ", held by ", out);
	why_put_thread(out, holder);
	if (holding[0]) {
		fputs(" in ", out);
		put_what(out, holding, is_call);
	}
	if (many_held)
		fputs(" at last", out);
}

static void put_hop_instead(FILE *out, const struct why_hop *hop)
{
	AUTO_FREE char *instead = report_why_reason(hop->instead);
	AUTO_FREE char *by = report_why_reason(hop->expects_by);

	fputs("; still waiting", out);
	if (hop->expects.tid) {
		fputs(" for ", out);
		why_put_thread(out, &hop->expects);
		if (hop->expects_by)
			fprintf(out, " (inferred: %s)", by);
	}
	fprintf(out, " when %s", instead);
}

/* Nothing woke it but its timer: who it slept for is inferred. */
static void put_hop_answerer(FILE *out, const struct why_hop *hop)
{
	fputs("; held up by ", out);
	why_put_thread(out, &hop->answerer);
	put_inferred(out, hop->inferred, hop->known);
}

char *words_hop(const struct why *why, size_t index)
{
	const struct why_hop *hop = &why->chain[index];
	AUTO_FREE char *did = report_why_hop_did(hop);
	AUTO_FREE char *object = report_why_object(hop->object, hop->objects);
	bool waits = index + 1 < why->chain_count;
	struct words words;

	words_begin(&words);
	for (size_t i = 0; i < index && i < 16; i++)
		fputs("  ", words.out);
	if (index + 1 == words_hop_count(why))
		fputs("root: ", words.out);
	if (hop->who.tid) {
		why_put_thread(words.out, &hop->who);
		fputs(waits && hop->halted ? " was " : waits ? " waited in " : ": ", words.out);
	}
	put_in(words.out, did, hop->is_call && hop->what[0] && !hop->kept_off.tid,
	       hop->lock ? hop->lock : object);
	why_words_put_holder(words.out, &hop->holder, hop->holding, hop->holding_call,
			     hop->many_held);
	if (hop->slices)
		fprintf(words.out, ", repeated after %s time-outs", text_count(hop->slices).s);
	put_hop_told(words.out, hop);
	if (hop->owner.tid)
		put_hop_owner(words.out, hop);
	else if (hop->inferred)
		put_hop_answerer(words.out, hop);
	else if (hop->instead)
		put_hop_instead(words.out, hop);
	else if (hop->woken_by[0] || hop->woken_by_data)
		put_hop_waker(words.out, hop);
	if (hop->waker_told && hop->waker.tid && hop_is_woken(hop))
		fprintf(words.out, ", which reports: %s", hop->waker_told);
	return words_end(&words);
}

char *words_hop_told(const struct why_hop *hop)
{
	struct words words;

	words_begin(&words);
	why_put_thread(words.out, &hop->who);
	fprintf(words.out, " reports: %s", hop->told);
	if (hop->waker.tid && hop_is_woken(hop)) {
		fputs("; woken by ", words.out);
		why_put_thread(words.out, &hop->waker);
	}
	if (hop->waker_told && hop->waker.tid && hop_is_woken(hop))
		fprintf(words.out, ", which reports: %s", hop->waker_told);
	return words_end(&words);
}

/* How the kinds are told: some names need a word in front, some say it all. */
static const char *const waker_words[] = {
	[WHY_WAKER_THREAD] = "",
	[WHY_WAKER_TIMER] = "",
	[WHY_WAKER_DISK] = "the disk: ",
	[WHY_WAKER_NETWORK] = "",
	[WHY_WAKER_IRQ] = "",
	[WHY_WAKER_SOFTIRQ] = "",
	[WHY_WAKER_IPI] = "another CPU's ",
	[WHY_WAKER_SIGNAL] = "",
	[WHY_WAKER_WORK] = "queued work of ",
};

static bool is_hardware(enum why_waker waker)
{
	return waker != WHY_WAKER_THREAD && waker != WHY_WAKER_WORK && waker != WHY_WAKER_SIGNAL;
}

/* A thread is known by its name and state; a signal by its number first. */
static void put_thread_waker(FILE *out, const struct why_wait *wait)
{
	if (wait->waker == WHY_WAKER_SIGNAL)
		fprintf(out, "%s from ", wait->waker_name);
	why_put_thread(out, &wait->woken_by);
	if (wait->waker != WHY_WAKER_SIGNAL && wait->waker_name[0] && !wait->waker_in[0])
		fprintf(out, " (%s)", wait->waker_name);
}

static void why_words_put_waker(FILE *out, const struct why_wait *wait)
{
	AUTO_FREE char *name = report_why_named(wait->waker_name, wait->waker_data);

	if (wait->waker == WHY_WAKER_NONE) {
		fputs("still waiting at the end", out);
		return;
	}
	if (wait->waker >= ARRAY_LEN(waker_words) || !waker_words[wait->waker]) {
		fputs("the end was not recorded", out);
		return;
	}
	if (wait->helper) {
		AUTO_FREE char *helper = report_why_reason(wait->helper);

		fprintf(out, "woken by %s: ", helper);
		put_thread_waker(out, wait);
		return;
	}
	fprintf(out, "woken by %s", waker_words[wait->waker]);
	if (!is_hardware(wait->waker) && (wait->woken_by.tid || wait->waker != WHY_WAKER_SIGNAL))
		put_thread_waker(out, wait);
	else
		fputs(name[0] ? name : why_waker_name(wait->waker), out);
	if (is_hardware(wait->waker) && wait->woken_by.tid) {
		fputs(" of ", out);
		why_put_thread(out, &wait->woken_by);
	}
	if (wait->waker_in[0]) {
		fputs(" in ", out);
		put_what(out, wait->waker_in, wait->waker_in_call);
	}
}

/* The time-out was no end: what the last slice was ended by. */
static void put_last_waker(FILE *out, const struct why_wait *wait)
{
	struct why_wait last = *wait;

	last.waker = wait->last_waker;
	last.woken_by = wait->last_woken_by;
	last.waker_name = wait->last_waker_name;
	last.waker_data = wait->last_waker_data;
	last.waker_in = "";
	fputs("; repeated the same wait, finally ", out);
	why_words_put_waker(out, &last);
}

/* The timer was no end: who had it sleep again. */
static void put_answerer(FILE *out, const struct why_wait *wait)
{
	fputs("; held up by ", out);
	why_put_thread(out, &wait->answerer);
	put_inferred(out, wait->inferred, wait->known);
}

char *words_waker(const struct why_wait *wait)
{
	struct words words;

	words_begin(&words);
	why_words_put_waker(words.out, wait);
	return words_end(&words);
}

char *words_wait(const struct why_wait *wait)
{
	struct words words;

	words_begin(&words);
	why_put_thread(words.out, &wait->who);
	fputs(" waited in ", words.out);
	put_in(words.out, wait->in, wait->in_call, wait->object);
	why_words_put_holder(words.out, &wait->holder, wait->holding, wait->holding_call, false);
	if (wait->told)
		fprintf(words.out, "; the program reports: %s", wait->told);
	fputs("; ", words.out);
	why_words_put_waker(words.out, wait);
	if (wait->is_slice)
		put_last_waker(words.out, wait);
	else if (wait->inferred)
		put_answerer(words.out, wait);
	else if (wait->class == WHY_ASKED)
		fputs(wait->in_call ? "; by its own request" : "; until its own timer", words.out);
	else if (wait->class == WHY_IDLE)
		fputs("; idle, waiting for work", words.out);
	return words_end(&words);
}

/* Prints the ancestors of 'line' first. */
static void why_words_put_line(FILE *out, const struct why *why, uint32_t line)
{
	uint32_t depth = why->lines[line].depth;

	for (uint32_t up = line; depth > 0 && up-- > 0;) {
		if (why->lines[up].depth + 1 == depth) {
			why_words_put_line(out, why, up);
			fputs(" > ", out);
			break;
		}
	}
	fputs(why->lines[line].name, out);
}

char *words_line(const struct why *why, uint32_t line)
{
	struct words words;

	words_begin(&words);
	why_words_put_line(words.out, why, line);
	return words_end(&words);
}
