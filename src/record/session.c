/*
 * session.c - one recording, from the first check to the last byte.
 */
#include "record/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "guard/user.h"
#include "proc/proc.h"
#include "record/accounts.h"
#include "record/apps.h"
#include "record/buffer.h"
#include "record/clock.h"
#include "record/command.h"
#include "record/devices.h"
#include "record/dump.h"
#include "record/ftrace.h"
#include "record/interrupt.h"
#include "record/ladder.h"
#include "record/names.h"
#include "record/probe.h"
#include "record/quotas.h"
#include "record/reader.h"
#include "record/record.h"
#include "record/texts.h"
#include "record/wait_stacks.h"
#include "record/waiting.h"
#include "store/manifest.h"
#include "store/parts.h"

#define CMDLINE_MAX 65536

static int find_tracing(struct session *session, struct err *err)
{
	int rc = ftrace_find(&session->tracing_dir, err);

	if (rc < 0)
		return rc;
	session->tracing_fd = open(session->tracing_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (session->tracing_fd < 0)
		return err_set(err, -errno, "cannot open %s: %s", session->tracing_dir,
			       strerror(errno));
	if (!session->old_rings)
		(void)instance_remove_stale(session->tracing_dir); /* not ours: help, no need */
	return 0;
}

static int choose_events(struct session *session, struct err *err)
{
	return event_set_choose(&session->events, session->tracing_fd, session->opts->events,
				session->manifest, err);
}

static int choose_probes(struct session *session, struct err *err)
{
	const struct record_opts *opts = session->opts;
	struct guard_user user = { 0 };
	bool is_users = !opts->as_root && guard_user_find(&user);
	const struct probes_wish wish = {
		.functions = opts->probes,
		.function_count = opts->probe_count,
		.usdt = opts->usdt,
		.usdt_count = opts->usdt_count,
		.command = opts->argv ? opts->argv[0] : NULL,
		.pids = opts->pids,
		.pid_count = opts->pid_count,
		.user = is_users ? &user : NULL,
	};
	const struct apps_wish apps = { opts->apps, opts->apps_costly };
	int rc =
		probes_choose(&session->probes, session->tracing_fd, &wish, session->manifest, err);

	if (rc == 0)
		rc = apps_choose(&session->probes, session->tracing_fd, &wish, &apps,
				 session->manifest, err);
	guard_user_fini(&user);
	return rc;
}

static int register_probes(struct session *session, struct err *err)
{
	return probes_register(&session->probes, session->tracing_fd, session->instance.path, err);
}

static int check_directory(struct session *session, struct err *err)
{
	return directory_check(session->opts->dir, session->opts->replace, err);
}

static int make_instance(struct session *session, struct err *err)
{
	if (session->old_rings)
		return instance_adopt(session->tracing_dir, session->old_rings, &session->instance,
				      err);
	return instance_open(session->tracing_dir, &session->instance, err);
}

static int set_clock(struct session *session, struct err *err)
{
	AUTO_FREE char *available = ftrace_read(session->instance.dir_fd, "trace_clock", NULL);
	const char *name = clock_choose(available ? available : "", clock_tsc_is_reliable());

	if (!name)
		return err_set(err, -ENOTSUP,
			       "this kernel's trace_clock has neither x86-tsc nor mono, so events "
			       "cannot be ordered with user space");
	session->is_tsc = strcmp(name, "mono") != 0;
	session->manifest->clock = xstrdup(name);
	return ftrace_write(session->instance.dir_fd, "trace_clock", name, err);
}

static int set_options(struct session *session, struct err *err)
{
	int fd = session->instance.dir_fd;

	(void)err;
	/* The newest events are kept, and pages say where older ones are missing. */
	(void)ftrace_write(fd, "options/overwrite", "1", NULL);
	return 0;
}

static int probe_kernel(struct session *session, struct err *err)
{
	(void)err;
	session->manifest->omits_idle_switches =
		probe_idle_switches(session->instance.dir_fd) != IDLE_SWITCHES_ALL;
	if (!session->manifest->omits_idle_switches)
		return 0;
	/* How long a thread has run tells when it came, if its switch was left out. */
	if (ftrace_has(session->tracing_fd, "events/sched/sched_stat_runtime"))
		event_set_add(&session->events, "sched", "sched_stat_runtime");
	else
		manifest_add_missing(session->manifest, "event sched:sched_stat_runtime",
				     "this kernel does not have it, and omits some switches");
	return 0;
}

static int make_buffers(struct session *session, struct err *err)
{
	return buffer_prepare(session->instance.dir_fd, session->opts->buffer_bytes,
			      session->manifest, err);
}

static int measure_events(struct session *session, struct err *err)
{
	(void)err;
	event_cost_measure(session->instance.dir_fd, &session->meter.cost);
	return 0;
}

static int begin_budget(struct session *session, struct err *err)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!session->opts->budget_ppm)
		return 0;
	if (!session->meter.cost.others.count)
		return err_set(
			err, -ENOTSUP,
			"what an event costs cannot be measured here, and --budget needs it");
	budget_begin(&session->budget, session->opts->budget_ppm, cpus > 0 ? (uint32_t)cpus : 1,
		     ladder_has_calls(&session->events));
	return 0;
}

/*
 * Names come from switch, fork and exec events and the dump; that the kernel also
 * keeps them costs up to a tenth of the load. But the kernel carries out this
 * instance's option on the events of everybody and then miscounts its users, so it
 * is touched only while nobody has events on.
 */
static void stop_keeping_names(struct session *session)
{
	if (instance_all_idle(session->tracing_fd))
		(void)ftrace_write(session->instance.dir_fd, "trace_options", "norecord-cmd", NULL);
}

static int enable_events(struct session *session, struct err *err)
{
	/* Keeps two recorders from both finding that nobody has events on. */
	bool locked = flock(session->tracing_fd, LOCK_EX | LOCK_NB) == 0;
	int rc;

	if (locked)
		stop_keeping_names(session);
	rc = event_set_enable(&session->events, session->instance.dir_fd, session->manifest, err);
	if (locked)
		(void)flock(session->tracing_fd, LOCK_UN);
	if (rc < 0)
		return rc;
	session->manifest->has_syscalls = event_set_has(&session->events, "raw_syscalls:sys_enter");
	session->manifest->is_lean = session->events.is_lean && !session->manifest->has_syscalls;
	if (session->manifest->is_lean)
		manifest_add_missing(session->manifest, "system calls that did not wait",
				     "lean events; --events full records them");
	if (session->opts->stacks)
		(void)events_enable_stacks(session->instance.dir_fd, session->manifest);
	return probes_enable(&session->probes, session->instance.dir_fd, session->manifest, err);
}

/* The clock that an instance has: "local [x86-tsc] mono". */
static char *clock_of(int instance_fd)
{
	AUTO_FREE char *text = ftrace_read(instance_fd, "trace_clock", NULL);
	const char *at = text ? strchr(text, '[') : NULL;

	return at ? xstrndup(at + 1, strcspn(at + 1, "]\n")) : NULL;
}

/* Rings that somebody else filled: what their events are, and how they are kept. */
static int take_old(struct session *session, struct err *err)
{
	struct manifest *manifest = session->manifest;

	manifest->clock = clock_of(session->instance.dir_fd);
	if (!manifest->clock)
		return err_set(err, -ENOTSUP, "the clock of these rings is not known");
	session->is_tsc = strcmp(manifest->clock, "mono") != 0;
	for (size_t i = 0; i < session->events.count; i++)
		manifest_add_event(manifest, session->events.names[i]);
	manifest->has_syscalls = event_set_has(&session->events, "raw_syscalls:sys_enter");
	manifest->buffer_bytes = session->opts->buffer_bytes;
	return buffer_read_shape(session->instance.dir_fd, manifest, err);
}

static int make_directory(struct session *session, struct err *err)
{
	int rc = directory_open(session->opts->dir, session->opts->replace, &session->directory,
				err);

	if (rc < 0)
		return rc;
	session->sync_fd = openat(session->directory.kernel_fd, "sync",
				  O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (session->sync_fd < 0)
		return err_set(err, -errno, "cannot make kernel/sync: %s", strerror(errno));
	return 0;
}

/* Where programs put their own events. Without it the kernel's are recorded all the same. */
static int make_user(struct session *session, struct err *err)
{
	const struct record_opts *opts = session->opts;
	struct user_wish wish = {
		.dir = session->directory.path,
		.dir_fd = session->directory.dir_fd,
		.events = opts->user,
		.has_command = opts->argv != NULL,
		.pids = opts->pids,
		.pid_count = opts->pid_count,
	};
	struct err why = { 0 };

	(void)err;
	if (opts->no_user || (!opts->argv && !opts->pid_count))
		return 0;
	wish.gives = !opts->as_root && guard_user_ids(&wish.uid, &wish.gid);
	if (user_collect_begin(&wish, &session->user, &why) < 0)
		manifest_add_missing(session->manifest, "user-space events", why.text);
	return 0;
}

static int write_texts(struct session *session, struct err *err)
{
	int rc = texts_write_formats(session->instance.dir_fd, session->directory.kernel_fd,
				     session->manifest, &session->probes, session->opts->stacks,
				     err);

	if (rc == 0)
		rc = texts_write_symbols(session->directory.kernel_fd, session->manifest,
					 &session->dispatch, err);
	return rc;
}

/* "a b c" from words that each end with '\0'. */
static char *join_words(const char *words, size_t bytes)
{
	char *line = xcalloc(bytes + 1, 1);

	memcpy(line, words, bytes);
	while (bytes && !line[bytes - 1])
		bytes--;
	for (size_t i = 0; i < bytes; i++)
		line[i] = line[i] ? line[i] : ' ';
	return line;
}

static char *join_arguments(char *const *argv)
{
	char *line = xstrdup(argv[0]);

	for (size_t i = 1; argv[i] && strlen(line) < CMDLINE_MAX; i++) {
		char *longer = xasprintf("%s %s", line, argv[i]);

		free(line);
		line = longer;
	}
	return line;
}

static int describe(struct session *session, struct err *err)
{
	struct manifest *manifest = session->manifest;
	size_t bytes = 0;
	AUTO_FREE char *words = ftrace_read(AT_FDCWD, "/proc/self/cmdline", &bytes);
	AUTO_FREE char *boot = ftrace_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", NULL);
	struct utsname system;

	(void)err;
	(void)uname(&system); /* fails for bad pointers only */
	manifest->cost.budget_ppm = session->opts->budget_ppm;
	manifest->host = xstrdup(system.nodename);
	manifest->kernel = xstrdup(system.release);
	manifest->arch = xstrdup(system.machine);
	manifest->boot_id = xstrndup(boot ? boot : "", boot ? strcspn(boot, "\n") : 0);
	manifest->recorder = join_words(words ? words : "", bytes < CMDLINE_MAX ? bytes : 0);
	manifest->target_status = -1;
	if (session->opts->argv)
		manifest->target_cmdline = join_arguments(session->opts->argv);
	if (!proc_is_outermost())
		manifest_add_missing(manifest,
				     "threads, open files and command lines before recording began",
				     "this container has its own PID namespace");
	manifest_add_recorder_tid(manifest, gettid());
	if (session->instance.watchdog > 0)
		manifest_add_recorder_tid(manifest, session->instance.watchdog);
	return 0;
}

void session_sync(struct session *session)
{
	struct sync_point point = clock_take(session->is_tsc);

	(void)clock_append(session->sync_fd, &point, NULL); /* the next one may work */
}

static uint32_t version_of(const struct session *session)
{
	if (session->is_packed)
		return MANIFEST_PACKED;
	return session->manifest->step_count ? MANIFEST_STEPPED : MANIFEST_PLAIN;
}

int session_write(struct session *session, struct err *err)
{
	session->manifest->version = version_of(session);
	if (!proc_is_outermost())
		session->manifest->recorder_tid_count = 0; /* ids of another namespace */
	return manifest_write(session->manifest, session->directory.path, err);
}

static int first_sync(struct session *session, struct err *err)
{
	int rc;

	for (size_t i = 0; i < session->earlier_count; i++) {
		rc = clock_append(session->sync_fd, &session->earlier[i], err);
		if (rc < 0)
			return rc;
	}
	session->first_sync = clock_take(session->is_tsc);
	rc = clock_append(session->sync_fd, &session->first_sync, err);
	if (rc == 0 && fdatasync(session->sync_fd) < 0)
		rc = err_set(err, -errno, "cannot write kernel/sync: %s", strerror(errno));
	return rc;
}

/* From here on a killed recorder leaves a directory that says what it is. */
static int write_first(struct session *session, struct err *err)
{
	int rc;

	directory_reserve(&session->directory);
	rc = first_sync(session, err);
	return rc < 0 ? rc : session_write(session, err);
}

/* In this order: what can be wrong is found before anything is made. */
static const struct preparation {
	int (*prepare)(struct session *, struct err *);
	unsigned int parts; /* which of them have it */
	const char *phase;  /* NULL = goes on */
} preparations[] = {
	{ find_tracing, SESSION_RINGS | SESSION_OLD_RINGS, "preparing: the kernel's events" },
	{ choose_events, SESSION_RINGS | SESSION_OLD_RINGS, NULL },
	{ choose_probes, SESSION_RINGS, "preparing: points in programs" },
	{ check_directory, SESSION_DIRECTORY, NULL },
	{ make_instance, SESSION_RINGS | SESSION_OLD_RINGS, "preparing: a tracing instance" },
	{ register_probes, SESSION_RINGS, NULL },
	{ describe, SESSION_RINGS | SESSION_OLD_RINGS, NULL },
	{ set_clock, SESSION_RINGS, NULL },
	{ set_options, SESSION_RINGS, NULL },
	{ probe_kernel, SESSION_RINGS, NULL },
	{ make_buffers, SESSION_RINGS, "preparing: buffers" },
	{ measure_events, SESSION_RINGS, NULL },
	{ enable_events, SESSION_RINGS, "preparing: switching events on" },
	{ begin_budget, SESSION_RINGS, NULL },
	{ take_old, SESSION_OLD_RINGS, NULL },
	{ make_directory, SESSION_DIRECTORY, "preparing: the trace directory" },
	{ write_first, SESSION_DIRECTORY, NULL },
	{ write_texts, SESSION_TEXTS, "preparing: formats and symbols" },
	{ make_user, SESSION_USER, NULL },
};

static void tell_phase(const struct session *session, const char *phase)
{
	if (phase && session->opts->phase)
		session->opts->phase(session->opts->phase_context, phase);
}

int session_prepare(struct session *session, unsigned int parts, struct err *err)
{
	if (!session->manifest)
		session->manifest = xcalloc(1, sizeof(*session->manifest));
	for (size_t i = 0; i < ARRAY_LEN(preparations); i++) {
		int rc;

		if (!(preparations[i].parts & parts))
			continue;
		tell_phase(session, preparations[i].phase);
		rc = preparations[i].prepare(session, err);
		if (rc == 0)
			rc = interrupt_check(err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

void session_note_names(struct session *session)
{
	if (names_tid(session->names) > 0)
		manifest_add_recorder_tid(session->manifest, names_tid(session->names));
	if (names_without_locks(session->names))
		manifest_add_missing(session->manifest, "names and holders of kernel locks",
				     names_without_locks(session->names));
	if (names_without_threads(session->names))
		manifest_add_missing(session->manifest,
				     "what polls watch, and calls from before the recording",
				     names_without_threads(session->names));
	if (names_without_limits(session->names))
		manifest_add_missing(session->manifest, "throttling by cgroup limits",
				     names_without_limits(session->names));
	if (names_holder(session->names) > 0)
		manifest_add_recorder_tid(session->manifest, names_holder(session->names));
}

enum names_of session_names_of(const struct session *session)
{
	if (session->manifest->is_lean)
		return NAMES_OF_WAITS;
	return session->opts->budget_ppm ? NAMES_OF_CALLS_FIRST : NAMES_OF_CALLS;
}

/* Without the program lean events are those of "core": that is not what was asked for. */
static int start_names(struct session *session, struct err *err)
{
	static const char what[] = "names of files and sockets opened while recording";
	bool is_lean = session->manifest->is_lean;
	struct err why = { 0 };
	int rc;

	/* Nobody waits for a descriptor when no call is seen to use one. */
	if (!session->manifest->has_syscalls && !is_lean)
		return 0;
	rc = session->opts->no_bpf ? err_set(&why, -ENOTSUP, "switched off")
				   : names_start(session->directory.path, session->dispatch,
						 session_names_of(session), &session->names, &why);
	if (rc >= 0) {
		session_note_names(session);
		return 0;
	}
	session->names = NULL;
	if (is_lean)
		return err_set(err, rc, "lean events need a BPF program: %s", why.text);
	manifest_add_missing(session->manifest, what, why.text);
	return 0;
}

static void start_stacks(struct session *session)
{
	static const char what[] = "code of running and waiting threads";
	const struct record_opts *opts = session->opts;
	const struct wait_stacks_opts stack_opts = {
		.min_ns = opts->stack_min_ns,
		.is_lean = session->manifest->is_lean,
		.names_later = opts->names_later,
		.sample_hz = opts->sample_hz,
		/* Where nothing is chosen, all are meant. */
		.samples_all = opts->samples_all || (!opts->argv && !opts->pid_count),
		.pids = opts->pids,
		.pid_count = opts->pid_count,
	};
	struct err why = { 0 };

	if (!stack_opts.min_ns && !opts->sample_hz)
		return;
	if (opts->no_bpf) {
		manifest_add_missing(session->manifest, what, "switched off");
		return;
	}
	if (wait_stacks_start(session->directory.kernel_fd, &stack_opts, &session->stacks, &why) <
	    0) {
		session->stacks = NULL;
		manifest_add_missing(session->manifest, what, why.text);
		return;
	}
	manifest_add_recorder_tid(session->manifest, wait_stacks_tid(session->stacks));
}

static void dump_state(struct session *session)
{
	struct err why = { 0 };

	if (dump_write(session->directory.path, session->manifest, &why) < 0)
		manifest_add_missing(session->manifest, "the state before recording began",
				     why.text);
}

static void note_unasked(void *context, int32_t pid, const char *why)
{
	struct session *session = context;
	AUTO_FREE char *what = xasprintf("user-space events of process %d", pid);

	manifest_add_missing(session->manifest, what, why);
}

int session_begin(struct session *session, struct err *err)
{
	int rc;

	tell_phase(session, "preparing: BPF programs");
	/* Each object of BPF programs has libbpf read all types of the kernel. */
	mem_keep_freed(KERNEL_TYPES_BYTES);
	rc = start_names(session, err);
	if (rc == 0)
		start_stacks(session);
	mem_keep_freed(0);
	if (rc == 0)
		rc = interrupt_check(err);
	if (rc == 0)
		meter_begin(&session->meter, NULL);
	if (rc == 0)
		rc = ftrace_write(session->instance.dir_fd, "tracing_on", "1", err);
	if (rc < 0)
		return rc;
	tell_phase(session, "preparing: state dump");
	session->is_on = true;
	session->manifest->begin_ns = clock_mono_ns();
	rc = readers_start(session->instance.dir_fd, session->directory.kernel_fd,
			   session->manifest->page_bytes, session->manifest, &session->readers,
			   err);
	if (rc == 0)
		dump_state(session);
	if (rc == 0)
		names_begin(session->names);
	if (rc == 0)
		session->devices = devices_begin(session->directory.kernel_fd);
	if (rc == 0)
		session->quotas = quotas_begin();
	if (rc == 0)
		session->accounts = accounts_begin(session->directory.kernel_fd, session->manifest);
	if (rc == 0)
		rc = interrupt_check(err);
	if (rc == 0 && session->user)
		user_collect_ask(session->user, note_unasked, session);
	return rc < 0 ? rc : interrupt_check(err);
}

double session_seconds(const struct session *session)
{
	uint64_t end_ns = session->is_on ? clock_mono_ns() : session->manifest->end_ns;

	if (end_ns < session->manifest->begin_ns)
		return 0;
	return (double)(end_ns - session->manifest->begin_ns) / 1e9;
}

/* The files reach to different times after a failure: the trace ends where the first of them does. */
static uint64_t whole_until_ns(const struct session *session)
{
	uint64_t raw = readers_whole_until(session->readers);
	struct sync_point now;
	uint64_t end_ns;

	if (raw == UINT64_MAX)
		return session->manifest->end_ns;
	if (raw < session->first_sync.raw)
		return session->manifest->begin_ns;
	now = clock_take(session->is_tsc);
	end_ns = clock_raw_to_mono(&session->first_sync, &now, raw);
	if (end_ns < session->manifest->begin_ns)
		return session->manifest->begin_ns;
	return end_ns < session->manifest->end_ns ? end_ns : session->manifest->end_ns;
}

static void note_failure(struct session *session, int failure)
{
	AUTO_FREE char *what = NULL, *why = NULL;
	double full_s = session_seconds(session);

	session->manifest->end_ns = whole_until_ns(session);
	what = xasprintf("everything after %.3f s", session_seconds(session));
	if (failure == -ENOSPC || failure == -EDQUOT || failure == -EFBIG)
		why = xasprintf("the disk was full after %.3f s (%s)", full_s, strerror(-failure));
	else
		why = xasprintf("the trace could not be written: %s", strerror(-failure));
	manifest_add_missing(session->manifest, what, why);
	session->is_cut = true;
}

static void stop_names(struct session *session)
{
	uint64_t lost;

	if (!session->names)
		return;
	names_end(session->names);
	lost = names_lost(session->names);
	if (lost) {
		AUTO_FREE char *what =
			xasprintf("%llu names of files and sockets", (unsigned long long)lost);

		manifest_add_missing(session->manifest, what, "the buffer for names was full");
	}
	lost = session->manifest->is_lean || session->manifest->has_lean_steps
		       ? names_lost_calls(session->names)
		       : 0;
	if (lost) {
		AUTO_FREE char *what =
			xasprintf("the system calls of %llu waits", (unsigned long long)lost);

		manifest_add_missing(session->manifest, what, "the buffer for them was full");
	}
}

static void write_stacks(struct session *session)
{
	if (!session->stacks)
		return;
	wait_stacks_write(session->stacks, session->manifest);
	wait_stacks_stop(session->stacks);
	session->stacks = NULL;
}

/* Before it costs anything to end. */
static void tell_budget(struct session *session)
{
	if (!session->budget.begun_ns)
		return;
	ladder_tell(session, session->manifest);
}

int session_end(struct session *session, int failure, struct err *err)
{
	int rc;

	if (session->is_on) {
		meter_bpf_ends(&session->meter);
		if (session->stacks)
			wait_stacks_end(session->stacks);
		if (session->user)
			user_collect_stop(session->user);
		accounts_last(session->accounts);
		(void)ftrace_write(session->instance.dir_fd, "tracing_on", "0", NULL);
		session->manifest->end_ns = clock_mono_ns();
		ladder_count_all(session); /* how close events came, without the time of ending */
		tell_budget(session);
		session->is_on = false;
		quotas_end(session->quotas, session->manifest);
		devices_end(session->devices, session->directory.kernel_fd);
		stop_names(session);
		accounts_end(session->accounts, session->manifest);
		directory_release(&session->directory);
		readers_stop(session->readers, session->manifest);
		if (!failure) /* that may have been a while ago */
			waiting_look_back(session->waiting, session->manifest->end_ns);
		session_sync(session);
		ladder_count_all(session);
		failure = failure ? failure : readers_failure(session->readers);
		if (failure)
			note_failure(session, failure);
		instance_close(&session->instance);
		names_stop(session->names);
		session->names = NULL;
		if (session->user)
			user_collect_end(session->user, &session->collected);
		write_stacks(session);
		parts_note(session->manifest, session->directory.dir_fd);
		meter_end(&session->meter, session->manifest);
		session->manifest->complete = true;
	}
	session->is_ended = true;
	rc = session_write(session, err);
	return rc;
}

void session_give(struct session *session)
{
	uid_t uid;
	gid_t gid;

	if (session->opts->before_giving)
		session->opts->before_giving(session->opts->step_context);
	if (session->opts->as_root || !guard_user_ids(&uid, &gid))
		return;
	directory_give(&session->directory, uid, gid);
	/* In a place of root's the user has it, but can put nothing else under its name. */
	session->is_given = session->opts->is_temporary || !session->directory.is_roots;
}

void session_fini(struct session *session)
{
	waiting_free(session->waiting);
	quotas_free(session->quotas);
	devices_free(session->devices);
	accounts_free(session->accounts);
	user_collect_free(session->user);
	readers_free(session->readers);
	instance_close(&session->instance);
	names_stop(session->names); /* detaching keeps instances from being removed */
	wait_stacks_stop(session->stacks);
	if (!session->is_ended)
		directory_discard(&session->directory);
	directory_close(&session->directory);
	meter_fini(&session->meter);
	mem_close_fd(&session->sync_fd);
	mem_close_fd(&session->tracing_fd);
	event_set_fini(&session->events);
	probes_fini(&session->probes);
	if (session->manifest) {
		manifest_fini(session->manifest);
		free(session->manifest);
	}
	free(session->tracing_dir);
	*session = SESSION_NONE;
}
