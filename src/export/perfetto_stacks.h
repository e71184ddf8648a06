/*
 * perfetto_stacks.h - samples of work in a Perfetto trace: callstacks, as a profiler's.
 */
#ifndef EXPORT_PERFETTO_STACKS_H
#define EXPORT_PERFETTO_STACKS_H

struct export_job;
struct perfetto_out;

/* Those of the threads that were chosen, in the window; nothing when the trace has none. */
void perfetto_stacks_put(const struct export_job *job, struct perfetto_out *out);

#endif
