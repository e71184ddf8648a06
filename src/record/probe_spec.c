/*
 * probe_spec.c - what a user writes after --probe and --usdt, taken apart.
 */
#include "record/probe_spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

#define SPEC_MAX_BYTES 4000 /* the kernel takes lines of 4096 */

static const struct {
	const char *word;
	const char *type;
} types[] = {
	{ "u8", "u8" },		{ "u16", "u16" },     { "u32", "u32" },	     { "u64", "u64" },
	{ "s8", "s8" },		{ "s16", "s16" },     { "s32", "s32" },	     { "s64", "s64" },
	{ "x8", "x8" },		{ "x16", "x16" },     { "x32", "x32" },	     { "x64", "x64" },
	{ "string", "string" }, { "int", "s32" },     { "unsigned", "u32" }, { "long", "s64" },
	{ "size_t", "u64" },	{ "ssize_t", "s64" }, { "bool", "u8" },	     { "ptr", "x64" },
};

/* The kernel keeps these for fields of its own. */
static const char *const reserved[] = {
	"common_type", "common_flags", "common_preempt_count", "common_pid",
	"common_tgid", "__probe_ip",   "__probe_ret_ip",       "__probe_func",
};

static const char *type_named(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (!strcmp(types[i].word, word))
			return types[i].type;
	}
	return NULL;
}

static bool is_identifier(const char *text)
{
	if (!isalpha((unsigned char)*text) && *text != '_')
		return false;
	while (isalnum((unsigned char)*text) || *text == '_')
		text++;
	return !*text;
}

bool probe_spec_has_wildcards(const char *name)
{
	return strpbrk(name, "*?[") != NULL;
}

static char *trimmed(char *text)
{
	char *end;

	text += strspn(text, " ");
	end = text + strlen(text);
	while (end > text && end[-1] == ' ')
		*--end = '\0';
	return text;
}

/* Cut off "(...)" at the end, whose parentheses match. NULL = there is none. */
static char *cut_list(char *text)
{
	size_t depth = 0, bytes = strlen(text);

	if (!bytes || text[bytes - 1] != ')')
		return NULL;
	for (size_t i = bytes; i-- > 0;) {
		depth += text[i] == ')';
		depth -= text[i] == '(';
		if (depth)
			continue;
		text[bytes - 1] = '\0';
		text[i] = '\0';
		return text + i + 1;
	}
	return NULL;
}

static bool set_name(struct probe_spec *spec, struct probe_arg *arg, const char *name,
		     struct err *err)
{
	if (!strcmp(name, "_"))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(reserved); i++) {
		if (!strcmp(name, reserved[i])) {
			(void)err_set(err, -EINVAL, "'%s' is reserved by the kernel", name);
			return false;
		}
	}
	if (!is_identifier(name) || strlen(name) > PROBE_ARG_NAME_MAX) {
		AUTO_FREE char *safe = text_escaped(name);

		(void)err_set(err, -EINVAL, "'%.60s' is not a valid argument name", safe);
		return false;
	}
	for (size_t i = 0; i < spec->arg_count; i++) {
		if (!strcmp(spec->args[i].name, name)) {
			(void)err_set(err, -EINVAL, "two arguments are called %s", name);
			return false;
		}
	}
	strcpy(arg->name, name);
	return true;
}

static bool set_type(struct probe_arg *arg, const char *word, struct err *err)
{
	arg->type = type_named(word);
	if (arg->type)
		return true;
	if (!strcmp(word, "float") || !strcmp(word, "double")) {
		(void)err_set(err, -EINVAL, "the kernel cannot fetch floating point arguments");
	} else {
		AUTO_FREE char *safe = text_escaped(word);

		(void)err_set(err, -EINVAL,
			      "'%.40s' is not a type; types are u8 to u64, s8 to s64, x8 to x64 "
			      "(in hexadecimal), int, long, size_t, ptr, bool and string",
			      safe);
	}
	return false;
}

/* "name=FETCH[:type]" goes to the kernel as it is. */
static bool set_fetch(struct probe_spec *spec, struct probe_arg *arg, char *word, char *equals,
		      struct err *err)
{
	for (const char *at = word; *at; at++) {
		if (!isgraph((unsigned char)*at)) {
			(void)err_set(err, -EINVAL, "a blank within an argument");
			return false;
		}
	}
	arg->fetch = xstrdup(word);
	*equals = '\0';
	return set_name(spec, arg, word, err);
}

/* "name:type", "name", "type", "_", or "name=FETCH". */
static int add_arg(struct probe_spec *spec, char *word, struct err *err)
{
	struct probe_arg *arg = &spec->args[spec->arg_count];
	char *colon = strchr(word, ':'), *equals = strchr(word, '=');
	char number[24];
	bool good;

	if (equals) {
		good = set_fetch(spec, arg, word, equals, err);
	} else if (colon) {
		*colon = '\0';
		good = set_name(spec, arg, trimmed(word), err) &&
		       set_type(arg, trimmed(colon + 1), err);
	} else if (type_named(word)) {
		snprintf(number, sizeof(number), "arg%zu", spec->arg_count + 1);
		good = set_name(spec, arg, spec->is_return ? "ret" : number, err) &&
		       set_type(arg, word, err);
	} else {
		good = set_name(spec, arg, word, err);
	}
	spec->arg_count++; /* what it owns is freed in any case */
	return good ? 0 : -EINVAL;
}

/* The part of a list up to the next comma that stands in no parentheses. */
static char *next_word(char **rest)
{
	char *word = *rest, *at = word;
	int depth = 0;

	if (!word)
		return NULL;
	for (; *at && (*at != ',' || depth > 0); at++)
		depth += (*at == '(') - (*at == ')');
	*rest = *at ? at + 1 : NULL;
	*at = '\0';
	return trimmed(word);
}

static int add_count(struct probe_spec *spec, const char *word, struct err *err)
{
	uint64_t count;

	if (!text_parse_u64(word, &count) || count > PROBE_ARGS_MAX)
		return err_set(err, -EINVAL, "at most %d arguments", PROBE_ARGS_MAX);
	for (uint64_t i = 0; i < count; i++) {
		char name[] = "x64";
		int rc = add_arg(spec, name, err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int parse_args(struct probe_spec *spec, char *list, struct err *err)
{
	char *word, *rest = list;

	spec->has_args = true;
	list = trimmed(list);
	if (!*list)
		return 0;
	if (strspn(list, "0123456789") == strlen(list))
		return add_count(spec, list, err);
	while ((word = next_word(&rest))) {
		int rc;

		if (!*word)
			return err_set(err, -EINVAL, "an empty argument");
		if (spec->arg_count == PROBE_ARGS_MAX)
			return err_set(err, -EINVAL, "at most %d arguments", PROBE_ARGS_MAX);
		rc = add_arg(spec, word, err);
		if (rc < 0)
			return rc;
	}
	if (spec->is_return && spec->arg_count > 1 && !spec->args[1].fetch)
		return err_set(err, -EINVAL, "a function returns one value");
	return 0;
}

static bool probe_take_number(const char *text, uint64_t *out_number)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*out_number = strtoull(text, &end, 0);
	return !*end && !errno;
}

/* "FUNC[@VERSION][+OFFSET][%return]" or "ADDRESS[%return]" */
static int parse_place(struct probe_spec *spec, char *what, struct err *err)
{
	char *percent = strchr(what, '%'), *plus, *at;

	if (percent && strcmp(percent, "%return") != 0)
		return err_set(err, -EINVAL, "only 'return' is allowed after %%");
	if (percent)
		*percent = '\0';
	spec->is_return = percent != NULL;
	if (isdigit((unsigned char)*what)) {
		if (probe_take_number(what, &spec->offset))
			return 0;
		return err_set(err, -EINVAL, "'%.60s' is not an address", what);
	}
	plus = strrchr(what, '+');
	if (plus && !probe_take_number(plus + 1, &spec->offset))
		return err_set(err, -EINVAL, "'%.60s' is not an offset", plus + 1);
	if (plus)
		*plus = '\0';
	if (spec->offset && spec->is_return)
		return err_set(err, -EINVAL, "a return probe takes no offset");
	at = strchr(what, '@');
	if (at) {
		*at = '\0';
		at += 1 + (at[1] == '@');
		spec->version = xstrdup(at);
	}
	if (!*what || (at && !*at))
		return err_set(err, -EINVAL, "the name of the function is missing");
	spec->name = xstrdup(what);
	return 0;
}

static int parse_function(struct probe_spec *spec, char *head, struct err *err)
{
	char *colon = strrchr(head, ':');

	if (!colon || colon == head)
		return err_set(err, -EINVAL, "write PROGRAM:FUNCTION");
	*colon = '\0';
	spec->binary = xstrdup(head);
	return parse_place(spec, trimmed(colon + 1), err);
}

static int parse_usdt(struct probe_spec *spec, char *head, struct err *err)
{
	char *colon = strrchr(head, ':'), *before;

	if (!colon || colon == head || !colon[1])
		return err_set(err, -EINVAL, "write PROVIDER:NAME or PROGRAM:PROVIDER:NAME");
	*colon = '\0';
	spec->name = xstrdup(colon + 1);
	before = strrchr(head, ':');
	if (before && (before == head || !before[1]))
		return err_set(err, -EINVAL, "write PROVIDER:NAME or PROGRAM:PROVIDER:NAME");
	if (before) {
		*before = '\0';
		spec->binary = xstrdup(head);
	}
	spec->provider = xstrdup(before ? before + 1 : head);
	return 0;
}

int probe_spec_parse(const char *text, bool is_usdt, struct probe_spec *out_spec, struct err *err)
{
	AUTO_FREE char *copy = xstrdup(text);
	AUTO_FREE char *safe = text_escaped(text);
	char *head = trimmed(copy), *list;
	int rc;

	*out_spec = (struct probe_spec){ .is_usdt = is_usdt };
	if (strlen(text) > SPEC_MAX_BYTES)
		return err_set(err, -EINVAL, "the point '%.40s...' is too long", safe);
	list = cut_list(head);
	head = trimmed(head);
	rc = is_usdt ? parse_usdt(out_spec, head, err) : parse_function(out_spec, head, err);
	if (rc == 0 && list)
		rc = parse_args(out_spec, list, err);
	if (rc < 0 && err)
		(void)err_wrap(err, "reading the %s '%.200s'", is_usdt ? "USDT point" : "probe",
			       safe);
	return rc;
}

void probe_spec_fini(struct probe_spec *spec)
{
	free(spec->binary);
	free(spec->provider);
	free(spec->name);
	free(spec->version);
	for (size_t i = 0; i < spec->arg_count; i++)
		free(spec->args[i].fetch);
	*spec = (struct probe_spec){ 0 };
}
