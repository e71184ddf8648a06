/*
 * jit_files.h - the files in which runtimes say what the code is called that they made: /tmp/perf-PID.map.
 *
 * The file is the process's, so anything may be there, under any name: it is opened by its own root
 * folder, through no symbolic link, and taken only when it is a plain file that belongs to the process's
 * user. It is held open, since the process may end, and read when names are given. Where it is not there yet, the root
 * folder is held: HotSpot's -XX:+DumpPerfMapAtExit writes it when the process ends.
 */
#ifndef RECORD_JIT_FILES_H
#define RECORD_JIT_FILES_H

#include <stdint.h>

struct jit_files;

struct jit_files *jit_files_new(void);
void jit_files_free(struct jit_files *files); /* NULL is fine */

/* A stack of the process was taken at that time: look for its file, now and then. */
void jit_files_want(struct jit_files *files, int32_t tgid, uint64_t time_ns);

/* Names are given soon: look once more for files that were not there; those of ended processes, too. */
void jit_files_last(struct jit_files *files);

/* The file of the process; -1 = there is none. */
int jit_files_map(const struct jit_files *files, int32_t tgid);

#endif
