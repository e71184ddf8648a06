/* stuck_watch.c - see stuck_watch.h. */
#include "cli/stuck_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/exit.h"
#include "cli/flight_ask.h"
#include "cli/stuck_runner.h"
#include "event/stacks.h"
#include "record/go_take.h"
#include "record/interrupt.h"
#include "report/stuck.h"
#include "stuck/goroutines.h"
#include "stuck/stalls.h"
#include "stuck/stuck.h"

#define SHARE \
	100u /* of the time may be ours: one part in so many, for each kind of look half of it */
#define GO_MS	 600u /* for what files say of Go programs, and again for memory */
#define TIDS_MAX 256u /* threads in HOLDUP_TIDS */
#define TEXT_MAX 4096 /* of a reason, for a command */

/* A condition that was met, and is told once. */
struct episode {
	size_t condition;
	int32_t tid, tgid;
	uint64_t seen_ns; /* last */
	bool is_of_goroutines;
};

struct watching {
	const struct stuck_watch *watch;
	struct stalls *stalls;
	struct go_layouts *layouts; /* owned; NULL = goroutines are not asked for */
	uint64_t *leasts;	    /* owned: a limit for each condition */
	struct episode *episodes;   /* owned */
	size_t episode_count, episode_cap;
	uint64_t next_whole_ns; /* no whole look before */
	uint32_t reports;
	bool is_deadlock; /* one was told */
	bool is_slowed;	  /* this was told */
	bool is_missed;	  /* that goroutines are not known was told */
};

/* A look at some processes as a whole. */
struct whole {
	const int32_t *tgids;
	size_t count;
	struct stuck *stuck;
	struct goroutines goroutines;
};

static int32_t tgid_of(const struct stuck *stuck, int32_t tid)
{
	const struct stuck_thread *thread = stuck_find(stuck, tid);

	return thread ? thread->tgid : tid;
}

static struct episode *find_episode(struct watching *watching, const struct condition_met *met)
{
	for (size_t i = 0; i < watching->episode_count; i++) {
		struct episode *episode = &watching->episodes[i];

		if (episode->condition == met->condition && episode->tid == met->tid &&
		    episode->is_of_goroutines == met->is_of_goroutines)
			return episode;
	}
	return NULL;
}

/* Whether it is to be told: it is new, or began after the one that was seen last. */
static bool note_episode(struct watching *watching, const struct condition_met *met,
			 const struct stuck *stuck)
{
	struct episode *episode = find_episode(watching, met);
	/* Go's runtime wakes a thread now and then, which ends no wait of a goroutine. */
	bool is_new = !episode ||
		      (!met->is_of_goroutines && met->since_ns && met->since_ns > episode->seen_ns);

	if (!episode) {
		watching->episodes = vec_room(watching->episodes, watching->episode_count,
					      &watching->episode_cap, sizeof(*watching->episodes));
		episode = &watching->episodes[watching->episode_count++];
	}
	*episode = (struct episode){ met->condition, met->tid, tgid_of(stuck, met->tids[0]),
				     stuck->now_ns, met->is_of_goroutines };
	return is_new;
}

static bool was_looked_at(const int32_t *tgids, size_t count, int32_t tgid)
{
	for (size_t i = 0; i < count; i++) {
		if (tgids[i] == tgid)
			return true;
	}
	return false;
}

/* Whether all goroutines of the process were seen at one instant. */
static bool was_still(const struct goroutines *goroutines, int32_t tgid)
{
	const struct go_process *process = goroutines_of(goroutines, tgid);

	return process && process->is_still;
}

/* A look that should have seen it, and did not. */
static bool is_over(const struct episode *episode, const struct whole *whole)
{
	if (episode->seen_ns == whole->stuck->now_ns ||
	    !was_looked_at(whole->tgids, whole->count, episode->tgid))
		return false;
	return !episode->is_of_goroutines || was_still(&whole->goroutines, episode->tgid);
}

static void forget_episodes(struct watching *watching, const struct whole *whole)
{
	size_t kept = 0;

	for (size_t i = 0; i < watching->episode_count; i++) {
		if (!is_over(&watching->episodes[i], whole))
			watching->episodes[kept++] = watching->episodes[i];
	}
	watching->episode_count = kept;
}

static void tell_failure(const char *what, const char *why)
{
	AUTO_FREE char *safe = text_escaped(why);

	fprintf(stderr, "holdup stuck: %s: %s\n", what, safe);
}

static char *tids_text(const struct condition_met *met)
{
	char *text = xstrdup("HOLDUP_TIDS=");

	for (size_t i = 0; i < met->count && i < TIDS_MAX; i++) {
		char *more = xasprintf("%s%s%d", text, i ? "," : "", met->tids[i]);

		free(text);
		text = more;
	}
	return text;
}

static void run_command(const struct watching *watching, const struct report_met *met,
			const struct stuck *stuck, const char *reason)
{
	AUTO_FREE char *on = xasprintf("HOLDUP_ON=%s", met->condition->text);
	AUTO_FREE char *tid = xasprintf("HOLDUP_TID=%d", met->met->tids[0]);
	AUTO_FREE char *pid = xasprintf("HOLDUP_PID=%d", tgid_of(stuck, met->met->tids[0]));
	AUTO_FREE char *why = xasprintf("HOLDUP_WHY=%.*s", TEXT_MAX, reason);
	AUTO_FREE char *tids = tids_text(met->met);
	const char *const texts[] = { on, tid, pid, tids, why, NULL };
	int rc = stuck_runner_run(watching->watch->runner, texts);

	if (rc < 0)
		tell_failure("cannot run the command", strerror(-rc));
}

/* It answers when the snapshot is begun. */
static void ask_flight(const char *reason)
{
	AUTO_FREE char *line = xasprintf("snapshot %.*s", FLIGHT_ASK_MAX / 2, reason);
	AUTO_FREE char *answer = NULL;
	struct err err = { 0 };
	int rc = flight_ask(line, &answer, &err);

	if (rc < 0)
		tell_failure("no snapshot", err.text);
	else if (rc > 0)
		tell_failure("no snapshot", answer ? answer : "");
}

static void act(const struct watching *watching, const struct condition_met *met,
		const struct report_stuck *report)
{
	struct report_met about = { &watching->watch->conditions[met->condition], met,
				    clock_read_ns(CLOCK_REALTIME) };
	AUTO_FREE char *reason = report_met_reason(&about, report);
	AUTO_FREE char *safe = text_escaped(reason);

	if (watching->watch->json)
		report_met_json(stdout, &about, report);
	else
		report_met_text(stdout, &about, report);
	fflush(stdout);
	if (watching->watch->runner)
		run_command(watching, &about, report->stuck, safe);
	if (watching->watch->flight)
		ask_flight(safe);
}

static bool is_enough(const struct watching *watching)
{
	return watching->watch->most && watching->reports >= watching->watch->most;
}

/* Stacks are taken where there is something to tell. */
static void tell_all(struct watching *watching, const struct condition_list *list,
		     const struct whole *whole)
{
	const struct stuck_watch *watch = watching->watch;
	struct stuck *stuck = whole->stuck;
	struct stacks stacks = { 0 };
	struct report_stuck report = { stuck, &stacks, true, watch->whole,
				       .goroutines = &whole->goroutines };
	bool has_stacks = false;

	for (size_t i = 0; i < list->count && !is_enough(watching); i++) {
		const struct condition_met *met = &list->items[i];

		if (!note_episode(watching, met, stuck))
			continue;
		if (!has_stacks)
			watch->take_stacks(watch->context, stuck, &stacks);
		has_stacks = true;
		act(watching, met, &report);
		watching->reports++;
		watching->is_deadlock |=
			watch->conditions[met->condition].kind == CONDITION_DEADLOCK;
	}
	stacks_fini(&stacks);
}

/* So that looks of that cost take no more than their share. */
static uint64_t pause_of(uint64_t cost_ns)
{
	return cost_ns * (2 * SHARE - 1);
}

static void slow_down(struct watching *watching, uint64_t cost_ns, uint64_t now_ns)
{
	uint64_t pause_ns = pause_of(cost_ns);

	watching->next_whole_ns = now_ns + pause_ns;
	if (watching->is_slowed || pause_ns <= 2 * watching->watch->every_ns)
		return;
	watching->is_slowed = true;
	fprintf(stderr,
		"holdup stuck: a look takes %s of CPU time: such looks are at least %s apart\n",
		text_duration(cost_ns).s, text_duration(pause_ns).s);
}

static bool is_still(const void *context, int32_t tgid)
{
	return stalls_is_still(context, tgid);
}

/* Once: that deadlocks of a program may not be seen. */
static void tell_missing(struct watching *watching, const struct whole *whole)
{
	for (size_t i = 0; i < whole->goroutines.process_count && !watching->is_missed; i++) {
		const struct go_process *process = &whole->goroutines.processes[i];
		AUTO_FREE char *what = xasprintf("goroutines of process %d", process->tgid);

		if (!process->missing[0])
			continue;
		tell_failure(what, process->missing);
		watching->is_missed = true;
	}
}

/*
 * Only where no thread of a process had a CPU from one look to the next: else some goroutine went on. Returns the CPU
 * time of children, without that of reading the files of programs, which is done once.
 */
static uint64_t take_goroutines(const struct watching *watching, struct whole *whole)
{
	const struct go_wanted wanted = { .wait_ms = GO_MS,
					  .layouts = watching->layouts,
					  .is_wanted = is_still,
					  .context = watching->stalls };
	uint64_t begun_ns = clock_usage_ns(RUSAGE_CHILDREN), once_ns;
	struct err ignored = { 0 };

	if (!watching->layouts)
		return 0;
	once_ns = go_layouts_spent_ns(watching->layouts);
	(void)go_take(whole->stuck, &wanted, &whole->goroutines, &ignored);
	once_ns = go_layouts_spent_ns(watching->layouts) - once_ns;
	return clock_usage_ns(RUSAGE_CHILDREN) - begun_ns - once_ns;
}

/* What cannot be read is an error the first time; later they may have exited. */
static int whole_look(struct watching *watching, const int32_t *tgids, size_t count,
		      struct err *err)
{
	const struct stuck_select select = { .tgids = tgids, .count = count, .may_be_gone = true };
	uint64_t begun_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID), cost_ns;
	struct whole whole = { .tgids = tgids, .count = count };
	struct condition_list list;
	int rc = stuck_look(&select, &whole.stuck, err);

	stalls_done(watching->stalls, tgids, count);
	if (rc < 0)
		return watching->next_whole_ns ? 0 : rc;
	cost_ns = take_goroutines(watching, &whole);
	tell_missing(watching, &whole);
	conditions_find(watching->watch->conditions, watching->watch->condition_count, whole.stuck,
			&whole.goroutines, &list);
	tell_all(watching, &list, &whole);
	forget_episodes(watching, &whole);
	cost_ns += clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - begun_ns;
	slow_down(watching, cost_ns, clock_now_ns());
	conditions_fini(&list);
	goroutines_fini(&whole.goroutines);
	stuck_free(whole.stuck);
	return 0;
}

/* Returns how long to wait until the next one, or a negative errno. */
static int64_t one_look(struct watching *watching, struct err *err)
{
	const struct stuck_watch *watch = watching->watch;
	uint64_t begun_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID), cost_ns;
	AUTO_FREE int32_t *tgids = NULL;
	size_t count;
	int rc = stalls_look(watching->stalls, err);

	if (rc < 0)
		return rc;
	cost_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - begun_ns;
	if (clock_now_ns() >= watching->next_whole_ns) {
		count = stalls_due(watching->stalls, watching->leasts, watch->condition_count,
				   &tgids);
		rc = count ? whole_look(watching, tgids, count, err) : 0;
	}
	if (rc < 0)
		return rc;
	return (int64_t)(pause_of(cost_ns) > watch->every_ns ? pause_of(cost_ns) : watch->every_ns);
}

static bool is_interrupted(const sigset_t *ending, uint64_t wait_ns)
{
	const struct timespec time = { (time_t)(wait_ns / 1000000000),
				       (long)(wait_ns % 1000000000) };

	return sigtimedwait(ending, NULL, &time) > 0;
}

static struct go_layouts *make_layouts(const struct stuck_watch *watch)
{
	for (size_t i = 0; i < watch->condition_count; i++) {
		if (watch->conditions[i].kind == CONDITION_DEADLOCK)
			return go_layouts_new();
	}
	return NULL;
}

static uint64_t *make_leasts(const struct stuck_watch *watch)
{
	uint64_t *leasts = xcalloc(watch->condition_count, sizeof(*leasts));

	for (size_t i = 0; i < watch->condition_count; i++)
		leasts[i] = watch->conditions[i].least_ns;
	return leasts;
}

int stuck_watch_run(const struct stuck_watch *watch, const struct stuck_select *select,
		    struct err *err)
{
	struct watching watching = { .watch = watch,
				     .layouts = make_layouts(watch),
				     .leasts = make_leasts(watch) };
	int64_t wait_ns = -ENOENT;
	sigset_t ending;

	interrupt_signals(&ending);
	sigprocmask(SIG_BLOCK, &ending, NULL);
	watching.stalls = stalls_new(select, err);
	do {
		wait_ns = watching.stalls ? one_look(&watching, err) : -EIO;
	} while (wait_ns >= 0 && !is_enough(&watching) &&
		 !is_interrupted(&ending, (uint64_t)wait_ns));
	stalls_free(watching.stalls);
	free(watching.episodes);
	free(watching.leasts);
	go_layouts_free(watching.layouts);
	if (wait_ns < 0 && (wait_ns != -ESRCH || !watching.next_whole_ns))
		return (int)wait_ns;
	return watching.is_deadlock ? EXIT_FOUND : EXIT_OK;
}
