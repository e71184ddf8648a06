/* go_status.c - what Go's runtime says that a goroutine does. */
#include <string.h>

#include "base/mem.h"
#include "stuck/go_int.h"

bool go_is_none(uint32_t status)
{
	return status == GO_IDLE || status == GO_DEAD || status == GO_DEAD_EXTRA;
}

bool go_is_parked(uint32_t status)
{
	return status == GO_WAITING || status == GO_LEAKED;
}

static enum go_state go_waiting_state(const char *reason)
{
	static const char *const others[] = { "chan receive",
					      "chan send",
					      "chan receive (nil chan)",
					      "chan send (nil chan)",
					      "select",
					      "select (no cases)",
					      "semacquire",
					      "sync.Mutex.Lock",
					      "sync.RWMutex.RLock",
					      "sync.RWMutex.Lock",
					      "sync.Cond.Wait",
					      "sync.WaitGroup.Wait",
					      "coroutine" };

	if (strcmp(reason, "IO wait") == 0)
		return GO_IO;
	if (strcmp(reason, "sleep") == 0)
		return GO_SLEEPS;
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		if (strcmp(reason, others[i]) == 0)
			return GO_WAITS;
	}
	return GO_OTHER;
}

enum go_state go_state_of(uint32_t status, const char *reason)
{
	switch (status) {
	case GO_RUNNABLE:
	case GO_RUNNING:
	case GO_COPYSTACK:
	case GO_PREEMPTED:
		return GO_RUNS;
	case GO_SYSCALL:
		return GO_CALLS;
	case GO_WAITING:
	case GO_LEAKED:
		return go_waiting_state(reason);
	default:
		return GO_OTHER;
	}
}

bool go_is_for_program(const char *start, enum go_state state)
{
	static const char *const always[] = { "runtime.main", "runtime.corostart" }; /* iter.Pull */
	static const char *const waits[] = { "runtime.runfinq", "runtime.runFinalizers",
					     "runtime.runCleanups" }; /* until there is one */

	for (size_t i = 0; i < ARRAY_LEN(always); i++) {
		if (strcmp(start, always[i]) == 0)
			return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(waits) && state != GO_OTHER; i++) {
		if (strncmp(start, waits[i], strlen(waits[i])) == 0)
			return true;
	}
	return false;
}
