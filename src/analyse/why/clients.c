/*
 * clients.c - for whom a thread works: who sent what it read last before it worked.
 *
 *	client       write ──┐
 *	server  wait in epoll └─ read ──────── work ────────
 *
 * Who ended the last wait of a server in a call that takes requests sent one. It is known to be the one
 * that is worked at only where the server took no other since: it read once at most.
 */
#include <string.h>

#include "analyse/why/why_int.h"
#include "base/mem.h"

#define ENTRIES_MAX 4096u /* of what it did since its last wait */

static bool is_one_of(struct query *query, uint32_t word, const char *const *names, size_t count)
{
	const char *name = word_kind(word) == WORD_SYSCALL ? describe_word(query, word) : "";

	for (size_t i = 0; i < count; i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

static bool takes(struct query *query, uint32_t word)
{
	static const char *const names[] = { "read",	 "readv", "recvfrom", "recvmsg",
					     "recvmmsg", "recv",  "accept",   "accept4" };

	return is_one_of(query, word, names, ARRAY_LEN(names));
}

static bool watches(struct query *query, uint32_t word)
{
	static const char *const names[] = {
		"epoll_wait", "epoll_pwait", "epoll_pwait2", "poll",
		"ppoll",      "select",	     "_newselect",   "pselect6"
	};

	return is_one_of(query, word, names, ARRAY_LEN(names));
}

/* Pipes have producers, no clients. */
static bool is_socket(const struct query *query, const struct wait *wait)
{
	const char *name = timeline_name(query->tl, wait->object);

	return strstr(name, "tcp ") || strstr(name, "unix ") || strstr(name, "udp ");
}

uint32_t waits_before(const struct timeline *tl, uint32_t slot, uint64_t time_ns)
{
	uint32_t low = 0, high = tl->threads[slot]->wait_count;
	struct wait wait;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		timeline_wait(tl, slot, middle, &wait);
		if (wait.begin_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The last wait that had ended by 'time_ns'; false = there is none. */
static bool last_wait(const struct timeline *tl, uint32_t slot, uint64_t time_ns,
		      struct wait *out_wait, uint32_t *out_index)
{
	uint32_t count = waits_before(tl, slot, time_ns);

	if (!count)
		return false;
	timeline_wait(tl, slot, count - 1, out_wait);
	*out_index = count - 1;
	return out_wait->woken_ns && out_wait->woken_ns <= time_ns;
}

/*
 * When it took something for the second time from 'from_ns' on, or until its next wait; the call of the wait itself
 * counts. 'from_ns' where it took nothing, or it is not known.
 */
static uint64_t took_again_ns(struct query *query, uint32_t slot, uint32_t in, uint64_t from_ns)
{
	uint32_t call = in, taken = 0, entries = 0;
	uint64_t at_ns = from_ns;
	struct tl_interval span;
	struct tl_iter iter;

	tl_iter_thread(&iter, query->tl, slot, from_ns, query_known_ns(query, slot));
	while (tl_iter_entry(&iter, &span) && entries++ < ENTRIES_MAX) {
		enum word_kind kind = word_kind(span.word);

		if (kind == WORD_BLOCKED || kind == WORD_UNCERTAIN)
			break;
		if (kind == WORD_SYSCALL)
			call = word_plain(span.word);
		else if (kind == WORD_USER && call) {
			taken += takes(query, call) && !word_error(span.word);
			call = 0;
			if (taken > 1)
				return span.start_ns;
		}
		at_ns = span.end_ns;
	}
	return taken ? at_ns : from_ns;
}

uint32_t query_client(struct query *query, uint32_t slot, uint64_t time_ns, struct client *memo)
{
	const struct timeline *tl = query->tl;
	struct wait wait = { 0 }, next = { 0 };
	uint64_t again_ns;
	uint32_t index = 0, by;

	if (memo->slot == slot && memo->from_ns <= time_ns && time_ns < memo->until_ns)
		return memo->client;
	*memo = (struct client){ slot, SLOT_NONE, time_ns, time_ns + 1 };
	if (!last_wait(tl, slot, time_ns, &wait, &index))
		return SLOT_NONE;
	memo->from_ns = wait.woken_ns;
	memo->until_ns = query_known_ns(query, slot);
	if (index + 1 < tl->threads[slot]->wait_count) {
		timeline_wait(tl, slot, index + 1, &next);
		memo->until_ns = next.begin_ns;
	}
	by = wait.waker.slot;
	if ((wait.waker.kind != ACTOR_THREAD && wait.waker.kind != ACTOR_NETWORK) ||
	    wait.waker.signal || by >= tl->thread_count || tl->threads[by]->kernel ||
	    tl->threads[by]->tid == 0 || tl->threads[by]->tgid == tl->threads[slot]->tgid ||
	    wait.flags & (WAIT_EXITED | WAIT_LOCK) || !is_socket(query, &wait) ||
	    (!takes(query, wait.in) && !watches(query, wait.in)))
		return SLOT_NONE;
	again_ns = took_again_ns(query, slot, wait.in, wait.woken_ns);
	if (time_ns < again_ns) {
		memo->client = by;
		memo->until_ns = again_ns;
	} else {
		memo->from_ns = again_ns;
	}
	return memo->client;
}
