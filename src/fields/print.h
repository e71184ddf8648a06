/*
 * print.h - the fields of a record as text, as the kernel itself would write them.
 *
 * Each event's format file says how to print it, in C: a printf format and expressions
 * over the fields. It is compiled once, to loads and conversions of our own; what the
 * text is agrees with libtraceevent (trace-cmd report -N) wherever that library has a
 * right answer, else with the kernel:
 *
 *	- a pointer is its value, where the kernel prints a hash of it;
 *	- a function is "name" or "name+0xoffset", or its address when it has no name;
 *	- a line break within the text is a blank, one at its end is left out.
 *
 * An event whose print format cannot be understood is printed as "name=value ...".
 * Formats and records may be anything: nothing in them is trusted.
 *
 * A printer is read-only once made, and used by any number of threads, each with its
 * own struct print_memory.
 */
#ifndef FIELDS_PRINT_H
#define FIELDS_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct facts;
struct formats;
struct outbuf;
struct printer;
struct trace_record;

/* A field of an event, the common ones included. */
struct print_field {
	const char *name;
	uint32_t offset;
	uint32_t bytes; /* in the record; 0 = up to the record's end */
	uint32_t count; /* elements of an array of fixed size, else 1 */
	uint32_t element_bytes;
	uint8_t kind; /* enum format_kind */
	bool is_signed;
	bool is_text; /* characters */
	bool is_array;
	bool is_pointer;
};

/* A kind of event. */
struct print_event {
	const char *system;
	const char *name;
	const char *title; /* "sched:sched_switch" */
	uint32_t title_bytes;
	uint32_t id;
	struct print_field *fields;
	uint32_t field_count;
	uint32_t common_count; /* of these, the first ones: those of every event */
	uint32_t need_bytes;   /* a record is at least so long */
	bool is_binary;	       /* trace_printk(): see print_binary() */
	const char *why_not;   /* its print format is not used, because ...; NULL = it is */
	struct print_program *program;
};

/* How the bytes of a trace are to be read. */
struct print_setup {
	const struct formats *formats; /* may be freed afterwards */
	const struct facts *facts;     /* names of functions; must outlive the printer */
	bool big_endian;
	uint32_t long_bytes;
};

struct printer *printer_new(const struct print_setup *setup);
void printer_free(struct printer *printer);

/* Above the number of any event. */
uint32_t printer_id_count(const struct printer *printer);

/* The event with this number; one that is not in the formats is "unknown". */
const struct print_event *printer_event(const struct printer *printer, uint16_t id);
const struct print_event *printer_event_of(const struct printer *printer,
					   const struct trace_record *record);

/* All of them, in the order of the formats. */
const struct print_event *printer_next(const struct printer *printer,
				       const struct print_event *before);

const struct print_field *print_event_field(const struct print_event *event, const char *name);

/* Texts that were made before, of one thread. */
struct print_memory;
struct print_memory *print_memory_new(const struct printer *printer);
void print_memory_free(struct print_memory *memory);

/* The text of the record: what follows "EVENT: ". */
void print_text(const struct printer *printer, struct print_memory *memory,
		const struct print_event *event, const struct trace_record *record,
		struct outbuf *out);

/* The same by libtraceevent's rules for records whose print format it cannot read. */
void print_plain(const struct printer *printer, const struct print_event *event,
		 const struct trace_record *record, struct outbuf *out);

/* The value of a field that is a number. 0 when the record is too short. */
uint64_t print_field_number(const struct printer *printer, const struct print_field *field,
			    const struct trace_record *record);

/* The bytes of a field that is an array or text. False when they are not in the record. */
bool print_field_bytes(const struct printer *printer, const struct print_field *field,
		       const struct trace_record *record, const uint8_t **out_data,
		       uint32_t *out_bytes);

/* Element 'index' of an array's bytes. */
uint64_t print_element(const struct printer *printer, const struct print_field *field,
		       const uint8_t *data, uint32_t index);

/*
 * The words that the print format has for this field alone: "S" for the prev_state of
 * sched_switch, a function's name for an address. False when it has none.
 */
bool print_field_words(const struct printer *printer, const struct print_event *event,
		       const struct print_field *field, const struct trace_record *record,
		       struct outbuf *out);
bool print_field_has_words(const struct print_event *event, const struct print_field *field);

/* The field as text: a number in decimal, an address in hexadecimal, text as it is. */
void print_field_text(const struct printer *printer, const struct print_field *field,
		      const struct trace_record *record, struct outbuf *out);

/* The same as a JSON value: a number, a string, an array of numbers. */
void print_field_json(const struct printer *printer, const struct print_field *field,
		      const struct trace_record *record, struct outbuf *out);

/* "d..2." of ftrace: interrupts off, reschedule, context, preemption, migration. */
void print_flags(const struct printer *printer, const struct print_event *event,
		 const struct trace_record *record, char out_flags[5]);

#endif
