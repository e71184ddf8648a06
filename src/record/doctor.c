/*
 * doctor.c - what this kernel, this user and this container can record.
 *
 * One function per check, in the order of the table at the end; a check may add
 * several lines or none. Those that need an instance make one of their own, which
 * is removed again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "guard/filter.h"
#include "proc/proc.h"
#include "record/buffer.h"
#include "record/clock.h"
#include "record/ftrace.h"
#include "record/instance.h"
#include "record/names.h"
#include "record/probe.h"
#include "record/record.h"
#include "record/wait_stacks.h"

#define LITTLE_DISK_BYTES (1024ull << 20)

/* Numbers of linux/capability.h, some newer than the header of an old system. */
#define CAPABILITY_SYS_PTRACE 19
#define CAPABILITY_SYS_ADMIN  21
#define CAPABILITY_PERFMON    38
#define CAPABILITY_BPF	      39

struct visit {
	struct doctor *doctor;
	char *tracing; /* owned; NULL = no tracing directory that may be used */
	int tracing_fd;
	struct instance instance; /* dir_fd -1 = none could be made */
};

/* Events that only make sense together, and what a report lacks without them. */
static const struct event_group {
	const char *name;
	const char *lost;
	enum check_state state; /* when one is missing */
	bool x86_only;
	const char *events[8];
} groups[] = {
	{ "scheduler events",
	  "Nothing is known about threads",
	  CHECK_FATAL,
	  false,
	  { "sched/sched_switch", "sched/sched_waking" } },
	{ "life of threads",
	  "Creation, names and exit of threads are inferred",
	  CHECK_DEGRADED,
	  false,
	  { "sched/sched_wakeup_new", "sched/sched_process_fork", "sched/sched_process_exec",
	    "sched/sched_process_exit", "sched/sched_migrate_task", "task/task_newtask",
	    "task/task_rename" } },
	{ "system calls",
	  "System calls and files of waits are unknown",
	  CHECK_DEGRADED,
	  false,
	  { "raw_syscalls/sys_enter", "raw_syscalls/sys_exit" } },
	{ "page faults",
	  "Waits for memory are inferred",
	  CHECK_DEGRADED,
	  true,
	  { "exceptions/page_fault_user", "exceptions/page_fault_kernel" } },
	{ "interrupts",
	  "Time in interrupts and devices that ended waits are unknown",
	  CHECK_DEGRADED,
	  false,
	  { "irq/irq_handler_entry", "irq/irq_handler_exit", "irq/softirq_entry",
	    "irq/softirq_exit" } },
	{ "interrupt vectors",
	  "Timer ticks and inter-processor interrupts count as interrupted work",
	  CHECK_DEGRADED,
	  true,
	  { "irq_vectors/local_timer_entry", "irq_vectors/reschedule_entry",
	    "irq_vectors/call_function_single_entry" } },
	{ "interrupts between CPUs",
	  "Senders of inter-processor interrupts are unknown",
	  CHECK_DEGRADED,
	  false,
	  { "ipi/ipi_send_cpu" } },
	{ "timers",
	  "Timers that ended waits are unknown",
	  CHECK_DEGRADED,
	  false,
	  { "timer/hrtimer_start", "timer/hrtimer_expire_entry", "timer/hrtimer_expire_exit",
	    "timer/timer_expire_entry", "timer/timer_expire_exit" } },
	{ "signals",
	  "Senders of signals that ended waits are unknown",
	  CHECK_DEGRADED,
	  false,
	  { "signal/signal_generate", "signal/signal_deliver" } },
	{ "work queues",
	  "Kernel work queued by a thread is not followed",
	  CHECK_DEGRADED,
	  false,
	  { "workqueue/workqueue_queue_work", "workqueue/workqueue_execute_start",
	    "workqueue/workqueue_execute_end" } },
	{ "disks",
	  "Waits for disks lack the disk and the request",
	  CHECK_DEGRADED,
	  false,
	  { "block/block_rq_insert", "block/block_rq_issue", "block/block_rq_complete" } },
	{ "network",
	  "Waits for the network lack the device",
	  CHECK_DEGRADED,
	  false,
	  { "net/net_dev_queue", "net/netif_rx", "net/netif_receive_skb" } },
	{ "kernel locks",
	  "Holders of kernel locks are unknown",
	  CHECK_DEGRADED,
	  false,
	  { "lock/contention_begin", "lock/contention_end" } },
};

/* Add a line. The texts are sentences without the last full stop; 'command' may be NULL. */
static struct check *doctor_add_check(struct visit *visit, enum check_state state, const char *name,
				      const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static struct check *doctor_add_check(struct visit *visit, enum check_state state, const char *name,
				      const char *format, ...)
{
	struct doctor *doctor = visit->doctor;
	struct check *check;
	va_list args;
	char *found = NULL;

	va_start(args, format);
	if (vasprintf(&found, format, args) < 0)
		found = xstrdup(format);
	va_end(args);
	doctor->checks =
		vec_room(doctor->checks, doctor->count, &doctor->cap, sizeof(*doctor->checks));
	check = &doctor->checks[doctor->count++];
	*check = (struct check){ .state = state, .name = name, .found = found };
	return check;
}

static void lacks(struct check *check, const char *lost, const char *command)
{
	check->lost = lost ? xstrdup(lost) : NULL;
	check->command = command ? xstrdup(command) : NULL;
}

/* The first line of a file, to be freed; NULL when it cannot be read. */
static char *first_line(const char *path)
{
	char *text = ftrace_read(AT_FDCWD, path, NULL);

	if (text)
		text[strcspn(text, "\n")] = '\0';
	return text;
}

static void check_tracefs(struct visit *visit)
{
	struct err err = { 0 };
	int rc = ftrace_find(&visit->tracing, &err);

	if (rc == 0) {
		visit->tracing_fd = open(visit->tracing, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		doctor_add_check(visit, CHECK_OK, "tracefs", "The tracing directory is %s",
				 visit->tracing);
		return;
	}
	visit->tracing = NULL;
	lacks(doctor_add_check(visit, CHECK_FATAL, "tracefs", "%s", err.text),
	      "Nothing can be recorded",
	      rc == -ENOENT ? "mount -t tracefs nodev /sys/kernel/tracing" : "sudo holdup doctor");
}

static void check_instance(struct visit *visit)
{
	struct err err = { 0 };

	if (!visit->tracing)
		return;
	if (instance_open(visit->tracing, &visit->instance, &err) == 0) {
		doctor_add_check(visit, CHECK_OK, "private buffers",
				 "A private tracing instance can be created");
		return;
	}
	visit->instance = INSTANCE_NONE;
	lacks(doctor_add_check(visit, CHECK_FATAL, "private buffers",
			       "A private tracing instance cannot be created: %s", err.text),
	      "Nothing can be recorded", geteuid() ? "sudo holdup doctor" : NULL);
}

/* Names of the missing events of a group, joined; NULL = none is missing. To be freed. */
static char *missing_events(const struct visit *visit, const struct event_group *group)
{
	char *missing = NULL;

	for (size_t i = 0; i < ARRAY_LEN(group->events) && group->events[i]; i++) {
		AUTO_FREE char *path = xasprintf("events/%s", group->events[i]);
		char *longer;

		if (ftrace_has(visit->tracing_fd, path))
			continue;
		longer = xasprintf("%s%s%s", missing ? missing : "", missing ? ", " : "",
				   strchr(group->events[i], '/') + 1);
		free(missing);
		missing = longer;
	}
	return missing;
}

static bool on_x86(void)
{
	struct utsname name;

	return uname(&name) == 0 && strcmp(name.machine, "x86_64") == 0;
}

static void check_events(struct visit *visit)
{
	bool x86 = on_x86();

	if (visit->tracing_fd < 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
		const struct event_group *group = &groups[i];
		AUTO_FREE char *missing = NULL;

		if (group->x86_only && !x86)
			continue;
		missing = missing_events(visit, group);
		if (missing)
			lacks(doctor_add_check(visit, group->state, group->name,
					       "This kernel does not have %s", missing),
			      group->lost, NULL);
		else
			doctor_add_check(visit, CHECK_OK, group->name,
					 "This kernel has all of these events");
	}
}

static void check_idle(struct visit *visit)
{
	enum idle_switches switches;
	bool runtime;
	struct check *check;

	if (visit->instance.dir_fd < 0)
		return;
	switches = probe_idle_switches(visit->instance.dir_fd);
	if (switches == IDLE_SWITCHES_ALL) {
		doctor_add_check(visit, CHECK_OK, "switches from idle",
				 "This kernel records every switch out of the idle task");
		return;
	}
	runtime = ftrace_has(visit->tracing_fd, "events/sched/sched_stat_runtime");
	check = doctor_add_check(visit, CHECK_DEGRADED, "switches from idle",
				 "This kernel %s some switches out of the idle task; %s",
				 switches == IDLE_SWITCHES_OMITTED
					 ? "omits"
					 : "is too busy to show whether it omits",
				 runtime ? "sched_stat_runtime gives their time"
					 : "and there is no sched_stat_runtime to find their time");
	lacks(check,
	      runtime ? "One more event is recorded; short times after a wake-up may be uncertain"
		      : "Time after a wake-up is uncertain",
	      NULL);
}

static void check_clock(struct visit *visit)
{
	AUTO_FREE char *source =
		first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
	AUTO_FREE char *clocks = NULL;
	const char *clock;

	if (visit->instance.dir_fd < 0)
		return;
	clocks = ftrace_read(visit->instance.dir_fd, "trace_clock", NULL);
	clock = clocks ? clock_choose(clocks, clock_tsc_is_reliable()) : NULL;
	if (!clock)
		lacks(doctor_add_check(
			      visit, CHECK_FATAL, "trace clock",
			      "This kernel has neither of the trace clocks x86-tsc and mono"),
		      "Events cannot be put in order", NULL);
	else if (strcmp(clock, "mono") == 0 && on_x86())
		lacks(doctor_add_check(
			      visit, CHECK_DEGRADED, "trace clock",
			      "The trace clock is mono, because the kernel's clocksource is %s, not "
			      "an invariant TSC",
			      source ? source : "something unknown"),
		      "Each event costs a little more", NULL);
	else
		doctor_add_check(visit, CHECK_OK, "trace clock",
				 "The trace clock is %s; the kernel's clocksource is %s", clock,
				 source ? source : "something unknown");
}

static void check_subbuffers(struct visit *visit)
{
	if (visit->instance.dir_fd < 0)
		return;
	if (ftrace_has(visit->instance.dir_fd, "buffer_subbuf_size_kb"))
		doctor_add_check(visit, CHECK_OK, "sub-buffers",
				 "The size of sub-buffers can be set");
	else
		lacks(doctor_add_check(visit, CHECK_DEGRADED, "sub-buffers",
				       "The size of sub-buffers cannot be set (needs Linux 6.8)"),
		      "Reading the buffers costs a little more", NULL);
}

static void check_bpf(struct visit *visit)
{
	struct err err = { 0 };
	int rc = names_probe(&err);

	if (rc == 0)
		doctor_add_check(visit, CHECK_OK, "names by BPF", "The BPF program loads");
	else if (rc > 0)
		lacks(doctor_add_check(
			      visit, CHECK_DEGRADED, "names by BPF",
			      "The BPF program runs after every system call, because it cannot attach "
			      "to single ones: %s",
			      err.text),
		      "Every system call costs a little more while recording", NULL);
	else
		lacks(doctor_add_check(visit, CHECK_DEGRADED, "names by BPF",
				       "There is no BPF program: %s", err.text),
		      "Files and sockets opened while recording have no names",
		      (rc == -EPERM || rc == -EACCES) && geteuid() ? "sudo holdup doctor" : NULL);
}

static void check_lean(struct visit *visit)
{
	struct err err = { 0 };
	int rc = names_probe_lean(&err);

	if (rc >= 0)
		doctor_add_check(visit, CHECK_OK, "lean events", "The BPF program loads");
	else
		lacks(doctor_add_check(visit, CHECK_DEGRADED, "lean events",
				       "There is no BPF program: %s", err.text),
		      "record --events lean is refused",
		      (rc == -EPERM || rc == -EACCES) && geteuid() ? "sudo holdup doctor" : NULL);
}

static void check_stacks(struct visit *visit)
{
	const char *command = geteuid() ? "sudo holdup doctor" : NULL;
	struct wait_stacks_probed probed;

	wait_stacks_probe(&probed);
	if (!probed.waits.text[0])
		doctor_add_check(visit, CHECK_OK, "stacks of waits",
				 probed.has_work ? "The BPF program runs, at page faults, too"
						 : "The BPF program runs; at page faults it "
						   "knows only the place (before Linux 6.18)");
	else
		lacks(doctor_add_check(visit, CHECK_DEGRADED, "stacks of waits",
				       "Not available: %s", probed.waits.text),
		      "Code of waiting threads is unknown", command);
	if (!probed.samples.text[0])
		doctor_add_check(visit, CHECK_OK, "samples of work", "All CPUs can be sampled");
	else
		lacks(doctor_add_check(visit, CHECK_DEGRADED, "samples of work",
				       "Not available: %s", probed.samples.text),
		      "Code of running threads is unknown", command);
	if (!probed.no_images)
		return;
	lacks(doctor_add_check(visit, CHECK_DEGRADED, "code of programs",
			       "The kernel does not report mapped files: %s", probed.no_images),
	      "Stacks of programs started while recording have no names", command);
}

/* Whether any line has an address. The first ones may be 0: they are per-CPU offsets. */
static bool shows_addresses(FILE *file)
{
	char line[1024];

	while (fgets(line, sizeof(line), file)) {
		if (strtoull(line, NULL, 16) != 0)
			return true;
	}
	return false;
}

static void check_symbols(struct visit *visit)
{
	AUTO_FREE char *restricted = first_line("/proc/sys/kernel/kptr_restrict");
	AUTO_FILE FILE *file = fopen("/proc/kallsyms", "re");

	if (file && shows_addresses(file))
		doctor_add_check(visit, CHECK_OK, "kernel symbols",
				 "/proc/kallsyms shows addresses");
	else
		lacks(doctor_add_check(visit, CHECK_DEGRADED, "kernel symbols",
				       "/proc/kallsyms %s (kernel.kptr_restrict is %s)",
				       file ? "hides the addresses" : "cannot be read",
				       restricted ? restricted : "unknown"),
		      "Timers and kernel work are shown by address, not by function",
		      restricted && restricted[0] == '2' ? "sysctl -w kernel.kptr_restrict=1"
		      : geteuid()			 ? "sudo holdup doctor"
							 : NULL);
}

static void check_processes(struct visit *visit)
{
	AUTO_FREE char *mounts = ftrace_read(AT_FDCWD, "/proc/self/mounts", NULL);
	const char *at = mounts ? strstr(mounts, "hidepid=") : NULL;
	bool hides = at && at[8] != '0' && at[8] != 'o'; /* "0", "off" */
	DIR *dir = opendir("/proc/1/fd");
	int error = errno;

	if (dir) {
		closedir(dir);
		doctor_add_check(visit, CHECK_OK, "other processes",
				 "The open files of other users' processes can be read");
		return;
	}
	lacks(doctor_add_check(visit, CHECK_DEGRADED, "other processes",
			       "The open files of other users' processes cannot be read: %s%s",
			       strerror(error), hides ? " (/proc is mounted with hidepid)" : ""),
	      "Files and sockets opened before recording have no names",
	      geteuid() ? "sudo holdup doctor"
	      : hides	? "mount -o remount,hidepid=0 /proc"
			: NULL);
}

/* Root, the tracing directory by its group, own processes by /proc, or nothing. */
static void check_rung(struct visit *visit)
{
	AUTO_CLOSE int proc = open("/proc/self/syscall", O_RDONLY | O_CLOEXEC);
	char byte;

	if (visit->tracing && geteuid() == 0)
		doctor_add_check(visit, CHECK_OK, "permissions", "Root: all of the above");
	else if (visit->tracing)
		lacks(doctor_add_check(
			      visit, CHECK_DEGRADED, "permissions",
			      "The tracing directory is accessible by its group, without root"),
		      "See the rows above", "sudo holdup doctor");
	else if (proc >= 0 && read(proc, &byte, 1) == 1)
		lacks(doctor_add_check(
			      visit, CHECK_DEGRADED, "permissions",
			      "Own processes only: holdup stuck, and holdup why -p by sampling"),
		      "Wakers, and waits shorter than the sampling interval", "sudo holdup doctor");
	else
		lacks(doctor_add_check(visit, CHECK_DEGRADED, "permissions",
				       "Nothing: /proc hides even waits of own threads"),
		      "Sampling of running threads", "sudo holdup doctor");
}

static void check_delays(struct visit *visit)
{
	AUTO_FREE char *on = first_line("/proc/sys/kernel/task_delayacct");

	if (!on)
		doctor_add_check(
			visit, CHECK_OK, "delay accounting",
			"This kernel has no kernel.task_delayacct; recording does not need it");
	else if (on[0] == '1')
		doctor_add_check(visit, CHECK_OK, "delay accounting",
				 "The kernel's delay accounting is on");
	else
		lacks(doctor_add_check(
			      visit, CHECK_OK, "delay accounting",
			      "The kernel's delay accounting is off; recording does not need it"),
		      NULL, "sysctl -w kernel.task_delayacct=1");
}

static void check_lockdown(struct visit *visit)
{
	AUTO_FREE char *text = first_line("/sys/kernel/security/lockdown");

	if (!text)
		doctor_add_check(visit, CHECK_OK, "lockdown", "The kernel is not locked down");
	else if (strstr(text, "[confidentiality]"))
		lacks(doctor_add_check(visit, CHECK_DEGRADED, "lockdown",
				       "The kernel is locked down for confidentiality"),
		      "The tracing files and BPF programs are refused", NULL);
	else
		doctor_add_check(visit, CHECK_OK, "lockdown",
				 "The kernel's lockdown allows tracing (%s)", text);
}

static void check_perf(struct visit *visit)
{
	AUTO_FREE char *level = first_line("/proc/sys/kernel/perf_event_paranoid");

	doctor_add_check(visit, CHECK_OK, "perf",
			 "kernel.perf_event_paranoid is %s; recording does not need perf",
			 level ? level : "not there");
}

/* What keeps a reader of a hostile trace from the rest of the system; docs/SECURITY.md. */
static void check_filters(struct visit *visit)
{
	uint32_t have = guard_filter_support();

	if (guard_filter_is_wide())
		lacks(doctor_add_check(
			      visit, CHECK_DEGRADED, "filter of readers",
			      "This build has sanitizers, and its filters allow most calls"),
		      "Use this build for tests only, not for traces of others", NULL);
	else if (have & GUARD_FILTER_CALLS)
		doctor_add_check(visit, CHECK_OK, "filter of readers",
				 "Seccomp restricts commands that read traces");
	else
		lacks(doctor_add_check(visit, CHECK_DEGRADED, "filter of readers",
				       "This kernel or sandbox has no seccomp filters"),
		      "A hostile trace that exploits a bug in a reader is not contained", NULL);
	if (have & GUARD_FILTER_FILES)
		doctor_add_check(visit, CHECK_OK, "files of readers",
				 "Landlock restricts where commands that read traces can write");
	else
		lacks(doctor_add_check(visit, CHECK_DEGRADED, "files of readers",
				       "This kernel has no Landlock, or it is switched off"),
		      "Only file permissions restrict where a reader can write", NULL);
}

static void check_container(struct visit *visit)
{
	if (proc_is_outermost())
		doctor_add_check(visit, CHECK_OK, "pid namespace",
				 "Process IDs are those of the initial "
				 "namespace");
	else
		lacks(doctor_add_check(
			      visit, CHECK_DEGRADED, "pid namespace",
			      "This container has its own PID namespace, unlike the recorded events"),
		      "A command started by holdup is found. Other threads have different IDs, "
		      "and open files and command lines at the start are not recorded",
		      "nsenter -t 1 -p -m holdup doctor");
}

static uint64_t effective_capabilities(void)
{
	AUTO_FREE char *text = ftrace_read(AT_FDCWD, "/proc/self/status", NULL);
	const char *at = text ? strstr(text, "\nCapEff:") : NULL;

	return at ? strtoull(at + 8, NULL, 16) : 0;
}

static void check_rights(struct visit *visit)
{
	static const struct {
		unsigned int bit;
		const char *name;
	} wanted[] = {
		{ CAPABILITY_SYS_ADMIN, "CAP_SYS_ADMIN" },
		{ CAPABILITY_SYS_PTRACE, "CAP_SYS_PTRACE" },
		{ CAPABILITY_PERFMON, "CAP_PERFMON" },
		{ CAPABILITY_BPF, "CAP_BPF" },
	};
	uint64_t have = effective_capabilities();
	char missing[128] = "";

	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		size_t used = strlen(missing);

		if (!(have >> wanted[i].bit & 1))
			snprintf(missing + used, sizeof(missing) - used, "%s%s", used ? ", " : "",
				 wanted[i].name);
	}
	if (!missing[0])
		doctor_add_check(visit, CHECK_OK, "rights", "All useful capabilities are present");
	else
		lacks(doctor_add_check(visit, CHECK_DEGRADED, "rights", "Missing capabilities: %s",
				       missing),
		      "Names of files and sockets, and open files of other users' processes",
		      geteuid() ? "sudo holdup doctor" : NULL);
}

static uint64_t meminfo_bytes(const char *text, const char *key)
{
	const char *at = text ? strstr(text, key) : NULL;

	return at ? strtoull(at + strlen(key), NULL, 10) << 10 : 0;
}

static void check_memory(struct visit *visit)
{
	AUTO_FREE char *text = ftrace_read(AT_FDCWD, "/proc/meminfo", NULL);
	uint64_t free_bytes = meminfo_bytes(text, "MemAvailable:");
	uint32_t cpus = (uint32_t)get_nprocs();
	uint64_t need = buffer_default_bytes(meminfo_bytes(text, "MemTotal:"), cpus) * cpus;

	if (free_bytes >= 2 * need)
		doctor_add_check(visit, CHECK_OK, "memory",
				 "%" PRIu64 " MiB are free, the buffers take %" PRIu64 " MiB",
				 free_bytes >> 20, need >> 20);
	else
		lacks(doctor_add_check(visit, CHECK_DEGRADED, "memory",
				       "Only %" PRIu64
				       " MiB are free, and the buffers take %" PRIu64 " MiB",
				       free_bytes >> 20, need >> 20),
		      "Smaller buffers lose events earlier", "holdup record -b 4M");
}

static void check_disk(struct visit *visit)
{
	struct statvfs disk;
	uint64_t bytes;

	if (statvfs(".", &disk) < 0) {
		doctor_add_check(visit, CHECK_OK, "disk space",
				 "The free disk space is unknown: %s", strerror(errno));
		return;
	}
	bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	if (bytes >= LITTLE_DISK_BYTES)
		doctor_add_check(visit, CHECK_OK, "disk space",
				 "%" PRIu64 " MiB are free in this folder", bytes >> 20);
	else
		lacks(doctor_add_check(visit, CHECK_DEGRADED, "disk space",
				       "Only %" PRIu64 " MiB are free in this folder", bytes >> 20),
		      "A busy system fills that within minutes",
		      "holdup record -o /path/with/room");
}

static void (*const checks[])(struct visit *visit) = {
	check_tracefs,	  check_instance, check_events, check_idle,	 check_clock,
	check_subbuffers, check_bpf,	  check_lean,	check_stacks,	 check_symbols,
	check_processes,  check_rung,	  check_rights, check_container, check_lockdown,
	check_filters,	  check_memory,	  check_disk,	check_delays,	 check_perf,
};

void doctor_run(struct doctor *out_doctor)
{
	struct visit visit = { .doctor = out_doctor, .tracing_fd = -1, .instance = INSTANCE_NONE };

	*out_doctor = (struct doctor){ 0 };
	for (size_t i = 0; i < ARRAY_LEN(checks); i++)
		checks[i](&visit);
	instance_close(&visit.instance);
	mem_close_fd(&visit.tracing_fd);
	free(visit.tracing);
}

void doctor_fini(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->count; i++) {
		free(doctor->checks[i].found);
		free(doctor->checks[i].lost);
		free(doctor->checks[i].command);
	}
	free(doctor->checks);
	*doctor = (struct doctor){ 0 };
}
