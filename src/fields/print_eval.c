/*
 * print_eval.c - what an expression of a print format is worth in a record.
 *
 * Values are 64 bits, extended by the sign of their own type; each operation is done in
 * the type that C gives it. What cannot be worked out (outside of the record, divided by
 * zero) is 0.
 */
#include <string.h>

#include "base/order.h"
#include "read/kernel/pages.h"
#include "fields/print_int.h"
#include "fields/print_printer.h"

uint64_t print_load(const struct printer *printer, const uint8_t *at, uint32_t bytes,
		    bool is_signed)
{
	return order_load(at, bytes, is_signed, order_swaps(printer->big_endian));
}

/* 'value' in a type of C. */
static uint64_t in_type(uint64_t value, uint32_t bits, bool is_signed)
{
	switch (bits) {
	case 8:
		return is_signed ? (uint64_t)(int8_t)value : (uint8_t)value;
	case 16:
		return is_signed ? (uint64_t)(int16_t)value : (uint16_t)value;
	case 32:
		return is_signed ? (uint64_t)(int32_t)value : (uint32_t)value;
	default:
		return value;
	}
}

/* The bytes that a 32-bit word of length and offset points to. */
static struct span located(const struct print_record *record, const struct print_field *field)
{
	uint32_t word, offset, bytes;

	if (record->bytes < 4 || field->offset > record->bytes - 4)
		return (struct span){ 0 };
	word = page_word(record->data + field->offset, record->printer->big_endian);
	offset = word & 0xffff;
	bytes = word >> 16;
	if (field->kind == FORMAT_REL_LOC)
		offset += field->offset + 4;
	if (offset > record->bytes || bytes > record->bytes - offset)
		return (struct span){ 0 };
	return (struct span){ record->data + offset, bytes };
}

struct span print_field_span(const struct print_record *record, const struct print_field *field)
{
	uint32_t left;

	if (field->kind == FORMAT_DATA_LOC || field->kind == FORMAT_REL_LOC)
		return located(record, field);
	if (field->offset > record->bytes)
		return (struct span){ 0 };
	left = record->bytes - field->offset;
	if (field->bytes && field->bytes < left)
		left = field->bytes;
	return (struct span){ record->data + field->offset, left };
}

static struct span print_eval_behind(struct span span, uint64_t bytes)
{
	if (!span.data || bytes > span.bytes)
		return (struct span){ 0 };
	return (struct span){ span.data + bytes, span.bytes - (uint32_t)bytes };
}

struct span print_span(const struct print_record *record, const struct node *node)
{
	switch (node->kind) {
	case NODE_TEXT:
		return (struct span){ (const uint8_t *)node->text, node->text_bytes };
	case NODE_FIELD:
	case NODE_DYNAMIC:
		return print_field_span(record, node->field);
	case NODE_CAST:
		return print_span(record, node->a);
	case NODE_COND:
		return print_span(record, print_number(record, node->a) ? node->b : node->c);
	case NODE_ELEMENT: {
		uint64_t index = print_number(record, node->b);

		return index > UINT32_MAX ? (struct span){ 0 }
					  : print_eval_behind(print_span(record, node->a),
							      index * node->element_bytes);
	}
	case NODE_BINARY:
		return node->op == '+' ? print_eval_behind(print_span(record, node->a),
							   print_number(record, node->b))
				       : (struct span){ 0 };
	default:
		return (struct span){ 0 };
	}
}

static uint64_t print_eval_field_number(const struct print_record *record,
					const struct print_field *field)
{
	if (field->is_array) /* an address: all that matters is whether it is 0 */
		return print_field_span(record, field).bytes ? field->offset : 0;
	if (field->bytes > record->bytes || field->offset > record->bytes - field->bytes)
		return 0;
	return print_load(record->printer, record->data + field->offset, field->bytes,
			  field->is_signed);
}

static uint64_t print_eval_divide(uint64_t a, uint64_t b, bool is_signed, bool rest)
{
	if (b == 0)
		return 0;
	if (!is_signed)
		return rest ? a % b : a / b;
	if (b == UINT64_MAX) /* the quotient may not fit */
		return rest ? 0 : 0 - a;
	return rest ? (uint64_t)((int64_t)a % (int64_t)b) : (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t values_compare(uint8_t op, uint64_t a, uint64_t b, bool is_signed)
{
	bool less = is_signed ? (int64_t)a < (int64_t)b : a < b;

	switch (op) {
	case OP_EQ:
		return a == b;
	case OP_NE:
		return a != b;
	case '<':
		return less;
	case OP_LE:
		return less || a == b;
	case '>':
		return !less && a != b;
	default:
		return !less;
	}
}

static uint64_t shift(const struct node *node, uint64_t a, uint64_t b)
{
	b &= node->bits - 1u;
	if (node->op == OP_SHL)
		return a << b;
	return node->is_signed ? (uint64_t)((int64_t)a >> b) : a >> b;
}

static uint64_t print_eval_binary(const struct print_record *record, const struct node *node)
{
	uint64_t a = print_number(record, node->a), b;
	uint32_t bits = node->a->bits > node->b->bits ? node->a->bits : node->b->bits;
	bool is_signed;

	if (node->op == OP_AND || node->op == OP_OR)
		return (a != 0) == (node->op == OP_OR) ? node->op == OP_OR
						       : print_number(record, node->b) != 0;
	b = print_number(record, node->b);
	if (node->op == OP_SHL || node->op == OP_SHR)
		return shift(node, a, b);
	if (bits < 32)
		bits = 32;
	/* Of the wider operand; narrower than int is int. */
	is_signed = (node->a->is_signed || node->a->bits < bits) &&
		    (node->b->is_signed || node->b->bits < bits);
	a = in_type(a, bits, is_signed);
	b = in_type(b, bits, is_signed);
	switch (node->op) {
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	case '/':
	case '%':
		return print_eval_divide(a, b, is_signed, node->op == '%');
	case '&':
		return a & b;
	case '|':
		return a | b;
	case '^':
		return a ^ b;
	default:
		return values_compare(node->op, a, b, is_signed);
	}
}

static uint64_t print_eval_unary(const struct print_record *record, const struct node *node)
{
	uint64_t a = print_number(record, node->a);

	switch (node->op) {
	case '!':
		return !a;
	case '~':
		return ~a;
	default:
		return 0 - a;
	}
}

uint64_t print_number(const struct print_record *record, const struct node *node)
{
	struct span span;

	switch (node->kind) {
	case NODE_NUMBER:
		return node->number;
	case NODE_FIELD:
		return print_eval_field_number(record, node->field);
	case NODE_ELEMENT:
		span = print_span(record, node);
		return span.bytes < node->element_bytes
			       ? 0
			       : print_load(record->printer, span.data, node->element_bytes,
					    node->is_signed);
	case NODE_DYNAMIC:
	case NODE_DYNAMIC_BYTES:
		return print_field_span(record, node->field).bytes;
	case NODE_UNARY:
		return in_type(print_eval_unary(record, node), node->bits, node->is_signed);
	case NODE_BINARY:
		return in_type(print_eval_binary(record, node), node->bits, node->is_signed);
	case NODE_COND:
		return in_type(print_number(record,
					    print_number(record, node->a) ? node->b : node->c),
			       node->bits, node->is_signed);
	case NODE_CAST:
		return in_type(print_number(record, node->a), node->bits, node->is_signed);
	case NODE_TEXT:
		return 1;
	default:
		return 0;
	}
}
