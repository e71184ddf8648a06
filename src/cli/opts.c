/* opts.c - one row per option; one parser per type. */
#include "cli/opts.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

#define HELP_COLUMN 28 /* where the second column of the help begins */
#define ARG_COLUMN  12 /* where the words of a long choice go on */
#define HELP_WIDTH  80
#define CHOICES_MAX 32

/* Each parser writes the field and returns whether 'value' was good. */
typedef bool parse_value(const struct opt_spec *spec, const char *value, void *field);

static bool parse_flag(const struct opt_spec *spec, const char *value, void *field)
{
	(void)spec;
	(void)value;
	*(bool *)field = true;
	return true;
}

static bool opts_parse_u32(const struct opt_spec *spec, const char *value, void *field)
{
	uint64_t number;

	(void)spec;
	if (!text_parse_u64(value, &number) || number > UINT32_MAX)
		return false;
	*(uint32_t *)field = (uint32_t)number;
	return true;
}

static bool parse_u64(const struct opt_spec *spec, const char *value, void *field)
{
	(void)spec;
	return text_parse_u64(value, field);
}

static bool parse_pid(const struct opt_spec *spec, const char *value, void *field)
{
	uint64_t number;

	(void)spec;
	if (!text_parse_u64(value, &number) || number == 0 || number > INT32_MAX)
		return false;
	*(int32_t *)field = (int32_t)number;
	return true;
}

static bool opts_parse_pids(const struct opt_spec *spec, const char *value, void *field)
{
	struct opt_pids *pids = field;
	AUTO_FREE char *list = xstrdup(value);
	char *rest = list;
	int32_t pid;

	for (char *word = strsep(&rest, ","); word; word = strsep(&rest, ",")) {
		if (!parse_pid(spec, word, &pid))
			return false;
		pids->pids = vec_room(pids->pids, pids->count, &pids->cap, sizeof(*pids->pids));
		pids->pids[pids->count++] = pid;
	}
	return true;
}

static bool opts_parse_size(const struct opt_spec *spec, const char *value, void *field)
{
	(void)spec;
	return text_parse_size(value, field);
}

static bool parse_seconds(const struct opt_spec *spec, const char *value, void *field)
{
	uint64_t ns;

	(void)spec;
	if (!text_parse_duration(value, &ns) || ns == 0)
		return false;
	*(double *)field = (double)ns / 1e9;
	return true;
}

static bool parse_duration(const struct opt_spec *spec, const char *value, void *field)
{
	(void)spec;
	return text_parse_duration(value, field);
}

/* Millionths are as fine as it gets. */
static bool parse_percent(const struct opt_spec *spec, const char *value, void *field)
{
	char *end;
	double percent = strtod(value, &end);

	(void)spec;
	if (value[0] < '0' || value[0] > '9' || (end[0] == '%' ? end[1] : end[0]) != '\0')
		return false;
	if (!(percent >= 0.0001 && percent <= 100))
		return false;
	*(uint32_t *)field = (uint32_t)(percent * 10000 + 0.5);
	return true;
}

static bool parse_string(const struct opt_spec *spec, const char *value, void *field)
{
	(void)spec;
	*(const char **)field = value;
	return value[0] != '\0';
}

static bool parse_strings(const struct opt_spec *spec, const char *value, void *field)
{
	struct opt_strings *strings = field;

	(void)spec;
	strings->items =
		vec_room(strings->items, strings->count, &strings->cap, sizeof(*strings->items));
	strings->items[strings->count++] = value;
	return value[0] != '\0';
}

static bool parse_choice(const struct opt_spec *spec, const char *value, void *field)
{
	size_t len = strlen(value);
	const char *word = spec->arg;

	for (uint32_t i = 0; word; i++) {
		if (strncmp(word, value, len) == 0 && (word[len] == '|' || word[len] == '\0')) {
			*(uint32_t *)field = i;
			return len > 0;
		}
		word = strchr(word, '|');
		word = word ? word + 1 : NULL;
	}
	return false;
}

static bool parse_maybe(const struct opt_spec *spec, const char *value, void *field)
{
	struct opt_maybe *maybe = field;

	maybe->given = true;
	return !value || (opts_parse_u32(spec, value, &maybe->value) && maybe->value > 0);
}

enum value_rule {
	VALUE_NEVER,
	VALUE_ALWAYS,
	VALUE_MAYBE
};

struct type_row {
	parse_value *parse;
	enum value_rule rule;
	const char *needs; /* completes "option --x needs ..." */
};

/* NULL: the help's word for the value, or the words of a choice. */
static const struct type_row types[] = {
	[opt_flag] = { parse_flag, VALUE_NEVER, "no value" },
	[opt_u32] = { opts_parse_u32, VALUE_ALWAYS, "a number from 0 to 4294967295" },
	[opt_u64] = { parse_u64, VALUE_ALWAYS, "a number from 0 to 18446744073709551615" },
	[opt_pid] = { parse_pid, VALUE_ALWAYS, "a process or thread id from 1 on" },
	[opt_pids] = { opts_parse_pids, VALUE_ALWAYS, "process or thread ids such as 7 or 7,8" },
	[opt_size] = { opts_parse_size, VALUE_ALWAYS, "a size such as 512K or 4M" },
	[opt_percent] = { parse_percent, VALUE_ALWAYS, "a percentage above 0 such as 2 or 0.5%" },
	[opt_seconds] = { parse_seconds, VALUE_ALWAYS, "seconds such as 10 or 0.5" },
	[opt_duration] = { parse_duration, VALUE_ALWAYS, "a duration such as 300ms or 1.2s" },
	[opt_string] = { parse_string, VALUE_ALWAYS, NULL },
	[opt_strings] = { parse_strings, VALUE_ALWAYS, NULL },
	[opt_choice] = { parse_choice, VALUE_ALWAYS, NULL },
	[opt_maybe] = { parse_maybe, VALUE_MAYBE, "a number from 1 to 4294967295" },
};

/* In every table without a row. */
static const struct opt_spec help_spec = { "help", NULL, "Print this help", opt_flag, 0, 'h' };

/* One run over argv. */
struct parse {
	const struct opt_spec *specs;
	char *opts;
	int argc;
	char **argv;
	struct err *err;
	int at; /* the next word to look at */
};

static const char *needs_of(const struct opt_spec *spec)
{
	return types[spec->type].needs ? types[spec->type].needs : spec->arg;
}

/* Of words with bars between; as opts_hint(). */
static char *hint_among(const char *choice, const char *value)
{
	AUTO_FREE char *list = xstrdup(choice);
	char *rest = list;
	const char *words[CHOICES_MAX];
	size_t count = 0;

	while (*choice && count < CHOICES_MAX && (words[count] = strsep(&rest, "|")))
		count++;
	return opts_hint(value, "", words, count);
}

static int bad_value(struct parse *parse, const struct opt_spec *spec, const char *value)
{
	AUTO_FREE char *safe = text_escaped(value ? value : "");
	AUTO_FREE char *hint =
		hint_among(spec->type == opt_choice ? spec->arg : "", value ? value : "");

	if (!value)
		return err_set(parse->err, -EINVAL, "option --%s needs %s", spec->name,
			       needs_of(spec));
	return err_set(parse->err, -EINVAL, "option --%s needs %s, got \"%s\"%s", spec->name,
		       needs_of(spec), safe, hint);
}

static int set_value(struct parse *parse, const struct opt_spec *spec, const char *value)
{
	if (!types[spec->type].parse(spec, value, parse->opts + spec->offset))
		return bad_value(parse, spec, value);
	return 0;
}

/* The value is 'inline_value' when there is one, else the next word where one is needed. */
static int opt_take_value(struct parse *parse, const struct opt_spec *spec,
			  const char *inline_value)
{
	if (types[spec->type].rule == VALUE_NEVER && inline_value)
		return bad_value(parse, spec, inline_value);
	if (types[spec->type].rule != VALUE_ALWAYS || inline_value)
		return set_value(parse, spec, inline_value);
	if (parse->at >= parse->argc || strcmp(parse->argv[parse->at], "--") == 0)
		return bad_value(parse, spec, NULL);
	return set_value(parse, spec, parse->argv[parse->at++]);
}

static const struct opt_moved *all_moved;

void opts_set_moved(const struct opt_moved *moved)
{
	all_moved = moved;
}

/* 'option' is as it was typed, "--until". Returns -EINVAL with err filled, or 0 when it is none of those. */
static int moved_option(struct parse *parse, const char *option)
{
	for (const struct opt_moved *moved = all_moved; moved && moved->old; moved++) {
		if (strcmp(moved->old, option) == 0)
			return err_set(parse->err, -EINVAL, "%s is %s now", moved->old, moved->now);
	}
	return 0;
}

static int unknown_option(struct parse *parse, const char *name, size_t len)
{
	const char *names[64];
	AUTO_FREE char *word = xstrndup(name, len);
	AUTO_FREE char *safe = text_escaped(word);
	AUTO_FREE char *option = xasprintf("--%s", word);
	AUTO_FREE char *hint = NULL;
	size_t count = 0;

	if (moved_option(parse, option) < 0)
		return -EINVAL;
	if (strcmp(word, "no-pager") == 0)
		return err_set(parse->err, -EINVAL, "%s comes first: holdup %s COMMAND", option,
			       option);
	for (const struct opt_spec *spec = parse->specs; spec->name && count < 64; spec++)
		names[count++] = spec->name;
	hint = opts_hint(word, "--", names, count);
	return err_set(parse->err, -EINVAL, "unknown option --%s%s", safe, hint);
}

static int parse_long(struct parse *parse, const char *word)
{
	size_t len = strcspn(word, "=");
	const char *value = word[len] == '=' ? word + len + 1 : NULL;

	for (const struct opt_spec *spec = parse->specs; spec->name; spec++) {
		if (strlen(spec->name) == len && strncmp(spec->name, word, len) == 0)
			return opt_take_value(parse, spec, value);
	}
	if (len == strlen(help_spec.name) && strncmp(word, help_spec.name, len) == 0)
		return value ? bad_value(parse, &help_spec, value) : OPTS_HELP;
	return unknown_option(parse, word, len);
}

static const struct opt_spec *spec_of_letter(const struct parse *parse, char letter)
{
	for (const struct opt_spec *spec = parse->specs; spec->name; spec++) {
		if (spec->letter == letter)
			return spec;
	}
	return NULL;
}

static int unknown_letter(struct parse *parse, char letter)
{
	AUTO_FREE char *safe = text_escaped((char[]){ letter, '\0' });
	AUTO_FREE char *option = xasprintf("-%s", safe);

	return moved_option(parse, option) < 0
		       ? -EINVAL
		       : err_set(parse->err, -EINVAL, "unknown option %s", option);
}

/* "-jv" is two flags; "-oDIR" is an option with its value. */
static int parse_short(struct parse *parse, const char *letters)
{
	for (; *letters; letters++) {
		const struct opt_spec *spec = spec_of_letter(parse, *letters);
		const char *rest = letters[1] ? letters + 1 : NULL;
		int rc;

		if (!spec && *letters == 'h')
			return OPTS_HELP;
		if (!spec)
			return unknown_letter(parse, *letters);
		if (types[spec->type].rule == VALUE_ALWAYS)
			return opt_take_value(parse, spec, rest);
		rc = opt_take_value(parse, spec, NULL);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Move the words [from, parse->at) in front of the operands that begin at 'to'. */
static void move_before(struct parse *parse, int to, int from)
{
	for (int i = from; i < parse->at; i++, to++) {
		char *word = parse->argv[i];

		memmove(&parse->argv[to + 1], &parse->argv[to],
			(size_t)(i - to) * sizeof(*parse->argv));
		parse->argv[to] = word;
	}
}

int opts_parse(const struct opt_spec *specs, void *opts, int argc, char **argv, struct err *err)
{
	struct parse parse = { specs, opts, argc, argv, err, 0 };
	int first = 0; /* operand; all before it are options and their values */

	while (parse.at < argc) {
		int from = parse.at;
		const char *word = argv[parse.at++];
		int rc;

		if (strcmp(word, "--") == 0)
			break;
		if (word[0] != '-' || word[1] == '\0')
			continue;
		rc = word[1] == '-' ? parse_long(&parse, word + 2) : parse_short(&parse, word + 1);
		if (rc < 0)
			return rc;
		move_before(&parse, first, from);
		first += parse.at - from;
	}
	return first;
}

char **opts_command(char **argv, int first, int *argc)
{
	for (int i = first; i < *argc; i++) {
		if (strcmp(argv[i], "--") == 0) {
			*argc = i;
			return argv + i + 1;
		}
	}
	return NULL;
}

void opts_print_wrapped(FILE *out, size_t at, size_t column, const char *text, char between)
{
	const char ends[] = { between, '\0' };

	while (*text) {
		size_t len = strcspn(text, ends), next = len + (text[len] != '\0');
		size_t gap = between == ' ' && at > column;

		if (between == '|')
			len = next; /* the bar stays where it is */
		if (at + gap + len > HELP_WIDTH && at > column) {
			fprintf(out, "\n%*s", (int)column, "");
			at = column;
		} else if (gap) {
			fputc(' ', out);
			at++;
		}
		(void)fwrite(text, 1, len, out);
		at += len;
		text += next;
	}
}

static void print_option(const struct opt_spec *spec, FILE *out)
{
	const char *open = !spec->arg ? "" : spec->type == opt_maybe ? "[=" : " ";
	const char *shut = spec->arg && spec->type == opt_maybe ? "]" : "";
	AUTO_FREE char *left = spec->letter
				       ? xasprintf("  -%c, --%s%s", spec->letter, spec->name, open)
				       : xasprintf("      --%s%s", spec->name, open);
	AUTO_FREE char *arg = xasprintf("%s%s", spec->arg ? spec->arg : "", shut);
	size_t used = strlen(left) + strlen(arg);

	fputs(left, out);
	opts_print_wrapped(out, strlen(left), ARG_COLUMN, arg, '|');
	if (used > HELP_COLUMN - 2)
		fprintf(out, "\n%*s", HELP_COLUMN, "");
	else
		fprintf(out, "%*s", (int)(HELP_COLUMN - used), "");
	opts_print_wrapped(out, HELP_COLUMN, HELP_COLUMN, spec->help, ' ');
	fputc('\n', out);
}

void opts_print(const struct opt_spec *specs, FILE *out)
{
	for (; specs->name; specs++)
		print_option(specs, out);
	print_option(&help_spec, out);
}

#define NEAR_MAX_LEN 32

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Letters to add, drop, replace or swap to make one of the other. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[NEAR_MAX_LEN + 1][NEAR_MAX_LEN + 1];
	size_t a_len = strlen(a), b_len = strlen(b);

	if (a_len > NEAR_MAX_LEN || b_len > NEAR_MAX_LEN)
		return SIZE_MAX;
	for (size_t i = 0; i <= a_len; i++)
		rows[i][0] = i;
	for (size_t k = 0; k <= b_len; k++)
		rows[0][k] = k;
	for (size_t i = 1; i <= a_len; i++) {
		for (size_t k = 1; k <= b_len; k++) {
			size_t best = smaller(rows[i - 1][k], rows[i][k - 1]) + 1;

			best = smaller(best, rows[i - 1][k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				best = smaller(best, rows[i - 2][k - 2] + 1);
			rows[i][k] = best;
		}
	}
	return rows[a_len][b_len];
}

const char *opts_near(const char *word, const char *const *candidates, size_t count)
{
	size_t best = strlen(word) <= 3 ? 1 : 2; /* more changes than this is another word */
	const char *near = NULL;

	for (size_t i = 0; i < count; i++) {
		size_t far = distance(word, candidates[i]);

		if (strlen(word) >= 3 && strncmp(word, candidates[i], strlen(word)) == 0)
			far = smaller(far, 1); /* the beginning of it */
		if (far <= best && (!near || far < best)) {
			best = far;
			near = candidates[i];
		}
	}
	return near;
}

char *opts_hint(const char *word, const char *before, const char *const *candidates, size_t count)
{
	AUTO_FREE char *lower = xstrdup(word);
	const char *near;

	for (char *c = lower; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	near = *word && count ? opts_near(lower, candidates, count) : NULL;
	return near ? xasprintf("; did you mean %s%s?", before, near) : xstrdup("");
}

int opts_unknown_word(const char *word, const char *choice, struct err *err)
{
	AUTO_FREE char *safe = text_escaped(word ? word : "");
	AUTO_FREE char *hint = hint_among(choice, word ? word : "");

	if (!word)
		return err_set(err, -EINVAL, "the first word must be %s", choice);
	return err_set(err, -EINVAL, "the first word must be %s, got \"%s\"%s", choice, safe, hint);
}
