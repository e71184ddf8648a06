/*
 * flight_run.c - one thread waits for all: who asks, pressure, time, signals, the child that explains.
 *
 * A thread that fired a trigger is let wait to its end, 2 s at most, so that the snapshot has what
 * ended the wait. A snapshot blocks all else; who asks meanwhile waits for it.
 */
#include "cli/flight_run_int.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/exit.h"
#include "cli/flight_ask.h"
#include "cli/flight_share.h"
#include "guard/caps.h"
#include "guard/place.h"
#include "record/flight.h"
#include "record/keeper.h"
#include "record/share.h"

#define LOCK_FILE     "flight.lock"
#define BESIDE_BYTES  (UINT64_C(16) << 20) /* of a snapshot, beside its rings */
#define NOTE_NS	      UINT64_C(1000000000) /* to ask for the CPU time of helpers costs some, too */
#define PROGRAMS_PART 8 /* of --disk: one snapshot may have so many of programs' own events */
#define RIGHTS                                                        \
	(GUARD_CAP(CAP_SYS_PTRACE) | GUARD_CAP(CAP_DAC_READ_SEARCH) | \
	 GUARD_CAP(CAP_DAC_OVERRIDE) | GUARD_CAP(CAP_SYSLOG))

/* ----------------------------------------------------------------- messages */

void flight_say(struct running *run, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = text_vescaped(format, args);
	va_end(args);
	if (run->opts->is_foreground)
		fprintf(stderr, "holdup flight: %s\n", text);
	if (run->message_count == MESSAGES) {
		free(run->messages[0].text);
		memmove(run->messages, run->messages + 1, (MESSAGES - 1) * sizeof(*run->messages));
		run->message_count--;
	}
	run->messages[run->message_count++] =
		(struct flight_message){ clock_read_ns(CLOCK_REALTIME), text };
}

/* ---------------------------------------------------------------- snapshots */

static void waiting_fini(struct waiting *one)
{
	free(one->row.name);
	free(one->row.why);
	free(one->row.verdict);
}

/* The oldest one that waits is explained; without a verdict when that cannot begin. */
static void explain_next(struct running *run);

static void explain_done(struct running *run, const char *verdict)
{
	struct waiting *one = &run->waiting[0];
	struct err err = { 0 };

	free(one->row.verdict);
	one->row.verdict = xstrdup(verdict);
	flight_say(run, "snapshot %s: %s", one->row.name, verdict);
	if (flight_store_note(run->dir_fd, &one->row, &err) < 0)
		flight_say(run, "the verdict is not kept: %s", err.text);
	(void)flight_store_bound(run->dir_fd, run->opts->disk_bytes, 0, one->row.name);
	waiting_fini(one);
	memmove(run->waiting, run->waiting + 1, --run->waiting_count * sizeof(*run->waiting));
	explain_next(run);
}

static int explain_start(struct running *run, const struct waiting *one, struct err *err)
{
	AUTO_FREE char *trace = xasprintf("%s/%s" FLIGHT_TRACE, run->opts->dir, one->row.name);
	AUTO_FREE char *report = xasprintf("%s" FLIGHT_REPORT, one->row.name);
	AUTO_CLOSE int fd = openat(run->dir_fd, report,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	const struct flight_why_ask ask = { trace,	     one->on,	  one->tid,
					    one->is_process, one->others, one->other_count,
					    one->from_ns,    one->to_ns };
	int rc;

	if (fd < 0)
		return err_set(err, -errno, "cannot make %s: %s", report, strerror(errno));
	rc = flight_why_start(&ask, one->row.name, fd, &run->why, err);
	if (rc == 0 && run->flight)
		flight_note_helper(run->flight, run->why.pid);
	return rc;
}

static int explain_begin(struct running *run, struct err *err)
{
	const struct waiting *one = &run->waiting[0];

	if (one->from_ns >= one->to_ns)
		return err_set(err, -ENODATA,
			       "cannot be explained: what fired was overwritten before the rings "
			       "were copied; a larger --memory or fewer events (-e) hold more");
	return explain_start(run, one, err);
}

static void explain_next(struct running *run)
{
	struct err err = { 0 };

	if (flight_named_fd(run->flight) < 0 && run->waiting_count && !run->why.pid &&
	    explain_begin(run, &err) < 0)
		explain_done(run, err.text);
}

/* The last snapshot is whole. */
static void on_named(struct running *run)
{
	struct err err = { 0 };

	if (flight_named(run->flight, &err) < 0)
		flight_say(run, "some functions of the snapshot have no names: %s", err.text);
	explain_next(run);
}

static void on_verdict(struct running *run)
{
	char text[sizeof(run->why.text)];

	if (!flight_why_read(&run->why))
		return;
	(void)snprintf(text, sizeof(text), "%s",
		       run->why.text[0] ? run->why.text : "cannot be explained: it took too long");
	flight_why_end(&run->why);
	explain_done(run, text);
}

/* Room for what the rings hold: by our bound, and on the disk. Nothing is touched when there is none. */
static int make_room(struct running *run, struct flight *flight, struct err *err)
{
	struct flight_held held;
	struct statvfs disk;
	uint64_t need;
	size_t removed;

	flight_held(flight, &held);
	need = held.bytes + held.bytes / 8 + BESIDE_BYTES;
	if (need > run->opts->disk_bytes)
		return err_set(err, -ENOSPC, "a snapshot needs about %s, and --disk allows %s",
			       text_size(need).s, text_size(run->opts->disk_bytes).s);
	removed = flight_store_bound(run->dir_fd, run->opts->disk_bytes, need, NULL);
	if (removed)
		flight_say(run, "%zu of the oldest snapshots are removed: --disk allows %s",
			   removed, text_size(run->opts->disk_bytes).s);
	if (fstatvfs(run->dir_fd, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize < need)
		return err_set(err, -ENOSPC,
			       "the disk has %s left in %s, and a snapshot needs about %s; --dir "
			       "chooses another place%s",
			       text_size((uint64_t)disk.f_bavail * disk.f_frsize).s, run->opts->dir,
			       text_size(need).s,
			       flight == run->flight ? ", and a smaller --memory needs less" : "");
	return 0;
}

static int take(struct running *run, struct flight *flight, struct waiting *one, struct err *err)
{
	AUTO_FREE char *dir = xasprintf("%s/%s" FLIGHT_TRACE, run->opts->dir, one->row.name);
	struct flight_taken taken = { 0 };
	int rc = run->waiting_count == WAITING_MOST
			 ? err_set(err, -EBUSY, "%d snapshots wait to be explained", WAITING_MOST)
			 : make_room(run, flight, err);

	if (rc < 0)
		return rc;
	flight_models_note(&run->models, flight);
	keeper_note(run->units.pid, flight);
	flight_logged_note(&run->logged, flight);
	rc = flight_snapshot(flight, dir, &taken, err);
	run->last_gap_ns = taken.gap_ns ? taken.gap_ns : run->last_gap_ns;
	if (rc < 0)
		return taken.gap_ns
			       ? err_wrap(err, "taking a snapshot; what the rings held is lost")
			       : rc;
	one->row.begin_ns = taken.begin_ns;
	one->row.end_ns = taken.end_ns;
	one->row.gap_ns = taken.gap_ns;
	flight_share_symbols(run->dir_fd, one->row.name);
	rc = flight_store_note(run->dir_fd, &one->row, err);
	if (rc < 0)
		flight_store_remove(run->dir_fd, one->row.name);
	return rc;
}

/* Is it a thread that fired it, or the main process of a unit, which lived in the time that was recorded? */
static bool is_of_thread(const struct waiting *one, const struct running *run)
{
	const struct flight_seen *seen = &run->seen;

	if (one->on && one->on->kind == FLIGHT_ON_UNIT)
		return (seen->tid > 0 || (run->failed_unit && run->failed_unit->other_count)) &&
		       (!seen->until_ns || seen->until_ns > one->row.begin_ns);
	return one->on && (flight_on_is_wait(one->on) || flight_on_is_pair(one->on));
}

/* More processes of a unit. */
static void note_others(struct waiting *one, const struct flight_unit_told *failed_unit)
{
	if (!failed_unit)
		return;
	one->other_count = failed_unit->other_count;
	memcpy(one->others, failed_unit->others, sizeof(one->others));
}

/* What is explained: all of it, or of a thread what fired. 'to_ns': when it was taken. */
static void choose_window(struct waiting *one, const struct flight_seen *seen,
			  const struct flight_unit_told *failed_unit)
{
	uint64_t end_ns = seen && seen->until_ns ? seen->until_ns : one->to_ns;
	uint64_t from_ns = 0;

	if (seen) {
		one->tid = seen->tid;
		one->is_process = one->on->kind == FLIGHT_ON_UNIT;
		note_others(one, failed_unit);
		from_ns = seen->before_ns ? seen->before_ns : seen->since_ns;
	}
	one->to_ns = !seen || end_ns > one->row.end_ns ? one->row.end_ns : end_ns;
	one->from_ns = from_ns > one->row.begin_ns ? from_ns : one->row.begin_ns;
}

int flight_run_snapshot(struct running *run, struct flight *flight, const char *why,
			const struct flight_on *on, char **out_name, struct err *err)
{
	struct waiting one = { .on = on };
	int rc;

	one.row.real_ns = clock_read_ns(CLOCK_REALTIME);
	one.to_ns = clock_now_ns();
	one.row.name = flight_store_name(run->dir_fd, one.row.real_ns);
	one.row.number = run->number + 1;
	one.row.why = xstrdup(why);
	one.row.verdict = xstrdup("");
	rc = take(run, flight, &one, err);
	if (rc < 0) {
		run->failed++;
		flight_say(run, "no snapshot (%s): %s", why, err->text);
		waiting_fini(&one);
		return rc;
	}
	choose_window(&one, is_of_thread(&one, run) ? &run->seen : NULL, run->failed_unit);
	run->snapshots++;
	run->number++;
	run->last_ns = clock_now_ns();
	if (out_name)
		*out_name = xstrdup(one.row.name);
	run->waiting[run->waiting_count++] = one;
	explain_next(run);
	return 0;
}

/* --------------------------------------------------------------------- loop */

static void on_signal(struct running *run)
{
	struct signalfd_siginfo info;
	struct err err = { 0 };

	if (read(run->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGUSR1)
		(void)flight_run_snapshot(run, run->flight, "SIGUSR1", NULL, NULL, &err);
	else
		run->done = true;
}

/* When something is to be done that nobody wakes us for. */
static int next_wait_ms(const struct running *run, uint64_t tick_ns)
{
	uint64_t now_ns = clock_now_ns(), at_ns = flight_run_look_ns(run);

	at_ns = at_ns < tick_ns ? at_ns : tick_ns;
	return at_ns <= now_ns ? 0 : (int)((at_ns - now_ns + 999999) / 1000000);
}

static void on_time(struct running *run, uint64_t *tick_ns)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns >= *tick_ns) {
		if (run->opts->budget_ppm && now_ns - run->noted_ns >= NOTE_NS)
			flight_run_note_helpers(run);
		flight_tick(run->flight);
		flight_run_arm(run);
		*tick_ns = now_ns + flight_tick_ns(run->flight);
	}
	flight_run_look(run);
}

static void loop(struct running *run)
{
	enum {
		SIGNAL,
		QUESTION,
		VERDICT,
		NAMED,
		PRESSURE
	};
	size_t count = PRESSURE + run->opts->on_count;
	AUTO_FREE struct pollfd *waits = xcalloc(count, sizeof(*waits));
	uint64_t tick_ns = clock_now_ns() + flight_tick_ns(run->flight);

	while (!run->done) {
		waits[SIGNAL] = (struct pollfd){ .fd = run->signal_fd, .events = POLLIN };
		waits[QUESTION] = (struct pollfd){ .fd = run->listen_fd, .events = POLLIN };
		waits[VERDICT] =
			(struct pollfd){ .fd = run->why.pid ? run->why.fd : -1, .events = POLLIN };
		waits[NAMED] =
			(struct pollfd){ .fd = flight_named_fd(run->flight), .events = POLLIN };
		for (size_t i = 0; i < run->opts->on_count; i++)
			waits[PRESSURE + i] = flight_on_wait(&run->opts->ons[i]);
		if (poll(waits, count, next_wait_ms(run, tick_ns)) < 0)
			continue;
		if (waits[SIGNAL].revents)
			on_signal(run);
		if (waits[VERDICT].revents)
			on_verdict(run);
		if (waits[NAMED].revents)
			on_named(run);
		for (size_t i = 0; i < run->opts->on_count && !run->done; i++) {
			if (waits[PRESSURE + i].revents)
				flight_run_trigger(run, &run->opts->ons[i],
						   waits[PRESSURE + i].revents);
		}
		if (waits[QUESTION].revents)
			flight_run_question(run);
		on_time(run, &tick_ns);
	}
}

/* -------------------------------------------------------------------- begin */

/* One flight recorder of a machine. */
static int take_lock(struct running *run, struct err *err)
{
	char text[16] = "";

	run->run_fd = guard_make_folder(FLIGHT_RUN_DIR, 0700, err);
	if (run->run_fd < 0)
		return run->run_fd;
	run->lock_fd =
		openat(run->run_fd, LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (run->lock_fd < 0)
		return err_set(err, -errno, "cannot make " FLIGHT_RUN_DIR "/" LOCK_FILE ": %s",
			       strerror(errno));
	if (flock(run->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		(void)file_read_at(run->lock_fd, 0, text, sizeof(text) - 1);
		return err_set(err, -EBUSY,
			       "a flight recorder runs already, process %d: holdup flight status, "
			       "or holdup flight stop",
			       atoi(text));
	}
	(void)snprintf(text, sizeof(text), "%d\n", getpid());
	(void)!ftruncate(run->lock_fd, 0);
	(void)file_write_at(run->lock_fd, 0, text, strlen(text)); /* for a message only */
	return 0;
}

static int watch_signals(struct running *run, struct err *err)
{
	sigset_t ours, all;

	sigemptyset(&ours);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGUSR1);
	all = ours;
	sigaddset(&all, SIGHUP);
	sigaddset(&all, SIGXFSZ); /* a limit of the file size is a full disk */
	sigprocmask(SIG_BLOCK, &all, NULL);
	(void)signal(SIGHUP, SIG_IGN);
	run->signal_fd = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	if (run->signal_fd < 0)
		return err_set(err, -errno, "cannot watch for signals: %s", strerror(errno));
	return 0;
}

static bool is_full(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG;
}

/* What a killed one recorded last. Fails where there is no room for it: it stays in memory, then. */
static int take_old(struct running *run, const struct flight_opts *opts, struct err *err)
{
	AUTO_FREE char *path = NULL;
	struct flight *old = NULL;
	struct err why = { 0 };
	int rc = flight_open_old(opts, &old, &why);

	if (rc < 0)
		flight_say(run, "what a killed flight recorder left cannot be read: %s", why.text);
	if (rc <= 0)
		return 0;
	rc = flight_run_snapshot(run, old, "the flight recorder before this one was killed", NULL,
				 NULL, &why);
	if (is_full(rc)) {
		path = flight_leave(old);
		return err_set(
			err, rc,
			"what a killed flight recorder left is still in memory: %s; make room and start "
			"again, or give it up: rmdir %s",
			why.text, path);
	}
	if (rc == 0)
		flight_say(run,
			   "the flight recorder before this one was killed: what its rings held is "
			   "a snapshot");
	flight_close(old);
	return 0;
}

static void open_triggers(struct running *run)
{
	for (size_t i = 0; i < run->opts->on_count; i++) {
		struct flight_on *on = &run->opts->ons[i];
		struct err err = { 0 };
		int rc = flight_on_open(on, &err);

		if (rc < 0)
			flight_say(run, "this trigger is off: %s", err.text);
		if (rc > 0)
			flight_say(
				run,
				"%s: without CAP_SYS_RESOURCE the kernel looks at whole 2 s: it is %s of "
				"%s",
				on->text, text_duration(on->stall_us * 1000).s,
				text_duration(on->window_us * 1000).s);
	}
}

/* What was asked for; or lean events, or what there is without their BPF program. */
static int open_flight(struct running *run, struct flight_opts *opts, struct err *err)
{
	struct err why = { 0 };
	int rc;

	run->events = opts->events = run->opts->events;
	if (run->events)
		return flight_open(opts, &run->flight, err);
	run->events = opts->events = "lean";
	rc = flight_open(opts, &run->flight, &why);
	if (rc == -ENOBUFS)
		*err = why;
	if (rc == 0 || rc == -ENOBUFS)
		return rc;
	run->events = opts->events = "core";
	rc = flight_open(opts, &run->flight, err);
	if (rc == 0)
		flight_say(run, "core events, not lean ones: %s", why.text);
	return rc;
}

/* Who is between the two events of a pair stands in a map of a BPF program. */
static uint64_t rights_of(const struct flight_run_opts *opts)
{
	uint64_t rights = RIGHTS;

	for (size_t i = 0; i < opts->on_count; i++)
		rights |= opts->ons[i].pair ? guard_caps_bpf() : 0;
	return rights;
}

static int begin(struct running *run, struct err *err)
{
	struct flight_opts opts = { .events = "",
				    .budget_ppm = run->opts->budget_ppm,
				    .memory_bytes = run->opts->memory_bytes,
				    .user_bytes = run->opts->disk_bytes / PROGRAMS_PART };
	int rc;

	mem_one_heap(); /* it counts for --memory */
	rc = take_lock(run, err);
	if (rc == 0)
		rc = run->dir_fd = guard_make_folder(run->opts->dir, 0700, err);
	if (rc >= 0)
		rc = watch_signals(run, err);
	if (rc < 0)
		return rc;
	opts.run_fd = run->run_fd;
	flight_store_sweep(run->dir_fd);
	run->number = flight_store_last(run->dir_fd);
	rc = take_old(run, &opts, err);
	if (rc < 0)
		return rc;
	/* They need all rights, and nothing of what follows. */
	rc = flight_models_start(&run->models, run->opts->ons, run->opts->on_count,
				 run->opts->events, err);
	if (rc == 0)
		rc = flight_units_start(&run->units, run->opts->ons, run->opts->on_count, err);
	if (rc == 0)
		rc = flight_logged_start(&run->logged, run->opts, err);
	if (rc == 0 && run->units.text[0])
		flight_say(run, "%s", run->units.text);
	if (rc < 0)
		return rc;
	share_raise();
	share_raise_session();
	rc = open_flight(run, &opts, err);
	if (rc < 0)
		return rc;
	run->begun_ns = clock_now_ns();
	run->begun_real_ns = clock_read_ns(CLOCK_REALTIME);
	run->cpu_ns = clock_usage_ns(RUSAGE_SELF);
	open_triggers(run);
	rc = run->listen_fd = flight_listen(err);
	guard_caps_seal();
	return rc < 0 ? rc : guard_caps_keep(rights_of(run->opts), err);
}

static void tell_ready(struct running *run, int ready_fd)
{
	FILE *out = ready_fd < 0 ? NULL : fdopen(ready_fd, "w");

	if (!out)
		return;
	fputc('k', out);
	for (size_t i = 0; i < run->message_count; i++)
		fprintf(out, "holdup flight: %s\n", run->messages[i].text);
	(void)fclose(out); /* who waited may be gone */
}

static void run_fini(struct running *run)
{
	flight_why_end(&run->why);
	flight_models_end(&run->models);
	flight_units_end(&run->units);
	flight_logged_end(&run->logged);
	flight_close(run->flight);
	for (size_t i = 0; i < run->opts->on_count; i++)
		flight_on_close(&run->opts->ons[i]);
	for (size_t i = 0; i < run->waiting_count; i++)
		waiting_fini(&run->waiting[i]); /* they are whole: only nobody has looked at them */
	for (size_t i = 0; i < run->message_count; i++)
		free(run->messages[i].text);
	flight_looks_fini(&run->looks);
	free(run->place);
	mem_close_fd(&run->listen_fd);
	mem_close_fd(&run->signal_fd);
	mem_close_fd(&run->dir_fd);
	mem_close_fd(&run->lock_fd);
	mem_close_fd(&run->run_fd);
	if (run->stop_fd >= 0)
		flight_answer(run->stop_fd, EXIT_OK, "");
}

int flight_run(const struct flight_run_opts *opts, int ready_fd, struct err *err)
{
	struct running run = { .opts = opts,
			       .run_fd = -1,
			       .lock_fd = -1,
			       .dir_fd = -1,
			       .signal_fd = -1,
			       .listen_fd = -1,
			       .stop_fd = -1,
			       .units = FLIGHT_UNITS_NONE,
			       .why = { .fd = -1 } };
	int rc = begin(&run, err);

	if (rc == 0) {
		tell_ready(&run, ready_fd);
		loop(&run);
	}
	run_fini(&run);
	return rc;
}
