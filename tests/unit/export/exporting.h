/*
 * exporting.h - a trace in text, through one of the writers, and what it wrote as parsed text.
 *
 *	struct exporting *ex = exporting_of("0 cpu0 switch 0(runnable) 7\n" ...);
 *
 *	ex->told->trace ...		change what the text cannot say
 *	bytes = exported(ex, export_chrome, &count);
 *	exporting_free(ex);
 */
#ifndef EXPORTING_H
#define EXPORTING_H

#include <stdio.h>
#include <unistd.h>

#include <json-c/json.h>

#include "base/mem.h"
#include "export/export.h"
#include "read/merge.h"
#include "read/read_int.h"
#include "store/json_text.h"
#include "told.h"

/* Names that break what does not escape them; the first byte of no UTF-8 stands in the second. */
#define HOSTILE_NAME "a\",;\n\\{\t"
#define BROKEN_NAME  "b\xff\xc3"
#define BROKEN_UTF8  "b\xef\xbf\xbd\xef\xbf\xbd"

struct exporting {
	struct trace trace; /* without records: its source is the text */
	struct told *told;
	struct export_job job;
	char *bytes; /* what was written last */
};

static inline struct exporting *exporting_trace(struct text_trace *text)
{
	static const struct trace_ops ops = { 0 };
	struct exporting *ex = xcalloc(1, sizeof(*ex));
	const struct timeline *tl;

	ex->told = told_trace(text);
	tl = ex->told->tl;
	ex->trace.ops = &ops;
	ex->trace.source = &text->source;
	ex->trace.merge = merge_new(NULL, 0, &ex->trace.facts);
	ex->job = (struct export_job){
		.trace = &ex->trace,
		.facts = &text->facts,
		.timeline = tl,
		.start_ns = tl->origin_ns,
		.end_ns = tl->end_ns,
		.measure = EXPORT_WALL,
	};
	return ex;
}

static inline struct exporting *exporting_of(const char *text)
{
	return exporting_trace(text_trace_of(text));
}

static inline void exporting_free(struct exporting *ex)
{
	source_close(merge_source(ex->trace.merge));
	facts_fini(&ex->trace.facts);
	told_free(ex->told);
	free(ex->bytes);
	free(ex);
}

/* What the writer writes; with a terminator. Lives until the next call. */
static inline const char *exported(struct exporting *ex, export_stream_fn write, size_t *out_bytes)
{
	struct err err = { 0 };
	FILE *out;
	size_t bytes;

	free(ex->bytes);
	ex->bytes = NULL;
	out = open_memstream(&ex->bytes, &bytes);
	assert_non_null(out);
	if (write(&ex->job, out, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(fclose(out), 0);
	if (out_bytes)
		*out_bytes = bytes;
	return ex->bytes;
}

/* Strictly JSON, to the end. json_object_put() it. */
static inline struct json_object *parsed_json(const char *text, size_t bytes)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *object;
	size_t ascii_bytes = 0, bad = 0;
	AUTO_FREE char *ascii = json_text_ascii(text, bytes, &ascii_bytes, &bad);

	if (!ascii)
		fail_msg("byte %zu of %.200s is no UTF-8", bad, text);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	object = json_tokener_parse_ex(tokener, ascii, (int)ascii_bytes + 1);
	if (json_tokener_get_error(tokener) != json_tokener_success)
		fail_msg("%s at byte %zu of %.200s",
			 json_tokener_error_desc(json_tokener_get_error(tokener)),
			 json_tokener_get_parse_end(tokener), text);
	json_tokener_free(tokener);
	return object;
}

static inline const char *json_text(struct json_object *object, const char *key)
{
	struct json_object *value = json_object_object_get(object, key);

	return value ? json_object_get_string(value) : "";
}

static inline int64_t json_number(struct json_object *object, const char *key)
{
	return json_object_get_int64(json_object_object_get(object, key));
}

/* Two threads of one name; one waits in a call, is woken by the other, and stands in a queue. */
static const char *const two_threads = "thread 7 7 1 S same\n"
				       "thread 8 8 1 S same\n"
				       "  0 cpu0 switch 0(runnable) 7\n"
				       " 10 cpu0 enter read 3\n"
				       " 20 cpu0 switch 7(blocked) 8\n"
				       " 50 cpu0 waking 7\n"
				       " 60 cpu0 switch 8(runnable) 7\n"
				       " 70 cpu0 leave read 5\n"
				       " 90 cpu0 switch 7(blocked) 8\n"
				       "100 cpu0 switch 8(blocked) 0\n";

/* Threads 7 and 8 have names that have to be escaped. */
static inline struct exporting *exporting_hostile(void)
{
	struct text_trace *text = text_trace_of(two_threads);

	text->facts.threads[0].comm = HOSTILE_NAME;
	text->facts.threads[1].comm = BROKEN_NAME;
	return exporting_trace(text);
}

#endif
