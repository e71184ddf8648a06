/* test_text_trace.c - texts as events. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "event/stacks.h"
#include "fields/find.h"
#include "read/read.h"

#define HEAD(time) "  <idle>-0     (-----) [001] d.h2. " time ": "

struct made {
	char path[64];
	struct trace *trace;
	const struct event *event;
};

static void make(struct made *made, const char *text, size_t bytes)
{
	struct err err = { 0 };
	int fd;

	strcpy(made->path, "/tmp/holdup-text-XXXXXX");
	fd = mkstemp(made->path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, bytes), bytes);
	close(fd);
	if (read_open(made->path, &made->trace, &err) < 0)
		made->trace = NULL;
}

static void unmake(struct made *made)
{
	trace_close(made->trace);
	unlink(made->path);
}

static const struct event *next(struct made *made)
{
	struct err err = { 0 };

	return source_next(trace_source(made->trace), &made->event, &err) > 0 ? made->event : NULL;
}

/* The first event of a line behind columns. */
static const struct event *event_of(struct made *made, const char *text)
{
	AUTO_FREE char *line = xasprintf(HEAD("1.000001") "%s\n", text);
	const struct event *event;

	make(made, line, strlen(line));
	assert_non_null(made->trace);
	event = next(made);
	assert_non_null(event);
	return event;
}

static const char *const switches[] = {
	"sched_switch: prev_comm=a b prev_pid=x prev_pid=7 prev_prio=120 prev_state=S|K ==> "
	"next_comm=c==> next_pid=0 next_prio=98",
	"sched_switch:          a b prev_pid=x:7 [120] S|K ==> c==>:0 [98]",
	"sched:sched_switch: prev_comm=a b prev_pid=x prev_pid=7 prev_prio=120 prev_state=1 "
	"next_comm=c==> next_pid=0 next_prio=98",
};

static void a_switch_is_one_however_it_is_written(void **unused)
{
	for (size_t i = 0; i < ARRAY_LEN(switches); i++) {
		struct made made;
		const struct event *event = event_of(&made, switches[i]);

		assert_int_equal(event->type, EV_SCHED_SWITCH);
		assert_string_equal(event->sched_switch.prev_comm, "a b prev_pid=x");
		assert_int_equal(event->sched_switch.prev_tid, 7);
		assert_int_equal(event->sched_switch.prev_prio, 120);
		assert_int_equal(event->sched_switch.prev_state, TASK_STATE_SLEEPING);
		assert_string_equal(event->sched_switch.next_comm, "c==>");
		assert_int_equal(event->sched_switch.next_prio, 98);
		assert_int_equal(event->cpu, 1);
		assert_int_equal(event->context, EV_CTX_KNOWN | EV_CTX_HARDIRQ);
		unmake(&made);
	}
}

/* Perfetto fills the column of flags with points. */
static void flags_that_no_kernel_has_tell_nothing(void **unused)
{
	static const char softirq[] = "  a-7     ( 7) [001] .... 1.000001: softirq_entry: vec=3 "
				      "[action=NET_RX]\n";
	static const char other[] = "  a-7     ( 7) [001] d.h. 1.000002: irq_handler_entry: irq=5 "
				    "name=eth0\n";
	AUTO_FREE char *both = xasprintf("%s%s", softirq, other);
	struct made made;

	make(&made, softirq, strlen(softirq));
	assert_int_equal(next(&made)->context, 0);
	unmake(&made);
	make(&made, both, strlen(both));
	assert_int_equal(next(&made)->context, EV_CTX_KNOWN);
	unmake(&made);
}

static void calls_have_numbers_and_arguments(void **unused)
{
	static const char *const texts[] = {
		"sys_enter: NR 0 (3, 7f00, 10, 0, 0, 0)",
		"sys_read(fd: 3, buf: 7f00, count: 10)",
		"sys_enter_read: fd: 0x00000003, buf: 0x7f00, count: 0x10",
		"syscalls:sys_enter_read: fd: 0x00000003, buf: 0x7f00, count: 0x10",
		"sys_enter_read: __syscall_nr=0x0 (0) fd=0x3 (3) buf=(0x7f00) count=0x10 (16)",
		"sys_enter_read: fd: 0x3, buf: 0x7f00 \"a: 1, \"b\": 2\", count: 0x10",
	};
	struct made made;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const struct event *event = event_of(&made, texts[i]);

		assert_int_equal(event->type, EV_SYS_ENTER);
		assert_int_equal(event->syscall.nr, 0);
		assert_int_equal(event->syscall.args[0], 3);
		assert_int_equal(event->syscall.args[1], 0x7f00);
		assert_int_equal(event->syscall.args[2], 0x10);
		assert_true(trace_facts(made.trace)->has_syscalls);
		unmake(&made);
	}
	assert_int_equal(event_of(&made, "sys_exit: NR 262 = -2")->syscall.ret, -2);
	unmake(&made);
	assert_int_equal(event_of(&made, "sys_newfstatat -> 0xfffffffffffffffe")->syscall.nr, 262);
	assert_int_equal(made.event->syscall.ret, -2);
	unmake(&made);
	assert_int_equal(event_of(&made,
				  "sys_exit_read: __syscall_nr=0x0 (0) ret=0xfffffffffffffffe (-2)")
				 ->syscall.ret,
			 -2);
	unmake(&made);
	assert_int_equal(event_of(&made, "sys_exit_new_one: __syscall_nr=0x1f4 (500) ret=0x0 (0)")
				 ->syscall.nr,
			 500);
	unmake(&made);
}

static void other_known_events_have_their_fields(void **unused)
{
	struct made made;
	const struct event *event =
		event_of(&made, "block_rq_issue: 254,1 WS 4096 () 2048 + 8 [kworker/0:1H]");

	assert_int_equal(event->block.dev, 254u << 20 | 1);
	assert_int_equal(event->block.sector, 2048);
	assert_int_equal(event->block.sectors, 8);
	assert_string_equal(event->block.rwbs, "WS");
	assert_string_equal(event->block.comm, "kworker/0:1H");
	unmake(&made);
	event = event_of(&made, "block_rq_complete: 8,0 R () 2048 + 8 none,0,0 [-5]");
	assert_int_equal(event->block.error, -5);
	unmake(&made);
	event = event_of(&made, "irq_handler_entry: irq=24 name=virtio0 req.0");
	assert_string_equal(event->irq.name, "virtio0 req.0");
	unmake(&made);
	event = event_of(&made, "contention_begin: 00000000abcd (flags=READ|MUTEX)");
	assert_int_equal(event->lock.flags, 34);
	unmake(&made);
	event = event_of(&made, "sched_process_exit: comm=a pid=7 prio=120 group_dead=true");
	assert_true(event->task.group_dead && event->task.group_dead_known);
	unmake(&made);
	event = event_of(&made, "workqueue_execute_start: work struct 00ab: function wb_workfn");
	assert_int_equal(event->work.work, 0xab);
	assert_string_equal(facts_symbol(trace_facts(made.trace), event->work.function),
			    "wb_workfn");
	unmake(&made);
	event = event_of(&made, "my_own: a=1");
	assert_int_equal(event->type, EV_OTHER);
	assert_string_equal(event->other.name, "my_own");
	unmake(&made);
}

static void lines_are_put_in_order_of_time(void **unused)
{
	static const char text[] = HEAD("1.000003") "a: 3\n" HEAD("1.000001") "a: 1\n" HEAD(
		"1.000002") "a: 2\n" HEAD("1.000002") "b: 2\n";
	static const uint64_t us[] = { 1000001, 1000002, 1000002, 1000003 };
	struct made made;

	make(&made, text, strlen(text));
	for (size_t i = 0; i < ARRAY_LEN(us); i++)
		assert_int_equal(next(&made)->time_ns, us[i] * 1000);
	assert_null(next(&made));
	assert_int_equal(trace_facts(made.trace)->damage_count, 0);
	assert_int_equal(trace_facts(made.trace)->first_ns, 1000001000);
	unmake(&made);
}

static void lost_events_are_a_hole_before_the_next_of_the_cpu(void **unused)
{
	static const char text[] =
		HEAD("1.000001") "a: 1\nCPU:1 [LOST 5 EVENTS]\n"
				 "CPU:0 [LOST EVENTS]\n" HEAD("1.000004") "a: 4\n";
	struct made made;

	make(&made, text, strlen(text));
	assert_int_equal(next(&made)->type, EV_OTHER);
	assert_int_equal(next(&made)->type, EV_LOST);
	assert_int_equal(made.event->cpu, 1);
	assert_int_equal(made.event->lost.count, 5);
	assert_int_equal(made.event->lost.since_ns, 1000001000);
	assert_int_equal(made.event->time_ns, 1000004000);
	assert_int_equal(next(&made)->type, EV_OTHER);
	assert_int_equal(next(&made)->type, EV_LOST);
	assert_int_equal(made.event->cpu, 0);
	assert_int_equal(made.event->lost.count, 0);
	assert_null(next(&made));
	unmake(&made);
}

static void damage_says_the_line_and_costs_only_that(void **unused)
{
	static const char text[] = "some words first\n" HEAD("1.000001") "a: 1\nwhat is this\n" HEAD(
		"1.000002") "sched_switch: prev_comm=a prev_pid=1\n" HEAD("1.000003") "a: 3\n";
	struct made made;
	uint32_t count = 0, lost = 0;

	make(&made, text, strlen(text));
	for (; next(&made); count++)
		lost += made.event->type == EV_LOST;
	assert_int_equal(count, 4);
	assert_int_equal(lost, 1);
	assert_int_equal(trace_facts(made.trace)->damage_count, 2);
	assert_string_equal(trace_facts(made.trace)->damage[0], "line 3 is no event");
	assert_string_equal(trace_facts(made.trace)->damage[1],
			    "line 4: the text of this event is not understood");
	unmake(&made);
}

/* Many lines, so that a seek has to search. */
static char *many_lines(size_t count)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	for (size_t i = 0; i < count; i++)
		fprintf(out, "  a-%zu  [%03zu] ..... %zu.%06zu: ev: number %zu\n", 1 + i % 50,
			i % 4, 10 + i / 1000, i % 1000, i);
	fclose(out);
	return text;
}

static void a_seek_finds_the_first_event_at_or_after_the_time(void **unused)
{
	AUTO_FREE char *text = many_lines(60000);
	struct made made;
	struct err err = { 0 };

	make(&made, text, strlen(text));
	for (uint64_t i = 0; i < 60000; i += 4999) {
		uint64_t ns = (10 + i / 1000) * 1000000000 + i % 1000 * 1000;

		assert_int_equal(source_seek(trace_source(made.trace), ns, &err), 0);
		assert_int_equal(next(&made)->time_ns, ns);
		assert_int_equal(made.event->tid, 1 + i % 50);
		assert_int_equal(source_seek(trace_source(made.trace), ns + 1, &err), 0);
		assert_int_equal(next(&made)->time_ns,
				 ns + 1000 + (i % 1000 == 999 ? 999000000 : 0));
	}
	unmake(&made);
}

static void an_event_finds_the_time_of_a_filter(void **unused)
{
	static const char text[] = HEAD(
		"1.000001") "sched_waking: comm=a pid=7 prio=120 "
			    "target_cpu=000\n" HEAD(
				    "1.000002") "sched_waking: comm=b pid=8 prio=120 target_cpu=000\n";
	struct made made;
	struct err err = { 0 };
	uint64_t ns = 0;

	make(&made, text, strlen(text));
	assert_int_equal(trace_find_event(made.trace, "sched_waking:pid == 8", false, 0, &ns, &err),
			 1);
	assert_int_equal(ns, 1000002000);
	assert_int_equal(trace_find_event(made.trace, "sched_waking: .comm == \"a\"", true, 0, &ns,
					  &err),
			 1);
	assert_int_equal(ns, 1000001000);
	assert_int_equal(trace_find_event(made.trace, "sched_waking:nix == 8", false, 0, &ns, &err),
			 -EINVAL);
	unmake(&made);
}

static void a_file_without_events_is_of_no_format(void **unused)
{
	static const char *const texts[] = { "", "# tracer: nop\n#\n", "hello\nworld\n" };
	static const char binary[] = "\0\1\n" HEAD("1.000001") "a: 1\n";
	struct made made;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		make(&made, texts[i], strlen(texts[i]));
		assert_null(made.trace);
		unmake(&made);
	}
	make(&made, binary, sizeof(binary));
	assert_null(made.trace);
	unmake(&made);
}

/* A line of megabytes and a time far ahead harm only themselves. */
static void hostile_lines_do_no_harm(void **unused)
{
	size_t bytes = 3u << 20;
	char *text = xmalloc(bytes + 400);
	struct made made;
	uint32_t count = 0;
	int used;

	memset(text, 'x', bytes);
	memcpy(text, HEAD("1.000001") "a: 1\n", strlen(HEAD("1.000001") "a: 1\n"));
	used = sprintf(text + bytes, "\n" HEAD("999999.0") "a: 1\n" HEAD("1.000002") "a: 2\n");
	make(&made, text, bytes + (size_t)used);
	while (next(&made))
		count++;
	assert_int_equal(count, 3);
	assert_int_equal(trace_facts(made.trace)->damage_count, 1);
	assert_string_equal(trace_facts(made.trace)->damage[0], "line 2 is too long for an event");
	unmake(&made);
	mem_free(&text);
}

static void what_a_kernel_prints_more_of_a_field_does_not_hide_the_others(void **unused)
{
	static const char *const timers[] = {
		"hrtimer_expire_entry: hrtimer=00000000ab12cd34 function=apic_timer_fn [kvm] now=77",
		"hrtimer_expire_entry: hrtimer=00000000ab12cd34 function=apic_timer_fn+0x1/0x2 [kvm] "
		"now=77",
		"timer:hrtimer_expire_entry: hrtimer=0xab12cd34 function=apic_timer_fn <kvm>+3 now=77",
		"hrtimer_expire_entry: hrtimer=0xab12cd34 was_armed=1 function=apic_timer_fn now=77",
	};
	struct made made;
	const struct event *event;

	for (size_t i = 0; i < ARRAY_LEN(timers); i++) {
		event = event_of(&made, timers[i]);
		assert_int_equal(event->type, EV_HRTIMER_EXPIRE);
		assert_int_equal(event->timer.timer, 0xab12cd34);
		assert_int_equal(trace_facts(made.trace)->symbol_count, 1);
		assert_string_equal(trace_facts(made.trace)->symbols[0].name, "apic_timer_fn");
		assert_int_equal(event->timer.function,
				 trace_facts(made.trace)->symbols[0].address);
		assert_int_equal(trace_facts(made.trace)->damage_count, 0);
		unmake(&made);
	}
	event = event_of(&made,
			 "workqueue_queue_work: work struct=00000000ab12cd34 "
			 "function=virtblk_done [virtio_blk] workqueue=a b req_cpu=8192 cpu=3");
	assert_int_equal(event->type, EV_WORK_QUEUE);
	assert_string_equal(event->work.workqueue, "a b");
	assert_int_equal(event->work.cpu, 3);
	unmake(&made);
	event = event_of(&made, "sched_wakeup: comm=a pid=7 [x] prio=120 new=3 target_cpu=002");
	assert_int_equal(event->type, EV_SCHED_WAKEUP);
	assert_int_equal(event->wake.target_cpu, 2);
	unmake(&made);
}

/* Whichever is told first stands; a call of another number, or without its twin, counts. */
static void a_call_told_by_name_and_by_number_counts_once(void **unused)
{
	static const char text[] = HEAD("1.000001") "sys_enter: NR 0 (3, 7f00, 10, 0, 0, 0)\n" /* */
		HEAD("1.000002") "sys_enter_read: fd: 0x3, buf: 0x7f00, count: 0x10\n" /* twin */
		HEAD("1.000003") "sys_exit_read: 0x10\n"			       /* */
		HEAD("1.000004") "sys_exit: NR 0 = 16\n"			       /* twin */
		HEAD("1.000005") "sys_enter: NR 0 (3, 7f00, 10, 0, 0, 0)\n"	       /* */
		HEAD("1.000006") "sys_enter: NR 0 (3, 7f00, 10, 0, 0, 0)\n"	       /* */
		HEAD("1.000007") "sys_enter_write: fd: 0x3, buf: 0x7f00, count: 0x10\n";
	static const uint8_t types[] = { EV_SYS_ENTER, EV_OTHER,     EV_SYS_EXIT, EV_OTHER,
					 EV_SYS_ENTER, EV_SYS_ENTER, EV_SYS_ENTER };
	struct made made;
	struct err err = { 0 };

	make(&made, text, strlen(text));
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		assert_int_equal(next(&made)->type, types[i]);
	assert_null(next(&made));
	assert_int_equal(source_seek(trace_source(made.trace), 1000002000, &err), 0);
	assert_int_equal(next(&made)->type, EV_OTHER);
	assert_string_equal(made.event->other.system, "syscalls");
	unmake(&made);
}

static void a_cut_is_seen_below(const char *head)
{
	AUTO_FREE char *whole =
		xasprintf("%s" HEAD("1.000001") "local_timer_entry: vector=236\n" HEAD(
				  "1.000002") "local_timer_exit: vector=236\n",
			  head);
	const size_t bytes = strlen(whole);

	for (size_t cut = strlen(head) + 60; cut <= bytes; cut++) {
		struct made made;

		make(&made, whole, cut);
		if (made.trace)
			assert_int_equal(trace_facts(made.trace)->damage_count > 0, cut < bytes);
		else
			assert_true(cut < bytes);
		unmake(&made);
	}
}

static void a_text_that_was_cut_is_not_whole(void **unused)
{
	a_cut_is_seen_below("# entries-in-buffer/entries-written: 2/2   #P:2\n");
	a_cut_is_seen_below(
		"# latency: 0 us, #2/2, CPU#0 | (M:server VP:0, KP:0, SP:0 HP:0 #P:2)\n");
}

/* ------------------------------------------------------------------ stacks */

#define LINE(pid, cpu, time) "  t-" #pid " [00" #cpu "] d..2. " time ": "
#define SLEEPS(pid, cpu, time, state)                                                 \
	LINE(pid, cpu, time)                                                          \
	"sched_switch: prev_comm=t prev_pid=" #pid " prev_prio=120 prev_state=" state \
	" ==> next_comm=u next_pid=9 next_prio=120\n"
#define WAKES(cpu, time, pid) \
	LINE(9, cpu, time) "sched_waking: comm=t pid=" #pid " prio=120 target_cpu=000\n"
#define STACK(pid, cpu, time) LINE(pid, cpu, time) "<stack trace>\n => __schedule\n => schedule\n"
#define USER(pid, cpu, time, address) \
	LINE(pid, cpu, time) "<user stack trace>\n =>  <" address ">\n => ??\n"

/* "BEGIN-END:FUNCTION,..." of all waits of thread 7, in us. */
static char *waits_of(const char *text)
{
	struct made made;
	const struct stacks *stacks;
	char *told = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&told, &bytes);

	make(&made, text, strlen(text));
	assert_non_null(made.trace);
	stacks = trace_facts(made.trace)->stacks;
	for (size_t i = 0; stacks && i < stacks->wait_count; i++) {
		const struct stack_wait *wait = &stacks->waits[i];

		fprintf(out, "%d@%d-%d%s", wait->tid, (int)(wait->begin_ns / 1000 % 1000000),
			(int)(wait->end_ns / 1000 % 1000000), wait->is_open ? "+" : "");
		for (uint32_t k = 0; k < stacks->stacks[wait->stack].count; k++) {
			const struct stack_frame *frame = stacks_frame(stacks, wait->stack, k);

			fprintf(out, " %s", frame->function ? frame->function : "0x");
			if (!frame->function)
				fprintf(out, "%llx", (unsigned long long)frame->offset);
		}
		fprintf(out, "%s; ", stacks->stacks[wait->stack].end ? "" : " whole");
	}
	fclose(out);
	unmake(&made);
	return told;
}

static const struct {
	const char *text, *waits;
} stacked[] = {
	/* the stack of a sleep; without one, of a preemption, behind another event, of another thread, CPU: none */
	{ SLEEPS(7, 0, "1.000010", "S") STACK(7, 0, "1.000011") WAKES(1, "1.000030", 7),
	  "7@10-30 __schedule schedule; " },
	{ SLEEPS(7, 0, "1.000010", "S") WAKES(1, "1.000030", 7) STACK(9, 1, "1.000031"), "" },
	{ SLEEPS(7, 0, "1.000010", "R") STACK(7, 0, "1.000011") WAKES(1, "1.000030", 7), "" },
	{ SLEEPS(7, 0, "1.000010", "X") STACK(7, 0, "1.000011") WAKES(1, "1.000030", 8), "" },
	{ SLEEPS(7, 0, "1.000010", "S") LINE(7, 0, "1.000011") "nmi_handler: x\n" STACK(
		  7, 0, "1.000012") WAKES(1, "1.000030", 7),
	  "" },
	{ SLEEPS(7, 0, "1.000010", "S") STACK(9, 0, "1.000011") WAKES(1, "1.000030", 7), "" },
	{ SLEEPS(7, 0, "1.000010", "S") STACK(7, 1, "1.000011") WAKES(1, "1.000030", 7), "" },
	{ SLEEPS(7, 0, "1.000010", "S") "CPU:0 [LOST 2 EVENTS]\n" STACK(7, 0, "1.000011")
		  WAKES(1, "1.000030", 7),
	  "" },
	/* another CPU wakes it before the stack is written; it is not woken at all */
	{ SLEEPS(7, 0, "1.000010", "S") WAKES(1, "1.000020", 7) STACK(7, 0, "1.000021"),
	  "7@10-20 __schedule schedule; " },
	{ SLEEPS(7, 0, "1.000010", "S") STACK(7, 0, "1.000011") WAKES(1, "1.000030", 8),
	  "7@10-30+ __schedule schedule; " },
	/* the program's part, before or behind the kernel's; of the call that the thread is in */
	{ SLEEPS(7, 0, "1.000010", "S") USER(7, 0, "1.000011", "00007f01") STACK(7, 0, "1.000012")
		  WAKES(1, "1.000030", 7),
	  "7@10-30 __schedule schedule 0x7f01; " },
	{ SLEEPS(7, 0, "1.000010", "S") STACK(7, 0, "1.000011") USER(7, 0, "1.000012", "00007f01")
		  WAKES(1, "1.000030", 7),
	  "7@10-30 __schedule schedule 0x7f01; " },
	{ LINE(7, 0, "1.000001") "sys_enter: NR 0 (3, 0, 0, 0, 0, 0)\n" USER(7, 0, "1.000002",
									     "00007f01")
		  SLEEPS(7, 0, "1.000010", "S") STACK(7, 0, "1.000011") WAKES(1, "1.000030", 7),
	  "7@10-30 __schedule schedule 0x7f01; " },
	{ LINE(7, 0, "1.000001") "sys_enter: NR 0 (3, 0, 0, 0, 0, 0)\n" USER(7, 0, "1.000002",
									     "00007f01")
		  LINE(7, 0, "1.000003") "sys_exit: NR 0 = 0\n" SLEEPS(7, 0, "1.000010", "S")
			  STACK(7, 0, "1.000011") WAKES(1, "1.000030", 7),
	  "7@10-30 __schedule schedule; " },
	{ LINE(7, 0, "1.000001") "sys_enter: NR 0 (3, 0, 0, 0, 0, 0)\n" USER(
		  7, 0, "1.000002", "00007f01") "CPU:0 [LOST 2 EVENTS]\n" SLEEPS(7, 0, "1.000010",
										 "S")
		  STACK(7, 0, "1.000011") WAKES(1, "1.000030", 7),
	  "7@10-30 __schedule schedule; " },
	/* a thread of the kernel began there; trace-cmd's own text */
	{ SLEEPS(7, 0, "1.000010", "S")
		  STACK(7, 0, "1.000011") " => kthread\n => ret_from_fork+0x12/0x20\n" WAKES(
			  1, "1.000030", 7),
	  "7@10-30 __schedule schedule kthread ret_from_fork whole; " },
	{ SLEEPS(7, 0, "1.000010", "S") LINE(
		  7, 0,
		  "1.000011") "kernel_stack:         <stack trace >\n"
			      "=> schedule (ffffffff81000010)\n=> vfs_read.part.0 (ffffffff81000020)\n" WAKES(
				      1, "1.000030", 7),
	  "7@10-30 schedule vfs_read; " },
};

static void a_stack_is_of_the_sleep_right_before_it(void **unused)
{
	for (size_t i = 0; i < sizeof(stacked) / sizeof(stacked[0]); i++) {
		AUTO_FREE char *told = waits_of(stacked[i].text);

		assert_string_equal(told, stacked[i].waits);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_switch_is_one_however_it_is_written),
		cmocka_unit_test(flags_that_no_kernel_has_tell_nothing),
		cmocka_unit_test(calls_have_numbers_and_arguments),
		cmocka_unit_test(what_a_kernel_prints_more_of_a_field_does_not_hide_the_others),
		cmocka_unit_test(a_call_told_by_name_and_by_number_counts_once),
		cmocka_unit_test(other_known_events_have_their_fields),
		cmocka_unit_test(a_stack_is_of_the_sleep_right_before_it),
		cmocka_unit_test(lines_are_put_in_order_of_time),
		cmocka_unit_test(lost_events_are_a_hole_before_the_next_of_the_cpu),
		cmocka_unit_test(damage_says_the_line_and_costs_only_that),
		cmocka_unit_test(a_text_that_was_cut_is_not_whole),
		cmocka_unit_test(a_seek_finds_the_first_event_at_or_after_the_time),
		cmocka_unit_test(an_event_finds_the_time_of_a_filter),
		cmocka_unit_test(a_file_without_events_is_of_no_format),
		cmocka_unit_test(hostile_lines_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
