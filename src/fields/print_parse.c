/*
 * print_parse.c - a print format of the kernel, read.
 *
 *	print fmt: "irq=%d ret=%s", REC->irq, REC->ret ? "handled" : "unhandled"
 *
 * What follows the string is C: the expressions that a TP_printk() may have. Written for
 * text that anybody may have made: depth and size are bounded.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fields/print_parser.h"

#define MAX_CONVS 200u
#define MAX_WIDTH 1000

/* Note why it cannot be read. Returns NULL. */
struct node *parse_wrong(struct parser *parser, const char *why)
{
	if (!parser->why)
		parser->why = why;
	return NULL;
}

struct node *parse_node(struct parser *parser, enum node_kind kind)
{
	struct node *node;

	if (++parser->node_count > PARSE_MAX_NODES)
		return parse_wrong(parser, "it is too long");
	node = pool_take(parser->pool, sizeof(*node));
	node->kind = (uint8_t)kind;
	node->bits = 32;
	node->is_signed = true;
	return node;
}

struct node *parse_number_node(struct parser *parser, uint64_t value, uint32_t bits, bool is_signed)
{
	struct node *node = parse_node(parser, NODE_NUMBER);

	if (node) {
		node->number = value;
		node->bits = (uint8_t)bits;
		node->is_signed = is_signed;
	}
	return node;
}

void parse_blanks(struct parser *parser)
{
	while (isspace((unsigned char)*parser->at))
		parser->at++;
}

/* Take 'token' when it comes next. */
bool parse_take(struct parser *parser, const char *token)
{
	size_t bytes = strlen(token);

	parse_blanks(parser);
	if (strncmp(parser->at, token, bytes) != 0)
		return false;
	parser->at += bytes;
	return true;
}

bool parse_need(struct parser *parser, const char *token)
{
	if (parse_take(parser, token))
		return true;
	parse_wrong(parser, "it is no C that is known here");
	return false;
}

/* The length of the word at 'at'; 0 = there is none. */
uint32_t parse_word(const char *at)
{
	uint32_t bytes = 0;

	if (isdigit((unsigned char)*at))
		return 0;
	while (isalnum((unsigned char)at[bytes]) || at[bytes] == '_')
		bytes++;
	return bytes;
}

bool parse_is(const char *at, uint32_t bytes, const char *word)
{
	return strlen(word) == bytes && memcmp(at, word, bytes) == 0;
}

/* The character behind a backslash; moves *at behind it. */
char parse_escaped(const char **at)
{
	char c = *(*at)++;

	switch (c) {
	case 'n':
	case 'r':
	case 't':
		return c == 't' ? '\t' : '\n';
	case '0':
		return '\0';
	default:
		return c;
	}
}

/* Strings next to each other, joined. */
bool parse_string(struct parser *parser, const char **out_text, uint32_t *out_bytes)
{
	size_t room = 0, bytes = 0;
	const char *at;
	char *text;

	parse_blanks(parser);
	for (at = parser->at; *at == '"';) {
		for (at++; *at && *at != '"'; at++) { /* some have line breaks in them */
			if (*at == '\\' && at[1])
				at++;
			room++;
		}
		if (*at != '"')
			return parse_wrong(parser, "a string does not end");
		for (at++; isspace((unsigned char)*at); at++)
			;
	}
	text = pool_take(parser->pool, room + 1);
	while (*parser->at == '"') {
		for (parser->at++; *parser->at != '"';) {
			char c = *parser->at++;

			text[bytes++] = c == '\\' && *parser->at ? parse_escaped(&parser->at) : c;
		}
		parser->at++;
		parse_blanks(parser);
	}
	*out_text = text;
	*out_bytes = (uint32_t)bytes;
	return true;
}

/* "-08.*l" in front of the letter of a conversion. */
static void conv_flags(struct conv *conv, const char **at)
{
	for (;; (*at)++) {
		if (**at == '-')
			conv->left = true;
		else if (**at == '0')
			conv->zero = true;
		else if (**at == '#')
			conv->alt = true;
		else if (**at == '+')
			conv->plus = true;
		else if (**at == ' ')
			conv->space = true;
		else
			return;
	}
}

/* The next argument, which is text in the format's line. */
static struct node *argument(struct parser *parser)
{
	return parse_take(parser, ",")
		       ? parse_expression(parser)
		       : parse_wrong(parser, "it has fewer arguments than conversions");
}

/* Digits or '*'. */
static int32_t conv_number(struct parser *parser, const char **at, struct node **out_node)
{
	int32_t number = 0;

	if (**at == '*') {
		(*at)++;
		*out_node = argument(parser);
		return -1;
	}
	for (; isdigit((unsigned char)**at); (*at)++) {
		if (number < MAX_WIDTH)
			number = number * 10 + (**at - '0');
	}
	return number < MAX_WIDTH ? number : MAX_WIDTH;
}

static void conv_length(struct parser *parser, struct conv *conv, const char **at)
{
	conv->bits = 32;
	for (;; (*at)++) {
		switch (**at) {
		case 'h':
			conv->bits = conv->bits == 16 ? 8 : 16;
			break;
		case 'l':
			conv->bits = conv->bits == 32 ? (uint8_t)parser->long_bits : 64;
			if (conv->bits == 32)
				conv->bits = (*at)[1] == 'l' ? 64 : 32;
			break;
		case 'z':
		case 'Z':
		case 't':
			conv->bits = (uint8_t)parser->long_bits;
			break;
		case 'L':
		case 'q':
		case 'j':
			conv->bits = 64;
			break;
		default:
			return;
		}
	}
}

/* What may follow %p, the longest first. */
static const char *const pointers[] = {
	"ISpfsc", "ISpfc", "ISpsc", "ISpc", "ISfc", "ISsc", "ISc", "ISpfs", "ISpf", "ISps", "ISp",
	"IS",	  "iS",	   "I6c",   "I6",   "i6",   "I4",   "i4",  "MF",    "MR",   "M",    "mR",
	"m",	  "UL",	   "Ul",    "UB",   "Ub",   "U",    "hC",  "hD",    "hN",   "h",    "bl",
	"b",	  "S",	   "s",	    "F",    "f",    "B",    "x",   "K",
};

static bool conv_letter(struct parser *parser, struct conv *conv, const char **at)
{
	conv->type = *(*at)++;
	switch (conv->type) {
	case 'i':
		conv->type = 'd';
		return true;
	case 'd':
	case 'u':
	case 'x':
	case 'X':
	case 'o':
	case 'c':
	case 's':
		return true;
	case 'p':
		break;
	default:
		return parse_wrong(parser, "it has a conversion that is not known");
	}
	for (size_t i = 0; i < ARRAY_LEN(pointers); i++) {
		size_t bytes = strlen(pointers[i]);

		if (strncmp(*at, pointers[i], bytes) != 0)
			continue;
		memcpy(conv->more, pointers[i], bytes);
		*at += bytes;
		break;
	}
	/* "[4S][hnbl]": the byte order of an address */
	if (conv->more[0] == 'I' && conv->more[1] == '4' && **at && strchr("hnbl", **at)) {
		conv->more[2] = *(*at)++;
	}
	return true;
}

/* One conversion; *at stands behind its '%'. */
static bool conversion(struct parser *parser, const char **at, struct conv *out_conv)
{
	struct conv conv = { .width = -1, .precision = -1 };

	conv_flags(&conv, at);
	if (**at == '*' || isdigit((unsigned char)**at))
		conv.width = conv_number(parser, at, &conv.width_node);
	if (**at == '.') {
		(*at)++;
		conv.precision = conv_number(parser, at, &conv.precision_node);
	}
	conv_length(parser, &conv, at);
	if (parser->why || !conv_letter(parser, &conv, at))
		return false;
	conv.arg = argument(parser);
	*out_conv = conv;
	return !parser->why;
}

static void add_literal(struct parser *parser, struct parsed *parsed, const char *text,
			size_t bytes)
{
	char *copy = pool_take(parser->pool, bytes + 16); /* copied 16 bytes at a time */
	size_t kept = 0;

	for (size_t i = 0; i < bytes; i++) {
		if (text[i] == '%' && i + 1 < bytes && text[i + 1] == '%')
			i++;
		/* A line is a line. */
		copy[kept++] = text[i] == '\n' || (unsigned char)text[i] < ' ' ? ' ' : text[i];
	}
	parsed->literals[parsed->conv_count] = copy;
	parsed->literal_bytes[parsed->conv_count] = (uint32_t)kept;
}

/* Where the next conversion begins in the format, or its end. */
static const char *next_percent(const char *at)
{
	while (*at && (at[0] != '%' || at[1] == '%'))
		at += at[0] == '%' ? 2 : 1;
	return at;
}

static bool conversions(struct parser *parser, const char *format, struct parsed *parsed)
{
	size_t bytes = strlen(format);
	const char *at = format;

	while (bytes && (format[bytes - 1] == '\n' || format[bytes - 1] == ' '))
		bytes--;
	for (;;) {
		const char *percent = next_percent(at);
		size_t literal = (size_t)(percent - at);

		if (!*percent && literal)
			literal = at < format + bytes ? (size_t)(format + bytes - at) : 0;
		add_literal(parser, parsed, at, literal);
		if (!*percent)
			return true;
		if (parsed->conv_count == MAX_CONVS)
			return parse_wrong(parser, "it has too many conversions");
		at = percent + 1;
		if (!conversion(parser, &at, &parsed->convs[parsed->conv_count]))
			return false;
		parsed->conv_count++;
	}
}

static void *pool_copy(struct pool *pool, const void *data, size_t bytes)
{
	return memcpy(pool_take(pool, bytes), data, bytes);
}

bool print_parse(struct pool *pool, const char *text, const struct print_event *event,
		 uint32_t long_bytes, struct parsed *out_parsed, const char **out_why)
{
	static const char key[] = "print fmt:";
	struct parser parser = { .pool = pool, .event = event, .long_bits = long_bytes * 8 };
	struct conv convs[MAX_CONVS];
	const char *literals[MAX_CONVS + 1];
	uint32_t literal_bytes[MAX_CONVS + 1];
	struct parsed parsed = { 0 };
	const char *format;
	uint32_t bytes;

	*out_why = "it has none";
	text = strstr(text, key);
	if (!text)
		return false;
	parser.at = text + strlen(key);
	parsed.convs = convs;
	parsed.literals = literals;
	parsed.literal_bytes = literal_bytes;
	parse_blanks(&parser);
	if (*parser.at != '"' || !parse_string(&parser, &format, &bytes) ||
	    strlen(format) != bytes || !conversions(&parser, format, &parsed)) {
		*out_why = parser.why ? parser.why : "it is no string";
		return false;
	}
	parse_blanks(&parser);
	if (*parser.at) {
		*out_why = "it has more arguments than conversions";
		return false;
	}
	out_parsed->conv_count = parsed.conv_count;
	out_parsed->convs = pool_copy(pool, convs, parsed.conv_count * sizeof(*convs));
	out_parsed->literals =
		pool_copy(pool, literals, (parsed.conv_count + 1) * sizeof(*literals));
	out_parsed->literal_bytes =
		pool_copy(pool, literal_bytes, (parsed.conv_count + 1) * sizeof(*literal_bytes));
	return true;
}
