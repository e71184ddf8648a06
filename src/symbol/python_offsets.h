/*
 * python_offsets.h - where CPython 3.13 and later says that the fields of its objects lie.
 *
 * _PyRuntime begins with struct _Py_DebugOffsets (Include/internal/pycore_debug_offsets.h): a cookie, the version, and
 * offsets in sections that begin with the size of an object. Versions add offsets in the middle of a section; so each
 * known order is a table here. A version after the last known one is read by the last table. The offsets must prove
 * themselves: what CPython has had side by side since 3.13 must be side by side, and no field may lie outside its object.
 *
 * The bytes may be anything.
 */
#ifndef SYMBOL_PYTHON_OFFSETS_H
#define SYMBOL_PYTHON_OFFSETS_H

#include <stddef.h>
#include <stdint.h>

#define PYTHON_OFFSETS_BYTES (111 * sizeof(uint64_t)) /* of it, that are looked at */
#define PYTHON_OFFSETS_MAX   65536		      /* no field of an object lies further in it */

enum python_offsets_told {
	PYTHON_OFFSETS_NONE, /* they are not there, or not as we know them */
	PYTHON_OFFSETS_NO_GIL, /* of a build without the GIL, whose objects lie differently: not known */
	PYTHON_OFFSETS_KNOWN,
};

struct python_offsets {
	uint32_t runtime_head;
	uint32_t interpreter_next, interpreter_threads;
	uint32_t thread_next, thread_frame, thread_self, thread_number;
	uint32_t frame_previous, frame_code, frame_instruction, frame_locals, frame_owner;
	uint32_t code_file, code_name, code_table, code_line, code_locals, code_start;
	uint32_t text_ascii, text_wide;
};

/* 'bytes' is what there is of it; 'version' is Py_Version of the same file. 'out_offsets' is set when they are known. */
enum python_offsets_told python_offsets_read(const void *start, size_t bytes, uint64_t version,
					     struct python_offsets *out_offsets);

#endif
