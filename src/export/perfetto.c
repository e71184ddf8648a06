/*
 * perfetto.c - a scene as a Perfetto trace.
 *
 * Who runs is told as sched_switch of ftrace, made from the timeline: so it is right also where the
 * kernel leaves switches out, and Perfetto computes states and wakers of threads as it always does.
 * What nobody knows is a thread of its own, UNKNOWN_TID + CPU: "idle" would be a lie. All
 * times are on the trace clock, which is said to be CLOCK_BOOTTIME, what Perfetto takes for
 * granted; one snapshot ties it to CLOCK_REALTIME.
 *
 *	track of                 uuid
 *	a process                LANES         << 32 | main thread's number
 *	a thread, its calls      SCENE_THREAD  << 32 | slot       parent: by pid and tid
 *	its waits, its events    lane          << 32 | slot       parent: the thread's
 *	a CPU's interrupts ...   lane          << 32 | CPU
 *	a counter                COUNTER_LANE + which << 32 | CPU
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "event/comms.h"
#include "event/event.h"
#include "event/facts.h"
#include "export/export.h"
#include "export/perfetto.pb-c.h"
#include "export/perfetto_out.h"
#include "export/perfetto_stacks.h"
#include "export/scene.h"
#include "export/words.h"

#define COUNTER_LANE 16u
#define UNKNOWN_TID  2000000000 /* no kernel gives such a number */
#define BUNDLE	     256u	/* events of ftrace in a packet */
#define TREE	     128u	/* threads in a packet */

#define CLOCK_OF_REAL	   1u
#define CLOCK_OF_MONOTONIC 3u
#define CLOCK_OF_BOOT	   6u

#define TASK_SLEEPS 1 /* as sched_switch has it: S */
#define TASK_DISK   2 /* D */
#define TASK_DEAD   0x10

#define MARK_BEGIN   1
#define MARK_END     2
#define MARK_INSTANT 3
#define MARK_COUNTER 4

#define CLONE_THREAD_FLAG  0x10000u
#define TRACE_FLAG_HARDIRQ 0x08u
#define TRACE_FLAG_SOFTIRQ 0x10u

/* One event of ftrace with room for what it points to. */
struct bundled {
	Holdup__Perfetto__FtraceEvent event;
	Holdup__Perfetto__SchedSwitch sched_switch;
	Holdup__Perfetto__SchedWaking sched_waking;
	Holdup__Perfetto__TaskNewtask task_newtask;
	char comms[2][3 * COMMS_BYTES + 24];
};

struct perfetto {
	struct export_job *job;
	struct perfetto_out *out; /* owned */
	FILE *file;
	struct map shown;  /* tracks that were described */
	int64_t preempted; /* how sched_switch of that kernel says so */

	struct bundled *bundle; /* owned; BUNDLE of them, all of one CPU */
	Holdup__Perfetto__FtraceEvent *bundle_list[BUNDLE];
	size_t bundle_count;
	uint32_t bundle_cpu;
	bool bundle_lost;
};

/* ------------------------------------------------------------------------- tracks */

static uint64_t uuid_of(uint32_t lane, uint32_t id)
{
	return (uint64_t)(lane + 1) << 32 | id;
}

/* True when it has to be described first. */
static bool is_new_track(struct perfetto *perfetto, uint64_t uuid)
{
	bool is_new = false;

	(void)map_add(&perfetto->shown, uuid, &is_new);
	return is_new;
}

static void put_track(struct perfetto *perfetto, Holdup__Perfetto__TrackDescriptor *track,
		      uint64_t uuid, uint64_t parent)
{
	Holdup__Perfetto__TracePacket packet = HOLDUP__PERFETTO__TRACE_PACKET__INIT;

	track->has_uuid = 1;
	track->uuid = uuid;
	track->has_parent_uuid = parent != 0;
	track->parent_uuid = parent;
	packet.track_descriptor = track;
	perfetto_out_begin(perfetto->out);
	perfetto_out_put(perfetto->out, &packet);
}

static void put_named_track(struct perfetto *perfetto, uint64_t uuid, uint64_t parent, char *name)
{
	Holdup__Perfetto__TrackDescriptor track = HOLDUP__PERFETTO__TRACK_DESCRIPTOR__INIT;

	track.name = name;
	put_track(perfetto, &track, uuid, parent);
}

/* The track of a thread's calls; it and its process are described when first used. */
static uint64_t thread_track(struct perfetto *perfetto, uint32_t id)
{
	struct scene_thread thread = scene_thread_of(perfetto->job->timeline, id);
	uint64_t uuid = uuid_of(SCENE_THREAD, id);
	Holdup__Perfetto__TrackDescriptor track = HOLDUP__PERFETTO__TRACK_DESCRIPTOR__INIT;
	Holdup__Perfetto__ThreadDescriptor described = HOLDUP__PERFETTO__THREAD_DESCRIPTOR__INIT;
	AUTO_FREE char *room = NULL;

	if (!is_new_track(perfetto, uuid))
		return uuid;
	described.has_pid = described.has_tid = 1;
	described.pid = thread.tgid;
	described.tid = thread.tid;
	if (*thread.comm)
		described.thread_name =
			(char *)(uintptr_t)export_utf8(thread.comm, SIZE_MAX / 4, &room);
	track.thread = &described;
	put_track(perfetto, &track, uuid, 0);
	return uuid;
}

static uint64_t perfetto_track_of(struct perfetto *perfetto, struct scene_track track)
{
	static const char *const names[SCENE_LANES] = {
		[SCENE_WAITS] = "waits",    [SCENE_USER] = "events",   [SCENE_IRQ] = "interrupts",
		[SCENE_LOST] = "recording", [SCENE_EVENTS] = "events",
	};
	uint64_t uuid = uuid_of(track.lane, track.id), parent = 0;
	AUTO_FREE char *name = NULL;

	if (track.lane == SCENE_THREAD)
		return thread_track(perfetto, track.id);
	if (!is_new_track(perfetto, uuid))
		return uuid;
	if (track.lane == SCENE_WAITS || track.lane == SCENE_USER) {
		parent = thread_track(perfetto, track.id);
		name = xstrdup(names[track.lane]);
	} else {
		name = xasprintf("CPU %u %s", track.id, names[track.lane]);
	}
	put_named_track(perfetto, uuid, parent, name);
	return uuid;
}

static uint64_t counter_track(struct perfetto *perfetto, enum scene_counter counter, uint32_t cpu)
{
	uint64_t uuid = uuid_of(COUNTER_LANE + counter, cpu);
	Holdup__Perfetto__TrackDescriptor track = HOLDUP__PERFETTO__TRACK_DESCRIPTOR__INIT;
	Holdup__Perfetto__CounterDescriptor described = HOLDUP__PERFETTO__COUNTER_DESCRIPTOR__INIT;
	AUTO_FREE char *name = NULL;

	if (!is_new_track(perfetto, uuid))
		return uuid;
	name = counter == SCENE_RUNNABLE ? xasprintf("CPU %u %s", cpu, scene_counter_name(counter))
					 : xstrdup(scene_counter_name(counter));
	track.name = name;
	track.counter = &described;
	put_track(perfetto, &track, uuid, 0);
	return uuid;
}

/* -------------------------------------------------------------------------- marks */

/* What one mark needs; too much for a stack. */
struct notes {
	Holdup__Perfetto__DebugAnnotation notes[SCENE_ARGS];
	Holdup__Perfetto__DebugAnnotation *list[SCENE_ARGS];
	char *rooms[SCENE_ARGS];
};

/* A number of JSON as a number; else the value as it is. */
static void put_json_value(Holdup__Perfetto__DebugAnnotation *note, char *text)
{
	char *end;

	if (text[strspn(text, "0123456789")] == '\0') {
		note->has_uint_value = 1;
		note->uint_value = strtoull(text, NULL, 10);
		return;
	}
	if (text[0] == '-' && text[1 + strspn(text + 1, "0123456789")] == '\0') {
		note->has_int_value = 1;
		note->int_value = strtoll(text, NULL, 10);
		return;
	}
	note->double_value = strtod(text, &end);
	if (*text && *end == '\0')
		note->has_double_value = 1;
	else
		note->legacy_json_value = text;
}

static void put_note(struct perfetto *perfetto, const struct scene_arg *arg,
		     Holdup__Perfetto__DebugAnnotation *note, char **room)
{
	AUTO_FREE char *name_room = NULL;
	char *text = NULL;

	holdup__perfetto__debug_annotation__init(note);
	note->has_name_iid = 1;
	note->name_iid = perfetto_out_name(perfetto->out, PERFETTO_ARGS,
					   export_utf8(arg->name, 1024, &name_room));
	if (arg->text)
		text = (char *)(uintptr_t)export_utf8(arg->text, SIZE_MAX / 4, room);
	if (arg->kind == SCENE_U64) {
		note->has_uint_value = 1;
		note->uint_value = arg->number;
	} else if (arg->kind == SCENE_I64) {
		note->has_int_value = 1;
		note->int_value = (int64_t)arg->number;
	} else if (arg->kind == SCENE_JSON) {
		put_json_value(note, text);
	} else {
		note->string_value = text;
	}
}

static void put_mark(struct perfetto *perfetto, const struct scene_mark *mark, int32_t type)
{
	Holdup__Perfetto__TracePacket packet = HOLDUP__PERFETTO__TRACE_PACKET__INIT;
	Holdup__Perfetto__TrackEvent event = HOLDUP__PERFETTO__TRACK_EVENT__INIT;
	char *category = (char *)(uintptr_t)mark->category;
	uint64_t flow_out = mark->flow_out, flow_in = mark->flow_in;
	AUTO_FREE char *room = NULL, *category_room = NULL;
	struct notes notes = { 0 };

	event.has_track_uuid = 1;
	event.track_uuid = perfetto_track_of(perfetto, mark->track);
	perfetto_out_begin(perfetto->out);
	event.has_type = 1;
	event.type = type;
	if (type != MARK_END) {
		event.has_name_iid = 1;
		event.name_iid = perfetto_out_name(perfetto->out, PERFETTO_EVENTS,
						   export_utf8(mark->name, 1024, &room));
		category = (char *)(uintptr_t)export_utf8(category, 1024, &category_room);
		event.n_categories = 1;
		event.categories = &category;
	}
	for (size_t i = 0; i < mark->arg_count && i < SCENE_ARGS; i++) {
		put_note(perfetto, &mark->args[i], &notes.notes[i], &notes.rooms[i]);
		notes.list[i] = &notes.notes[i];
		event.n_debug_annotations++;
	}
	event.debug_annotations = notes.list;
	event.n_flow_ids = flow_out ? 1 : 0;
	event.flow_ids = &flow_out;
	event.n_terminating_flow_ids = flow_in ? 1 : 0;
	event.terminating_flow_ids = &flow_in;
	packet.has_timestamp = 1;
	packet.timestamp = mark->time_ns;
	packet.track_event = &event;
	perfetto_out_put(perfetto->out, &packet);
	for (size_t i = 0; i < mark->arg_count && i < SCENE_ARGS; i++)
		free(notes.rooms[i]);
}

static void perfetto_put_begin(void *context, const struct scene_mark *mark)
{
	put_mark(context, mark, MARK_BEGIN);
}

static void perfetto_put_end(void *context, const struct scene_mark *mark)
{
	put_mark(context, mark, MARK_END);
}

static void perfetto_put_instant(void *context, const struct scene_mark *mark)
{
	put_mark(context, mark, MARK_INSTANT);
}

static void perfetto_put_counter(void *context, enum scene_counter counter, uint32_t cpu,
				 uint64_t time_ns, uint64_t value)
{
	struct perfetto *perfetto = context;
	Holdup__Perfetto__TracePacket packet = HOLDUP__PERFETTO__TRACE_PACKET__INIT;
	Holdup__Perfetto__TrackEvent event = HOLDUP__PERFETTO__TRACK_EVENT__INIT;

	event.has_track_uuid = 1;
	event.track_uuid = counter_track(perfetto, counter, cpu);
	perfetto_out_begin(perfetto->out);
	event.has_type = 1;
	event.type = MARK_COUNTER;
	event.has_counter_value = 1;
	event.counter_value = (int64_t)value;
	packet.has_timestamp = 1;
	packet.timestamp = time_ns;
	packet.track_event = &event;
	perfetto_out_put(perfetto->out, &packet);
}

/* ------------------------------------------------------------- events of ftrace */

static void flush_bundle(struct perfetto *perfetto)
{
	Holdup__Perfetto__TracePacket packet = HOLDUP__PERFETTO__TRACE_PACKET__INIT;
	Holdup__Perfetto__FtraceEventBundle bundle = HOLDUP__PERFETTO__FTRACE_EVENT_BUNDLE__INIT;

	if (!perfetto->bundle_count)
		return;
	bundle.has_cpu = 1;
	bundle.cpu = perfetto->bundle_cpu;
	bundle.n_event = perfetto->bundle_count;
	bundle.event = perfetto->bundle_list;
	bundle.has_lost_events = perfetto->bundle_lost;
	bundle.lost_events = perfetto->bundle_lost;
	packet.ftrace_events = &bundle;
	perfetto_out_begin(perfetto->out);
	perfetto_out_put(perfetto->out, &packet);
	perfetto->bundle_count = 0;
	perfetto->bundle_lost = false;
}

/* Room for the next event of 'cpu'. */
static struct bundled *next_bundled(struct perfetto *perfetto, uint32_t cpu, uint64_t time_ns)
{
	struct bundled *bundled;

	if (perfetto->bundle_count == BUNDLE || perfetto->bundle_cpu != cpu)
		flush_bundle(perfetto);
	perfetto->bundle_cpu = cpu;
	bundled = &perfetto->bundle[perfetto->bundle_count];
	perfetto->bundle_list[perfetto->bundle_count++] = &bundled->event;
	holdup__perfetto__ftrace_event__init(&bundled->event);
	holdup__perfetto__sched_switch__init(&bundled->sched_switch);
	holdup__perfetto__sched_waking__init(&bundled->sched_waking);
	holdup__perfetto__task_newtask__init(&bundled->task_newtask);
	bundled->event.has_timestamp = bundled->event.has_pid = 1;
	bundled->event.timestamp = time_ns;
	return bundled;
}

static char *perfetto_put_comm(char *to, size_t bytes, const char *comm)
{
	AUTO_FREE char *room = NULL;

	(void)snprintf(to, bytes, "%s", export_utf8(comm, COMMS_BYTES, &room));
	return to;
}

/* The kernel's number and name of who has a CPU. */
static int32_t perfetto_put_who(const struct perfetto *perfetto, uint32_t slot, uint32_t cpu,
				char *to, size_t bytes)
{
	const struct timeline *tl = perfetto->job->timeline;

	if (slot == SLOT_NONE) {
		(void)snprintf(to, bytes, "not known, CPU %u", cpu);
		return UNKNOWN_TID + (int32_t)cpu;
	}
	if (tl->threads[slot]->tid == 0)
		(void)snprintf(to, bytes, "swapper/%u", cpu);
	else
		(void)perfetto_put_comm(to, bytes, timeline_comm(tl, slot));
	return tl->threads[slot]->tid;
}

/* prev_state as sched_switch of the recorded kernel has it. */
static int64_t state_before(const struct perfetto *perfetto, const struct scene_run *run)
{
	const struct timeline *tl = perfetto->job->timeline;

	if (run->before == SLOT_NONE)
		return TASK_SLEEPS;
	if (tl->threads[run->before]->tid == 0)
		return 0;
	switch (word_kind(run->before_word)) {
	case WORD_BLOCKED:
		return run->before_sleeps_hard ? TASK_DISK : TASK_SLEEPS;
	case WORD_PREEMPTED:
		return perfetto->preempted;
	case WORD_NONE:
		return TASK_DEAD;
	case WORD_UNCERTAIN:
		return TASK_SLEEPS;
	default:
		return 0;
	}
}

static void perfetto_put_run(void *context, const struct scene_run *run)
{
	struct perfetto *perfetto = context;
	struct bundled *bundled;
	Holdup__Perfetto__SchedSwitch *change;

	if (run->lost) {
		flush_bundle(perfetto);
		perfetto->bundle_lost = true;
	}
	bundled = next_bundled(perfetto, run->cpu, run->start_ns);
	change = &bundled->sched_switch;
	bundled->event.sched_switch = change;
	change->has_prev_pid = change->has_next_pid = change->has_prev_state = 1;
	change->prev_pid = perfetto_put_who(perfetto, run->before, run->cpu, bundled->comms[0],
					    sizeof(bundled->comms[0]));
	change->next_pid = perfetto_put_who(perfetto, run->slot, run->cpu, bundled->comms[1],
					    sizeof(bundled->comms[1]));
	change->prev_comm = bundled->comms[0];
	change->next_comm = bundled->comms[1];
	change->prev_state = state_before(perfetto, run);
	bundled->event.pid = (uint32_t)change->prev_pid;
}

static void perfetto_put_wake(void *context, const struct scene_wake *wake)
{
	struct perfetto *perfetto = context;
	struct bundled *bundled = next_bundled(perfetto, wake->cpu, wake->time_ns);
	Holdup__Perfetto__SchedWaking *waking = &bundled->sched_waking;

	bundled->event.pid = wake->waker_tid >= 0 ? (uint32_t)wake->waker_tid : 0;
	bundled->event.has_common_flags = 1;
	bundled->event.common_flags = (wake->in_hardirq ? TRACE_FLAG_HARDIRQ : 0) |
				      (wake->in_softirq ? TRACE_FLAG_SOFTIRQ : 0);
	bundled->event.sched_waking = waking;
	waking->comm = perfetto_put_comm(bundled->comms[0], sizeof(bundled->comms[0]), wake->comm);
	waking->has_pid = waking->has_target_cpu = 1;
	waking->pid = wake->tid;
	waking->target_cpu = (int32_t)wake->target;
}

static void put_made(void *context, const struct event *event, uint32_t slot)
{
	struct perfetto *perfetto = context;
	struct bundled *bundled = next_bundled(perfetto, event->cpu, event->time_ns);
	Holdup__Perfetto__TaskNewtask *task = &bundled->task_newtask;
	struct scene_thread thread = { "", event->task.tid, event->task.tid };

	if (slot != SLOT_NONE)
		thread = scene_thread_of(perfetto->job->timeline, slot);
	bundled->event.pid = (uint32_t)event->task.parent_tid;
	bundled->event.task_newtask = task;
	task->comm = perfetto_put_comm(bundled->comms[0], sizeof(bundled->comms[0]),
				       event->task.comm ? event->task.comm : thread.comm);
	task->has_pid = task->has_clone_flags = 1;
	task->pid = event->task.tid;
	task->clone_flags = thread.tid != thread.tgid ? CLONE_THREAD_FLAG : 0;
}

/* --------------------------------------------------------------------------- head */

static void put_clock(struct perfetto *perfetto)
{
	const struct facts *facts = perfetto->job->facts;
	const uint32_t ids[] = { CLOCK_OF_BOOT, CLOCK_OF_MONOTONIC, CLOCK_OF_REAL };
	Holdup__Perfetto__TracePacket packet = HOLDUP__PERFETTO__TRACE_PACKET__INIT;
	Holdup__Perfetto__ClockSnapshot snapshot = HOLDUP__PERFETTO__CLOCK_SNAPSHOT__INIT;
	Holdup__Perfetto__Clock clocks[ARRAY_LEN(ids)], *list[ARRAY_LEN(ids)];

	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		holdup__perfetto__clock__init(&clocks[i]);
		clocks[i].has_clock_id = clocks[i].has_timestamp = 1;
		clocks[i].clock_id = ids[i];
		clocks[i].timestamp = perfetto->job->start_ns;
		list[i] = &clocks[i];
	}
	clocks[2].timestamp += (uint64_t)facts->realtime_offset_ns;
	snapshot.n_clocks = facts->realtime_offset_ns ? 3 : 2;
	snapshot.clocks = list;
	packet.clock_snapshot = &snapshot;
	packet.has_timestamp = 1;
	packet.timestamp = perfetto->job->start_ns;
	perfetto_out_begin(perfetto->out);
	perfetto_out_put(perfetto->out, &packet);
}

/* Perfetto reads prev_state as the kernel of that version has it; without one, as 4.4. */
static void perfetto_put_system(struct perfetto *perfetto)
{
	const struct facts *facts = perfetto->job->facts;
	Holdup__Perfetto__TracePacket packet = HOLDUP__PERFETTO__TRACE_PACKET__INIT;
	Holdup__Perfetto__SystemInfo system = HOLDUP__PERFETTO__SYSTEM_INFO__INIT;
	Holdup__Perfetto__Utsname name = HOLDUP__PERFETTO__UTSNAME__INIT;
	AUTO_FREE char *release = NULL, *machine = NULL;
	unsigned int major = 4, minor = 4;

	perfetto->preempted = 0x800;
	if (!facts->kernel || sscanf(facts->kernel, "%u.%u", &major, &minor) != 2)
		return;
	if (major > 4 || (major == 4 && minor >= 14))
		perfetto->preempted = 0x100;
	else if (major == 4 && minor >= 8)
		perfetto->preempted = 0x1000;
	name.sysname = (char *)(uintptr_t) "Linux";
	name.release = (char *)(uintptr_t)export_utf8(facts->kernel, 256, &release);
	name.machine =
		(char *)(uintptr_t)export_utf8(facts->arch ? facts->arch : "", 256, &machine);
	system.utsname = &name;
	packet.system_info = &system;
	perfetto_out_begin(perfetto->out);
	perfetto_out_put(perfetto->out, &packet);
}

/* Some threads, and of those that lead one the process. */
struct tree {
	Holdup__Perfetto__Process processes[TREE], *process_list[TREE];
	Holdup__Perfetto__Thread threads[TREE], *thread_list[TREE];
	char *rooms[TREE], *command_rooms[TREE], *commands[TREE];
	size_t count, process_count;
};

static void perfetto_add_process(struct tree *tree, const struct timeline *tl,
				 const struct tl_thread *thread)
{
	size_t i = tree->process_count++;
	Holdup__Perfetto__Process *process = &tree->processes[i];
	const char *command = timeline_name(tl, thread->cmdline);
	uint32_t parent = thread->parent;

	holdup__perfetto__process__init(process);
	process->has_pid = 1;
	process->pid = thread->tgid;
	if (parent < tl->thread_count) {
		process->has_ppid = 1;
		process->ppid = tl->threads[parent]->tgid;
	}
	if (!*command)
		command = timeline_name(tl, thread->comm);
	tree->commands[i] = (char *)(uintptr_t)export_utf8(command, 65536, &tree->command_rooms[i]);
	process->n_cmdline = 1;
	process->cmdline = &tree->commands[i];
	tree->process_list[i] = process;
}

static void put_tree(struct perfetto *perfetto, struct tree *tree)
{
	Holdup__Perfetto__TracePacket packet = HOLDUP__PERFETTO__TRACE_PACKET__INIT;
	Holdup__Perfetto__ProcessTree message = HOLDUP__PERFETTO__PROCESS_TREE__INIT;

	message.n_processes = tree->process_count;
	message.processes = tree->process_list;
	message.n_threads = tree->count;
	message.threads = tree->thread_list;
	packet.process_tree = &message;
	packet.has_timestamp = 1;
	packet.timestamp = perfetto->job->start_ns;
	perfetto_out_begin(perfetto->out);
	if (tree->count)
		perfetto_out_put(perfetto->out, &packet);
	for (size_t i = 0; i < TREE; i++) {
		free(tree->rooms[i]);
		free(tree->command_rooms[i]);
	}
	memset(tree, 0, sizeof(*tree));
}

/* Those that lived as the window began; others are made in it. */
static void perfetto_put_threads(struct perfetto *perfetto)
{
	const struct timeline *tl = perfetto->job->timeline;
	struct tree *tree = xcalloc(1, sizeof(*tree));

	for (uint32_t slot = 0; slot < tl->thread_count; slot++) {
		const struct tl_thread *thread = tl->threads[slot];
		Holdup__Perfetto__Thread *described = &tree->threads[tree->count];
		struct scene_thread who = scene_thread_of(tl, slot);

		if (thread->tid <= 0)
			continue;
		holdup__perfetto__thread__init(described);
		described->has_tid = described->has_tgid = 1;
		described->tid = who.tid;
		described->tgid = who.tgid;
		described->name = (char *)(uintptr_t)export_utf8(who.comm, COMMS_BYTES,
								 &tree->rooms[tree->count]);
		if (who.tid == thread->tgid)
			perfetto_add_process(tree, tl, thread);
		tree->thread_list[tree->count++] = described;
		if (tree->count == TREE)
			put_tree(perfetto, tree);
	}
	put_tree(perfetto, tree);
	free(tree);
}

static bool perfetto_has_failed(void *context)
{
	const struct perfetto *perfetto = context;

	return ferror(perfetto->file);
}

int export_perfetto(struct export_job *job, FILE *out, struct err *err)
{
	static const struct scene_ops ops = {
		.run = perfetto_put_run,
		.wake = perfetto_put_wake,
		.made = put_made,
		.begin = perfetto_put_begin,
		.end = perfetto_put_end,
		.instant = perfetto_put_instant,
		.counter = perfetto_put_counter,
		.failed = perfetto_has_failed,
	};
	struct perfetto *perfetto = xcalloc(1, sizeof(*perfetto));
	int rc;

	perfetto->job = job;
	perfetto->bundle = xcalloc(BUNDLE, sizeof(struct bundled));
	perfetto->out = perfetto_out_new(out);
	perfetto->file = out;
	put_clock(perfetto);
	perfetto_put_system(perfetto);
	perfetto_put_threads(perfetto);
	perfetto_stacks_put(job, perfetto->out);
	rc = scene_run(job, &ops, perfetto, err);
	flush_bundle(perfetto);
	perfetto_out_free(perfetto->out);
	map_fini(&perfetto->shown);
	free(perfetto->bundle);
	free(perfetto);
	return rc;
}
