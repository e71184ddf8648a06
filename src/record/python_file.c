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
#include "symbol/python_offsets.h"

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

bool python_file_is_named(const char *path)
{
	const char *name = text_base_name(path);

	return strncmp(name, "python", 6) == 0 || strncmp(name, "libpython", 9) == 0 ||
	       strncmp(name, "uwsgi", 5) == 0;
}

static struct raw_python_layout layout_of(const struct python_offsets *offsets)
{
	return (struct raw_python_layout){
		.interpreter_next = offsets->interpreter_next,
		.interpreter_threads = offsets->interpreter_threads,
		.thread_next = offsets->thread_next,
		.thread_number = offsets->thread_number,
		.current_frame = offsets->thread_frame,
		.frame_code = offsets->frame_code,
		.frame_previous = offsets->frame_previous,
		.frame_instruction = offsets->frame_instruction,
		.frame_owner = offsets->frame_owner,
		.code_file = offsets->code_file,
		.code_name = offsets->code_name,
		.code_table = offsets->code_table,
		.code_line = offsets->code_line,
		.code_start = offsets->code_start,
		.text_ascii = offsets->text_ascii,
		.text_wide = offsets->text_wide,
	};
}

/* What stands in the file where 'address' will be. */
static bool bytes_at(const struct elf_file *file, uint64_t address, void *to, size_t bytes)
{
	uint64_t offset;

	return elf_file_offset(file, address, false, &offset) &&
	       file_read_at(elf_file_fd(file), offset, to, bytes) == bytes;
}

/* What a version after 3.12 says of itself: the file's bytes, which no process can have changed. */
static bool layout_told(const struct elf_file *file, uint64_t version, struct python_file *out_file)
{
	struct raw_python *python = &out_file->python;
	uint8_t told[PYTHON_OFFSETS_BYTES];
	struct python_offsets offsets;

	if (!bytes_at(file, python->head, told, sizeof(told)))
		return false;
	switch (python_offsets_read(told, sizeof(told), version, &offsets)) {
	case PYTHON_OFFSETS_KNOWN:
		python->at = layout_of(&offsets);
		python->head += offsets.runtime_head;
		return true;
	case PYTHON_OFFSETS_NO_GIL:
		out_file->has_no_gil = true;
		return false;
	default:
		return false;
	}
}

static bool layout_find(const struct elf_file *file, uint64_t version, struct python_file *out_file)
{
	struct raw_python *python = &out_file->python;

	switch (version >> 16) {
	case 0x030b:
		python->at = layout_3_11;
		python->head += HEAD_3_11;
		return true;
	case 0x030c:
		python->at = layout_3_12;
		python->head += HEAD_3_12;
		return true;
	default:
		return layout_told(file, version, out_file);
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
	return eval_find(file, out_file) && layout_find(file, version, out_file);
}

bool python_file_read(int fd, const char *path, struct python_file *out_file)
{
	struct elf_file *file = NULL;
	struct python_file found = { 0 };
	struct err ignored = { 0 };
	int own = fd < 0 ? -1 : dup(fd);
	bool is_found;

	*out_file = found;
	if (own < 0 || elf_file_take(own, path, &file, &ignored) < 0)
		return false;
	is_found = sizeof(void *) == 8 && elf_file_machine(file) != ELF_MACHINE_OTHER &&
		   python_find(file, &found);
	elf_file_close(file);
	*out_file = is_found ? found : (struct python_file){ .has_no_gil = found.has_no_gil };
	return is_found;
}
