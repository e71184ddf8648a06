/*
 * unanswered.c - who had been asked on a connection, and had not answered when the time of who waits was up.
 *
 *	client  write(tcp A->B) ── poll(tcp A->B) ────────── timer: it gives up
 *	server       read(tcp B->A) ─── works, or sleeps ─────────|
 *
 * The wait is as long as its limit, whoever is at the other end; why it was as long is what that one did. It is
 * inferred, from a few bits that ends of calls keep of what they were about (see word_was_channel()): the client's
 * last call on the connection before put something in, a thread took that out soon, as the first one, and nobody put
 * anything in for the client until the time was up. Who took something out with the same bits before the client had
 * ever put anything in has another connection.
 */
#include <stdio.h>
#include <string.h>

#include "analyse/why/asks_int.h"
#include "analyse/why/process.h"
#include "event/facts.h"

#define LEAST_NS      10000000u	   /* a shorter time-out is a look */
#define BACK_NS	      10000000000u /* before the wait, where it was asked */
#define ENTRIES_MAX   20000000u	   /* of tracks: a bound on time */
#define SOON_PART     4u /* of the time from the request on: who reads it later may read another one */
#define NAMES_MAX     4u /* connections of one wait that are looked at */
#define CALLS_KEPT    8u
#define ASKS_AGAIN_NS 1000000000u /* for the first time, after a request for a connection */

#define CALLS_IN  " write writev sendto sendmsg sendmmsg send sendfile splice "
#define CALLS_OUT " read readv recvfrom recvmsg recvmmsg recv splice "

/* Both directions, as word_was_channel() has them. */
struct connection {
	uint32_t out, in;
	uint64_t first_ns; /* when the client put something in first, as far as is looked at */
};

static uint32_t channel_of(const char *kind, int kind_length, const char *from, int from_length,
			   const char *to, int to_length)
{
	char text[256];
	int length = snprintf(text, sizeof(text), "%.*s%.*s=>%.*s", kind_length, kind, from_length,
			      from, to_length, to);

	return length > 0 && (size_t)length < sizeof(text)
		       ? word_about_name(text, false) | WORD_CHANNEL
		       : 0;
}

/* "tcp A->B", or several of them: the next one from '*at' on. */
static bool next_connection(const char *name, const char **at, struct connection *out_connection)
{
	const char *arrow = strstr(*at, "->"), *left, *kind, *right;
	int kind_length, left_length, right_length;

	if (!arrow)
		return false;
	for (left = arrow; left > name && left[-1] != ' ';)
		left--;
	for (kind = left; kind > name && (kind == left || kind[-1] != ' ');)
		kind--;
	right = arrow + 2;
	right_length = (int)strcspn(right, ",; ");
	left_length = (int)(arrow - left);
	kind_length = (int)(left - kind);
	*at = right + right_length;
	*out_connection = (struct connection){
		channel_of(kind, kind_length, left, left_length, right, right_length),
		channel_of(kind, kind_length, right, right_length, left, left_length), 0
	};
	return true;
}

/* When the client asked there last, and has taken nothing since; 0 = it has not. */
static uint64_t asked_ns(struct query *query, uint32_t slot, const struct wait *wait,
			 struct connection *connection)
{
	struct asks_calls calls = { 0 };
	struct tl_interval end;
	uint64_t ns = 0;

	tl_iter_begin(&calls.iter, query->tl, &query->tl->threads[slot]->track,
		      wait->begin_ns > BACK_NS ? wait->begin_ns - BACK_NS : 0, wait->begin_ns);
	while (query->asks->entries++ < ENTRIES_MAX && asks_calls_next(&calls, &end)) {
		uint32_t channel = word_error(end.word) ? 0 : word_was_channel(end.word);
		const char *name = asks_name(query, calls.call);

		if (channel == connection->out && asks_is_among(CALLS_IN, name))
			ns = calls.call_ns;
		if (ns && !connection->first_ns)
			connection->first_ns = ns;
		if (channel == connection->in && asks_is_among(CALLS_OUT, name))
			ns = 0;
	}
	return ns;
}

struct taker {
	uint32_t slot; /* SLOT_NONE = nobody */
	uint64_t time_ns;
	bool answered;
};

/* Adds what that thread took, and put in, on the connection. */
static void look_at_thread(struct query *query, uint32_t slot, uint64_t from_ns, uint64_t to_ns,
			   const struct connection *connection, struct taker *taker)
{
	const struct tl_thread *thread = query->tl->threads[slot];
	struct asks_calls calls = { 0 };
	struct taker own = { .slot = SLOT_NONE };
	struct tl_interval end;

	if (thread->death_ns <= from_ns || thread->birth_ns >= to_ns)
		return;
	tl_iter_begin(&calls.iter, query->tl, &thread->track,
		      connection->first_ns > BACK_NS ? connection->first_ns - BACK_NS : 0, to_ns);
	while (query->asks->entries++ < ENTRIES_MAX && asks_calls_next(&calls, &end)) {
		uint32_t channel = word_error(end.word) ? 0 : word_was_channel(end.word);
		const char *name = channel ? asks_name(query, calls.call) : "";
		bool put = channel == connection->in && asks_is_among(CALLS_IN, name);
		bool took = channel == connection->out && asks_is_among(CALLS_OUT, name);

		if ((put || took) && end.start_ns <= connection->first_ns)
			return;
		own.answered |= put && end.start_ns > from_ns;
		if (took && end.start_ns > from_ns && own.slot == SLOT_NONE)
			own = (struct taker){ slot, end.start_ns, own.answered };
	}
	taker->answered |= own.answered;
	if (own.slot != SLOT_NONE && (taker->slot == SLOT_NONE || own.time_ns < taker->time_ns)) {
		taker->slot = own.slot;
		taker->time_ns = own.time_ns;
	}
}

static struct taker find_taker(struct query *query, uint32_t slot, uint64_t from_ns, uint64_t to_ns,
			       const struct connection *connection)
{
	struct taker taker = { .slot = SLOT_NONE };

	for (uint32_t i = 0; i < query->tl->thread_count; i++) {
		const struct tl_thread *thread = query->tl->threads[i];

		if (i == slot || thread->tid == 0 || thread->kernel ||
		    asks_is_recorder(query, thread->tid))
			continue;
		look_at_thread(query, i, from_ns, to_ns, connection, &taker);
	}
	if (taker.answered || taker.time_ns > from_ns + (to_ns - from_ns) / SOON_PART ||
	    query->asks->entries >= ENTRIES_MAX)
		taker.slot = SLOT_NONE;
	return taker;
}

/* What it was in for longest: a call that it waited in; "" = it worked, or had no CPU. */
static const char *did_meanwhile(struct query *query, uint32_t slot, uint64_t from_ns,
				 uint64_t to_ns, enum why_deed *out_did)
{
	struct {
		const char *call;
		uint64_t ns;
	} in[CALLS_KEPT] = { { "", 0 } }; /* the first: working */
	uint64_t queued_ns = 0;
	uint32_t count = 1, most = 0;
	struct tl_interval at;
	struct tl_iter iter;
	struct wait wait;

	tl_iter_thread(&iter, query->tl, slot, from_ns, to_ns);
	while (tl_iter_next(&iter, &at)) {
		uint64_t ns = at.end_ns - at.start_ns;
		uint32_t i = 0;
		const char *call = "";

		if (word_kind(at.word) == WORD_BLOCKED)
			call = describe_in(query, query_wait(query, slot, at.word, &wait));
		else if (word_wib(at.word) == WIB_INTERRUPTED)
			queued_ns += ns;
		while (i < count && strcmp(in[i].call, call) != 0)
			i++;
		if (i == count && count == CALLS_KEPT)
			continue;
		if (i == count)
			in[count++].call = call;
		in[i].ns += word_wib(at.word) == WIB_INTERRUPTED ? 0 : ns;
		most = in[i].ns > in[most].ns ? i : most;
	}
	*out_did = queued_ns > in[most].ns ? WHY_DEED_NO_CPU
		   : most		   ? WHY_DEED_WAITED
					   : WHY_DEED_WORKED;
	return *out_did == WHY_DEED_WAITED ? in[most].call : "";
}

const struct why_reason *query_unanswered(struct query *query, uint32_t slot,
					  const struct wait *wait)
{
	const char *name = timeline_name(query->tl, wait->object), *at = name;
	struct why_reason reason = { .kind = WHY_REASON_UNANSWERED };
	struct taker found = { .slot = SLOT_NONE };
	struct connection connection;

	if (!query->facts->has_syscalls || !wait->woken_ns ||
	    wait->woken_ns - wait->begin_ns < LEAST_NS || wait->flags & WAIT_SERVER)
		return NULL;
	(void)asks_runs(query);
	for (uint32_t i = 0; i < NAMES_MAX && next_connection(name, &at, &connection); i++) {
		uint64_t sent_ns = connection.out && connection.in
					   ? asked_ns(query, slot, wait, &connection)
					   : 0;
		struct taker taker;

		if (!sent_ns)
			continue;
		taker = find_taker(query, slot, sent_ns, wait->woken_ns, &connection);
		if (taker.slot == SLOT_NONE || found.slot != SLOT_NONE)
			return NULL;
		found = taker;
	}
	if (found.slot == SLOT_NONE)
		return NULL;
	reason.who = why_thread(query, found.slot);
	reason.call = did_meanwhile(query, found.slot,
				    found.time_ns > wait->begin_ns ? found.time_ns : wait->begin_ns,
				    wait->woken_ns, &reason.did);
	return why_reason_keep(query->why, &reason);
}

static bool accepts(struct query *query, uint32_t slot, uint32_t word)
{
	struct wait wait;

	if (word_kind(word) == WORD_BLOCKED) {
		query_wait(query, slot, word, &wait);
		word = wait.in;
	}
	return word_kind(word) == WORD_SYSCALL &&
	       strncmp(describe_word(query, word), "accept", strlen("accept")) == 0;
}

/*
 * TCP asks again after 1 s, 3 s, 7 s, or each second: the request before the one that was answered was sent no earlier
 * than that, and the queue was full then.
 */
static uint64_t still_full_ns(const struct wait *wait)
{
	uint64_t ns = wait->woken_ns - wait->begin_ns;

	return wait->begin_ns + (ns > ASKS_AGAIN_NS ? (ns - ASKS_AGAIN_NS) / 2 : 0);
}

uint64_t query_accepts_ns(struct query *query, uint32_t slot, const struct wait *wait,
			  const struct tl_interval *in)
{
	uint64_t full_ns = still_full_ns(wait);
	struct tl_interval at;
	struct tl_iter iter;

	full_ns = full_ns > in->start_ns ? full_ns : in->start_ns;
	tl_iter_thread(&iter, query->tl, slot, full_ns, in->end_ns);
	while (tl_iter_next(&iter, &at)) {
		if (accepts(query, slot, at.word))
			return at.start_ns > full_ns ? at.start_ns : in->start_ns;
	}
	return in->start_ns;
}
