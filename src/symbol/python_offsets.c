/* python_offsets.c - see python_offsets.h. */
#include "symbol/python_offsets.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

#define COOKIE	    "xdebugpy"
#define MAJOR	    3u
#define WORD	    sizeof(uint64_t)
#define WORDS	    (PYTHON_OFFSETS_BYTES / WORD)
#define RUNTIME_MAX (16u << 20)
#define OBJECT_MAX  (4u << 20) /* an interpreter is the largest one */

/* What all of them begin with, in words. */
enum {
	AT_COOKIE,
	AT_VERSION,
	AT_NO_GIL,
	AT_RUNTIME, /* each section: its size first */
	AT_RUNTIME_HEAD = AT_RUNTIME + 2,
	AT_INTERPRETER,
	AT_INTERPRETER_ID,
	AT_INTERPRETER_NEXT,
	AT_INTERPRETER_THREADS,
};

/* The sections behind, in words. Within a section, the same in all versions but for what the table says. */
struct order {
	uint8_t minor; /* since which version */
	uint8_t gil;
	uint8_t thread;
	uint8_t thread_self; /* in its section */
	uint8_t frame;
	uint8_t code;
	uint8_t object;
	uint8_t type;
	uint8_t bytes;
	uint8_t text;
};

static const struct order orders[] = {
	{ 13, 14, 19, 5, 28, 34, 44, 46, 64, 67 },
	{ 14, 15, 22, 5, 31, 39, 50, 52, 74, 77 },
	{ 15, 15, 22, 8, 39, 47, 58, 60, 86, 89 },
};

static const struct order *order_of(uint64_t version)
{
	const struct order *found = NULL;

	if (version >> 24 != MAJOR)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		if ((version >> 16 & 0xff) >= orders[i].minor)
			found = &orders[i];
	}
	return found;
}

/* A field of eight bytes lies in its object. */
static bool is_in(uint64_t offset, uint64_t size)
{
	return size >= WORD && offset <= size - WORD;
}

/* Of the GIL: where its address is, where the interpreter's own is, 0, "locked", the holder. */
static bool take_interpreter(const uint64_t *words, const struct order *order,
			     struct python_offsets *offsets)
{
	uint64_t size = words[AT_INTERPRETER], next = words[AT_INTERPRETER_NEXT];
	uint64_t threads = words[AT_INTERPRETER_THREADS], gil = words[order->gil];
	uint64_t own = words[order->gil + 1], locked = words[order->gil + 3];
	uint64_t holder = words[order->gil + 4];

	if (size > OBJECT_MAX || words[AT_RUNTIME] > RUNTIME_MAX ||
	    !is_in(words[AT_RUNTIME_HEAD], words[AT_RUNTIME]) || !is_in(next, size) ||
	    !is_in(threads, size) || !is_in(gil, size) || !is_in(locked, size) ||
	    words[AT_INTERPRETER_ID] != next + WORD || words[order->gil + 2] ||
	    holder != own + WORD || locked != holder + WORD || threads <= next)
		return false;
	offsets->runtime_head = (uint32_t)words[AT_RUNTIME_HEAD];
	offsets->interpreter_next = (uint32_t)next;
	offsets->interpreter_threads = (uint32_t)threads;
	return true;
}

/* size, prev, next, interp, current_frame, ..., thread_id, native_thread_id */
static bool take_thread(const uint64_t *words, const struct order *order,
			struct python_offsets *offsets)
{
	const uint64_t *at = words + order->thread;
	uint64_t self = at[order->thread_self], number = at[order->thread_self + 1];

	if (at[0] > PYTHON_OFFSETS_MAX || !is_in(at[3], at[0]) || !is_in(at[4], at[0]) ||
	    !is_in(number, at[0]) || at[2] != at[1] + WORD || at[3] != at[2] + WORD ||
	    at[4] <= at[3] || number != self + WORD || self <= at[4])
		return false;
	offsets->thread_next = (uint32_t)at[2];
	offsets->thread_frame = (uint32_t)at[4];
	offsets->thread_self = (uint32_t)self;
	offsets->thread_number = (uint32_t)number;
	return true;
}

/* size, previous, executable, instr_ptr, localsplus, owner; the locals end it */
static bool take_frame(const uint64_t *words, const struct order *order,
		       struct python_offsets *offsets)
{
	const uint64_t *at = words + order->frame;

	if (at[0] > PYTHON_OFFSETS_MAX || !is_in(at[1], at[0]) || !is_in(at[3], at[0]) ||
	    at[1] != at[2] + WORD || at[3] <= at[1] || at[4] != at[0] - WORD || at[5] <= at[3] ||
	    at[5] >= at[4])
		return false;
	offsets->frame_previous = (uint32_t)at[1];
	offsets->frame_code = (uint32_t)at[2];
	offsets->frame_instruction = (uint32_t)at[3];
	offsets->frame_locals = (uint32_t)at[4];
	offsets->frame_owner = (uint32_t)at[5];
	return true;
}

/*
 * size, filename, name, qualname, linetable, firstlineno, argcount, names and kinds of locals, co_code_adaptive, which
 * ends it. In the object: argcount, two more, the depth of the stack, firstlineno, the number of locals, 4 bytes each.
 */
static bool take_code(const uint64_t *words, const struct order *order,
		      struct python_offsets *offsets)
{
	const uint64_t *at = words + order->code;

	if (at[0] > PYTHON_OFFSETS_MAX || !is_in(at[4], at[0]) || at[2] != at[1] + WORD ||
	    at[3] != at[2] + WORD || at[4] != at[3] + WORD || at[5] != at[6] + 16 ||
	    at[5] + WORD > at[7] || at[8] != at[7] + WORD || at[1] != at[8] + WORD ||
	    at[9] != at[0] - WORD || at[9] <= at[4])
		return false;
	offsets->code_file = (uint32_t)at[1];
	offsets->code_name = (uint32_t)at[3];
	offsets->code_table = (uint32_t)at[4];
	offsets->code_line = (uint32_t)at[5];
	offsets->code_locals = (uint32_t)at[5] + (uint32_t)sizeof(uint32_t);
	offsets->code_start = (uint32_t)at[9];
	return true;
}

/* What lies at the same place in all versions, and what follows from it. */
static bool take_objects(const uint64_t *words, const struct order *order,
			 struct python_offsets *offsets)
{
	const uint64_t *object = words + order->object, *type = words + order->type;
	const uint64_t *bytes = words + order->bytes, *text = words + order->text;

	if (object[0] != 16 || object[1] != 8 || type[1] != 24 || type[3] != 168 ||
	    bytes[0] != 40 || bytes[1] != 16 || bytes[2] != 32 || text[1] != 32 || text[2] != 16 ||
	    text[3] != 40)
		return false;
	offsets->text_ascii = (uint32_t)text[3];
	offsets->text_wide = (uint32_t)text[3] + 2 * WORD; /* the same as UTF-8, and its length */
	return true;
}

enum python_offsets_told python_offsets_read(const void *start, size_t bytes, uint64_t version,
					     struct python_offsets *out_offsets)
{
	const struct order *order = order_of(version);
	struct python_offsets offsets = { 0 };
	uint64_t words[WORDS];

	if (!order || bytes < sizeof(words))
		return PYTHON_OFFSETS_NONE;
	memcpy(words, start, sizeof(words));
	if (memcmp(&words[AT_COOKIE], COOKIE, WORD) != 0 || words[AT_VERSION] != version ||
	    words[AT_NO_GIL] > 1)
		return PYTHON_OFFSETS_NONE;
	if (words[AT_NO_GIL])
		return PYTHON_OFFSETS_NO_GIL;
	if (!take_interpreter(words, order, &offsets) || !take_thread(words, order, &offsets) ||
	    !take_frame(words, order, &offsets) || !take_code(words, order, &offsets) ||
	    !take_objects(words, order, &offsets))
		return PYTHON_OFFSETS_NONE;
	*out_offsets = offsets;
	return PYTHON_OFFSETS_KNOWN;
}
