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

#define RW     (KERNEL_LOCK_READ | KERNEL_LOCK_WRITE)
#define MUTEX  KERNEL_LOCK_MUTEX
#define PERCPU KERNEL_LOCK_PERCPU
#define COUNTS 0u /* a semaphore has no flags */

/*
 * Of the locks of that kind, such a function takes this one and no other: for kernels that tell no names of their
 * variables. rtnl_lock() ends in a jump: then its caller is seen.
 */
static const struct {
	const char *function;
	const char *lock;
	uint32_t kind;
} known[] = {
	{ "rtnl_lock", "rtnl_mutex", MUTEX },
	{ "rtnl_lock_killable", "rtnl_mutex", MUTEX },
	{ "rtnl_lock_interruptible", "rtnl_mutex", MUTEX },
	{ "devinet_ioctl", "rtnl_mutex", MUTEX },
	{ "rtnetlink_rcv_msg", "rtnl_mutex", MUTEX },
	{ "linkwatch_event", "rtnl_mutex", MUTEX },
	{ "register_netdev", "rtnl_mutex", MUTEX },
	{ "unregister_netdev", "rtnl_mutex", MUTEX },
	{ "default_device_exit_batch", "rtnl_mutex", MUTEX },
	{ "copy_net_ns", "pernet_ops_rwsem", RW },
	{ "cleanup_net", "pernet_ops_rwsem", RW },
	{ "genl_lock", "genl_mutex", MUTEX },
	{ "genl_rcv", "cb_lock", RW },
	{ "nf_setsockopt", "nf_sockopt_mutex", MUTEX },
	{ "nf_getsockopt", "nf_sockopt_mutex", MUTEX },
	{ "kobject_uevent_env", "uevent_sock_mutex", MUTEX },
	{ "cgroup_kn_lock_live", "cgroup_mutex", MUTEX },
	{ "cgroup_lock_and_drain_offline", "cgroup_mutex", MUTEX },
	{ "cgroup_css_set_fork", "cgroup_mutex", MUTEX },
	{ "cgroup_can_fork", "cgroup_mutex", MUTEX },
	{ "css_killed_work_fn", "cgroup_mutex", MUTEX },
	{ "css_release_work_fn", "cgroup_mutex", MUTEX },
	{ "proc_cgroup_show", "cgroup_mutex", MUTEX },
	{ "proc_cgroupstats_show", "cgroup_mutex", MUTEX },
	{ "cgroup_attach_lock", "cgroup_threadgroup_rwsem", PERCPU },
	{ "cgroup_procs_write_start", "cgroup_threadgroup_rwsem", PERCPU },
	{ "cgroup_css_set_fork", "cgroup_threadgroup_rwsem", PERCPU },
	{ "cgroup_can_fork", "cgroup_threadgroup_rwsem", PERCPU },
	{ "exit_signals", "cgroup_threadgroup_rwsem", PERCPU },
	{ "begin_new_exec", "cgroup_threadgroup_rwsem", PERCPU },
	{ "freezer_write", "freezer_mutex", MUTEX },
	{ "cpuset_write_resmask", "cpuset_mutex", MUTEX },
	{ "cpus_read_lock", "cpu_hotplug_lock", PERCPU },
	{ "cpus_write_lock", "cpu_hotplug_lock", PERCPU },
	{ "cpu_maps_update_begin", "cpu_add_remove_lock", MUTEX },
	{ "exp_funnel_lock", "rcu_state.exp_mutex", MUTEX },
	{ "synchronize_rcu_expedited", "rcu_state.exp_mutex", MUTEX },
	{ "rcu_barrier", "rcu_state.barrier_mutex", MUTEX },
	{ "membarrier_private_expedited", "membarrier_ipi_mutex", MUTEX },
	{ "namespace_lock", "namespace_sem", RW },
	{ "copy_mnt_ns", "namespace_sem", RW },
	{ "m_start", "namespace_sem", RW },
	{ "tracing_check_open_get_tr", "trace_types_lock", MUTEX },
	{ "event_enable_write", "event_mutex", MUTEX },
	{ "perf_trace_init", "event_mutex", MUTEX },
	{ "perf_trace_destroy", "event_mutex", MUTEX },
	{ "tracepoint_probe_register", "tracepoints_mutex", MUTEX },
	{ "tracepoint_probe_unregister", "tracepoints_mutex", MUTEX },
	{ "uprobe_start_dup_mmap", "dup_mmap_sem", PERCPU },
	{ "register_for_each_vma", "dup_mmap_sem", PERCPU },
	{ "jump_label_lock", "jump_label_mutex", MUTEX },
	{ "static_key_slow_inc", "jump_label_mutex", MUTEX },
	{ "static_key_enable", "jump_label_mutex", MUTEX },
	{ "bpf_check", "bpf_verifier_lock", MUTEX },
	{ "kmem_cache_destroy", "slab_mutex", MUTEX },
	{ "__kmem_cache_create_args", "slab_mutex", MUTEX },
	{ "kmem_cache_create_usercopy", "slab_mutex", MUTEX },
	{ "pcpu_alloc", "pcpu_alloc_mutex", MUTEX },
	{ "pcpu_alloc_noprof", "pcpu_alloc_mutex", MUTEX },
	{ "_vm_unmap_aliases", "vmap_purge_lock", MUTEX },
	{ "tty_open", "tty_mutex", MUTEX },
	{ "ptmx_open", "tty_mutex", MUTEX },
	{ "console_lock", "console_sem", COUNTS },
	{ "ksys_sethostname", "uts_sem", RW },
	{ "__x64_sys_sethostname", "uts_sem", RW },
	{ "__do_sys_sethostname", "uts_sem", RW },
	{ "__x64_sys_newuname", "uts_sem", RW },
	{ "__do_sys_newuname", "uts_sem", RW },
};

/* The compiler may have made a part of a function one of its own: "f.part.0". */
static bool is_function(const char *function, const char *name)
{
	size_t length = strlen(name);

	return strncmp(function, name, length) == 0 &&
	       (function[length] == '\0' || function[length] == '.');
}

static bool is_kind(uint32_t flags, uint32_t kind)
{
	flags &= MUTEX | PERCPU | RW;
	if (flags & (MUTEX | PERCPU))
		flags &= ~(uint32_t)RW;
	return kind ? (flags & kind) != 0 : flags == 0;
}

static const char *known_lock(const char *function, uint32_t flags)
{
	for (size_t i = 0; function && i < sizeof(known) / sizeof(known[0]); i++) {
		if (is_kind(flags, known[i].kind) && is_function(function, known[i].function))
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
	name = known_lock(function, flags);
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
