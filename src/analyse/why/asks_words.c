/*
 * asks_words.c - how a call ended that asks, what it was about, and which calls say only that one waits.
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
