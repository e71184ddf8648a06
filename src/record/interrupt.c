/* interrupt.c - the signals that wait for this process. */
#include "record/interrupt.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

static const int ends[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP };

void interrupt_signals(sigset_t *out_signals)
{
	struct sigaction hup;

	sigemptyset(out_signals);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		sigaddset(out_signals, ends[i]);
	if (sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler == SIG_IGN)
		sigdelset(out_signals, SIGHUP);
}

int interrupt_pending(void)
{
	sigset_t ending, waiting;

	interrupt_signals(&ending);
	if (sigpending(&waiting) < 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		if (sigismember(&waiting, ends[i]) == 1 && sigismember(&ending, ends[i]) == 1)
			return ends[i];
	}
	return 0;
}

bool interrupt_is_shared(int signal_number, int code)
{
	return code == SI_KERNEL && !(signal_number == SIGHUP && getsid(0) == getpid());
}

int interrupt_check(struct err *err)
{
	if (interrupt_pending() == 0)
		return 0;
	return err_set(err, -EINTR, "interrupted while preparing: nothing was started");
}
