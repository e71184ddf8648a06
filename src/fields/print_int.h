/*
 * print_int.h - a print format as read and compiled. Only for print*.c.
 *
 *	print_parse.c    text to a tree of nodes; see print_parser.h
 *	print_eval.c     what a node is worth in a record: a number or bytes
 *	print_conv.c     one conversion of the format with its argument, any of them
 *	print_address.c  addresses of networks, sets of bits
 *	print_binary.c   trace_printk(): a format of the kernel's, its arguments in the record
 *	print_program.c  the conversions that are fast, and texts that are kept
 *	print.c          the events of a trace and their fields
 */
#ifndef FIELDS_PRINT_INT_H
#define FIELDS_PRINT_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/format_text.h"
#include "fields/print.h"

/* What a node is. Its arguments are a, b, c. */
enum node_kind {
	NODE_NUMBER,
	NODE_TEXT,    /* a literal string */
	NODE_FIELD,   /* REC->field; an array is the address of its bytes */
	NODE_ELEMENT, /* a[b] */
	NODE_DYNAMIC, /* __get_str(), __get_dynamic_array() and their like: bytes of 'field' */
	NODE_DYNAMIC_BYTES, /* __get_dynamic_array_len() */
	NODE_UNARY,	    /* op a */
	NODE_BINARY,	    /* a op b */
	NODE_COND,	    /* a ? b : c */
	NODE_CAST,	    /* (type)a: the node's own bits and sign */
	NODE_FLAGS,	    /* __print_flags(a, text, names) */
	NODE_SYMBOL,	    /* __print_symbolic(a, names) */
	NODE_HEX,	    /* __print_hex(a, b) */
	NODE_HEX_STRING,    /* __print_hex_str(a, b) */
	NODE_ARRAY,	    /* __print_array(a, b, c) */
	NODE_BITMASK,	    /* __get_bitmask(field) */
	NODE_CPUMASK,	    /* __get_cpumask(field) */
};

/* Operators that have two characters; the others are themselves. */
enum {
	OP_SHL = 128,
	OP_SHR,
	OP_LE,
	OP_GE,
	OP_EQ,
	OP_NE,
	OP_AND,
	OP_OR
};

struct node_name { /* { value, "text" } */
	uint64_t value;
	bool known; /* false: a name that the format does not explain; never matches */
	const char *text;
	uint32_t text_bytes;
};

struct node {
	uint8_t kind; /* enum node_kind */
	uint8_t op;
	uint8_t bits; /* of the value, as C has it: 8, 16, 32, 64 */
	bool is_signed;
	bool is_address;	/* a pointer: what it points to is not in the record */
	uint32_t element_bytes; /* (type *)a, sizeof: of one element; 0 = not known */
	uint64_t number;
	const struct print_field *field;
	const char *text;
	uint32_t text_bytes;
	struct node *a, *b, *c;
	struct node_name *names;
	uint32_t name_count;
	uint32_t depth;	 /* of the tree under it */
	uint32_t weight; /* nodes to work it out, shared ones as often as they are used */
};

/* %-08lx and its argument. */
struct conv {
	char type;    /* 'd', 'x', 'p' ...; 'i' is 'd' */
	char more[8]; /* what follows %p: "S", "I6c" */
	bool left, zero, alt, plus, space;
	uint8_t bits;		 /* of a number */
	int32_t width;		 /* -1 = none */
	int32_t precision;	 /* -1 = none */
	struct node *width_node; /* '*' */
	struct node *precision_node;
	struct node *arg;
};

/* A format, read. */
struct parsed {
	struct conv *convs;    /* all of the pool */
	const char **literals; /* before each conversion, and behind the last */
	uint32_t *literal_bytes;
	uint32_t conv_count;
};

struct pool; /* nodes, names and texts of all events; freed at once */

struct pool *pool_new(void);
void pool_free(struct pool *pool);
void *pool_take(struct pool *pool, size_t bytes); /* zeroed, aligned */

/*
 * Read the print format in 'text', a format file of tracefs. Returns false with
 * *out_why, a literal, when it is not understood.
 */
bool print_parse(struct pool *pool, const char *text, const struct print_event *event,
		 uint32_t long_bytes, struct parsed *out_parsed, const char **out_why);

/* One record to be printed. */
struct print_record {
	const struct printer *printer;
	const uint8_t *data;
	uint32_t bytes;
};

struct span {
	const uint8_t *data; /* within the record or a literal; NULL = there is nothing */
	uint32_t bytes;
};

/* A number of 'bytes' (1, 2, 4, 8; others give 0) in the byte order of the trace. */
uint64_t print_load(const struct printer *printer, const uint8_t *at, uint32_t bytes,
		    bool is_signed);

/* The value of a node as a number of 64 bits, extended by its own sign. */
uint64_t print_number(const struct print_record *record, const struct node *node);

/* The bytes that a node points to. */
struct span print_span(const struct print_record *record, const struct node *node);

/* The bytes of a field, cut to the record. */
struct span print_field_span(const struct print_record *record, const struct print_field *field);

/* Anything that %s may be given. */
void print_string(struct outbuf *out, const struct print_record *record, const struct node *node);

/*
 * The text of a record of ftrace's bprint. False when its format is not known, or it is no
 * such event.
 */
bool print_binary(struct outbuf *out, const struct print_record *record,
		  const struct print_event *event);

/* One conversion, whatever it is. */
void print_conv(struct outbuf *out, const struct print_record *record, const struct conv *conv);

/* Name and offset of a kernel function. */
void print_symbol(struct outbuf *out, const struct printer *printer, uint64_t address,
		  bool with_offset);

/* %pI4, %pI6c, %pISpc, %pM, %pU and their like. False when 'more' is none of them. */
bool print_address(struct outbuf *out, const char *more, struct span span, bool big_endian);

void print_bitmask(struct outbuf *out, struct span span, bool big_endian);
void print_bit_list(struct outbuf *out, struct span span, uint64_t bits, bool big_endian);

#endif
