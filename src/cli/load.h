/*
 * load.h - open a trace for a command: it becomes a mere reader first (reading.h), and progress is
 * shown on a terminal.
 */
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

#include <stdint.h>

#include "ask/loaded.h"

struct err;
struct trace;

/* Is there a trace of the default name, where that is meant? Else err says what to do. */
int load_check_default(const char *path, struct err *err);

/*
 * Before the first trace is opened by other means than the two below: refuse the default name when
 * nothing is there, and become a reader. Returns 0, or a negative errno with err filled.
 */
int load_begin(const char *path, struct err *err);

/* With 'flags' of enum load_flag, and progress on the terminal: for who opens a trace for the command. */
struct load_opts load_opts_shown(uint32_t flags);

/* load_begin() and loaded_open(). */
int load_trace(const char *path, uint32_t flags, struct loaded *out_loaded, struct err *err);

/* load_begin() and read_open(): a trace without its timeline. */
int load_plain(const char *path, struct trace **out_trace, struct err *err);

#endif
