/*
 * record.c - record while a command runs, processes live, or time passes.
 *
 * The main thread sleeps in poll() on what can end a recording:
 *
 *	signalfd   SIGINT ...: forwarded to the command; the second one ends at once
 *	pidfd      of the command, and of the processes of -p
 *	timerfd    the end of the time; and a slow tick for sync points and progress
 *	eventfd    a reader that could not write
 *
 * A recording may end before the command does: its time is over, or the disk is
 * full. Then the trace is made whole at once, that is told, and the command is
 * awaited. The first signal ends that: a command that obeys it has a moment to end.
 */
#include "record/record.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "guard/caps.h"
#include "guard/user.h"
#include "proc/proc.h"
#include "record/buffer.h"
#include "record/accounts.h"
#include "record/clock.h"
#include "record/command.h"
#include "record/interrupt.h"
#include "record/ladder.h"
#include "record/pidns.h"
#include "record/reader.h"
#include "record/session.h"
#include "record/waiting.h"
#include "store/manifest.h"

#define TICK_NS		 1000000000L
#define PROGRESS_TICK_NS 500000000L
#define SECONDS_MAX	 1e9
#define OBEY_S		 0.5 /* so long a command that is awaited only may take to end by a signal */
/*
 * Behind what was drained: an event that was begun and not finished, because its CPU was taken
 * away in a virtual machine, and names of descriptors that were not fetched from BPF yet.
 */
#define SETTLE_NS 300000000u

/* The first slots of run.waits; the processes of -p follow. */
enum wait_slot {
	WAIT_SIGNAL,
	WAIT_TICK,
	WAIT_DEADLINE,
	WAIT_FAILURE,
	WAIT_COMMAND,
	WAIT_PIDS,
};

struct run {
	const struct record_opts *opts;
	struct session session;
	struct command command;
	struct pollfd *waits; /* owned, and the descriptors of own slots in it */
	size_t wait_count;
	size_t pids_left;
	sigset_t old_mask;
	int status; /* of the command */
	unsigned int signals;
	int last_signal;
	uint64_t last_sync_ns;
	bool told_end; /* opts->step knows that recording is over */
	bool done;
};

/* Signals that end a recording, and two that must not end or stop the recorder. */
static void fill_signals(sigset_t *ending, sigset_t *all)
{
	interrupt_signals(ending);
	*all = *ending;
	sigaddset(all, SIGTTOU); /* progress from the background under "stty tostop" */
	sigaddset(all, SIGXFSZ); /* a limit of the file size is a full disk */
}

static int watch_pids(struct run *run, struct err *err)
{
	run->wait_count = WAIT_PIDS + run->opts->pid_count;
	run->waits = xcalloc(run->wait_count, sizeof(*run->waits));
	for (size_t i = 0; i < run->wait_count; i++)
		run->waits[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	for (size_t i = 0; i < run->opts->pid_count; i++) {
		int pid = run->opts->pids[i];
		int fd = pid > 0 ? pidfd_open(pid, 0) : (errno = EINVAL, -1);

		/* ENOENT since Linux 6.15 */
		if (fd < 0 && (errno == EINVAL || errno == ENOENT) && pid > 0)
			return err_set(err, -EINVAL, "%d is a thread, not a process", pid);
		if (fd < 0)
			return err_set(err, -errno, "cannot watch process %d: %s", pid,
				       errno == ESRCH || errno == EINVAL
					       ? "there is no such process"
					       : strerror(errno));
		run->waits[WAIT_PIDS + i].fd = fd;
		run->pids_left++;
	}
	return 0;
}

static int timer_open(double first_s, long every_ns, struct err *err)
{
	struct itimerspec when = { .it_interval.tv_nsec = every_ns % TICK_NS,
				   .it_interval.tv_sec = every_ns / TICK_NS };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	when.it_value.tv_sec = (time_t)first_s;
	when.it_value.tv_nsec = (long)((first_s - (double)when.it_value.tv_sec) * 1e9);
	if (!when.it_value.tv_sec && !when.it_value.tv_nsec)
		when.it_value.tv_nsec = 1; /* 0 would mean never */
	if (fd < 0 || timerfd_settime(fd, 0, &when, NULL) < 0) {
		int code = -errno;

		mem_close_fd(&fd);
		return err_set(err, code, "cannot make a timer: %s", strerror(-code));
	}
	return fd;
}

static int watch_signals(struct run *run, struct err *err)
{
	sigset_t ending, all;

	fill_signals(&ending, &all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	run->waits[WAIT_SIGNAL].fd = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
	if (run->waits[WAIT_SIGNAL].fd < 0)
		return err_set(err, -errno, "cannot watch signals: %s", strerror(errno));
	return 0;
}

static long tick_of(const struct record_opts *opts)
{
	if (opts->step)
		return (long)opts->step_ms * 1000000;
	if (opts->budget_ppm)
		return (long)BUDGET_LOOK_NS;
	return opts->progress ? PROGRESS_TICK_NS : TICK_NS;
}

static int watch_time(struct run *run, struct err *err)
{
	double left_s = run->opts->seconds - session_seconds(&run->session);
	long tick_ns = tick_of(run->opts);
	int rc = timer_open((double)tick_ns / 1e9, tick_ns, err);

	if (rc < 0)
		return rc;
	run->waits[WAIT_TICK].fd = rc;
	if (run->opts->seconds <= 0)
		return 0;
	/* The state dump is recorded, so the time of the user runs since before it. */
	rc = timer_open(left_s > 0 ? left_s : 0, 0, err);
	if (rc >= 0)
		run->waits[WAIT_DEADLINE].fd = rc;
	return rc < 0 ? rc : 0;
}

/* Stop recording; what the command does from now on is not recorded. */
static void stop_early(struct run *run, int failure)
{
	run->waits[WAIT_DEADLINE].events = 0;
	run->waits[WAIT_FAILURE].fd = -1;
	if (session_end(&run->session, failure, NULL) < 0)
		run->session.is_ended = true; /* written again, with the error told, at the end */
	run->done = run->command.pid == 0;
	if (!run->done && run->opts->awaits)
		run->opts->awaits(run->opts->awaits_context, run->command.pid);
}

/* The command is awaited for a moment more. */
static void stop_waiting(struct run *run)
{
	int fd = timer_open(OBEY_S, 0, NULL);

	if (fd < 0) {
		run->done = true;
		return;
	}
	mem_close_fd(&run->waits[WAIT_DEADLINE].fd);
	run->waits[WAIT_DEADLINE] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

static void on_signal(struct run *run)
{
	struct signalfd_siginfo info;

	if (read(run->waits[WAIT_SIGNAL].fd, &info, sizeof(info)) != sizeof(info))
		return;
	run->signals++;
	run->last_signal = (int)info.ssi_signo;
	if (run->command.pid == 0 || run->signals > 1) {
		run->done = true;
		return;
	}
	if (interrupt_is_shared((int)info.ssi_signo, info.ssi_code)) {
		if (!run->session.is_on)
			stop_waiting(run);
		return;
	}
	if (run->session.is_on)
		waiting_look(run->session.waiting);
	command_signal(&run->command, (int)info.ssi_signo);
	if (!run->session.is_on)
		stop_waiting(run);
}

static uint64_t lost_so_far(struct run *run)
{
	struct manifest *manifest = run->session.manifest;
	uint64_t lost = 0;

	buffer_read_stats(run->session.instance.dir_fd, manifest);
	for (size_t i = 0; i < manifest->cpu_count; i++)
		lost += manifest->cpus[i].lost + manifest->cpus[i].dropped;
	return lost;
}

/* Time up to the last point of the clock is converted as it will be when all points are there. */
static void call_step(struct run *run)
{
	const struct record_opts *opts = run->opts;
	uint64_t drained_ns, synced_ns = clock_mono_ns();

	if (!run->session.is_on) {
		if (!run->told_end)
			opts->step(opts->step_context, UINT64_MAX);
		run->told_end = true;
		return;
	}
	session_sync(&run->session);
	drained_ns = readers_drained_ns(run->session.readers);
	if (drained_ns > synced_ns)
		drained_ns = synced_ns;
	if (drained_ns > SETTLE_NS)
		opts->step(opts->step_context, drained_ns - SETTLE_NS);
}

static void on_tick(struct run *run)
{
	uint64_t ticks, now_ns = clock_mono_ns();

	if (read(run->waits[WAIT_TICK].fd, &ticks, sizeof(ticks)) < 0)
		return;
	meter_look(&run->session.meter);
	if (run->session.is_on)
		accounts_look(run->session.accounts);
	ladder_look(&run->session);
	if (run->opts->step)
		call_step(run);
	if (run->opts->step || !run->session.is_on)
		return;
	if (!run->opts->budget_ppm)
		waiting_tick(run->session.waiting);
	if (now_ns - run->last_sync_ns >= TICK_NS - TICK_NS / 8) {
		session_sync(&run->session);
		run->last_sync_ns = now_ns;
	}
	if (run->opts->progress)
		run->opts->progress(run->opts->progress_context, session_seconds(&run->session),
				    readers_bytes(run->session.readers), lost_so_far(run));
}

static void on_deadline(struct run *run)
{
	mem_close_fd(&run->waits[WAIT_DEADLINE].fd);
	run->waits[WAIT_DEADLINE].fd = -1;
	if (run->session.is_on)
		stop_early(run, 0);
	else
		run->done = true;
}

static void on_failure(struct run *run)
{
	stop_early(run, readers_failure(run->session.readers));
}

static void on_command_end(struct run *run)
{
	run->session.manifest->target_end_ns = clock_mono_ns();
	run->waits[WAIT_COMMAND].fd = -1;
	run->status = command_reap(&run->command);
	waiting_free(run->session.waiting);
	run->session.waiting = NULL;
	run->session.manifest->target_status = run->status;
	run->done = true;
}

static void (*const handlers[WAIT_PIDS])(struct run *) = {
	[WAIT_SIGNAL] = on_signal,   [WAIT_TICK] = on_tick,	      [WAIT_DEADLINE] = on_deadline,
	[WAIT_FAILURE] = on_failure, [WAIT_COMMAND] = on_command_end,
};

static void on_pid_end(struct run *run, size_t slot)
{
	mem_close_fd(&run->waits[slot].fd);
	run->waits[slot].fd = -1;
	if (--run->pids_left == 0 && run->session.is_on)
		stop_early(run, 0);
}

static void wait_for_end(struct run *run)
{
	while (!run->done) {
		if (poll(run->waits, run->wait_count, -1) < 0)
			continue; /* EINTR; memory comes back */
		for (size_t i = 0; i < run->wait_count && !run->done; i++) {
			if (!run->waits[i].revents || run->waits[i].fd < 0)
				continue;
			if (i < WAIT_PIDS)
				handlers[i](run);
			else
				on_pid_end(run, i);
		}
	}
}

/* A child that waits, and its id in the trace. */
static int fork_command(struct run *run, struct err *err)
{
	struct manifest *manifest = run->session.manifest;
	struct pidns pidns = PIDNS_NONE;
	const struct command_setup setup = {
		.argv = run->opts->argv,
		.as_root = run->opts->as_root,
		.signal_mask = &run->old_mask,
		.pidns = &pidns,
		.environment =
			run->session.user ? user_collect_environment(run->session.user) : NULL,
	};
	int rc = proc_is_outermost() ? 0 : pidns_open(run->session.tracing_dir, &pidns, err);

	if (rc < 0)
		return err_wrap(err, "finding the kernel's process IDs");
	rc = command_fork(&setup, &run->command, err);
	if (rc == 0) {
		bool is_marked = pidns.mark_fd >= 0;

		manifest->target_tid = is_marked ? pidns_find(&pidns) : run->command.pid;
	}
	pidns_close(&pidns);
	return rc;
}

/*
 * All is set up: what is left is to wait, to pass on signals (CAP_KILL), to ask for accounts and to
 * write and hand over the trace, in folders of the user. Not when something follows the recording:
 * that may run programs of the user, which get the rights that they have without us.
 */
static int give_up_rights(struct run *run, struct err *err)
{
	const struct record_opts *opts = run->opts;
	uint64_t kept = GUARD_CAP(CAP_KILL) | GUARD_CAP(CAP_NET_ADMIN) |
			GUARD_CAP(CAP_DAC_OVERRIDE) | GUARD_CAP(CAP_DAC_READ_SEARCH);
	uid_t uid;
	gid_t gid;

	if (geteuid() != 0)
		return 0;
	if (opts->step)
		kept |= GUARD_CAP(CAP_SETPCAP);
	else
		guard_caps_seal();
	if (run->session.names)
		kept |= guard_caps_bpf();
	if (run->session.user || opts->looks_after || proc_is_outermost()) /* see waiting.h */
		kept |= GUARD_CAP(CAP_SYS_PTRACE);
	if (run->session.user || guard_user_ids(&uid, &gid))
		kept |= GUARD_CAP(CAP_CHOWN) | GUARD_CAP(CAP_FOWNER) | GUARD_CAP(CAP_SETUID) |
			GUARD_CAP(CAP_SETGID) | GUARD_CAP(CAP_LEASE);
	return guard_caps_keep(kept, err);
}

static int start_command(struct run *run, struct err *err)
{
	struct manifest *manifest = run->session.manifest;
	int rc = fork_command(run, err);

	if (rc == 0)
		rc = give_up_rights(run, err);
	if (rc < 0)
		return rc;
	manifest->target_start_ns = clock_mono_ns(); /* what a killed recorder leaves */
	rc = session_write(&run->session, err);
	if (rc < 0)
		return rc;
	/* Keys that came before the fork did not reach it; later ones do. */
	rc = interrupt_check(err);
	if (rc < 0)
		return rc;
	manifest->target_start_ns = clock_mono_ns();
	rc = command_go(&run->command, run->opts->argv[0], err);
	if (rc < 0)
		run->status = command_exec_status(rc);
	else
		run->waits[WAIT_COMMAND].fd = run->command.pid_fd;
	return rc;
}

static int check_opts(struct run *run, struct err *err)
{
	const struct record_opts *opts = run->opts;
	int rc;

	if (!opts->dir || !*opts->dir)
		return err_set(err, -EINVAL, "no name for the trace directory");
	if (!(opts->seconds >= 0 && opts->seconds <= SECONDS_MAX))
		return err_set(err, -EINVAL, "the time to record must be between 0 and 1e9 s");
	if (!opts->argv)
		return 0;
	rc = command_find(opts->argv[0], err);
	if (rc < 0)
		run->status = command_exec_status(rc);
	return rc;
}

static void tell_phase(const struct run *run, const char *what)
{
	if (run->opts->phase)
		run->opts->phase(run->opts->phase_context, what);
}

/* Of a container we know other numbers than the events. */
static void watch_waits(struct run *run)
{
	const struct record_opts *opts = run->opts;
	const int32_t command = run->command.pid;
	const struct waiting_target target = {
		.pids = opts->argv ? &command : opts->pids,
		.count = opts->argv ? 1 : opts->pid_count,
	};

	if (proc_is_outermost())
		run->session.waiting = waiting_new(&target, run->session.directory.kernel_fd);
}

static int record_begin(struct run *run, struct err *err)
{
	int rc = check_opts(run, err);

	if (rc == 0)
		rc = watch_pids(run, err);
	if (rc == 0)
		rc = watch_signals(run, err);
	if (rc == 0)
		rc = session_prepare(&run->session, SESSION_RECORDING, err);
	if (rc == 0)
		rc = session_begin(&run->session, err);
	tell_phase(run, NULL); /* the terminal is the command's now */
	if (rc == 0 && run->opts->begun)
		run->opts->begun(run->opts->begun_context);
	if (rc == 0 && run->opts->argv)
		rc = start_command(run, err);
	else if (rc == 0)
		rc = give_up_rights(run, err);
	if (rc == 0 && !run->opts->argv)
		rc = session_write(&run->session, err);
	if (rc == 0)
		rc = watch_time(run, err);
	if (rc == 0 && run->opts->step)
		readers_follow(run->session.readers);
	if (rc == 0)
		watch_waits(run);
	if (rc == 0)
		run->waits[WAIT_FAILURE].fd = readers_event_fd(run->session.readers);
	run->last_sync_ns = clock_mono_ns();
	return rc;
}

/* kernel/cpuN.calls: what lean events have beside the kernel's buffers. */
static bool is_of_calls(const struct manifest_file *file)
{
	const char *end = strrchr(file->name, '.');

	return end && strcmp(end, ".calls") == 0;
}

/* The trace is whole: count what is in it. */
static void fill_result(struct run *run, struct record_result *result)
{
	struct manifest *manifest = run->session.manifest;

	result->seconds = session_seconds(&run->session);
	result->interrupted = run->signals > 0;
	result->is_cut = run->session.is_cut;
	result->is_given = run->session.is_given;
	result->user_processes = run->session.collected.processes;
	result->user_living = run->session.collected.living;
	result->user_bytes = run->session.collected.bytes;
	result->user_lost = run->session.collected.lost;
	result->user_half_bytes = run->session.collected.half_bytes;
	result->user_unread_bytes = run->session.collected.unread_bytes;
	result->user_is_cut = run->session.collected.is_cut;
	for (size_t i = 0; i < manifest->cpu_count; i++) {
		result->events += manifest->cpus[i].events;
		result->bytes += manifest->cpus[i].bytes;
		result->lost += manifest->cpus[i].lost + manifest->cpus[i].dropped;
	}
	for (size_t i = 0; i < manifest->file_count; i++)
		result->bytes += is_of_calls(&manifest->files[i]) ? manifest->files[i].bytes : 0;
	result->manifest = manifest;
	run->session.manifest = NULL; /* moved to the caller */
}

/*
 * The signal that nothing shall follow: it came before recording began, or one more while it was
 * ended. Keys that ended the command came to us as well: these are no more than that.
 */
static int final_signal(const struct run *run, int rc)
{
	int again = interrupt_pending();

	if (rc == -EINTR)
		return again ? again : run->last_signal;
	if (again && (run->signals || run->status == -1 || !WIFSIGNALED(run->status)))
		return again;
	return 0;
}

/* Give the signal mask back. A signal that asked us to end has done so; it must not kill us now. */
static void restore_signals(const struct run *run)
{
	const struct timespec now = { 0 };
	sigset_t ending, all;

	fill_signals(&ending, &all);
	sigdelset(&all, SIGTTOU);
	while (sigtimedwait(&all, NULL, &now) > 0)
		;
	pthread_sigmask(SIG_SETMASK, &run->old_mask, NULL);
}

static void run_fini(struct run *run)
{
	for (size_t i = 0; i < run->wait_count; i++) {
		if (i != WAIT_FAILURE && i != WAIT_COMMAND)
			mem_close_fd(&run->waits[i].fd);
	}
	command_drop(&run->command);
	session_fini(&run->session);
	free(run->waits);
	restore_signals(run);
}

int record_run(const struct record_opts *opts, struct record_result *out_result, struct err *err)
{
	struct run run = {
		.opts = opts,
		.session = SESSION_NONE,
		.command = COMMAND_NONE,
		.status = -1,
	};
	int rc;

	run.session.opts = opts;
	*out_result = (struct record_result){ .status = -1 };
	pthread_sigmask(SIG_SETMASK, NULL, &run.old_mask);
	rc = record_begin(&run, err);
	if (rc == 0) {
		wait_for_end(&run);
		on_signal(&run); /* keys that ended the command and came to us just now */
		if (run.command.pid == 0)
			tell_phase(&run, "finishing: reading the last events");
		rc = session_end(&run.session, 0, err);
		session_give(&run.session);
	}
	tell_phase(&run, NULL);
	if (rc == 0)
		fill_result(&run, out_result);
	out_result->status = run.status;
	out_result->final_signal = final_signal(&run, rc);
	run_fini(&run);
	return rc;
}

void record_result_fini(struct record_result *result)
{
	if (!result->manifest)
		return;
	manifest_fini(result->manifest);
	free(result->manifest);
	result->manifest = NULL;
}
