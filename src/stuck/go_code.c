/*
 * go_code.c - see go_code.h.
 *
 * A table of functions, sorted, has the offset of what is known of each; that has offsets of sequences of
 * (difference of a value, difference of an address), one sequence for each kind of value: cmd/internal/obj/pcln.go
 * and runtime/symtab.go of Go.
 */
#include "stuck/go_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stuck/go_memory.h"
#include "symbol/go_layout.h"

#define STEPS_MAX     65536u
#define INLINED_MAX   12u
#define SPOTS_MAX     8192u
#define FUNCTIONS_MAX 4000000u
#define TABLES_MAX    64u /* of a function */
#define PCDATA_TREE   2u
#define FUNCDATA_TREE 3u
#define NO_VALUE      -1
#define RUNTIME_FILE  "runtime/proc.go"

/* What is read of the function at an address. */
struct go_function {
	uint64_t at, entry;
	uint32_t name, sp, file, line, unit, pcdata, funcdata;
};

static struct go_slice go_slice_at(struct go_code *code, uint64_t module, enum go_field field)
{
	uint64_t at = module + code->layout->at[field];

	return (struct go_slice){ go_memory_u64(code->memory, at),
				  go_memory_u64(code->memory, at + 8) };
}

bool go_code_open(struct go_code *code, struct go_memory *memory, const struct go_layout *layout,
		  uint64_t bias)
{
	uint64_t module = layout->variables[GO_FIRST_MODULE] + bias;

	*code = (struct go_code){ .memory = memory, .layout = layout };
	code->names = go_slice_at(code, module, GO_MODULE_NAMES);
	code->units = go_slice_at(code, module, GO_MODULE_UNITS);
	code->files = go_slice_at(code, module, GO_MODULE_FILES);
	code->pcs = go_slice_at(code, module, GO_MODULE_PCS);
	code->functions = go_slice_at(code, module, GO_MODULE_FUNCTIONS);
	code->table = go_slice_at(code, module, GO_MODULE_TABLE);
	code->text = go_memory_u64(memory, module + layout->at[GO_MODULE_TEXT]);
	code->text_end = go_memory_u64(memory, module + layout->at[GO_MODULE_TEXT_END]);
	code->data = go_memory_u64(memory, module + layout->at[GO_MODULE_DATA]);
	return code->names.at && code->units.at && code->files.at && code->pcs.at &&
	       code->functions.at && code->table.at && code->table.count > 1 &&
	       code->table.count <= FUNCTIONS_MAX && code->text < code->text_end && code->data &&
	       go_slice_at(code, module, GO_MODULE_TEXTS).count <= 1;
}

bool go_code_has(const struct go_code *code, uint64_t pc)
{
	return pc >= code->text && pc < code->text_end;
}

/* ------------------------------------------------------------------ the tables */

struct go_entry {
	uint32_t start, function;
};

static bool go_entry_at(struct go_code *code, uint64_t index, struct go_entry *out_entry)
{
	return go_memory_read(code->memory, code->table.at + index * sizeof(*out_entry), out_entry,
			      sizeof(*out_entry));
}

/* The last one that begins at or before the address; the last of all only ends the one before. */
static bool go_find_entry(struct go_code *code, uint64_t pc, struct go_entry *out_entry)
{
	uint64_t low = 0, high = code->table.count - 1;

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (!go_entry_at(code, middle, out_entry))
			return false;
		if (code->text + out_entry->start <= pc)
			low = middle;
		else
			high = middle;
	}
	return go_entry_at(code, low, out_entry) && code->text + out_entry->start <= pc;
}

static uint32_t go_function_u32(struct go_code *code, uint64_t function, enum go_field field)
{
	return go_memory_u32(code->memory, function + code->layout->at[field]);
}

static bool go_find_function(struct go_code *code, uint64_t pc, struct go_function *out)
{
	uint64_t size = code->layout->sizes[GO_SIZE_FUNC], at;
	struct go_entry entry;
	uint8_t funcdata = 0;

	if (!go_code_has(code, pc) || !go_find_entry(code, pc, &entry) ||
	    entry.function >= code->functions.count)
		return false;
	at = code->functions.at + entry.function;
	*out = (struct go_function){ .at = at,
				     .entry = code->text + entry.start,
				     .name = go_function_u32(code, at, GO_FUNC_NAME),
				     .sp = go_function_u32(code, at, GO_FUNC_SP),
				     .file = go_function_u32(code, at, GO_FUNC_FILE),
				     .line = go_function_u32(code, at, GO_FUNC_LINE),
				     .unit = go_function_u32(code, at, GO_FUNC_UNIT),
				     .pcdata = go_function_u32(code, at, GO_FUNC_PCDATA) };
	if (!go_memory_read(code->memory, at + code->layout->at[GO_FUNC_FUNCDATA], &funcdata, 1))
		return false;
	out->funcdata = funcdata;
	return go_function_u32(code, at, GO_FUNC_ENTRY) == entry.start && size &&
	       out->pcdata <= TABLES_MAX && out->funcdata <= TABLES_MAX;
}

/* Bytes of a sequence, one after the other. */
struct go_bytes {
	struct go_memory *memory;
	uint64_t at;
	uint8_t bytes[64];
	size_t next, count;
	bool is_bad;
};

static uint8_t go_next_byte(struct go_bytes *from)
{
	if (from->next == from->count) {
		size_t wanted = sizeof(from->bytes) - from->at % sizeof(from->bytes);

		if (!go_memory_read(from->memory, from->at, from->bytes, wanted)) {
			from->is_bad = true;
			return 0;
		}
		from->at += wanted;
		from->next = 0;
		from->count = wanted;
	}
	return from->bytes[from->next++];
}

static uint32_t go_next_number(struct go_bytes *from)
{
	uint32_t value = 0;

	for (unsigned int shift = 0; shift < 32; shift += 7) {
		uint8_t byte = go_next_byte(from);

		value |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

/* Of a function whose sequence is at that offset, at an address. */
static int32_t go_value_at(struct go_code *code, uint32_t offset, uint64_t entry, uint64_t pc)
{
	struct go_bytes from = { .memory = code->memory, .at = code->pcs.at + offset };
	uint32_t value = (uint32_t)NO_VALUE;

	if (!offset || offset >= code->pcs.count)
		return NO_VALUE;
	for (uint32_t i = 0; i < STEPS_MAX; i++) {
		uint32_t step = go_next_number(&from);

		if ((!step && i) || from.is_bad)
			return NO_VALUE;
		value += (step & 1) ? ~(step >> 1) : step >> 1;
		entry += (uint64_t)go_next_number(&from) * (code->layout->is_arm ? 4 : 1);
		if (pc < entry)
			return from.is_bad ? NO_VALUE : (int32_t)value;
	}
	return NO_VALUE;
}

static bool go_name_at(struct go_code *code, uint32_t offset, char name[GO_FUNCTION_MAX])
{
	return offset < code->names.count &&
	       go_memory_text(code->memory, code->names.at + offset, name, GO_FUNCTION_MAX) &&
	       name[0];
}

bool go_code_name(struct go_code *code, uint64_t pc, char name[GO_FUNCTION_MAX])
{
	struct go_function function;

	name[0] = '\0';
	return go_find_function(code, pc, &function) && go_name_at(code, function.name, name);
}

/* ------------------------------------------------------------------ frames */

static void go_place_line(struct go_code *code, const struct go_function *function, uint64_t pc,
			  struct go_frame *frame)
{
	int32_t file = go_value_at(code, function->file, function->entry, pc);
	int32_t line = go_value_at(code, function->line, function->entry, pc);
	uint64_t index = (uint64_t)function->unit + (uint32_t)file;
	uint32_t offset;

	if (file < 0 || line < 0 || index >= code->units.count)
		return;
	offset = go_memory_u32(code->memory, code->units.at + index * sizeof(offset));
	if (offset < code->files.count &&
	    go_memory_text(code->memory, code->files.at + offset, frame->file, GO_FILE_MAX))
		frame->line = (uint32_t)line;
	else
		frame->file[0] = '\0';
}

/* Where the functions are that were inlined into one: address of a table; 0 = none. */
static uint64_t go_tree_of(struct go_code *code, const struct go_function *function)
{
	uint64_t tables = function->at + code->layout->sizes[GO_SIZE_FUNC];
	uint32_t offset;

	if (function->pcdata <= PCDATA_TREE || function->funcdata <= FUNCDATA_TREE)
		return 0;
	offset = go_memory_u32(code->memory, tables + ((uint64_t)function->pcdata + FUNCDATA_TREE) *
							      sizeof(offset));
	return offset == UINT32_MAX ? 0 : code->data + offset;
}

/* At 'pc' of the function: the index of the innermost inlined one; negative = none. */
static int32_t go_inlined_at(struct go_code *code, const struct go_function *function, uint64_t pc)
{
	uint64_t tables = function->at + code->layout->sizes[GO_SIZE_FUNC];
	uint32_t offset =
		go_memory_u32(code->memory, tables + (uint64_t)PCDATA_TREE * sizeof(offset));

	return go_value_at(code, offset, function->entry, pc);
}

static void go_add_frame(struct go_code *code, const struct go_frame *frame)
{
	code->frames =
		vec_room(code->frames, code->frame_count, &code->frame_cap, sizeof(*code->frames));
	code->frames[code->frame_count++] = *frame;
}

/* The functions at an address of the function, innermost first. */
static void go_add_frames(struct go_code *code, const struct go_function *function, uint64_t pc)
{
	uint64_t tree = go_tree_of(code, function);
	const uint64_t *at = code->layout->at;

	for (uint32_t i = 0; i < INLINED_MAX; i++) {
		int32_t inlined = tree ? go_inlined_at(code, function, pc) : NO_VALUE;
		uint64_t call =
			tree + (uint64_t)(uint32_t)inlined * code->layout->sizes[GO_SIZE_INLINED];
		uint32_t name = inlined < 0
					? function->name
					: go_memory_u32(code->memory, call + at[GO_INLINED_NAME]);
		struct go_frame frame = { .line = 0 };

		if (!go_name_at(code, name, frame.function))
			return;
		go_place_line(code, function, pc, &frame);
		go_add_frame(code, &frame);
		if (inlined < 0)
			return;
		pc = function->entry + go_memory_u32(code->memory, call + at[GO_INLINED_PC]);
	}
}

struct go_spot go_code_spot(struct go_code *code, uint64_t pc)
{
	uint64_t *known = map_find(&code->by_pc, pc);
	struct go_spot spot = { .frame_bytes = NO_VALUE };
	struct go_function function;

	if (known)
		return code->spots[*known];
	if (code->spot_count == SPOTS_MAX || !go_find_function(code, pc, &function))
		return spot;
	spot.first = (uint32_t)code->frame_count;
	spot.frame_bytes = go_value_at(code, function.sp, function.entry, pc);
	go_add_frames(code, &function, pc > function.entry ? pc - 1 : pc);
	spot.count = (uint32_t)code->frame_count - spot.first;
	spot.is_end = spot.count &&
		      strcmp(code->frames[code->frame_count - 1].function, "runtime.goexit") == 0;
	code->spots = vec_room(code->spots, code->spot_count, &code->spot_cap, sizeof(spot));
	map_put(&code->by_pc, pc, code->spot_count);
	code->spots[code->spot_count++] = spot;
	return spot;
}

/* ------------------------------------------------------------------ whose code it is */

/* Where Go's library was as the program was built: how long the path is. False = it is not known. */
static bool go_find_root(const struct go_code *code, const char **out_root, size_t *out_bytes)
{
	for (size_t i = 0; i < code->frame_count; i++) {
		const char *file = code->frames[i].file;
		size_t bytes = strlen(file), tail = strlen(RUNTIME_FILE);

		if (bytes < tail || strcmp(file + bytes - tail, RUNTIME_FILE) != 0 ||
		    strncmp(code->frames[i].function, "runtime.", 8) != 0)
			continue;
		*out_root = file;
		*out_bytes = bytes - tail;
		return true;
	}
	return false;
}

/* Of a program built without paths: packages of others are named by a host, as "example.com/x". */
static bool go_is_plain_package(const char *function)
{
	size_t first = strcspn(function, "./");

	return strncmp(function, "main.", 5) != 0 &&
	       (function[first] == '/' || !strchr(function, '/'));
}

void go_code_finish(struct go_code *code)
{
	const char *root = "";
	size_t bytes = 0;

	(void)go_find_root(code, &root, &bytes);
	for (size_t i = 0; i < code->frame_count; i++) {
		struct go_frame *frame = &code->frames[i];

		if (!frame->file[0] || frame->file[0] == '<')
			frame->is_library = true; /* made by the compiler */
		else if (bytes)
			frame->is_library = strncmp(frame->file, root, bytes) == 0;
		else
			frame->is_library = go_is_plain_package(frame->function);
	}
}

void go_code_fini(struct go_code *code)
{
	map_fini(&code->by_pc);
	free(code->spots);
	free(code->frames);
}
