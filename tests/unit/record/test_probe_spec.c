/* test_probe_spec.c - what users write after --probe and --usdt. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "record/probe_spec.h"

/* All of it as one text: "bin|provider|name|version|offset|return|a:u64,-,b=..." */
static char *told(const char *text, bool is_usdt)
{
	struct probe_spec spec;
	struct err err = { 0 };
	char *line;
	int rc = probe_spec_parse(text, is_usdt, &spec, &err);

	if (rc < 0) {
		assert_int_equal(rc, -EINVAL);
		assert_true(err.text[0]);
		probe_spec_fini(&spec);
		return xasprintf("wrong");
	}
	line = xasprintf("%s|%s|%s|%s|%llu|%s|", spec.binary ? spec.binary : "-",
			 spec.provider ? spec.provider : "-", spec.name ? spec.name : "-",
			 spec.version ? spec.version : "-", (unsigned long long)spec.offset,
			 spec.is_return ? "return" : "call");
	for (size_t i = 0; i < spec.arg_count; i++) {
		const struct probe_arg *arg = &spec.args[i];
		char *longer = xasprintf("%s%s%s:%s", line, i ? "," : "", arg->name,
					 arg->fetch  ? arg->fetch
					 : arg->type ? arg->type
						     : "-");

		free(line);
		line = longer;
	}
	probe_spec_fini(&spec);
	return line;
}

static void check(const char *text, bool is_usdt, const char *expected)
{
	AUTO_FREE char *line = told(text, is_usdt);

	assert_string_equal(line, expected);
}

static void functions_are_taken_apart(void **state)
{
	check("./a:work", false, "./a|-|work|-|0|call|");
	check("/opt/x:y/a:work", false, "/opt/x:y/a|-|work|-|0|call|");
	check("libc.so.6:malloc@GLIBC_2.2.5", false, "libc.so.6|-|malloc|GLIBC_2.2.5|0|call|");
	check("libc:malloc@@GLIBC_2.2.5%return", false, "libc|-|malloc|GLIBC_2.2.5|0|return|");
	check("a:work+0x1b", false, "a|-|work|-|27|call|");
	check("a:0x1139", false, "a|-|-|-|4409|call|");
	check("a:foo_*", false, "a|-|foo_*|-|0|call|");
	check(" a:work (3) ", false, "a|-|work|-|0|call|arg1:x64,arg2:x64,arg3:x64");
}

static void arguments_have_names_and_types(void **state)
{
	check("a:f(x:u64, y:s32,path:string)", false, "a|-|f|-|0|call|x:u64,y:s32,path:string");
	check("a:f(u64, string)", false, "a|-|f|-|0|call|arg1:u64,arg2:string");
	check("a:f(size_t,size)", false, "a|-|f|-|0|call|arg1:u64,size:-");
	check("a:f(_, x:int)", false, "a|-|f|-|0|call|:-,x:s32");
	check("a:f()", false, "a|-|f|-|0|call|");
	check("a:f(0)", false, "a|-|f|-|0|call|");
	check("a:f%return(s32)", false, "a|-|f|-|0|return|ret:s32");
	check("a:f%return(got:string)", false, "a|-|f|-|0|return|got:string");
	check("a:f(x=+8(%di):u64,y=%ax)", false, "a|-|f|-|0|call|x:x=+8(%di):u64,y:y=%ax");
}

static void usdt_points_are_taken_apart(void **state)
{
	check("demo:start", true, "-|demo|start|-|0|call|");
	check("./a:demo:start", true, "./a|demo|start|-|0|call|");
	check("/x:y/a:demo:*", true, "/x:y/a|demo|*|-|0|call|");
	check("demo:start(id, _, path:string)", true, "-|demo|start|-|0|call|id:-,:-,path:string");
}

static void what_is_wrong_is_refused(void **state)
{
	static const char *const functions[] = {
		"",
		"a",
		":f",
		"a:",
		"a:f%retur",
		"a:f%",
		"a:f+",
		"a:f+x",
		"a:f+1%return",
		"a:f@",
		"a:12x",
		"a:f(17)",
		"a:f(x:",
		"a:f(x:float)",
		"a:f(double x)",
		"a:f(x,x)",
		"a:f(,x)",
		"a:f(x,)",
		"a:f(1x)",
		"a:f(x:u65)",
		"a:f(__probe_ip)",
		"a:f(x=a b)",
		"a:f%return(s32,s32)",
		"a:f(x=\n)",
		"a:@V",
		"a:f(abcdefghijklmnopqrstuvwxyz0123456789)",
		"a:99999999999999999999999",
		"a:f(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q)",
	};
	static const char *const points[] = {
		"", "demo", "demo:", ":start", ":demo:start", "a::start", "demo:start(x"
	};

	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		AUTO_FREE char *line = told(functions[i], false);

		if (strcmp(line, "wrong") != 0 && strcmp(functions[i], "a:f(x:") != 0)
			fail_msg("'%s' is taken as %s", functions[i], line);
	}
	for (size_t i = 0; i < ARRAY_LEN(points); i++) {
		AUTO_FREE char *line = told(points[i], true);

		if (strcmp(line, "wrong") != 0 && strcmp(points[i], "demo:start(x") != 0)
			fail_msg("'%s' is taken as %s", points[i], line);
	}
}

/* Any bytes: no crash, and what is taken has a name of an argument that the kernel takes. */
static void random_texts_do_no_harm(void **state)
{
	static const char letters[] = "ab:()%,=+@_0x*[ \n\t$\\return";
	unsigned int random = 1;
	char text[40];

	for (int round = 0; round < 50000; round++) {
		size_t bytes = (size_t)rand_r(&random) % (sizeof(text) - 1);
		struct probe_spec spec;

		for (size_t i = 0; i < bytes; i++)
			text[i] = letters[(size_t)rand_r(&random) % (sizeof(letters) - 1)];
		text[bytes] = '\0';
		if (probe_spec_parse(text, round & 1, &spec, NULL) == 0) {
			assert_true(spec.arg_count <= PROBE_ARGS_MAX);
			for (size_t i = 0; i < spec.arg_count; i++)
				assert_null(strpbrk(spec.args[i].name, " \n\t:=,()%"));
		}
		probe_spec_fini(&spec);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_taken_apart),
		cmocka_unit_test(arguments_have_names_and_types),
		cmocka_unit_test(usdt_points_are_taken_apart),
		cmocka_unit_test(what_is_wrong_is_refused),
		cmocka_unit_test(random_texts_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
