/*
 * user_threads.h - which thread of the kernel's a user event happened in.
 *
 * A program in a container knows its threads by other numbers. The kernel's events tell who ran
 * on that CPU at that moment.
 */
#ifndef READ_USER_THREADS_H
#define READ_USER_THREADS_H

#include <stdint.h>

struct source;

/*
 * A source over 'inner', which it does not own and whose events it changes: tid of events with
 * EV_CTX_VTID becomes the kernel's, or -1 when that cannot be told: behind 'until_ns', for one.
 * A seek begins 'warm_ns' earlier, to learn who runs. Free it with source_close().
 */
struct source *user_threads_new(struct source *inner, uint64_t warm_ns, uint64_t until_ns);

#endif
