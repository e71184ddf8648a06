/* ctf_export.c - from the merged events of a trace to streams of CTF. */
#include "export/ctf_export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "export/ctf_layout.h"
#include "export/ctf_state.h"
#include "export/ctf_writer.h"
#include "export/export.h"
#include "read/ctf/native.h"
#include "read/ctf/told.h"
#include "fields/print.h"
#include "read/read.h"
#include "store/formats.h"

/* A kind of event of the trace. */
struct kind {
	struct ctf_layout *layout; /* owned; NULL = it cannot be written */
	const struct format_section *format;
	enum ctf_native native; /* KERNEL or TOLD */
	bool in_user;		/* events of it came from programs */
	bool in_kernel;
};

struct job {
	const struct ctf_choice *choice;
	const struct facts *facts;
	struct trace_meaning meaning;
	struct printer *printer; /* owned */
	struct kind *kinds;	 /* owned; index = number */
	uint32_t kind_count;
	struct ctf_state *state; /* owned */
	struct ctf_writer_setup setup;
	const char *folder;
	struct ctf_writer *kernel;   /* owned; NULL = not begun */
	struct ctf_writer *programs; /* owned; the same */
	uint8_t uuid[2][16];
	int error;
	uint8_t *record; /* owned */
	uint64_t events;
	uint64_t unwritten; /* events without a usable format */
};

/* ------------------------------------------------------------------ kinds */

/* Formats that a reader made have this name, or are of perf's own records. */
static bool is_made(const struct format_section *format)
{
	return strncmp(format->text, "name: event\n", strlen("name: event\n")) == 0 ||
	       strncmp(format->name, "perf/", strlen("perf/")) == 0;
}

static void open_kinds(struct job *job)
{
	const struct formats *formats = job->meaning.formats;

	job->printer = printer_new(&(struct print_setup){
		formats, job->facts, job->meaning.big_endian, job->meaning.long_bytes });
	job->kind_count = printer_id_count(job->printer);
	job->kinds = xcalloc(job->kind_count + 1, sizeof(*job->kinds));
	for (size_t i = 0; i < formats->count; i++) {
		const struct format_section *format = &formats->sections[i];
		const char *id = strstr(format->text, "ID:");
		unsigned long number = id ? strtoul(id + 3, NULL, 10) : 0;
		const struct print_event *event;

		if (!strchr(format->name, '/') || number == 0 || number >= job->kind_count ||
		    job->kinds[number].format)
			continue;
		event = printer_event(job->printer, (uint16_t)number);
		job->kinds[number] = (struct kind){
			.layout = ctf_layout_new(event, job->meaning.big_endian),
			.format = format,
			.native = is_made(format) ? CTF_NATIVE_TOLD : CTF_NATIVE_KERNEL,
		};
	}
}

static void ctf_export_print_event(const struct kind *kind, uint32_t number, enum ctf_native native,
				   enum ctf_stream_kind stream, FILE *out)
{
	AUTO_FREE char *uri =
		xasprintf(CTF_NATIVE_URI "%s&title=%s&text=%s", ctf_native_name(native),
			  kind->format->name, kind->format->text);
	const char *slash = strchr(kind->format->name, '/');

	fputs("event {\n\tname = ", out);
	ctf_print_string(out, slash + 1);
	fprintf(out, ";\n\tid = %u;\n\tstream_id = %u;\n\tmodel.emf.uri = ", number,
		(uint32_t)stream);
	ctf_print_string(out, uri);
	fputs(";\n\tfields := struct {\n", out);
	ctf_layout_print(kind->layout, out);
	if (native == CTF_NATIVE_TOLD)
		fputs(CTF_TOLD_FIELDS, out);
	fputs("\t};\n};\n\n", out);
}

/* A kind that no event had is declared, too: as the kernel's. */
static void ctf_export_print_events(void *context, enum ctf_stream_kind stream, FILE *out)
{
	const struct job *job = context;

	if (stream == CTF_STREAM_NAMES || stream == CTF_STREAM_STATE)
		ctf_state_print(job->state, stream, out);
	for (uint32_t number = 0; number < job->kind_count; number++) {
		const struct kind *kind = &job->kinds[number];

		if (!kind->layout)
			continue;
		if (stream == CTF_STREAM_USER && kind->in_user)
			ctf_export_print_event(kind, number, CTF_NATIVE_USER, stream, out);
		if (stream == CTF_STREAM_KERNEL && (kind->in_kernel || !kind->in_user))
			ctf_export_print_event(kind, number, kind->native, stream, out);
	}
}

/* ------------------------------------------------------------------ events */

static uint32_t record_number(const struct job *job, const struct trace_record *record)
{
	uint16_t number;

	if (record->bytes < CTF_NATIVE_MIN)
		return UINT32_MAX;
	memcpy(&number, record->data, sizeof(number));
	return order_u16(number, order_swaps(job->meaning.big_endian));
}

/* What a reader filled in is written down: whose event it is. */
static void put_tid(const struct job *job, int32_t tid)
{
	uint32_t word = order_u32((uint32_t)tid, order_swaps(job->meaning.big_endian));

	memcpy(job->record + 4, &word, sizeof(word));
}

/* The trace that the event goes to. It is begun with the first one. NULL: it cannot be. */
static struct ctf_writer *writer_for(struct job *job, bool is_user)
{
	struct ctf_writer **writer = is_user ? &job->programs : &job->kernel;
	AUTO_FREE char *path = xasprintf("%s/%s", job->folder, is_user ? "user" : "kernel");

	if (*writer || job->error)
		return *writer;
	if (!job->choice->programs_only && mkdir(path, 0700) < 0 && errno != EEXIST) {
		job->error = -errno;
		return NULL;
	}
	job->setup.uuid = job->uuid[is_user];
	*writer = ctf_writer_new(job->choice->programs_only ? job->folder : path, &job->setup);
	return *writer;
}

/* What its reader told of the event, behind the record of 'bytes'. */
static uint32_t ctf_export_put_told(const struct job *job, const struct event *event,
				    uint32_t bytes)
{
	uint8_t *to = job->record + bytes;
	uint32_t told = ctf_told_put(event, to + 2);
	bool is_big = job->meaning.big_endian;

	to[is_big ? 1 : 0] = (uint8_t)told;
	to[is_big ? 0 : 1] = (uint8_t)(told >> 8);
	return told + 2;
}

static void ctf_export_put_record(struct job *job, const struct event *event,
				  const struct trace_record *record)
{
	bool is_user = event->context & EV_CTX_USER;
	uint32_t number = record_number(job, record), bytes, tail, told = 0;
	struct kind *kind = number < job->kind_count ? &job->kinds[number] : NULL;
	struct ctf_writer *writer = writer_for(job, is_user);

	if (!kind || !kind->layout || !writer) {
		job->unwritten++;
		return;
	}
	bytes = ctf_layout_put(kind->layout, record, job->record, &tail);
	if (is_user || kind->native == CTF_NATIVE_TOLD)
		put_tid(job, event->tid);
	if (!is_user && kind->native == CTF_NATIVE_TOLD)
		told = ctf_export_put_told(job, event, bytes);
	kind->in_user |= is_user;
	kind->in_kernel |= !is_user;
	ctf_writer_put(writer, is_user ? CTF_STREAM_USER : CTF_STREAM_KERNEL, event->cpu,
		       event->time_ns,
		       &(struct ctf_writer_event){ job->record, bytes, tail, told });
	job->events++;
}

static void ctf_export_put_event(struct job *job, const struct trace *trace,
				 const struct event *event)
{
	bool is_user = event->context & EV_CTX_USER;
	struct trace_record record;

	if (job->choice->programs_only && !is_user)
		return;
	if (job->choice->wants && !job->choice->wants(job->choice->context, event))
		return;
	if (!writer_for(job, is_user))
		return;
	if (event->type == EV_LOST) {
		ctf_writer_lost(writer_for(job, is_user),
				is_user ? CTF_STREAM_USER : CTF_STREAM_KERNEL, event->cpu,
				event->time_ns, event->lost.count);
	} else if (event->type == EV_FD_NAME) {
		ctf_state_put_name(job->state, job->kernel, event);
	} else if (trace_record(trace, &record)) {
		ctf_export_put_record(job, event, &record);
	} else {
		job->unwritten++;
	}
}

static int ctf_export_put_events(struct job *job, struct trace *trace, struct err *err)
{
	struct source *source = trace_source(trace);
	const struct event *event;
	int rc;

	trace_keep_records(trace, true);
	rc = source_seek(source, job->choice->from_ns, err);
	while (rc >= 0 && (rc = source_next(source, &event, err)) > 0) {
		if (job->choice->to_ns && event->time_ns >= job->choice->to_ns) {
			rc = 0;
			break;
		}
		ctf_export_put_event(job, trace, event);
		if (job->error) {
			rc = err_set(err, job->error, "cannot make a folder in %s: %s", job->folder,
				     strerror(-job->error));
			break;
		}
	}
	return rc < 0 ? err_wrap(err, "reading the events") : 0;
}

/* ------------------------------------------------------------------ the whole */

/* Two exports are two traces, but the same trace gives the same bytes. */
static void make_uuid(const struct facts *facts, uint8_t *uuid)
{
	uint64_t halves[2] = { facts->first_ns * 0x9e3779b97f4a7c15u ^ facts->last_ns,
			       ((uint64_t)facts->realtime_offset_ns + facts->first_ns) *
				       0xd6e8feb86659fd93u };

	memcpy(uuid, halves, sizeof(halves));
	uuid[6] = (uint8_t)(0x40 | (uuid[6] & 0x0f)); /* RFC 4122: version 4 */
	uuid[8] = (uint8_t)(0x80 | (uuid[8] & 0x3f));
}

static int ctf_export_write_all(struct job *job, struct trace *trace, struct err *err)
{
	int rc;

	if (!job->choice->programs_only && writer_for(job, false))
		ctf_state_put(job->state, job->kernel, job->facts);
	rc = ctf_export_put_events(job, trace, err);
	if (rc == 0 && job->programs)
		rc = ctf_writer_end(job->programs, err);
	if (rc == 0 && job->kernel)
		rc = ctf_writer_end(job->kernel, err);
	if (rc == 0 && job->unwritten)
		rc = err_set(err, -EBADMSG, "%llu events have no format that can be written as CTF",
			     (unsigned long long)job->unwritten);
	return rc;
}

int64_t ctf_export(struct trace *trace, const char *folder, const struct ctf_choice *choice,
		   struct err *err)
{
	struct job job = { .choice = choice,
			   .facts = choice->facts ? choice->facts : trace_facts(trace) };
	int rc;

	if (!trace_meaning(trace, &job.meaning))
		return err_set(err, -ENOTSUP, "the events of this format have no records");
	job.folder = folder;
	job.setup = (struct ctf_writer_setup){ .facts = job.facts,
					       .big_endian = job.meaning.big_endian,
					       .clock = "monotonic",
					       .print_events = ctf_export_print_events,
					       .context = &job,
					       .first_ns = job.facts->first_ns,
					       .last_ns = job.facts->last_ns };
	make_uuid(job.facts, job.uuid[0]);
	make_uuid(job.facts, job.uuid[1]);
	job.uuid[1][15] ^= 1;
	open_kinds(&job);
	job.record = xmalloc(CTF_LAYOUT_MAX_BYTES + 8 + CTF_TOLD_MAX);
	job.state = ctf_state_new(job.kind_count, job.meaning.big_endian);
	rc = job.state ? ctf_export_write_all(&job, trace, err)
		       : err_set(err, -EBADMSG, "there are too many kinds of events");
	for (uint32_t i = 0; i < job.kind_count; i++)
		ctf_layout_free(job.kinds[i].layout);
	ctf_state_free(job.state);
	ctf_writer_free(job.kernel);
	ctf_writer_free(job.programs);
	printer_free(job.printer);
	free(job.kinds);
	free(job.record);
	return rc < 0 ? rc : (int64_t)job.events;
}

int export_ctf(struct export_job *job, const char *path, struct err *err)
{
	const struct ctf_choice everything = { 0 };
	int64_t events;

	if (job->chosen || job->start_ns > job->facts->first_ns ||
	    job->end_ns < job->facts->last_ns)
		return err_set(err, -EINVAL,
			       "CTF is made of a whole trace: cut the part out first (holdup cut)");
	events = ctf_export(job->trace, path, &everything, err);
	return events < 0 ? (int)events : 0;
}
