/*
 * Every metric over windows of random traces, whose borders lie anywhere inside of what goes on,
 * against twin.h and plain counting of the events in the window. Then events are lost: what is
 * decided all the same is what the whole trace says.
 *
 * Events of programs, "markb" and "marke" in turn in each thread, begin and end the windows.
 */
#include <math.h>

#include "check_run.h"
#include "random_trace.h"
#include "twin.h"

#define STEPS 220

/* ------------------------------------------------------------------ the traces */

#define MARKS 64 /* more than there are threads */

struct maker {
	struct text_trace *trace;
	uint64_t random;
	bool marks[MARKS]; /* by tid, modulo: a window is open */
	bool told[MARKS];  /* it told of a lock */
};

static uint32_t dice(struct maker *maker, uint32_t below)
{
	maker->random = maker->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((maker->random >> 33) % below);
}

static struct twin twin_of(const struct text_trace *trace)
{
	return (struct twin){ trace->events, trace->count, &trace->facts, trace->facts.first_ns,
			      trace->facts.last_ns };
}

/* No two events at one instant, and room between all of them. */
static void spread(struct text_trace *trace)
{
	uint64_t before = trace->facts.first_ns, now = before * 8;

	trace->facts.first_ns = now;
	for (size_t i = 0; i < trace->count; i++) {
		uint64_t gap = trace->events[i].time_ns - before;

		before = trace->events[i].time_ns;
		now += gap ? gap * 8 : 4;
		trace->events[i].time_ns = now;
	}
	trace->facts.last_ns = now + 40;
}

static void insert(struct text_trace *trace, size_t at, const struct event *event)
{
	tt_add(trace, event);
	memmove(trace->events + at + 1, trace->events + at,
		(trace->count - 1 - at) * sizeof(*trace->events));
	trace->events[at] = *event;
}

/* What programs tell of their locks: as it could be, and as it could not. */
static struct event lock_event(struct maker *maker, struct event event)
{
	static const uint8_t ops[] = { USER_LOCK_ACQUIRED, USER_LOCK_RELEASED, USER_LOCK_WAIT_BEGIN,
				       USER_LOCK_WAIT_END };

	bool *told = &maker->told[event.tid % MARKS];

	event.type = EV_USER_LOCK;
	event.context |= EV_CTX_USER;
	event.user_lock = (struct ev_user_lock){
		/* A lock of each thread's own, and one kind: so counting is enough. */
		.address = 0x1000 + (uint64_t)event.tid,
		.pid = event.tid,
		.kind = LOCK_KIND_MUTEX,
		.op = *told ? ops[dice(maker, ARRAY_LEN(ops))] : USER_LOCK_ACQUIRED,
		.path = ""
	};
	*told = true;
	return event;
}

/* Something in the thread that runs on that CPU: a mark of its program, or what is counted. */
static struct event any_event(struct maker *maker, struct event event)
{
	event.context = EV_CTX_KNOWN;
	switch (dice(maker, 12)) {
	case 0:
		event.type = EV_SIGNAL_DELIVER;
		event.signal = (struct ev_signal){ .signal = 10, .tid = event.tid };
		return event;
	case 1:
		event.type = EV_BLOCK_ISSUE;
		event.block = (struct ev_block){ .sector = 77, .rwbs = "R" };
		return event;
	case 2:
		event.type = EV_OTHER;
		event.other = (struct ev_other){ "test", dice(maker, 2) ? "page/0" : "page/3" };
		return event;
	case 3:
	case 4:
		return lock_event(maker, event);
	default:
		event.type = EV_OTHER;
		event.context |= EV_CTX_USER;
		event.other =
			(struct ev_other){ "test",
					   maker->marks[event.tid % MARKS] ? "marke" : "markb" };
		maker->marks[event.tid % MARKS] ^= true;
		return event;
	}
}

static struct text_trace *make(uint64_t seed, bool early)
{
	struct text_trace *trace = random_trace(seed, STEPS, false, early);
	struct maker maker = { trace, seed };

	spread(trace);
	for (size_t i = 0; i + 1 < trace->count; i++) {
		struct twin twin = twin_of(trace);
		struct event event = { .cpu = (uint16_t)dice(&maker, RT_CPUS) };

		/* It comes from user mode: there is no call then. */
		if (trace->events[i].type == EV_FAULT_USER &&
		    twin_in_call(&twin, trace->events[i].tid, i))
			trace->events[i].type = EV_FAULT_KERNEL;
		if (trace->events[i].type == EV_SYS_EXIT)
			trace->events[i].syscall.ret = (int64_t)dice(&maker, 5) - 1;
		event.tid = twin_runs_on(&twin, event.cpu, i + 1);
		event.time_ns = trace->events[i].time_ns + 1 + dice(&maker, 3);
		if (event.tid <= 0 || twin_open(&twin, event.cpu, i + 1).depth)
			continue;
		event = any_event(&maker, event);
		insert(trace, ++i, &event);
	}
	return trace;
}

/* -------------------------------------------------------------------- the twin */

struct window {
	const struct twin *twin;
	size_t from, to; /* the events of the two marks */
	int32_t tid;
};

typedef bool (*span_test)(const struct twin *twin, int32_t tid, size_t pos);
typedef uint64_t (*event_value)(const struct twin *twin, int32_t tid, size_t at);

static bool runs(const struct twin *twin, int32_t tid, size_t pos)
{
	return twin_state(twin, tid, pos).kind == TWIN_RUNS;
}

static bool waits_cpu(const struct twin *twin, int32_t tid, size_t pos)
{
	enum twin_kind kind = twin_state(twin, tid, pos).kind;

	return kind == TWIN_PREEMPTED || kind == TWIN_QUEUED;
}

static bool is_preempted(const struct twin *twin, int32_t tid, size_t pos)
{
	return twin_state(twin, tid, pos).kind == TWIN_PREEMPTED;
}

static bool is_blocked(const struct twin *twin, int32_t tid, size_t pos)
{
	return twin_state(twin, tid, pos).kind == TWIN_BLOCKED;
}

/* Type of the innermost interrupt or softirq on its CPU; EV_NONE when there is none. */
static enum event_type innermost(const struct twin *twin, int32_t tid, size_t pos)
{
	struct twin_state state = twin_state(twin, tid, pos);
	struct twin_open nest;

	if (state.kind != TWIN_RUNS)
		return EV_NONE;
	nest = twin_open(twin, state.cpu, pos);
	return nest.depth ? (enum event_type)nest.open[nest.depth - 1]->type : EV_NONE;
}

static bool in_softirq(const struct twin *twin, int32_t tid, size_t pos)
{
	return innermost(twin, tid, pos) == EV_SOFTIRQ_ENTRY;
}

static bool in_irq(const struct twin *twin, int32_t tid, size_t pos)
{
	return innermost(twin, tid, pos) != EV_NONE && !in_softirq(twin, tid, pos);
}

/* Its own code or the kernel's: which one after a page fault, no event says. */
static bool works(const struct twin *twin, int32_t tid, size_t pos)
{
	return runs(twin, tid, pos) && innermost(twin, tid, pos) == EV_NONE;
}

/* The last thing that the thread told of a lock, up to event 'pos'. */
static bool told_last(const struct twin *twin, int32_t tid, size_t pos, uint8_t begin, uint8_t end)
{
	for (size_t i = pos; i-- > 0;) {
		const struct event *ev = &twin->events[i];

		if (ev->type == EV_USER_LOCK && ev->tid == tid &&
		    (ev->user_lock.op == begin || ev->user_lock.op == end))
			return ev->user_lock.op == begin;
	}
	return false;
}

static bool waits_lock(const struct twin *twin, int32_t tid, size_t pos)
{
	return told_last(twin, tid, pos, USER_LOCK_WAIT_BEGIN, USER_LOCK_WAIT_END);
}

/* A wait that ends well is the begin of a hold, too. */
static bool holds_lock(const struct twin *twin, int32_t tid, size_t pos)
{
	for (size_t i = pos; i-- > 0;) {
		const struct event *ev = &twin->events[i];

		if (ev->type != EV_USER_LOCK || ev->tid != tid ||
		    ev->user_lock.op == USER_LOCK_WAIT_BEGIN)
			continue;
		return ev->user_lock.op != USER_LOCK_RELEASED;
	}
	return false;
}

static int16_t call_of(const struct twin *twin, int32_t tid, size_t pos)
{
	for (size_t i = pos; i-- > 0;) {
		if (twin->events[i].tid == tid && twin->events[i].type == EV_SYS_ENTER)
			return (int16_t)twin->events[i].syscall.nr;
	}
	return -1;
}

static bool in_futex(const struct twin *twin, int32_t tid, size_t pos)
{
	return twin_in_call(twin, tid, pos) && call_of(twin, tid, pos) == 202;
}

static bool blocked_lock(const struct twin *twin, int32_t tid, size_t pos)
{
	struct twin_state state = twin_state(twin, tid, pos);

	return state.kind == TWIN_BLOCKED && twin_for_lock(twin, tid, state.since);
}

static uint64_t leaves_for(const struct twin *twin, int32_t tid, size_t at, enum twin_kind kind)
{
	const struct event *ev = &twin->events[at];

	return ev->type == EV_SCHED_SWITCH && ev->sched_switch.prev_tid == tid &&
	       twin_state(twin, tid, at + 1).kind == kind;
}

static uint64_t preemption(const struct twin *twin, int32_t tid, size_t at)
{
	return leaves_for(twin, tid, at, TWIN_PREEMPTED);
}

static uint64_t sleep_begins(const struct twin *twin, int32_t tid, size_t at)
{
	/* Queued at once: its waking came before it slept. */
	return leaves_for(twin, tid, at, TWIN_BLOCKED) || leaves_for(twin, tid, at, TWIN_QUEUED);
}

static uint64_t migration(const struct twin *twin, int32_t tid, size_t at)
{
	if (!twin_is_switch_in(&twin->events[at], tid))
		return 0;
	for (size_t i = at; i-- > 0;) {
		struct twin_state state = twin_state(twin, tid, i);

		if (state.kind == TWIN_RUNS)
			return state.cpu != twin->events[at].cpu;
	}
	return 0;
}

static uint64_t is_own(const struct twin *twin, int32_t tid, size_t at, enum event_type type)
{
	return twin->events[at].tid == tid && twin->events[at].type == type;
}

static uint64_t call(const struct twin *twin, int32_t tid, size_t at)
{
	return is_own(twin, tid, at, EV_SYS_ENTER);
}

static uint64_t call_futex(const struct twin *twin, int32_t tid, size_t at)
{
	return is_own(twin, tid, at, EV_SYS_ENTER) && twin->events[at].syscall.nr == 202;
}

static uint64_t page_fault(const struct twin *twin, int32_t tid, size_t at)
{
	return is_own(twin, tid, at, EV_FAULT_USER) || is_own(twin, tid, at, EV_FAULT_KERNEL);
}

static uint64_t interrupt(const struct twin *twin, int32_t tid, size_t at)
{
	return is_own(twin, tid, at, EV_IRQ_ENTRY) || is_own(twin, tid, at, EV_VECTOR_ENTRY);
}

static uint64_t softirq(const struct twin *twin, int32_t tid, size_t at)
{
	return is_own(twin, tid, at, EV_SOFTIRQ_ENTRY);
}

static uint64_t wakeup(const struct twin *twin, int32_t tid, size_t at)
{
	return twin_is_waking(&twin->events[at], tid);
}

static uint64_t signal_of(const struct twin *twin, int32_t tid, size_t at)
{
	return is_own(twin, tid, at, EV_SIGNAL_DELIVER);
}

static uint64_t request(const struct twin *twin, int32_t tid, size_t at)
{
	return is_own(twin, tid, at, EV_BLOCK_ISSUE);
}

static uint64_t transfer(const struct twin *twin, int32_t tid, size_t at, int64_t nr)
{
	const struct event *ev = &twin->events[at];

	return is_own(twin, tid, at, EV_SYS_EXIT) && ev->syscall.nr == nr && ev->syscall.ret > 0
		       ? (uint64_t)ev->syscall.ret
		       : 0;
}

static uint64_t bytes_read(const struct twin *twin, int32_t tid, size_t at)
{
	return transfer(twin, tid, at, 0);
}

static uint64_t bytes_written(const struct twin *twin, int32_t tid, size_t at)
{
	return transfer(twin, tid, at, 1);
}

static uint64_t pages(const struct twin *twin, int32_t tid, size_t at)
{
	const struct event *ev = &twin->events[at];

	if (!is_own(twin, tid, at, EV_OTHER) || strncmp(ev->other.name, "page/", 5) != 0)
		return 0;
	return 4096ull << atoi(ev->other.name + 5);
}

/* One of 'span' and 'event' says what it is. */
static const struct kind {
	const char *metric, *unit;
	span_test span;
	event_value event;
	bool wants_call; /* it is known only after the first event of a system call */
} kinds[] = {
	{ "on_cpu", "ns", runs, NULL, false },
	{ "user + system", "ns", works, NULL, true },
	{ "wait_cpu", "ns", waits_cpu, NULL, false },
	{ "preempted", "ns", is_preempted, NULL, false },
	{ "blocked", "ns", is_blocked, NULL, false },
	{ "blocked(lock)", "ns", blocked_lock, NULL, true },
	{ "in_syscalls", "ns", twin_in_call, NULL, true },
	{ "in_syscalls(futex)", "ns", in_futex, NULL, true },
	{ "in_irq", "ns", in_irq, NULL, false },
	{ "in_softirq", "ns", in_softirq, NULL, false },
	{ "lock_wait", "ns", waits_lock, NULL, false },
	{ "lock_held", "ns", holds_lock, NULL, false },
	{ "preemptions", "", NULL, preemption, false },
	{ "switches", "", NULL, sleep_begins, false },
	{ "migrations", "", NULL, migration, false },
	{ "syscalls", "", NULL, call, false },
	{ "syscalls(futex)", "", NULL, call_futex, false },
	{ "faults", "", NULL, page_fault, false },
	{ "interrupts", "", NULL, interrupt, false },
	{ "softirqs", "", NULL, softirq, false },
	{ "wakeups", "", NULL, wakeup, false },
	{ "signals", "", NULL, signal_of, false },
	{ "block_requests", "", NULL, request, false },
	{ "bytes_read", "B", NULL, bytes_read, false },
	{ "bytes_written", "B", NULL, bytes_written, false },
	{ "allocated", "B", NULL, pages, false },
};

static uint64_t slow_value(const struct window *window, const struct kind *kind)
{
	const struct twin *twin = window->twin;
	uint64_t sum = 0;

	for (size_t i = window->from; i < window->to; i++) {
		if (kind->span)
			sum += kind->span(twin, window->tid, i + 1)
				       ? twin->events[i + 1].time_ns - twin->events[i].time_ns
				       : 0;
		else
			sum += kind->event(twin, window->tid, i + 1);
	}
	return sum;
}

static size_t event_at(const struct twin *twin, uint64_t time_ns)
{
	size_t i = 0;

	while (i < twin->count && twin->events[i].time_ns != time_ns)
		i++;
	return i;
}

static bool knows_calls(const struct twin *twin, int32_t tid, size_t pos)
{
	for (size_t i = 0; i < pos; i++) {
		if (twin->events[i].tid == tid &&
		    (twin->events[i].type == EV_SYS_ENTER || twin->events[i].type == EV_SYS_EXIT))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------- the values */

/* Windows of two marks: each value is a finding, for it is not negative. */
static struct model *model_of_all(void)
{
	char *text = xstrdup(
		"model: all\ninitial: out\nvariables: { a: elapsed }\n"
		"states:\n  out:\n    transitions:\n"
		"      - { event: \"mark*\", to: odd, start: [ a ] }\n  odd:\n    transitions:\n"
		"      - { event: \"mark*\", to: even }\n  even:\n    transitions:\n"
		"      - event: \"mark*\"\n        to: odd\n        start: [ a ]\n"
		"        check:\n");
	struct model *model;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		char *longer = xasprintf("%s          - { that: \"%s < 0%s\", since: a }\n", text,
					 kinds[i].metric, kinds[i].unit);

		free(text);
		text = longer;
	}
	model = model_of(text);
	free(text);
	return model;
}

static uint32_t compare(struct run *run, uint64_t seed, bool *seen)
{
	const struct check_result *result = check_result(run->check);
	struct twin twin = twin_of(run->told->trace);
	uint32_t compared = 0;

	for (size_t i = 0; i < result->finding_count; i++) {
		const struct check_finding *finding = &result->findings[i];
		const struct kind *kind = &kinds[finding->constraint];
		struct window window = { .twin = &twin, .tid = finding->tid };
		uint64_t slow;

		if (finding->constraint == UINT32_MAX || finding->slot == SLOT_NONE ||
		    finding->left.low != finding->left.high)
			continue;
		window.from = event_at(&twin, finding->start_ns);
		window.to = event_at(&twin, finding->end_ns);
		if (kind->wants_call && (finding->tid < RT_FIRST + RT_KWORKER ||
					 !knows_calls(&twin, finding->tid, window.from)))
			continue;
		slow = slow_value(&window, kind);
		compared++;
		seen[finding->constraint] |= slow > 0;
		if ((double)slow != finding->left.low)
			fail_msg("seed %llu: %s of %d over %llu-%llu is %g, slowly %llu",
				 (unsigned long long)seed, kind->metric, finding->tid,
				 (unsigned long long)finding->start_ns,
				 (unsigned long long)finding->end_ns, finding->left.low,
				 (unsigned long long)slow);
	}
	return compared;
}

static void every_metric_is_what_its_events_add_up_to(void **unused)
{
	bool seen[ARRAY_LEN(kinds)] = { false };
	uint32_t compared = 0;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct run run = { .model = model_of_all(),
				   .told = told_trace(make(seed, seed % 2)) };

		run_on(&run, 0);
		compared += compare(&run, seed, seen);
		run_fini(&run);
	}
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (!seen[i])
			fail_msg("%s was 0 in every window", kinds[i].metric);
	}
	if (compared < 10000)
		fail_msg("only %u values were compared", compared);
}

/* ------------------------------------------------------------------------ losses */

static bool is_users(const struct event *event)
{
	return event->context & EV_CTX_USER;
}

/* The place of the n-th event of that stream, or the count. */
static size_t nth_of(const struct text_trace *trace, uint32_t cpu, bool is_user, size_t n)
{
	for (size_t i = 0; i < trace->count; i++) {
		if (trace->events[i].cpu == cpu && is_users(&trace->events[i]) == is_user &&
		    n-- == 0)
			return i;
	}
	return trace->count;
}

/* As rt_lose(), of the kernel's stream or the programs' of a CPU. */
static void lose(struct text_trace *trace, uint32_t cpu, bool is_user, size_t n, size_t run)
{
	struct event lost = { .type = EV_LOST, .cpu = (uint16_t)cpu, .tid = -1 };
	size_t at = nth_of(trace, cpu, is_user, n);

	if (at == trace->count)
		return;
	lost.context = is_user ? EV_CTX_USER : 0;
	lost.lost.since_ns = n ? trace->events[nth_of(trace, cpu, is_user, n - 1)].time_ns
			       : trace->facts.first_ns;
	while (run-- && (at = nth_of(trace, cpu, is_user, n)) < trace->count) {
		memmove(trace->events + at, trace->events + at + 1,
			(trace->count - at - 1) * sizeof(*trace->events));
		trace->count--;
		lost.lost.count++;
	}
	at = nth_of(trace, cpu, is_user, n);
	lost.time_ns = at < trace->count ? trace->events[at].time_ns : trace->facts.last_ns;
	insert(trace, at, &lost);
}

/* Instances of two marks with one constraint, whose limit both sides of are met with. */
static struct model *model_of_one(const struct kind *kind, struct maker *maker)
{
	static const char *const signs[] = { "<=", ">=", "==", "!=" };
	uint32_t most = kind->unit[0] == 'n' ? 2000 : kind->unit[0] == 'B' ? 8193 : 4;
	AUTO_FREE char *text =
		xasprintf("model: one\ninitial: out\nstates:\n  out:\n    transitions:\n"
			  "      - { event: markb, to: in }\n  in:\n    transitions:\n"
			  "      - { event: marke, to: out, check: [ \"%s %s %u%s\" ] }\n",
			  kind->metric, signs[dice(maker, 4)], dice(maker, most), kind->unit);

	return model_of(text);
}

/*
 * The instance of the whole trace that is the same; NULL = there is none. It may have begun
 * later: where its begin, and the end of the one before it, were lost.
 */
static const struct check_instance *same_of(const struct check_result *whole,
					    const struct check_instance *instance)
{
	for (size_t i = 0; i < whole->list_count; i++) {
		const struct check_instance *other = &whole->list[i];

		if (other->tid == instance->tid && other->begin_ns >= instance->begin_ns &&
		    other->end_ns == instance->end_ns && other->end == instance->end)
			return other;
	}
	return NULL;
}

struct counts {
	uint64_t decided, uncertain;
};

static void compare_decisions(const struct run *whole, const struct run *holed, const char *what,
			      uint64_t seed, struct counts *counts)
{
	const struct check_result *truth = check_result(whole->check);
	const struct check_result *result = check_result(holed->check);

	for (size_t i = 0; i < result->list_count; i++) {
		const struct check_instance *instance = &result->list[i];
		const struct check_instance *same;

		if (instance->status == CHECK_UNCERTAIN) {
			counts->uncertain++;
			continue;
		}
		counts->decided++;
		same = same_of(truth, instance);
		if (same && same->begin_ns != instance->begin_ns && instance->status == CHECK_VALID)
			same = NULL;
		/* What is uncertain of the whole trace may be anything. */
		if (same && (same->status == instance->status || same->status == CHECK_UNCERTAIN))
			continue;
		fail_msg("seed %llu, %s: of %d, %llu-%llu, is %s after a loss, and was %s",
			 (unsigned long long)seed, what, instance->tid,
			 (unsigned long long)instance->begin_ns,
			 (unsigned long long)instance->end_ns,
			 check_status_name((enum check_status)instance->status),
			 same ? check_status_name((enum check_status)same->status) : "not there");
	}
}

static void lose_and_compare(uint64_t seed, const struct kind *kind, struct counts *counts)
{
	struct maker maker = { .random = seed * 977 + (uint64_t)(kind - kinds) };
	struct model *model = model_of_one(kind, &maker);
	/* That a waking came just before the sleep is known only when the thread is seen again. */
	struct run whole = { .model = model, .told = told_trace(make(seed, false)) };
	struct run holed = { .model = model };
	struct text_trace *trace = make(seed, false);

	for (uint32_t i = 0; i < 1 + seed % 3; i++)
		lose(trace, dice(&maker, RT_CPUS), dice(&maker, 2), dice(&maker, 60),
		     1 + dice(&maker, 8));
	holed.told = told_trace(trace);
	run_on(&whole, 0);
	run_on(&holed, 0);
	compare_decisions(&whole, &holed, model->transitions[1].constraints[0].text, seed, counts);
	check_free(holed.check);
	told_free(holed.told);
	run_fini(&whole);
}

static void what_is_decided_in_spite_of_losses_is_true(void **unused)
{
	static const struct kind elapsed = { .metric = "elapsed", .unit = "ns" };
	struct counts counts = { 0 };

	for (uint64_t seed = 1; seed <= 40; seed++) {
		for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
			lose_and_compare(seed, &kinds[i], &counts);
		lose_and_compare(seed, &elapsed, &counts);
	}
	if (counts.decided < 1000 || counts.uncertain < 1000)
		fail_msg("%llu decided, %llu uncertain", (unsigned long long)counts.decided,
			 (unsigned long long)counts.uncertain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_metric_is_what_its_events_add_up_to),
		cmocka_unit_test(what_is_decided_in_spite_of_losses_is_true),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
