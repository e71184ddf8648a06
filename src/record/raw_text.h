/*
 * raw_text.h - texts out of the raw fields that the BPF program tells, see bpf/raw.h.
 *
 * What is in them comes from any program of the machine: lengths are those of the fields, whatever
 * they say, and what prints a text escapes it.
 */
#ifndef RECORD_RAW_TEXT_H
#define RECORD_RAW_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct raw_name;

/*
 * The path whose components stand in the text behind byte 'from', the last one first; cut in front to
 * 'room' bytes, of which there is at least one.
 */
void raw_link(const struct raw_name *raw, size_t from, char *out, size_t room);

/* What is told of no descriptor: the path or the peer that was asked for, or arguments. False: it is of one. */
bool raw_text(const struct raw_name *raw, char *out, size_t room);

#endif
