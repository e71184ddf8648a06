/*
 * attributes.c - integers, floats and strings of TSDL: what stands within their { }.
 *
 * An attribute that nobody knows has a value that is passed over. Values may be words or literals.
 */
#include <string.h>

#include "base/mem.h"
#include "read/ctf/parse_int.h"

static bool is_power_of_two(uint64_t number)
{
	return number && (number & (number - 1)) == 0;
}

bool ctf_parse_align(struct ctf_parser *parser, uint32_t *out_align)
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

bool ctf_parse_bool(struct ctf_parser *parser, bool *out_bool)
{
	uint64_t number = 0;

	if (ctf_is_number(parser)) {
		if (!ctf_parse_unsigned(parser, "this", &number))
			return false;
		*out_bool = number != 0;
		return true;
	}
	if (ctf_is_value(parser, "true") || ctf_is_value(parser, "TRUE"))
		*out_bool = true;
	else if (ctf_is_value(parser, "false") || ctf_is_value(parser, "FALSE"))
		*out_bool = false;
	else
		return ctf_wrong(parser, parser->token.line, "this must be true or false");
	return ctf_advance(parser);
}

bool ctf_order_of(struct ctf_parser *parser, uint8_t *out_order)
{
	if (ctf_is_value(parser, "native"))
		*out_order = CTF_ORDER_NATIVE;
	else if (ctf_is_value(parser, "le"))
		*out_order = CTF_ORDER_LITTLE;
	else if (ctf_is_value(parser, "be") || ctf_is_value(parser, "network"))
		*out_order = CTF_ORDER_BIG;
	else
		return ctf_wrong(parser, parser->token.line,
				 "byte_order must be le, be, network or native");
	return ctf_advance(parser);
}

static bool ctf_attributes_parse_base(struct ctf_parser *parser, uint8_t *out_base)
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
	uint32_t line = parser->token.line;
	uint64_t number = 0;

	if (ctf_is_number(parser)) {
		if (!ctf_parse_unsigned(parser, "base", &number))
			return false;
		*out_base = (uint8_t)number;
		return number == 2 || number == 8 || number == 10 || number == 16 ||
		       ctf_wrong(parser, line, "base must be 2, 8, 10 or 16");
	}
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (!ctf_is_value(parser, words[i].word))
			continue;
		*out_base = words[i].base;
		return ctf_advance(parser);
	}
	return ctf_wrong(parser, line, "base must be 2, 8, 10 or 16");
}

static bool parse_encoding(struct ctf_parser *parser, bool *out_is_text)
{
	static const char *const texts[] = { "UTF8",  "utf8",  "UTF-8", "utf-8",
					     "ASCII", "ascii", "UTF",	"utf" };

	*out_is_text = false;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		*out_is_text |= ctf_is_value(parser, texts[i]);
	if (!*out_is_text && !ctf_is_value(parser, "none"))
		return ctf_wrong(parser, parser->token.line,
				 "encoding must be UTF8, ASCII or none");
	return ctf_advance(parser);
}

/* clock.NAME.value; what is something else maps to no clock. */
static bool parse_map(struct ctf_parser *parser, const char **out_clock)
{
	const char *path, *dot;

	if (!ctf_is_name(parser))
		return ctf_skip_value(parser);
	if (!ctf_parse_path(parser, &path))
		return false;
	dot = strrchr(path, '.');
	if (strncmp(path, "clock.", 6) == 0 && dot != path + 5 && strcmp(dot, ".value") == 0)
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

static bool ctf_attributes_parse_size(struct ctf_parser *parser, uint32_t *out_bits)
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
		return ctf_attributes_parse_size(parser, &to->type->bits);
	case AT_ALIGN:
		return ctf_parse_align(parser, &to->type->align);
	case AT_SIGNED:
		return ctf_parse_bool(parser, &to->type->is_signed);
	case AT_ORDER:
		return ctf_order_of(parser, &to->type->order);
	case AT_BASE:
		return ctf_attributes_parse_base(parser, &to->type->base);
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

/* An attribute that is known: its row, or AT_COUNT. */
static enum attribute attribute_called(const struct ctf_type *type, const char *name)
{
	uint32_t i = 0;

	while (i < AT_COUNT && (strcmp(name, attribute_rows[i].name) != 0 ||
				!(attribute_rows[i].kinds & 1u << type->kind)))
		i++;
	return (enum attribute)i;
}

/* Of those that nobody knows the value counts for nothing. */
static bool parse_attribute(struct ctf_parser *parser, struct attributes *to)
{
	uint32_t line = parser->token.line;
	enum attribute which;
	const char *name;

	if (!ctf_is_name(parser))
		return ctf_wrong(parser, line, "the name of an attribute is missing");
	if (!ctf_parse_path(parser, &name))
		return false;
	which = attribute_called(to->type, name);
	if (which != AT_COUNT && to->seen & 1u << which)
		return ctf_wrong(parser, line, "%s is given twice", name);
	to->seen |= which == AT_COUNT ? 0 : 1u << which;
	return ctf_expect(parser, '=') &&
	       (which == AT_COUNT ? ctf_skip_value(parser) : parse_value(parser, which, to)) &&
	       ctf_expect(parser, ';');
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

bool ctf_parse_integer(struct ctf_parser *parser, struct ctf_type **out_type)
{
	struct attributes given = { .type = ctf_new_type(parser, CTF_INTEGER) };

	if (!ctf_advance(parser) || !parse_attributes(parser, &given))
		return false;
	if (!(given.seen & 1u << AT_SIZE))
		return ctf_wrong(parser, given.type->line, "an integer needs a size");
	if (!(given.seen & 1u << AT_ALIGN))
		given.type->align = given.type->bits % 8 ? 1 : 8;
	*out_type = given.type;
	return true;
}

bool ctf_parse_float(struct ctf_parser *parser, struct ctf_type **out_type)
{
	struct attributes given = { .type = ctf_new_type(parser, CTF_FLOAT) };

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

bool ctf_parse_string(struct ctf_parser *parser, struct ctf_type **out_type)
{
	struct attributes given = { .type = ctf_new_type(parser, CTF_STRING) };

	given.type->align = 8;
	given.type->is_text = true;
	*out_type = given.type;
	if (!ctf_advance(parser))
		return false;
	return !ctf_is_mark(parser, '{') || parse_attributes(parser, &given);
}
