/*
 * verdict.h - the answer of why, as the page and the saved file show it.
 */
#ifndef VIEW_VERDICT_H
#define VIEW_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ask/explain.h"

struct err;
struct view;

/* Spans and waits of less than such a part of a window are not told apart. */
#define VERDICT_PARTS 4000u

/* What is asked: of whom, over which window. Zeroed: of the command, from its birth to its end. */
struct verdict_ask {
	uint64_t from_ns, to_ns; /* 0, 0 = no window */
	uint32_t slot;		 /* a thread, plus 1; 0 = the command */
};

/*
 * Explain. Returns 0 with *out_answer (free it with explanation_fini()), or a negative errno with
 * err filled; -ESRCH when nobody was named and the recording has no command.
 */
int verdict_of(const struct view *view, const struct verdict_ask *ask,
	       struct explanation *out_answer, struct err *err);

/* Why verdict_of() has none of the command; NULL = nothing is known to be missing. A constant. */
const char *verdict_missing(const struct view *view);

/* Threads that the answer is about, those it is of first: slots, at most 'most' of them. */
uint32_t verdict_slots(const struct view *view, const struct explanation *answer,
		       uint32_t *out_slots, uint32_t most);

/* The answer as JSON, the object that is open. 'is_chosen': the user chose the window, or the thread. */
struct json;
void verdict_json(struct json *json, const struct view *view, const struct explanation *answer,
		  bool is_chosen);

/* Of which thread chain and waits are told. */
const struct why *verdict_told(const struct why *why);

/* What the shares are of, ns. */
uint64_t verdict_ns(const struct why *why);

#endif
