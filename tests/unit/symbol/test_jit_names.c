/* test_jit_names.c - what runtimes tell of the code they made, and what is no such thing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/jit_names.h"

static int file_of(const void *bytes, size_t count)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, count), count);
	return fd;
}

static struct jit_names *of_map(const char *text)
{
	struct jit_names *names = jit_names_new();
	int fd = file_of(text, strlen(text));

	jit_names_read_map(names, fd);
	close(fd);
	return names;
}

static void check(struct jit_names *names, uint64_t address, const char *wanted)
{
	struct jit_name name = { 0 };
	char text[256];

	if (!jit_names_find(names, address, &name)) {
		assert_false(jit_names_has(names, address));
		assert_null(wanted);
		return;
	}
	assert_true(jit_names_has(names, address));
	assert_non_null(wanted);
	snprintf(text, sizeof(text), "%s %s:%u", name.function, name.file ? name.file : "-",
		 name.line);
	assert_string_equal(text, wanted);
}

static void functions_of_runtimes_have_their_names(void **unused)
{
	struct jit_names *names = of_map("1000 40 JS:*crunch /srv/app.js:12:9\n"
					 "0x1040 10 LazyCompile:~ node:fs:7:1\n"
					 "1050 10 Builtin:ArgumentsAdaptor\n"
					 "1060 10 py::load:/srv/a b.py\n"
					 "1070 10 Lorg/Main;::run\n"
					 "1080 10 JS:^plain\n");

	check(names, 0xfff, NULL);
	check(names, 0x1000, "crunch /srv/app.js:12");
	check(names, 0x103f, "crunch /srv/app.js:12");
	check(names, 0x1040, "(anonymous) node:fs:7");
	check(names, 0x1050, "Builtin:ArgumentsAdaptor -:0");
	check(names, 0x1060, "load /srv/a b.py:0");
	check(names, 0x1070, "org.Main.run -:0");
	check(names, 0x1080, "plain -:0");
	check(names, 0x1090, NULL);
	jit_names_free(names);
}

static void methods_of_java_lose_their_types(void **unused)
{
	struct jit_names *names = of_map("1000 10 void shop.Cart.add(int, java.lang.String)\n"
					 "1010 10 java.lang.String[] Main.<init>()\n"
					 "1020 10 Interpreter\n"
					 "1030 10 StubRoutines (1)\n"
					 "1040 10 I2C/C2I adapters(0xba)\n"
					 "1050 10 L;::\n"
					 "1060 10 a b c.d()\n");
	struct jit_name name = { 0 };

	check(names, 0x1000, "shop.Cart.add -:0");
	assert_true(jit_names_find(names, 0x1000, &name));
	assert_string_equal(name.whole, "void shop.Cart.add(int, java.lang.String)");
	check(names, 0x1010, "Main.<init> -:0");
	check(names, 0x1020, "Interpreter -:0");
	check(names, 0x1030, "StubRoutines (1) -:0");
	check(names, 0x1040, "I2C/C2I adapters(0xba) -:0");
	check(names, 0x1050, "L;:: -:0");
	check(names, 0x1060, "a b c.d() -:0");
	jit_names_free(names);
}

static void the_last_that_was_told_counts(void **unused)
{
	struct jit_names *names = of_map("1000 100 old\n1010 10 inner\n1000 100 new\n2000 10 b\n");

	check(names, 0x1000, "new -:0");
	check(names, 0x1015, "new -:0");
	check(names, 0x2008, "b -:0");
	jit_names_free(names);
}

static void what_makes_no_sense_is_left_out(void **unused)
{
	struct jit_names *names = of_map("\nfoo\n1000\n1000 10\n1000 10 \nxyz 10 a\n-1 10 b\n"
					 "ffffffffffffffff 10 wraps\n3000 0 empty\n"
					 "99999999999999999999 10 large\n4000 10 half");

	check(names, 0x1000, NULL);
	check(names, 0x3000, NULL);
	check(names, 0x4000, NULL); /* the line has no end yet */
	jit_names_free(names);
	names = of_map("");
	check(names, 0, NULL);
	jit_names_free(names);
}

/* A dump with one function, which is moved. */
static size_t make_dump(uint8_t *out)
{
	const uint32_t head[10] = { 0x4a695444, 1, 40, 62, 0, 7 };
	const uint32_t load[4] = { 0, 16 + 40 + 5 + 4 };
	const uint64_t code[5] = { 0, 0x5000, 0x5000, 4, 1 };
	const uint32_t move[4] = { 1, 16 + 48 };
	const uint64_t moved[6] = { 0, 0x6000, 0x5000, 0x6000, 4, 1 };
	uint8_t *at = out;

	at = mempcpy(at, head, 40);
	at = mempcpy(at, load, 16);
	at = mempcpy(at, code, 40);
	at = mempcpy(at, "work\0\x90\x90\x90\x90", 9);
	at = mempcpy(at, move, 16);
	at = mempcpy(at, moved, 48);
	return (size_t)(at - out);
}

static void dumps_are_read_as_far_as_they_go(void **unused)
{
	uint8_t bytes[256];
	size_t count = make_dump(bytes);

	for (size_t part = 0; part <= count; part++) {
		struct jit_names *names = jit_names_new();
		int fd = file_of(bytes, part);

		jit_names_read_dump(names, fd);
		check(names, 0x5003, part >= count - 64 ? "work -:0" : NULL);
		check(names, 0x6000, part == count ? "work -:0" : NULL);
		jit_names_free(names);
		close(fd);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_runtimes_have_their_names),
		cmocka_unit_test(methods_of_java_lose_their_types),
		cmocka_unit_test(the_last_that_was_told_counts),
		cmocka_unit_test(what_makes_no_sense_is_left_out),
		cmocka_unit_test(dumps_are_read_as_far_as_they_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
