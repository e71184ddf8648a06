/* blocked_calls.c - see blocked_calls.h. */
#include "read/kernel/blocked_calls.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "store/file.h"
#include "wire/wire.h"

#define AT_ONCE	 256u	  /* records read together */
#define AHEAD	 8u	  /* records looked at for a thread: what is between has lost its switch */
#define SLACK_NS 1000000u /* a record and its switch are not farther apart */
#define NEAR_NS	 50000u	  /* the same, where order does not tell, for some were lost */

struct blocked_calls {
	int fd;
	bool swap;
	uint64_t first; /* record that 'window' begins with */
	size_t count;	/* records in it */
	uint64_t next;	/* the first one that was not taken */
	struct wire_call window[AT_ONCE];
};

static void swap_call(struct wire_call *call)
{
	call->mono_ns = __builtin_bswap64(call->mono_ns);
	call->tid = (int32_t)__builtin_bswap32((uint32_t)call->tid);
	call->nr = __builtin_bswap16(call->nr);
	call->flags = __builtin_bswap16(call->flags);
	for (size_t i = 0; i < ARRAY_LEN(call->args); i++)
		call->args[i] = __builtin_bswap64(call->args[i]);
}

/* A file that grows has more at its end the next time. */
static const struct wire_call *call_at(struct blocked_calls *calls, uint64_t index)
{
	if (index - calls->first >= calls->count) {
		size_t got = file_read_at(calls->fd, index * sizeof(struct wire_call),
					  calls->window, sizeof(calls->window));

		calls->first = index;
		calls->count = got / sizeof(struct wire_call);
		for (size_t i = 0; calls->swap && i < calls->count; i++)
			swap_call(&calls->window[i]);
	}
	return index - calls->first < calls->count ? &calls->window[index - calls->first] : NULL;
}

static bool blocked_calls_is_late(const struct wire_call *call, uint64_t time_ns, uint64_t by_ns)
{
	return call->mono_ns > time_ns && call->mono_ns - time_ns > by_ns;
}

static void skip_past(struct blocked_calls *calls, uint64_t time_ns)
{
	const struct wire_call *call;

	while ((call = call_at(calls, calls->next)) && call->mono_ns < time_ns &&
	       time_ns - call->mono_ns > SLACK_NS)
		calls->next++;
}

bool blocked_calls_take(struct blocked_calls *calls, int32_t tid, uint64_t time_ns,
			struct wire_call *out_call)
{
	uint64_t slack_ns = SLACK_NS;

	skip_past(calls, time_ns);
	for (uint64_t i = calls->next; i < calls->next + AHEAD; i++) {
		const struct wire_call *call = call_at(calls, i);

		if (call && call->flags & WIRE_CALL_LOSS)
			slack_ns = NEAR_NS;
		if (!call || blocked_calls_is_late(call, time_ns, slack_ns))
			return false;
		if (call->tid != tid)
			continue;
		*out_call = *call;
		calls->next = i + 1;
		return true;
	}
	return false;
}

void blocked_calls_seek(struct blocked_calls *calls, uint64_t time_ns)
{
	uint64_t from = time_ns > SLACK_NS ? time_ns - SLACK_NS : 0, low = 0, high;
	off_t end = lseek(calls->fd, 0, SEEK_END);

	high = end > 0 ? (uint64_t)end / sizeof(struct wire_call) : 0;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		struct wire_call call;

		if (file_read_at(calls->fd, middle * sizeof(call), (uint8_t *)&call, sizeof(call)) <
		    sizeof(call))
			break;
		if (calls->swap)
			swap_call(&call);
		if (call.mono_ns < from)
			low = middle + 1;
		else
			high = middle;
	}
	calls->next = low;
	calls->count = 0;
}

struct blocked_calls *blocked_calls_open(const char *path, bool big_endian)
{
	struct blocked_calls *calls;
	struct err err = { 0 };
	uint64_t bytes = 0;
	int fd = file_open(path, &bytes, &err);

	if (fd < 0)
		return NULL;
	calls = xcalloc(1, sizeof(*calls));
	calls->fd = fd;
	calls->swap = big_endian != (BYTE_ORDER == BIG_ENDIAN);
	return calls;
}

void blocked_calls_close(struct blocked_calls *calls)
{
	if (!calls)
		return;
	mem_close_fd(&calls->fd);
	free(calls);
}
