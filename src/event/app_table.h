/*
 * app_table.h - what known points of known programs mean: a table, read from text.
 *
 *	app postgresql postgres                      files whose points these are
 *	via java ../lib/server/libjvm.so             programs that load such a file, and from where
 *	values mode 1=shared 2=exclusive             words for numbers
 *	span lock wait                               a time between two points; "costly": only if asked
 *	begin lock usdt postgresql:lock__wait__start(rel:u32, mode:int) if mode=1 : waits for {mode|mode}
 *	end lock usdt postgresql:lock__wait__done   (words, too, of a time that began unseen)
 *
 * docs/apps.md is the reference. The recorder looks for the points; a trace keeps those lines whose
 * points were found, with the names of their events in place of the points ("event SYSTEM:NAME"),
 * so that it explains itself. The text may be anything: what is wrong is left out and told.
 */
#ifndef EVENT_APP_TABLE_H
#define EVENT_APP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define APP_POINTS_MAX 256
#define APP_FAULTS_MAX 16

/* What a span says of the thread that is in it. */
enum app_kind {
	APP_WAIT, /* that it waits, and for what */
	APP_WORK, /* what it does; waits in it are part of that */
	APP_HOLD, /* what it has, told where it waits and does nothing else */
	APP_MARK, /* what it did at that point, told where it wakes somebody right behind it */
	APP_KIND_COUNT
};

enum app_place {
	APP_USDT,   /* PROVIDER:NAME(ARGS) */
	APP_FUNC,   /* FUNCTION(ARGS) */
	APP_RETURN, /* FUNCTION */
	APP_EVENT,  /* SYSTEM:NAME, an event of the trace */
};

struct app {
	char *name;
	char **files; /* patterns for the last part of a path */
	size_t file_count;
	char *via;	/* the last part of the path of a program; NULL = none */
	char *via_path; /* from there to the file; NULL = none */
};

struct app_values {
	char *name;
	int64_t *numbers;
	char **words;
	size_t count;
};

struct app_span {
	uint32_t app;
	char *name;
	enum app_kind kind;
	bool is_costly;
	bool nests; /* it may begin again within itself; else that ends it */
};

struct app_point {
	uint32_t span;
	enum app_place place;
	char *point; /* as written */
	bool ends;
	char *if_field; /* NULL = always */
	int64_t if_value;
	char *words; /* with {FIELD}; of an end: where its begin was not recorded, "" = none */
	uint32_t line;
};

/* Zero-initialised memory is an empty one. All is owned. */
struct app_table {
	struct app *apps;
	size_t app_count, app_cap;
	struct app_values *values;
	size_t value_count, value_cap;
	struct app_span *spans;
	size_t span_count, span_cap;
	struct app_point *points;
	size_t point_count, point_cap;
	char *faults[APP_FAULTS_MAX]; /* "FILE:12: ..."; what is wrong, and was left out */
	size_t fault_count;
};

/* Add what 'text' says; 'name' is that of the file, for the places of faults. */
void app_table_read(struct app_table *table, const char *text, size_t bytes, const char *name);
void app_table_fini(struct app_table *table);

/* No file is one of this program any more. */
void app_table_hide(struct app_table *table, size_t app);

/* "wait", "work", "hold", "mark" */
const char *app_kind_name(enum app_kind kind);

/*
 * The table as text, with those points alone that have names of events in 'events' (as many as
 * points, with blanks between the names; NULL = left out). Free it with free().
 */
char *app_table_text(const struct app_table *table, const char *const *events);

/* What fills the words of a point. Returns whether there is such a field. */
struct app_field {
	const char *text; /* as it is to be shown */
	size_t bytes;
	int64_t number; /* 0 of a text */
};
typedef bool app_field_fn(void *context, const char *name, struct app_field *out_field);

/*
 * The words of a point with its fields in them, on one line, bounded. Free it with free(). NULL when
 * a field is missing.
 *	{name}  {name|values}  {name|hex}  {name.length}: a text of that many bytes
 */
char *app_words(const struct app_table *table, const struct app_point *point, app_field_fn *field,
		void *context);

#endif
