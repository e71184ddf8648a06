/*
 * python_codes.h - the functions of Python programs: names, files and lines, each once, by the key that frames have.
 *
 * What it is given is memory of programs: it is checked, and copied. By one thread at a time.
 */
#ifndef RECORD_PYTHON_CODES_H
#define RECORD_PYTHON_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct python_codes;
struct raw_python_code;
struct raw_python_frame;

/* The texts live as long as the codes. */
struct python_place {
	const char *function;
	const char *file; /* NULL = not known */
	uint32_t line;	  /* 0 = not known */
};

struct python_codes *python_codes_new(void);
void python_codes_free(struct python_codes *codes); /* NULL is fine */

/* 'bytes' is what there is of the record. A key that is there stays as it is. */
void python_codes_add(struct python_codes *codes, const struct raw_python_code *raw, size_t bytes);

/* False = its code is not known. */
bool python_codes_find(const struct python_codes *codes, const struct raw_python_frame *frame,
		       struct python_place *out_place);

#endif
