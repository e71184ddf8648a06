/* read.c - pick the format of a trace by what is in it. */
#include "read/read.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "read/merge.h"
#include "read/read_int.h"

/* One line per format. The first that matches opens the trace. */
static const struct trace_format *const formats[] = {
	&holdup_dir_format, &ctf_dir_format, &dat_trace_format,
	&perf_data_format,  &text_format, /* last: it looks for lines, in any file */
};

int read_open(const char *path, struct trace **out_trace, struct err *err)
{
	struct stat st;
	int rc;

	if (stat(path, &st) < 0)
		return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (!formats[i]->matches(path))
			continue;
		rc = formats[i]->open(path, out_trace, err);
		return rc < 0 ? err_wrap(err, "opening %s", path) : 0;
	}
	return err_set(err, -EBADMSG, "%s is not a trace of a known format", path);
}

int read_open_growing(const char *path, uint64_t from_ns, uint64_t until_ns,
		      struct trace **out_trace, struct err *err)
{
	int rc = holdup_dir_open_growing(path, from_ns, until_ns, out_trace, err);

	return rc < 0 ? err_wrap(err, "opening %s", path) : 0;
}

void trace_close(struct trace *trace)
{
	if (trace)
		trace->ops->close(trace);
}

struct source *trace_source(struct trace *trace)
{
	return trace->source;
}

const struct facts *trace_facts(const struct trace *trace)
{
	return &trace->facts;
}

void trace_note_damage(struct trace *trace, const char *text)
{
	for (size_t i = 0; i < trace->facts.damage_count; i++) {
		if (strcmp(trace->facts.damage[i], text) == 0)
			return;
	}
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
