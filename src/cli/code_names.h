/*
 * code_names.h - files on this machine name code that another tracer recorded as addresses in them.
 *
 * Only files that are at the recorded path, plain, and have the build-id that was recorded. They are read with libdw, which is big, and
 * may be anything: for a process that can do nothing but read.
 */
#ifndef CLI_CODE_NAMES_H
#define CLI_CODE_NAMES_H

struct trace;

/* Copies of stacks are walked before (code_walk.h). */
void code_names_add(struct trace *trace);

#endif
