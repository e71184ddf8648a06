/*
 * fuzz_print.c - print formats compiled and run, and filter expressions over their fields.
 *
 * The input: a line with an expression, kernel/formats, and 128 bytes that serve as a
 * record of each event, whole and cut.
 */
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "event/event.h"
#include "event/facts.h"
#include "fuzz_dir.h"
#include "fields/expr.h"
#include "fields/print.h"
#include "fields/value.h"
#include "store/formats.h"

#define RECORD_BYTES 128

/* Everything that is asked of a record, as text and as JSON. */
static void print_record(const struct value_context *context, const struct print_event *kind,
			 const struct trace_record *record, struct outbuf *out)
{
	struct event event = { .type = EV_OTHER };
	struct value_line line = { .event = &event, .kind = kind, .record = *record };

	line.comm = "0123456789abcdef";
	outbuf_reset(out);
	for (int again = 0; again < 2; again++)
		value_put_event_text(context, &line, out);
	for (uint32_t i = 0; i < kind->field_count; i++) {
		print_field_text(context->printer, &kind->fields[i], record, out);
		print_field_json(context->printer, &kind->fields[i], record, out);
		(void)print_field_words(context->printer, kind, &kind->fields[i], record, out);
	}
}

static void match_record(struct expr *expr, const struct print_event *kind,
			 const struct trace_record *record)
{
	struct event event = { .type = EV_OTHER, .time_ns = 1 };
	struct value_line line = { .event = &event, .kind = kind, .record = *record };

	line.comm = "0123456789abcdef";
	(void)expr_match(expr, &line);
}

static void run_all(const struct formats *formats, bool big_endian, const char *text,
		    const uint8_t *tail)
{
	static const struct facts facts;
	struct print_setup setup = { formats, &facts, big_endian, big_endian ? 4 : 8 };
	struct printer *printer = printer_new(&setup);
	struct value_context context = { printer, &facts, print_memory_new(printer) };
	const struct print_event *kind = NULL;
	struct expr *expr = NULL;
	struct err err = { 0 };
	struct outbuf out;

	outbuf_to_memory(&out);
	if (expr_new(text, &context, &expr, &err) < 0)
		expr = NULL;
	while ((kind = printer_next(printer, kind))) {
		for (uint32_t bytes = 8; bytes <= RECORD_BYTES; bytes += 40) {
			/* A block of its own: a sanitizer sees what is read too far. */
			AUTO_FREE uint8_t *copy = xmalloc(bytes);
			struct trace_record record = { copy, bytes, 0 };

			memcpy(copy, tail, bytes);
			print_record(&context, kind, &record, &out);
			if (expr)
				match_record(expr, kind, &record);
		}
	}
	expr_free(expr);
	outbuf_fini(&out);
	print_memory_free(context.memory);
	printer_free(printer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const uint8_t *line = memchr(data, '\n', bytes);
	AUTO_FREE char *text = NULL;
	struct formats formats;
	struct err err = { 0 };
	char path[128];

	if (!line || bytes - (size_t)(line + 1 - data) < RECORD_BYTES)
		return 0;
	text = xstrndup((const char *)data, (size_t)(line - data));
	fuzz_file("kernel/formats", line + 1, bytes - (size_t)(line + 1 - data) - RECORD_BYTES);
	snprintf(path, sizeof(path), "%s/kernel/formats", fuzz_dir_path());
	(void)formats_read(path, &formats, &err);
	run_all(&formats, false, text, data + bytes - RECORD_BYTES);
	run_all(&formats, true, text, data + bytes - RECORD_BYTES);
	formats_fini(&formats);
	return 0;
}
