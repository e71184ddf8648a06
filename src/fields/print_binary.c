/*
 * print_binary.c - records of trace_printk(): bprint.
 *
 * The record has the address of the format, whose text the kernel tells elsewhere (facts), and
 * the arguments as vbin_printf() of the kernel packs them: numbers at multiples of their size,
 * those of 8 bytes at multiples of 4; texts in place, with a zero behind them; most kinds of
 * pointers as the text that they stand for.
 */
#include <ctype.h>
#include <string.h>

#include "base/outbuf.h"
#include "event/facts.h"
#include "fields/print_int.h"
#include "fields/print_printer.h"

#define MAX_WIDTH 1000

/* The arguments that are left. */
struct args {
	const struct print_record *record;
	uint32_t at;
};

static uint64_t args_take_number(struct args *args, uint32_t bytes, bool is_signed)
{
	const struct print_record *record = args->record;
	uint32_t align = bytes < 4 ? bytes : 4;
	uint32_t at = (args->at + align - 1) & ~(align - 1);

	if (at > record->bytes || bytes > record->bytes - at) {
		args->at = record->bytes;
		return 0;
	}
	args->at = at + bytes;
	return print_load(record->printer, record->data + at, bytes, is_signed);
}

static struct span print_binary_take_text(struct args *args)
{
	const struct print_record *record = args->record;
	struct span span = { record->data + args->at, 0 };
	uint32_t left = record->bytes - args->at;

	span.bytes = (uint32_t)strnlen((const char *)span.data, left);
	args->at += span.bytes < left ? span.bytes + 1 : left;
	return span;
}

static void binary_put(struct outbuf *out, const struct print_record *record,
		       const struct conv *conv, const struct span *span, uint64_t number)
{
	struct conv made = *conv;
	struct node node = { .kind = NODE_NUMBER, .bits = conv->bits ? conv->bits : 64 };

	node.is_signed = conv->type == 'd';
	node.number = number;
	if (span) {
		node.kind = NODE_TEXT;
		node.text = (const char *)span->data;
		node.text_bytes = span->bytes;
	}
	made.arg = &node;
	print_conv(out, record, &made);
}

static const char *read_flags(const char *at, struct conv *conv)
{
	for (;; at++) {
		switch (*at) {
		case '-':
			conv->left = true;
			break;
		case '0':
			conv->zero = true;
			break;
		case '#':
			conv->alt = true;
			break;
		case '+':
			conv->plus = true;
			break;
		case ' ':
			conv->space = true;
			break;
		default:
			return at;
		}
	}
}

/* Digits or '*'. */
static const char *read_width(const char *at, struct args *args, int32_t *out_width)
{
	int32_t width = 0;

	if (*at == '*') {
		width = (int32_t)args_take_number(args, 4, true);
		*out_width = width > MAX_WIDTH ? MAX_WIDTH : width;
		return at + 1;
	}
	for (; isdigit((unsigned char)*at); at++)
		width = width > MAX_WIDTH ? MAX_WIDTH : width * 10 + (*at - '0');
	*out_width = width;
	return at;
}

/* "hh", "l", "z" ...: the bytes of a number. */
static const char *read_size(const char *at, uint32_t long_bytes, uint32_t *out_bytes)
{
	*out_bytes = 4;
	if (*at == 'h') {
		*out_bytes = at[1] == 'h' ? 1 : 2;
		return at + (at[1] == 'h' ? 2 : 1);
	}
	if (*at == 'L' || (*at == 'l' && at[1] == 'l')) {
		*out_bytes = 8;
		return at + (*at == 'L' ? 1 : 2);
	}
	if (*at && strchr("lzZtj", *at)) {
		*out_bytes = *at == 'j' ? 8 : long_bytes;
		return at + 1;
	}
	return at;
}

/* The kinds of %p that are kept as addresses; all others are kept as text. */
static const char *print_binary_put_pointer(struct outbuf *out, struct args *args, const char *at,
					    struct conv *conv)
{
	const struct print_record *record = args->record;
	bool kept = !isalnum((unsigned char)*at) || strchr("sSfFxKe", *at);
	size_t more = 0;

	while (isalnum((unsigned char)at[more]) && (more == 0 || !kept))
		more++;
	/* Older kernels kept all of them as addresses. */
	if (!kept && args->at < record->bytes && isprint(record->data[args->at])) {
		struct span span = print_binary_take_text(args);

		conv->type = 's';
		binary_put(out, record, conv, &span, 0);
		return at + more;
	}
	conv->type = 'p';
	if (kept && more && *at != 'K' && *at != 'e')
		conv->more[0] = *at;
	binary_put(out, record, conv, NULL,
		   args_take_number(args, record->printer->long_bytes, false));
	return at + more;
}

/* One conversion; 'at' is behind its '%'. Returns what follows it. */
static const char *put_one(struct outbuf *out, struct args *args, const char *at)
{
	struct conv conv = { .width = -1, .precision = -1 };
	struct span span;
	uint32_t bytes;

	at = read_flags(at, &conv);
	if (*at == '*' || isdigit((unsigned char)*at))
		at = read_width(at, args, &conv.width);
	if (conv.width < -1) {
		conv.left = true;
		conv.width = conv.width < -MAX_WIDTH ? MAX_WIDTH : -conv.width;
	}
	if (*at == '.')
		at = read_width(at + 1, args, &conv.precision);
	at = read_size(at, args->record->printer->long_bytes, &bytes);
	if (*at == '\0')
		return at;
	conv.type = *at == 'i' ? 'd' : *at;
	conv.bits = (uint8_t)(8 * bytes);
	switch (conv.type) {
	case 's':
		span = print_binary_take_text(args);
		binary_put(out, args->record, &conv, &span, 0);
		break;
	case 'p':
		return print_binary_put_pointer(out, args, at + 1, &conv);
	case 'c':
		binary_put(out, args->record, &conv, NULL, args_take_number(args, 1, false));
		break;
	case 'd':
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		binary_put(out, args->record, &conv, NULL,
			   args_take_number(args, bytes, conv.type == 'd'));
		break;
	default:
		outbuf_foreign(out, at, 1);
		break;
	}
	return at + 1;
}

/* A line break within the text is a blank. */
static void print_binary_put_literal(struct outbuf *out, const char *text, size_t bytes)
{
	while (bytes) {
		const char *line = memchr(text, '\n', bytes);
		size_t part = line ? (size_t)(line - text) : bytes;

		outbuf_foreign(out, text, part);
		if (!line)
			return;
		outbuf_char(out, ' ');
		text += part + 1;
		bytes -= part + 1;
	}
}

static void put_format(struct outbuf *out, struct args *args, const char *format)
{
	size_t bytes = strlen(format);
	const char *end;

	/* A line break at the end is that of the line. */
	while (bytes && format[bytes - 1] == '\n')
		bytes--;
	end = format + bytes;
	while (format < end) {
		const char *percent = memchr(format, '%', (size_t)(end - format));

		if (!percent)
			percent = end;
		print_binary_put_literal(out, format, (size_t)(percent - format));
		if (percent == end)
			return;
		if (percent[1] == '%') {
			outbuf_char(out, '%');
			format = percent + 2;
		} else {
			format = put_one(out, args, percent + 1);
		}
	}
}

static uint64_t print_binary_field_number(const struct print_record *record,
					  const struct print_field *field)
{
	if (field->offset > record->bytes || field->bytes > record->bytes - field->offset)
		return 0;
	return print_load(record->printer, record->data + field->offset, field->bytes, false);
}

bool print_binary(struct outbuf *out, const struct print_record *record,
		  const struct print_event *event)
{
	const struct print_field *ip = print_event_field(event, "ip");
	const struct print_field *fmt = print_event_field(event, "fmt");
	struct args args = { .record = record };
	const char *format;

	if (!ip || !fmt || record->bytes < event->need_bytes)
		return false;
	print_symbol(out, record->printer, print_binary_field_number(record, ip), false);
	outbuf_string(out, ": ");
	format = record->printer->facts ? facts_printk(record->printer->facts,
						       print_binary_field_number(record, fmt))
					: NULL;
	args.at = fmt->offset + fmt->bytes; /* the arguments follow it */
	if (args.at > record->bytes)
		args.at = record->bytes;
	if (format)
		put_format(out, &args, format);
	else
		outbuf_string(out, "(its format is not known)");
	return true;
}
