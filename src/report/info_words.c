/* info_words.c - the questions that a trace may answer, in words. */
#include "report/info_int.h"

#include <stdlib.h>

#include "base/mem.h"

static const struct info_words rows[INFO_QUESTIONS] = {
	[INFO_WHY] = { "why", "what threads waited for, and their wakers", "holdup record" },
	[INFO_PROCESSES] = { "processes", "creation, programs and exit of threads",
			     "holdup record" },
	[INFO_SYSTEM_CALLS] = { "system calls", "the system call a thread was in",
				"holdup record --events full" },
	[INFO_PAGE_FAULTS] = { "page faults", "page faults and their time",
			       "holdup record --events full" },
	[INFO_FILE_NAMES] = { "file names", "files, sockets and pipes behind descriptors",
			      "holdup record (as root, with BPF)" },
	[INFO_INTERRUPTS] = { "interrupts", "time in interrupts, and waits ended by devices",
			      "holdup record" },
	[INFO_SOFTIRQS] = { "softirqs", "time in softirqs, and waits ended by softirqs",
			    "holdup record" },
	[INFO_TIMERS] = { "timers", "waits ended by a timer", "holdup record" },
	[INFO_DISKS] = { "disks", "waits ended by a disk, by request", "holdup record" },
	[INFO_NETWORK] = { "network", "waits ended by a packet, by device and sender",
			   "holdup record" },
	[INFO_KERNEL_WORK] = { "kernel work", "waits ended by a kworker, and who queued the work",
			       "holdup record" },
	[INFO_KERNEL_LOCKS] = { "kernel locks", "time spinning or sleeping on kernel locks",
				"holdup record" },
	[INFO_SIGNALS] = { "signals", "senders of signals that ended a wait", "holdup record" },
	[INFO_KERNEL_STACKS] = { "kernel stacks", "kernel code where a thread blocked",
				 "holdup record --stacks" },
	[INFO_USER_EVENTS] = { "user events", "user-space events (libholdup, LTTng-UST)",
			       "holdup record --user-events '*'" },
	[INFO_USER_LOCKS] = { "user locks", "holders of user-space locks",
			      "holdup record --locks" },
	[INFO_DELAYS] = { "delays", "the kernel's delay accounting", "holdup delays" },
};

const struct info_words *info_question_words(enum info_question question)
{
	return &rows[question];
}

static char *event_names(const char *const *names)
{
	char *text = xstrdup(names[0]);

	for (size_t i = 1; i < INFO_NEEDS && names[i]; i++) {
		char *longer = xasprintf("%s, %s", text, names[i]);

		free(text);
		text = longer;
	}
	return text;
}

char *info_missing_words(const struct info_ability *ability)
{
	switch (ability->lack) {
	case INFO_LACKS_NOTHING:
		return NULL;
	case INFO_LACKS_EVENTS:
		return event_names(ability->missing);
	case INFO_LACKS_FD_NAMES:
		return xstrdup("names of descriptors");
	case INFO_LACKS_USER_EVENTS:
		return xstrdup("events of programs");
	case INFO_LACKS_USER_LOCKS:
		return xstrdup("lock:acquired, lock:released ...");
	case INFO_ASKS_THE_KERNEL:
		break;
	}
	return xstrdup("read from the running kernel, never from a trace");
}
