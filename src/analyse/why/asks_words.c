/*
 * asks_words.c - how a call ended that asks, what it was about, which calls say only that one waits, and from what
 * an answer is inferred.
 */
#include <errno.h>
#include <string.h>

#include "analyse/why/asks_int.h"

#define NEAR	     8u /* waits around one that tell what it was for */
#define REPORTS_PART 2u /* of the looks, one in so many may be followed by output */

bool asks_for_process(const char *call)
{
	return strstr(call, "kill");
}

enum outcome asks_outcome(struct query *query, uint32_t call, uint32_t word)
{
	if (word_found_nothing(word))
		return IN_VAIN;
	if (!word_error(word)) /* to send a signal is no question */
		return asks_for_process(asks_name(query, call)) ? NEITHER : GOT_IT;
	/* Whom to signal is there, or it is no more. */
	if (asks_for_process(asks_name(query, call)))
		return word_error(word) == ESRCH ? GOT_IT : NEITHER;
	return word_error(word) == EINTR || word_error(word) == EINPROGRESS ? NEITHER : IN_VAIN;
}

bool asks_is_of(const char *name, uint32_t about)
{
	return word_about_name(name, true) == about || word_about_name(name, false) == about;
}

const char *asks_describe(struct query *query, uint32_t slot, uint32_t index, uint32_t about)
{
	uint32_t count = query->tl->threads[slot]->wait_count;
	struct wait wait;

	for (uint32_t i = index > NEAR ? index - NEAR : 0; about && i < count && i <= index + NEAR;
	     i++) {
		const char *name;

		timeline_wait(query->tl, slot, i, &wait);
		name = wait.woken_ns ? describe_asked(query, &wait) : "";
		if (*name && asks_is_of(name, about))
			return name;
	}
	return "";
}

bool asks_is_report(struct query *query, uint32_t call, uint32_t word, bool files)
{
	if (word_error(word) || !asks_is_among(" write writev ", asks_name(query, call)))
		return false;
	return word_has(word, WORD_MADE) ||
	       (files && word_was_about(word) && !word_was_channel(word));
}

bool asks_reports_seldom(uint32_t reports, uint32_t looks)
{
	return reports * REPORTS_PART <= looks;
}

const struct why_reason *answer_reason(struct query *query, const struct answer *answer)
{
	struct why_reason reason = { .kind = answer->until_changed ? WHY_REASON_CHANGED
					     : answer->known	   ? WHY_REASON_HAD_LOCK
					     : answer->until_gone  ? WHY_REASON_GONE
								   : WHY_REASON_SUCCEEDED,
				     .call = answer->call,
				     .object = answer->about };

	if (answer->reason)
		return answer->reason;
	if (answer->known)
		reason.who = why_thread(query, answer->slot);
	else
		reason.by = answer->by;
	if (answer->error && (answer->known || reason.kind == WHY_REASON_SUCCEEDED))
		reason.name = describe_error(query->why, answer->error);
	else if (reason.kind == WHY_REASON_SUCCEEDED || answer->known)
		reason.found_alive = asks_for_process(answer->call);
	return why_reason_keep(query->why, &reason);
}
