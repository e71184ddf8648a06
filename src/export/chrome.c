/*
 * chrome.c - a scene as Trace Event JSON.
 *
 *	calls of a thread, faults     B E i    pid and tid are the kernel's
 *	waits, events of a thread     b e i    async: a row of their own; id is the lane and tid
 *	wake-ups                      X s f    slices of no length, and an arrow
 *	who runs, interrupts, losses  X B E    tid is the CPU, in processes that do not exist
 *	counters                      C
 *
 * Times are in us with three decimals: exact.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "event/comms.h"
#include "event/facts.h"
#include "export/export.h"
#include "export/scene.h"
#include "export/words.h"

/* Processes that do not exist: no kernel gives such numbers. */
#define PID_CPUS   2000000000
#define PID_IRQ	   2000000001
#define PID_LOST   2000000002
#define PID_EVENTS 2000000003

static const char *const cpu_processes[] = {
	"CPUs: who runs",
	"CPUs: interrupts",
	"CPUs: recording",
	"CPUs: events",
};

#define TEXT_MAX 65536u

struct chrome {
	struct export_job *job;
	FILE *out;
	struct outbuf text; /* of the event at hand */
	struct map named;   /* pid << 32 | tid that has a name; tid -1: the process */
	bool any;
};

struct row {
	int32_t pid, tid;
};

/* ---------------------------------------------------------------------- one event */

static void chrome_put_key(struct chrome *chrome, const char *key)
{
	outbuf_string(&chrome->text, ",\"");
	outbuf_string(&chrome->text, key);
	outbuf_string(&chrome->text, "\":");
}

static void chrome_put_text(struct chrome *chrome, const char *key, const char *text)
{
	chrome_put_key(chrome, key);
	outbuf_json(&chrome->text, text, TEXT_MAX);
}

static void chrome_put_number(struct chrome *chrome, const char *key, int64_t number)
{
	chrome_put_key(chrome, key);
	outbuf_room(&chrome->text);
	chrome->text.at = digits_i64(chrome->text.at, number);
}

static void chrome_put_time(struct chrome *chrome, const char *key, uint64_t ns)
{
	chrome_put_key(chrome, key);
	outbuf_room(&chrome->text);
	chrome->text.at = digits_u64(chrome->text.at, ns / 1000);
	*chrome->text.at++ = '.';
	chrome->text.at = digits_fixed(chrome->text.at, ns % 1000, 3);
}

static void chrome_begin(struct chrome *chrome, char phase, const struct row *row)
{
	outbuf_reset(&chrome->text);
	outbuf_string(&chrome->text, chrome->any ? ",\n" : "\n");
	chrome->any = true;
	outbuf_string(&chrome->text, "{\"ph\":\"");
	outbuf_char(&chrome->text, phase);
	outbuf_char(&chrome->text, '"');
	chrome_put_number(chrome, "pid", row->pid);
	chrome_put_number(chrome, "tid", row->tid);
}

static void chrome_end(struct chrome *chrome)
{
	outbuf_char(&chrome->text, '}');
	/* The stream keeps the error. */
	(void)fwrite(chrome->text.start, 1, outbuf_bytes(&chrome->text), chrome->out);
}

/* -------------------------------------------------------------------------- names */

static void chrome_put_name(struct chrome *chrome, const struct row *row, const char *what,
			    const char *name)
{
	chrome_begin(chrome, 'M', row);
	chrome_put_text(chrome, "name", what);
	outbuf_string(&chrome->text, ",\"args\":{\"name\":");
	outbuf_json(&chrome->text, name, TEXT_MAX);
	outbuf_char(&chrome->text, '}');
	chrome_end(chrome);
}

static bool chrome_is_new(struct chrome *chrome, int32_t pid, int32_t tid)
{
	bool fresh = false;

	(void)map_add(&chrome->named, (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid, &fresh);
	return fresh;
}

static void chrome_name_process(struct chrome *chrome, int32_t pid)
{
	const struct timeline *tl = chrome->job->timeline;
	const struct row row = { pid, pid };
	uint32_t slot;

	if (!chrome_is_new(chrome, pid, -1))
		return;
	slot = timeline_find_thread(tl, pid, UINT64_MAX);
	if (slot != SLOT_NONE)
		chrome_put_name(chrome, &row, "process_name", timeline_comm(tl, slot));
}

/* A row of one of the processes that do not exist. */
static struct row cpu_row(struct chrome *chrome, int32_t pid, uint32_t cpu)
{
	struct row row = { pid, (int32_t)cpu };
	char name[32];

	if (chrome_is_new(chrome, pid, -1))
		chrome_put_name(chrome, &row, "process_name", cpu_processes[pid - PID_CPUS]);
	if (chrome_is_new(chrome, pid, row.tid)) {
		(void)snprintf(name, sizeof(name), "CPU %u", cpu);
		chrome_put_name(chrome, &row, "thread_name", name);
	}
	return row;
}

static struct row chrome_row(struct chrome *chrome, struct scene_track track)
{
	static const int32_t process_of[SCENE_LANES] = {
		[SCENE_IRQ] = PID_IRQ,
		[SCENE_LOST] = PID_LOST,
		[SCENE_EVENTS] = PID_EVENTS,
	};
	struct scene_thread thread;
	struct row row;

	if (process_of[track.lane])
		return cpu_row(chrome, process_of[track.lane], track.id);
	thread = scene_thread_of(chrome->job->timeline, track.id);
	row = (struct row){ thread.tgid, thread.tid };
	chrome_name_process(chrome, row.pid);
	if (chrome_is_new(chrome, row.pid, row.tid) && *thread.comm)
		chrome_put_name(chrome, &row, "thread_name", thread.comm);
	return row;
}

/* -------------------------------------------------------------------------- marks */

static void chrome_put_args(struct chrome *chrome, const struct scene_mark *mark)
{
	if (!mark->arg_count)
		return;
	outbuf_string(&chrome->text, ",\"args\":{");
	for (size_t i = 0; i < mark->arg_count; i++) {
		const struct scene_arg *arg = &mark->args[i];

		if (i)
			outbuf_char(&chrome->text, ',');
		outbuf_json(&chrome->text, arg->name, TEXT_MAX);
		outbuf_char(&chrome->text, ':');
		outbuf_room(&chrome->text);
		if (arg->kind == SCENE_U64)
			chrome->text.at = digits_u64(chrome->text.at, arg->number);
		else if (arg->kind == SCENE_I64)
			chrome->text.at = digits_i64(chrome->text.at, (int64_t)arg->number);
		else if (arg->kind == SCENE_JSON)
			outbuf_string(&chrome->text, arg->text);
		else
			outbuf_json(&chrome->text, arg->text, TEXT_MAX);
	}
	outbuf_char(&chrome->text, '}');
}

static bool is_async(enum scene_lane lane)
{
	return lane == SCENE_WAITS || lane == SCENE_USER;
}

static void chrome_put_side(struct chrome *chrome, const struct scene_mark *mark, bool is_begin)
{
	struct row row = chrome_row(chrome, mark->track);
	bool async = is_async(mark->track.lane);
	char id[32];

	chrome_begin(chrome, (char)(async ? (is_begin ? 'b' : 'e') : (is_begin ? 'B' : 'E')), &row);
	chrome_put_time(chrome, "ts", mark->time_ns);
	chrome_put_text(chrome, "name", mark->name);
	if (async) {
		bool waits = mark->track.lane == SCENE_WAITS;

		chrome_put_text(chrome, "cat", waits ? "waits" : "events");
		(void)snprintf(id, sizeof(id), "%s%d", waits ? "waits" : "events", row.tid);
		chrome_put_text(chrome, "id", id);
	} else {
		chrome_put_text(chrome, "cat", mark->category);
	}
	chrome_put_args(chrome, mark);
	chrome_end(chrome);
}

static void chrome_put_begin(void *context, const struct scene_mark *mark)
{
	chrome_put_side(context, mark, true);
}

static void chrome_put_end(void *context, const struct scene_mark *mark)
{
	chrome_put_side(context, mark, false);
}

/* An end of an arrow binds to the slice around it: here one of no length. */
static void put_flow(struct chrome *chrome, const struct scene_mark *mark, const struct row *row)
{
	bool out = mark->flow_out != 0;

	chrome_begin(chrome, out ? 's' : 'f', row);
	chrome_put_time(chrome, "ts", mark->time_ns);
	chrome_put_text(chrome, "name", "wake-up");
	chrome_put_text(chrome, "cat", "wake-up");
	chrome_put_number(chrome, "id", (int64_t)(out ? mark->flow_out : mark->flow_in));
	if (!out)
		chrome_put_text(chrome, "bp", "e");
	chrome_end(chrome);
}

static void chrome_put_instant(void *context, const struct scene_mark *mark)
{
	struct chrome *chrome = context;
	struct row row = chrome_row(chrome, mark->track);
	bool has_flow = mark->flow_in || mark->flow_out;

	chrome_begin(chrome, has_flow ? 'X' : 'i', &row);
	chrome_put_time(chrome, "ts", mark->time_ns);
	if (has_flow)
		chrome_put_time(chrome, "dur", 0);
	else
		chrome_put_text(chrome, "s", "t");
	chrome_put_text(chrome, "name", mark->name);
	chrome_put_text(chrome, "cat", mark->category);
	chrome_put_args(chrome, mark);
	chrome_end(chrome);
	if (has_flow)
		put_flow(chrome, mark, &row);
}

static void chrome_put_counter(void *context, enum scene_counter counter, uint32_t cpu,
			       uint64_t time_ns, uint64_t value)
{
	struct chrome *chrome = context;
	struct row row = cpu_row(chrome, PID_CPUS, cpu);
	char name[64];

	if (counter == SCENE_RUNNABLE)
		(void)snprintf(name, sizeof(name), "CPU %u %s", cpu, scene_counter_name(counter));
	else
		(void)snprintf(name, sizeof(name), "%s", scene_counter_name(counter));
	chrome_begin(chrome, 'C', &row);
	chrome_put_time(chrome, "ts", time_ns);
	chrome_put_text(chrome, "name", name);
	outbuf_string(&chrome->text, ",\"args\":{\"value\":");
	outbuf_room(&chrome->text);
	chrome->text.at = digits_u64(chrome->text.at, value);
	outbuf_char(&chrome->text, '}');
	chrome_end(chrome);
}

static void chrome_put_run(void *context, const struct scene_run *run)
{
	struct chrome *chrome = context;
	const struct timeline *tl = chrome->job->timeline;
	AUTO_FREE char *name = NULL;
	struct row row;

	if (run->slot != SLOT_NONE && tl->threads[run->slot]->tid == 0)
		return; /* idle: nothing is to be seen */
	row = cpu_row(chrome, PID_CPUS, run->cpu);
	name = run->slot == SLOT_NONE ? xstrdup("not known")
				      : xasprintf("%s[%d]", timeline_comm(tl, run->slot),
						  tl->threads[run->slot]->tid);
	chrome_begin(chrome, 'X', &row);
	chrome_put_time(chrome, "ts", run->start_ns);
	chrome_put_time(chrome, "dur", run->end_ns - run->start_ns);
	chrome_put_text(chrome, "name", name);
	chrome_put_text(chrome, "cat", "sched");
	chrome_end(chrome);
}

/* Wake-ups are arrows already, where they ended a wait. */
static void chrome_put_wake(void *context, const struct scene_wake *wake)
{
	(void)context;
	(void)wake;
}

static bool chrome_has_failed(void *context)
{
	const struct chrome *chrome = context;

	return ferror(chrome->out);
}

static void chrome_put_head(struct chrome *chrome)
{
	const struct facts *facts = chrome->job->facts;

	outbuf_string(&chrome->text,
		      "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"tool\":\"holdup\"");
	chrome_put_text(chrome, "host", facts->host ? facts->host : "");
	chrome_put_text(chrome, "kernel", facts->kernel ? facts->kernel : "");
	chrome_put_text(chrome, "clock", "trace clock, us");
	outbuf_string(&chrome->text, "},\"traceEvents\":[");
	(void)fwrite(chrome->text.start, 1, outbuf_bytes(&chrome->text), chrome->out);
}

int export_chrome(struct export_job *job, FILE *out, struct err *err)
{
	static const struct scene_ops ops = {
		.run = chrome_put_run,
		.wake = chrome_put_wake,
		.begin = chrome_put_begin,
		.end = chrome_put_end,
		.instant = chrome_put_instant,
		.counter = chrome_put_counter,
		.failed = chrome_has_failed,
	};
	struct chrome chrome = { .job = job, .out = out };
	int rc;

	outbuf_to_memory(&chrome.text);
	chrome_put_head(&chrome);
	rc = scene_run(job, &ops, &chrome, err);
	/* The stream keeps the error. When reading failed, it is not closed: nobody takes it for whole. */
	if (rc == 0)
		(void)fputs("\n]}\n", out);
	outbuf_fini(&chrome.text);
	map_fini(&chrome.named);
	return rc;
}
