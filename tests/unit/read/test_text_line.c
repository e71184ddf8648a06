/* test_text_line.c - lines of all the tools that write events as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/event.h"
#include "read/text/line.h"

/* What a line must be understood as. */
struct want {
	const char *line;
	uint8_t kind;
	const char *comm, *name, *text;
	int32_t tid, tgid;
	uint32_t cpu;
	uint64_t ns;
	uint8_t context;
};

#define KNOWN EV_CTX_KNOWN

static const struct want lines[] = {
	{ "          <idle>-0       [001] d..2.    10.000001: cpu_idle: state=1", TEXT_EVENT,
	  "<idle>", "cpu_idle", "state=1", 0, -1, 1, 10000001000, KNOWN },
	{ " a b-c] [2]-77   (   12) [003] dNH1. 10.5: x: y", TEXT_EVENT, "a b-c] [2]", "x", "y", 77,
	  12, 3, 10500000000, KNOWN | EV_CTX_HARDIRQ | EV_CTX_SOFTIRQ },
	{ "RenderThread-1143  (-----) [004] ..s1 514769.085985: tracing_mark_write: E", TEXT_EVENT,
	  "RenderThread", "tracing_mark_write", "E", 1143, -1, 4, 514769085985000,
	  KNOWN | EV_CTX_SOFTIRQ },
	{ "atrace-14662 [000] 50260.647576: sched_switch: prev_comm=a", TEXT_EVENT, "atrace",
	  "sched_switch", "prev_comm=a", 14662, -1, 0, 50260647576000, 0 },
	{ "kworker/4:1-51    [004]  1583.765274123: cdev_update:          type=devfreq", TEXT_EVENT,
	  "kworker/4:1", "cdev_update", "type=devfreq", 51, -1, 4, 1583765274123, 0 },
	{ "swapper     0 [002]     1.000000: sched:sched_waking: comm=a b", TEXT_EVENT, "swapper",
	  "sched:sched_waking", "comm=a b", 0, -1, 2, 1000000000, 0 },
	{ "my prog 12/34 [002]     1.000000:          1 sched:sched_waking: c", TEXT_EVENT,
	  "my prog", "sched:sched_waking", "c", 34, 12, 2, 1000000000, 0 },
	{ "<...>-9 [000] .... 123456789: print: hello: you", TEXT_EVENT, "<...>", "print",
	  "hello: you", 9, -1, 0, 123456789, KNOWN },
	{ "bash-5994    0d.h1    12us+: event: text", TEXT_EVENT, "bash", "event", "text", 5994, -1,
	  0, 12000, KNOWN | EV_CTX_HARDIRQ },
	{ "            bash    3144   1 26 00000000 00000001 [780a2beb] 16.220ms (+0.001ms): a: b",
	  TEXT_EVENT, "bash", "a", "b", 3144, -1, 1, 16220000,
	  KNOWN | EV_CTX_HARDIRQ | EV_CTX_SOFTIRQ },
	{ "  foo:            my prog-7     [001]     1.5: a: b", TEXT_EVENT, "my prog", "a", "b", 7,
	  -1, 1, 1500000000, 0 },
	{ "   nginx: worker-7     [001]     1.5: a: b", TEXT_EVENT, "nginx: worker", "a", "b", 7,
	  -1, 1, 1500000000, 0 },
	{ "a 7 [001]  1.5: PERF_RECORD_FORK(8:8):(7:7)", TEXT_EVENT, "a", "PERF_RECORD_FORK",
	  "(8:8):(7:7)", 7, -1, 1, 1500000000, 0 },
	{ "cat-1 [000] .... 1.0: sys_openat(dfd: ffffff9c, filename: 7f)", TEXT_ENTER, "cat",
	  "openat", "dfd: ffffff9c, filename: 7f)", 1, -1, 0, 1000000000, KNOWN },
	{ "cat-1 [000] .... 1.0: sys_openat -> 0x3", TEXT_EXIT, "cat", "openat", "0x3", 1, -1, 0,
	  1000000000, KNOWN },
	{ "cat-1 [000] .... 1.0: path_put <-path_walk", TEXT_FUNCTION, "cat", "",
	  "path_put <-path_walk", 1, -1, 0, 1000000000, KNOWN },
	{ "cat-1 [000] .... 1.0: <stack trace>", TEXT_STACK, "cat", "", "<stack trace>", 1, -1, 0,
	  1000000000, KNOWN },
};

static void check_view(const char *line, struct text_view view, const char *want)
{
	if (view.bytes != strlen(want) || (view.bytes && memcmp(view.at, want, view.bytes) != 0))
		fail_msg("'%s': '%.*s', not '%s'", line, (int)view.bytes, view.at, want);
}

static void each_tool_has_its_columns(void **unused)
{
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		const struct want *want = &lines[i];
		struct text_line line;

		text_line_parse(want->line, strlen(want->line), &line);
		if (line.kind != want->kind || line.tid != want->tid || line.tgid != want->tgid ||
		    line.cpu != want->cpu || line.time_ns != want->ns ||
		    line.context != want->context)
			fail_msg("'%s': kind %u tid %d tgid %d cpu %u %llu ns context %u",
				 want->line, line.kind, line.tid, line.tgid, line.cpu,
				 (unsigned long long)line.time_ns, line.context);
		check_view(want->line, line.comm, want->comm);
		check_view(want->line, line.name, want->name);
		check_view(want->line, line.text, want->text);
	}
}

static const struct {
	const char *line;
	uint8_t kind;
} others[] = {
	{ "", TEXT_NOISE },
	{ "# tracer: nop", TEXT_NOISE },
	{ "cpus=8", TEXT_NOISE },
	{ "swapper 0 [000] 0.000000: PERF_RECORD_COMM: bash:7/7", TEXT_NOISE },
	{ "CPU 3 is empty", TEXT_NOISE },
	{ "CPU:3 [LOST 17 EVENTS]", TEXT_LOST },
	{ "CPU:3 [EVENTS DROPPED]", TEXT_LOST },
	{ "CPU:1 [SUBBUFFER START] [4517239646536:0x756000]", TEXT_NOISE },
	{ "Average wakeup latency: 55.209 usecs", TEXT_NOISE },
	{ " => schedule", TEXT_FRAME },
	{ "\t               0 [unknown] ([unknown])", TEXT_FRAME },
	{ "\t    ffffffff81234567 schedule+0x1 ([kernel.kallsyms])", TEXT_FRAME },
	{ " 0)   1.234 us    |  schedule();", TEXT_GRAPH },
	{ "what is this", TEXT_UNKNOWN },
	{ "a-1 [000] .... 1.0", TEXT_UNKNOWN },
	{ "a-1 [99999] .... 1.0: x: y", TEXT_UNKNOWN },
	{ "a-99999999999 [000] .... 1.0: x: y", TEXT_UNKNOWN },
	{ "a-1 [000] .... 99999999999999999999.0: x: y", TEXT_UNKNOWN },
	{ "CPU:99999 [LOST 17 EVENTS]", TEXT_UNKNOWN },
};

static void what_is_no_event_is_told_apart(void **unused)
{
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		struct text_line line;

		text_line_parse(others[i].line, strlen(others[i].line), &line);
		if (line.kind != others[i].kind)
			fail_msg("'%s': %u, not %u", others[i].line, line.kind, others[i].kind);
	}
}

static void a_cut_line_is_no_event_or_has_less_text(void **unused)
{
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		for (size_t bytes = 0; bytes < strlen(lines[i].line); bytes++) {
			char *copy = xmalloc(bytes + 1);
			struct text_line line;

			memcpy(copy, lines[i].line, bytes);
			text_line_parse(copy, bytes, &line); /* reads nothing behind it: ASan */
			assert_true(line.text.bytes <= bytes);
			mem_free(&copy);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_tool_has_its_columns),
		cmocka_unit_test(what_is_no_event_is_told_apart),
		cmocka_unit_test(a_cut_line_is_no_event_or_has_less_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
