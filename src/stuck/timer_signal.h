/*
 * timer_signal.h - whether the signal of a timer could end a wait of a deadlock.
 *
 * alarm() and timer_create() are there to end calls that take too long: the signal's handler is called, and the call
 * ends. A lock is not left by that, and a signal without a handler ends the process.
 */
#ifndef STUCK_TIMER_SIGNAL_H
#define STUCK_TIMER_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

struct look;
struct stuck;
struct stuck_thread;

/*
 * Of those that graph_run() found stuck, mark who may be woken by a timer as has_outside, not complete. Returns
 * whether there is one: then the graph is to be worked out again.
 */
bool timer_signal_find(struct stuck *stuck, struct look *look);

/* The signals that have a handler, by bits, and whose coming ends the wait of this thread; 0 = none, or not known. */
uint64_t timer_signal_handled(struct look *look, const struct stuck_thread *thread);

/*
 * Whether a timer of "/proc/PID/timers" may send the thread one of 'signals', by bits. 'is_cut': the text has only
 * the first ones, so there may be others.
 */
bool timer_signal_in(const char *timers, bool is_cut, uint64_t signals, int32_t tid);

/* Of a part of /proc/timer_list: whether some process has set an alarm. */
bool timer_signal_is_alarm(const char *timer_list);

#endif
