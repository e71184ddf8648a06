/*
 * parse.c - types of TSDL: integers to variants, and the names they are given.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "read/ctf/parse_int.h"

#define MAX_DIMENSIONS 16u
#define MAX_WORDS      8u /* in the name of a type: "unsigned long long int" */

bool ctf_wrong_at(struct err *err, const char *place, uint32_t line, const char *format,
		  va_list args)
{
	AUTO_FREE char *safe = NULL;
	char text[256];

	vsnprintf(text, sizeof(text), format, args);
	safe = text_escaped(text);
	(void)err_set(err, -EBADMSG, "metadata%s line %u: %s", place, line, safe);
	return false;
}

bool ctf_wrong(struct ctf_parser *parser, uint32_t line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)ctf_wrong_at(parser->err, "", line, format, args);
	va_end(args);
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

/* Values may be written as words or as literals. */
bool ctf_is_name(const struct ctf_parser *parser)
{
	return parser->token.kind == CTF_TOKEN_WORD || parser->token.kind == CTF_TOKEN_TEXT;
}

bool ctf_is_value(const struct ctf_parser *parser, const char *word)
{
	return ctf_is_name(parser) && strcmp(parser->token.text, word) == 0;
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

int ctf_next_entry(struct ctf_parser *parser)
{
	while (ctf_accept(parser, ';'))
		;
	if (ctf_is_mark(parser, '}'))
		return 0;
	if (parser->token.kind != CTF_TOKEN_END)
		return 1;
	(void)ctf_wrong(parser, parser->token.line, "'}' is missing");
	return -EBADMSG;
}

bool ctf_is_number(const struct ctf_parser *parser)
{
	return parser->token.kind == CTF_TOKEN_NUMBER || ctf_is_mark(parser, '+') ||
	       ctf_is_mark(parser, '-') || ctf_is_mark(parser, '(');
}

bool ctf_parse_number(struct ctf_parser *parser, uint64_t *out_number, bool *out_negative)
{
	bool negative = false;
	uint32_t open = 0;

	/* Signs and brackets before it, in any order. */
	while (ctf_is_number(parser) && parser->token.kind != CTF_TOKEN_NUMBER) {
		negative ^= ctf_is_mark(parser, '-');
		open += ctf_is_mark(parser, '(');
		if (!ctf_advance(parser))
			return false;
	}
	if (parser->token.kind != CTF_TOKEN_NUMBER)
		return ctf_wrong(parser, parser->token.line, "a number is missing");
	*out_number = negative ? -parser->token.number : parser->token.number;
	*out_negative = negative && *out_number;
	if (!ctf_advance(parser))
		return false;
	while (open--) {
		if (!ctf_expect(parser, ')'))
			return false;
	}
	return true;
}

bool ctf_parse_unsigned(struct ctf_parser *parser, const char *what, uint64_t *out_number)
{
	uint32_t line = parser->token.line;
	bool negative = false;

	if (ctf_is_number(parser)) {
		if (!ctf_parse_number(parser, out_number, &negative))
			return false;
		if (!negative)
			return true;
	}
	return ctf_wrong(parser, line, "%s must be a number of 0 or more", what);
}

bool ctf_parse_signed(struct ctf_parser *parser, const char *what, int64_t *out_number)
{
	uint32_t line = parser->token.line;
	uint64_t number;
	bool negative;

	if (!ctf_parse_number(parser, &number, &negative))
		return false;
	if (negative != ((int64_t)number < 0))
		return ctf_wrong(parser, line, "%s is too large", what);
	*out_number = (int64_t)number;
	return true;
}

/* The value of an attribute that nobody knows. */
bool ctf_skip_value(struct ctf_parser *parser)
{
	const char *path;
	uint64_t number;
	bool negative;

	return ctf_is_name(parser) ? ctf_parse_path(parser, &path)
				   : ctf_parse_number(parser, &number, &negative);
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

		if (!ctf_is_name(parser))
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

struct ctf_type *ctf_new_type(struct ctf_parser *parser, enum ctf_kind kind)
{
	struct ctf_type *type = ctf_take(&parser->meta->arena, sizeof(*type));

	type->kind = (uint8_t)kind;
	type->line = parser->token.line;
	type->align = 1;
	type->base = 10;
	return type;
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

/* A type may be const, which changes nothing. */
static bool skip_const(struct ctf_parser *parser)
{
	while (ctf_is_word(parser, "const")) {
		if (!ctf_advance(parser))
			return false;
	}
	return true;
}

static char *ctf_parse_join(struct ctf_parser *parser, const struct words *words, uint32_t count)
{
	char *joined = ctf_keep(&parser->meta->arena, "", 0);

	for (uint32_t i = 0; i < count; i++) {
		AUTO_FREE char *more = xasprintf("%s%s%s", joined, i ? " " : "", words->items[i]);

		joined = ctf_keep(&parser->meta->arena, more, strlen(more));
	}
	return joined;
}

static bool ctf_parse_find_named(struct ctf_parser *parser, const char *name, uint32_t line,
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
static bool ctf_parse_set_depth(struct ctf_parser *parser, struct ctf_type *type,
				const struct ctf_type *part)
{
	if (type->depth <= part->depth)
		type->depth = part->depth + 1;
	return type->depth <= CTF_MAX_DEPTH ||
	       ctf_wrong(parser, type->line, "types are nested too deeply");
}

/* ------------------------------------------------------------------ enum */

/* Also one that the integer is too small for: no value has that label then. */
static bool parse_bound(struct ctf_parser *parser, uint64_t *out_number)
{
	bool negative;

	return ctf_parse_number(parser, out_number, &negative);
}

/* LABEL, LABEL = LOW, or LABEL = LOW ... HIGH */
static bool ctf_parse_range(struct ctf_parser *parser, const struct ctf_type *type, uint64_t next,
			    struct ctf_range *out_range)
{
	uint32_t line = parser->token.line;

	if (!ctf_is_name(parser))
		return ctf_wrong(parser, line, "a label of the enumeration is missing");
	*out_range = (struct ctf_range){ parser->token.text, next, next };
	if (!ctf_advance(parser))
		return false;
	if (!ctf_accept(parser, '='))
		return true;
	if (!parse_bound(parser, &out_range->low))
		return false;
	out_range->high = out_range->low;
	if (parser->token.kind != CTF_TOKEN_DOTS)
		return true;
	if (!ctf_advance(parser) || !parse_bound(parser, &out_range->high))
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
		if (!ctf_parse_range(parser, type, next, &ranges[count]))
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
		if (!ctf_parse_find_named(parser, "int", line, &integer))
			return false;
	} else if (!skip_const(parser)) {
		return false;
	} else if (ctf_is_word(parser, "integer")) {
		if (!ctf_parse_integer(parser, &integer) || !skip_const(parser))
			return false;
	} else if (!parse_words(parser, &words) ||
		   !ctf_parse_find_named(parser, ctf_parse_join(parser, &words, words.count), line,
					 &integer)) {
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
			return ctf_parse_find_named(parser, name, parser->token.line, out_type);
	}
	*out_type = ctf_new_type(parser, CTF_ENUM);
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
	*out = (struct dimension){ 0 };
	if (ctf_is_number(parser))
		return ctf_parse_unsigned(parser, "a length", &out->length);
	if (!ctf_parse_path(parser, &out->path))
		return false;
	if (strncmp(out->path, "env.", 4) == 0) {
		const char *path = out->path;

		out->path = NULL;
		return env_length(parser, path, &out->length);
	}
	return true; /* whether there is such a field is known where the type is used */
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
		struct ctf_type *made = ctf_new_type(parser, one->path ? CTF_SEQUENCE : CTF_ARRAY);

		made->element = *type;
		made->align = (*type)->align;
		made->length = one->length;
		made->path = one->path;
		made->is_text = (*type)->kind == CTF_INTEGER && (*type)->is_text &&
				(*type)->bits == 8 && (*type)->align == 8;
		if (!ctf_parse_set_depth(parser, made, *type))
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
static bool ctf_parse_field(struct ctf_parser *parser, struct ctf_members *members)
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
		if (!ctf_parse_find_named(parser, ctf_parse_join(parser, &words, words.count - 1),
					  line, &type))
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
static bool ctf_parse_check_names(struct ctf_parser *parser, const struct ctf_type *type)
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
		if (!ctf_parse_set_depth(parser, type, type->members[i].type))
			return false;
		if (type->kind == CTF_STRUCT && type->align < type->members[i].type->align)
			type->align = type->members[i].type->align;
	}
	return ctf_parse_check_names(parser, type);
}

static bool parse_fields(struct ctf_parser *parser, struct ctf_members *members)
{
	int rc;

	while ((rc = ctf_next_entry(parser)) > 0) {
		bool any = ctf_is_word(parser, "typealias") || ctf_is_word(parser, "typedef");

		if (any ? !ctf_parse_declaration(parser, &any) : !ctf_parse_field(parser, members))
			return false;
	}
	return rc == 0 && ctf_advance(parser);
}

/* { fields } */
static bool parse_body(struct ctf_parser *parser, struct ctf_type *type)
{
	struct ctf_members members = { 0 };
	bool done;

	if (++parser->depth > CTF_MAX_DEPTH)
		return ctf_wrong(parser, parser->token.line, "types are nested too deeply");
	if (!ctf_expect(parser, '{'))
		return false;
	ctf_scope_begin(parser);
	done = parse_fields(parser, &members) && keep_members(parser, type, &members);
	free(members.items);
	if (!done)
		return false;
	ctf_scope_end(parser);
	parser->depth--;
	return true;
}

static bool parse_min_align(struct ctf_parser *parser, struct ctf_type *type)
{
	uint64_t zero = 1;
	uint32_t align = 1;

	if (!ctf_is_word(parser, "align"))
		return true;
	if (!ctf_advance(parser) || !ctf_expect(parser, '('))
		return false;
	/* align(0) asks for nothing. */
	if (parser->token.kind == CTF_TOKEN_NUMBER && parser->token.number == 0) {
		if (!ctf_parse_unsigned(parser, "align", &zero))
			return false;
	} else if (!ctf_parse_align(parser, &align)) {
		return false;
	}
	if (!ctf_expect(parser, ')'))
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
			return ctf_parse_find_named(parser, name, parser->token.line, out_type);
	}
	*out_type = ctf_new_type(parser, CTF_STRUCT);
	return parse_body(parser, *out_type) && parse_min_align(parser, *out_type) &&
	       (!name || ctf_name_add(parser, name, *out_type));
}

/* <PATH> */
static bool parse_tag(struct ctf_parser *parser, const char **out_path)
{
	if (!ctf_accept(parser, '<'))
		return !ctf_is_mark(parser, '<');
	return ctf_parse_path(parser, out_path) && ctf_expect(parser, '>');
}

static bool ctf_parse_variant(struct ctf_parser *parser, struct ctf_type **out_type)
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
	*out_type = ctf_new_type(parser, CTF_VARIANT);
	if (name && !ctf_is_mark(parser, '{')) {
		if (!ctf_parse_find_named(parser, name, parser->token.line, &known))
			return false;
		**out_type = *known;
		if (path)
			(*out_type)->path = path;
		return true;
	}
	if (!parse_body(parser, *out_type))
		return false;
	(*out_type)->path = path;
	return !name || ctf_name_add(parser, name, *out_type);
}

static bool parse_explicit(struct ctf_parser *parser, struct ctf_type **out_type, bool *out_any)
{
	static const struct {
		const char *word;
		bool (*parse)(struct ctf_parser *parser, struct ctf_type **out_type);
	} rows[] = {
		{ "integer", ctf_parse_integer }, { "floating_point", ctf_parse_float },
		{ "string", ctf_parse_string },	  { "enum", parse_enum },
		{ "struct", parse_struct },	  { "variant", ctf_parse_variant },
	};

	*out_any = false;
	if (!skip_const(parser))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!ctf_is_word(parser, rows[i].word))
			continue;
		*out_any = true;
		return rows[i].parse(parser, out_type) && skip_const(parser);
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
	       ctf_parse_find_named(parser, ctf_parse_join(parser, &words, words.count), line,
				    out_type);
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
static bool ctf_parse_alias(struct ctf_parser *parser)
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
	       ctf_name_add(parser, ctf_parse_join(parser, &words, words.count), type);
}

/* typealias TYPE := NAME; */
static bool parse_typealias(struct ctf_parser *parser)
{
	return ctf_parse_alias(parser) && ctf_expect(parser, ';');
}

/* typedef TYPE NAME[LENGTH], ...; */
static bool parse_typedef(struct ctf_parser *parser)
{
	struct ctf_members members = { 0 };
	bool done;

	done = ctf_advance(parser) && ctf_parse_field(parser, &members);
	for (size_t i = 0; done && i < members.count; i++)
		done = ctf_name_add(parser, members.items[i].name, members.items[i].type);
	free(members.items);
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
