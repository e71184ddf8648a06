/*
 * ctf_parse.c - types of TSDL: integers to variants, and the names they are given.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "read/ctf_parse_int.h"

#define MAX_DIMENSIONS 16u
#define MAX_WORDS      8u /* in the name of a type: "unsigned long long int" */

bool ctf_wrong(struct ctf_parser *parser, uint32_t line, const char *format, ...)
{
	AUTO_FREE char *safe = NULL;
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	safe = text_escaped(text);
	(void)err_set(parser->err, -EBADMSG, "metadata line %u: %s", line, safe);
	return false;
}

bool ctf_advance(struct ctf_parser *parser)
{
	parser->token = ctf_lex_next(&parser->lexer);
	if (parser->token.kind == CTF_TOKEN_WRONG)
		return ctf_wrong(parser, parser->token.line, "%s", parser->token.text);
	return true;
}

bool ctf_is_mark(const struct ctf_parser *parser, char mark)
{
	return parser->token.kind == CTF_TOKEN_MARK && parser->token.mark == mark;
}

bool ctf_is_word(const struct ctf_parser *parser, const char *word)
{
	return parser->token.kind == CTF_TOKEN_WORD && strcmp(parser->token.text, word) == 0;
}

bool ctf_expect(struct ctf_parser *parser, char mark)
{
	if (!ctf_is_mark(parser, mark))
		return ctf_wrong(parser, parser->token.line, "'%c' is missing", mark);
	return ctf_advance(parser);
}

bool ctf_accept(struct ctf_parser *parser, char mark)
{
	return ctf_is_mark(parser, mark) && ctf_advance(parser);
}

bool ctf_parse_number(struct ctf_parser *parser, uint64_t *out_number, bool *out_negative)
{
	bool negative = ctf_is_mark(parser, '-');

	if ((negative || ctf_is_mark(parser, '+')) && !ctf_advance(parser))
		return false;
	if (parser->token.kind != CTF_TOKEN_NUMBER)
		return ctf_wrong(parser, parser->token.line, "a number is missing");
	if (negative && parser->token.number > (uint64_t)INT64_MAX + 1)
		return ctf_wrong(parser, parser->token.line, "a number is below -2^63");
	*out_number = negative ? -parser->token.number : parser->token.number;
	*out_negative = negative && *out_number;
	return ctf_advance(parser);
}

bool ctf_parse_unsigned(struct ctf_parser *parser, const char *what, uint64_t *out_number)
{
	if (parser->token.kind != CTF_TOKEN_NUMBER)
		return ctf_wrong(parser, parser->token.line, "%s must be a number of 0 or more",
				 what);
	*out_number = parser->token.number;
	return ctf_advance(parser);
}

bool ctf_parse_signed(struct ctf_parser *parser, const char *what, int64_t *out_number)
{
	uint32_t line = parser->token.line;
	uint64_t number;
	bool negative;

	if (!ctf_parse_number(parser, &number, &negative))
		return false;
	if (!negative && number > INT64_MAX)
		return ctf_wrong(parser, line, "%s is too large", what);
	*out_number = (int64_t)number;
	return true;
}

bool ctf_parse_text(struct ctf_parser *parser, const char *what, const char **out_text)
{
	if (parser->token.kind != CTF_TOKEN_TEXT)
		return ctf_wrong(parser, parser->token.line, "%s must be a literal string", what);
	*out_text = parser->token.text;
	return ctf_advance(parser);
}

bool ctf_parse_path(struct ctf_parser *parser, const char **out_path)
{
	const char *path = NULL;

	do {
		AUTO_FREE char *joined = NULL;

		if (parser->token.kind != CTF_TOKEN_WORD)
			return ctf_wrong(parser, parser->token.line,
					 "the name of a field is missing");
		joined = path ? xasprintf("%s.%s", path, parser->token.text)
			      : xstrdup(parser->token.text);
		if (strlen(joined) > 1024)
			return ctf_wrong(parser, parser->token.line, "a path is too long");
		path = ctf_keep(&parser->meta->arena, joined, strlen(joined));
		if (!ctf_advance(parser))
			return false;
	} while (ctf_accept(parser, '.'));
	*out_path = path;
	return true;
}

static struct ctf_type *new_type(struct ctf_parser *parser, enum ctf_kind kind)
{
	struct ctf_type *type = ctf_take(&parser->meta->arena, sizeof(*type));

	type->kind = (uint8_t)kind;
	type->line = parser->token.line;
	type->align = 1;
	type->base = 10;
	return type;
}

/* ------------------------------------------------------------------ attributes */

static bool is_power_of_two(uint64_t number)
{
	return number && (number & (number - 1)) == 0;
}

static bool parse_align(struct ctf_parser *parser, uint32_t *out_align)
{
	uint32_t line = parser->token.line;
	uint64_t align = 0;

	if (!ctf_parse_unsigned(parser, "align", &align))
		return false;
	if (!is_power_of_two(align) || align > 1u << 30)
		return ctf_wrong(parser, line, "align must be a power of two");
	*out_align = (uint32_t)align;
	return true;
}

static bool parse_bool(struct ctf_parser *parser, bool *out_bool)
{
	const struct ctf_token *token = &parser->token;

	if (token->kind == CTF_TOKEN_NUMBER && token->number <= 1)
		*out_bool = token->number;
	else if (ctf_is_word(parser, "true") || ctf_is_word(parser, "TRUE"))
		*out_bool = true;
	else if (ctf_is_word(parser, "false") || ctf_is_word(parser, "FALSE"))
		*out_bool = false;
	else
		return ctf_wrong(parser, token->line, "this must be true or false");
	return ctf_advance(parser);
}

bool ctf_order_of(struct ctf_parser *parser, uint8_t *out_order)
{
	if (ctf_is_word(parser, "native"))
		*out_order = CTF_ORDER_NATIVE;
	else if (ctf_is_word(parser, "le"))
		*out_order = CTF_ORDER_LITTLE;
	else if (ctf_is_word(parser, "be") || ctf_is_word(parser, "network"))
		*out_order = CTF_ORDER_BIG;
	else
		return ctf_wrong(parser, parser->token.line,
				 "byte_order must be le, be, network or native");
	return ctf_advance(parser);
}

static bool parse_base(struct ctf_parser *parser, uint8_t *out_base)
{
	static const struct {
		const char *word;
		uint8_t base;
	} words[] = {
		{ "decimal", 10 }, { "dec", 10 },	  { "d", 10 },	  { "i", 10 },
		{ "u", 10 },	   { "hexadecimal", 16 }, { "hex", 16 },  { "x", 16 },
		{ "X", 16 },	   { "p", 16 },		  { "octal", 8 }, { "oct", 8 },
		{ "o", 8 },	   { "binary", 2 },	  { "bin", 2 },	  { "b", 2 },
	};
	const struct ctf_token *token = &parser->token;

	if (token->kind == CTF_TOKEN_NUMBER && (token->number == 2 || token->number == 8 ||
						token->number == 10 || token->number == 16)) {
		*out_base = (uint8_t)token->number;
		return ctf_advance(parser);
	}
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (!ctf_is_word(parser, words[i].word))
			continue;
		*out_base = words[i].base;
		return ctf_advance(parser);
	}
	return ctf_wrong(parser, token->line, "base must be 2, 8, 10 or 16");
}

static bool parse_encoding(struct ctf_parser *parser, bool *out_is_text)
{
	if (ctf_is_word(parser, "UTF8") || ctf_is_word(parser, "utf8") ||
	    ctf_is_word(parser, "UTF") || ctf_is_word(parser, "utf") ||
	    ctf_is_word(parser, "ASCII") || ctf_is_word(parser, "ascii"))
		*out_is_text = true;
	else if (ctf_is_word(parser, "none"))
		*out_is_text = false;
	else
		return ctf_wrong(parser, parser->token.line,
				 "encoding must be UTF8, ASCII or none");
	return ctf_advance(parser);
}

/* clock.NAME.value */
static bool parse_map(struct ctf_parser *parser, const char **out_clock)
{
	uint32_t line = parser->token.line;
	const char *path, *dot;

	if (!ctf_parse_path(parser, &path))
		return false;
	dot = strrchr(path, '.');
	if (strncmp(path, "clock.", 6) != 0 || dot == path + 5 || strcmp(dot, ".value") != 0)
		return ctf_wrong(parser, line, "map must be clock.NAME.value");
	*out_clock = ctf_keep(&parser->meta->arena, path + 6, (size_t)(dot - path - 6));
	return true;
}

/* What was given within { } of an integer, float or string. */
struct attributes {
	struct ctf_type *type;
	uint32_t seen; /* bits, by the place in the table */
	uint64_t exponent, mantissa;
};

enum attribute {
	AT_SIZE,
	AT_ALIGN,
	AT_SIGNED,
	AT_ORDER,
	AT_BASE,
	AT_ENCODING,
	AT_MAP,
	AT_EXPONENT,
	AT_MANTISSA,
	AT_COUNT
};

static const struct {
	const char *name;
	uint32_t kinds; /* bits: in which types */
} attribute_rows[AT_COUNT] = {
	[AT_SIZE] = { "size", 1u << CTF_INTEGER },
	[AT_ALIGN] = { "align", 1u << CTF_INTEGER | 1u << CTF_FLOAT },
	[AT_SIGNED] = { "signed", 1u << CTF_INTEGER },
	[AT_ORDER] = { "byte_order", 1u << CTF_INTEGER | 1u << CTF_FLOAT },
	[AT_BASE] = { "base", 1u << CTF_INTEGER },
	[AT_ENCODING] = { "encoding", 1u << CTF_INTEGER | 1u << CTF_STRING },
	[AT_MAP] = { "map", 1u << CTF_INTEGER },
	[AT_EXPONENT] = { "exp_dig", 1u << CTF_FLOAT },
	[AT_MANTISSA] = { "mant_dig", 1u << CTF_FLOAT },
};

static bool parse_size(struct ctf_parser *parser, uint32_t *out_bits)
{
	uint32_t line = parser->token.line;
	uint64_t bits = 0;

	if (!ctf_parse_unsigned(parser, "size", &bits))
		return false;
	if (bits < 1 || bits > 64)
		return ctf_wrong(parser, line, "size must be 1 to 64 bits");
	*out_bits = (uint32_t)bits;
	return true;
}

static bool parse_value(struct ctf_parser *parser, enum attribute which, struct attributes *to)
{
	switch (which) {
	case AT_SIZE:
		return parse_size(parser, &to->type->bits);
	case AT_ALIGN:
		return parse_align(parser, &to->type->align);
	case AT_SIGNED:
		return parse_bool(parser, &to->type->is_signed);
	case AT_ORDER:
		return ctf_order_of(parser, &to->type->order);
	case AT_BASE:
		return parse_base(parser, &to->type->base);
	case AT_ENCODING:
		return parse_encoding(parser, &to->type->is_text);
	case AT_MAP:
		return parse_map(parser, &to->type->clock_name);
	case AT_EXPONENT:
		return ctf_parse_unsigned(parser, "exp_dig", &to->exponent);
	case AT_MANTISSA:
		return ctf_parse_unsigned(parser, "mant_dig", &to->mantissa);
	case AT_COUNT:
		break;
	}
	return false;
}

static bool parse_attribute(struct ctf_parser *parser, struct attributes *to)
{
	uint32_t line = parser->token.line;
	const char *name = parser->token.text;

	if (parser->token.kind != CTF_TOKEN_WORD)
		return ctf_wrong(parser, line, "the name of an attribute is missing");
	for (uint32_t i = 0; i < AT_COUNT; i++) {
		if (strcmp(name, attribute_rows[i].name) != 0 ||
		    !(attribute_rows[i].kinds & 1u << to->type->kind))
			continue;
		if (to->seen & 1u << i)
			return ctf_wrong(parser, line, "%s is given twice", name);
		to->seen |= 1u << i;
		return ctf_advance(parser) && ctf_expect(parser, '=') &&
		       parse_value(parser, (enum attribute)i, to) && ctf_expect(parser, ';');
	}
	return ctf_wrong(parser, line, "there is no attribute %s here", name);
}

/* { name = value; ... } */
static bool parse_attributes(struct ctf_parser *parser, struct attributes *to)
{
	if (!ctf_expect(parser, '{'))
		return false;
	while (!ctf_is_mark(parser, '}')) {
		if (ctf_accept(parser, ';'))
			continue;
		if (!parse_attribute(parser, to))
			return false;
	}
	return ctf_advance(parser);
}

static bool parse_integer(struct ctf_parser *parser, struct ctf_type **out_type)
{
	struct attributes given = { .type = new_type(parser, CTF_INTEGER) };

	if (!ctf_advance(parser) || !parse_attributes(parser, &given))
		return false;
	if (!(given.seen & 1u << AT_SIZE))
		return ctf_wrong(parser, given.type->line, "an integer needs a size");
	if (!(given.seen & 1u << AT_ALIGN))
		given.type->align = given.type->bits % 8 ? 1 : 8;
	*out_type = given.type;
	return true;
}

static bool parse_float(struct ctf_parser *parser, struct ctf_type **out_type)
{
	struct attributes given = { .type = new_type(parser, CTF_FLOAT) };

	given.type->align = 8;
	if (!ctf_advance(parser) || !parse_attributes(parser, &given))
		return false;
	if (given.exponent == 8 && given.mantissa == 24)
		given.type->bits = 32;
	else if (given.exponent == 11 && given.mantissa == 53)
		given.type->bits = 64;
	else
		return ctf_wrong(parser, given.type->line,
				 "a float needs exp_dig and mant_dig 8 and 24, or 11 and 53");
	*out_type = given.type;
	return true;
}

static bool parse_string(struct ctf_parser *parser, struct ctf_type **out_type)
{
	struct attributes given = { .type = new_type(parser, CTF_STRING) };

	given.type->align = 8;
	given.type->is_text = true;
	*out_type = given.type;
	if (!ctf_advance(parser))
		return false;
	return !ctf_is_mark(parser, '{') || parse_attributes(parser, &given);
}

/* ------------------------------------------------------------------ names of types */

/* Words up to something else, the way a type is named: joined by blanks. */
struct words {
	const char *items[MAX_WORDS];
	uint32_t count;
};

static bool parse_words(struct ctf_parser *parser, struct words *out_words)
{
	out_words->count = 0;
	while (parser->token.kind == CTF_TOKEN_WORD || ctf_is_mark(parser, '*')) {
		bool star = ctf_is_mark(parser, '*');

		if (out_words->count == MAX_WORDS)
			return ctf_wrong(parser, parser->token.line,
					 "the name of a type has too many words");
		if (star || strcmp(parser->token.text, "const") != 0)
			out_words->items[out_words->count++] = star ? "*" : parser->token.text;
		if (!ctf_advance(parser))
			return false;
	}
	return true;
}

static char *join(struct ctf_parser *parser, const struct words *words, uint32_t count)
{
	char *joined = ctf_keep(&parser->meta->arena, "", 0);

	for (uint32_t i = 0; i < count; i++) {
		AUTO_FREE char *more = xasprintf("%s%s%s", joined, i ? " " : "", words->items[i]);

		joined = ctf_keep(&parser->meta->arena, more, strlen(more));
	}
	return joined;
}

static bool find_named(struct ctf_parser *parser, const char *name, uint32_t line,
		       struct ctf_type **out_type)
{
	*out_type = *name ? ctf_name_find(parser, name) : NULL;
	if (!*out_type)
		return ctf_wrong(parser, line,
				 *name ? "there is no type %s" : "a type is missing%s", name);
	return true;
}

static const char *tagged_name(struct ctf_parser *parser, const char *keyword, const char *name)
{
	AUTO_FREE char *joined = xasprintf("%s %s", keyword, name);

	return ctf_keep(&parser->meta->arena, joined, strlen(joined));
}

/* Types that contain types: no deeper than can be walked. */
static bool set_depth(struct ctf_parser *parser, struct ctf_type *type, const struct ctf_type *part)
{
	if (type->depth <= part->depth)
		type->depth = part->depth + 1;
	return type->depth <= CTF_MAX_DEPTH ||
	       ctf_wrong(parser, type->line, "types are nested too deeply");
}

/* ------------------------------------------------------------------ enum */

static bool is_small_enough(const struct ctf_type *type, uint64_t number, bool negative)
{
	uint32_t bits = type->bits;

	if (type->is_signed) {
		int64_t value = (int64_t)number;

		if (!negative && number > INT64_MAX)
			return false;
		return bits == 64 ||
		       (value >= -((int64_t)1 << (bits - 1)) && value < (int64_t)1 << (bits - 1));
	}
	return !negative && (bits == 64 || number < (uint64_t)1 << bits);
}

static bool parse_bound(struct ctf_parser *parser, const struct ctf_type *type,
			uint64_t *out_number)
{
	uint32_t line = parser->token.line;
	bool negative;

	if (!ctf_parse_number(parser, out_number, &negative))
		return false;
	return is_small_enough(type, *out_number, negative) ||
	       ctf_wrong(parser, line, "the value of an enumeration does not fit");
}

/* LABEL, LABEL = LOW, or LABEL = LOW ... HIGH */
static bool parse_range(struct ctf_parser *parser, const struct ctf_type *type, uint64_t next,
			struct ctf_range *out_range)
{
	uint32_t line = parser->token.line;

	if (parser->token.kind != CTF_TOKEN_WORD && parser->token.kind != CTF_TOKEN_TEXT)
		return ctf_wrong(parser, line, "a label of the enumeration is missing");
	*out_range = (struct ctf_range){ parser->token.text, next, next };
	if (!ctf_advance(parser))
		return false;
	if (!ctf_accept(parser, '='))
		return is_small_enough(type, next, type->is_signed && (int64_t)next < 0) ||
		       ctf_wrong(parser, line, "the value of an enumeration does not fit");
	if (!parse_bound(parser, type, &out_range->low))
		return false;
	out_range->high = out_range->low;
	if (parser->token.kind != CTF_TOKEN_DOTS)
		return true;
	if (!ctf_advance(parser) || !parse_bound(parser, type, &out_range->high))
		return false;
	if (type->is_signed ? (int64_t)out_range->low > (int64_t)out_range->high
			    : out_range->low > out_range->high)
		return ctf_wrong(parser, line, "a range of the enumeration ends before it begins");
	return true;
}

static bool parse_ranges(struct ctf_parser *parser, struct ctf_type *type)
{
	AUTO_FREE struct ctf_range *ranges = NULL;
	size_t count = 0, cap = 0;
	uint64_t next = 0;

	if (!ctf_expect(parser, '{'))
		return false;
	while (!ctf_is_mark(parser, '}')) {
		ranges = vec_room(ranges, count, &cap, sizeof(*ranges));
		if (!parse_range(parser, type, next, &ranges[count]))
			return false;
		next = ranges[count++].high + 1;
		if (!ctf_is_mark(parser, '}') && !ctf_expect(parser, ','))
			return false;
	}
	if (count == 0)
		return ctf_wrong(parser, type->line, "an enumeration has no labels");
	type->ranges = ctf_take(&parser->meta->arena, count * sizeof(*ranges));
	memcpy(type->ranges, ranges, count * sizeof(*ranges));
	type->range_count = (uint32_t)count;
	return ctf_advance(parser);
}

/* The integer that an enumeration is. */
static bool parse_container(struct ctf_parser *parser, struct ctf_type *type)
{
	uint32_t line = parser->token.line;
	struct ctf_type *integer;
	struct words words;

	if (!ctf_accept(parser, ':')) {
		if (!find_named(parser, "int", line, &integer))
			return false;
	} else if (ctf_is_word(parser, "integer")) {
		if (!parse_integer(parser, &integer))
			return false;
	} else if (!parse_words(parser, &words) ||
		   !find_named(parser, join(parser, &words, words.count), line, &integer)) {
		return false;
	}
	if (integer->kind != CTF_INTEGER)
		return ctf_wrong(parser, line, "an enumeration must be an integer");
	*type = *integer;
	type->kind = CTF_ENUM;
	type->is_text = false;
	type->line = line;
	return true;
}

static bool parse_enum(struct ctf_parser *parser, struct ctf_type **out_type)
{
	const char *name = NULL;

	if (!ctf_advance(parser))
		return false;
	if (parser->token.kind == CTF_TOKEN_WORD) {
		name = tagged_name(parser, "enum", parser->token.text);
		if (!ctf_advance(parser))
			return false;
		if (!ctf_is_mark(parser, '{') && !ctf_is_mark(parser, ':'))
			return find_named(parser, name, parser->token.line, out_type);
	}
	*out_type = new_type(parser, CTF_ENUM);
	return parse_container(parser, *out_type) && parse_ranges(parser, *out_type) &&
	       (!name || ctf_name_add(parser, name, *out_type));
}

/* ------------------------------------------------------------------ arrays */

struct dimension {
	uint64_t length;
	const char *path; /* NULL = of 'length' */
};

/* env.NAME: a length out of the environment. */
static bool env_length(struct ctf_parser *parser, const char *path, uint64_t *out_length)
{
	const struct ctf_env *env = ctf_meta_env(parser->meta, path + strlen("env."));

	if (!env || env->text || env->number < 0)
		return ctf_wrong(parser, parser->token.line, "%s is no length", path);
	*out_length = (uint64_t)env->number;
	return true;
}

static bool parse_dimension(struct ctf_parser *parser, struct dimension *out)
{
	uint32_t line = parser->token.line;

	*out = (struct dimension){ 0 };
	if (parser->token.kind == CTF_TOKEN_NUMBER) {
		out->length = parser->token.number;
		return ctf_advance(parser);
	}
	if (!ctf_parse_path(parser, &out->path))
		return false;
	if (strncmp(out->path, "env.", 4) == 0) {
		const char *path = out->path;

		out->path = NULL;
		return env_length(parser, path, &out->length);
	}
	return ctf_path_visible(parser, out->path) ||
	       ctf_wrong(parser, line, "there is no field %s before this", out->path);
}

/* NAME[LENGTH][LENGTH]: the first is the outermost. */
static bool parse_dimensions(struct ctf_parser *parser, struct ctf_type **type)
{
	struct dimension dimensions[MAX_DIMENSIONS];
	uint32_t count = 0;

	while (ctf_accept(parser, '[')) {
		if (count == MAX_DIMENSIONS)
			return ctf_wrong(parser, parser->token.line, "too many dimensions");
		if (!parse_dimension(parser, &dimensions[count++]) || !ctf_expect(parser, ']'))
			return false;
	}
	while (count) {
		const struct dimension *one = &dimensions[--count];
		struct ctf_type *made = new_type(parser, one->path ? CTF_SEQUENCE : CTF_ARRAY);

		made->element = *type;
		made->align = (*type)->align;
		made->length = one->length;
		made->path = one->path;
		made->is_text = (*type)->kind == CTF_INTEGER && (*type)->is_text &&
				(*type)->bits == 8 && (*type)->align == 8;
		if (!set_depth(parser, made, *type))
			return false;
		*type = made;
	}
	return ctf_is_mark(parser, '[') ? ctf_wrong(parser, parser->token.line, "']' is missing")
					: true;
}

/* ------------------------------------------------------------------ struct, variant */

static void add_member(struct ctf_members *members, const char *name, struct ctf_type *type)
{
	members->items =
		vec_room(members->items, members->count, &members->cap, sizeof(*members->items));
	members->items[members->count++] = (struct ctf_member){ name, type };
}

/* A declarator: *NAME[LENGTH]; the name may be known already. */
static bool parse_declarator(struct ctf_parser *parser, const char *name, struct ctf_type *type,
			     struct ctf_members *members)
{
	while (!name && ctf_accept(parser, '*'))
		;
	if (!name) {
		if (parser->token.kind != CTF_TOKEN_WORD)
			return ctf_wrong(parser, parser->token.line,
					 "the name of a field is missing");
		name = parser->token.text;
		if (!ctf_advance(parser))
			return false;
	}
	if (!parse_dimensions(parser, &type))
		return false;
	add_member(members, name, type);
	return true;
}

static bool parse_explicit(struct ctf_parser *parser, struct ctf_type **out_type, bool *out_any);

/* TYPE NAME, NAME[2]; */
static bool parse_field(struct ctf_parser *parser, struct ctf_members *members)
{
	uint32_t line = parser->token.line;
	const char *name = NULL;
	struct ctf_type *type;
	struct words words;
	bool any;

	if (!parse_explicit(parser, &type, &any))
		return false;
	if (!any) {
		if (!parse_words(parser, &words))
			return false;
		if (words.count < 2)
			return ctf_wrong(parser, line, "a field needs a type and a name");
		name = words.items[words.count - 1];
		if (!find_named(parser, join(parser, &words, words.count - 1), line, &type))
			return false;
	}
	if (any && ctf_accept(parser, ';'))
		return true; /* it was to name a type */
	do {
		if (!parse_declarator(parser, name, type, members))
			return false;
		name = NULL;
	} while (ctf_accept(parser, ','));
	return ctf_expect(parser, ';');
}

/* Hash of the names, so that many fields do not take long. */
static bool check_names(struct ctf_parser *parser, const struct ctf_type *type)
{
	ctf_scope_begin(parser);
	for (uint32_t i = 0; i < type->member_count; i++) {
		AUTO_FREE char *name = xasprintf("field %s", type->members[i].name);
		const char *kept = ctf_keep(&parser->meta->arena, name, strlen(name));

		if (!ctf_name_add(parser, kept, NULL))
			return ctf_wrong(parser, type->line, "there are two fields %s",
					 type->members[i].name);
	}
	ctf_scope_end(parser);
	return true;
}

static bool keep_members(struct ctf_parser *parser, struct ctf_type *type,
			 const struct ctf_members *members)
{
	size_t bytes = members->count * sizeof(*members->items);

	type->members = ctf_take(&parser->meta->arena, bytes);
	if (bytes)
		memcpy(type->members, members->items, bytes);
	type->member_count = (uint32_t)members->count;
	for (uint32_t i = 0; i < type->member_count; i++) {
		if (!set_depth(parser, type, type->members[i].type))
			return false;
		if (type->kind == CTF_STRUCT && type->align < type->members[i].type->align)
			type->align = type->members[i].type->align;
	}
	return check_names(parser, type);
}

static bool parse_fields(struct ctf_parser *parser, struct ctf_members *members)
{
	while (!ctf_is_mark(parser, '}')) {
		bool any;

		if (ctf_accept(parser, ';'))
			continue;
		if (parser->token.kind == CTF_TOKEN_END)
			return ctf_wrong(parser, parser->token.line, "'}' is missing");
		any = ctf_is_word(parser, "typealias") || ctf_is_word(parser, "typedef");
		if (any ? !ctf_parse_declaration(parser, &any) : !parse_field(parser, members))
			return false;
	}
	return ctf_advance(parser);
}

/* { fields }: of a variant, none of them is before another. */
static bool parse_body(struct ctf_parser *parser, struct ctf_type *type)
{
	struct ctf_members members = { 0 };
	struct ctf_frame frame = { &members, parser->frame };
	bool done;

	if (++parser->depth > CTF_MAX_DEPTH)
		return ctf_wrong(parser, parser->token.line, "types are nested too deeply");
	if (!ctf_expect(parser, '{'))
		return false;
	if (type->kind == CTF_STRUCT)
		parser->frame = &frame;
	ctf_scope_begin(parser);
	done = parse_fields(parser, &members) && keep_members(parser, type, &members);
	free(members.items);
	parser->frame = frame.outer;
	if (!done)
		return false;
	ctf_scope_end(parser);
	parser->depth--;
	return true;
}

static bool parse_min_align(struct ctf_parser *parser, struct ctf_type *type)
{
	uint32_t align;

	if (!ctf_is_word(parser, "align"))
		return true;
	if (!ctf_advance(parser) || !ctf_expect(parser, '(') || !parse_align(parser, &align) ||
	    !ctf_expect(parser, ')'))
		return false;
	if (type->align < align)
		type->align = align;
	return true;
}

static bool parse_struct(struct ctf_parser *parser, struct ctf_type **out_type)
{
	const char *name = NULL;

	if (!ctf_advance(parser))
		return false;
	if (parser->token.kind == CTF_TOKEN_WORD) {
		name = tagged_name(parser, "struct", parser->token.text);
		if (!ctf_advance(parser))
			return false;
		if (!ctf_is_mark(parser, '{'))
			return find_named(parser, name, parser->token.line, out_type);
	}
	*out_type = new_type(parser, CTF_STRUCT);
	return parse_body(parser, *out_type) && parse_min_align(parser, *out_type) &&
	       (!name || ctf_name_add(parser, name, *out_type));
}

/* <PATH> */
static bool parse_tag(struct ctf_parser *parser, const char **out_path)
{
	uint32_t line = parser->token.line;

	if (!ctf_accept(parser, '<'))
		return !ctf_is_mark(parser, '<');
	if (!ctf_parse_path(parser, out_path) || !ctf_expect(parser, '>'))
		return false;
	return ctf_path_visible(parser, *out_path) ||
	       ctf_wrong(parser, line, "there is no field %s before this", *out_path);
}

static bool parse_variant(struct ctf_parser *parser, struct ctf_type **out_type)
{
	const char *name = NULL, *path = NULL;
	struct ctf_type *known;

	if (!ctf_advance(parser))
		return false;
	if (parser->token.kind == CTF_TOKEN_WORD) {
		name = tagged_name(parser, "variant", parser->token.text);
		if (!ctf_advance(parser))
			return false;
	}
	if (!parse_tag(parser, &path))
		return false;
	*out_type = new_type(parser, CTF_VARIANT);
	if (name && !ctf_is_mark(parser, '{')) {
		if (!find_named(parser, name, parser->token.line, &known))
			return false;
		**out_type = *known;
		if (path)
			(*out_type)->path = path;
		return true;
	}
	if (!parse_body(parser, *out_type))
		return false;
	(*out_type)->path = path;
	if ((*out_type)->member_count == 0)
		return ctf_wrong(parser, (*out_type)->line, "a variant has no options");
	return !name || ctf_name_add(parser, name, *out_type);
}

static bool parse_explicit(struct ctf_parser *parser, struct ctf_type **out_type, bool *out_any)
{
	static const struct {
		const char *word;
		bool (*parse)(struct ctf_parser *parser, struct ctf_type **out_type);
	} rows[] = {
		{ "integer", parse_integer }, { "floating_point", parse_float },
		{ "string", parse_string },   { "enum", parse_enum },
		{ "struct", parse_struct },   { "variant", parse_variant },
	};

	*out_any = false;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!ctf_is_word(parser, rows[i].word))
			continue;
		*out_any = true;
		return rows[i].parse(parser, out_type);
	}
	return true;
}

bool ctf_parse_type(struct ctf_parser *parser, struct ctf_type **out_type)
{
	uint32_t line = parser->token.line;
	struct words words;
	bool any;

	if (!parse_explicit(parser, out_type, &any))
		return false;
	if (any)
		return true;
	return parse_words(parser, &words) &&
	       find_named(parser, join(parser, &words, words.count), line, out_type);
}

/* ------------------------------------------------------------------ declarations */

static bool is_reserved(const char *word)
{
	static const char *const words[] = { "typealias", "typedef",  "integer", "floating_point",
					     "string",	  "enum",     "struct",	 "variant",
					     "stream",	  "event",    "trace",	 "env",
					     "clock",	  "callsite", "align" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(words[i], word) == 0)
			return true;
	}
	return false;
}

/* TYPE := NAME */
static bool parse_alias(struct ctf_parser *parser)
{
	struct ctf_type *type;
	struct words words;

	if (!ctf_advance(parser) || !ctf_parse_type(parser, &type))
		return false;
	if (parser->token.kind != CTF_TOKEN_ASSIGN)
		return ctf_wrong(parser, parser->token.line, "':=' is missing");
	if (!ctf_advance(parser) || !parse_words(parser, &words))
		return false;
	if (words.count == 0 || is_reserved(words.items[0]))
		return ctf_wrong(parser, parser->token.line, "this can be no name of a type");
	return parse_dimensions(parser, &type) &&
	       ctf_name_add(parser, join(parser, &words, words.count), type);
}

/* typealias TYPE := NAME; what is around cannot be seen from within the type. */
static bool parse_typealias(struct ctf_parser *parser)
{
	struct ctf_frame barrier = { NULL, parser->frame };
	bool good;

	parser->frame = &barrier;
	good = parse_alias(parser);
	parser->frame = barrier.outer;
	return good && ctf_expect(parser, ';');
}

/* typedef TYPE NAME[LENGTH], ...; */
static bool parse_typedef(struct ctf_parser *parser)
{
	struct ctf_frame barrier = { NULL, parser->frame };
	struct ctf_members members = { 0 };
	bool done;

	parser->frame = &barrier;
	done = ctf_advance(parser) && parse_field(parser, &members);
	for (size_t i = 0; done && i < members.count; i++)
		done = ctf_name_add(parser, members.items[i].name, members.items[i].type);
	free(members.items);
	parser->frame = barrier.outer;
	return done;
}

bool ctf_parse_declaration(struct ctf_parser *parser, bool *out_any)
{
	struct ctf_type *type;

	*out_any = true;
	if (ctf_is_word(parser, "typealias"))
		return parse_typealias(parser);
	if (ctf_is_word(parser, "typedef"))
		return parse_typedef(parser);
	if (ctf_is_word(parser, "struct") || ctf_is_word(parser, "variant") ||
	    ctf_is_word(parser, "enum"))
		return parse_explicit(parser, &type, out_any) && ctf_expect(parser, ';');
	*out_any = false;
	return true;
}
