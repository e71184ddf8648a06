/* test_csv.c - the tables, parsed back by the rules of RFC 4180. */
#include <dirent.h>
#include <sys/stat.h>

#include "exporting.h"

#define COLUMNS 32

struct table {
	char *bytes; /* owned; the values point into it */
	const char *values[200][COLUMNS];
	size_t rows, columns;
};

/* One value from 'at' on, unquoted in place. Returns where the next one begins, NULL at a line's end. */
static char *next_value(char *at, char **out_value, char **out_rest)
{
	char *to = at, *value = at;
	bool quoted = *at == '"';

	if (quoted)
		at++;
	while (quoted ? *at != '"' || at[1] == '"' : *at != ',' && *at != '\r') {
		assert_true(*at); /* not open at the end of the file */
		assert_true(quoted || *at != '"');
		at += quoted && *at == '"';
		*to++ = *at++;
	}
	at += quoted;
	assert_true(*at == ',' || (*at == '\r' && at[1] == '\n'));
	*out_value = value;
	*out_rest = *at == ',' ? at + 1 : at + 2;
	value = *at == ',' ? at + 1 : NULL;
	*to = '\0';
	return value;
}

static void parse(struct table *table)
{
	char *at = table->bytes;

	while (*at) {
		size_t columns = 0;
		char *next = at, *value;

		while (next) {
			assert_true(columns < COLUMNS);
			next = next_value(next, &value, &at);
			table->values[table->rows][columns++] = value;
		}
		if (table->rows == 0)
			table->columns = columns;
		assert_int_equal(columns, table->columns);
		table->rows++;
	}
	table->rows--; /* without the head */
}

static const char *value(const struct table *table, size_t row, const char *column)
{
	for (size_t i = 0; i < table->columns; i++) {
		if (strcmp(table->values[0][i], column) == 0)
			return table->values[row + 1][i];
	}
	fail_msg("no column %s", column);
	return "";
}

static uint64_t number(const struct table *table, size_t row, const char *column)
{
	char *end;
	uint64_t number = strtoull(value(table, row, column), &end, 10);

	assert_int_equal(*end, '\0');
	return number;
}

static struct table read_table(const char *folder, const char *name)
{
	AUTO_FREE char *path = xasprintf("%s/%s.csv", folder, name);
	FILE *file = fopen(path, "re");
	struct table table = { .bytes = xcalloc(1, 65536) };

	assert_non_null(file);
	assert_true(fread(table.bytes, 1, 65535, file) > 0);
	fclose(file);
	parse(&table);
	return table;
}

static void make_folder(char *folder)
{
	strcpy(folder, "/tmp/holdup-csv-XXXXXX");
	assert_non_null(mkdtemp(folder));
}

static void remove_folder(const char *folder)
{
	static const char *const names[] = { "intervals", "edges", "waits" };

	for (size_t i = 0; i < 3; i++) {
		AUTO_FREE char *path = xasprintf("%s/%s.csv", folder, names[i]);

		(void)unlink(path);
	}
	assert_int_equal(rmdir(folder), 0);
}

static void export_tables(struct exporting *ex, char *folder)
{
	struct err err = { 0 };

	make_folder(folder);
	if (export_csv(&ex->job, folder, &err) < 0)
		fail_msg("%s", err.text);
}

/* Intervals of one thread touch, and come in order; together they are its time. */
static void check_intervals(const struct table *table, int64_t tid, uint64_t start, uint64_t end)
{
	for (size_t row = 0; row < table->rows; row++) {
		if ((int64_t)number(table, row, "tid") != tid)
			continue;
		assert_int_equal(number(table, row, "start_ns"), start);
		start = number(table, row, "end_ns");
		assert_int_equal(number(table, row, "duration_ns"),
				 start - number(table, row, "start_ns"));
	}
	assert_int_equal(start, end);
}

static void intervals_touch_and_waits_tell_their_end(void **unused)
{
	struct exporting *ex = exporting_of(two_threads);
	char folder[32];
	struct table intervals, edges, waits;

	export_tables(ex, folder);
	intervals = read_table(folder, "intervals");
	edges = read_table(folder, "edges");
	waits = read_table(folder, "waits");
	check_intervals(&intervals, 7, 0, 100);
	check_intervals(&intervals, 8, 0, 100);

	assert_int_equal(edges.rows, 1);
	assert_int_equal(number(&edges, 0, "time_ns"), 50);
	assert_string_equal(value(&edges, 0, "waker_kind"), "thread");
	assert_string_equal(value(&edges, 0, "waker_tid"), "8");
	assert_string_equal(value(&edges, 0, "woken_tid"), "7");
	assert_int_equal(number(&edges, 0, "waited_ns"), 30);

	assert_string_equal(value(&waits, 0, "tid"), "7");
	assert_string_equal(value(&waits, 0, "in"), "read");
	assert_string_equal(value(&waits, 0, "root_tid"), "8");
	assert_int_equal(number(&waits, 0, "root_ns"), 30);
	free(intervals.bytes);
	free(edges.bytes);
	free(waits.bytes);
	remove_folder(folder);
	exporting_free(ex);
}

/* As \xNN what a terminal would obey, or is no UTF-8. */
static void any_name_can_be_parsed_back(void **unused)
{
	struct exporting *ex = exporting_hostile();
	char folder[32];
	struct table intervals;
	size_t hostile = 0, broken = 0;

	export_tables(ex, folder);
	intervals = read_table(folder, "intervals");
	for (size_t row = 0; row < intervals.rows; row++) {
		hostile += strcmp(value(&intervals, row, "comm"), "a\",;\\n\\{\\t") == 0;
		broken += strcmp(value(&intervals, row, "comm"), "b\\xff\\xc3") == 0;
	}
	assert_true(hostile > 0 && broken > 0 && hostile + broken == intervals.rows);
	free(intervals.bytes);
	remove_folder(folder);
	exporting_free(ex);
}

static void a_trace_of_nothing_has_heads(void **unused)
{
	struct exporting *ex = exporting_of("0 cpu0 switch 0(runnable) 0\n");
	char folder[32];
	struct table tables[3];
	static const char *const names[] = { "intervals", "edges", "waits" };

	export_tables(ex, folder);
	for (size_t i = 0; i < 3; i++) {
		tables[i] = read_table(folder, names[i]);
		assert_int_equal(tables[i].rows, 0);
		assert_true(tables[i].columns > 5);
		free(tables[i].bytes);
	}
	remove_folder(folder);
	exporting_free(ex);
}

static void a_folder_that_has_such_a_file_is_an_error(void **unused)
{
	struct exporting *ex = exporting_of(two_threads);
	struct err err = { 0 };
	char folder[32];
	FILE *file;
	AUTO_FREE char *path = NULL;

	make_folder(folder);
	path = xasprintf("%s/edges.csv", folder);
	file = fopen(path, "we");
	assert_non_null(file);
	fclose(file);
	assert_true(export_csv(&ex->job, folder, &err) < 0);
	assert_non_null(strstr(err.text, "edges.csv"));
	remove_folder(folder);
	exporting_free(ex);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_touch_and_waits_tell_their_end),
		cmocka_unit_test(any_name_can_be_parsed_back),
		cmocka_unit_test(a_trace_of_nothing_has_heads),
		cmocka_unit_test(a_folder_that_has_such_a_file_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
