/*
 * raw_text.h - texts out of the raw fields that the BPF programs tell, see bpf/raw.h.
 *
 * What is in them comes from any program of the machine: lengths are those of the fields, whatever
 * they say, and what prints a text escapes it.
 */
#ifndef RECORD_RAW_TEXT_H
#define RECORD_RAW_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "event/event.h"

struct raw_name;
struct wire_name;

/*
 * The path whose components stand in the text, each with its terminator, the last one first. Cut in
 * front to 'room' bytes with the terminator, of which there are at least two.
 */
void raw_path(const char *text, size_t bytes, char *out, size_t room);

/* What is told of no descriptor: the path or the peer that was asked for, or arguments. False: it is of one. */
bool raw_text(const struct raw_name *raw, char *out, size_t room);

/* sun_path as /proc/net/unix prints it, in RAW_UNIX_SLOT bytes with the terminator; false when there is none. */
bool raw_unix_path(const char *bytes, size_t len, char *out);

/* Of what it is told. What that is of no descriptor, or of who has a lock, is in out_wire's 'inode': see enum fd_watch. */
enum fd_watch raw_watch(const struct raw_name *raw, struct wire_name *out_wire);

#endif
