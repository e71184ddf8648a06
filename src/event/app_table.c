/* app_table.c - the table of known points: lines into rows and back, and words with fields in them. */
#include "event/app_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define LINE_BYTES	4000
#define APPS_MAX	64
#define FILES_MAX	16
#define SPANS_MAX	128
#define VALUE_LISTS_MAX 64
#define VALUES_MAX	256
#define NAME_BYTES	64
#define TOLD_BYTES	400 /* of words with their fields */

struct reading {
	struct app_table *table;
	const char *name;
	uint32_t line;
	size_t first_app; /* spans before it are not this file's */
};

static void fault(const struct reading *reading, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void fault(const struct reading *reading, const char *format, ...)
{
	struct app_table *table = reading->table;
	AUTO_FREE char *text = NULL, *safe = NULL;
	va_list args;

	if (table->fault_count == APP_FAULTS_MAX)
		return;
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	safe = text_escaped(text ? text : "no memory");
	table->faults[table->fault_count++] =
		xasprintf("%s:%u: %.300s", reading->name, reading->line, safe);
}

/* The next word, cut off; "" at the end. */
static char *take_word(char **rest)
{
	char *word = *rest + strspn(*rest, " \t");
	size_t bytes = strcspn(word, " \t");

	*rest = word + bytes + (word[bytes] != '\0');
	word[bytes] = '\0';
	return word;
}

static bool app_is_name(const char *word)
{
	size_t bytes = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-");

	return bytes > 0 && bytes < NAME_BYTES && !word[bytes];
}

static bool app_take_number(const char *text, int64_t *out_number)
{
	char *end;

	errno = 0;
	*out_number = strtoll(text, &end, 0);
	return !errno && end != text && !*end;
}

/* ------------------------------------------------------------------- lines */

static struct app *last_app(const struct reading *reading)
{
	struct app_table *table = reading->table;

	return table->app_count > reading->first_app ? &table->apps[table->app_count - 1] : NULL;
}

static void read_app(struct reading *reading, char *rest)
{
	struct app_table *table = reading->table;
	char *name = take_word(&rest), *word;
	struct app app = { 0 };

	if (!app_is_name(name) || table->app_count == APPS_MAX) {
		fault(reading, "after app comes a name; there may be %d programs", APPS_MAX);
		return;
	}
	app.files = xcalloc(FILES_MAX, sizeof(*app.files));
	while (*(word = take_word(&rest)) && app.file_count < FILES_MAX) {
		if (strchr(word, '/'))
			fault(reading, "name a file by the last part of its path, not '%s'", word);
		else
			app.files[app.file_count++] = xstrdup(word);
	}
	app.name = xstrdup(name);
	table->apps = vec_room(table->apps, table->app_count, &table->app_cap, sizeof(app));
	table->apps[table->app_count++] = app;
}

static void read_via(struct reading *reading, char *rest)
{
	struct app *app = last_app(reading);
	char *program = take_word(&rest), *path = take_word(&rest);

	if (!app || app->via || !*program || strchr(program, '/') || path[0] == '/') {
		fault(reading, "write: via PROGRAM [PATH-FROM-IT], once for a program");
		return;
	}
	app->via = xstrdup(program);
	app->via_path = *path ? xstrdup(path) : NULL;
}

static const struct app_values *values_named(const struct app_table *table, const char *name,
					     size_t bytes)
{
	for (size_t i = 0; i < table->value_count; i++) {
		if (strlen(table->values[i].name) == bytes &&
		    memcmp(table->values[i].name, name, bytes) == 0)
			return &table->values[i];
	}
	return NULL;
}

static void read_values(struct reading *reading, char *rest)
{
	struct app_table *table = reading->table;
	char *name = take_word(&rest), *word;
	struct app_values values = { 0 };

	if (!app_is_name(name) || table->value_count == VALUE_LISTS_MAX ||
	    values_named(table, name, strlen(name))) {
		fault(reading, "after values comes a new name, then NUMBER=WORD");
		return;
	}
	values.name = xstrdup(name);
	values.numbers = xcalloc(VALUES_MAX, sizeof(*values.numbers));
	values.words = xcalloc(VALUES_MAX, sizeof(*values.words));
	while (*(word = take_word(&rest)) && values.count < VALUES_MAX) {
		char *equals = strchr(word, '=');

		if (equals)
			*equals = '\0';
		if (!equals || !equals[1] || !app_take_number(word, &values.numbers[values.count]))
			fault(reading, "'%s' is not NUMBER=WORD", word);
		else
			values.words[values.count++] = xstrdup(equals + 1);
	}
	table->values =
		vec_room(table->values, table->value_count, &table->value_cap, sizeof(values));
	table->values[table->value_count++] = values;
}

static const char *const kind_names[APP_KIND_COUNT] = { "wait", "work", "hold", "mark" };

const char *app_kind_name(enum app_kind kind)
{
	return (unsigned int)kind < APP_KIND_COUNT ? kind_names[kind] : "wait";
}

/* The span of that name of the program at hand; -1 = none. */
static int app_find_span(const struct reading *reading, const char *name)
{
	const struct app_table *table = reading->table;

	for (size_t i = 0; i < table->span_count && last_app(reading); i++) {
		if (table->spans[i].app == table->app_count - 1 &&
		    !strcmp(table->spans[i].name, name))
			return (int)i;
	}
	return -1;
}

static void read_span(struct reading *reading, char *rest)
{
	struct app_table *table = reading->table;
	char *name = take_word(&rest), *kind = take_word(&rest), *word;
	struct app_span span = { .kind = APP_KIND_COUNT };

	for (size_t i = 0; i < APP_KIND_COUNT; i++) {
		if (!strcmp(kind, kind_names[i]))
			span.kind = (enum app_kind)i;
	}
	if (!last_app(reading) || !app_is_name(name) || span.kind == APP_KIND_COUNT ||
	    table->span_count == SPANS_MAX || app_find_span(reading, name) >= 0) {
		fault(reading,
		      "write: span NAME wait|work|hold|mark [costly] [nests], behind an app, "
		      "each name once");
		return;
	}
	while (*(word = take_word(&rest))) {
		if (!strcmp(word, "costly"))
			span.is_costly = true;
		else if (!strcmp(word, "nests"))
			span.nests = true;
		else
			fault(reading, "'%s' is neither costly nor nests", word);
	}
	span.app = (uint32_t)table->app_count - 1;
	span.name = xstrdup(name);
	table->spans = vec_room(table->spans, table->span_count, &table->span_cap, sizeof(span));
	table->spans[table->span_count++] = span;
}

static bool read_place(const char *word, enum app_place *out_place)
{
	static const char *const names[] = { "usdt", "func", "return", "event" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (!strcmp(word, names[i])) {
			*out_place = (enum app_place)i;
			return true;
		}
	}
	return false;
}

/* A point ends with a blank outside of parentheses. */
static char *take_point(char **rest)
{
	char *point = *rest + strspn(*rest, " \t"), *at = point;
	int depth = 0;

	for (; *at && (depth > 0 || (*at != ' ' && *at != '\t')); at++)
		depth += (*at == '(') - (*at == ')');
	*rest = at + (*at != '\0');
	*at = '\0';
	return point;
}

/* "if FIELD=NUMBER" */
static bool read_if(struct app_point *point, char *word)
{
	char *equals = strchr(word, '=');

	if (!equals)
		return false;
	*equals = '\0';
	point->if_field = xstrdup(word);
	return app_is_name(word) && app_take_number(equals + 1, &point->if_value);
}

static bool read_rest(struct app_point *point, char *rest)
{
	char *word = take_word(&rest);

	if (!strcmp(word, "if")) {
		if (!read_if(point, take_word(&rest)))
			return false;
		word = take_word(&rest);
	}
	if (*word && strcmp(word, ":") != 0)
		return false;
	rest += strspn(rest, " \t");
	point->words = xstrdup(rest);
	return *word ? *rest != '\0' : point->ends;
}

static void point_fini(struct app_point *point)
{
	free(point->point);
	free(point->if_field);
	free(point->words);
}

static void read_point(struct reading *reading, char *rest, bool ends)
{
	struct app_table *table = reading->table;
	int span = app_find_span(reading, take_word(&rest));
	struct app_point point = { .span = (uint32_t)span, .ends = ends, .line = reading->line };

	if (span < 0 || !read_place(take_word(&rest), &point.place)) {
		fault(reading,
		      span < 0 ? "after begin and end comes the name of a span of this program"
			       : "then comes usdt, func, return or event");
		return;
	}
	point.point = xstrdup(take_point(&rest));
	if (!*point.point || !read_rest(&point, rest)) {
		fault(reading, "write: POINT [if FIELD=NUMBER] : WORDS%s",
		      ends ? "; they may be missing" : "");
		point_fini(&point);
		return;
	}
	if (table->point_count == APP_POINTS_MAX) {
		fault(reading, "more than %d points", APP_POINTS_MAX);
		point_fini(&point);
		return;
	}
	table->points =
		vec_room(table->points, table->point_count, &table->point_cap, sizeof(point));
	table->points[table->point_count++] = point;
}

static void app_read_line(struct reading *reading, char *line)
{
	char *rest = line, *word = take_word(&rest);

	if (!*word || *word == '#')
		return;
	if (!strcmp(word, "app"))
		read_app(reading, rest);
	else if (!strcmp(word, "via"))
		read_via(reading, rest);
	else if (!strcmp(word, "values"))
		read_values(reading, rest);
	else if (!strcmp(word, "span"))
		read_span(reading, rest);
	else if (!strcmp(word, "begin") || !strcmp(word, "end"))
		read_point(reading, rest, *word == 'e');
	else
		fault(reading, "a line begins with app, via, values, span, begin or end, not '%s'",
		      word);
}

void app_table_read(struct app_table *table, const char *text, size_t bytes, const char *name)
{
	struct reading reading = { .table = table, .name = name, .first_app = table->app_count };
	char copy[LINE_BYTES + 1];

	for (size_t at = 0; at < bytes;) {
		const char *end = memchr(text + at, '\n', bytes - at);
		size_t length = end ? (size_t)(end - text) - at : bytes - at;

		reading.line++;
		if (length > LINE_BYTES || memchr(text + at, '\0', length)) {
			fault(&reading, "a line has at most %d bytes, none of them 0", LINE_BYTES);
		} else {
			memcpy(copy, text + at, length);
			copy[length] = '\0';
			app_read_line(&reading, copy);
		}
		at += length + 1;
	}
}

void app_table_hide(struct app_table *table, size_t app)
{
	for (size_t i = 0; i < table->apps[app].file_count; i++)
		free(table->apps[app].files[i]);
	table->apps[app].file_count = 0;
	free(table->apps[app].via);
	table->apps[app].via = NULL;
}

void app_table_fini(struct app_table *table)
{
	for (size_t i = 0; i < table->app_count; i++) {
		for (size_t k = 0; k < table->apps[i].file_count; k++)
			free(table->apps[i].files[k]);
		free(table->apps[i].files);
		free(table->apps[i].name);
		free(table->apps[i].via);
		free(table->apps[i].via_path);
	}
	for (size_t i = 0; i < table->value_count; i++) {
		for (size_t k = 0; k < table->values[i].count; k++)
			free(table->values[i].words[k]);
		free(table->values[i].words);
		free(table->values[i].numbers);
		free(table->values[i].name);
	}
	for (size_t i = 0; i < table->span_count; i++)
		free(table->spans[i].name);
	for (size_t i = 0; i < table->point_count; i++)
		point_fini(&table->points[i]);
	for (size_t i = 0; i < table->fault_count; i++)
		free(table->faults[i]);
	free(table->apps);
	free(table->values);
	free(table->spans);
	free(table->points);
	*table = (struct app_table){ 0 };
}

/* -------------------------------------------------------------------- back */

static bool has_event(const struct app_table *table, const char *const *events, uint32_t app)
{
	for (size_t i = 0; i < table->point_count; i++) {
		if (events[i] && table->spans[table->points[i].span].app == app)
			return true;
	}
	return false;
}

/* A line for each of the events, which have blanks between. */
static void put_point(FILE *out, const struct app_table *table, const struct app_point *point,
		      const char *events)
{
	AUTO_FREE char *copy = xstrdup(events);
	char *rest = copy, *event;

	while (*(event = take_word(&rest))) {
		fprintf(out, "%s %s event %s", point->ends ? "end" : "begin",
			table->spans[point->span].name, event);
		if (point->if_field)
			fprintf(out, " if %s=%lld", point->if_field, (long long)point->if_value);
		if (*point->words)
			fprintf(out, " : %s", point->words);
		fputc('\n', out);
	}
}

static void put_app(FILE *out, const struct app_table *table, const char *const *events,
		    uint32_t app)
{
	fprintf(out, "app %s\n", table->apps[app].name);
	for (size_t i = 0; i < table->span_count; i++) {
		if (table->spans[i].app == app)
			fprintf(out, "span %s %s%s\n", table->spans[i].name,
				app_kind_name(table->spans[i].kind),
				table->spans[i].nests ? " nests" : "");
	}
	for (size_t i = 0; i < table->point_count; i++) {
		if (events[i] && table->spans[table->points[i].span].app == app)
			put_point(out, table, &table->points[i], events[i]);
	}
}

char *app_table_text(const struct app_table *table, const char *const *events)
{
	size_t bytes = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return xstrdup("");
	for (size_t i = 0; i < table->value_count; i++) {
		fprintf(out, "values %s", table->values[i].name);
		for (size_t k = 0; k < table->values[i].count; k++)
			fprintf(out, " %lld=%s", (long long)table->values[i].numbers[k],
				table->values[i].words[k]);
		fputc('\n', out);
	}
	for (uint32_t i = 0; i < table->app_count; i++) {
		if (has_event(table, events, i))
			put_app(out, table, events, i);
	}
	fclose(out);
	return text;
}

/* ------------------------------------------------------------------- words */

struct telling {
	const struct app_table *table;
	app_field_fn *field;
	void *context;
	char text[TOLD_BYTES + 1];
	size_t used;
	bool is_cut;
};

/* Blanks of any kind and what cannot be printed become one blank. */
static void app_tell(struct telling *telling, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes && text[i] && !telling->is_cut; i++) {
		bool blank = isspace((unsigned char)text[i]) || iscntrl((unsigned char)text[i]);
		bool again = telling->used && telling->text[telling->used - 1] == ' ';

		if (blank && again)
			continue;
		if (telling->used == TOLD_BYTES)
			telling->is_cut = true;
		else
			telling->text[telling->used++] = blank ? ' ' : text[i];
	}
}

static void tell_value(struct telling *telling, const struct app_field *field,
		       const struct app_values *values, bool is_hex)
{
	char hex[24];

	if (is_hex) {
		(void)snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)field->number);
		app_tell(telling, hex, strlen(hex));
		return;
	}
	for (size_t i = 0; values && i < values->count; i++) {
		if (values->numbers[i] == field->number) {
			app_tell(telling, values->words[i], strlen(values->words[i]));
			return;
		}
	}
	app_tell(telling, field->text, field->bytes);
}

/* "name", "name|values", "name|hex" or "name.length"; 'bytes' of it */
static bool tell_field(struct telling *telling, const char *what, size_t bytes)
{
	AUTO_FREE char *name = xstrndup(what, bytes);
	char *bar = strchr(name, '|'), *dot = strchr(name, '.');
	const struct app_values *values = NULL;
	struct app_field field, length;
	AUTO_FREE char *own = NULL; /* the text is a view until the next field is asked for */

	if (bar) {
		*bar = '\0';
		values = values_named(telling->table, bar + 1, strlen(bar + 1));
	}
	if (dot)
		*dot = '\0';
	if (!telling->field(telling->context, name, &field))
		return false;
	if (dot) {
		own = xstrndup(field.text, field.bytes);
		field.text = own;
		if (!telling->field(telling->context, dot + 1, &length))
			return false;
		if (length.number >= 0 && (uint64_t)length.number < field.bytes)
			field.bytes = (size_t)length.number;
	}
	tell_value(telling, &field, values, bar && !strcmp(bar + 1, "hex"));
	return true;
}

/* A character of several bytes is not cut in two. */
static size_t whole_bytes(const char *text, size_t bytes)
{
	while (bytes && ((unsigned char)text[bytes - 1] & 0xc0) == 0x80)
		bytes--;
	return bytes ? bytes - 1 : 0;
}

char *app_words(const struct app_table *table, const struct app_point *point, app_field_fn *field,
		void *context)
{
	struct telling telling = { .table = table, .field = field, .context = context };

	for (const char *at = point->words; *at;) {
		const char *end = *at == '{' ? strchr(at, '}') : NULL;
		size_t bytes = end ? (size_t)(end - at) + 1 : 1;

		if (!end)
			app_tell(&telling, at, 1);
		else if (!tell_field(&telling, at + 1, bytes - 2))
			return NULL;
		at += bytes;
	}
	while (telling.used && telling.text[telling.used - 1] == ' ')
		telling.used--;
	if (telling.is_cut)
		return xasprintf("%.*s...",
				 (int)whole_bytes(telling.text,
						  telling.used > 8 ? telling.used - 4 : 0),
				 telling.text);
	telling.text[telling.used] = '\0';
	return xstrdup(telling.text);
}
