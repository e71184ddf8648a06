/* test_json.c - the JSON writer, as text and as a parser reads it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"

struct output {
	char *text;
	size_t bytes;
	struct json json;
};

static void begin(struct output *output)
{
	*output = (struct output){ 0 };
	output->json.out = open_memstream(&output->text, &output->bytes);
	assert_non_null(output->json.out);
}

/* Compares and frees. */
static void assert_output(struct output *output, const char *expected)
{
	json_fini(&output->json);
	fclose(output->json.out);
	assert_string_equal(output->text, expected);
	free(output->text);
}

static void commas_stand_between_values_only(void **unused)
{
	struct output output;

	begin(&output);
	json_begin_object(&output.json, NULL);
	json_print_u64(&output.json, "max", UINT64_MAX);
	json_begin_array(&output.json, "list");
	json_end_array(&output.json);
	json_begin_array(&output.json, "pair");
	json_print_i64(&output.json, NULL, -1);
	json_begin_object(&output.json, NULL);
	json_end_object(&output.json);
	json_end_array(&output.json);
	json_print_bool(&output.json, "yes", true);
	json_print_null(&output.json, "none");
	json_print_string(&output.json, "text", NULL);
	json_end_object(&output.json);
	assert_output(&output, "{\"max\":18446744073709551615,\"list\":[],\"pair\":[-1,{}],"
			       "\"yes\":true,\"none\":null,\"text\":null}\n");
}

static void a_share_has_six_decimals(void **unused)
{
	struct output output;

	begin(&output);
	json_begin_array(&output.json, NULL);
	json_print_share(&output.json, NULL, 1, 3);
	json_print_share(&output.json, NULL, 2, 3);
	json_print_share(&output.json, NULL, 3, 3);
	json_print_share(&output.json, NULL, 3, 0);
	json_print_share(&output.json, NULL, UINT64_MAX / 2, UINT64_MAX);
	json_end_array(&output.json);
	assert_output(&output, "[0.333333,0.666667,1.000000,0.000000,0.500000]\n");
}

/* Every string of bytes gives JSON that parses. */
static void any_bytes_parse(void **unused)
{
	for (int first = 1; first < 256; first++) {
		for (int second = 1; second < 256; second++) {
			const char text[] = { (char)first, (char)second, '\0' };
			struct json_object *parsed;
			struct output output;

			begin(&output);
			json_print_string(&output.json, NULL, text);
			json_fini(&output.json);
			fclose(output.json.out);
			parsed = json_tokener_parse(output.text);
			assert_non_null(parsed);
			if (first < 0x80 && second < 0x80)
				assert_string_equal(json_object_get_string(parsed), text);
			json_object_put(parsed);
			free(output.text);
		}
	}
}

static void control_characters_and_bad_bytes_are_escaped(void **unused)
{
	struct output output;

	begin(&output);
	json_print_string(&output.json, NULL, "a\"\\\n\t\033\xff\xc3\xbc");
	assert_output(&output, "\"a\\\"\\\\\\n\\t\\u001b\\ufffd\xc3\xbc\"\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_stand_between_values_only),
		cmocka_unit_test(a_share_has_six_decimals),
		cmocka_unit_test(any_bytes_parse),
		cmocka_unit_test(control_characters_and_bad_bytes_are_escaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
