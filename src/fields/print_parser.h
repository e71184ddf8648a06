/*
 * print_parser.h - what the files that read a print format share.
 *
 *	print_parse.c   the format string and its conversions
 *	print_expr.c    expressions of C
 *	print_call.c    __print_symbolic() and its like
 *	print_type.c    types and casts
 *	print_pool.c    memory
 */
#ifndef FIELDS_PRINT_PARSER_H
#define FIELDS_PRINT_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fields/print_int.h"

#define PARSE_MAX_NODES 20000u /* of one format, and to work out one value */
#define PARSE_LOCALS	16u

/* A variable of a statement expression. */
struct local {
	const char *name;
	uint32_t name_bytes;
	struct node *value;
};

struct parser {
	struct pool *pool;
	const struct print_event *event;
	uint32_t long_bits;
	const char *at;
	uint32_t depth;
	uint32_t node_count;
	struct local locals[PARSE_LOCALS];
	uint32_t local_count;
	const char *why; /* set once: it cannot be read */
};

/* print_parse.c: the next words. Each skips blanks. */
struct node *parse_wrong(struct parser *parser, const char *why); /* notes why; returns NULL */
void parse_blanks(struct parser *parser);
bool parse_take(struct parser *parser, const char *token); /* when it comes next */
bool parse_need(struct parser *parser, const char *token);
uint32_t parse_word(const char *at); /* its length; 0 = there is none */
bool parse_is(const char *at, uint32_t bytes, const char *word);
/* Strings next to each other, joined. */
bool parse_string(struct parser *parser, const char **out_text, uint32_t *out_bytes);
char parse_escaped(const char **at); /* the character behind a backslash; moves behind it */
struct node *parse_node(struct parser *parser, enum node_kind kind);
struct node *parse_number_node(struct parser *parser, uint64_t value, uint32_t bits,
			       bool is_signed);

/* print_expr.c; NULL with parser->why when it cannot be read. */
struct node *parse_expression(struct parser *parser);
/* REC-> or __get_str(, and then this name. */
struct node *parse_field(struct parser *parser, enum node_kind kind);

/* print_call.c: a call, behind its name. *out_known: is it one that is known? */
struct node *parse_call(struct parser *parser, const char *name, uint32_t bytes, bool *out_known);

/* print_type.c */
struct parse_type {
	uint32_t bits;
	bool is_signed;
	bool is_pointer;
	uint32_t element_bytes; /* of what is pointed to */
};

/* A type in front of ")" or a name. False, and nothing taken, when there is none. */
bool parse_type(struct parser *parser, struct parse_type *out_type);
/* "(type)": does a cast begin? */
bool parse_cast(struct parser *parser, struct parse_type *out_type);

#endif
