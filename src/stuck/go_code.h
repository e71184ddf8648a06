/*
 * go_code.h - what an address of Go's code is: functions, lines, and how large the frame is there.
 *
 * By the tables that Go's runtime unwinds with (pclntab, since 1.18), as they lie in the memory of the program; also
 * stripped programs have them. Only the program itself is known, not its plugins. What lies there may be anything.
 */
#ifndef STUCK_GO_CODE_H
#define STUCK_GO_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "stuck/goroutines.h"

struct go_layout;
struct go_memory;

struct go_slice {
	uint64_t at, count;
};

/* An address of code, looked up once. */
struct go_spot {
	uint32_t first,
		count; /* a run in go_code.frames: functions that were inlined there come first; none = not known */
	int32_t frame_bytes; /* of its frame, without the return address */
	bool is_end;	     /* goroutines begin there */
};

struct go_code {
	struct go_memory *memory;	/* not owned */
	const struct go_layout *layout; /* not owned */
	struct go_slice names, units, files, pcs, functions, table;
	uint64_t text, text_end;
	uint64_t data; /* what functions have beside their code is counted from there */
	struct map by_pc;
	struct go_spot *spots; /* owned */
	size_t spot_count, spot_cap;
	struct go_frame *frames; /* owned */
	size_t frame_count, frame_cap;
};

/* 'bias' is from addresses of the file to those in the process. False when the tables are none that are known. */
bool go_code_open(struct go_code *code, struct go_memory *memory, const struct go_layout *layout,
		  uint64_t bias);

/* Of an address that a call returns to. */
struct go_spot go_code_spot(struct go_code *code, uint64_t pc);

bool go_code_has(const struct go_code *code, uint64_t pc);

/* The name of the function that begins at, or has, 'pc'. False when none is known. */
bool go_code_name(struct go_code *code, uint64_t pc, char name[GO_FUNCTION_MAX]);

/* Behind all go_code_spot(): tell the frames of Go's own library from others. */
void go_code_finish(struct go_code *code);

void go_code_fini(struct go_code *code);

#endif
