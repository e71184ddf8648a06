/* test_ctf_meta.c - the language of metadata: what is read, and what is refused where. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "read/ctf/meta.h"

#define TRACE  "trace { major = 1; minor = 8; byte_order = le; };\n"
#define FIELDS "event { name = e; fields := struct { "
#define ENDED  " }; };\n"

static struct ctf_meta *parsed(const char *text)
{
	struct ctf_meta *meta = NULL;
	struct err err = { 0 };

	if (ctf_meta_new(text, strlen(text), &meta, &err) < 0)
		fail_msg("%s", err.text);
	return meta;
}

static void refused(const char *text, const char *why)
{
	struct ctf_meta *meta = NULL;
	struct err err = { 0 };

	if (ctf_meta_new(text, strlen(text), &meta, &err) == 0)
		fail_msg("was read: %s", text);
	if (!strstr(err.text, why))
		fail_msg("\"%s\" is not in \"%s\"", why, err.text);
}

static const struct ctf_type *field(const struct ctf_meta *meta, const char *name)
{
	const struct ctf_type *fields = meta->streams[0]->events[0]->fields;

	for (uint32_t i = 0; i < fields->member_count; i++) {
		if (strcmp(fields->members[i].name, name) == 0)
			return fields->members[i].type;
	}
	fail_msg("no field %s", name);
	return NULL;
}

static void an_integer_has_what_it_was_given(void **unused)
{
	struct ctf_meta *meta = parsed(
		TRACE
		"clock { name = c; freq = 1000; offset_s = -2; offset = 5; };\n" FIELDS
		"integer { size = 0x0b; align = 32; signed = TRUE; byte_order = network; base = "
		"hex; map = clock.c.value; } a; integer { size = 16; } b;" ENDED);
	const struct ctf_type *a = field(meta, "a"), *b = field(meta, "b");

	assert_int_equal(a->bits, 11);
	assert_int_equal(a->align, 32);
	assert_int_equal(a->base, 16);
	assert_int_equal(a->order, CTF_ORDER_BIG);
	assert_true(a->is_signed);
	assert_int_equal(a->clock->freq, 1000);
	assert_int_equal(a->clock->offset_s, -2);
	assert_int_equal(b->align, 8);
	assert_int_equal(b->order, CTF_ORDER_LITTLE);
	ctf_meta_free(meta);
}

static void labels_count_on_from_the_one_before(void **unused)
{
	struct ctf_meta *meta =
		parsed(TRACE FIELDS "enum : integer { size = 8; signed = true; } "
				    "{ A = -3, B, \"c d\" = 010 ... 0b1010, E, } x;" ENDED);
	const struct ctf_range *ranges = field(meta, "x")->ranges;

	assert_int_equal(field(meta, "x")->range_count, 4);
	assert_int_equal((int64_t)ranges[1].low, -2);
	assert_string_equal(ranges[2].label, "c d");
	assert_int_equal(ranges[2].low, 8);
	assert_int_equal(ranges[2].high, 10);
	assert_int_equal(ranges[3].low, 11);
	ctf_meta_free(meta);
}

static void the_first_dimension_is_the_outermost(void **unused)
{
	struct ctf_meta *meta = parsed(TRACE "typealias integer { size = 8; } := unsigned long *;\n"
					     "typedef unsigned long * A[2];\n" FIELDS
					     "integer { size = 8; } n; A x[3][n];" ENDED);
	const struct ctf_type *x = field(meta, "x");

	assert_int_equal(x->kind, CTF_ARRAY);
	assert_int_equal(x->length, 3);
	assert_int_equal(x->element->kind, CTF_SEQUENCE);
	assert_int_equal(x->element->element->kind, CTF_ARRAY);
	assert_int_equal(x->element->element->length, 2);
	assert_int_equal(field(meta, "n")->slot_count, 1);
	assert_int_equal(field(meta, "n")->slots[0], x->element->source);
	ctf_meta_free(meta);
}

static void a_length_may_be_in_any_option_of_a_variant(void **unused)
{
	struct ctf_meta *meta = parsed(
		TRACE FIELDS
		"enum : integer { size = 8; } { x, y } tag;\n"
		"variant <tag> { integer { size = 8; } x; struct { integer { size = 16; } n; }"
		" y; } v; integer { size = 8; } m; string s[m]; string t[event.fields.m];" ENDED);
	const struct ctf_type *s = field(meta, "s"), *t = field(meta, "t");

	assert_int_equal(s->source, t->source);
	assert_int_equal(field(meta, "v")->choice_count, 2);
	ctf_meta_free(meta);
	refused(TRACE FIELDS
		"enum : integer { size = 8; } { x, y } tag;"
		"variant <tag> { integer { size = 8; } x; string y; } v; string s[v];" ENDED,
		"line 2: there is no integer before this called v");
	refused(TRACE FIELDS
		"variant <event.fields.v> { integer { size = 8; } x; string y; } v;" ENDED,
		"line 2: there is no integer before this called event.fields.v");
}

static void names_of_lttng_have_underscores(void **unused)
{
	struct ctf_meta *meta = parsed(
		TRACE
		"stream { event.header := struct { enum : integer { size = 5; align = 8; } { compact = "
		"0 ... 30, extended = 31 } id; variant <id> { struct { integer { size = 27; } "
		"timestamp; } compact; struct { integer { size = 32; } id; integer { size = 64; } "
		"timestamp; } extended; } v; } align(8); event.context := struct { integer { size = "
		"32; } _vtid; }; };\n" FIELDS
		"enum : integer { size = 8; } { a } _t; variant <_t> { "
		"string _a; } v;" ENDED);
	const struct ctf_type *header = meta->streams[0]->event_header;

	assert_int_equal(header->members[0].type->role, CTF_ROLE_EVENT_ID);
	assert_int_equal(header->members[1].type->members[1].type->members[0].type->role,
			 CTF_ROLE_EVENT_ID);
	assert_int_equal(meta->streams[0]->event_context->members[0].type->role, CTF_ROLE_VTID);
	ctf_meta_free(meta);
}

static void what_is_wrong_is_told_with_its_line(void **unused)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "line 1: there is no trace block" },
		{ "/* x", "line 1: a comment does not end" },
		{ TRACE TRACE, "line 2: there is a second trace block" },
		{ "trace { major = 1; minor = 8; };", "trace has no byte_order" },
		{ "trace { major = 2; minor = 0; byte_order = le; };", "only CTF 1.8" },
		{ TRACE "\nevent {", "line 3: '}' is missing" },
		{ TRACE "typealias integer { size = 65; } := x;", "line 2: size must be 1 to 64" },
		{ TRACE "typealias integer { size = 8; align = 3; } := x;", "a power of two" },
		{ TRACE "typealias integer { size = 8; size = 8; } := x;", "size is given twice" },
		{ TRACE "typealias integer { } := x;", "an integer needs a size" },
		{ TRACE "typealias string := event;", "this can be no name of a type" },
		{ TRACE "typealias nothing := x;", "there is no type nothing" },
		{ TRACE FIELDS "string a; string a;" ENDED, "there are two fields a" },
		{ TRACE FIELDS "string a[n]; integer { size = 8; } n;" ENDED,
		  "no integer before this called n" },
		{ TRACE FIELDS "string a[-1];" ENDED, "a length must be a number of 0 or more" },
		{ TRACE FIELDS "integer { size = 8; signed = true; } n; string a[n];" ENDED,
		  "a length has a sign: n" },
		{ TRACE FIELDS "variant { string a; } v;" ENDED, "a variant has no tag" },
		{ TRACE FIELDS "integer { size = 8; map = clock.x.value; } a;" ENDED,
		  "there is no clock x" },
		{ TRACE "stream { id = 1; };\n" FIELDS "string a;" ENDED,
		  "no stream for the event" },
		{ TRACE "stream { id = 1; }; stream { id = 1; };", "two streams with id 1" },
		{ TRACE "event { fields := struct { }; };", "has no bits at all" },
		{ TRACE "env { a = \"x\n; };", "literal string does not end" },
		{ TRACE "env { a = 'x; };", "literal character does not end" },
		{ TRACE "env { a = (5; };", "')' is missing" },
		{ TRACE "typealias integer { size = 8; lol; } := x;", "'=' is missing" },
		{ TRACE "clock { name = a; }; clock { name = a; };", "two clocks a" },
		{ TRACE "clock { freq = 0; };", "freq must not be 0" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		refused(cases[i].text, cases[i].why);
}

/* What babeltrace2 reads, too: each was refused once. */
static void odd_but_readable_metadata_is_read(void **unused)
{
	static const char *const cases[] = {
		TRACE "env { a = '\\n'; b = \"two\nlines\"; };",
		TRACE "env { a = 1; a = 2; }; env { b = 9223372036854775808; c = (-(3)); };",
		TRACE "typealias integer { size = 8; lol = 5; wide.name = \"x\"; lol = -1; } := x;",
		TRACE "typealias string { lol = none; } := x;",
		TRACE "typealias floating_point { exp_dig = 8; mant_dig = 24; lol = a.b; } := x;",
		TRACE "typealias integer { size = (8); signed = 2; base = 'x'; } := x;",
		TRACE "typealias integer { \"size\" = +8; signed = \"true\"; map = lol; } := x;",
		TRACE "typealias integer { size = 8; encoding = \"UTF8\"; } := x;",
		TRACE "typealias const integer { size = 8; } const := x;",
		TRACE "typedef integer { size = 8; } a[x]; typedef string b[\"y\"];",
		TRACE "struct s { string a; } align(0);",
		TRACE FIELDS "enum : const integer { size = 2; } const { a = 4, b = -1 } e;" ENDED,
		TRACE FIELDS "integer { size = 8; } \\u00e9t\\U000000e9;" ENDED,
		TRACE "callsite { name = a; name = b; line = 5; };",
		TRACE "event { lol = 1; lol = 2; fields := struct { string a; }; };",
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		ctf_meta_free(parsed(cases[i]));
}

/* The name itself counts before one with an underscore more or less. */
static void options_that_differ_by_an_underscore_are_two(void **unused)
{
	struct ctf_meta *meta =
		parsed(TRACE FIELDS "enum : integer { size = 8; } { _a, a, c } t; variant <t> { "
				    "string a; integer { size = 8; } _a; string b; } v;" ENDED);
	const struct ctf_type *variant = field(meta, "v");

	assert_int_equal(variant->choice_count, 2);
	assert_int_equal(variant->choices[0].member, 1);
	assert_int_equal(variant->choices[1].member, 0);
	ctf_meta_free(meta);
}

/* Deep, wide and endless things end with a message, and soon. */
static void hostile_metadata_is_refused(void **unused)
{
	size_t depth = 100000, bytes = depth * 9 + 4096;
	AUTO_FREE char *text = xmalloc(bytes);
	char *at = text + sprintf(text, TRACE FIELDS);

	for (size_t i = 0; i < depth; i++)
		at += sprintf(at, "struct { ");
	refused(text, "nested too deeply");
	at = text + sprintf(text, TRACE "typedef string a0[1];\n");
	for (size_t i = 0; i < 100; i++)
		at += sprintf(at, "typedef a%zu a%zu[1];\n", i, i + 1);
	refused(text, "nested too deeply");
	/* Each struct is twice the one before: 2^40 fields. */
	at = text + sprintf(text, TRACE "struct s0 { string a; };\n");
	for (size_t i = 0; i < 40; i++)
		at += sprintf(at, "struct s%zu { struct s%zu a; struct s%zu b; };\n", i + 1, i, i);
	sprintf(at, FIELDS "struct s40 x;" ENDED);
	refused(text, "too many fields");
}

/* Few names of much: what one text takes, others have no more; what they write out they may have. */
static void many_metadata_share_one_limit(void **unused)
{
	const char *bomb =
		TRACE "struct a { string s[9]; }; struct b { struct a a, b, c, d; };\n"
		      "struct c { struct b a, b, c, d; };\n" FIELDS "struct c x, y, z;" ENDED;
	const char *plain = TRACE FIELDS "string a; string b; string c;" ENDED;
	size_t left = 10;
	struct ctf_meta *meta = NULL;
	struct err err = { 0 };

	assert_int_equal(ctf_meta_new_of(bomb, strlen(bomb), &left, &meta, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "too many fields"));
	assert_int_equal(left, 0);
	assert_int_equal(ctf_meta_new_of(plain, strlen(plain), &left, &meta, &err), 0);
	ctf_meta_free(meta);
}

/* Cut after any byte, and with any byte changed: an answer, whatever it is. */
static void damaged_metadata_does_no_harm(void **unused)
{
	static const char good[] = TRACE
		"env { a = 1; b = \"x\\n\\x41\\101\"; };\n"
		"stream { event.header := struct { integer { size = 8; } id; }; };\n" FIELDS
		"enum : integer { size = 8; } { x, y = 3 ... 4 } t; variant <t> { string x; "
		"floating_point { exp_dig = 8; mant_dig = 24; } y; } v; string s[env.a];" ENDED;
	struct ctf_meta *meta;
	struct err err;

	for (size_t bytes = 0; bytes < sizeof(good); bytes++) {
		AUTO_FREE char *text = xmalloc(bytes + 1);

		memcpy(text, good, bytes);
		if (ctf_meta_new(text, bytes, &meta, &err) == 0)
			ctf_meta_free(meta);
	}
	for (size_t i = 0; i + 1 < sizeof(good); i++) {
		for (const char *c = "{};<>9 .\"["; *c; c++) {
			AUTO_FREE char *text = xstrdup(good);

			text[i] = *c;
			if (ctf_meta_new(text, strlen(text), &meta, &err) == 0)
				ctf_meta_free(meta);
		}
	}
}

/* ------------------------------------------------------------------ packets of metadata */

static size_t put_packet(uint8_t *to, const char *text, uint32_t padding, bool swap)
{
	uint32_t words[] = { 0x75d11d57u, (uint32_t)(37 + strlen(text)) * 8,
			     (uint32_t)(37 + strlen(text) + padding) * 8 };

	memset(to, 0, 37 + strlen(text) + padding);
	for (size_t i = 0; swap && i < ARRAY_LEN(words); i++)
		words[i] = __builtin_bswap32(words[i]);
	memcpy(to, &words[0], 4);
	memcpy(to + 24, &words[1], 4);
	memcpy(to + 28, &words[2], 4);
	to[35] = 1;
	to[36] = 8;
	memcpy(to + 37, text, strlen(text));
	return 37 + strlen(text) + padding;
}

static void the_text_of_packets_is_joined(void **unused)
{
	for (int swap = 0; swap < 2; swap++) {
		struct err err = { 0 };
		uint8_t file[512];
		size_t bytes, text_bytes;
		char *text = NULL;

		bytes = put_packet(file, "one ", 11, swap);
		bytes += put_packet(file + bytes, "two", 0, swap);
		assert_int_equal(ctf_metadata_text(file, bytes, &text, &text_bytes, &err), 0);
		assert_string_equal(text, "one two");
		assert_int_equal(text_bytes, 7);
		free(text);
		/* Cut anywhere but between the packets. */
		for (size_t cut = 5; cut < bytes; cut++) {
			if (cut == 37 + 4 + 11)
				continue;
			assert_int_equal(ctf_metadata_text(file, cut, &text, &text_bytes, &err),
					 -EBADMSG);
		}
	}
}

static void other_kinds_of_metadata_are_named(void **unused)
{
	static const char json[] = "\x1e{ \"type\": \"preamble\" }";
	struct err err = { 0 };
	uint8_t file[128];
	size_t bytes = put_packet(file, "x", 0, false), count;
	char *text;

	assert_int_equal(
		ctf_metadata_text((const uint8_t *)json, strlen(json), &text, &count, &err), 0);
	free(text); /* what is in it: test_ctf2_meta.c */
	file[36] = 9;
	assert_int_equal(ctf_metadata_text(file, bytes, &text, &count, &err), -ENOTSUP);
	file[36] = 8;
	file[33] = 1;
	assert_int_equal(ctf_metadata_text(file, bytes, &text, &count, &err), -ENOTSUP);
	assert_int_equal(ctf_metadata_text(file, 0, &text, &count, &err), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_integer_has_what_it_was_given),
		cmocka_unit_test(labels_count_on_from_the_one_before),
		cmocka_unit_test(the_first_dimension_is_the_outermost),
		cmocka_unit_test(a_length_may_be_in_any_option_of_a_variant),
		cmocka_unit_test(names_of_lttng_have_underscores),
		cmocka_unit_test(what_is_wrong_is_told_with_its_line),
		cmocka_unit_test(odd_but_readable_metadata_is_read),
		cmocka_unit_test(options_that_differ_by_an_underscore_are_two),
		cmocka_unit_test(hostile_metadata_is_refused),
		cmocka_unit_test(many_metadata_share_one_limit),
		cmocka_unit_test(damaged_metadata_does_no_harm),
		cmocka_unit_test(the_text_of_packets_is_joined),
		cmocka_unit_test(other_kinds_of_metadata_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
