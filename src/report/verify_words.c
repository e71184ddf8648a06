/*
 * verify_words.c - what a check of the timeline found broken, as one sentence.
 *
 * In the templates stand, after a '%': W who, O other, N named; C and D the two CPUs; S and E the
 * start and the end; L the length between them; 0 1 2 a number, with 'c' before it as a count, 'd' as
 * a duration, 'x' in hexadecimal.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analyse/verify/verify.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/verify.h"

const char *const report_verify_checks[VERIFY_CHECKS] = {
	[VERIFY_ORDER] = "time does not go back within a stream",
	[VERIFY_STREAMS] = "a stream without holes has all that was recorded",
	[VERIFY_EVENTS] = "the timeline was made of these events",
	[VERIFY_GAPS] = "the timeline knows each hole of the streams",
	[VERIFY_LIFE] = "the states of a thread touch and are its life",
	[VERIFY_WINDOWS] = "working + interrupted + blocked + uncertain = the window",
	[VERIFY_TOTALS] = "stored sums are the sums of the intervals",
	[VERIFY_WAITS] = "a wait has its interval, its end and a waker that lived",
	[VERIFY_EDGES] = "a wake-up and the wait that it ended agree",
	[VERIFY_CPUS] = "the thread that a CPU names runs, and on no other CPU",
	[VERIFY_THREADS] = "a thread that runs is named by its CPU",
	[VERIFY_VERDICT] = "what a window is charged to is the window",
};

static const char *const templates[] = {
	[FAULT_TIME_BACK] = "on CPU %C time goes back by %d0",
	[FAULT_EVENT_COUNT] = "of CPU %C %c0 events are read, but %c1 were recorded",
	[FAULT_TIMELINE_COUNT] = "it was made of %c0 events, but there are %c1",
	[FAULT_HOLE_COUNT] = "the timeline has %c0 holes, the streams have %c1",
	[FAULT_HOLE_CPU] = "hole %0: the timeline has one on CPU %C, the streams on CPU %D",
	[FAULT_NO_CPU] = "%W runs from %S to %E, but no CPU names it",
	[FAULT_OTHER_STATE] = "CPU %C runs %W from %S to %E, whose own state is another (%x0)",
	[FAULT_NO_THREAD] = "CPU %C runs thread number %0 at %S",
	[FAULT_OTHER_IDLE] = "CPU %C runs the idle task of CPU %D",
	[FAULT_TWO_CPUS] = "%W runs on CPUs %C and %D at %S",
	[FAULT_ROOTS] = "%W: the roots add up to %0 ns of %1",
	[FAULT_STATES] = "%W: the states add up to %0 ns of %1",
	[FAULT_WAIT_KINDS] = "%W: the kinds of waits add up to %0 ns of %1",
	[FAULT_WOKEN_EARLY] = "%W: wait %0 is woken before it begins, at %S",
	[FAULT_WAIT_OUTSIDE] = "%W: wait %0 lies outside of the recording",
	[FAULT_WAKER_NONE] = "%W: wait %0 was ended by thread number %1, which is none",
	[FAULT_WAKER_DEAD] = "%W: wait %0 was ended at %S by %O, which did not live then",
	[FAULT_WAITS_OVERLAP] = "%W: wait %0 begins before the wait before it ended",
	[FAULT_WAIT_STOPS] = "%W: wait %0 should go on at %S, but it does not",
	[FAULT_NO_WAIT] = "%W: it is blocked at %S in wait %0 of %1",
	[FAULT_WAIT_TIME] = "%W: at %S it is blocked before or after its wait %0",
	[FAULT_WINDOW_STATES] = "%W: its states in %L from %S on add up to %0 ns",
	[FAULT_STORED_SUM] = "%W: the stored sum of row %x0 in %L from %S on is %1 ns, not %2",
	[FAULT_WAIT_SUM] = "%W: its waits add up to %0 ns of %1",
	[FAULT_WINDOW_HOLE] = "%W: the window of %L from %S on is not covered",
	[FAULT_INTERVALS_GAP] = "%W: its intervals do not touch at %S",
	[FAULT_STATE] = "%W: state %x0 cannot be at %S",
	[FAULT_INTERVALS_END] = "%W: its intervals end at %S",
	[FAULT_LIFE_SUM] = "%W: its states add up to %0 ns of a life of %1",
	[FAULT_LIFE] = "%W: it lives from %0 to %1",
	[FAULT_ENDED_NONE] = "%W: at %S it ended wait %0 of thread number %1, which is none",
	[FAULT_ENDED_TIME] = "%W: it ended wait %0 of %O at %S, but that one says %E",
	[FAULT_ENDED_NAME] = "%W: it ended wait %0 of %O, which names %N",
	[FAULT_WAKES_ORDER] = "%W: its wake-ups are not in order at %S",
};

/* "make[512]" */
static void verify_words_put_who(FILE *out, const struct verify_who *who)
{
	if (!who->is_thread)
		fprintf(out, "thread number %u", who->number);
	else if (who->tid == 0)
		fprintf(out, "idle task of CPU %u", who->number);
	else
		fprintf(out, "%s[%d]", who->comm, who->tid);
}

/* "+1.000000250 s": since the start of the recording. */
static void put_when(FILE *out, uint64_t origin_ns, uint64_t time_ns)
{
	bool is_before = time_ns < origin_ns;
	uint64_t ns = is_before ? origin_ns - time_ns : time_ns - origin_ns;

	fprintf(out, "%c%" PRIu64 ".%09" PRIu64 " s", is_before ? '-' : '+', ns / 1000000000u,
		ns % 1000000000u);
}

static void put_number(FILE *out, char form, uint64_t number)
{
	if (form == 'c')
		fputs(text_count(number).s, out);
	else if (form == 'd')
		fputs(text_duration(number).s, out);
	else if (form == 'x')
		fprintf(out, "%" PRIx64, number);
	else
		fprintf(out, "%" PRIu64, number);
}

/* What stands at 'at', behind the '%'. Returns its last letter. */
static const char *verify_words_put_part(FILE *out, const char *at,
					 const struct verify_broken *broken, uint64_t origin_ns)
{
	char form = *at;

	switch (form) {
	case 'W':
		verify_words_put_who(out, &broken->who);
		return at;
	case 'O':
		verify_words_put_who(out, &broken->other);
		return at;
	case 'N':
		verify_words_put_who(out, &broken->named);
		return at;
	case 'C':
	case 'D':
		fprintf(out, "%u", form == 'C' ? broken->cpu : broken->other_cpu);
		return at;
	case 'S':
	case 'E':
		put_when(out, origin_ns, form == 'S' ? broken->start_ns : broken->end_ns);
		return at;
	case 'L':
		fputs(text_duration(broken->end_ns - broken->start_ns).s, out);
		return at;
	default:
		at += form == 'c' || form == 'd' || form == 'x';
		put_number(out, form, broken->number[*at - '0']);
		return at;
	}
}

char *report_verify_broken(const struct verify *verify, const struct verify_broken *broken)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return xstrdup("");
	for (const char *at = templates[broken->fault]; *at; at++) {
		if (*at == '%')
			at = verify_words_put_part(out, at + 1, broken, verify->origin_ns);
		else
			fputc(*at, out);
	}
	fclose(out);
	return text;
}
