/*
 * interrupt.h - has somebody asked us to end, before there is anybody who listens?
 *
 * While a recording is prepared and ended its signals are blocked and wait. What takes
 * long asks here between its steps, and gives up.
 */
#ifndef RECORD_INTERRUPT_H
#define RECORD_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>

struct err;

/* SIGINT, SIGTERM, SIGHUP, SIGQUIT; without SIGHUP when it is ignored, as below nohup. */
void interrupt_signals(sigset_t *out_signals);

/* One of these that is blocked and waits, or 0. It goes on waiting. */
int interrupt_pending(void);

/*
 * Has the command got this signal, whose si_code is 'code', as well? What the terminal's keys send
 * goes to the whole foreground group; of a terminal that is gone only the leader of the session hears.
 */
bool interrupt_is_shared(int signal_number, int code);

/* Returns 0, or -EINTR with err filled when one waits. */
int interrupt_check(struct err *err);

#endif
