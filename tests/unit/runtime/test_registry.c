/* test_registry.c - events get numbers and descriptions; what is on follows from the rules alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <holdup/trace.h>

#include "runtime/registry.h"
#include "runtime/rules.h"

static const struct holdup_label_ banks[] = { { "a \"bank\"", 1 }, { "b\\c", -7 }, { NULL, 0 } };
static const struct holdup_field_ fields[] = {
	{ "order", HOLDUP_T_flow_, 0, NULL },
	{ "at", HOLDUP_T_enum_, 0, banks },
	{ "text", HOLDUP_T_str_, 0, NULL },
	{ "list", HOLDUP_T_seq_ + HOLDUP_T_i16_, 0, NULL },
	{ "four", HOLDUP_T_arr_ + HOLDUP_T_f32_, 4, NULL },
};

static struct holdup_event_ event_of(const char *major, const char *name)
{
	return (struct holdup_event_){
		.id = HOLDUP_OFF_,
		.abi = HOLDUP_ABI_,
		.kind = 'e',
		.major = major,
		.name = name,
	};
}

static bool add(struct holdup_event_ **place)
{
	return registry_add(place, place + 1);
}

/* The text behind the first 'from' bytes. */
static char *text_behind(size_t from)
{
	size_t bytes;
	const char *text = registry_metadata(&bytes);

	assert_true(bytes >= from);
	return strndup(text ? text + from : "", bytes - from);
}

static size_t text_bytes(void)
{
	size_t bytes;

	(void)registry_metadata(&bytes);
	return bytes;
}

static void a_description_is_ctf(void **unused)
{
	struct holdup_event_ event = event_of("shop", "paid");
	struct holdup_event_ *place = &event;
	size_t before = text_bytes();
	char *text, wanted[1024];

	event.kind = 'b';
	event.format = "{order} \"now\"";
	event.fields = fields;
	event.field_count = 5;
	assert_true(add(&place));
	(void)snprintf(wanted, sizeof(wanted),
		       "event {\n\tid = %u;\n\tname = \"shop:paid\";\n\tstream_id = 0;\n"
		       "\tmodel.emf.uri = \"holdup:?kind=begin&flow=order&format={order} "
		       "\\\"now\\\"\";\n"
		       "\tfields := struct {\n\t\tflow_t _order;\n"
		       "\t\tenum : int32_t { \"a \\\"bank\\\"\" = 1, \"b\\\\c\" = -7 } _at;\n"
		       "\t\tutf8_string _text;\n"
		       "\t\tuint32_t __list_length;\n\t\tint16_t _list[__list_length];\n"
		       "\t\tfloat32_t _four[4];\n\t};\n};\n\n",
		       event.number);
	text = text_behind(before);
	assert_string_equal(text, wanted);
	free(text);
	registry_remove(&place);
}

static void the_same_event_has_the_same_number(void **unused)
{
	struct holdup_event_ first = event_of("same", "one"), again = first, other = first;
	struct holdup_event_ *places[] = { &first, &again, &other };
	size_t bytes;

	other.fields = fields;
	other.field_count = 1;
	assert_true(add(&places[0]));
	bytes = text_bytes();
	assert_false(add(&places[1]));
	assert_int_equal(text_bytes(), bytes);
	assert_int_equal(first.number, again.number);
	/* Other fields: another event of the same name. */
	assert_true(add(&places[2]));
	assert_int_not_equal(first.number, other.number);
	assert_int_equal(first.number % HOLDUP_CLASSES_, other.number % HOLDUP_CLASSES_);
	for (int i = 0; i < 3; i++)
		registry_remove(&places[i]);
}

static void what_it_does_not_know_is_refused(void **unused)
{
	static const struct holdup_field_ unknown[] = { { "x", 29, 0, NULL } };
	static char name[20000];
	struct holdup_event_ odd = event_of("odd", "type"), version = event_of("odd", "version");
	struct holdup_event_ longest = event_of("odd", name);
	struct holdup_event_ *places[] = { &odd, &version, &longest };
	size_t bytes = text_bytes();

	odd.fields = unknown;
	odd.field_count = 1;
	version.abi = HOLDUP_ABI_ + 1;
	memset(name, 'n', sizeof(name) - 1);
	assert_false(registry_add(places, places + 3));
	assert_int_equal(text_bytes(), bytes);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(places[i]->number, 0);
		assert_int_equal(places[i]->id, HOLDUP_OFF_);
	}
	registry_remove(places);
}

/* ------------------------------------------------------------------ what is on */

#define EVENTS 200

static struct many {
	struct holdup_event_ events[EVENTS];
	struct holdup_event_ *places[EVENTS];
	char majors[EVENTS][8], names[EVENTS][16];
} many;

static void make_many(void)
{
	for (int i = 0; i < EVENTS; i++) {
		(void)snprintf(many.majors[i], sizeof(many.majors[i]), "m%d", i % 7);
		(void)snprintf(many.names[i], sizeof(many.names[i]), "e%d", i);
		many.events[i] = event_of(many.majors[i], many.names[i]);
		many.places[i] = &many.events[i];
	}
	assert_true(registry_add(many.places, many.places + EVENTS));
}

/* By the rules alone: the ids of the events, and the bits of their classes. */
static void check_ids(const struct holdup_control_ *control)
{
	bool on[HOLDUP_CLASSES_] = { false };

	for (int i = 0; i < EVENTS; i++)
		on[many.events[i].number % HOLDUP_CLASSES_] |=
			rules_allow(control->rules, many.majors[i], many.names[i]);
	for (int i = 0; i < EVENTS; i++) {
		const struct holdup_event_ *event = &many.events[i];
		uint32_t class = event->number % HOLDUP_CLASSES_;
		bool allowed = rules_allow(control->rules, many.majors[i], many.names[i]);

		assert_int_equal(control->mask >> class & 1, on[class]);
		assert_int_equal(registry_allows(control, event->number), allowed);
		/* What is off in a class that is on has no number of its own. */
		assert_int_equal(event->id, !allowed && on[class] ? HOLDUP_OFF_ : event->number);
	}
}

/* Each event of the process is in the lines "id class:event". */
static void check_names(const struct holdup_control_ *control)
{
	for (int i = 0; i < EVENTS; i++) {
		char line[64];

		(void)snprintf(line, sizeof(line), "%u %s:%s\n", many.events[i].number,
			       many.majors[i], many.names[i]);
		assert_non_null(strstr(control->names, line));
	}
}

static void rules_decide_what_is_on(void **unused)
{
	static const char *const rules[] = { "",	   "all",     "m3",
					     "m*,-m3:e1*", "-all",    "all,-m1,m1:e8",
					     "m?:e?5",	   "nothing", "*:e199" };
	struct holdup_control_ *control = calloc(1, sizeof(*control));

	assert_non_null(control);
	make_many();
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		(void)snprintf(control->rules, sizeof(control->rules), "%s", rules[i]);
		registry_apply(control);
		check_ids(control);
		check_names(control);
	}
	/* Nobody touches what has gone away. */
	registry_remove(many.places);
	many.events[7].id = 4711;
	strcpy(control->rules, "all");
	registry_apply(control);
	assert_int_equal(many.events[7].id, 4711);
	free(control);
}

/* ---------------------------------------------------------------- the limits */

#define LONG_NAME 200

static void a_class_has_1023_events(void **unused)
{
	static char names[1030][LONG_NAME + 8];
	static struct holdup_event_ events[1030];
	struct holdup_control_ *control = calloc(1, sizeof(*control));
	bool seen[HOLDUP_IDS_ + 1] = { false };
	size_t length;

	assert_non_null(control);
	for (size_t i = 0; i < 1030; i++) {
		struct holdup_event_ *place = &events[i];

		(void)snprintf(names[i], sizeof(names[i]), "%0*zu", LONG_NAME, i);
		events[i] = event_of("full", names[i]);
		assert_int_equal(add(&place), i < 1023);
		registry_remove(&place);
		assert_int_equal(events[i].number != 0, i < 1023);
		assert_true(events[i].number < HOLDUP_IDS_);
		assert_false(events[i].number && seen[events[i].number]);
		seen[events[i].number] = true;
	}
	/* More names than fit: whole lines, as many as there is room for. */
	strcpy(control->rules, "all");
	registry_apply(control);
	length = strnlen(control->names, sizeof(control->names));
	assert_in_range(length, sizeof(control->names) - LONG_NAME - 20,
			sizeof(control->names) - 1);
	assert_int_equal(control->names[length - 1], '\n');
	free(control);
}

static void there_are_63_classes(void **unused)
{
	static char majors[80][8];
	uint64_t bits = 0;
	unsigned refused = 0;

	for (size_t i = 0; i < 80; i++) {
		struct holdup_event_ event = event_of(majors[i], "x"), *place = &event;

		(void)snprintf(majors[i], sizeof(majors[i]), "c%zu", i);
		(void)add(&place);
		registry_remove(&place);
		refused += !event.number;
		bits |= event.number ? UINT64_C(1) << event.number % HOLDUP_CLASSES_ : 0;
		/* The last bit says that there are news: it is no class. */
		assert_int_equal(bits >> HOLDUP_NEWS_, 0);
		assert_true(event.number || refused);
		assert_false(event.number && refused);
	}
	assert_true(refused >= 80 - HOLDUP_NEWS_);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_description_is_ctf),
		cmocka_unit_test(the_same_event_has_the_same_number),
		cmocka_unit_test(what_it_does_not_know_is_refused),
		cmocka_unit_test(rules_decide_what_is_on),
		cmocka_unit_test(a_class_has_1023_events),
		cmocka_unit_test(there_are_63_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
