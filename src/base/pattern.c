/*
 * pattern.c - a pattern becomes places, and a text is walked once with the set of places it may be at.
 *
 * First a tree of the text, then the places of the tree, in order: what stands behind a place follows
 * it, forks and jumps name others. A repetition writes its part as often as it may be there, so both
 * the places and the steps of writing have a limit.
 */
#include "base/pattern.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum place_kind {
	PLACE_SET,  /* one byte of a set */
	PLACE_FORK, /* here: the next one, and 'to' */
	PLACE_JUMP, /* to 'to' */
	PLACE_BEGIN,
	PLACE_END,
	PLACE_WORD_EDGE, /* \b */
	PLACE_NO_EDGE,	 /* \B */
	PLACE_WORD_BEGIN,
	PLACE_WORD_END,
	PLACE_MATCH,
};

struct place {
	uint8_t kind;
	uint16_t to;
	uint64_t set[4]; /* of PLACE_SET: a bit for each byte */
};

struct pattern {
	uint64_t first[4]; /* bytes that a match may begin with */
	bool needs_byte;   /* it begins with one of them: no match is empty */
	uint32_t count;
	struct place places[];
};

enum node_kind {
	NODE_PLACE,
	NODE_ALL,    /* its children one behind the other */
	NODE_EITHER, /* one of its children */
	NODE_REPEAT, /* its child 'min' to 'max' times */
};

struct node {
	uint8_t kind;
	uint32_t child, next; /* of its parent's children; 0 = none */
	uint32_t min, max;    /* a max of UINT32_MAX is any number */
	struct place place;
};

#define MAX_NODES (4 * PATTERN_MAX_PLACES) /* number 0 is none */
#define MAX_STEPS (16 * PATTERN_MAX_PLACES)

static const char too_large[] = "it is too large: repetitions expand to thousands of letters";

struct parser {
	const char *at;
	const char *why; /* the first mistake; NULL = none */
	uint32_t depth;
	uint32_t node_count;
	struct node *nodes;
	uint32_t steps, count;
	struct place *places;
};

static void pattern_wrong(struct parser *parser, const char *why)
{
	if (!parser->why)
		parser->why = why;
}

/* When there are too many, the last one again. */
static uint32_t new_node(struct parser *parser, enum node_kind kind)
{
	uint32_t number = parser->node_count;

	if (number + 1 < MAX_NODES)
		parser->node_count++;
	else
		pattern_wrong(parser, "it is too long");
	parser->nodes[number] = (struct node){ .kind = kind };
	return number;
}

static uint32_t new_place(struct parser *parser, enum place_kind kind)
{
	uint32_t number = new_node(parser, NODE_PLACE);

	parser->nodes[number].place.kind = kind;
	return number;
}

static uint64_t *set_of(struct parser *parser, uint32_t node)
{
	return parser->nodes[node].place.set;
}

static void set_add(uint64_t *set, unsigned char byte)
{
	set[byte >> 6] |= UINT64_C(1) << (byte & 63);
}

static bool set_has(const uint64_t *set, unsigned char byte)
{
	return set[byte >> 6] >> (byte & 63) & 1;
}

static bool is_word(unsigned char byte)
{
	return byte == '_' || (byte < 0x80 && isalnum(byte));
}

/* ---------------------------------------------------------------------- [sets] */

static const struct {
	const char *name;
	int (*is)(int c);
} classes[] = {
	{ "alpha", isalpha }, { "digit", isdigit }, { "alnum", isalnum }, { "upper", isupper },
	{ "lower", islower }, { "space", isspace }, { "blank", isblank }, { "punct", ispunct },
	{ "print", isprint }, { "graph", isgraph }, { "cntrl", iscntrl }, { "xdigit", isxdigit },
};

/* "[:alpha:]" at the parser. Returns whether it is one. */
static bool take_class(struct parser *parser, uint64_t *set)
{
	for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
		size_t bytes = strlen(classes[i].name);

		if (strncmp(parser->at + 2, classes[i].name, bytes) != 0 ||
		    strncmp(parser->at + 2 + bytes, ":]", 2) != 0)
			continue;
		for (int c = 0; c < 0x80; c++) {
			if (classes[i].is(c))
				set_add(set, (unsigned char)c);
		}
		parser->at += bytes + 4;
		return true;
	}
	pattern_wrong(parser, "there is no such class of characters");
	return false;
}

/* One end of a range: a byte, or "[.x.]", "[=x=]". */
static unsigned char take_end(struct parser *parser)
{
	const char *at = parser->at;

	if (at[0] == '[' && (at[1] == '.' || at[1] == '=')) {
		if (!at[2] || at[3] != at[1] || at[4] != ']') {
			pattern_wrong(parser, "[. .] and [= =] support only single letters");
			return 0;
		}
		parser->at += 5;
		return (unsigned char)at[2];
	}
	if (*at)
		parser->at++;
	return (unsigned char)*at;
}

static void take_range(struct parser *parser, uint64_t *set)
{
	unsigned char low = take_end(parser), high = low;

	if (parser->at[0] == '-' && parser->at[1] && parser->at[1] != ']') {
		parser->at++;
		high = take_end(parser);
	}
	if (high < low)
		pattern_wrong(parser, "Invalid range end");
	for (uint32_t c = low; c <= high; c++)
		set_add(set, (unsigned char)c);
}

/* Behind '['. */
static uint32_t parse_set(struct parser *parser)
{
	uint32_t node = new_place(parser, PLACE_SET);
	uint64_t *set = set_of(parser, node);
	bool is_not = *parser->at == '^';
	const char *begin = parser->at += is_not;

	while (!parser->why && *parser->at && (*parser->at != ']' || parser->at == begin)) {
		if (parser->at[0] == '[' && parser->at[1] == ':')
			(void)take_class(parser, set);
		else
			take_range(parser, set);
	}
	if (*parser->at != ']')
		pattern_wrong(parser, "Unmatched [");
	else
		parser->at++;
	for (size_t i = 0; i < 4 && is_not; i++)
		set[i] = ~set[i];
	return node;
}

/* -------------------------------------------------------------------- the parts */

static uint32_t letter(struct parser *parser, char c)
{
	uint32_t node = new_place(parser, PLACE_SET);

	set_add(set_of(parser, node), (unsigned char)c);
	return node;
}

static uint32_t all_that(struct parser *parser, bool (*is)(unsigned char), bool wanted)
{
	uint32_t node = new_place(parser, PLACE_SET);

	for (uint32_t c = 0; c < 256; c++) {
		if (is((unsigned char)c) == wanted)
			set_add(set_of(parser, node), (unsigned char)c);
	}
	return node;
}

static bool is_space(unsigned char byte)
{
	return byte < 0x80 && isspace(byte);
}

static bool is_any(unsigned char byte)
{
	(void)byte;
	return true;
}

static const struct {
	char letter;
	enum place_kind kind;
} escapes[] = {
	{ 'b', PLACE_WORD_EDGE }, { 'B', PLACE_NO_EDGE }, { '<', PLACE_WORD_BEGIN },
	{ '>', PLACE_WORD_END },  { '`', PLACE_BEGIN },	  { '\'', PLACE_END },
};

/* Behind '\'. */
static uint32_t parse_escape(struct parser *parser)
{
	char c = *parser->at;

	if (c)
		parser->at++;
	else
		pattern_wrong(parser, "Trailing backslash");
	if (c >= '1' && c <= '9')
		pattern_wrong(parser,
			      "back-references (\\1) are not supported: they can take exponential "
			      "time");
	if (c == 'w' || c == 'W')
		return all_that(parser, is_word, c == 'w');
	if (c == 's' || c == 'S')
		return all_that(parser, is_space, c == 's');
	for (size_t i = 0; i < ARRAY_LEN(escapes); i++) {
		if (c == escapes[i].letter)
			return new_place(parser, escapes[i].kind);
	}
	return letter(parser, c);
}

static uint32_t parse_either(struct parser *parser);

/* Behind '('. */
static uint32_t parse_group(struct parser *parser)
{
	uint32_t node = 0;

	if (++parser->depth > PATTERN_MAX_DEPTH)
		pattern_wrong(parser, "its parentheses are too deep");
	else
		node = parse_either(parser);
	parser->depth--;
	if (*parser->at != ')')
		pattern_wrong(parser, "Unmatched ( or \\(");
	else
		parser->at++;
	return node;
}

static uint32_t parse_atom(struct parser *parser)
{
	char c = *parser->at++;

	switch (c) {
	case '(':
		return parse_group(parser);
	case '[':
		return parse_set(parser);
	case '\\':
		return parse_escape(parser);
	case '^':
		return new_place(parser, PLACE_BEGIN);
	case '$':
		return new_place(parser, PLACE_END);
	case '.':
		return all_that(parser, is_any, true);
	case '*':
	case '+':
	case '?':
	case '{':
		pattern_wrong(parser, "Invalid preceding regular expression");
		return 0;
	default:
		return letter(parser, c);
	}
}

static uint32_t take_count(struct parser *parser)
{
	uint32_t count = 0;

	for (; isdigit((unsigned char)*parser->at); parser->at++) {
		if (count <= PATTERN_MAX_REPEAT)
			count = count * 10 + (uint32_t)(*parser->at - '0');
	}
	if (count > PATTERN_MAX_REPEAT)
		pattern_wrong(parser, "more repetitions than 255");
	return count;
}

/* Behind '{': "2}", "2,}", ",3}", "2,3}". */
static void take_braces(struct parser *parser, struct node *repeat)
{
	if (!isdigit((unsigned char)*parser->at) && *parser->at != ',')
		pattern_wrong(parser, "Invalid content of \\{\\}");
	repeat->min = repeat->max = take_count(parser);
	if (*parser->at == ',') {
		parser->at++;
		repeat->max = isdigit((unsigned char)*parser->at) ? take_count(parser) : UINT32_MAX;
	}
	if (*parser->at != '}' || repeat->max < repeat->min)
		pattern_wrong(parser, "Invalid content of \\{\\}");
	else
		parser->at++;
}

/* The sign of a repetition behind an atom, if there is one. */
static bool take_repeat(struct parser *parser, struct node *repeat)
{
	char c = *parser->at;

	if (c != '*' && c != '+' && c != '?' && c != '{')
		return false;
	parser->at++;
	repeat->kind = NODE_REPEAT;
	if (c == '{') {
		take_braces(parser, repeat);
		return true;
	}
	repeat->min = c == '+';
	repeat->max = c == '?' ? 1 : UINT32_MAX;
	return true;
}

#define MAX_SIGNS 8u /* a*?+{2} */

static uint32_t parse_piece(struct parser *parser)
{
	uint32_t node = parse_atom(parser), signs = 0;
	struct node repeat = { 0 };

	while (!parser->why && take_repeat(parser, &repeat)) {
		uint32_t outer = new_node(parser, NODE_REPEAT);

		repeat.child = node;
		parser->nodes[outer] = repeat;
		node = outer;
		if (++signs > MAX_SIGNS)
			pattern_wrong(parser, "too many repetitions of one another");
	}
	return node;
}

/* Pieces up to '|', ')' or the end. */
static uint32_t parse_branch(struct parser *parser)
{
	uint32_t node = new_node(parser, NODE_ALL), *last = &parser->nodes[node].child;

	while (!parser->why && *parser->at && *parser->at != '|' &&
	       (*parser->at != ')' || !parser->depth)) {
		*last = parse_piece(parser);
		last = &parser->nodes[*last].next;
	}
	return node;
}

static uint32_t parse_either(struct parser *parser)
{
	uint32_t node = new_node(parser, NODE_EITHER), *last = &parser->nodes[node].child;

	for (;;) {
		*last = parse_branch(parser);
		last = &parser->nodes[*last].next;
		if (parser->why || *parser->at != '|')
			return node;
		parser->at++;
	}
}

/* --------------------------------------------------------------------- the places */

/* The place to fill next; when there are too many, the last one again. */
static struct place *pattern_add(struct parser *parser, enum place_kind kind)
{
	struct place *place = &parser->places[parser->count];

	if (parser->count + 1 < PATTERN_MAX_PLACES)
		parser->count++;
	else
		pattern_wrong(parser, too_large);
	*place = (struct place){ .kind = kind };
	return place;
}

static void write_node(struct parser *parser, uint32_t number);

static void write_either(struct parser *parser, uint32_t branch)
{
	uint32_t first = parser->count, fork, end;

	/* Each but the last: a fork to the next one, and a jump to the end, which is chained. */
	for (end = UINT32_MAX; parser->nodes[branch].next && !parser->why;
	     branch = parser->nodes[branch].next) {
		fork = parser->count;
		(void)pattern_add(parser, PLACE_FORK);
		write_node(parser, branch);
		pattern_add(parser, PLACE_JUMP)->to = (uint16_t)(end == UINT32_MAX ? first : end);
		end = parser->count - 1;
		parser->places[fork].to = (uint16_t)parser->count;
	}
	write_node(parser, branch);
	while (end != UINT32_MAX && !parser->why) {
		uint32_t before = parser->places[end].to;

		parser->places[end].to = (uint16_t)parser->count;
		end = before == first ? UINT32_MAX : before;
	}
}

static void write_repeat(struct parser *parser, const struct node *repeat)
{
	uint32_t forks[PATTERN_MAX_REPEAT], count = 0, fork;

	for (uint32_t i = 0; i < repeat->min && !parser->why; i++)
		write_node(parser, repeat->child);
	if (repeat->max == UINT32_MAX) {
		fork = parser->count;
		(void)pattern_add(parser, PLACE_FORK);
		write_node(parser, repeat->child);
		pattern_add(parser, PLACE_JUMP)->to = (uint16_t)fork;
		parser->places[fork].to = (uint16_t)parser->count;
		return;
	}
	for (uint32_t i = repeat->min; i < repeat->max && !parser->why; i++) {
		forks[count++] = parser->count;
		(void)pattern_add(parser, PLACE_FORK);
		write_node(parser, repeat->child);
	}
	for (uint32_t i = 0; i < count; i++)
		parser->places[forks[i]].to = (uint16_t)parser->count;
}

static void write_node(struct parser *parser, uint32_t number)
{
	const struct node *node = &parser->nodes[number];

	if (++parser->steps > MAX_STEPS)
		pattern_wrong(parser, too_large);
	if (parser->why)
		return;
	switch ((enum node_kind)node->kind) {
	case NODE_PLACE:
		*pattern_add(parser, PLACE_SET) = node->place;
		break;
	case NODE_REPEAT:
		write_repeat(parser, node);
		break;
	case NODE_EITHER:
		write_either(parser, node->child);
		break;
	case NODE_ALL:
		for (uint32_t child = node->child; child; child = parser->nodes[child].next)
			write_node(parser, child);
		break;
	}
}

/* ----------------------------------------------------------------------- matching */

/* The places that a text may be at; in 'seen' is the step that a place was last added in. */
struct places {
	uint32_t count;
	uint16_t at[PATTERN_MAX_PLACES];
};

struct walk {
	const struct pattern *pattern;
	const unsigned char *text;
	size_t bytes, now;
	uint32_t step;
	bool found;
	uint32_t seen[PATTERN_MAX_PLACES];
};

static bool holds(const struct walk *walk, enum place_kind kind)
{
	bool before = walk->now > 0 && is_word(walk->text[walk->now - 1]);
	bool behind = walk->now < walk->bytes && is_word(walk->text[walk->now]);

	switch (kind) {
	case PLACE_BEGIN:
		return walk->now == 0;
	case PLACE_END:
		return walk->now == walk->bytes;
	case PLACE_WORD_EDGE:
		return before != behind;
	case PLACE_NO_EDGE:
		return before == behind;
	case PLACE_WORD_BEGIN:
		return !before && behind;
	case PLACE_WORD_END:
		return before && !behind;
	default:
		return true;
	}
}

/* Add a place, and all that it leads to without a byte. */
static void enter(struct walk *walk, struct places *places, uint32_t first)
{
	uint16_t stack[2 * PATTERN_MAX_PLACES];
	uint32_t depth = 0;

	stack[depth++] = (uint16_t)first;
	while (depth) {
		uint16_t number = stack[--depth];
		const struct place *place = &walk->pattern->places[number];

		if (walk->seen[number] == walk->step)
			continue;
		walk->seen[number] = walk->step;
		if (place->kind == PLACE_SET)
			places->at[places->count++] = number;
		else if (place->kind == PLACE_MATCH)
			walk->found = true;
		else if (place->kind == PLACE_JUMP)
			stack[depth++] = place->to;
		else if (holds(walk, (enum place_kind)place->kind))
			stack[depth++] = (uint16_t)(number + 1);
		if (place->kind == PLACE_FORK)
			stack[depth++] = place->to;
	}
}

/* From the byte at hand to the next one. */
static void go_on(struct walk *walk, const struct places *from, struct places *to)
{
	unsigned char byte = walk->text[walk->now];

	walk->now++;
	walk->step++;
	to->count = 0;
	for (uint32_t i = 0; i < from->count && !walk->found; i++) {
		if (set_has(walk->pattern->places[from->at[i]].set, byte))
			enter(walk, to, from->at[i] + 1u);
	}
}

/* The next byte that a match may begin with, where none is under way. */
static void skip_others(struct walk *walk)
{
	while (walk->now < walk->bytes && !set_has(walk->pattern->first, walk->text[walk->now]))
		walk->now++;
}

bool pattern_matches(const struct pattern *pattern, const char *text, size_t bytes)
{
	struct walk walk = {
		.pattern = pattern, .text = (const unsigned char *)text, .bytes = bytes, .step = 1
	};
	struct places a = { 0 }, b = { 0 };
	struct places *now = &a, *next = &b;

	for (;;) {
		struct places *swap = now;

		if (!now->count && pattern->needs_byte)
			skip_others(&walk);
		enter(&walk, now, 0); /* a match may begin anywhere */
		if (walk.found || walk.now >= walk.bytes)
			return walk.found;
		go_on(&walk, now, next);
		now = next;
		next = swap;
	}
}

/* What a match may begin with: all sets that are reached without a byte, whatever is asked there. */
static void find_first(struct pattern *pattern)
{
	bool seen[PATTERN_MAX_PLACES] = { false };
	uint16_t stack[2 * PATTERN_MAX_PLACES];
	uint32_t depth = 0;

	pattern->needs_byte = true;
	stack[depth++] = 0;
	while (depth) {
		uint16_t number = stack[--depth];
		const struct place *place = &pattern->places[number];

		if (seen[number])
			continue;
		seen[number] = true;
		for (size_t i = 0; i < 4 && place->kind == PLACE_SET; i++)
			pattern->first[i] |= place->set[i];
		if (place->kind == PLACE_MATCH)
			pattern->needs_byte = false;
		if (place->kind != PLACE_SET && place->kind != PLACE_JUMP &&
		    place->kind != PLACE_MATCH)
			stack[depth++] = (uint16_t)(number + 1);
		if (place->kind == PLACE_FORK || place->kind == PLACE_JUMP)
			stack[depth++] = place->to;
	}
}

struct pattern *pattern_new(const char *text, const char **out_why)
{
	AUTO_FREE struct node *nodes = xcalloc(MAX_NODES, sizeof(*nodes));
	AUTO_FREE struct place *places = xcalloc(PATTERN_MAX_PLACES, sizeof(*places));
	struct parser parser = { .at = text, .nodes = nodes, .places = places, .node_count = 1 };
	struct pattern *pattern;
	uint32_t root = parse_either(&parser);

	write_node(&parser, root);
	(void)pattern_add(&parser, PLACE_MATCH);
	if (parser.why) {
		*out_why = parser.why;
		return NULL;
	}
	pattern = xcalloc(1, sizeof(*pattern) + parser.count * sizeof(*places));
	pattern->count = parser.count;
	memcpy(pattern->places, places, parser.count * sizeof(*places));
	find_first(pattern);
	return pattern;
}

void pattern_free(struct pattern *pattern)
{
	free(pattern);
}
