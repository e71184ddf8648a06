/*
 * code_walk.h - files on this machine tell the calls in copies of stacks that another tracer recorded.
 *
 * As for names (code_names.h): only plain files at the recorded path with the recorded build-id, and the kernel's [vdso] if it is that build. What is
 * in another file is where a stack ends.
 */
#ifndef CLI_CODE_WALK_H
#define CLI_CODE_WALK_H

struct trace;

/* Makes the trace's stacks anew where it has copies. */
void code_walk(struct trace *trace);

#endif
