/*
 * parse_int.h - the parser of TSDL. Only for its files:
 *
 *	ctf_lex.c     words, numbers and marks
 *	ctf_names.c   scopes: names of types
 *	ctf_parse.c   types and their declarations
 *	ctf_attributes.c  integers, floats, strings
 *	ctf_blocks.c  trace, env, clock, stream, event
 *
 * Every function that returns bool returns false after it has noted what is wrong.
 */
#ifndef READ_CTF_PARSE_INT_H
#define READ_CTF_PARSE_INT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/ctf/lex.h"
#include "read/ctf/meta.h"
#include "read/ctf/type.h"

struct err;

/* Fields of a struct or variant that is being declared. */
struct ctf_members {
	struct ctf_member *items; /* owned while it grows */
	size_t count, cap;
};

struct ctf_parser {
	struct ctf_lexer lexer;
	struct ctf_token token; /* the one to look at */
	struct ctf_meta *meta;
	struct err *err;
	struct ctf_alias **aliases; /* by hash; the innermost first */
	struct ctf_alias *newest;
	uint32_t scope;
	uint32_t depth;
};

/* ctf_names.c */
bool ctf_names_init(struct ctf_parser *parser);
void ctf_names_fini(struct ctf_parser *parser);
void ctf_scope_begin(struct ctf_parser *parser);
void ctf_scope_end(struct ctf_parser *parser);
/* Name a type in the current scope. */
bool ctf_name_add(struct ctf_parser *parser, const char *name, struct ctf_type *type);
struct ctf_type *ctf_name_find(const struct ctf_parser *parser, const char *name);

/* ctf_parse.c */
/* Sets err: a mistake in the metadata at a line, with 'place' before the word "line". Returns false. */
bool ctf_wrong_at(struct err *err, const char *place, uint32_t line, const char *format,
		  va_list args) __attribute__((format(printf, 4, 0)));
bool ctf_wrong(struct ctf_parser *parser, uint32_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool ctf_advance(struct ctf_parser *parser);
bool ctf_is_mark(const struct ctf_parser *parser, char mark);
bool ctf_is_word(const struct ctf_parser *parser, const char *word);
/* A word, or a literal of the same text: a value may be either. */
bool ctf_is_value(const struct ctf_parser *parser, const char *word);
bool ctf_expect(struct ctf_parser *parser, char mark);
bool ctf_accept(struct ctf_parser *parser, char mark); /* was it there? */
int ctf_next_entry(struct ctf_parser *parser); /* of a block: 1, 0 at its '}', or -EBADMSG */
/* A number with its sign; 'negative' numbers are the 64 bits in two's complement. */
bool ctf_parse_number(struct ctf_parser *parser, uint64_t *out_number, bool *out_negative);
bool ctf_parse_unsigned(struct ctf_parser *parser, const char *what, uint64_t *out_number);
bool ctf_parse_signed(struct ctf_parser *parser, const char *what, int64_t *out_number);
bool ctf_parse_bool(struct ctf_parser *parser, bool *out_bool);
bool ctf_parse_text(struct ctf_parser *parser, const char *what, const char **out_text);
bool ctf_skip_value(struct ctf_parser *parser);
/* "a.b.c", joined. */
bool ctf_parse_path(struct ctf_parser *parser, const char **out_path);
struct ctf_type *ctf_new_type(struct ctf_parser *parser, enum ctf_kind kind);
bool ctf_is_name(const struct ctf_parser *parser);   /* a word or a literal */
bool ctf_is_number(const struct ctf_parser *parser); /* with a sign or in brackets, too */
/* A whole type behind ':='. */
bool ctf_parse_type(struct ctf_parser *parser, struct ctf_type **out_type);
/* typealias, typedef, a named struct, variant or enum, with its ';'. False and no error when
 * it is none of them: *out_any says so. */
bool ctf_parse_declaration(struct ctf_parser *parser, bool *out_any);
bool ctf_order_of(struct ctf_parser *parser, uint8_t *out_order);

/* ctf_attributes.c: from the keyword on. */
bool ctf_parse_integer(struct ctf_parser *parser, struct ctf_type **out_type);
bool ctf_parse_float(struct ctf_parser *parser, struct ctf_type **out_type);
bool ctf_parse_string(struct ctf_parser *parser, struct ctf_type **out_type);
bool ctf_parse_align(struct ctf_parser *parser, uint32_t *out_align);

/* ctf_blocks.c: everything, up to the end. */
bool ctf_parse_blocks(struct ctf_parser *parser);

#endif
