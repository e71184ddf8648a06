/*
 * test_expr.c - filter expressions over a small set of events, with the matches known by hand.
 *
 *	A  sched:sched_switch  cpu 0  tid 7  prev_comm=make prev_pid=7 prev_state=1 (S) next_pid=0
 *	B  sched:sched_switch  cpu 1  tid 8  prev_comm=gcc prev_pid=8 prev_state=0 (R) next_pid=7
 *	C  raw_syscalls:sys_enter  cpu 0  tid 7  id=257 (openat) args={1,2,0xfff0,0,0,0}
 *	D  sched:sched_waking  cpu 1  tid 8  comm=make pid=7 prio=-1
 *	E  holdup:lost_events  cpu 1
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/comms.h"
#include "event/event.h"
#include "event/facts.h"
#include "fields/expr.h"
#include "fields/print.h"
#include "fields/value.h"
#include "store/formats.h"

#define COMMON                                                                 \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static struct format_section sections[] = {
	{ (char *)"sched/sched_switch",
	  (char *)"ID: 1\nformat:\n" COMMON
		  "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		  "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		  "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
		  "\tfield:pid_t next_pid;\toffset:40;\tsize:4;\tsigned:1;\n\n"
		  "print fmt: \"%s %d %s %d\", REC->prev_comm, REC->prev_pid, REC->prev_state & 3 ? "
		  "__print_flags(REC->prev_state & 3, \"|\", { 1, \"S\" }, { 2, \"D\" }) : \"R\", "
		  "REC->next_pid\n" },
	{ (char *)"raw_syscalls/sys_enter",
	  (char *)"ID: 2\nformat:\n" COMMON "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
		  "\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n\n"
		  "print fmt: \"NR %ld\", REC->id\n" },
	{ (char *)"sched/sched_waking",
	  (char *)"ID: 3\nformat:\n" COMMON
		  "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		  "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		  "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n\n"
		  "print fmt: \"%s %d\", REC->comm, REC->pid\n" },
};
static const struct formats formats = { sections, ARRAY_LEN(sections), ARRAY_LEN(sections) };
static const struct facts facts = { .arch = "x86_64", .first_ns = 1000000000 };

struct fixture {
	struct printer *printer;
	struct value_context context;
	uint8_t records[4][64];
	struct event events[5];
	struct value_line lines[5];
};

static void put(uint8_t *at, int64_t value, size_t bytes)
{
	memcpy(at, &value, bytes); /* the low bytes: tests run on little-endian machines */
}

static void fill_records(struct fixture *fixture)
{
	uint8_t(*r)[64] = fixture->records;

	put(r[0], 1, 2);
	memcpy(r[0] + 8, "make", 4);
	put(r[0] + 24, 7, 4);
	put(r[0] + 32, 1, 8);
	put(r[1], 1, 2);
	memcpy(r[1] + 8, "gcc", 3);
	put(r[1] + 24, 8, 4);
	put(r[1] + 40, 7, 4);
	put(r[2], 2, 2);
	put(r[2] + 8, 257, 8);
	put(r[2] + 16, 1, 8);
	put(r[2] + 24, 2, 8);
	put(r[2] + 32, 0xfff0, 8);
	put(r[3], 3, 2);
	memcpy(r[3] + 8, "make", 4);
	put(r[3] + 24, 7, 4);
	put(r[3] + 28, -1, 4);
}

static struct fixture *fixture_new(void)
{
	static const char comms[2][COMMS_BYTES] = { "make", "gcc" };
	static const uint8_t types[] = { EV_SCHED_SWITCH, EV_SCHED_SWITCH, EV_SYS_ENTER,
					 EV_SCHED_WAKING, EV_LOST };
	struct fixture *fixture = xcalloc(1, sizeof(*fixture));
	struct print_setup setup = { &formats, &facts, false, 8 };

	fixture->printer = printer_new(&setup);
	fixture->context = (struct value_context){ fixture->printer, &facts,
						   print_memory_new(fixture->printer) };
	fill_records(fixture);
	for (uint32_t i = 0; i < 5; i++) {
		bool odd = i == 1 || i == 3 || i == 4;

		fixture->events[i] = (struct event){
			.time_ns = 1000000000u + 1000000u * i,
			.tid = i == 4 ? -1
			       : odd  ? 8
				      : 7,
			.cpu = odd,
			.type = types[i],
		};
		if (i < 4)
			fixture->lines[i].record =
				(struct trace_record){ fixture->records[i], 64, i };
		fixture->lines[i].event = &fixture->events[i];
		fixture->lines[i].kind = value_kind_of(fixture->printer, &fixture->events[i],
						       &fixture->lines[i].record);
		fixture->lines[i].comm = comms[odd];
		fixture->lines[i].delta_ns = i * 500;
		fixture->lines[i].state = i == 2 ? "user > openat" : "user";
	}
	fixture->events[2].syscall.nr = 257;
	return fixture;
}

static void fixture_free(struct fixture *fixture)
{
	print_memory_free(fixture->context.memory);
	printer_free(fixture->printer);
	free(fixture);
}

/* The letters of the events that 'text' holds for. */
static void expect(const char *text, const char *expected)
{
	struct fixture *fixture = fixture_new();
	char matches[8] = "";
	struct expr *expr;
	struct err err = { 0 };
	size_t count = 0;

	if (expr_new(text, &fixture->context, &expr, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	for (size_t i = 0; i < 5; i++) {
		if (expr_match(expr, &fixture->lines[i]))
			matches[count++] = "ABCDE"[i];
	}
	if (strcmp(matches, expected) != 0)
		fail_msg("%s: matches \"%s\", not \"%s\"", text, matches, expected);
	expr_free(expr);
	fixture_free(fixture);
}

/* 'text' is refused, with these words. */
static void refuse(const char *text, const char *why)
{
	struct fixture *fixture = fixture_new();
	struct expr *expr = NULL;
	struct err err = { 0 };
	int rc = expr_new(text, &fixture->context, &expr, &err);

	assert_int_equal(rc, -EINVAL);
	if (!strstr(err.text, why))
		fail_msg("%s: \"%s\" does not say \"%s\"", text, err.text, why);
	fixture_free(fixture);
}

static void events_are_chosen_by_name_and_glob(void **unused)
{
	expect("sched_switch", "AB");
	expect("sched:sched_switch", "AB");
	expect("sched/sched_switch", "AB");
	expect("sched:*", "ABD");
	expect("sched_*", "ABD");
	expect("event == sched_switch", "AB");
	expect("event ~ \"*enter\"", "C");
	expect("system == sched", "ABD");
	expect("name == sys_enter", "C");
	expect("lost_events", "E");
	expect("not sched_switch", "CDE");
}

static void fields_are_compared_as_numbers(void **unused)
{
	expect("prev_pid == 7", "A");
	expect("prev_pid = 7", "A");
	expect("prev_pid != 7", "B");
	expect("prev_pid < 8", "A");
	expect("prev_pid <= 8", "AB");
	expect("prev_pid > 0x7", "B");
	expect("prev_pid >= 7 && prev_pid<8", "A");
	expect("prio == -1", "D");
	expect("prio < 0", "D");
	expect("prio > 4294967290", "");
	expect("args[1] == 2", "C");
	expect("args[2] & 0x10", "C");
	expect("args[2] & 0xf", "");
	expect("args[2] & 0xff == 0xf0", "C");
	expect("args[9] == 0", "C"); /* there is no such element: 0 */
	expect("next_pid", "B");
}

static void fields_are_compared_as_text(void **unused)
{
	expect("prev_comm == make", "A");
	expect("prev_comm == \"make\"", "A");
	expect("prev_comm == 'make'", "A");
	expect("prev_comm != make", "B");
	expect("prev_comm ~ m*", "A");
	expect("prev_comm ~ \"?cc\"", "B");
	expect("prev_comm !~ \"m*\"", "B");
	expect("prev_comm =~ \"^(make|gcc)$\"", "AB");
	expect("prev_comm =~ \"c+$\"", "B");
	expect("prev_comm", "AB");
	expect("prev_comm < \"h\"", "B");
	expect("prev_pid =~ \"^7$\"", "A");
}

static void numbers_have_words(void **unused)
{
	expect("prev_state == S", "A");
	expect("prev_state != S", "B");
	expect("prev_state == R", "B");
	expect("prev_state ~ \"[S]\"", "");
	expect("prev_state =~ \"[SD]\"", "A");
	expect("id == openat", "C");
	expect("id != openat", "");
	expect("sys_enter: id == openat", "C");
	expect("syscall == openat", "C");
	expect("syscall ~ open*", "C");
}

static void columns_are_fields_of_every_line(void **unused)
{
	expect("cpu == 1", "BDE");
	expect("tid == 7", "AC");
	expect("comm == make", "AC");
	expect(".comm == make", "D");
	expect("pid == 7", "ACD"); /* the event's own, else the thread */
	expect("time >= 1.002", "CDE");
	expect("since < 2ms", "AB");
	expect("delta > 1us", "DE");
	expect("delta >= 1000ns", "CDE");
	expect("delta < 1", "ABCDE"); /* seconds */
	expect("state ~ \"*openat\"", "C");
	expect("text ~ \"*gcc*\"", "B");
}

static void expressions_are_joined(void **unused)
{
	expect("sched_switch and cpu == 0", "A");
	expect("sched_switch && cpu == 0 || sys_enter", "AC");
	expect("sched_switch && (cpu == 0 || sys_enter)", "A");
	expect("!sched_switch and !lost_events", "CD");
	expect("! (cpu == 0)", "BDE");
	expect("not not cpu == 0", "AC");
	expect("cpu == 0 or cpu == 1", "ABCDE");
	expect("sched_switch: prev_pid == 7 || prev_pid == 8", "AB");
	expect("sched:sched_switch:prev_pid==8", "B");
	expect("(sched_switch: cpu == 0) || sys_enter", "AC");
}

static void a_field_that_is_not_there_matches_nothing(void **unused)
{
	expect("prio == 5", "");
	expect("prio != 5", "D");
	expect("!(prio == 5)", "D");
	expect("!(prio != 5)", "");
	expect("prio != 5 || sys_enter", "CD");
	expect("!(prio == 5 && sched_waking)", "ABCDE"); /* what is no sched_waking is decided */
	expect("id && prev_pid", "");
}

static void what_is_wrong_is_said_where(void **unused)
{
	refuse("", "a field or an event is missing");
	refuse("prev_pidd == 7", "did you mean \"prev_pid\"");
	refuse("prev_pid == ", "a value is missing");
	refuse("prev_pid == 7 cpu == 0", "\"and\" or \"or\" is missing");
	refuse("(prev_pid == 7", "not closed");
	refuse("prev_pid == 7)", "\"and\" or \"or\" is missing");
	refuse("prev_comm == \"make", "does not end");
	refuse("prev_comm =~ \"(\"", "Unmatched");
	refuse("args[x] == 1", "NAME[NUMBER]");
	refuse("args[2] & many", "a mask is a number");
	refuse("prev_pid == seven", "prev_pid is a number");
	refuse("no_such_thing", "no event or field");
	refuse("no_such_thing == 1", "no event of this trace has a field");
	refuse("&& cpu == 0", "a field or an event is missing");
	refuse("cpu == 0 &&", "a field or an event is missing");
}

static void what_nests_too_deep_is_refused(void **unused)
{
	AUTO_FREE char *text = xcalloc(1, 6000), *nots = xcalloc(1, 6000),
		       *longer = xcalloc(1, 40000);

	memset(text, '(', 3000);
	refuse(text, "nests too deep");
	memset(nots, '!', 3000);
	refuse(nots, "nests too deep");
	for (int i = 0; i < 3000; i++)
		strcat(longer + (size_t)i * 10, i ? "||cpu == 1" : "0 cpu == 1");
	refuse(longer + 1, "too long");
}

static void globs_match_whole_texts(void **unused)
{
	static const struct {
		const char *glob, *text;
		bool matches;
	} cases[] = {
		{ "", "", true },	 { "", "a", false },
		{ "*", "", true },	 { "a*", "abc", true },
		{ "*c", "abc", true },	 { "a*c", "abc", true },
		{ "a?c", "abc", true },	 { "a?c", "ac", false },
		{ "*b*", "abc", true },	 { "a*b*c", "aXbYbc", true },
		{ "a*b", "abc", false }, { "**", "x", true },
		{ "[a]", "a", false },	 { "*a*a*a*b", "aaaaaaaaaaaaaaaa", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		bool matches = text_glob(cases[i].glob, cases[i].text, strlen(cases[i].text));

		if (matches != cases[i].matches)
			fail_msg("%s and %s", cases[i].glob, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_chosen_by_name_and_glob),
		cmocka_unit_test(fields_are_compared_as_numbers),
		cmocka_unit_test(fields_are_compared_as_text),
		cmocka_unit_test(numbers_have_words),
		cmocka_unit_test(columns_are_fields_of_every_line),
		cmocka_unit_test(expressions_are_joined),
		cmocka_unit_test(a_field_that_is_not_there_matches_nothing),
		cmocka_unit_test(what_is_wrong_is_said_where),
		cmocka_unit_test(what_nests_too_deep_is_refused),
		cmocka_unit_test(globs_match_whole_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
