/*
 * seen.c - what the recorder saw threads wait for, as it looked at them: struct fact_wait.
 *
 * It holds for the wait that went on at that time, and for what goes on with it when its limit has run out.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "event/facts.h"
#include "state/state_int.h"

#define TEXT_BYTES  4096
#define SLICES_BACK 256u

static bool is_within(const struct wait *wait, uint64_t seen_ns)
{
	return seen_ns > wait->begin_ns && (!wait->woken_ns || seen_ns < wait->woken_ns);
}

/* Those of the last look within 'wait'; NULL = there was none. */
static const struct fact_wait *seen_within(const struct state *state, const struct thread *thread,
					   const struct wait *wait, size_t *out_count)
{
	const struct fact_wait *waits = state->facts->waits;
	int32_t tid = thread->tl->tid;
	size_t end = waits ? SEARCH_BEHIND(waits, state->facts->wait_count, tid, tid) : 0, at = end;

	while (at && waits[at - 1].tid == tid && !is_within(wait, waits[at - 1].seen_ns))
		at--;
	end = at;
	while (at && waits[at - 1].tid == tid && waits[at - 1].seen_ns == waits[end - 1].seen_ns)
		at--;
	*out_count = end - at;
	return end > at ? &waits[at] : NULL;
}

/* Did its limit run out, so that 'wait' goes on with it? */
static bool is_slice_of(const struct wait *slice, const struct wait *wait)
{
	return slice->flags & WAIT_TIMED_OUT && slice->in == wait->in &&
	       slice->object == wait->object && slice->fd == wait->fd;
}

/* Of a wait in slices the last one is short: who was seen to have the lock in one before has it still. */
static const struct fact_wait *seen_before(const struct state *state, const struct thread *thread,
					   const struct wait *wait, size_t *out_count)
{
	uint32_t least = thread->tl->wait_base;
	const struct fact_wait *seen = NULL;

	for (uint32_t i = thread->wait, back = 0; i > least && back < SLICES_BACK; i--, back++) {
		const struct wait *slice = tl_wait(thread->tl, i - 1);

		if (!is_slice_of(slice, wait))
			break;
		seen = seen_within(state, thread, slice, out_count);
		if (seen)
			break;
	}
	return seen && seen->word ? seen : NULL;
}

const struct fact_wait *seen_wait(const struct state *state, const struct thread *thread,
				  const struct wait *wait, size_t *out_count)
{
	const struct fact_wait *first = seen_within(state, thread, wait, out_count);
	const char *call = call_of(state, thread)->name;

	if (!first)
		first = seen_before(state, thread, wait, out_count);
	return first && call && strcmp(first->call, call) == 0 ? first : NULL;
}

const struct fact_wait *seen_tracer(const struct state *state, const struct thread *thread,
				    const struct wait *wait)
{
	size_t count;
	const struct fact_wait *seen = seen_within(state, thread, wait, &count);

	return seen && count == 1 && strcmp(seen->how, "traces") == 0 ? seen : NULL;
}

/* "rwlock 0x7f00 held by readers" without the address; as it is when it has another one, or none. */
static void put_kind(const struct fact_wait *seen, char *out, size_t bytes)
{
	char word[32];
	const char *at;

	(void)snprintf(word, sizeof(word), " 0x%" PRIx64, seen->word);
	at = strstr(seen->object, word);
	if (!at || isxdigit((unsigned char)at[strlen(word)]))
		(void)snprintf(out, bytes, "%s", seen->object);
	else
		(void)snprintf(out, bytes, "%.*s%s", (int)(at - seen->object), seen->object,
			       at + strlen(word));
}

/* Which descriptor a wait is about stands before it: "fd 3 = pipe:[5]", "lock of fd 3 = /x", "fd 3: unix socket /s, whose queue is full". */
static const char *without_fd(const char *object, int32_t fd)
{
	static const char *const forms[] = { "fd %d = ", "fd %d: ", "lock of fd %d = " };
	char lead[32];

	for (size_t i = 0; fd >= 0 && i < ARRAY_LEN(forms); i++) {
		int bytes = snprintf(lead, sizeof(lead), forms[i], fd);

		if (strncmp(object, lead, (size_t)bytes) == 0)
			return object + bytes;
	}
	return object;
}

const char *seen_by(struct state *state, const struct fact_wait *seen)
{
	AUTO_FREE char *by = xasprintf(BY_SEEN "%s", seen->how);
	struct names *names = &state->tl->names;

	return names_text(names, names_add(names, by, TEXT_BYTES));
}

bool seen_has_lock(const struct fact_wait *seen)
{
	static const char *const locks[] = {
		"mutex_word",	"mutex_glibc",	 "rwlock_glibc", "rwlock_writer",
		"pi_mutex",	"pi_waiter",	 "file_stream",	 "python_inside",
		"python_rlock", "python_shared", "java_monitor", "java_lock",
	};

	for (size_t i = 0; i < ARRAY_LEN(locks); i++) {
		if (strcmp(seen->how, locks[i]) == 0)
			return true;
	}
	return false;
}

void seen_object(struct state *state, struct wait *wait, const struct fact_wait *seen)
{
	struct names *names = &state->tl->names;
	const char *known = names_text(names, wait->object);
	char kind[256];
	AUTO_FREE char *text = NULL;

	/* What is known, and more. */
	if (!seen->object[0] || (*known && !seen->word && !strstr(seen->object, known)))
		return;
	put_kind(seen, kind, sizeof(kind));
	if (seen->word && strcmp(kind, "futex") == 0)
		return;
	text = seen->word ? xasprintf("futex 0x%" PRIx64 ", %s", seen->word, kind)
			  : xstrdup(without_fd(kind, wait->fd));
	wait->object = names_add(names, text, TEXT_BYTES);
}
