/* scan.c - go through the lines of a text, or through samples of them. */
#include "read/text/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "event/facts.h"
#include "read/text/file.h"
#include "read/text/kinds.h"
#include "read/text/line.h"

#define WHOLE_BYTES  (64u << 20) /* a file is read as a whole up to this */
#define START_BYTES  (16u << 20)
#define END_BYTES    (4u << 20)
#define SAMPLES	     64u
#define SAMPLE_BYTES (256u << 10)
#define MATCH_BYTES  (1u << 20)	 /* an event is to be found so early */
#define PAGE_BYTES   (32u << 20) /* in a page of HTML, which begins with its scripts */
#define BINARY_BYTES 4096u
#define MAX_THREADS  65536u
#define MS_NS	     1000000

struct scan {
	struct text_file file;
	struct text_kinds *kinds;
	struct facts *facts;
	bool is_whole;
	uint64_t events, counters;
	uint64_t max_cpu;
	uint64_t buffered, written; /* of the header */
	uint64_t entries;	    /* lines that it counts, at most */
	bool is_open;		    /* the last line has no end */
	uint64_t lost[TEXT_MAX_CPUS];
	size_t thread_cap;
	struct map threads; /* tid: 1 = listed, 2 = born within the trace */
	bool is_x86, is_arm;
};

static bool text_scan_is_event(const struct text_line *line)
{
	return line->kind >= TEXT_EVENT && line->kind <= TEXT_STACK;
}

static bool is_called(struct text_view name, const char *wanted)
{
	const char *colon = name.bytes ? memrchr(name.at, ':', name.bytes) : NULL;

	if (colon) {
		name.bytes -= (size_t)(colon + 1 - name.at);
		name.at = colon + 1;
	}
	return text_is(name, wanted);
}

static const char *find_text(struct text_view view, const char *wanted)
{
	return view.bytes ? memmem(view.at, view.bytes, wanted, strlen(wanted)) : NULL;
}

/* The number behind 'label'. */
static bool number_behind(struct text_view view, const char *label, uint64_t *out_number)
{
	const char *found = find_text(view, label);

	if (!found)
		return false;
	found += strlen(label);
	view.bytes -= (size_t)(found - view.at);
	view.at = found;
	text_skip_blanks(&view);
	return text_take_number(&view, out_number);
}

/*
 * "# entries-in-buffer/entries-written: 140080/250280   #P:4"; with the option "latency-format",
 * "# latency: 0 us, #140080/250280, CPU#0 | (M:PREEMPT VP:0 #P:4)"; "cpus=4" is trace-cmd's
 */
static void text_scan_take_header(struct scan *scan, struct text_view view)
{
	bool is_latency = text_begins(&view, "# latency: ");
	const char *label = is_latency ? " us, #" : "entries-written:";
	const char *found = find_text(view, label);
	uint64_t cpus;

	if (text_begins(&view, "cpus="))
		scan->facts->tracer = "trace-cmd";
	if (number_behind(view, "#P:", &cpus) && cpus && cpus <= TEXT_MAX_CPUS &&
	    cpus - 1 > scan->max_cpu)
		scan->max_cpu = cpus - 1;
	if (!found || scan->written)
		return;
	view.bytes -= (size_t)(found + strlen(label) - view.at);
	view.at = found + strlen(label);
	text_skip_blanks(&view);
	if (text_take_number(&view, &scan->buffered) && view.bytes && *view.at == '/') {
		view.at++;
		view.bytes--;
		(void)text_take_number(&view, &scan->written);
	}
}

/* Processes are told in a column; who was born within the trace did not live at its start. */
static void text_scan_take_thread(struct scan *scan, const struct text_line *line)
{
	struct facts *facts = scan->facts;
	AUTO_FREE char *comm = NULL;
	uint64_t child, *known;
	bool added;

	if (line->kind == TEXT_EVENT && is_called(line->name, "sched_process_fork") &&
	    number_behind(line->text, "child_pid=", &child))
		(void)map_add(&scan->threads, child, &added);
	if (line->tgid < 0 || line->tid <= 0 || facts->thread_count >= MAX_THREADS)
		return;
	known = map_add(&scan->threads, (uint64_t)line->tid, &added);
	if (!added)
		return;
	*known = 1;
	comm = xstrndup(line->comm.at, line->comm.bytes);
	facts->threads = vec_room(facts->threads, facts->thread_count, &scan->thread_cap,
				  sizeof(*facts->threads));
	facts->threads[facts->thread_count++] = (struct fact_thread){
		.tid = line->tid,
		.tgid = line->tgid,
		.comm = facts_keep(facts, strcmp(comm, "<...>") == 0 ? "" : comm),
		.cmdline = "",
		.cgroup = "",
		.policy = -1,
		.state = '?',
		.seen_ns = line->time_ns,
	};
}

/* Events that only one kind of machine has. */
static void take_machine(struct scan *scan, const struct text_line *line)
{
	if (is_called(line->name, "local_timer_entry") || is_called(line->name, "irq_work_entry") ||
	    is_called(line->name, "reschedule_entry") ||
	    is_called(line->name, "call_function_single_entry") ||
	    is_called(line->name, "write_msr") || is_called(line->name, "x86_fpu_regs_activated"))
		scan->is_x86 = true;
	else if (is_called(line->name, "ipi_entry") || is_called(line->name, "ipi_raise") ||
		 (is_called(line->name, "irq_handler_entry") &&
		  find_text(line->text, "arch_timer")))
		scan->is_arm = true;
}

/* Android: the clock of the wall, in ms. */
static void take_wall_clock(struct scan *scan, const struct text_line *line)
{
	uint64_t ms;

	if (scan->facts->realtime_offset_ns == 0 &&
	    number_behind(line->text, "trace_event_clock_sync: realtime_ts=", &ms) &&
	    ms < INT64_MAX / MS_NS)
		scan->facts->realtime_offset_ns = (int64_t)(ms * MS_NS - line->time_ns);
}

static void scan_take_event(struct scan *scan, const struct text_line *line)
{
	struct facts *facts = scan->facts;

	if (scan->events++ == 0 || line->time_ns < facts->first_ns)
		facts->first_ns = line->time_ns;
	if (line->time_ns > facts->last_ns)
		facts->last_ns = line->time_ns;
	if (line->cpu > scan->max_cpu)
		scan->max_cpu = line->cpu;
	scan->counters += line->is_counter;
	if (!facts->tracer && line->name.bytes && memchr(line->name.at, ':', line->name.bytes))
		facts->tracer = "perf"; /* perf script alone tells of subsystems */
	facts->has_syscalls |= line->kind == TEXT_ENTER || is_called(line->name, "sys_enter") ||
			       find_text(line->name, "sys_enter_") != NULL;
	text_scan_take_thread(scan, line);
	take_machine(scan, line);
	if (is_called(line->name, "tracing_mark_write") || is_called(line->name, "print"))
		take_wall_clock(scan, line);
	text_kinds_add(scan->kinds, line);
	text_kinds_add_symbols(scan->kinds, line);
}

/* A page of HTML ends so, with or without a line break. */
static bool is_page_end(const struct text_piece *piece)
{
	static const char end[] = "</html>";

	return piece->bytes >= strlen(end) &&
	       memcmp(piece->at + piece->bytes - strlen(end), end, strlen(end)) == 0;
}

static void scan_range(struct scan *scan, uint64_t from, uint64_t to)
{
	struct text_piece piece;
	struct text_line line;

	text_file_seek(&scan->file, from);
	while (text_file_next(&scan->file, &piece) && piece.offset < to) {
		text_line_parse(piece.at, piece.bytes, &line);
		scan->is_open = scan->file.passing && !is_page_end(&piece);
		scan->entries += piece.bytes && *piece.at != '#';
		if (piece.is_cut)
			continue;
		if (text_scan_is_event(&line))
			scan_take_event(scan, &line);
		else if (line.kind == TEXT_LOST)
			scan->lost[line.cpu] += line.lost ? line.lost : 1;
		else if (line.kind == TEXT_NOISE && piece.bytes)
			text_scan_take_header(scan, (struct text_view){ piece.at, piece.bytes });
	}
}

static void scan_samples(struct scan *scan)
{
	uint64_t bytes = scan->file.bytes, room = bytes - START_BYTES - END_BYTES;

	scan_range(scan, 0, START_BYTES);
	for (uint32_t i = 0; i < SAMPLES; i++) {
		uint64_t from = START_BYTES + room / SAMPLES * i;

		scan_range(scan, from, from + SAMPLE_BYTES);
	}
	scan_range(scan, bytes - END_BYTES, bytes);
}

static void text_scan_add_missing(struct facts *facts, const char *what, char *why)
{
	facts->missing =
		xrealloc(facts->missing, facts->missing_count + 1, sizeof(*facts->missing));
	facts->missing[facts->missing_count++] =
		(struct fact_missing){ what, facts_take(facts, why) };
}

static void scan_note_missing(struct scan *scan)
{
	struct facts *facts = scan->facts;

	if (scan->written > scan->buffered)
		text_scan_add_missing(
			facts, "events before the first one",
			xasprintf("the kernel's buffer was full: %llu older events were "
				  "overwritten",
				  (unsigned long long)(scan->written - scan->buffered)));
	if (scan->counters)
		text_scan_add_missing(facts, "the unit of times",
				      xstrdup("they are of a counter; one is taken as 1 ns"));
	if (facts->has_syscalls && !scan->is_x86 && !scan->is_arm)
		text_scan_add_missing(
			facts, "the machine",
			xstrdup("text does not name the machine; system calls are named as on x86_64"));
}

/*
 * Whoever prints a text ends its last line, and ftrace counts the entries in front of them: the text
 * was cut where that does not fit. An entry is a line or more.
 */
static void note_cut(struct scan *scan)
{
	if (scan->is_open)
		facts_note_damage(scan->facts, "the last line has no end: the text was cut");
	if (scan->is_whole && scan->buffered > scan->entries)
		facts_note_damage(
			scan->facts,
			"its header counts %llu entries, but there are %llu lines: the text was "
			"cut",
			(unsigned long long)scan->buffered, (unsigned long long)scan->entries);
}

static void fill_facts(struct scan *scan)
{
	struct facts *facts = scan->facts;

	if (!facts->tracer)
		facts->tracer = "ftrace";
	facts->arch = scan->is_arm && !scan->is_x86 ? "aarch64" : "x86_64";
	facts->cpu_count = scan->max_cpu + 1;
	facts->cpus = xcalloc(facts->cpu_count, sizeof(*facts->cpus));
	facts->cpus[0].bytes = scan->file.bytes;
	for (size_t i = 0; scan->is_whole && i < facts->cpu_count; i++)
		facts->cpus[i].lost = scan->lost[i];
	scan_note_missing(scan);
	note_cut(scan);
}

/* Why the file has no events. */
static int text_scan_say_none(struct text_file *file, struct err *err)
{
	struct text_piece piece;

	text_file_seek(file, 0);
	while (text_file_next(file, &piece)) {
		if (piece.bytes && *piece.at != '#')
			return err_set(err, -EBADMSG,
				       "none of its lines is an event with its time: ftrace prints "
				       "such with the options raw, hex and nocontext-info");
	}
	return err_set(err, -EBADMSG, "there are no events in it");
}

int text_scan(const char *path, struct text_kinds *kinds, struct facts *facts, struct err *err)
{
	struct scan *scan = xcalloc(1, sizeof(*scan));
	int rc;

	scan->kinds = kinds;
	scan->facts = facts;
	rc = text_file_open(&scan->file, path, err);
	if (rc == 0) {
		scan->is_whole = scan->file.bytes <= WHOLE_BYTES;
		if (scan->is_whole)
			scan_range(scan, 0, UINT64_MAX);
		else
			scan_samples(scan);
		if (scan->events)
			fill_facts(scan);
		else
			rc = text_scan_say_none(&scan->file, err);
		text_file_close(&scan->file);
	}
	map_fini(&scan->threads);
	free(scan);
	return rc;
}

/* ------------------------------------------------------------------ matches */

static bool is_binary(const struct text_file *file)
{
	char start[BINARY_BYTES];
	size_t got = file_read_at(file->fd, 0, start, sizeof(start));

	return got == 0 || memchr(start, '\0', got) != NULL;
}

/* An event, or the head of a text of ftrace. */
static bool text_scan_has_event(struct text_file *file)
{
	static const char head[] = "# tracer: ";
	struct text_piece piece;
	struct text_line line;
	uint64_t limit = MATCH_BYTES;

	text_file_seek(file, 0);
	while (text_file_next(file, &piece) && piece.offset < limit) {
		if (piece.offset == 0 && piece.bytes >= strlen(head) &&
		    memcmp(piece.at, head, strlen(head)) == 0)
			return true;
		text_line_parse(piece.at, piece.bytes, &line);
		if (text_scan_is_event(&line) && !piece.is_cut)
			return true;
		if (piece.offset == 0 && piece.bytes && *piece.at == '<')
			limit = PAGE_BYTES;
	}
	return false;
}

bool text_scan_matches(const char *path)
{
	struct text_file file;
	bool found;

	if (text_file_open(&file, path, NULL) < 0)
		return false;
	found = !is_binary(&file) && text_scan_has_event(&file);
	text_file_close(&file);
	return found;
}
