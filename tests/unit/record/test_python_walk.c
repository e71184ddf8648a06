/* test_python_walk.c - frames of Python in a made-up memory: what is there, and what lies. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/bpf/raw_stack.h"
#include "record/python_codes.h"
#include "record/python_walk.h"

#define BASE	  0x10000u
#define BYTES	  0x20000u
#define CODE_TYPE 0x5000u
#define TEXT_TYPE 0x6000u
#define TID	  42u

/* Where things are in it. */
#define RUNTIME	    (BASE + 0x000)
#define INTERPRETER (BASE + 0x100)
#define THREADS	    (BASE + 0x200) /* 0x40 each */
#define CFRAME	    (BASE + 0x400)
#define FRAMES	    (BASE + 0x1000) /* 0x40 each */
#define CODES	    (BASE + 0x8000) /* 0x400 each, with the texts in it */

static const struct raw_python python = {
	.head = RUNTIME,
	.code_type = CODE_TYPE,
	.text_type = TEXT_TYPE,
	.at = {
		.interpreter_next = 0,
		.interpreter_threads = 8,
		.thread_next = 0,
		.thread_number = 8,
		.thread_cframe = 16,
		.current_frame = 8,
		.frame_code = 0,
		.frame_previous = 8,
		.frame_instruction = 16,
		.frame_owner = 24,
		.code_file = 0x20,
		.code_name = 0x28,
		.code_table = 0x30,
		.code_line = 0x38,
		.code_start = 0x40,
		.text_ascii = 40,
		.text_wide = 56,
	},
};

struct world {
	uint8_t bytes[BYTES];
	size_t reads;
	struct raw_stack raw;
	struct python_codes *codes;
};

static bool world_read(void *context, uint64_t address, void *to, size_t bytes)
{
	struct world *world = context;

	world->reads++;
	if (address < BASE || address - BASE > BYTES || BYTES - (address - BASE) < bytes)
		return false;
	memcpy(to, world->bytes + (address - BASE), bytes);
	return true;
}

static void put(struct world *world, uint64_t address, uint64_t word)
{
	assert_true(address >= BASE && address - BASE <= BYTES - sizeof(word));
	memcpy(world->bytes + (address - BASE), &word, sizeof(word));
}

/* A text of 'width' bytes a character. */
static void put_text(struct world *world, uint64_t address, const char *text, unsigned int width)
{
	uint64_t start = address + (width == 1 ? 40 : 56);

	put(world, address + 8, TEXT_TYPE);
	put(world, address + 16, strlen(text));
	put(world, address + 32, width << 2 | 1u << 5 | (width == 1 ? 1u << 6 : 0));
	for (size_t i = 0; text[i]; i++)
		world->bytes[start - BASE + i * width] = (uint8_t)text[i];
}

/* Of 10 instructions in line 7, and line 8 from the fifth on. */
static uint64_t put_code(struct world *world, unsigned int i, const char *name, unsigned int width)
{
	uint64_t code = CODES + i * 0x400u, table = code + 0x380;

	put(world, code + 8, CODE_TYPE);
	put(world, code + 16, 10);
	put(world, code + 0x20, code + 0x100);
	put(world, code + 0x28, code + 0x200);
	put(world, code + 0x30, table);
	put(world, code + 0x38, 7);
	put_text(world, code + 0x100, "/srv/app.py", 1);
	put_text(world, code + 0x200, name, width);
	put(world, table + 16, 5);
	memcpy(world->bytes + (table + 32 - BASE), "\x84\x00\xdc\x01\x02", 5);
	return code;
}

static uint64_t frame_at(unsigned int i)
{
	return FRAMES + i * 0x40u;
}

/* 'next' = its own number: it is the last one. */
static void put_frame(struct world *world, unsigned int i, uint64_t code, int unit,
		      unsigned int next)
{
	put(world, frame_at(i), code);
	put(world, frame_at(i) + 8, next == i ? 0 : frame_at(next));
	put(world, frame_at(i) + 16, code + 0x40 + (uint64_t)(2 * (int64_t)unit));
}

static void put_shim(struct world *world, unsigned int i, unsigned int next)
{
	put(world, frame_at(i) + 8, next == i ? 0 : frame_at(next));
	put(world, frame_at(i) + 24, RAW_PYTHON_SHIM);
}

static struct world *world_new(void)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->codes = python_codes_new();
	put(world, RUNTIME, INTERPRETER);
	put(world, INTERPRETER + 8, THREADS);
	put(world, THREADS, THREADS + 0x40); /* another one, then ours */
	put(world, THREADS + 8, TID + 1);
	put(world, THREADS + 0x48, TID);
	put(world, THREADS + 0x50, CFRAME);
	put(world, CFRAME + 8, frame_at(0));
	return world;
}

static void world_free(struct world *world)
{
	python_codes_free(world->codes);
	free(world);
}

static void walk(struct world *world)
{
	const struct python_memory memory = { world_read, world };

	world->raw = (struct raw_stack){ .tid = TID, .tgid = TID };
	world->raw.regs[RAW_STACK_SP] = BASE;
	python_walk(&python, &memory, TID, world->codes, &world->raw);
	assert_true(world->raw.python_count <= RAW_PYTHON_FRAMES);
	assert_true(world->reads < 4000);
}

static void check(const struct world *world, unsigned int i, const char *wanted)
{
	struct python_place place;
	char text[128];

	assert_true(i < world->raw.python_count);
	assert_true(python_codes_find(world->codes, &world->raw.python[i], &place));
	(void)snprintf(text, sizeof(text), "%s %s:%u%s", place.function, place.file, place.line,
		       world->raw.python[i].flags & RAW_PYTHON_ENTRY ? " entry" : "");
	assert_string_equal(text, wanted);
}

static void frames_are_told_with_their_lines(void **unused)
{
	struct world *world = world_new();

	put_frame(world, 0, put_code(world, 0, "load", 1), 4, 1);
	put_frame(world, 1, put_code(world, 1, "Store.add", 2), 5, 2);
	put_shim(world, 2, 3);
	put_frame(world, 3, put_code(world, 2, "main", 4), -1, 4);
	put_shim(world, 4, 4);
	walk(world);
	assert_int_equal(world->raw.python_count, 3);
	assert_false(world->raw.flags & RAW_STACK_PYTHON_CUT);
	check(world, 0, "load /srv/app.py:7");
	check(world, 1, "Store.add /srv/app.py:8 entry");
	check(world, 2, "main /srv/app.py:7 entry");
	world_free(world);
}

static void a_reference_may_be_one_that_is_not_counted(void **unused)
{
	struct world *world = world_new();

	put_frame(world, 0, put_code(world, 0, "load", 1), 4, 1);
	put(world, frame_at(0), put_code(world, 0, "load", 1) | 1);
	put_shim(world, 1, 1);
	put(world, frame_at(1) + 24, RAW_PYTHON_SHIM + 1);
	walk(world);
	assert_int_equal(world->raw.python_count, 1);
	assert_false(world->raw.flags & RAW_STACK_PYTHON_CUT);
	check(world, 0, "load /srv/app.py:7 entry");
	world_free(world);
}

/* The first of two shims is the one on the stack of C: the other one ends the chain of the thread. */
static void where_its_call_is_on_the_stack_is_told(void **unused)
{
	struct world *world = world_new();

	put_frame(world, 0, put_code(world, 0, "load", 1), 4, 1);
	put_shim(world, 1, 2);
	put_frame(world, 2, put_code(world, 1, "main", 1), 4, 3);
	put_shim(world, 3, 4);
	put_shim(world, 4, 4);
	walk(world);
	assert_int_equal(world->raw.python_count, 2);
	assert_int_equal(raw_python_call(world->raw.python[0].flags), frame_at(1) - BASE);
	assert_int_equal(raw_python_call(world->raw.python[1].flags), frame_at(3) - BASE);
	assert_int_equal(raw_python_entry(BASE - 8, BASE), RAW_PYTHON_ENTRY);
	assert_int_equal(raw_python_entry(UINT64_MAX, BASE), RAW_PYTHON_ENTRY);
	world_free(world);
}

static void a_thread_that_is_not_there_has_none(void **unused)
{
	struct world *world = world_new();

	put(world, THREADS + 0x48, TID + 2);
	walk(world);
	assert_int_equal(world->raw.python_count, 0);
	put(world, THREADS + 0x40, THREADS); /* for ever */
	walk(world);
	assert_int_equal(world->raw.python_count, 0);
	put(world, INTERPRETER + 8, 0);
	put(world, INTERPRETER, INTERPRETER); /* the same with interpreters */
	walk(world);
	assert_int_equal(world->raw.python_count, 0);
	world_free(world);
}

static void what_is_no_code_ends_the_chain(void **unused)
{
	struct world *world = world_new();
	uint64_t wrong = put_code(world, 1, "wrong", 1);

	put_frame(world, 0, put_code(world, 0, "load", 1), 0, 1);
	put_frame(world, 1, wrong, 0, 1);
	put(world, wrong + 8, TEXT_TYPE);
	walk(world);
	assert_int_equal(world->raw.python_count, 1);
	assert_true(world->raw.flags & RAW_STACK_PYTHON_CUT);
	put_frame(world, 1, 0xdeadbeef0000u, 0, 1);
	walk(world);
	assert_int_equal(world->raw.python_count, 1);
	put(world, wrong + 8, CODE_TYPE);
	put_frame(world, 1, wrong, 10, 1); /* behind its last instruction */
	walk(world);
	assert_int_equal(world->raw.python_count, 1);
	world_free(world);
}

static void a_chain_without_an_end_is_cut(void **unused)
{
	struct world *world = world_new();

	put_frame(world, 0, put_code(world, 0, "load", 1), 0, 1);
	put_frame(world, 1, put_code(world, 1, "main", 1), 0, 0);
	walk(world);
	assert_int_equal(world->raw.python_count, RAW_PYTHON_FRAMES);
	assert_true(world->raw.flags & RAW_STACK_PYTHON_CUT);
	put_shim(world, 0, 0);
	put(world, frame_at(0) + 8, frame_at(0));
	walk(world);
	assert_int_equal(world->raw.python_count, 0);
	assert_true(world->raw.flags & RAW_STACK_PYTHON_CUT);
	world_free(world);
}

static void texts_that_lie_are_none(void **unused)
{
	struct world *world = world_new();
	uint64_t code = put_code(world, 0, "load", 1), name = code + 0x200;
	struct python_place place;

	put_frame(world, 0, code, 0, 0);
	put(world, name + 16, UINT64_MAX / 2); /* too long */
	walk(world);
	assert_int_equal(world->raw.python_count, 1);
	assert_false(python_codes_find(world->codes, &world->raw.python[0], &place));
	put(world, name + 16, 4);
	put(world, name + 32, 3u << 2 | 1u << 5); /* no such width */
	walk(world);
	assert_false(python_codes_find(world->codes, &world->raw.python[0], &place));
	put(world, name + 32, 4u << 2 | 1u << 5);
	put(world, name + 56, UINT64_MAX); /* no characters */
	walk(world);
	assert_false(python_codes_find(world->codes, &world->raw.python[0], &place));
	put_text(world, name, "load", 1);
	put(world, code + 0x30, UINT64_MAX); /* a table nowhere */
	walk(world);
	check(world, 0, "load /srv/app.py:0");
	world_free(world);
}

static void any_memory_is_walked_in_a_bounded_time(void **unused)
{
	struct world *world = world_new();
	uint64_t random = 88172645463325252u;

	for (int round = 0; round < 300; round++) {
		for (size_t i = 0; i + 8 <= 0xa000; i += 8) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			/* Mostly addresses of what is there, and types. */
			put(world, BASE + i,
			    random % 4		? BASE + (random >> 8) % 0xa000 / 8 * 8
			    : (random >> 8) % 2 ? CODE_TYPE
						: TEXT_TYPE);
		}
		put(world, RUNTIME, INTERPRETER);
		put(world, INTERPRETER + 8, THREADS);
		put(world, THREADS + 8, TID);
		world->reads = 0;
		walk(world);
	}
	world_free(world);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_told_with_their_lines),
		cmocka_unit_test(a_reference_may_be_one_that_is_not_counted),
		cmocka_unit_test(where_its_call_is_on_the_stack_is_told),
		cmocka_unit_test(a_thread_that_is_not_there_has_none),
		cmocka_unit_test(what_is_no_code_ends_the_chain),
		cmocka_unit_test(a_chain_without_an_end_is_cut),
		cmocka_unit_test(texts_that_lie_are_none),
		cmocka_unit_test(any_memory_is_walked_in_a_bounded_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
