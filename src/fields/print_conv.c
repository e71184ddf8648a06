/*
 * print_conv.c - one conversion of a print format, of any kind.
 *
 * Not the fast way: print.c has that, for the conversions that nearly all events are
 * made of, and keeps the texts that are made here.
 */
#include <string.h>

#include "base/digits.h"
#include "base/outbuf.h"
#include "event/facts.h"
#include "fields/print_int.h"
#include "fields/print_printer.h"

#define MAX_WIDTH 1000

void print_symbol(struct outbuf *out, const struct printer *printer, uint64_t address,
		  bool with_offset)
{
	const struct fact_symbol *symbol =
		printer->facts ? facts_symbol_at(printer->facts, address) : NULL;

	outbuf_room(out);
	if (!symbol) {
		memcpy(out->at, "0x", 2);
		out->at = digits_hex(out->at + 2, address);
		return;
	}
	outbuf_foreign(out, symbol->name, strlen(symbol->name));
	if (!with_offset)
		return;
	outbuf_room(out);
	memcpy(out->at, "+0x", 3);
	out->at = digits_hex(out->at + 3, address - symbol->address);
}

static void put_hex_value(struct outbuf *out, uint64_t value)
{
	outbuf_room(out);
	memcpy(out->at, "0x", 2);
	out->at = digits_hex(out->at + 2, value);
}

/* As trace_print_flags_seq() of the kernel does. */
static void put_flags(struct outbuf *out, const struct print_record *record,
		      const struct node *node)
{
	uint64_t flags = print_number(record, node->a);
	bool any = false;

	for (uint32_t i = 0; i < node->name_count && flags; i++) {
		const struct node_name *name = &node->names[i];

		if (!name->known || (flags & name->value) != name->value)
			continue;
		flags &= ~name->value;
		if (any)
			outbuf_foreign(out, node->text, node->text_bytes);
		outbuf_foreign(out, name->text, name->text_bytes);
		any = true;
	}
	if (!flags)
		return;
	if (any)
		outbuf_foreign(out, node->text, node->text_bytes);
	put_hex_value(out, flags);
}

static void put_symbolic(struct outbuf *out, const struct print_record *record,
			 const struct node *node)
{
	uint64_t value = print_number(record, node->a);

	for (uint32_t i = 0; i < node->name_count; i++) {
		const struct node_name *name = &node->names[i];

		if (name->known && name->value == value) {
			outbuf_foreign(out, name->text, name->text_bytes);
			return;
		}
	}
	put_hex_value(out, value);
}

/* Bytes in hexadecimal with 'between' among them; '\0' = nothing. */
static void put_hex(struct outbuf *out, struct span span, uint64_t count, char between)
{
	if (!span.data || count > span.bytes)
		count = span.data ? span.bytes : 0;
	for (uint64_t i = 0; i < count; i++) {
		outbuf_room(out);
		if (i && between)
			*out->at++ = between;
		*out->at++ = "0123456789abcdef"[span.data[i] >> 4];
		*out->at++ = "0123456789abcdef"[span.data[i] & 15];
	}
}

static void put_array(struct outbuf *out, const struct print_record *record,
		      const struct node *node)
{
	struct span span = print_span(record, node->a);
	uint64_t count = print_number(record, node->b), bytes = print_number(record, node->c);

	outbuf_char(out, '{');
	if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
		count = 0;
	else if (count > span.bytes / bytes)
		count = span.bytes / bytes;
	for (uint64_t i = 0; i < count; i++) {
		if (i)
			outbuf_char(out, ',');
		put_hex_value(out, print_load(record->printer, span.data + i * bytes,
					      (uint32_t)bytes, false));
	}
	outbuf_char(out, '}');
}

static void conv_put_text(struct outbuf *out, struct span span)
{
	size_t bytes = strnlen((const char *)span.data, span.bytes);

	/* A text that ends its line, as those of trace_marker do. */
	while (bytes && span.data[bytes - 1] == '\n')
		bytes--;
	outbuf_foreign(out, (const char *)span.data, bytes);
}

/*
 * A pointer where a string should be: what it points to was not recorded, unless it is one of
 * the texts of trace_printk().
 */
static void print_conv_put_pointer(struct outbuf *out, const struct printer *printer,
				   uint64_t value)
{
	const char *text = printer->facts ? facts_printk(printer->facts, value) : NULL;

	if (text) {
		conv_put_text(out, (struct span){ (const uint8_t *)text, (uint32_t)strlen(text) });
		return;
	}
	if (value == 0) {
		outbuf_string(out, "(null)");
		return;
	}
	outbuf_room(out);
	out->at = digits_hex(out->at, value);
}

void print_string(struct outbuf *out, const struct print_record *record, const struct node *node)
{
	bool big_endian = record->printer->big_endian;
	struct span span;

	switch (node->kind) {
	case NODE_COND:
		print_string(out, record, print_number(record, node->a) ? node->b : node->c);
		break;
	case NODE_CAST:
		print_string(out, record, node->a);
		break;
	case NODE_FLAGS:
		put_flags(out, record, node);
		break;
	case NODE_SYMBOL:
		put_symbolic(out, record, node);
		break;
	case NODE_HEX:
	case NODE_HEX_STRING:
		put_hex(out, print_span(record, node->a), print_number(record, node->b),
			node->kind == NODE_HEX ? ' ' : '\0');
		break;
	case NODE_ARRAY:
		put_array(out, record, node);
		break;
	case NODE_BITMASK:
		print_bitmask(out, print_field_span(record, node->field), big_endian);
		break;
	case NODE_CPUMASK:
		print_bit_list(out, print_field_span(record, node->field), UINT64_MAX, big_endian);
		break;
	case NODE_FIELD:
		if (!node->field->is_array) {
			print_conv_put_pointer(out, record->printer, print_number(record, node));
			break;
		}
		/* fall through */
	default:
		span = print_span(record, node);
		if (span.data)
			conv_put_text(out, span);
		else if (node->kind == NODE_NUMBER)
			print_conv_put_pointer(out, record->printer, node->number);
		break;
	}
}

/* A conversion whose width and precision are known. */
struct layout {
	int64_t width;
	int64_t precision; /* -1 = none */
	bool left;
};

static int64_t print_conv_bounded(uint64_t value)
{
	int32_t number = (int32_t)value;

	return number > MAX_WIDTH ? MAX_WIDTH : number < -MAX_WIDTH ? -MAX_WIDTH : number;
}

static struct layout print_conv_layout_of(const struct print_record *record,
					  const struct conv *conv)
{
	struct layout layout = { conv->width, conv->precision, conv->left };

	if (conv->width_node)
		layout.width = print_conv_bounded(print_number(record, conv->width_node));
	if (conv->precision_node)
		layout.precision = print_conv_bounded(print_number(record, conv->precision_node));
	if (conv->width_node && layout.width < 0) {
		layout.left = true;
		layout.width = -layout.width;
	}
	return layout;
}

/* 'value' in base 8, 10 or 16; returns where its digits begin, before 'end'. */
static char *digits_before(char *end, uint64_t value, const struct conv *conv)
{
	const char *set = conv->type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
	uint32_t base = conv->type == 'o' ? 8 : conv->type == 'x' || conv->type == 'X' ? 16 : 10;

	do {
		*--end = set[value % base];
		value /= base;
	} while (value);
	return end;
}

static void conv_put_number(struct outbuf *out, const struct conv *conv,
			    const struct layout *layout, uint64_t value)
{
	bool is_negative = false;
	char digits[32], sign[4] = "";
	char *end = digits + sizeof(digits), *start;
	int64_t zeros, bytes;

	if (conv->type == 'd') {
		int64_t number = conv->bits == 64   ? (int64_t)value
				 : conv->bits == 32 ? (int32_t)value
				 : conv->bits == 16 ? (int16_t)value
						    : (int8_t)value;

		is_negative = number < 0;
		value = is_negative ? 0 - (uint64_t)number : (uint64_t)number;
		strcpy(sign, is_negative ? "-" : conv->plus ? "+" : conv->space ? " " : "");
	} else if (conv->bits < 64) {
		value &= (UINT64_C(1) << conv->bits) - 1;
	}
	start = digits_before(end, value, conv);
	if (layout->precision == 0 && value == 0)
		start = end;
	if (conv->alt && value && (conv->type == 'x' || conv->type == 'X'))
		strcpy(sign, conv->type == 'x' ? "0x" : "0X");
	if (conv->alt && conv->type == 'o' && (start == end || *start != '0'))
		*--start = '0';
	bytes = end - start;
	zeros = layout->precision > bytes ? layout->precision - bytes : 0;
	if (conv->zero && !layout->left && layout->precision < 0 &&
	    layout->width > bytes + (int64_t)strlen(sign))
		zeros = layout->width - bytes - (int64_t)strlen(sign);
	bytes += zeros + (int64_t)strlen(sign);
	outbuf_blanks(out, layout->left ? 0 : layout->width - bytes);
	outbuf_string(out, sign);
	for (; zeros > 0; zeros--)
		outbuf_char(out, '0');
	outbuf_put(out, start, (size_t)(end - start));
	outbuf_blanks(out, layout->left ? layout->width - bytes : 0);
}

/* Pad or cut what 'made' holds. */
static void print_conv_put_padded(struct outbuf *out, const struct layout *layout,
				  const struct outbuf *made)
{
	int64_t bytes = (int64_t)outbuf_bytes(made);

	if (layout->precision >= 0 && bytes > layout->precision)
		bytes = layout->precision;
	outbuf_blanks(out, layout->left ? 0 : layout->width - bytes);
	outbuf_put(out, made->start, (size_t)bytes);
	outbuf_blanks(out, layout->left ? layout->width - bytes : 0);
}

static void put_pointer_conv(struct outbuf *out, const struct print_record *record,
			     const struct conv *conv, const struct layout *layout)
{
	const struct printer *printer = record->printer;
	struct span span;

	switch (conv->more[0]) {
	case 'S':
	case 'F':
	case 'B':
	case 's':
	case 'f':
		print_symbol(out, printer, print_number(record, conv->arg),
			     conv->more[0] != 's' && conv->more[0] != 'f');
		return;
	case 'b':
		span = print_span(record, conv->arg);
		if (conv->more[1] == 'l')
			print_bit_list(out, span, layout->width > 0 ? (uint64_t)layout->width : 32,
				       printer->big_endian);
		else
			print_bitmask(out, span, printer->big_endian);
		return;
	case 'h':
		put_hex(out, print_span(record, conv->arg),
			layout->width > 0 ? (uint64_t)layout->width : 1,
			conv->more[1] == 'C'   ? ':'
			: conv->more[1] == 'D' ? '-'
			: conv->more[1] == 'N' ? '\0'
					       : ' ');
		return;
	case 'x': {
		struct conv plain = { .type = 'x', .bits = 64, .zero = true };
		struct layout wide = { (int64_t)printer->long_bytes * 2, -1, false };

		conv_put_number(out, &plain, &wide, print_number(record, conv->arg));
		return;
	}
	default:
		break;
	}
	if (print_address(out, conv->more, print_span(record, conv->arg), printer->big_endian))
		return;
	if (print_number(record, conv->arg) == 0)
		outbuf_string(out, "(nil)");
	else
		put_hex_value(out, print_number(record, conv->arg));
}

void print_conv(struct outbuf *out, const struct print_record *record, const struct conv *conv)
{
	struct layout layout = print_conv_layout_of(record, conv);
	struct outbuf made;

	switch (conv->type) {
	case 's':
		if (layout.width <= 0 && layout.precision < 0) {
			print_string(out, record, conv->arg);
			break;
		}
		outbuf_to_memory(&made);
		print_string(&made, record, conv->arg);
		print_conv_put_padded(out, &layout, &made);
		outbuf_fini(&made);
		break;
	case 'p':
		put_pointer_conv(out, record, conv, &layout);
		break;
	case 'c': {
		char c = (char)print_number(record, conv->arg);

		outbuf_blanks(out, layout.left ? 0 : layout.width - 1);
		outbuf_foreign(out, &c, 1);
		outbuf_blanks(out, layout.left ? layout.width - 1 : 0);
		break;
	}
	default:
		conv_put_number(out, conv, &layout, print_number(record, conv->arg));
		break;
	}
}
