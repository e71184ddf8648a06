/* test_app_table.c - the table of known points: lines, faults with their places, words. */
#include "event/app_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/app_known.h"

static struct app_table table_of(const char *text)
{
	struct app_table table = { 0 };

	app_table_read(&table, text, strlen(text), "t.app");
	return table;
}

static const char good[] =
	"# shop\n"
	"app shop shopd libshop*.so\n"
	"via run ../lib/libshop.so\n"
	"values mode 1=shared 2=exclusive\n"
	"span lock wait\n"
	"span sql work costly nests\n"
	"\n"
	"begin lock usdt shop:lock(id:u32, mode:int) if mode=2 : waits for {id} ({mode|mode})\n"
	"end lock return unlock_me : had waited\n"
	"begin sql func run_sql(text:string, length:u32) : SQL: {text.length}";

static void lines_become_rows(void **unused)
{
	struct app_table table = table_of(good);

	assert_int_equal(table.fault_count, 0);
	assert_int_equal(table.app_count, 1);
	assert_string_equal(table.apps[0].name, "shop");
	assert_int_equal(table.apps[0].file_count, 2);
	assert_string_equal(table.apps[0].via, "run");
	assert_string_equal(table.apps[0].via_path, "../lib/libshop.so");
	assert_int_equal(table.span_count, 2);
	assert_int_equal(table.spans[0].kind, APP_WAIT);
	assert_false(table.spans[0].is_costly);
	assert_true(table.spans[1].is_costly && table.spans[1].nests);
	assert_int_equal(table.point_count, 3);
	assert_int_equal(table.points[0].place, APP_USDT);
	assert_string_equal(table.points[0].point, "shop:lock(id:u32, mode:int)");
	assert_string_equal(table.points[0].if_field, "mode");
	assert_int_equal(table.points[0].if_value, 2);
	assert_string_equal(table.points[0].words, "waits for {id} ({mode|mode})");
	assert_true(table.points[1].ends);
	assert_string_equal(table.points[1].words, "had waited");
	assert_int_equal(table.points[2].line, 10);
	app_table_fini(&table);
}

static void what_is_wrong_has_its_place_and_is_left_out(void **unused)
{
	static const struct {
		const char *line, *fault;
	} cases[] = {
		{ "nonsense", "t.app:3: a line begins with" },
		{ "app", "t.app:3: after app comes a name" },
		{ "app x /bin/x", "t.app:3: name a file by the last part" },
		{ "via /x y", "t.app:3: write: via" },
		{ "via x /y", "t.app:3: write: via" },
		{ "values", "t.app:3: after values" },
		{ "values v x", "t.app:3: 'x' is not NUMBER=WORD" },
		{ "span s", "t.app:3: write: span" },
		{ "span s sleep", "t.app:3: write: span" },
		{ "span w wait", "t.app:3: write: span" },
		{ "span s wait cheap", "t.app:3: 'cheap' is neither" },
		{ "begin other func f : x", "t.app:3: after begin and end" },
		{ "begin w probe f : x", "t.app:3: then comes usdt" },
		{ "begin w func f", "t.app:3: write: POINT" },
		{ "begin w func f :", "t.app:3: write: POINT" },
		{ "begin w func f if a : x", "t.app:3: write: POINT" },
		{ "begin w func f if a=b : x", "t.app:3: write: POINT" },
		{ "begin w func f(a x", "t.app:3: write: POINT" },
		{ "end w func f :", "t.app:3: write: POINT" },
		{ "end w func f x", "t.app:3: write: POINT" },
		{ "end w", "t.app:3: then comes usdt" },
		{ "\x1b[31m", "t.app:3: a line begins with" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_FREE char *text =
			xasprintf("app a a\nspan w wait\n%s\nbegin w func g : y\n", cases[i].line);
		struct app_table table = table_of(text);

		if (table.fault_count == 0 || !strstr(table.faults[0], cases[i].fault))
			fail_msg("%s: %s", cases[i].line,
				 table.fault_count ? table.faults[0] : "nothing wrong");
		assert_null(strchr(table.faults[0], '\x1b'));
		app_table_fini(&table);
	}
}

static void faults_are_bounded(void **unused)
{
	struct app_table table = { 0 };
	char *text = xcalloc(100000, 1);

	memset(text, 'x', 99999);
	for (size_t i = 50; i < 99999; i += 50)
		text[i] = i % 100 ? '\n' : '\0';
	app_table_read(&table, text, 99999, "t.app");
	app_table_read(&table, text, 4200, "t.app");
	assert_int_equal(table.fault_count, APP_FAULTS_MAX);
	assert_int_equal(table.point_count, 0);
	app_table_fini(&table);
	free(text);
}

static void spans_are_those_of_the_program_at_hand(void **unused)
{
	struct app_table table = table_of("app a a\nspan w wait\napp b b\nbegin w func f : x\n");

	assert_int_equal(table.point_count, 0);
	assert_int_equal(table.fault_count, 1);
	app_table_fini(&table);
}

static void what_a_trace_keeps_is_read_again(void **unused)
{
	struct app_table table = table_of(good), again;
	const char *events[] = { "shop:lock shop:lock_2", NULL, "probe:run_sql" };
	AUTO_FREE char *text = app_table_text(&table, events);
	AUTO_FREE char *second = NULL;

	again = table_of(text);
	assert_int_equal(again.fault_count, 0);
	assert_int_equal(again.point_count, 3);
	assert_int_equal(again.points[0].place, APP_EVENT);
	assert_string_equal(again.points[0].point, "shop:lock");
	assert_string_equal(again.points[1].point, "shop:lock_2");
	assert_int_equal(again.points[1].if_value, 2);
	assert_string_equal(again.points[2].words, "SQL: {text.length}");
	assert_true(again.spans[1].nests);
	second = app_table_text(&again, (const char *const[]){ "shop:lock", "shop:lock_2",
							       "probe:run_sql" });
	assert_string_equal(second, text);
	app_table_fini(&again);
	app_table_fini(&table);
}

/* "id" is 7, "mode" 2, "text" what is asked for, "length" 3. */
static bool field(void *text, const char *name, struct app_field *out_field)
{
	*out_field = (struct app_field){ "7", 1, 7 };
	if (!strcmp(name, "mode"))
		*out_field = (struct app_field){ "2", 1, 2 };
	else if (!strcmp(name, "length"))
		*out_field = (struct app_field){ "3", 1, 3 };
	else if (!strcmp(name, "text"))
		*out_field = (struct app_field){ text, strlen(text), 0 };
	else if (strcmp(name, "id") != 0)
		return false;
	return true;
}

static void expect_words(const struct app_table *table, size_t point, char *text, const char *words)
{
	AUTO_FREE char *got = app_words(table, &table->points[point], field, text);

	assert_string_equal(got, words);
}

static void words_have_fields_in_them(void **unused)
{
	struct app_table table = table_of(good);
	char text[] = "select 1", lines[] = "a\n\t b";

	expect_words(&table, 0, text, "waits for 7 (exclusive)");
	expect_words(&table, 2, text, "SQL: sel");
	app_table_fini(&table);
	table = table_of("app a a\nspan w wait\nbegin w func f : {text}{\nbegin w func f : {gone}\n"
			 "begin w func f : {id|hex} {id|none}\nbegin w func f : {text.gone}\n");
	expect_words(&table, 0, lines, "a b{");
	assert_null(app_words(&table, &table.points[1], field, text));
	expect_words(&table, 2, lines, "0x7 7");
	assert_null(app_words(&table, &table.points[3], field, text));
	app_table_fini(&table);
}

static void words_are_bounded(void **unused)
{
	struct app_table table = table_of("app a a\nspan w wait\nbegin w func f : {text}\n");
	char text[5001] = "";
	char *got;

	for (size_t i = 0; i < 2500; i++)
		memcpy(text + 2 * i, "\xc3\xa4", 2);
	got = app_words(&table, &table.points[0], field, text);
	assert_true(strlen(got) <= 400);
	assert_string_equal(got + strlen(got) - 5, "\xc3\xa4...");
	free(got);
	app_table_fini(&table);
}

/* A line that is wrong would be left out without a word. */
static void the_known_table_is_right(void **unused)
{
	struct app_table table = { 0 };

	app_table_read(&table, (const char *)app_known, app_known_bytes, "known.app");
	assert_int_equal(table.fault_count, 0);
	assert_true(table.app_count >= 8);
	for (size_t i = 0; i < table.span_count; i++) {
		bool begins = false, ends = false;

		for (size_t k = 0; k < table.point_count; k++) {
			begins |= table.points[k].span == i && !table.points[k].ends;
			ends |= table.points[k].span == i && table.points[k].ends;
		}
		assert_true(begins && (ends || table.spans[i].kind == APP_MARK));
	}
	app_table_fini(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_become_rows),
		cmocka_unit_test(what_is_wrong_has_its_place_and_is_left_out),
		cmocka_unit_test(faults_are_bounded),
		cmocka_unit_test(spans_are_those_of_the_program_at_hand),
		cmocka_unit_test(what_a_trace_keeps_is_read_again),
		cmocka_unit_test(words_have_fields_in_them),
		cmocka_unit_test(words_are_bounded),
		cmocka_unit_test(the_known_table_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
