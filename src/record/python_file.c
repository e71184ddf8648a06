/* python_file.c - see python_file.h. */
#include "record/python_file.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "symbol/elf_file.h"

#define EVAL_NAME "_PyEval_EvalFrameDefault"

/* By the headers of each version: Include/internal/pycore_{runtime,interp,frame}.h, cpython/{code,pystate}.h. */
static const struct raw_python_layout layout_3_11 = {
	.interpreter_next = 0,
	.interpreter_threads = 16,
	.thread_next = 8,
	.thread_number = 160,
	.thread_cframe = 56,
	.current_frame = 8,
	.frame_code = 32,
	.frame_previous = 48,
	.frame_instruction = 56,
	.frame_owner = 69,
	.frame_is_entry = 68,
	.code_file = 112,
	.code_name = 128,
	.code_table = 136,
	.code_line = 72,
	.code_start = 184,
	.text_ascii = 48,
	.text_wide = 72,
};

static const struct raw_python_layout layout_3_12 = {
	.interpreter_next = 0,
	.interpreter_threads = 72,
	.thread_next = 8,
	.thread_number = 144,
	.thread_cframe = 56,
	.current_frame = 0,
	.frame_code = 0,
	.frame_previous = 8,
	.frame_instruction = 56,
	.frame_owner = 70,
	.code_file = 112,
	.code_name = 128,
	.code_table = 136,
	.code_line = 68,
	.code_start = 192,
	.text_ascii = 40,
	.text_wide = 56,
};

#define HEAD_3_11 40 /* of struct _PyRuntimeState */
#define HEAD_3_12 40

/* Since 3.13 it tells its layout itself: the start of struct _Py_DebugOffsets, of that version. */
struct python_offsets {
	char cookie[8];
	uint64_t version, free_threaded;
	struct {
		uint64_t size, finalizing, head;
	} runtime;
	struct {
		uint64_t size, id, next, threads, other[9];
	} interpreter;
	struct {
		uint64_t size, prev, next, interp, current_frame, thread_id, number, other[2];
	} thread;
	struct {
		uint64_t size, previous, executable, instruction, locals, owner;
	} frame;
	struct {
		uint64_t size, file, name, qualname, table, line, other[3], start;
	} code;
};

bool python_file_is_named(const char *path)
{
	const char *name = text_base_name(path);

	return strncmp(name, "python", 6) == 0 || strncmp(name, "libpython", 9) == 0 ||
	       strncmp(name, "uwsgi", 5) == 0;
}

/* A field of that type lies there; false = what the file tells cannot be. */
static bool field_take(uint64_t offset, uint32_t *out_field)
{
	*out_field = (uint32_t)offset;
	return offset < RAW_PYTHON_FIELD_MAX;
}

static bool layout_take(const struct python_offsets *told, uint64_t version,
			struct raw_python *python)
{
	struct raw_python_layout *at = &python->at;

	if (memcmp(told->cookie, "xdebugpy", 8) != 0 || told->version != version ||
	    told->free_threaded || told->runtime.head >= RAW_PYTHON_FIELD_MAX)
		return false;
	python->head += told->runtime.head;
	*at = (struct raw_python_layout){ .text_ascii = 40, .text_wide = 56 };
	return field_take(told->interpreter.next, &at->interpreter_next) &&
	       field_take(told->interpreter.threads, &at->interpreter_threads) &&
	       field_take(told->thread.next, &at->thread_next) &&
	       field_take(told->thread.number, &at->thread_number) &&
	       field_take(told->thread.current_frame, &at->current_frame) &&
	       field_take(told->frame.executable, &at->frame_code) &&
	       field_take(told->frame.previous, &at->frame_previous) &&
	       field_take(told->frame.instruction, &at->frame_instruction) &&
	       field_take(told->frame.owner, &at->frame_owner) &&
	       field_take(told->code.file, &at->code_file) &&
	       field_take(told->code.qualname, &at->code_name) &&
	       field_take(told->code.table, &at->code_table) &&
	       field_take(told->code.line, &at->code_line) &&
	       field_take(told->code.start, &at->code_start);
}

/* What stands in the file where 'address' will be. */
static bool bytes_at(const struct elf_file *file, uint64_t address, void *to, size_t bytes)
{
	uint64_t offset;

	return elf_file_offset(file, address, false, &offset) &&
	       file_read_at(elf_file_fd(file), offset, to, bytes) == bytes;
}

static bool layout_find(const struct elf_file *file, uint64_t version, struct raw_python *python)
{
	struct python_offsets told;

	switch (version >> 16) {
	case 0x030b:
		python->at = layout_3_11;
		python->head += HEAD_3_11;
		return true;
	case 0x030c:
		python->at = layout_3_12;
		python->head += HEAD_3_12;
		return true;
	case 0x030d:
		return bytes_at(file, python->head, &told, sizeof(told)) &&
		       layout_take(&told, version, python);
	default:
		return false;
	}
}

static bool eval_find(const struct elf_file *file, struct python_file *out_file)
{
	size_t count;
	const struct elf_symbol *symbols = elf_file_symbols(file, &count);

	for (size_t i = 0; i < count; i++) {
		if (symbols[i].is_imported || symbols[i].kind != ELF_SYMBOL_FUNCTION ||
		    strcmp(symbols[i].name, EVAL_NAME) != 0)
			continue;
		out_file->eval = symbols[i].address;
		out_file->eval_bytes = symbols[i].bytes;
		return elf_file_offset(file, out_file->eval, true, &out_file->eval_offset);
	}
	return false;
}

static bool python_find(const struct elf_file *file, struct python_file *out_file)
{
	struct raw_python *python = &out_file->python;
	uint64_t at, runtime, code_type, text_type, version = 0;

	if (!elf_file_find(file, "Py_Version", &at) ||
	    !bytes_at(file, at, &version, sizeof(version)) ||
	    !elf_file_find(file, "_PyRuntime", &runtime) ||
	    !elf_file_find(file, "PyCode_Type", &code_type) ||
	    !elf_file_find(file, "PyUnicode_Type", &text_type))
		return false;
	python->head = runtime;
	python->code_type = code_type;
	python->text_type = text_type;
	return eval_find(file, out_file) && layout_find(file, version, python);
}

bool python_file_read(int fd, const char *path, struct python_file *out_file)
{
	struct elf_file *file = NULL;
	struct python_file found = { 0 };
	struct err ignored = { 0 };
	int own = fd < 0 ? -1 : dup(fd);
	bool is_found;

	if (own < 0 || elf_file_take(own, path, &file, &ignored) < 0)
		return false;
	is_found = sizeof(void *) == 8 && elf_file_machine(file) != ELF_MACHINE_OTHER &&
		   python_find(file, &found);
	elf_file_close(file);
	if (is_found)
		*out_file = found;
	return is_found;
}
