/*
 * reading.h - from its first trace on, a command that reads is nothing but a reader.
 *
 * Whose trace it is cannot be told, and a mistake in a decoder must not be worth anything: before
 * the first trace is opened the process gives up all that reading, the index and the output do
 * not need (guard/filter.h). load.h does it, and who opens one by other means calls load_begin()
 * before; not so watch, which reads while it records.
 *
 *	reading_writes   where the command will write; before its first trace
 *	reading_indexes  which traces it will read beside the first one
 *	reading_begin    here it becomes a reader; later calls do nothing
 */
#ifndef CLI_READING_H
#define CLI_READING_H

struct err;

/* A file or folder that will be written, there already or not. NULL and "-" are fine. */
void reading_writes(const char *path);

/* A further trace, whose index may be built. NULL is fine. */
void reading_indexes(const char *trace);

/* It answers on a socket that listens already; before its first trace. */
void reading_serves(void);

/* It shows what it read on the whole screen of a terminal; before its first trace. */
void reading_shows(void);

/* 'trace' is what is read first. Returns 0, or a negative errno with err filled. */
int reading_begin(const char *trace, struct err *err);

#endif
