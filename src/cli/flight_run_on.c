/* flight_run_on.c - what fires, and what is looked for. */
#include "cli/flight_run_int.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "record/flight_count.h"
#include "record/flight_event.h"
#include "record/flight_pair.h"
#include "record/keeper.h"

#define SETTLE_NS      UINT64_C(2000000000) /* how long a wait that fired is let go on */
#define SETTLE_LOOK_NS UINT64_C(20000000)
#define UNITS_TURN     16  /* messages of units that are taken at once */
#define EVENT_TEXT     300 /* of the line that tells of an event */

/* A trigger fires: not within the pause, which is told once. */
static bool is_paused(struct running *run, struct flight_on *on, const char *why)
{
	uint64_t since_ns = clock_now_ns() - run->last_ns;

	on->fired++;
	if (!run->last_ns || since_ns >= run->opts->pause_ns)
		return false;
	on->suppressed++;
	if (on->told_ns == run->last_ns)
		return true;
	on->told_ns = run->last_ns;
	flight_say(run, "suppressed: %s; the pause lasts %s more", why,
		   text_duration(run->opts->pause_ns - since_ns).s);
	return true;
}

/* ----------------------------------------------------------------- triggers */

static void fire(struct running *run, struct flight_on *on, const char *why)
{
	struct err err = { 0 };

	if (!is_paused(run, on, why))
		(void)flight_run_snapshot(run, run->flight, why, on, NULL, &err);
}

/* It is explained what is in 'seen'. What there was may be of a wait that has not ended yet, and stays. */
static void fire_for(struct running *run, struct flight_on *on, const char *why,
		     const struct flight_seen *seen)
{
	const struct flight_seen before = run->seen;

	run->seen = *seen;
	fire(run, on, why);
	run->seen = before;
}

/* Those that are not told in words. */
static void count_more(struct flight_on *on, uint64_t count)
{
	on->fired += count;
	on->suppressed += count;
}

static void turn_off(struct running *run, struct flight_on *on, const char *why)
{
	flight_say(run, "%s is off: %s", on->text, why);
	mem_close_fd(&on->fd);
	on->fd = -1;
}

static void on_pressure(struct running *run, struct flight_on *on, short events)
{
	if (events & (POLLERR | POLLNVAL))
		turn_off(run, on, "its cgroup is gone");
	else
		fire(run, on, on->text);
}

static void on_model(struct running *run, struct flight_on *on)
{
	struct flight_model *model = flight_models_find(&run->models, on);
	struct flight_model_line line;

	if (!model || flight_model_read(model) < 0) {
		turn_off(run, on, "the process that watches it has ended");
		return;
	}
	while (flight_model_next(model, &line)) {
		if (line.kind == FLIGHT_MODEL_VIOLATION) {
			count_more(on, line.before);
			fire(run, on, line.text);
		} else if (line.kind != FLIGHT_MODEL_TOLD) {
			on->is_deaf = line.kind == FLIGHT_MODEL_ENDED;
		} else {
			flight_say(run, "%s: %s", on->text, line.text);
		}
	}
}

/* It is explained what the thread did between the two. */
static void fire_pair(struct running *run, struct flight_on *on, const char *why)
{
	struct flight_seen seen = { 0 };

	seen.tid = flight_pair_tid(on->pair, &seen.since_ns, &seen.until_ns);
	fire_for(run, on, why, &seen);
}

static void on_event(struct running *run, struct flight_on *on)
{
	AUTO_FREE char *line =
		on->pair ? flight_pair_take(on->pair) : flight_event_take(on->tracer);
	AUTO_FREE char *why = line ? xasprintf("%s: %.*s", on->text, EVENT_TEXT, line) : NULL;

	if (why && on->pair)
		fire_pair(run, on, why);
	else if (why)
		fire(run, on, why);
}

/* It is explained what the unit's main process did, and those that were still there: then until now. */
static void on_failed_unit(struct running *run, struct flight_on *on,
			   const struct flight_unit_told *told)
{
	const struct flight_seen seen = { .tid = told->pid,
					  .since_ns = told->begun_ns,
					  .until_ns = told->other_count ? 0 : told->ended_ns };

	run->failed_unit = told;
	count_more(on, told->before);
	fire_for(run, on, told->text, &seen);
	run->failed_unit = NULL;
}

static void on_unit(struct running *run, struct flight_on *on)
{
	struct flight_unit_told told;
	int rc = 0;

	for (int i = 0; i < UNITS_TURN && (rc = flight_unit_take(on, &told)) > 0; i++) {
		if (told.kind == FLIGHT_UNIT_FAILED)
			on_failed_unit(run, on, &told);
		else if (told.text[0])
			flight_say(run, "%s", told.text);
		if (told.kind == FLIGHT_UNIT_HEARS || told.kind == FLIGHT_UNIT_DEAF)
			on->is_deaf = told.kind == FLIGHT_UNIT_DEAF;
	}
	if (rc < 0)
		turn_off(run, on, "the process that listens to systemd has ended");
}

static void on_looker(struct running *run, struct flight_on *on,
		      const struct flight_logged_message *message)
{
	AUTO_FREE char *how = keeper_how(message->tid);

	on->is_deaf = message->kind == FLIGHT_LOGGED_ENDED;
	if (on->is_deaf && message->count)
		flight_say(run, "%s is off: the process that looks for it %s; the next one in %u s",
			   on->text, how, (unsigned int)message->count);
}

static void on_logged(struct running *run, struct flight_on *on)
{
	struct flight_logged_message message;
	int rc;

	while ((rc = flight_logged_take(on->fd, &message)) > 0) {
		const struct flight_seen seen = { .tid = message.tid,
						  .since_ns = message.first_ns,
						  .until_ns = message.second_ns };
		AUTO_FREE char *why = NULL;

		if (message.kind != FLIGHT_LOGGED_FIRED) {
			on_looker(run, on, &message);
			continue;
		}
		why = flight_logged_text(on, &message);
		count_more(on, message.count - 1);
		fire_for(run, on, why, &seen);
	}
	if (rc < 0)
		turn_off(run, on, "the process that looks for it has ended");
}

void flight_run_arm(struct running *run)
{
	bool may = !run->last_ns || clock_now_ns() - run->last_ns >= run->opts->pause_ns;

	for (size_t i = 0; i < run->opts->on_count && may; i++) {
		flight_event_arm(run->opts->ons[i].tracer);
		flight_pair_arm(run->opts->ons[i].pair, true);
	}
}

/* Threads that are between two events for too long. Those that are not told in words are counted. */
static void look_at_pair(struct running *run, struct flight_on *on)
{
	uint64_t count;
	AUTO_FREE char *line = flight_pair_look(on->pair, &count);
	AUTO_FREE char *why = line ? xasprintf("%s: %.*s", on->text, EVENT_TEXT, line) : NULL;

	if (!why)
		return;
	flight_pair_arm(on->pair, false);
	count_more(on, count - 1);
	fire_pair(run, on, why);
}

static void look_at_pairs(struct running *run)
{
	for (size_t i = 0; i < run->opts->on_count; i++) {
		if (clock_now_ns() >= flight_pair_next_ns(run->opts->ons[i].pair))
			look_at_pair(run, &run->opts->ons[i]);
	}
}

static void look_at_counts(struct running *run)
{
	uint64_t now_ns = clock_now_ns();
	struct flight_on *on;
	char *why;

	while ((on = flight_count_take(run->opts->ons, run->opts->on_count, now_ns, &why))) {
		fire(run, on, why);
		free(why);
	}
}

static char *seen_text(const struct running *run)
{
	return xasprintf("%s: thread %d (%s)%s%s", run->fired->text, run->seen.tid, run->seen.comm,
			 run->place ? " in " : "", run->place ? run->place : "");
}

static void look(struct running *run)
{
	AUTO_FREE char *why = NULL;

	run->fired =
		flight_looks_take(&run->looks, run->opts->ons, run->opts->on_count, &run->seen);
	if (!run->fired)
		return;
	free(run->place);
	run->place = flight_seen_place(&run->seen);
	why = seen_text(run);
	if (is_paused(run, run->fired, why))
		run->fired = NULL;
	run->settle_ns = clock_now_ns() + SETTLE_NS;
}

static void settle(struct running *run)
{
	AUTO_FREE char *why = NULL;
	struct err err = { 0 };

	if (clock_now_ns() < run->settle_ns && flight_seen_waits(&run->seen))
		return;
	why = seen_text(run);
	(void)flight_run_snapshot(run, run->flight, why, run->fired, NULL, &err);
	run->fired = NULL;
}

/* ------------------------------------------------------------------------ when */

uint64_t flight_run_look_ns(const struct running *run)
{
	const struct flight_on *ons = run->opts->ons;
	size_t count = run->opts->on_count;
	uint64_t waits_ns = run->fired ? clock_now_ns() + SETTLE_LOOK_NS
				       : flight_looks_next_ns(&run->looks, ons, count);
	uint64_t at_ns = flight_count_next_ns(ons, count);

	at_ns = waits_ns < at_ns ? waits_ns : at_ns;
	for (size_t i = 0; i < count; i++) {
		uint64_t pair_ns = flight_pair_next_ns(ons[i].pair);

		at_ns = pair_ns < at_ns ? pair_ns : at_ns;
	}
	return at_ns;
}

void flight_run_look(struct running *run)
{
	look_at_counts(run);
	look_at_pairs(run);
	if (run->fired)
		settle(run);
	else if (clock_now_ns() >=
		 flight_looks_next_ns(&run->looks, run->opts->ons, run->opts->on_count))
		look(run);
}

void flight_run_trigger(struct running *run, struct flight_on *on, short events)
{
	if (on->kind == FLIGHT_ON_MODEL)
		on_model(run, on);
	else if (on->kind == FLIGHT_ON_UNIT)
		on_unit(run, on);
	else if (on->kind == FLIGHT_ON_LOGGED)
		on_logged(run, on);
	else if (on->kind == FLIGHT_ON_EVENT || on->kind == FLIGHT_ON_PAIR)
		on_event(run, on);
	else
		on_pressure(run, on, events);
}
