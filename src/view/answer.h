/*
 * answer.h - what is asked of an open trace, and what comes back: no socket, no file.
 *
 *	view_answer_route()   the answer to "verdict?from=..&to=.."
 *
 * docs/view.md describes each. Times in requests are decimal ns on the trace clock; those in answers are ns since the
 * begin of the timeline, which "start" tells as a text: so they stay below 2^53 for a hundred days.
 * Texts from a trace are escaped as in the text report, before they are escaped as JSON.
 */
#ifndef VIEW_ANSWER_H
#define VIEW_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

struct beside;
struct loaded;
struct view_crew;
struct view_events;
struct view_others;

/* An open trace, for one thread at a time. */
struct view {
	const char *path;
	struct loaded *loaded;
	const struct beside *beside; /* NULL = nothing was read beside the timeline */
	uint64_t from_ns, to_ns;     /* the window that the user chose; 0, 0 = none */
	struct view_others *others;  /* lanes that are no threads; NULL = none are read */
	struct view_crew *crew;	     /* who helps with lanes; NULL = nobody */
	struct view_events *events;  /* kept open for "events"; NULL = opened for each question */
};

struct view_answer {
	int status;	  /* of HTTP: 200, 400, 404, 500 */
	const char *type; /* a constant */
	char *bytes;	  /* owned */
	size_t count;
};

void view_answer_fini(struct view_answer *answer);

/* An answer of one line of text. */
void view_answer_say(struct view_answer *out_answer, int status, const char *text);

/* Who answers: so that one that takes long keeps none of the others waiting. */
enum view_clerk {
	VIEW_QUICK, /* out of the timeline */
	VIEW_SLOW,  /* verdicts */
	VIEW_EVENTS, /* reads the events themselves, and of the timeline only which threads there are */
	VIEW_CLERK_COUNT
};

/* Is it a question about the trace, and whose? */
bool view_is_question(const char *route, enum view_clerk *out_clerk);

/* 'query' is what stands behind "?", or "". Always fills the answer. */
void view_answer_route(const struct view *view, const char *route, const char *query,
		       struct view_answer *out_answer);

#endif
