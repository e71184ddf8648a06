/*
 * The breakdown of a process: traces whose lines a reader adds up by hand, and on random
 * traces the sums of the timeline, and the events inside calls as the events tell them.
 */
#include "analyse/stats/breakdown.h"

#include <string.h>

#include "event/stacks.h"
#include "random_trace.h"
#include "told.h"

static struct breakdown breakdown_of(struct told *told, int32_t pid, uint64_t start_ns,
				     uint64_t end_ns)
{
	struct breakdown_opts opts = { .pid = pid, .start_ns = start_ns, .end_ns = end_ns };
	struct breakdown breakdown;
	struct err err = { 0 };

	if (breakdown_run(told->tl, &told->trace->facts, &told->trace->source, &opts, &breakdown,
			  &err) < 0)
		fail_msg("%s", err.text);
	return breakdown;
}

static const struct breakdown_line *find_line(const struct breakdown *breakdown, const char *name)
{
	for (size_t i = 0; i < breakdown->line_count; i++) {
		const char *found = breakdown->lines[i].name;

		if (strcmp(found[0] ? found : breakdown_kind_name(breakdown->lines[i].kind),
			   name) == 0)
			return &breakdown->lines[i];
	}
	return NULL;
}

/* "count ns working irq waiting blocked uncertain events" of a line. */
static const char *line_text(struct told *told, const struct breakdown *breakdown, const char *name)
{
	const struct breakdown_line *line = find_line(breakdown, name);

	if (!line)
		return "none";
	return told_keep(told, xasprintf("%d: %d = %d %d %d %d %d, %d events", (int)line->count,
					 (int)line->ns, (int)line->parts[0], (int)line->parts[1],
					 (int)line->parts[2], (int)line->parts[3],
					 (int)line->parts[4], (int)line->events));
}

static const char a_process[] = "facts last 100\n"
				"thread 7 7 1 R prog\n"
				"thread 8 8 1 R helper\n"
				"0 cpu0 switch 0(runnable) 7\n"
				"0 cpu1 switch 0(runnable) 8\n"
				"5 cpu0 leave write 1\n"
				"6 cpu1 leave write 1\n"
				"10 cpu0 enter read 3\n"
				"12 cpu0 irq 24 vda\n"
				"13 cpu0 softirq RCU\n" /* on the way out, still on top */
				"14 cpu0 softirqexit RCU\n"
				"15 cpu0 irqexit 24\n"
				"20 cpu0 switch 7(blocked) 0\n"
				"30 cpu1 enter openat\n"
				"40 cpu1 leave openat 3\n"
				"50 cpu1 waking 7 cpu 0\n"
				"60 cpu0 switch 0(runnable) 7\n"
				"65 cpu0 other something\n"
				"70 cpu0 leave read -4\n"
				"90 cpu0 switch 7(runnable) 9:third\n"
				"95 cpu0 switch 9(runnable) 7\n";

static void a_call_has_its_time_its_count_and_the_events_inside(void **unused)
{
	struct told *told = replayed(a_process);
	struct breakdown breakdown = breakdown_of(told, 7, 0, 100);

	/* 10-70; 12-15 interrupted, 20-50 blocked, 50-60 queued; enter, switch, other, leave */
	assert_string_equal(line_text(told, &breakdown, "read"), "1: 60 = 17 3 10 30 0, 4 events");
	assert_int_equal(find_line(&breakdown, "read")->errors, 1);
	/* 5-10, 70-90, 95-100 and 90-95 preempted; the switch at 90 ends it */
	assert_string_equal(line_text(told, &breakdown, "own code"),
			    "0: 35 = 30 0 5 0 0, 1 events");
	/* What it was in before the first event that tells; that event ends the call. */
	assert_string_equal(line_text(told, &breakdown, "own_code_or_kernel"),
			    "0: 5 = 5 0 0 0 0, 1 events");
	assert_true(breakdown.adds_up);
	assert_int_equal(breakdown.life_ns, 100);
	assert_int_equal(breakdown.events, 10);
	breakdown_fini(&breakdown);
	told_free(told);
}

static void interrupts_on_top_are_told_apart(void **unused)
{
	struct told *told = replayed(a_process);
	struct breakdown breakdown = breakdown_of(told, 7, 0, 100);

	assert_int_equal(breakdown.irq_count, 2);
	assert_string_equal(breakdown.irqs[0].name, "irq 24 vda");
	assert_int_equal(breakdown.irqs[0].ns, 2);
	assert_int_equal(breakdown.irqs[0].count, 1);
	assert_int_equal(breakdown.irqs[0].events, 2);
	assert_string_equal(breakdown.irqs[1].name, "softirq RCU");
	assert_int_equal(breakdown.irqs[1].count, 1);
	assert_int_equal(breakdown.irqs[1].events, 2);
	breakdown_fini(&breakdown);
	told_free(told);
}

static void what_the_waker_did_meanwhile_is_told(void **unused)
{
	struct told *told = replayed(a_process);
	struct breakdown breakdown = breakdown_of(told, 7, 0, 100);
	const struct breakdown_other *other = &breakdown.others[0];

	assert_int_equal(breakdown.wait_count, 1);
	assert_int_equal(breakdown.waits[0].kind, WAIT_FOR_THREAD);
	assert_string_equal(breakdown.waits[0].in, "read");
	assert_int_equal(breakdown.waits[0].by.tid, 8);
	assert_int_equal(breakdown.other_count, 1);
	assert_int_equal(other->who.tid, 8);
	assert_int_equal(other->waits, 1);
	assert_int_equal(other->ns, 30);
	assert_int_equal(other->own_ns, 20); /* 20-30 and 40-50 */
	assert_int_equal(other->kernel_ns, 10);
	breakdown_fini(&breakdown);
	told_free(told);
}

static void a_window_cuts_calls_and_knows_what_was_before(void **unused)
{
	struct told *told = replayed(a_process);
	struct breakdown breakdown = breakdown_of(told, 7, 13, 62);

	assert_string_equal(line_text(told, &breakdown, "read"), "0: 49 = 7 2 10 30 0, 1 events");
	assert_int_equal(breakdown.line_count, 1);
	assert_true(breakdown.adds_up);
	breakdown_fini(&breakdown);
	told_free(told);
}

static void two_threads_that_wait_for_one_count_its_work_once(void **unused)
{
	struct told *told = replayed("facts last 100\n"
				     "thread 7 7 1 R prog\n"
				     "thread 17 7 1 R prog-2\n"
				     "thread 8 8 1 R helper\n"
				     "0 cpu0 switch 0(runnable) 7\n"
				     "0 cpu1 switch 0(runnable) 17\n"
				     "0 cpu2 switch 0(runnable) 8\n"
				     "5 cpu2 leave write 1\n"
				     "10 cpu0 enter read 3\n"
				     "10 cpu1 enter read 3\n"
				     "20 cpu0 switch 7(blocked) 0\n"
				     "30 cpu1 switch 17(blocked) 0\n"
				     "60 cpu2 waking 7 cpu 0\n"
				     "70 cpu2 waking 17 cpu 1\n"
				     "80 cpu0 switch 0(runnable) 7\n"
				     "80 cpu1 switch 0(runnable) 17\n");
	struct breakdown breakdown = breakdown_of(told, 17, 0, 100);

	assert_int_equal(breakdown.thread_count, 2);
	assert_int_equal(breakdown.process.tid, 7);
	assert_int_equal(breakdown.life_ns, 200);
	assert_int_equal(breakdown.wall_ns, 100);
	assert_int_equal(breakdown.parts[PART_BLOCKED], 80);
	assert_int_equal(breakdown.other_count, 1);
	assert_int_equal(breakdown.others[0].waits, 2);
	assert_int_equal(breakdown.others[0].ns, 50);
	assert_int_equal(breakdown.others[0].own_ns, 50);
	assert_true(breakdown.adds_up);
	breakdown_fini(&breakdown);
	told_free(told);
}

static void work_that_it_queued_is_marked(void **unused)
{
	struct told *told = replayed("facts last 100\n"
				     "thread 7 7 1 R prog\n"
				     "thread 3 3 2 S kworker kernel\n"
				     "0 cpu0 switch 0(runnable) 7\n"
				     "5 cpu0 leave write 1\n"
				     "10 cpu0 enter fsync 3\n"
				     "12 cpu0 queuework 77 flush_fn\n"
				     "15 cpu0 waking 3 cpu 1\n"
				     "20 cpu0 switch 7(blocked) 0\n"
				     "25 cpu1 switch 0(runnable) 3\n"
				     "26 cpu1 work 77 flush_fn\n"
				     "50 cpu1 waking 7 cpu 0\n"
				     "51 cpu1 workdone 77\n"
				     "60 cpu0 switch 0(runnable) 7\n");
	struct breakdown breakdown = breakdown_of(told, 7, 0, 100);

	assert_int_equal(breakdown.other_count, 1);
	assert_int_equal(breakdown.others[0].who.tid, 3);
	assert_true(breakdown.others[0].queued);
	assert_int_equal(breakdown.others[0].kernel_ns, 25);
	assert_int_equal(breakdown.others[0].waiting_ns, 5);
	breakdown_fini(&breakdown);
	told_free(told);
}

static void a_process_that_is_not_there_is_an_error(void **unused)
{
	struct told *told = replayed(a_process);
	struct breakdown_opts opts = { .pid = 99, .start_ns = 0, .end_ns = 100 };
	struct breakdown breakdown;
	struct err err = { 0 };

	assert_int_equal(breakdown_run(told->tl, &told->trace->facts, &told->trace->source, &opts,
				       &breakdown, &err),
			 -3);
	assert_non_null(strstr(err.text, "process 99"));
	opts.pid = 7;
	opts.start_ns = 100;
	assert_int_equal(breakdown_run(told->tl, &told->trace->facts, &told->trace->source, &opts,
				       &breakdown, &err),
			 -22);
	told_free(told);
}

/* ------------------------------------------------------------- random traces */

/* What one thread is in, as its events tell: nothing else is looked at. */
struct twin_thread {
	bool known;   /* a call began or ended: what it is in is known */
	int64_t call; /* -1 = none */
	struct event open[TT_NEST];
	uint32_t depth;
};

struct counted {
	uint64_t calls[512]; /* events inside, by number */
	uint64_t begun[512];
	uint64_t irq_events;
	uint64_t own; /* in no call, in no interrupt */
	uint64_t unknown;
	uint64_t all;
};

static bool opens(const struct event *ev)
{
	return ev->type == EV_IRQ_ENTRY || ev->type == EV_VECTOR_ENTRY ||
	       ev->type == EV_SOFTIRQ_ENTRY;
}

static bool closes(const struct event *ev)
{
	return ev->type == EV_IRQ_EXIT || ev->type == EV_VECTOR_EXIT || ev->type == EV_SOFTIRQ_EXIT;
}

static void count_one(struct twin_thread *thread, struct counted *counted, const struct event *ev)
{
	bool in_irq;

	if (opens(ev))
		thread->depth++;
	in_irq = thread->depth > 0;
	if (closes(ev) && thread->depth)
		thread->depth--;
	if (ev->type == EV_SYS_ENTER) {
		thread->known = true;
		thread->call = ev->syscall.nr;
		counted->begun[ev->syscall.nr]++;
	}
	counted->all++;
	if (in_irq)
		counted->irq_events++;
	else if (!thread->known)
		counted->unknown++;
	else if (thread->call >= 0)
		counted->calls[thread->call]++;
	else
		counted->own++;
	if (ev->type == EV_SYS_EXIT) {
		thread->known = true;
		thread->call = -1;
	}
	if (ev->type == EV_SCHED_SWITCH)
		thread->depth = 0;
}

static struct counted count_slowly(const struct text_trace *trace, int32_t tid)
{
	struct counted counted = { 0 };
	struct twin_thread thread = { .call = -1 };

	for (size_t i = 0; i < trace->count; i++) {
		if (trace->events[i].tid == tid)
			count_one(&thread, &counted, &trace->events[i]);
	}
	return counted;
}

static void compare_events(uint64_t seed, struct told *told, const struct breakdown *breakdown,
			   const struct counted *slow)
{
	uint64_t irqs = 0, off = 0;

	for (size_t i = 0; i < breakdown->irq_count; i++)
		irqs += breakdown->irqs[i].events;
	if (breakdown->events != slow->all || irqs != slow->irq_events)
		fail_msg("seed %llu: process %d: %llu events, %llu in interrupts, not %llu, %llu",
			 (unsigned long long)seed, breakdown->process.tid,
			 (unsigned long long)breakdown->events, (unsigned long long)irqs,
			 (unsigned long long)slow->all, (unsigned long long)slow->irq_events);
	for (size_t nr = 0; nr < ARRAY_LEN(slow->calls); nr++) {
		const char *name = facts_syscall(&told->trace->facts, (int64_t)nr, false);
		const struct breakdown_line *line = name ? find_line(breakdown, name) : NULL;
		uint64_t events = line ? line->events : 0;

		if (events < slow->calls[nr] || (line ? line->count : 0) != slow->begun[nr])
			fail_msg(
				"seed %llu: process %d: %s has %llu events, not %llu; %llu calls, not "
				"%llu",
				(unsigned long long)seed, breakdown->process.tid, name,
				(unsigned long long)events, (unsigned long long)slow->calls[nr],
				(unsigned long long)(line ? line->count : 0),
				(unsigned long long)slow->begun[nr]);
		off += events - slow->calls[nr];
	}
	/* A call that it was in before its first event: only then may there be more. */
	if (off > slow->unknown)
		fail_msg("seed %llu: process %d: %llu events too many in calls",
			 (unsigned long long)seed, breakdown->process.tid, (unsigned long long)off);
}

/* No two events at one instant: where one belongs is then certain. */
static void spread(struct text_trace *trace)
{
	for (size_t i = 0; i < trace->count; i++) {
		if (i && trace->events[i].time_ns <= trace->events[i - 1].time_ns)
			trace->events[i].time_ns = trace->events[i - 1].time_ns + 1;
	}
	trace->facts.last_ns = trace->events[trace->count - 1].time_ns + 7;
}

static void the_events_inside_are_those_between_enter_and_exit(void **unused)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct text_trace *trace = random_trace(seed, 400, false, seed % 2 == 0);
		struct told *told;

		spread(trace);
		told = told_trace(trace);
		for (uint32_t slot = 0; slot < told->tl->thread_count; slot++) {
			int32_t tid = told->tl->threads[slot]->tid;
			struct counted slow = count_slowly(trace, tid);
			struct breakdown breakdown;

			/* Threads of other tgids only: the twin knows one thread. */
			if (tid == 0 ||
			    told->tl->threads[slot]->birth_ns == told->tl->threads[slot]->death_ns)
				continue;
			breakdown = breakdown_of(told, tid, told->tl->origin_ns, told->tl->end_ns);
			if (breakdown.thread_count == 1)
				compare_events(seed, told, &breakdown, &slow);
			breakdown_fini(&breakdown);
		}
		told_free(told);
	}
}

static void check_sums(uint64_t seed, struct told *told, uint32_t slot, uint64_t start_ns,
		       uint64_t end_ns)
{
	const struct tl_thread *thread = told->tl->threads[slot];
	struct breakdown breakdown;
	struct totals totals = { 0 };
	uint64_t events = 0;

	if (thread->tid == 0 || thread->birth_ns >= end_ns || thread->death_ns <= start_ns)
		return;
	breakdown = breakdown_of(told, thread->tid, start_ns, end_ns);
	if (!breakdown.adds_up)
		fail_msg("seed %llu: process %d does not add up", (unsigned long long)seed,
			 thread->tid);
	for (size_t i = 0; i < breakdown.line_count; i++)
		events += breakdown.lines[i].events;
	for (size_t i = 0; i < breakdown.irq_count; i++)
		events += breakdown.irqs[i].events;
	assert_int_equal(events, breakdown.events);
	timeline_totals(told->tl, slot, start_ns, end_ns, &totals);
	for (uint32_t i = 0; i < totals.count && breakdown.thread_count == 1; i++) {
		const struct total *row = &totals.rows[i];
		uint32_t call = word_make(WORD_SYSCALL, total_a(row->key));
		const char *name = facts_syscall(&told->trace->facts, word_call(call), false);
		const struct breakdown_line *line = name ? find_line(&breakdown, name) : NULL;
		uint64_t ns = line ? line->ns : 0;

		/* After a hole a wait tells of a call that the sums know only from its end on. */
		if (total_kind(row->key) == TOTAL_CALL &&
		    (told->tl->gap_count ? ns < row->ns : ns != row->ns))
			fail_msg("seed %llu: %s of %d takes %llu, not %llu",
				 (unsigned long long)seed, name, thread->tid,
				 (unsigned long long)ns, (unsigned long long)row->ns);
	}
	totals_fini(&totals);
	breakdown_fini(&breakdown);
}

static void on_random_traces_it_adds_up_and_calls_are_those_of_the_timeline(void **unused)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct told *told =
			told_trace(random_trace(seed, 400, seed % 3 == 0, seed % 2 == 0));
		uint64_t origin = told->tl->origin_ns, whole = told->tl->end_ns - origin;

		for (uint32_t slot = 0; slot < told->tl->thread_count; slot++) {
			check_sums(seed, told, slot, origin, told->tl->end_ns);
			check_sums(seed, told, slot, origin + seed * 7919 % (whole / 2),
				   origin + whole / 2 + seed * 104729 % (whole / 2) + 1);
		}
		told_free(told);
	}
}

static void with_holes_it_adds_up_and_says_what_is_uncertain(void **unused)
{
	uint64_t uncertain = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct text_trace *trace = random_trace(seed, 400, false, false);
		struct told *told;

		for (size_t i = seed % 29; i < trace->count; i += 41) {
			struct event *ev = &trace->events[i];
			uint64_t since = i ? trace->events[i - 1].time_ns : trace->facts.first_ns;

			*ev = (struct event){ .time_ns = ev->time_ns,
					      .cpu = ev->cpu,
					      .tid = -1,
					      .type = EV_LOST,
					      .lost = { since, 1 } };
		}
		told = told_trace(trace);
		for (uint32_t slot = 0; slot < told->tl->thread_count; slot++) {
			const struct tl_thread *thread = told->tl->threads[slot];
			struct breakdown breakdown;

			if (thread->tid == 0 || thread->birth_ns == thread->death_ns)
				continue;
			check_sums(seed, told, slot, told->tl->origin_ns, told->tl->end_ns);
			breakdown = breakdown_of(told, thread->tid, told->tl->origin_ns,
						 told->tl->end_ns);
			uncertain += breakdown.parts[PART_UNCERTAIN];
			breakdown_fini(&breakdown);
		}
		told_free(told);
	}
	assert_true(uncertain > 0);
}

/* Stacks: 0 = load(), 1 = parse(), 2 = fetch(). */
static void add_code(struct told *told)
{
	static const char *const names[] = { "load", "parse", "fetch" };
	struct stacks *stacks = xcalloc(1, sizeof(*stacks));

	for (uint32_t i = 0; i < ARRAY_LEN(names); i++) {
		stacks_add_frame(stacks,
				 &(struct stack_frame){ .function = names[i], .module = "prog" });
		assert_true(stacks_add_stack(stacks, &i, 1, NULL));
	}
	stacks->sampling.period_ns = 20;
	stacks_add_wait(stacks, &(struct stack_wait){ 7, 0, 21, 51, 30, false, false });
	stacks_add_sample(stacks, &(struct stack_sample){ 62, 7, 0 }); /* in read() */
	stacks_add_sample(stacks, &(struct stack_sample){ 75, 7, 1 }); /* own code */
	stacks_add_sample(stacks, &(struct stack_sample){ 85, 7, 1 });
	stacks_add_sample(stacks, &(struct stack_sample){ 92, 7, 2 }); /* it had no CPU */
	stacks_add_sample(stacks, &(struct stack_sample){ 35, 8, 2 });
	stacks_finish(stacks);
	told->trace->facts.stacks = stacks;
}

/* "NAME working 17, NAME blocked 30; 47 seen" of some places. */
static const char *code_text(struct told *told, const struct why_codes *codes)
{
	const struct stacks *stacks = told->trace->facts.stacks;
	char *text = NULL;

	for (uint32_t i = 0; i < codes->count; i++)
		told_add(&text, "%s%s %s %" PRIu64, i ? ", " : "",
			 stacks_frame(stacks, codes->at[i].stack, 0)->function,
			 codes->at[i].is_work ? "working" : "blocked", codes->at[i].ns);
	told_add(&text, "; %" PRIu64 " seen", codes->seen_ns);
	return told_keep(told, text);
}

static void rows_have_the_places_of_their_waits_and_of_their_work(void **unused)
{
	struct told *told = replayed(a_process);
	struct breakdown breakdown;

	add_code(told);
	breakdown = breakdown_of(told, 7, 0, 100);
	/* One look in 17 ns at work; the whole wait. */
	assert_string_equal(code_text(told, &find_line(&breakdown, "read")->code),
			    "load blocked 30, load working 17; 47 seen");
	/* Two looks, and they stand for its 30 ns. */
	assert_string_equal(code_text(told, &find_line(&breakdown, "own code")->code),
			    "parse working 30; 30 seen");
	assert_string_equal(code_text(told, &breakdown.waits[0].code), "load blocked 30; 30 seen");
	assert_string_equal(code_text(told, &breakdown.threads[0].code),
			    "parse working 34, load blocked 30, load working 17; 82 seen");
	/* 8 worked for all of the 30 ns: one look is too few to stand for them. */
	assert_string_equal(code_text(told, &breakdown.others[0].code),
			    "fetch working 20; 20 seen");
	breakdown_fini(&breakdown);
	/* Of the wait only what lies in the window, and no look. */
	breakdown = breakdown_of(told, 7, 30, 45);
	assert_string_equal(code_text(told, &find_line(&breakdown, "read")->code),
			    "load blocked 15; 15 seen");
	breakdown_fini(&breakdown);
	told_free(told);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_has_its_time_its_count_and_the_events_inside),
		cmocka_unit_test(interrupts_on_top_are_told_apart),
		cmocka_unit_test(what_the_waker_did_meanwhile_is_told),
		cmocka_unit_test(a_window_cuts_calls_and_knows_what_was_before),
		cmocka_unit_test(two_threads_that_wait_for_one_count_its_work_once),
		cmocka_unit_test(work_that_it_queued_is_marked),
		cmocka_unit_test(a_process_that_is_not_there_is_an_error),
		cmocka_unit_test(the_events_inside_are_those_between_enter_and_exit),
		cmocka_unit_test(rows_have_the_places_of_their_waits_and_of_their_work),
		cmocka_unit_test(on_random_traces_it_adds_up_and_calls_are_those_of_the_timeline),
		cmocka_unit_test(with_holes_it_adds_up_and_says_what_is_uncertain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
