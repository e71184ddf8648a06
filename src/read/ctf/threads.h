/*
 * threads.h - which thread an event of LTTng's kernel tracer happened in.
 *
 * Without the context "tid" an event does not say: it is the thread that was switched in last
 * on that CPU. A source around another one that fills it in, and, for old traces, the number
 * of the system call that a thread leaves.
 */
#ifndef READ_CTF_THREADS_H
#define READ_CTF_THREADS_H

#include <stdint.h>

struct source;

/*
 * A source over 'inner', which it does not own and whose events it changes. A seek begins
 * 'warm_ns' earlier, to learn who runs. Free it with source_close().
 */
struct source *ctf_threads_new(struct source *inner, uint64_t warm_ns);

#endif
