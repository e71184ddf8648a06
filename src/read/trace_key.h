/*
 * trace_key.h - whether a trace is still what it was: a checksum that costs next to nothing.
 */
#ifndef READ_TRACE_KEY_H
#define READ_TRACE_KEY_H

#include <stdint.h>

struct err;

#define KEY_BYTES 16

/*
 * The key of the trace at 'path': of the names, sizes and times of change of its files, and
 * of some of their bytes. What is derived from a trace (timeline/) is left out. Returns 0, or
 * a negative errno with err filled.
 */
int read_key(const char *path, uint8_t out_key[KEY_BYTES], struct err *err);

#endif
