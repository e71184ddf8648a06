/* test_ctf2_meta.c - metadata of CTF 2, and streams that it describes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "ctf_maker.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "read/ctf/ctf2_meta.h"
#include "read/ctf/meta.h"
#include "fields/print.h"
#include "read/read.h"

#define RS	 "\x1e"
#define PREAMBLE RS "{\"type\":\"preamble\",\"version\":2}\n"
#define CLOCK                                                                 \
	RS "{\"type\":\"clock-class\",\"id\":\"c\",\"frequency\":1000000000," \
	   "\"origin\":\"unix-epoch\",\"offset-from-origin\":{\"seconds\":5}}\n"
#define BYTE \
	"{\"type\":\"fixed-length-unsigned-integer\",\"length\":8,\"byte-order\":\"little-endian\""
#define STREAM                                                                                \
	RS "{\"type\":\"data-stream-class\",\"default-clock-class-id\":\"c\","                \
	   "\"event-record-header-field-class\":{\"type\":\"structure\",\"member-classes\":[" \
	   "{\"name\":\"t\",\"field-class\":" BYTE                                            \
	   ",\"roles\":[\"default-clock-timestamp\"]}}]}}\n"
#define EVENT(members)                                                                  \
	RS "{\"type\":\"event-record-class\",\"name\":\"ev\",\"payload-field-class\":{" \
	   "\"type\":\"structure\",\"member-classes\":[" members "]}}\n"
#define MEMBER(name, class) "{\"name\":\"" name "\",\"field-class\":" class "}"
#define N		    MEMBER("n", BYTE "}")

/* The text of the first event of a stream, or what is wrong with the trace. */
static char *text_of(const char *metadata, const void *stream, size_t bytes)
{
	struct ctf_made made;
	struct trace *trace;
	struct err err = { 0 };
	const struct event *event;
	char *text = NULL;

	ctf_make(&made, metadata);
	ctf_make_file(&made, "stream", stream, bytes);
	if (read_open(made.path, &trace, &err) < 0) {
		ctf_unmake(&made);
		return xstrdup(err.text);
	}
	trace_keep_records(trace, true);
	if (source_seek(trace_source(trace), 0, &err) == 0 &&
	    source_next(trace_source(trace), &event, &err) > 0 && event->type == EV_OTHER) {
		struct trace_meaning meaning;
		struct trace_record record;
		struct print_setup setup = { .facts = trace_facts(trace) };
		struct printer *printer;
		struct print_memory *memory;
		struct outbuf out;

		assert_true(trace_meaning(trace, &meaning) && trace_record(trace, &record));
		setup.formats = meaning.formats;
		setup.big_endian = meaning.big_endian;
		setup.long_bytes = meaning.long_bytes;
		outbuf_to_memory(&out);
		printer = printer_new(&setup);
		memory = print_memory_new(printer);
		print_text(printer, memory, printer_event_of(printer, &record), &record, &out);
		text = xstrndup(out.start, (size_t)(out.at - out.start));
		outbuf_fini(&out);
		print_memory_free(memory);
		printer_free(printer);
	} else {
		text = xstrdup(trace_facts(trace)->damage_count ? trace_facts(trace)->damage[0]
								: "no event");
	}
	trace_close(trace);
	ctf_unmake(&made);
	return text;
}

static const struct {
	const char *name, *members, *stream;
	size_t bytes;
	const char *want;
} classes[] = {
	{ "numbers of variable length",
	  MEMBER("u", "{\"type\":\"variable-length-unsigned-integer\"}") "," MEMBER(
		  "s", "{\"type\":\"variable-length-signed-integer\"}"),
	  "\1\xff\xff\x03\x7e", 5, "u=65535 s=-2" },
	{ "a boolean, a bit array and reversed bits",
	  MEMBER("b",
		 "{\"type\":\"fixed-length-boolean\",\"length\":1,\"byte-order\":"
		 "\"little-endian\"}") "," MEMBER("a",
						  "{\"type\":\"fixed-length-bit-array\","
						  "\"length\":3,\"byte-order\":"
						  "\"little-endian\"}") "," MEMBER("r",
										   "{\"type\":\"fixed-length-unsigned-integer\",\"length\":4,\"byte-order\":"
										   "\"little-endian\",\"bit-order\":\"last-to-first\"}"),
	  "\1\x1b", 2, "b=1 a=0x5 r=8" },
	{ "texts",
	  N
	  "," MEMBER("z", "{\"type\":\"null-terminated-string\",\"encoding\":\"utf-16be\"}") "," MEMBER(
		  "d", "{\"type\":\"dynamic-length-string\",\"length-field-location\":{\"path\":"
		       "[\"n\"]}}") "," MEMBER("s", "{\"type\":\"static-length-string\","
						    "\"length\":3}"),
	  "\1\2\0a\x26\x3a\0\0xyab\0", 13, "n=2 z=a\xe2\x98\xba d=xy s=ab" },
	{ "blobs and arrays",
	  N "," MEMBER(
		  "b",
		  "{\"type\":\"dynamic-length-blob\",\"length-field-location\":"
		  "{\"origin\":\"event-record-payload\",\"path\":[\"n\"]}}") "," MEMBER("l",
											"{\"type\":\"static-length-array\",\"length\":2,\"element-field-class\":" BYTE
											"}}"),
	  "\1\2\xaa\xbb\1\2", 6, "n=2 b={0xaa,0xbb} l={0x1,0x2}" },
	{ "an optional field and a variant",
	  N "," MEMBER(
		  "o",
		  "{\"type\":\"optional\",\"field-class\":" BYTE
		  "},\"selector-field-location\":{\"path\":[\"n\"]},"
		  "\"selector-field-ranges\":[[2,2]]}") "," MEMBER("p",
								   "{\"type\":\"optional\",\"field-class\":" BYTE
								   "},\"selector-field-location\":{\"path\":[\"n\"]},"
								   "\"selector-field-ranges\":[[3,9]]}") "," MEMBER("v",
														    "{\"type\":\"variant\",\"selector-field-location\":{\"path\":[\"x\",null,"
														    "\"n\"]},\"options\":[{\"name\":\"A\",\"selector-field-ranges\":[[0,1]],"
														    "\"field-class\":{\"type\":\"null-terminated-string\"}},{\"name\":\"B\","
														    "\"selector-field-ranges\":[[2,255]],\"field-class\":" BYTE
														    "}}]}"),
	  "\1\2\7\10", 4, "n=2 o={ value = 7 } p={ } v={ B = 8 }" },
	{ "a length two structures up",
	  N
	  "," MEMBER("s", "{\"type\":\"structure\",\"member-classes\":[" MEMBER(
				  "d", "{\"type\":\"dynamic-length-string\","
				       "\"length-field-location\":{\"path\":[null,\"n\"]}}") "]}"),
	  "\1\2xy", 4, "n=2 s_d=xy" },
	{ "half a float",
	  MEMBER("f", "{\"type\":\"fixed-length-floating-point-number\",\"length\":16,"
		      "\"byte-order\":\"big-endian\",\"alignment\":8}"),
	  "\1\x3e\0", 3, "f=1.5" },
};

static void each_field_class_is_read(void **unused)
{
	for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
		AUTO_FREE char *metadata = xasprintf(
			"%s" RS "{\"type\":\"event-record-class\",\"name\":\"ev\","
			"\"payload-field-class\":{\"type\":\"structure\",\"member-classes\":[%s]}}",
			PREAMBLE CLOCK STREAM, classes[i].members);
		AUTO_FREE char *text = text_of(metadata, classes[i].stream, classes[i].bytes);

		if (strcmp(text, classes[i].want) != 0)
			fail_msg("%s: '%s', not '%s'", classes[i].name, text, classes[i].want);
	}
}

static void a_cut_stream_is_damaged_and_does_no_harm(void **unused)
{
	for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
		for (size_t bytes = 1; bytes < classes[i].bytes; bytes++) {
			AUTO_FREE char *metadata =
				xasprintf("%s" RS
					  "{\"type\":\"event-record-class\",\"name\":\"ev\","
					  "\"payload-field-class\":{\"type\":\"structure\","
					  "\"member-classes\":[%s]}}",
					  PREAMBLE CLOCK STREAM, classes[i].members);
			AUTO_FREE char *text = text_of(metadata, classes[i].stream, bytes);

			assert_string_not_equal(text, classes[i].want);
		}
	}
}

static const struct {
	const char *metadata, *says;
} wrongs[] = {
	{ RS "{\"type\":\"trace-class\"}", "preamble" },
	{ RS "{\"type\":\"preamble\",\"version\":3}", "CTF 3" },
	{ RS "{\"type\":\"preamble\",\"version\":2", "cut" },
	{ RS "{\"type\":\"preamble\",\"version\":2,}x", "JSON" },
	{ PREAMBLE RS "{\"type\":\"x\"}", "no fragment of type x" },
	{ PREAMBLE PREAMBLE, "two preambles" },
	{ PREAMBLE RS "{\"type\":\"trace-class\",\"extensions\":{\"a.b\":{}}}", "extension a.b" },
	{ PREAMBLE RS "{\"type\":\"trace-class\",\"colour\":1}", "no property colour" },
	{ PREAMBLE STREAM, "no clock class c" },
	{ PREAMBLE CLOCK CLOCK, "two clock classes c" },
	{ PREAMBLE EVENT(N), "no data stream class 0" },
	{ PREAMBLE CLOCK STREAM EVENT(N "," N), "two members n" },
	{ PREAMBLE CLOCK STREAM EVENT(MEMBER("a", "\"nix\"")), "called nix" },
	{ PREAMBLE CLOCK STREAM EVENT(MEMBER("a", "{\"type\":\"dynamic-length-blob\","
						  "\"length-field-location\":{\"path\":[\"n\"]}}")),
	  "no integer before this called n" },
	{ PREAMBLE CLOCK STREAM EVENT(MEMBER("o",
					     "{\"type\":\"optional\",\"field-class\":" BYTE
					     "},\"selector-field-location\":{\"path\":[\"o\"]},"
					     "\"selector-field-ranges\":[[2,2]]}")),
	  "no integer before this called o" },
	{ PREAMBLE CLOCK STREAM EVENT(MEMBER("a", "{\"type\":\"dynamic-length-blob\","
						  "\"length-field-location\":{\"path\":[null]}}")),
	  "leads to no field" },
	{ PREAMBLE CLOCK STREAM EVENT(MEMBER("a", BYTE ",\"alignment\":3}")), "power of two" },
};

static void what_is_wrong_is_said(void **unused)
{
	for (size_t i = 0; i < ARRAY_LEN(wrongs); i++) {
		struct ctf_meta *meta;
		struct err err = { 0 };

		if (ctf_meta_new(wrongs[i].metadata, strlen(wrongs[i].metadata), &meta, &err) !=
			    -EBADMSG ||
		    !strstr(err.text, wrongs[i].says))
			fail_msg("'%s': '%s'", wrongs[i].metadata, err.text);
	}
}

/* Deeper than anything can be walked, and cut anywhere. */
static void hostile_metadata_does_no_harm(void **unused)
{
	static const char whole[] = PREAMBLE CLOCK STREAM EVENT(N);
	struct ctf_meta *meta;
	struct err err = { 0 };
	char *deep = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&deep, &bytes);

	fputs(PREAMBLE RS "{\"type\":\"field-class-alias\",\"name\":\"a\",\"field-class\":", out);
	for (uint32_t i = 0; i < 100000; i++)
		fputs("{\"type\":\"static-length-array\",\"length\":1,\"element-field-class\":",
		      out);
	fclose(out);
	assert_int_equal(ctf_meta_new(deep, bytes, &meta, &err), -EBADMSG);
	free(deep);
	for (size_t cut = 0; cut < strlen(whole); cut++) {
		if (ctf_meta_new(whole, cut, &meta, &err) == 0)
			ctf_meta_free(meta);
	}
}

static void tsdl_is_no_json(void **unused)
{
	assert_true(ctf2_is_metadata(RS "x", 2));
	assert_true(ctf2_is_metadata(" \n{", 3));
	assert_false(ctf2_is_metadata("/* CTF 1.8 */", 13));
	assert_false(ctf2_is_metadata("", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field_class_is_read),
		cmocka_unit_test(a_cut_stream_is_damaged_and_does_no_harm),
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(hostile_metadata_does_no_harm),
		cmocka_unit_test(tsdl_is_no_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
