/* print.c - the events of a trace and their fields. */
#include "fields/print.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/outbuf.h"
#include "read/format_text.h"
#include "read/kernel/events.h"
#include "fields/print_int.h"
#include "fields/print_printer.h"
#include "read/read.h"
#include "store/formats.h"

#define MAX_FIELDS 512u

/* enum trace_flag_type of include/linux/trace_events.h */
#define FLAG_IRQS_OFF	  0x01
#define FLAG_RESCHED_LAZY 0x02
#define FLAG_RESCHED	  0x04
#define FLAG_HARDIRQ	  0x08
#define FLAG_SOFTIRQ	  0x10
#define FLAG_PREEMPT	  0x20
#define FLAG_NMI	  0x40
#define FLAG_BH_OFF	  0x80

static const char *printer_keep(struct printer *printer, const char *text, size_t bytes)
{
	char *copy = pool_take(printer->pool, bytes + 1);

	memcpy(copy, text, bytes);
	return copy;
}

static bool contains(const char *text, size_t bytes, const char *word)
{
	return memmem(text, bytes, word, strlen(word)) != NULL;
}

/* Size of an element of "__data_loc TYPE[] name". */
static uint32_t element_of(const char *type, size_t bytes, uint32_t long_bytes)
{
	static const struct {
		const char *word;
		uint32_t bytes;
	} sizes[] = {
		{ "long long", 8 }, { "*", 0 },	       { "char", 1 },	   { "64", 8 },
		{ "long", 0 },	    { "32", 4 },       { "16", 2 },	   { "u8", 1 },
		{ "int8", 1 },	    { "short", 2 },    { "int", 4 },	   { "size_t", 0 },
		{ "_addr_t", 8 },   { "sector_t", 8 }, { "cpumask_t", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		if (contains(type, bytes, sizes[i].word))
			return sizes[i].bytes ? sizes[i].bytes : long_bytes;
	}
	return 1;
}

static void print_add_field(struct printer *printer, struct print_event *event,
			    const struct format_field *from)
{
	struct print_field *field = &event->fields[event->field_count];
	size_t type_bytes = (size_t)(from->name - from->type);
	bool is_char = contains(from->type, type_bytes, "char") &&
		       !contains(from->type, type_bytes, "unsigned");

	*field = (struct print_field){
		.name = printer_keep(printer, from->name, from->name_bytes),
		.offset = from->offset,
		.bytes = from->bytes,
		.count = from->count,
		.element_bytes = from->bytes,
		.kind = (uint8_t)from->kind,
		.is_signed = from->is_signed,
		.is_array = from->kind != FORMAT_NUMBER,
		.is_pointer = contains(from->type, type_bytes, "*"),
	};
	switch (from->kind) {
	case FORMAT_NUMBER:
		break;
	case FORMAT_ARRAY:
		field->element_bytes = from->bytes / from->count;
		break;
	case FORMAT_TEXT:
		field->is_text = is_char;
		field->element_bytes = 1;
		field->count = from->bytes;
		break;
	case FORMAT_DATA_LOC:
	case FORMAT_REL_LOC:
		field->is_text = is_char;
		field->is_pointer = false;
		field->element_bytes = element_of(from->type, type_bytes, printer->long_bytes);
		/* What the sign is said of is the word with the offset. */
		field->is_signed = !contains(from->type, type_bytes, "u");
		break;
	}
	if (from->kind == FORMAT_NUMBER && from->bytes != 1 && from->bytes != 2 &&
	    from->bytes != 4 && from->bytes != 8) {
		/* A struct, or a number wider than we have: bytes. */
		field->is_array = true;
		field->kind = FORMAT_ARRAY;
		field->element_bytes = 1;
		field->count = from->bytes;
	}
	event->field_count++;
	if (strncmp(field->name, "common_", 7) == 0 &&
	    event->common_count + 1 == event->field_count)
		event->common_count++;
	if (event->need_bytes < from->offset + from->bytes)
		event->need_bytes = from->offset + from->bytes;
}

/* "field:char buf[]; offset:16; size:0;", or "char buf;": all that is left of the record. */
static void add_tail_field(struct printer *printer, struct print_event *event, const char *text)
{
	const char *line = strstr(text, "\tsize:0;"), *end, *start, *bracket;
	struct print_field *field = &event->fields[event->field_count];
	uint32_t offset = FORMAT_MAX_END;

	if (!line)
		return;
	for (start = line; start > text && start[-1] != '\n'; start--)
		;
	end = strchr(start, ';');
	if (sscanf(end, ";\toffset:%u;", &offset) != 1 || offset >= FORMAT_MAX_END)
		return;
	/* Older kernels write no brackets. */
	bracket = memchr(start, '[', (size_t)(end - start));
	end = bracket ? bracket : end;
	*field = (struct print_field){
		.offset = offset,
		.element_bytes = element_of(start, (size_t)(end - start), printer->long_bytes),
		.kind = FORMAT_TEXT,
		.is_array = true,
		.is_text = contains(start, (size_t)(end - start), "char"),
	};
	field->kind = field->is_text ? FORMAT_TEXT : FORMAT_ARRAY;
	for (start = end; isalnum((unsigned char)start[-1]) || start[-1] == '_'; start--)
		;
	if (start == end)
		return;
	field->name = printer_keep(printer, start, (size_t)(end - start));
	event->field_count++;
}

static void add_fields(struct printer *printer, struct print_event *event, const char *text)
{
	struct format_field field;
	const char *cursor = text;
	uint32_t count = 0;

	while (format_text_next(&cursor, &field) && count < MAX_FIELDS)
		count++;
	event->fields = pool_take(printer->pool, (count + 1) * sizeof(*event->fields));
	event->need_bytes = KERNEL_EVENT_MIN_BYTES;
	for (cursor = text; count > 0 && format_text_next(&cursor, &field); count--)
		print_add_field(printer, event, &field);
	add_tail_field(printer, event, text);
}

static void print_add_event(struct printer *printer, const struct format_section *section,
			    uint32_t id)
{
	struct print_event *event = pool_take(printer->pool, sizeof(*event));
	const char *slash = strchr(section->name, '/');
	char *title;

	event->id = id;
	event->system = printer_keep(printer, section->name, (size_t)(slash - section->name));
	event->name = printer_keep(printer, slash + 1, strlen(slash + 1));
	event->title_bytes = (uint32_t)strlen(section->name);
	title = pool_take(printer->pool, event->title_bytes + 64u); /* copied in large steps */
	memcpy(title, section->name, event->title_bytes);
	title[slash - section->name] = ':';
	event->title = title;
	add_fields(printer, event, section->text);
	printer->by_id[id] = event;
	printer->events = vec_room(printer->events, printer->event_count, &printer->event_cap,
				   sizeof(struct print_event *));
	printer->events[printer->event_count++] = event;
	print_compile(printer, event, section->text);
}

/* Where the fields are that all events have. */
static void find_common(struct printer *printer)
{
	const struct print_field *field;

	for (size_t i = 0; i < printer->event_count; i++) {
		const struct print_event *event = printer->events[i];

		field = print_event_field(event, "common_type");
		if (!field || field->bytes != 2 || field->offset > KERNEL_EVENT_MIN_BYTES - 2)
			continue;
		printer->id_offset = field->offset;
		field = print_event_field(event, "common_flags");
		if (field && field->bytes == 1 && field->offset < KERNEL_EVENT_MIN_BYTES)
			printer->flags_offset = field->offset;
		field = print_event_field(event, "common_preempt_count");
		if (field && field->bytes == 1 && field->offset < KERNEL_EVENT_MIN_BYTES)
			printer->preempt_offset = field->offset;
		return;
	}
}

static char irqs_letter(uint32_t flags)
{
	bool irqs_off = flags & FLAG_IRQS_OFF, bh_off = flags & FLAG_BH_OFF;

	return irqs_off && bh_off ? 'D' : irqs_off ? 'd' : bh_off ? 'b' : '.';
}

static char resched_letter(uint32_t flags)
{
	bool now = flags & FLAG_RESCHED, lazy = flags & FLAG_RESCHED_LAZY;

	if (flags & FLAG_PREEMPT)
		return now && lazy ? 'B' : now ? 'N' : lazy ? 'L' : 'p';
	return now && lazy ? 'b' : now ? 'n' : lazy ? 'l' : '.';
}

static char context_letter(uint32_t flags)
{
	bool hardirq = flags & FLAG_HARDIRQ, softirq = flags & FLAG_SOFTIRQ;

	if (flags & FLAG_NMI)
		return hardirq ? 'Z' : 'z';
	return hardirq && softirq ? 'H' : hardirq ? 'h' : softirq ? 's' : '.';
}

static void make_flag_texts(struct printer *printer)
{
	static const char digits[] = ".123456789abcdef";

	for (uint32_t i = 0; i < 256; i++) {
		printer->flag_text[i][0] = irqs_letter(i);
		printer->flag_text[i][1] = resched_letter(i);
		printer->flag_text[i][2] = context_letter(i);
		printer->preempt_text[i][0] = digits[i & 15];
		printer->preempt_text[i][1] = digits[i >> 4];
	}
}

struct printer *printer_new(const struct print_setup *setup)
{
	struct printer *printer = xcalloc(1, sizeof(*printer));

	printer->facts = setup->facts;
	printer->big_endian = setup->big_endian;
	printer->long_bytes = setup->long_bytes == 4 ? 4 : 8;
	printer->pool = pool_new();
	printer->unknown = (struct print_event){
		.system = "",
		.name = "unknown",
		.title = pool_take(printer->pool, 64),
		.title_bytes = 7,
		.id = UINT32_MAX,
		.why_not = "it is not in the formats",
		.need_bytes = KERNEL_EVENT_MIN_BYTES,
	};
	memcpy((char *)(uintptr_t)printer->unknown.title, "unknown", 7);
	printer->flags_offset = printer->preempt_offset = UINT32_MAX;
	printer->id_count = format_text_highest_id(setup->formats) + 1;
	printer->by_id = xcalloc(printer->id_count, sizeof(struct print_event *));
	for (uint32_t id = 0; id < printer->id_count; id++)
		printer->by_id[id] = &printer->unknown;
	for (size_t i = 0; i < setup->formats->count; i++) {
		const struct format_section *section = &setup->formats->sections[i];
		int32_t id = format_text_id(section->text);

		if (id >= 0 && strchr(section->name, '/') &&
		    printer->by_id[id] == &printer->unknown)
			print_add_event(printer, section, (uint32_t)id);
	}
	find_common(printer);
	make_flag_texts(printer);
	return printer;
}

void printer_free(struct printer *printer)
{
	if (!printer)
		return;
	pool_free(printer->pool);
	free(printer->by_id);
	free(printer->events);
	free(printer);
}

uint32_t printer_id_count(const struct printer *printer)
{
	return printer->id_count;
}

const struct print_event *printer_event(const struct printer *printer, uint16_t id)
{
	return id < printer->id_count ? printer->by_id[id] : &printer->unknown;
}

const struct print_event *printer_event_of(const struct printer *printer,
					   const struct trace_record *record)
{
	uint16_t id;

	if (record->bytes < KERNEL_EVENT_MIN_BYTES)
		return &printer->unknown;
	memcpy(&id, record->data + printer->id_offset, sizeof(id));
	return printer_event(printer, order_u16(id, order_swaps(printer->big_endian)));
}

const struct print_event *printer_next(const struct printer *printer,
				       const struct print_event *before)
{
	size_t i = 0;

	while (before && i < printer->event_count && printer->events[i++] != before)
		;
	return i < printer->event_count ? printer->events[i] : NULL;
}

const struct print_field *print_event_field(const struct print_event *event, const char *name)
{
	for (uint32_t i = 0; i < event->field_count; i++) {
		if (strcmp(event->fields[i].name, name) == 0)
			return &event->fields[i];
	}
	return NULL;
}

uint64_t print_field_number(const struct printer *printer, const struct print_field *field,
			    const struct trace_record *record)
{
	if (field->is_array || field->bytes > record->bytes ||
	    field->offset > record->bytes - field->bytes)
		return 0;
	return print_load(printer, record->data + field->offset, field->bytes, field->is_signed);
}

bool print_field_bytes(const struct printer *printer, const struct print_field *field,
		       const struct trace_record *record, const uint8_t **out_data,
		       uint32_t *out_bytes)
{
	struct print_record from = { printer, record->data, record->bytes };
	struct span span = print_field_span(&from, field);

	*out_data = span.data;
	*out_bytes = span.bytes;
	return span.data != NULL;
}

uint64_t print_element(const struct printer *printer, const struct print_field *field,
		       const uint8_t *data, uint32_t index)
{
	return print_load(printer, data + (size_t)index * field->element_bytes,
			  field->element_bytes, field->is_signed);
}

static void field_put_number(const struct print_field *field, uint64_t value, struct outbuf *out)
{
	outbuf_room(out);
	out->at =
		field->is_signed ? digits_i64(out->at, (int64_t)value) : digits_u64(out->at, value);
}

static void print_put_pointer(uint64_t value, struct outbuf *out)
{
	outbuf_room(out);
	memcpy(out->at, "0x", 2);
	out->at = digits_hex(out->at + 2, value);
}

void print_field_text(const struct printer *printer, const struct print_field *field,
		      const struct trace_record *record, struct outbuf *out)
{
	const uint8_t *data;
	uint32_t bytes;

	if (!field->is_array) {
		uint64_t value = print_field_number(printer, field, record);

		if (field->is_pointer)
			print_put_pointer(value, out);
		else
			field_put_number(field, value, out);
		return;
	}
	if (!print_field_bytes(printer, field, record, &data, &bytes))
		return;
	if (field->is_text) {
		bytes = (uint32_t)strnlen((const char *)data, bytes);
		while (bytes && data[bytes - 1] == '\n')
			bytes--;
		outbuf_foreign(out, (const char *)data, bytes);
		return;
	}
	outbuf_char(out, '{');
	for (uint32_t i = 0; i < bytes / field->element_bytes; i++) {
		struct print_field element = *field;

		element.is_signed = false;
		if (i)
			outbuf_char(out, ',');
		print_put_pointer(print_element(printer, &element, data, i), out);
	}
	outbuf_char(out, '}');
}

void print_field_json(const struct printer *printer, const struct print_field *field,
		      const struct trace_record *record, struct outbuf *out)
{
	const uint8_t *data;
	uint32_t bytes;

	if (!field->is_array) {
		field_put_number(field, print_field_number(printer, field, record), out);
		return;
	}
	if (!print_field_bytes(printer, field, record, &data, &bytes)) {
		outbuf_string(out, "null");
		return;
	}
	if (field->is_text) {
		outbuf_json(out, (const char *)data, bytes);
		return;
	}
	outbuf_char(out, '[');
	for (uint32_t i = 0; i < bytes / field->element_bytes; i++) {
		if (i)
			outbuf_char(out, ',');
		field_put_number(field, print_element(printer, field, data, i), out);
	}
	outbuf_char(out, ']');
}

void print_plain(const struct printer *printer, const struct print_event *event,
		 const struct trace_record *record, struct outbuf *out)
{
	if (record->bytes < event->need_bytes) {
		outbuf_string(out, "(shorter than its format says)");
		return;
	}
	for (uint32_t i = event->common_count; i < event->field_count; i++) {
		if (i > event->common_count)
			outbuf_char(out, ' ');
		outbuf_foreign(out, event->fields[i].name, strlen(event->fields[i].name));
		outbuf_char(out, '=');
		print_field_text(printer, &event->fields[i], record, out);
	}
}

void print_flags(const struct printer *printer, const struct print_event *event,
		 const struct trace_record *record, char out_flags[5])
{
	(void)event;
	memset(out_flags, '.', 5);
	if (record->bytes < KERNEL_EVENT_MIN_BYTES)
		return;
	if (printer->flags_offset != UINT32_MAX)
		memcpy(out_flags, printer->flag_text[record->data[printer->flags_offset]], 3);
	if (printer->preempt_offset != UINT32_MAX)
		memcpy(out_flags + 3, printer->preempt_text[record->data[printer->preempt_offset]],
		       2);
}
