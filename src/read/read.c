/* read.c - pick the format of a trace by what is in it. */
#include "read/read.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/source.h"
#include "read/call_twins.h"
#include "read/call_width.h"
#include "read/merge.h"
#include "read/read_int.h"
#include "store/file.h"
#include "store/formats.h"

/* One line per format. The first that matches opens the trace. */
static const struct trace_format *const formats[] = {
	&holdup_dir_format, &ctf_dir_format, &dat_trace_format, &perf_data_format,
	&raw_dir_format,    &text_format, /* last: it looks for lines, in any file */
};

static bool has_event_like(const struct formats *known, const char *prefix)
{
	for (size_t i = 0; i < known->count; i++) {
		if (strncmp(known->sections[i].name, prefix, strlen(prefix)) == 0)
			return true;
	}
	return false;
}

/* Where the same call may be told by its name and by its number, one of them counts. */
static void tell_calls_once(struct trace *trace)
{
	struct trace_meaning meaning;

	if (!trace_meaning(trace, &meaning) || !has_event_like(meaning.formats, "syscalls/sys_e") ||
	    !has_event_like(meaning.formats, "raw_syscalls/sys_e"))
		return;
	trace->twins = call_twins_new(trace->source);
	trace->source = trace->twins;
}

/* Only of x86 it is known how 32-bit programs tell themselves. */
static void tell_widths(struct trace *trace)
{
	if (!trace->facts.arch || strcmp(trace->facts.arch, "x86_64") != 0)
		return;
	trace->widths = call_width_new(trace->source, &trace->facts);
	trace->source = trace->widths;
}

int read_open(const char *path, struct trace **out_trace, struct err *err)
{
	AUTO_FREE char *plain = file_plain_path(path);
	int rc = read_check_place(plain, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (!formats[i]->matches(plain))
			continue;
		rc = formats[i]->open(plain, out_trace, err);
		if (rc == -EACCES)
			return err_wrap(err, "opening %s: ask its owner, or use sudo", path);
		if (rc < 0)
			return err_wrap(err, "opening %s", path);
		tell_calls_once(*out_trace);
		tell_widths(*out_trace);
		return 0;
	}
	return read_refuse(plain, err);
}

int read_open_growing(const char *path, uint64_t from_ns, uint64_t until_ns,
		      struct trace **out_trace, struct err *err)
{
	int rc = holdup_dir_open_growing(path, from_ns, until_ns, out_trace, err);

	if (rc < 0)
		return err_wrap(err, "opening %s", path);
	tell_calls_once(*out_trace);
	tell_widths(*out_trace);
	return 0;
}

void trace_close(struct trace *trace)
{
	if (!trace)
		return;
	source_close(trace->widths);
	source_close(trace->twins);
	trace->ops->close(trace);
}

void trace_learn(struct trace *trace, const struct trace *before)
{
	if (trace->widths && before->widths)
		call_width_learn(trace->widths, before->widths);
}

struct source *trace_source(struct trace *trace)
{
	return trace->source;
}

const struct facts *trace_facts(const struct trace *trace)
{
	return &trace->facts;
}

struct stacks *trace_stacks(struct trace *trace)
{
	return trace->facts.stacks;
}

void trace_walk_stacks(struct trace *trace, const struct stack_walker *walker)
{
	if (trace->ops->walk_stacks)
		trace->ops->walk_stacks(trace, walker);
}

void trace_note_damage(struct trace *trace, const char *text)
{
	facts_note_damage(&trace->facts, "%s", text);
}

void trace_set_threads(struct trace *trace, uint32_t count)
{
	merge_set_threads(trace->merge, count);
}

void trace_keep_records(struct trace *trace, bool keep)
{
	trace->keeps_records = keep;
	merge_keep_records(trace->merge, keep, false);
}

bool trace_keeps_records(const struct trace *trace)
{
	return trace->keeps_records;
}

void trace_keep_heads(struct trace *trace)
{
	trace->keeps_records = true;
	merge_keep_records(trace->merge, true, true);
}

bool trace_record(const struct trace *trace, struct trace_record *out_record)
{
	return merge_record(trace->merge, out_record);
}

const struct trace_record *trace_record_of(const struct trace *trace, const struct event *event)
{
	return merge_record_of(trace->merge, event);
}

bool trace_meaning(const struct trace *trace, struct trace_meaning *out_meaning)
{
	if (!trace->ops->meaning)
		return false;
	trace->ops->meaning(trace, out_meaning);
	return true;
}

int trace_find_place(struct trace *trace, uint32_t cpu, uint64_t place, uint64_t *out_ns,
		     struct err *err)
{
	if (!trace->ops->find_place)
		return err_set(err, -ENOENT, "this trace has no records");
	return trace->ops->find_place(trace, cpu, place, out_ns, err);
}
