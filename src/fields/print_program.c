/*
 * print_program.c - a print format as a list of steps, and records printed by it.
 *
 * A step is the literal text before a conversion, and the conversion. Nearly all are a
 * number or a short text straight out of the record; those are done here, in line. Of
 * the others, most depend on one field only ("prev_state=S", "action=TIMER", the name of
 * a function): what they made of a value is kept, and made again only for another.
 */
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "fields/print_int.h"
#include "fields/print_printer.h"
#include "read/read.h"

#define IS_LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* How a step is done. */
enum how {
	HOW_S32, /* decimal, 4 bytes of the record */
	HOW_U32,
	HOW_X32, /* hexadecimal */
	HOW_S64,
	HOW_U64,
	HOW_X64,
	HOW_NUMBER,  /* any of these out of another size */
	HOW_POINTER, /* %p */
	HOW_CHARS,   /* char name[16] */
	HOW_LOCATED, /* __get_str() */
	HOW_MEMO,
	HOW_CONV,
};

struct step {
	const char *literal;
	uint32_t literal_bytes;
	uint8_t how;
	uint8_t load_bytes;
	bool load_signed;
	char style;   /* HOW_NUMBER: 'd', 'u', 'x' */
	uint8_t bits; /* HOW_NUMBER: of the conversion */
	uint32_t from;
	uint32_t bytes; /* HOW_CHARS */
	uint32_t memo;
	const struct conv *conv;
	const struct print_field *field; /* HOW_LOCATED, HOW_MEMO */
};

struct print_program {
	struct step *steps; /* and one more, which has only the literal behind the last */
	uint32_t step_count;
};

struct print_memory {
	struct memo *memos; /* owned; 1 << MEMO_BITS for each of the printer's */
	struct outbuf made;
};

struct print_memory *print_memory_new(const struct printer *printer)
{
	struct print_memory *memory = xcalloc(1, sizeof(*memory));

	memory->memos =
		xcalloc(((size_t)printer->memory_count << MEMO_BITS) + 1, sizeof(struct memo));
	outbuf_to_memory(&memory->made);
	return memory;
}

void print_memory_free(struct print_memory *memory)
{
	if (!memory)
		return;
	outbuf_fini(&memory->made);
	free(memory->memos);
	free(memory);
}

/* A number in the record as it is loaded: what casts on the way leave of it. */
struct loaded {
	uint32_t from;
	uint32_t bytes;
	bool is_signed;
};

/* Is the node a number at a fixed place? */
static bool program_is_loaded(const struct printer *printer, const struct node *node,
			      struct loaded *out_loaded)
{
	const struct print_field *field;

	if (node->kind == NODE_CAST) {
		uint32_t bytes = node->bits / 8u;

		if (!program_is_loaded(printer, node->a, out_loaded))
			return false;
		/* Wider: extended by the sign below. Narrower: the low bytes. */
		if (bytes < out_loaded->bytes && printer->big_endian)
			out_loaded->from += out_loaded->bytes - bytes;
		if (bytes <= out_loaded->bytes) {
			out_loaded->bytes = bytes;
			out_loaded->is_signed = node->is_signed;
		}
		return true;
	}
	if (node->kind == NODE_FIELD && !node->field->is_array) {
		field = node->field;
		*out_loaded = (struct loaded){ field->offset, field->bytes, field->is_signed };
	} else if (node->kind == NODE_ELEMENT && node->a->kind == NODE_FIELD &&
		   node->b->kind == NODE_NUMBER && node->a->field->kind != FORMAT_DATA_LOC &&
		   node->a->field->kind != FORMAT_REL_LOC &&
		   node->b->number < node->a->field->count) {
		field = node->a->field;
		*out_loaded = (struct loaded){ field->offset + (uint32_t)node->b->number *
								       node->element_bytes,
					       node->element_bytes, node->is_signed };
	} else {
		return false;
	}
	return out_loaded->bytes == 1 || out_loaded->bytes == 2 || out_loaded->bytes == 4 ||
	       out_loaded->bytes == 8;
}

/* The only field that the node depends on, a number. False when there are none or more. */
static bool depends_on(const struct node *node, const struct print_field **field)
{
	const struct node *parts[] = { node->a, node->b, node->c };

	switch (node->kind) {
	case NODE_FIELD:
		if (node->field->is_array || (*field && *field != node->field))
			return false;
		*field = node->field;
		return true;
	case NODE_NUMBER:
	case NODE_TEXT:
	case NODE_UNARY:
	case NODE_BINARY:
	case NODE_COND:
	case NODE_CAST:
	case NODE_FLAGS:
	case NODE_SYMBOL:
		break;
	default:
		return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (parts[i] && !depends_on(parts[i], field))
			return false;
	}
	return true;
}

static bool program_is_plain(const struct conv *conv)
{
	return conv->width <= 0 && conv->precision < 0 && !conv->width_node &&
	       !conv->precision_node && !conv->alt && !conv->plus && !conv->space;
}

static void program_plan_number(const struct printer *printer, struct step *step,
				const struct conv *conv, const struct loaded *loaded)
{
	bool native = printer->big_endian != IS_LITTLE;
	uint32_t bytes = conv->bits / 8u;

	step->how = HOW_NUMBER;
	step->style = conv->type;
	step->bits = conv->bits;
	step->from = loaded->from;
	step->load_bytes = (uint8_t)loaded->bytes;
	step->load_signed = loaded->is_signed;
	if (!native || !IS_LITTLE || bytes > loaded->bytes || bytes < 4)
		return;
	/* The low bytes of what is there. */
	if (bytes == 4)
		step->how = conv->type == 'd' ? HOW_S32 : conv->type == 'u' ? HOW_U32 : HOW_X32;
	else
		step->how = conv->type == 'd' ? HOW_S64 : conv->type == 'u' ? HOW_U64 : HOW_X64;
}

static void plan_text(struct step *step, const struct conv *conv)
{
	const struct node *node = conv->arg;

	while (node->kind == NODE_CAST)
		node = node->a;
	if (node->kind != NODE_FIELD && node->kind != NODE_DYNAMIC)
		return;
	if (!node->field->is_array)
		return;
	if (node->field->kind == FORMAT_DATA_LOC || node->field->kind == FORMAT_REL_LOC) {
		step->how = HOW_LOCATED;
		step->field = node->field;
	} else if (node->field->bytes && node->field->bytes <= 1024) {
		step->how = HOW_CHARS;
		step->from = node->field->offset;
		step->bytes = node->field->bytes;
	}
}

/* Choose how a conversion is done. */
static void plan(struct printer *printer, struct step *step, const struct conv *conv)
{
	const struct print_field *field = NULL;
	struct loaded loaded;

	step->how = HOW_CONV;
	step->conv = conv;
	if (program_is_plain(conv)) {
		if (strchr("dux", conv->type) && program_is_loaded(printer, conv->arg, &loaded))
			program_plan_number(printer, step, conv, &loaded);
		else if (conv->type == 'p' && (conv->more[0] == '\0' || conv->more[0] == 'K') &&
			 program_is_loaded(printer, conv->arg, &loaded)) {
			program_plan_number(printer, step, conv, &loaded);
			step->how = HOW_POINTER;
		} else if (conv->type == 's')
			plan_text(step, conv);
	}
	if (step->how != HOW_CONV)
		return;
	if (conv->width_node || conv->precision_node || !depends_on(conv->arg, &field) || !field)
		return;
	if (conv->type == 'p' && !strchr("SsFfB", conv->more[0]))
		return;
	step->how = HOW_MEMO;
	step->field = field;
	step->memo = printer->memory_count++;
}

void print_compile(struct printer *printer, struct print_event *event, const char *text)
{
	struct print_program *program;
	struct parsed parsed;

	/* Its print format says nothing of the arguments. */
	event->is_binary = strcmp(event->title, "ftrace:bprint") == 0;
	if (event->is_binary)
		return;
	if (!print_parse(printer->pool, text, event, printer->long_bytes, &parsed, &event->why_not))
		return;
	event->why_not = NULL;
	program = pool_take(printer->pool, sizeof(*program));
	program->steps = pool_take(printer->pool, (parsed.conv_count + 1) * sizeof(struct step));
	program->step_count = parsed.conv_count;
	for (uint32_t i = 0; i <= parsed.conv_count; i++) {
		program->steps[i].literal = parsed.literals[i];
		program->steps[i].literal_bytes = parsed.literal_bytes[i];
		if (i < parsed.conv_count)
			plan(printer, &program->steps[i], &parsed.convs[i]);
	}
	event->program = program;
}

/* A literal longer than there is surely room for. */
static char *put_long_literal(struct outbuf *out, char *to, const struct step *step)
{
	out->at = to;
	outbuf_put(out, step->literal, step->literal_bytes);
	outbuf_room(out);
	return out->at;
}

static inline char *program_put_literal(struct outbuf *out, char *to, const struct step *step)
{
	if (__builtin_expect(step->literal_bytes > 32, 0))
		return put_long_literal(out, to, step);
	/* The pool has room behind it. */
	memcpy(to, step->literal, 16);
	if (step->literal_bytes > 16)
		memcpy(to + 16, step->literal + 16, 16);
	return to + step->literal_bytes;
}

/* High bit of each byte that ends plain text: 0, control characters, 0x7f and above. */
static inline uint64_t stops(uint64_t word)
{
	return ((word - UINT64_C(0x2020202020202020)) | word |
		(word + UINT64_C(0x0101010101010101))) &
	       UINT64_C(0x8080808080808080);
}

static char *program_put_rest(struct outbuf *out, char *to, const uint8_t *at, uint32_t max)
{
	out->at = to;
	outbuf_foreign(out, (const char *)at, max);
	outbuf_room(out);
	return out->at;
}

/* Up to 'max' characters, at most 1024; there is room for them. */
static inline char *put_chars(struct outbuf *out, char *to, const uint8_t *at, uint32_t max)
{
	uint64_t word, stop;

	while (IS_LITTLE && max >= 8) {
		memcpy(&word, at, 8);
		stop = stops(word);
		memcpy(to, &word, 8);
		if (stop) {
			uint32_t bytes = (uint32_t)__builtin_ctzll(stop) / 8;

			to += bytes;
			if (__builtin_expect(at[bytes] != 0, 0))
				return program_put_rest(out, to, at + bytes, max - bytes);
			return to;
		}
		to += 8;
		at += 8;
		max -= 8;
	}
	return max ? program_put_rest(out, to, at, max) : to;
}

/* 1 to 7 bytes as a word, with zeros behind them; nothing else is read. */
static inline uint64_t load_few(const uint8_t *at, uint32_t bytes)
{
	uint32_t first, last;

	if (bytes < 4)
		return at[0] | (uint64_t)at[bytes / 2] << bytes / 2 * 8 |
		       (uint64_t)at[bytes - 1] << (bytes - 1) * 8;
	memcpy(&first, at, 4);
	memcpy(&last, at + bytes - 4, 4);
	return first | (uint64_t)last << (bytes - 4) * 8;
}

/*
 * Put what is plain text up to a terminator or 'max' bytes, at most 1024. NULL when something
 * else is in it.
 */
static inline char *put_plain(char *to, const uint8_t *at, uint32_t max)
{
	uint64_t word, stop;
	uint32_t bytes;

	for (; max >= 8; max -= 8, at += 8, to += 8) {
		memcpy(&word, at, 8);
		stop = stops(word);
		memcpy(to, &word, 8);
		if (stop) {
			bytes = (uint32_t)__builtin_ctzll(stop) / 8;
			return at[bytes] == 0 ? to + bytes : NULL;
		}
	}
	if (max == 0)
		return to;
	word = load_few(at, max);
	memcpy(to, &word, 8);
	bytes = (uint32_t)__builtin_ctzll(stops(word)) / 8;
	return bytes >= max || at[bytes] == 0 ? to + bytes : NULL;
}

static char *program_put_located(struct outbuf *out, char *to, const struct print_record *record,
				 const struct print_field *field)
{
	struct span span = print_field_span(record, field);
	uint32_t bytes;
	char *end;

	if (!span.data)
		return to;
	if (IS_LITTLE && span.bytes <= 1024) {
		end = put_plain(to, span.data, span.bytes);
		if (__builtin_expect(end != NULL, 1))
			return end;
	}
	bytes = (uint32_t)strnlen((const char *)span.data, span.bytes);
	while (bytes && span.data[bytes - 1] == '\n')
		bytes--;
	return bytes <= 1024 ? put_chars(out, to, span.data, bytes)
			     : program_put_rest(out, to, span.data, bytes);
}

/* Make the text of a value, and keep it unless it is too long. NULL then; it was put. */
static const struct memo *make_memo(struct outbuf *out, struct print_memory *memory,
				    const struct print_record *record, const struct step *step,
				    struct memo *memo)
{
	size_t bytes;

	outbuf_reset(&memory->made);
	print_conv(&memory->made, record, step->conv);
	bytes = outbuf_bytes(&memory->made);
	if (bytes > MEMO_BYTES) {
		outbuf_put(out, memory->made.start, bytes);
		outbuf_room(out);
		return NULL;
	}
	memo->key = print_load(record->printer, record->data + step->field->offset,
			       step->field->bytes, false);
	memo->used = true;
	memo->bytes = (uint8_t)bytes;
	memcpy(memo->text, memory->made.start, bytes);
	return memo;
}

static inline char *put_memo(struct outbuf *out, char *to, struct print_memory *memory,
			     const struct print_record *record, const struct step *step)
{
	uint64_t key = print_load(record->printer, record->data + step->field->offset,
				  step->field->bytes, false);
	uint64_t slot = key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - MEMO_BITS);
	struct memo *memo = &memory->memos[((size_t)step->memo << MEMO_BITS) + slot];

	if (__builtin_expect(!memo->used || memo->key != key, 0)) {
		out->at = to;
		if (!make_memo(out, memory, record, step, memo))
			return out->at;
	}
	memcpy(to, memo->text, 16);
	if (memo->bytes > 16)
		memcpy(to + 16, memo->text + 16, MEMO_BYTES - 16);
	return to + memo->bytes;
}

static char *step_put_number(char *to, const struct step *step, const struct print_record *record)
{
	uint64_t value = print_load(record->printer, record->data + step->from, step->load_bytes,
				    step->load_signed);

	if (step->style == 'd')
		return digits_i64(to, step->bits == 64	 ? (int64_t)value
				      : step->bits == 32 ? (int32_t)value
				      : step->bits == 16 ? (int16_t)value
							 : (int8_t)value);
	if (step->bits < 64)
		value &= (UINT64_C(1) << step->bits) - 1;
	return step->style == 'u' ? digits_u64(to, value) : digits_hex(to, value);
}

static char *program_put_pointer(char *to, const struct step *step,
				 const struct print_record *record)
{
	uint64_t value = print_load(record->printer, record->data + step->from, step->load_bytes,
				    step->load_signed);

	if (value == 0)
		return (char *)mempcpy(to, "(nil)", 5);
	*to++ = '0';
	*to++ = 'x';
	return digits_hex(to, value);
}

static char *put_conv(struct outbuf *out, char *to, const struct print_record *record,
		      const struct step *step)
{
	out->at = to;
	print_conv(out, record, step->conv);
	outbuf_room(out);
	return out->at;
}

static inline uint32_t load_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline uint64_t load_u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* The conversion of a step; returns where the text ends. */
static inline char *run_step(struct outbuf *out, char *to, struct print_memory *memory,
			     const struct print_record *record, const struct step *step)
{
	const uint8_t *from = record->data + step->from;

	switch ((enum how)step->how) {
	case HOW_S32:
		return digits_i64(to, (int32_t)load_u32(from));
	case HOW_U32:
		return digits_u32(to, load_u32(from));
	case HOW_X32:
		return digits_hex(to, load_u32(from));
	case HOW_S64:
		return digits_i64(to, (int64_t)load_u64(from));
	case HOW_U64:
		return digits_u64(to, load_u64(from));
	case HOW_X64:
		return digits_hex(to, load_u64(from));
	case HOW_NUMBER:
		return step_put_number(to, step, record);
	case HOW_POINTER:
		return program_put_pointer(to, step, record);
	case HOW_CHARS:
		return put_chars(out, to, from, step->bytes);
	case HOW_LOCATED:
		return program_put_located(out, to, record, step->field);
	case HOW_MEMO:
		return put_memo(out, to, memory, record, step);
	case HOW_CONV:
		break;
	}
	return put_conv(out, to, record, step);
}

void print_text(const struct printer *printer, struct print_memory *memory,
		const struct print_event *event, const struct trace_record *record,
		struct outbuf *out)
{
	const struct print_program *program = event->program;
	struct print_record from = { printer, record->data, record->bytes };
	const struct step *step, *end;
	char *to;

	if (__builtin_expect(!program || record->bytes < event->need_bytes, 0)) {
		if (!event->is_binary || !print_binary(out, &from, event))
			print_plain(printer, event, record, out);
		return;
	}
	outbuf_room(out);
	to = out->at;
	end = program->steps + program->step_count;
	for (step = program->steps; step < end; step++) {
		if (__builtin_expect(to > out->limit, 0)) {
			out->at = to;
			outbuf_room(out);
			to = out->at;
		}
		to = program_put_literal(out, to, step);
		to = run_step(out, to, memory, &from, step);
	}
	out->at = to;
	outbuf_room(out);
	out->at = program_put_literal(out, out->at, end);
}

/* Does this step say in words what the field is? */
static bool is_words(const struct step *step, const struct print_field *field)
{
	if (step->how != HOW_MEMO || step->field != field)
		return false;
	return step->conv->type == 's' || step->conv->type == 'p';
}

static const struct step *program_words_of(const struct print_event *event,
					   const struct print_field *field)
{
	const struct print_program *program = event->program;

	for (uint32_t i = 0; program && i < program->step_count; i++) {
		if (is_words(&program->steps[i], field))
			return &program->steps[i];
	}
	return NULL;
}

bool print_field_has_words(const struct print_event *event, const struct print_field *field)
{
	return program_words_of(event, field) != NULL;
}

bool print_field_words(const struct printer *printer, const struct print_event *event,
		       const struct print_field *field, const struct trace_record *record,
		       struct outbuf *out)
{
	struct print_record from = { printer, record->data, record->bytes };
	const struct step *step = program_words_of(event, field);

	if (!step || record->bytes < event->need_bytes)
		return false;
	print_conv(out, &from, step->conv);
	return true;
}
