/* kernel_lock.c - kinds by flags, functions by tables of their names. */
#include "event/kernel_lock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/facts.h"

const char *kernel_lock_kind(uint32_t flags)
{
	if (flags & KERNEL_LOCK_MUTEX)
		return "kernel mutex";
	if (flags & KERNEL_LOCK_PERCPU)
		return "kernel per-CPU lock";
	if (flags & KERNEL_LOCK_RT)
		return "kernel rt mutex";
	if ((flags & KERNEL_LOCK_SPIN) && (flags & (KERNEL_LOCK_READ | KERNEL_LOCK_WRITE)))
		return "kernel rw spin lock";
	if (flags & (KERNEL_LOCK_READ | KERNEL_LOCK_WRITE))
		return "kernel rw lock";
	if (flags & KERNEL_LOCK_SPIN)
		return "kernel spin lock";
	return "kernel lock";
}

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

bool kernel_lock_is_inside(const char *function)
{
	static const char *const starts[] = {
		"bpf_",	       "__bpf_",     "__traceiter_", "trace_contention", "mutex_lock",
		"__mutex",     "mutex_",     "ww_mutex",     "__ww_mutex",	 "rwsem_",
		"down_",       "__down",     "percpu_",	     "__percpu",	 "rt_mutex",
		"__rt_mutex",  "rtlock_",    "schedule",     "__schedule",	 "io_schedule",
		"_raw_",       "__raw_",     "queued_",	     "native_queued",	 "__pv_queued",
		"do_raw_spin", "perf_trace", "perf_",	     "trace_event",	 "ftrace_",
		"stack_trace", "event_trig", "asm_",	     "__lock_text",	 "preempt_schedule",
	};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		if (begins_with(function, starts[i]))
			return true;
	}
	return strcmp(function, "down") == 0;
}

/* Such a function takes this lock and no other one. rtnl_lock() ends in a jump: then its caller is seen. */
static const struct {
	const char *function;
	const char *lock;
} known[] = {
	{ "rtnl_lock", "rtnl_mutex" },
	{ "rtnl_lock_killable", "rtnl_mutex" },
	{ "rtnl_lock_interruptible", "rtnl_mutex" },
	{ "devinet_ioctl", "rtnl_mutex" },
	{ "rtnetlink_rcv_msg", "rtnl_mutex" },
	{ "linkwatch_event", "rtnl_mutex" },
	{ "register_netdev", "rtnl_mutex" },
	{ "unregister_netdev", "rtnl_mutex" },
	{ "default_device_exit_batch", "rtnl_mutex" },
	{ "cgroup_kn_lock_live", "cgroup_mutex" },
	{ "cgroup_lock_and_drain_offline", "cgroup_mutex" },
	{ "proc_cgroup_show", "cgroup_mutex" },
	{ "proc_cgroupstats_show", "cgroup_mutex" },
	{ "cgroup_attach_lock", "cgroup_threadgroup_rwsem" },
	{ "cgroup_css_set_fork", "cgroup_mutex" },
	{ "cpus_read_lock", "cpu_hotplug_lock" },
	{ "cpus_write_lock", "cpu_hotplug_lock" },
	{ "cpu_maps_update_begin", "cpu_add_remove_lock" },
	{ "console_lock", "console_sem" },
	{ "ksys_sethostname", "uts_sem" },
	{ "__x64_sys_sethostname", "uts_sem" },
	{ "__do_sys_sethostname", "uts_sem" },
};

static const char *known_lock(const char *function)
{
	for (size_t i = 0; function && i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(function, known[i].function) == 0)
			return known[i].lock;
	}
	return NULL;
}

const char *kernel_lock_function(const struct facts *facts, const char *told)
{
	const char *at = strchr(told, '\t');
	char *end;

	while (at && *at) {
		uint64_t address = strtoull(at + 1, &end, 16);
		const char *function = facts_symbol(facts, address);

		/* What is written while it runs, a BPF program for one, has no name there. */
		if (end == at + 1)
			return NULL;
		at = *end ? end : NULL;
		if (!function || begins_with(function, "__stop_") ||
		    kernel_lock_is_inside(function))
			continue;
		return function;
	}
	return NULL;
}

void kernel_lock_text(const struct facts *facts, const char *told, uint32_t flags, uint64_t address,
		      char *out, size_t room)
{
	int length = (int)strcspn(told, "\t");
	const char *kind = kernel_lock_kind(flags), *function, *name;

	if (length && memchr(told, ' ', (size_t)length)) {
		(void)snprintf(out, room, "%.*s", length, told);
		return;
	}
	if (length) {
		(void)snprintf(out, room, "%s %.*s", kind, length, told);
		return;
	}
	function = kernel_lock_function(facts, told);
	name = known_lock(function);
	if (name)
		(void)snprintf(out, room, "%s %s", kind, name);
	else if (address)
		(void)snprintf(out, room, "%s 0x%" PRIx64 "%s%s%s", kind, address,
			       function ? ", taken in " : "", function ? function : "",
			       function ? "()" : "");
	else
		(void)snprintf(out, room, "%s%s%s%s", kind, function ? " taken in " : "",
			       function ? function : "", function ? "()" : "");
}
