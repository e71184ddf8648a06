/* flight_run_answer.c - who asks by the socket. */
#include "cli/flight_run_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/exit.h"
#include "cli/flight_ask.h"
#include "record/flight.h"
#include "record/keeper.h"

/* Of those that a budget bounds, but for the recorder's own helper. */
static uint64_t flight_run_helpers_ns(const struct running *run)
{
	return keeper_cpu_ns(run->units.pid) + flight_logged_cpu_ns(&run->logged);
}

void flight_run_note_helpers(struct running *run)
{
	flight_note_beside(run->flight, flight_run_helpers_ns(run));
	run->noted_ns = clock_now_ns();
}

static uint64_t disk_bytes(const struct running *run)
{
	struct flight_list list;
	uint64_t bytes = 0;

	if (flight_store_list(run->dir_fd, &list) < 0)
		return 0;
	for (size_t i = 0; i < list.count; i++)
		bytes += list.rows[i].bytes;
	flight_list_fini(&list);
	return bytes;
}

/* 0 = never */
static uint64_t looks_every(const struct running *run, bool named)
{
	uint64_t every_ns =
		flight_looks_every_ns(&run->looks, run->opts->ons, run->opts->on_count, named);

	return every_ns == UINT64_MAX ? 0 : every_ns;
}

static void fill_status(struct running *run, struct flight_status_report *status,
			struct flight_trigger_row *rows, struct flight_logged_row *logged)
{
	const struct flight_run_opts *opts = run->opts;
	uint64_t models_ns = flight_models_cpu_ns(&run->models);
	struct flight_held held;

	flight_run_note_helpers(run);
	flight_held(run->flight, &held);
	held.cost.cpu_ns += models_ns;
	for (size_t i = 0; i < opts->on_count; i++)
		rows[i] = (struct flight_trigger_row){ opts->ons[i].text, opts->ons[i].fired,
						       opts->ons[i].suppressed,
						       flight_on_works(&opts->ons[i]) };
	*status = (struct flight_status_report){
		.pid = getpid(),
		.dir = opts->dir,
		.events = run->events,
		.since_real_ns = run->begun_real_ns,
		.age_ns = clock_now_ns() - run->begun_ns,
		.held_ns = held.held_ns,
		.keep_ns = opts->keep_ns,
		.lasts_ns = held.lasts_ns,
		.memory_bytes = held.memory_bytes,
		.ring_bytes = held.ring_bytes,
		.bpf_bytes = held.bpf_bytes,
		.own_bytes = held.own_bytes,
		.recorded_events = held.events,
		.events_per_s = held.events_per_s,
		.bytes_per_s = held.bytes_per_s,
		.cost = held.cost,
		.step = held.step,
		.has_lean_steps = held.has_lean_steps,
		.steps = held.steps,
		.cpu_ns = clock_usage_ns(RUSAGE_SELF) - run->cpu_ns + flight_run_helpers_ns(run) +
			  held.helper_ns + models_ns,
		.explain_cpu_ns = clock_usage_ns(RUSAGE_CHILDREN),
		.snapshots = run->snapshots,
		.failed = run->failed,
		.last_gap_ns = run->last_gap_ns,
		.disk_bytes = disk_bytes(run),
		.disk_most_bytes = opts->disk_bytes,
		.pause_ns = opts->pause_ns,
		.look_ns = looks_every(run, false),
		.look_named_ns = looks_every(run, true),
		.triggers = rows,
		.trigger_count = opts->on_count,
		.logged = flight_logged_tell(&run->logged, logged),
		.messages = run->messages,
		.message_count = run->message_count,
	};
}

static void answer_status(struct running *run, int fd, bool json)
{
	AUTO_FREE struct flight_trigger_row *rows = xcalloc(run->opts->on_count + 1, sizeof(*rows));
	struct flight_status_report status;
	struct flight_logged_row logged;
	AUTO_FREE char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out) {
		flight_answer(fd, EXIT_FAIL, "no memory for an answer");
		return;
	}
	fill_status(run, &status, rows, &logged);
	report_flight_status(out, &status, json);
	(void)fclose(out); /* memory */
	flight_answer(fd, EXIT_OK, text);
}

/* Triggers that would not fire now, in words. */
static void answer_off(const struct running *run, int fd)
{
	AUTO_FREE char *text = xstrdup("");

	for (size_t i = 0; i < run->opts->on_count; i++) {
		AUTO_FREE char *safe = text_escaped(run->opts->ons[i].text);
		char *more;

		if (flight_on_works(&run->opts->ons[i]))
			continue;
		more = xasprintf(
			"%sholdup flight: this trigger is off, see holdup flight status: %s\n",
			text, safe);
		free(text);
		text = more;
	}
	flight_answer(fd, EXIT_OK, text);
}

/* It is told only when all is gone: then the next one can start. */
static void end_by_question(struct running *run, int fd)
{
	run->done = true;
	mem_close_fd(&run->stop_fd);
	run->stop_fd = fd;
}

static void answer_snapshot(struct running *run, int fd, const char *why)
{
	AUTO_FREE char *name = NULL;
	AUTO_FREE char *text = NULL;
	struct err err = { 0 };
	int rc = flight_run_snapshot(run, run->flight, *why ? why : "asked for", NULL, &name, &err);

	text = rc < 0 ? xstrdup(err.text)
		      : xasprintf("%s/%s" FLIGHT_TRACE "\n", run->opts->dir, name);
	flight_answer(fd, rc < 0 ? EXIT_FAIL : EXIT_OK, text);
}

void flight_run_question(struct running *run)
{
	char line[FLIGHT_ASK_MAX];
	int fd = flight_accept(run->listen_fd, line);

	if (fd < 0)
		return;
	if (strcmp(line, "status") == 0 || strcmp(line, "status json") == 0)
		answer_status(run, fd, line[strlen("status")] != '\0');
	else if (strncmp(line, "snapshot ", strlen("snapshot ")) == 0)
		answer_snapshot(run, fd, line + strlen("snapshot "));
	else if (strcmp(line, "off") == 0)
		answer_off(run, fd);
	else if (strcmp(line, "dir") == 0)
		flight_answer(fd, EXIT_OK, run->opts->dir);
	else if (strcmp(line, "stop") == 0) {
		end_by_question(run, fd);
	} else
		flight_answer(fd, EXIT_USAGE, "the flight recorder does not know this question");
}
