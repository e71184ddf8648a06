/*
 * The tracker against a kernel in small, in which everything is known: threads that sleep, run, start
 * and end at random, also while they are asked about. What it says came to each must add up to what
 * came to each.
 */
#include "accounts/tracker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "accounts/list.h"
#include "accounts/sample_int.h"
#include "accounts/socket.h"

#define SECOND	1000000000ull
#define THREADS 400
#define TGID	1000

struct thread {
	int32_t tid;
	bool lives;
	uint64_t birth_ns;
	uint64_t runs;
	uint64_t run_ns;
	uint64_t told_runs; /* by the tracker, since its first round */
	uint64_t first_runs;
	bool was_told;
};

struct machine {
	struct thread threads[THREADS];
	uint64_t ended_runs; /* of threads that are no more in the table */
	uint64_t ended_ns;
	uint64_t now_ns;
	size_t asked;
	size_t listed;
	uint32_t busy;	/* the first so many may run at any time, also between answers */
	uint32_t noise; /* one of so many answers finds one of them running; 0 = none */
	uint64_t sleepers_ran;
};

static void run(struct machine *machine, size_t i)
{
	machine->threads[i].runs++;
	machine->threads[i].run_ns += 1000;
}

static int list(void *context, const struct delays_select *select, struct delays_ids *out_ids,
		struct err *err)
{
	struct machine *machine = context;

	*out_ids = (struct delays_ids){ 0 };
	assert_false(select->threads);
	out_ids->ids = vec_room(NULL, 0, &out_ids->cap, sizeof(*out_ids->ids));
	out_ids->ids[0] = (struct delays_id){ .tgid = TGID, .tid = TGID, .is_process = true };
	out_ids->count = 1;
	for (size_t i = 0; i < THREADS; i++)
		out_ids->ids[0].threads += machine->threads[i].lives;
	return 0;
}

static void list_threads(void *context, int32_t tgid, struct delays_ids *ids)
{
	struct machine *machine = context;

	machine->listed++;
	for (size_t i = THREADS; i-- > 0;) {
		if (!machine->threads[i].lives)
			continue;
		ids->ids = vec_room(ids->ids, ids->count, &ids->cap, sizeof(*ids->ids));
		ids->ids[ids->count++] =
			(struct delays_id){ .tgid = tgid, .tid = machine->threads[i].tid };
	}
}

static void tell(struct delays_stats *stats, uint64_t runs, uint64_t run_ns)
{
	stats->version = 14;
	stats->classes |= 1u << DELAYS_CPU;
	stats->has = DELAYS_HAS_BASIC | DELAYS_HAS_RUN | DELAYS_HAS_SWITCHES | DELAYS_HAS_TGID;
	stats->delay[DELAYS_CPU].count += runs;
	stats->run_ns += run_ns;
	stats->voluntary += runs;
}

static int ask(void *context, struct delays_request *requests, size_t count, struct err *err)
{
	struct machine *machine = context;

	machine->asked += count;
	for (size_t i = 0; i < count; i++) {
		struct delays_request *request = &requests[i];

		if (machine->noise && (uint32_t)rand() % machine->noise == 0)
			run(machine, (size_t)rand() % machine->busy);
		request->error = request->is_process ? 0 : -3;
		request->stats = (struct delays_stats){ 0 };
		if (request->is_process)
			tell(&request->stats, machine->ended_runs, machine->ended_ns);
		for (size_t k = 0; k < THREADS; k++) {
			const struct thread *thread = &machine->threads[k];

			if (!thread->lives || (!request->is_process && thread->tid != request->id))
				continue;
			request->error = 0;
			tell(&request->stats, thread->runs, thread->run_ns);
			request->stats.life_us = (machine->now_ns - thread->birth_ns) / 1000;
		}
	}
	return 0;
}

static uint64_t now_ns(void *context)
{
	return ((struct machine *)context)->now_ns;
}

static void start(struct machine *machine, size_t i, int32_t tid)
{
	machine->threads[i] = (struct thread){
		.tid = tid, .lives = true, .birth_ns = machine->now_ns, .runs = 1, .run_ns = 500
	};
}

static void end(struct machine *machine, size_t i)
{
	machine->threads[i].lives = false;
	machine->ended_runs += machine->threads[i].runs;
	machine->ended_ns += machine->threads[i].run_ns;
}

static void begin(struct machine *machine)
{
	*machine = (struct machine){ .now_ns = 100 * SECOND, .busy = 10 };
	for (size_t i = 0; i < THREADS; i++)
		start(machine, i, TGID + (int32_t)i);
}

static struct delays_tracker *make(struct machine *machine, struct delays_sampler *sampler)
{
	const struct delays_tracker_ops ops = { machine, list, list_threads, ask, now_ns };

	delays_account_read(&sampler->account);
	return delays_tracker_new_ops(sampler, &ops);
}

static struct thread *thread_of(struct machine *machine, int32_t tid)
{
	for (size_t i = 0; i < THREADS; i++) {
		if (machine->threads[i].lives && machine->threads[i].tid == tid)
			return &machine->threads[i];
	}
	return NULL;
}

static size_t living(const struct machine *machine)
{
	size_t count = 0;

	for (size_t i = 0; i < THREADS; i++)
		count += machine->threads[i].lives;
	return count;
}

/* One more interval; adds up what is told. Returns how many answers it took. */
static size_t take(struct machine *machine, struct delays_tracker *tracker)
{
	const struct delays_select select = { .all = true, .threads = true };
	struct delays_round round;
	size_t rows = 0;

	machine->asked = 0;
	machine->now_ns += SECOND;
	assert_int_equal(delays_tracker_take(tracker, &select, &round, NULL), 0);
	for (size_t i = 0; i < round.count; i++) {
		const struct delays_change *change = round.changes[i];
		struct thread *thread = thread_of(machine, change->task->tid);

		if (change->task->is_process)
			continue;
		rows++;
		assert_false(change->ended);
		if (!thread)
			continue; /* ended, and unseen so far */
		if (!thread->was_told) {
			thread->was_told = true;
			thread->first_runs = round.span_ns ? 0 : change->task->stats.delay[0].count;
			thread->told_runs = 0;
		}
		if (round.span_ns)
			thread->told_runs += change->stats.delay[DELAYS_CPU].count;
	}
	assert_in_range(rows, living(machine), living(machine) + 1); /* it may have ended unseen */
	return machine->asked;
}

/* Everything that was counted has been told, and nothing more. */
static void assert_all_told(const struct machine *machine)
{
	for (size_t i = 0; i < THREADS; i++) {
		const struct thread *thread = &machine->threads[i];

		if (!thread->lives)
			continue;
		assert_true(thread->was_told);
		assert_int_equal(thread->told_runs, thread->runs - thread->first_runs);
	}
}

static void sleepers_are_not_asked_about(void **unused)
{
	struct delays_sampler sampler = { 0 };
	struct machine machine;
	struct delays_tracker *tracker;

	begin(&machine);
	tracker = make(&machine, &sampler);
	assert_true(take(&machine, tracker) > THREADS);
	for (int round = 0; round < 4; round++)
		take(&machine, tracker);
	for (int round = 0; round < 50; round++) {
		for (size_t i = 0; i < 5; i++)
			run(&machine, i);
		assert_true(take(&machine, tracker) < (round ? 10 : 2 * THREADS));
		assert_all_told(&machine);
	}
	assert_true(machine.listed < 5);
	delays_tracker_free(tracker);
}

static void a_sleeper_that_wakes_is_found_at_once(void **unused)
{
	struct delays_sampler sampler = { 0 };
	struct machine machine;
	struct delays_tracker *tracker;

	srand(3);
	begin(&machine);
	tracker = make(&machine, &sampler);
	for (int round = 0; round < 200; round++) {
		if (rand() % 3 == 0)
			run(&machine, (size_t)rand() % THREADS);
		take(&machine, tracker);
		assert_all_told(&machine);
	}
	delays_tracker_free(tracker);
}

static void threads_come_and_go(void **unused)
{
	struct delays_sampler sampler = { 0 };
	int32_t next = TGID + THREADS;
	struct machine machine;
	struct delays_tracker *tracker;

	srand(5);
	begin(&machine);
	tracker = make(&machine, &sampler);
	for (int round = 0; round < 300; round++) {
		size_t i = 1 + (size_t)rand() % (THREADS - 1);

		if (rand() % 3 == 0)
			end(&machine, i);
		/* Ended and started between two looks: there are as many as before. */
		if (rand() % 2 == 0 && !machine.threads[i].lives)
			start(&machine, i, rand() % 2 ? next++ : machine.threads[i].tid);
		for (int k = rand() % 4; k > 0; k--)
			run(&machine, (size_t)rand() % 20);
		take(&machine, tracker);
		assert_all_told(&machine);
	}
	delays_tracker_free(tracker);
}

/* Threads switch while they are asked: what is late comes with the next look at all. */
static void nothing_is_lost_while_they_switch(void **unused)
{
	struct delays_sampler sampler = { 0 };
	size_t asked = 0, most = 0;
	struct machine machine;
	struct delays_tracker *tracker;

	srand(7);
	begin(&machine);
	tracker = make(&machine, &sampler);
	for (int round = 0; round < 5; round++)
		take(&machine, tracker);
	machine.noise = 100;
	for (int round = 0; round < 400; round++) {
		for (size_t i = 0; i < machine.busy; i++)
			run(&machine, i);
		if (rand() % 20 == 0)
			run(&machine, (size_t)rand() % THREADS);
		asked += take(&machine, tracker);
		most += THREADS;
	}
	assert_true(asked < most / 2);
	for (int i = 0; i < 40; i++) {
		machine.noise = 3;
		for (int round = 0; round < 3; round++)
			take(&machine, tracker);
		machine.noise = 0;
		run(&machine, 20 + (size_t)rand() % (THREADS - 20));
		for (int round = 0; round < 21; round++)
			take(&machine, tracker);
		assert_all_told(&machine);
	}
	delays_tracker_free(tracker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sleepers_are_not_asked_about),
		cmocka_unit_test(a_sleeper_that_wakes_is_found_at_once),
		cmocka_unit_test(threads_come_and_go),
		cmocka_unit_test(nothing_is_lost_while_they_switch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
