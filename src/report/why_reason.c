/*
 * why_reason.c - the words of reasons, from a template for each kind.
 *
 * In the templates stand, after a '%': C call, O object, N name, W who; B what somebody did ("called
 * close()", "ended"); D the same without a call; I the inner reason; K " of " before the object, where it
 * has one; F how the call failed; w who woke it at last, where that is told; Q quota and period; M, P and Z what is known of sleeps; S what was seen of a wait; T what it means
 * that a timer of TCP went off; # a number.
 */
#include "report/why_reason.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/stuck_how.h"
#include "report/vocabulary.h"

#define NOTHING_DONE "between which nothing was done"

static const char *const reason_templates[WHY_REASON_KINDS] = {
	[WHY_REASON_CPU_UNKNOWN] = "the CPU it waited for is not known",
	[WHY_REASON_WAKEUP_UNRECORDED] = "its wake-up was not recorded",
	[WHY_REASON_OPEN] = "nothing ended the wait while it was recorded",
	[WHY_REASON_TOO_DEEP] = "deeper than the bound on depth",
	[WHY_REASON_HAD_ENDED] = "it had ended",
	[WHY_REASON_NOT_YET_THERE] = "it was not there yet",
	[WHY_REASON_RECORDING_ENDED] = "the recording ended",
	[WHY_REASON_CIRCLE] = "%I, in a circle: %W, which it waits for, waits for it",
	[WHY_REASON_QUOTA] = "held back by the CPU quota of cgroup %O, %Q",
	[WHY_REASON_QUOTA_PROBABLY] =
		"no thread ran on that CPU: probably the CPU quota of cgroup %O, %Q",
	[WHY_REASON_STOOD_STILL] =
		"no thread ran on that CPU: throttled, or the machine stood still",
	[WHY_REASON_ALLOWED] = "who waited may use %N only",
	[WHY_REASON_SCHEDULED] = "with %N; who waited, with %O",
	[WHY_REASON_GAVE_WAY] = "after sched_yield()",
	[WHY_REASON_KERNEL_GAVE_UP] = "the kernel waited no longer",
	[WHY_REASON_RCU] = "an RCU grace period",
	[WHY_REASON_SRCU] = "an SRCU grace period",
	[WHY_REASON_RCU_TASKS] = "a grace period of RCU tasks",
	[WHY_REASON_GRACE_ENDED] = "the end of %I",
	[WHY_REASON_RING_POLLER] = "%W, which polls for io_uring",
	[WHY_REASON_EXPECTED] = "%O",
	[WHY_REASON_END_USED_LATELY] = "of its threads only this one used its end lately",
	[WHY_REASON_LOCK_WORD] = "the word of the lock has its number",
	[WHY_REASON_LISTENS] = "it listens there",
	[WHY_REASON_NO_LATER_USER] = "no other thread used it later",
	[WHY_REASON_TAKER_GONE] =
		"who took the lock is gone, and only it has the file open beside the asker",
	[WHY_REASON_TAKER_GONE_FAMILY] =
		"who took the lock is gone, and only it and its children have the file open beside the asker",
	[WHY_REASON_GLIBC_OWNER] = "glibc keeps the owner of a lock there",
	[WHY_REASON_TOLD_BEFORE] = "it was so when the same call was looked at before",
	[WHY_REASON_PASSED_ON] =
		"what had come last was sent on to it, and it has not answered since",
	[WHY_REASON_WRITTEN_TO] = "it takes what is to be written",
	[WHY_REASON_QUEUE_FULL] = "its queue of connections was full until it accepted one",
	[WHY_REASON_ENDED_BELOW] =
		"its request ended right behind one below it that the limit had held back",
	[WHY_REASON_NOT_AT_DISK] = "it was asleep for I/O, and no such request was with the disk",
	[WHY_REASON_POLLED_LIMIT] =
		"a request that the limit had held back ended right before %W, which polls for io_uring, was done",
	[WHY_REASON_WAITED_AGAIN] =
		"who was woken waited for the same again at once, so that it may have been for nothing%w",
	[WHY_REASON_ONLY_ONE_LEFT] = "no other thread of the process could end that",
	[WHY_REASON_CHILD_SIGNAL] = "shells, and timeout, suspend themselves until a child ends",
	[WHY_REASON_ALL_LEAD] = "all who could end the wait wait for the same one, or for work",
	[WHY_REASON_OTHERS_WAIT] = "the others who could end the wait wait for the waiter",
	[WHY_REASON_EQUAL_PART] =
		"any of %# children could end the wait; each is charged an equal part, which is not measured",
	[WHY_REASON_SEEN] = "it %S",
	[WHY_REASON_REPORTED] =
		"%C() was called again each time, with only output written in between",
	[WHY_REASON_NO_REQUEST] = "nothing came there meanwhile",
	[WHY_REASON_GAVE_UP] = "it was killed as the limit of the wait had run out",
	[WHY_REASON_LAUNCHED] = "the program runs in another thread",
	[WHY_REASON_WORD_FOR_WORK] = "its longer waits there are",
	[WHY_REASON_OUTERMOST] = "it waits in the outermost code of its thread",
	[WHY_REASON_WORKER] = "this one alone of its workers and children is not idle",
	[WHY_REASON_A_WORKER] = "it is one of %n workers that are not idle",
	[WHY_REASON_PARKED] = "the scheduler in the program had nothing to run",
	[WHY_REASON_SUCCEEDED] = "%C()%K%O %F until %X %B",
	[WHY_REASON_CHANGED] = "%C()%K%O found nothing new until %X %B",
	[WHY_REASON_CHANGED_MAPPED] =
		"%C()%K%O found nothing new until it %D: it has that file mapped to write to",
	[WHY_REASON_GONE] = "%C()%K%O found it until %X %B",
	[WHY_REASON_ASKS_STILL] = "%C()%K%O %F up to the end",
	[WHY_REASON_HAD_LOCK] = "%C()%K%O %F: %W had the lock",
	[WHY_REASON_PROGRAM_GONE] = "'%O' found it until it ended",
	[WHY_REASON_PROGRAM_FOUND] = "'%O' did not find it until it %B",
	[WHY_REASON_WOKE_ALONE] =
		"it alone woke up and ran when %C() had timed out and was not called again",
	[WHY_REASON_TIMED_OUT] = "it %B when %C() had timed out and was not called again",
	[WHY_REASON_FOUND_LATE] = "it %B when %C() had timed out and still found something",
	[WHY_REASON_FOUND_NEXT] =
		"it %B after %C() had timed out, and the next %C() found something at once",
	[WHY_REASON_SLEEPS_ENDED] = "it alone %D as %# equal sleeps in %C() ended, %M",
	[WHY_REASON_TIMEOUTS_ENDED] = "it alone %D as %# equal time-outs in %C() ended, %M",
	[WHY_REASON_FILE_SLEEPS_ENDED] = "it alone %D as %# equal sleeps in %C() ended, %P",
	[WHY_REASON_FILE_TIMEOUTS_ENDED] = "it alone %D as %# equal time-outs in %C() ended, %P",
	[WHY_REASON_WROTE_MEMORY] =
		"it alone %B to write into its memory as %# sleeps in %C() ended, %Z",
	[WHY_REASON_UNANSWERED] = "%W had read what was sent there and did not answer: it %D%L",
	[WHY_REASON_PACKET] = "%N, sent when timer %O went off%T",
	[WHY_REASON_TCP_GAVE_UP] = "TCP gave up: the other end %T",
	[WHY_REASON_SEVERAL] = "calls failed, or waits went on, until they did something",
};

static const char *reason_text(const char *text)
{
	return text ? text : "";
}

static void reason_put_who(FILE *out, const struct why_reason *reason)
{
	/* A lock of a file is had by a process. */
	fprintf(out, "%s[%d]", reason_text(reason->who.comm),
		reason->kind == WHY_REASON_HAD_LOCK ? reason->who.tgid : reason->who.tid);
}

/* "called close()", "ended" */
static void reason_put_by(FILE *out, const char *by)
{
	if (*by)
		fprintf(out, "called %s()", by);
	else
		fputs("ended", out);
}

static void reason_put_failure(FILE *out, const struct why_reason *reason)
{
	if (*reason_text(reason->name))
		fprintf(out, "failed with %s", reason->name);
	else
		fputs(reason->found_alive ? "found it there" : "found nothing", out);
}

static const char *reason_tcp(const struct why_reason *reason)
{
	static const char *const sent[] = { "", " (TCP's delayed acknowledgement)",
					    " (TCP sent again)", " (TCP's keep-alive)" };

	if (reason->kind == WHY_REASON_PACKET)
		return reason->number < ARRAY_LEN(sent) ? sent[reason->number] : "";
	return reason->number == WHY_TCP_KEEP_ALIVE ? "answered no keep-alive"
						    : "acknowledged nothing";
}

static const char *reason_deed(enum why_deed did)
{
	switch (did) {
	case WHY_DEED_WOKE:
		return "woke up";
	case WHY_DEED_STOPPED_WORK:
		return "stopped working";
	case WHY_DEED_MOVED_ON:
		return "went on in other code";
	case WHY_DEED_WORKED:
		return "worked";
	case WHY_DEED_WAITED:
		return "waited";
	case WHY_DEED_NO_CPU:
		return "had no CPU";
	case WHY_DEED_ENDED:
	case WHY_DEED_NONE:
		break;
	}
	return "ended";
}

static void reason_put(FILE *out, const struct why_reason *reason);

static void reason_put_part(FILE *out, const struct why_reason *reason, char part)
{
	switch (part) {
	case 'C':
		fputs(reason_text(reason->call), out);
		break;
	case 'L':
		if (*reason_text(reason->call))
			fprintf(out, " in %s()", reason->call);
		break;
	case 'O':
		fputs(reason_text(reason->object), out);
		break;
	case 'N':
		fputs(reason_text(reason->name), out);
		break;
	case 'S':
		fputs(report_stuck_how_words(stuck_how_of(reason_text(reason->name))), out);
		break;
	case 'T':
		fputs(reason_tcp(reason), out);
		break;
	case 'K':
		fputs(*reason_text(reason->object) ? " of " : "", out);
		break;
	case 'X': /* a row is about what that one waited for, maybe */
		if (!reason->who.tid)
			fputs("it", out);
		else
			reason_put_who(out, reason);
		break;
	case 'W':
		reason_put_who(out, reason);
		break;
	case 'w':
		if (reason->who.tid) {
			fputs("; it went on when woken by ", out);
			reason_put_who(out, reason);
		}
		break;
	case 'B':
		reason_put_by(out, reason_text(reason->by));
		break;
	case 'D':
		fputs(reason_deed(reason->did), out);
		break;
	case 'I':
		reason_put(out, reason->inner);
		break;
	case 'F':
		reason_put_failure(out, reason);
		break;
	case 'M':
		fputs(NOTHING_DONE ": what they were for is in memory, and not recorded", out);
		break;
	case 'P':
		fputs(NOTHING_DONE
		      ": what they were for is in a file that both have mapped, and not recorded",
		      out);
		break;
	case 'Z':
		fputs(NOTHING_DONE, out);
		break;
	case 'Q':
		fprintf(out, "%s in each %s", text_duration(reason->part_ns).s,
			text_duration(reason->whole_ns).s);
		break;
	default:
		fprintf(out, "%u", reason->number);
		break;
	}
}

/* "SIGTERM of timeout[12] ended it", "SIGINT of the terminal (Ctrl-C) interrupted it" */
static void reason_put_ended(FILE *out, const struct why_reason *reason)
{
	const char *signal = reason_text(reason->name);
	const char *did = reason->kind == WHY_REASON_INTERRUPTED ? "interrupted" : "ended";

	if (!*signal && !reason->who.tid) {
		fputs("its process ended", out);
		return;
	}
	fputs(signal, out);
	if (reason->inner || (*signal && reason->who.tid))
		fputs(" of ", out);
	if (reason->inner)
		reason_put(out, reason->inner);
	else if (reason->by_timer)
		fputs(" by a timer", out);
	else if (reason->who.tid)
		reason_put_who(out, reason);
	fprintf(out, " %s it", *signal ? did : "ended");
}

/* "SIGCONT of bash[12]", "it was thawed" */
static void reason_put_stopped(FILE *out, const struct why_reason *reason)
{
	const char *signal = reason_text(reason->name);

	if (!reason->who.tid) {
		fputs(*signal ? signal : "it was thawed", out);
		return;
	}
	fprintf(out, "%s%s", signal, *signal ? " of " : "");
	reason_put_who(out, reason);
	fputs(*signal ? "" : " thawed it", out);
}

/* "the terminal (Ctrl-C from ssh[12])" */
static void reason_put_terminal(FILE *out, const struct why_reason *reason)
{
	const char *did = reason->kind == WHY_REASON_TERMINAL_HUNG_UP ? "it was hung up"
								      : reason_text(reason->name);

	fputs("the terminal", out);
	if (!*did && !reason->who.tid)
		return;
	fprintf(out, " (%s", did);
	if (reason->who.tid) {
		fputs(*did ? " from " : "written to by ", out);
		reason_put_who(out, reason);
	}
	fputc(')', out);
}

/* "own code 61 %, getdents64 30 %" */
static void reason_put_shares(FILE *out, const struct why_reason *share)
{
	for (const char *comma = ""; share; share = share->inner, comma = ", ")
		fprintf(out, "%s%s %.0f %%", comma, reason_text(share->name),
			100.0 * (double)share->part_ns / (double)share->whole_ns);
}

static void reason_put(FILE *out, const struct why_reason *reason)
{
	if (!reason)
		return;
	switch (reason->kind) {
	case WHY_REASON_UNSURE:
		fputs(why_unsure_name(reason->number), out);
		return;
	case WHY_REASON_ENDED:
	case WHY_REASON_INTERRUPTED:
		reason_put_ended(out, reason);
		return;
	case WHY_REASON_CONTINUED:
	case WHY_REASON_THAWED:
		reason_put_stopped(out, reason);
		return;
	case WHY_REASON_TERMINAL_KEY:
	case WHY_REASON_TERMINAL_HUNG_UP:
	case WHY_REASON_TERMINAL_WRITTEN:
		reason_put_terminal(out, reason);
		return;
	case WHY_REASON_SHARE:
		reason_put_shares(out, reason);
		return;
	default:
		break;
	}
	for (const char *at = reason_text(reason_templates[reason->kind]); *at; at++) {
		if (*at == '%')
			reason_put_part(out, reason, *++at);
		else
			fputc(*at, out);
	}
}

char *report_why_reason(const struct why_reason *reason)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = reason ? open_memstream(&text, &bytes) : NULL;

	if (!out)
		return xstrdup("");
	reason_put(out, reason);
	fclose(out);
	return text;
}

static void reason_put_key(struct json *json, const char *key, const char *text)
{
	if (*reason_text(text))
		json_print_string(json, key, text);
}

char *report_why_named(const char *name, const struct why_reason *data)
{
	return *name ? xstrdup(name) : report_why_reason(data);
}

char *report_why_did(const struct why_root *root)
{
	return report_why_named(root->what, root->what_data ? root->what_data : root->why);
}

static bool reason_is_of_cpu(const struct why_reason *reason)
{
	return reason &&
	       (reason->kind == WHY_REASON_QUOTA || reason->kind == WHY_REASON_QUOTA_PROBABLY ||
		reason->kind == WHY_REASON_STOOD_STILL);
}

char *report_why_what(const struct why_root *root)
{
	return root->what_data || reason_is_of_cpu(root->why) ? report_why_did(root)
							      : xstrdup(root->what);
}

char *report_why_object(const char *object, uint32_t objects)
{
	return objects ? xasprintf("%" PRIu32 " things%s%s", objects,
				   *object ? ", mostly for " : "", object)
		       : xstrdup(object);
}

char *report_why_hop_did(const struct why_hop *hop)
{
	if (hop->kept_off.tid)
		return xasprintf("ran while %s[%d] waited for a CPU", hop->kept_off.comm,
				 hop->kept_off.tid);
	return report_why_named(hop->what, hop->what_data ? hop->what_data : hop->why);
}

static const char *reason_name_key(enum why_reason_kind kind)
{
	if (kind == WHY_REASON_TERMINAL_KEY)
		return "key";
	if (kind == WHY_REASON_SHARE || kind == WHY_REASON_PACKET || kind == WHY_REASON_SEEN ||
	    kind == WHY_REASON_SCHEDULED || kind == WHY_REASON_ALLOWED)
		return "name";
	return kind == WHY_REASON_SUCCEEDED || kind == WHY_REASON_HAD_LOCK ? "error" : "signal";
}

/* A field that its kind does not have is left out. */
static void reason_put_data(struct json *json, const char *key, const struct why_reason *reason)
{
	static const char *const tcp[] = { "", "delayed_ack", "sent_again", "keep_alive" };
	static const char *const deeds[] = { "",	 "ended",  "woke_up", "stopped_working",
					     "moved_on", "worked", "waited",  "had_no_cpu" };
	bool is_share = reason->kind == WHY_REASON_SHARE;

	json_begin_object(json, key);
	json_print_string(json, "kind", why_reason_name(reason->kind));
	if (reason->who.tid)
		report_json_thread(json, "who", &reason->who);
	reason_put_key(json, "call", reason->call);
	reason_put_key(json, "object", reason->object);
	reason_put_key(json, reason_name_key(reason->kind), reason->name);
	if (reason->by_timer)
		json_print_bool(json, "by_timer", true);
	reason_put_key(json, "by", reason->by);
	if (reason->did)
		json_print_string(json, "did", deeds[reason->did]);
	if (reason->found_alive)
		json_print_bool(json, "found_alive", true);
	if (reason->kind == WHY_REASON_UNSURE)
		json_print_string(json, "reason", why_unsure_name(reason->number));
	else if (reason->kind == WHY_REASON_PACKET || reason->kind == WHY_REASON_TCP_GAVE_UP)
		reason_put_key(json, "tcp", tcp[reason->number]);
	else if (reason->number)
		json_print_u64(json, "count", reason->number);
	if (reason->whole_ns) {
		json_print_u64(json, is_share ? "ns" : "quota_ns", reason->part_ns);
		json_print_u64(json, is_share ? "of_ns" : "period_ns", reason->whole_ns);
	}
	if (reason->inner)
		reason_put_data(json, "inner", reason->inner);
	json_end_object(json);
}

void report_json_named(struct json *json, const char *key, const char *name,
		       const struct why_reason *data)
{
	AUTO_FREE char *words = report_why_named(name, data);

	json_print_string(json, key, words);
	if (data) {
		AUTO_FREE char *data_key = xasprintf("%s_data", key);

		reason_put_data(json, data_key, data);
	}
}

void report_json_reason(struct json *json, const char *key, const struct why_reason *reason)
{
	report_json_named(json, key, "", reason);
}

void report_json_what(struct json *json, const struct why_root *root)
{
	AUTO_FREE char *what = report_why_what(root);

	report_json_named(json, "what", what, root->what_data);
}

void report_json_object(struct json *json, const char *object, uint32_t objects)
{
	AUTO_FREE char *words = report_why_object(object, objects);

	json_print_string(json, "object", words);
	if (!objects)
		return;
	json_begin_object(json, "object_data");
	json_print_u64(json, "count", objects);
	reason_put_key(json, "most", object);
	json_end_object(json);
}
