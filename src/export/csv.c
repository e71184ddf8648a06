/*
 * csv.c - three tables, as RFC 4180 has it: a row of names, then rows of values; lines end with
 * CR LF; a value with a comma or a quote stands in quotes.
 *
 * Bytes that are no UTF-8, and control characters, become \xNN: who looks at the file with a
 * terminal gets text. A value that a spreadsheet would take for a formula is
 * left as it is: the tables are for programs first.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "export/export.h"
#include "export/table.h"
#include "export/words.h"
#include "report/vocabulary.h"
#include "report/why_reason.h"

enum file {
	FILE_INTERVALS,
	FILE_EDGES,
	FILE_WAITS,
	FILES
};

static const struct {
	const char *name;
	const char *head;
} files[FILES] = {
	[FILE_INTERVALS] = { "intervals.csv",
			     "tid,tgid,comm,start_ns,end_ns,duration_ns,group,state,cpu" },
	[FILE_EDGES] = { "edges.csv",
			 "time_ns,waker_kind,waker_tid,waker_tgid,waker_comm,waker_name,waker_"
			 "state,woken_tid,woken_tgid,woken_comm,waited_ns" },
	[FILE_WAITS] = { "waits.csv",
			 "tid,tgid,comm,start_ns,end_ns,duration_ns,in,object,class,lock,waker_"
			 "kind,waker_tid,waker_comm,waker_name,waker_state,kernel_stack,root_kind,"
			 "root_tid,root_tgid,root_comm,root_what,root_object,root_ns" },
};

struct csv {
	FILE *out[FILES];
	bool any; /* a value stands on the line already */
};

static void csv_put_text(struct csv *csv, FILE *out, const char *text)
{
	AUTO_FREE char *safe = text_escaped(text);

	text = safe;
	if (csv->any)
		(void)fputc(',', out);
	csv->any = true;
	if (text[strcspn(text, ",\"")] == '\0') {
		(void)fputs(text, out);
		return;
	}
	(void)fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			(void)fputc('"', out);
		(void)fputc(*text, out);
	}
	(void)fputc('"', out);
}

static void put_u64(struct csv *csv, FILE *out, uint64_t value)
{
	(void)fprintf(out, "%s%" PRIu64, csv->any ? "," : "", value);
	csv->any = true;
}

static void put_i32(struct csv *csv, FILE *out, int32_t value)
{
	(void)fprintf(out, "%s%" PRId32, csv->any ? "," : "", value);
	csv->any = true;
}

/* tid, tgid, comm; nothing where there is no thread. */
static void csv_put_thread(struct csv *csv, FILE *out, const struct why_thread *who, bool with_tgid)
{
	if (who->tid == 0) {
		csv_put_text(csv, out, "");
		if (with_tgid)
			csv_put_text(csv, out, "");
		csv_put_text(csv, out, "");
		return;
	}
	put_i32(csv, out, who->tid);
	if (with_tgid)
		put_i32(csv, out, who->tgid);
	csv_put_text(csv, out, who->comm);
}

static void end_line(struct csv *csv, FILE *out)
{
	(void)fputs("\r\n", out);
	csv->any = false;
}

static void put_times(struct csv *csv, FILE *out, const struct states_span *span)
{
	put_u64(csv, out, span->start_ns);
	put_u64(csv, out, span->end_ns);
	put_u64(csv, out, span->end_ns - span->start_ns);
}

static void csv_put_interval(void *context, const struct why_thread *who,
			     const struct states_span *span)
{
	struct csv *csv = context;
	FILE *out = csv->out[FILE_INTERVALS];

	csv_put_thread(csv, out, who, true);
	put_times(csv, out, span);
	csv_put_text(csv, out, report_wib_name(span->wib));
	csv_put_text(csv, out, span->state);
	if (span->cpu >= 0)
		put_i32(csv, out, span->cpu);
	else
		csv_put_text(csv, out, "");
	end_line(csv, out);
}

static void csv_put_edge(void *context, const struct table_edge *edge)
{
	struct csv *csv = context;
	FILE *out = csv->out[FILE_EDGES];

	put_u64(csv, out, edge->time_ns);
	csv_put_text(csv, out, why_waker_name(edge->span->wait.waker));
	csv_put_thread(csv, out, &edge->from, true);
	csv_put_text(csv, out, edge->span->wait.waker_name);
	csv_put_text(csv, out, edge->span->wait.waker_state);
	csv_put_thread(csv, out, &edge->to, true);
	put_u64(csv, out, edge->waited_ns);
	end_line(csv, out);
}

static void csv_put_root(struct csv *csv, FILE *out, const struct why_root *root)
{
	static const struct why_root none = { .who = { .comm = "" }, .what = "", .object = "" };
	const struct why_root *put = root ? root : &none;
	AUTO_FREE char *did = report_why_did(put);
	AUTO_FREE char *object = report_why_object(put->object, put->objects);

	csv_put_text(csv, out, root ? why_kind_name(root->kind) : "");
	csv_put_thread(csv, out, &put->who, true);
	csv_put_text(csv, out, did);
	csv_put_text(csv, out, object);
	put_u64(csv, out, put->ns);
}

static void csv_put_wait(void *context, const struct table_wait *row)
{
	struct csv *csv = context;
	FILE *out = csv->out[FILE_WAITS];
	const struct why_wait *wait = &row->span->wait;
	AUTO_FREE char *waker = report_why_named(wait->waker_name, wait->waker_data);

	csv_put_thread(csv, out, &row->who, true);
	put_times(csv, out, row->span);
	csv_put_text(csv, out, wait->in);
	csv_put_text(csv, out, wait->object);
	csv_put_text(csv, out, export_class_name(wait->class));
	csv_put_text(csv, out, row->lock);
	csv_put_text(csv, out, why_waker_name(wait->waker));
	csv_put_thread(csv, out, &wait->woken_by, false);
	csv_put_text(csv, out, waker);
	csv_put_text(csv, out, wait->waker_state);
	csv_put_text(csv, out, wait->stack);
	csv_put_root(csv, out, row->root);
	end_line(csv, out);
}

static bool csv_has_failed(void *context)
{
	const struct csv *csv = context;

	return ferror(csv->out[FILE_INTERVALS]) || ferror(csv->out[FILE_EDGES]) ||
	       ferror(csv->out[FILE_WAITS]);
}

static int open_files(struct csv *csv, const char *path, struct err *err)
{
	for (size_t i = 0; i < FILES; i++) {
		AUTO_FREE char *name = xasprintf("%s/%s", path, files[i].name);

		csv->out[i] = fopen(name, "wex");
		if (!csv->out[i])
			return err_set(err, -errno, "cannot make %s: %s", files[i].name,
				       strerror(errno));
		(void)fprintf(csv->out[i], "%s\r\n", files[i].head);
	}
	return 0;
}

/* Returns what it is given, or the first error of writing. */
static int close_files(struct csv *csv, int rc, struct err *err)
{
	for (size_t i = 0; i < FILES; i++) {
		int failed;

		if (!csv->out[i])
			continue;
		errno = 0;
		failed = fflush(csv->out[i]) != 0 || ferror(csv->out[i]);
		if (failed && rc == 0)
			rc = err_set(err, errno ? -errno : -EIO, "cannot write %s: %s",
				     files[i].name, errno ? strerror(errno) : "an earlier error");
		if (fclose(csv->out[i]) != 0 && rc == 0)
			rc = err_set(err, -errno, "cannot write %s: %s", files[i].name,
				     strerror(errno));
	}
	return rc;
}

int export_csv(struct export_job *job, const char *path, struct err *err)
{
	static const struct table_ops ops = {
		.interval = csv_put_interval,
		.wait = csv_put_wait,
		.edge = csv_put_edge,
		.failed = csv_has_failed,
	};
	struct csv csv = { 0 };
	int rc = open_files(&csv, path, err);

	if (rc == 0)
		rc = table_run(job, &ops, &csv, err);
	return close_files(&csv, rc, err);
}
