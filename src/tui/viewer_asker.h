/*
 * viewer_asker.h - answers that take long, made in a thread of their own, so that keys never wait.
 *
 *	viewer_asker_ask    what is wanted; it replaces what was asked for the same purpose and has not begun
 *	viewer_asker_fd     can be read once there is an answer; then
 *	viewer_asker_take   the answer
 *
 * The thread has the trace open for itself: a timeline is for one thread at a time. All functions are for one
 * other thread.
 */
#ifndef TUI_VIEWER_ASKER_H
#define TUI_VIEWER_ASKER_H

#include <stdbool.h>

#include "base/err.h"
#include "tui/viewer_model.h"
#include "view/verdict.h"

struct view;
struct viewer_asker;

enum viewer_purpose {
	VIEWER_FOR_ANSWER, /* the causes */
	VIEWER_FOR_CHARGE, /* one wait */
	VIEWER_PURPOSE_COUNT
};

struct viewer_told {
	enum viewer_purpose purpose;
	struct verdict_ask ask;
	struct viewer_spot spot; /* of a charge, as it was asked */
	int rc;			 /* of verdict_of() */
	struct err err;
	struct explanation answer; /* the taker's; its texts are as long as the asker is */
};

/*
 * 'view' outlives it. Returns 0, or a negative errno with err filled: -ENOENT when the trace has no index that
 * another one could use; then there is nobody but the caller to explain.
 */
int viewer_asker_new(const struct view *view, struct viewer_asker **out_asker, struct err *err);

/*
 * NULL is fine. Answers are gone with it. While something is being explained nothing is waited for: then the thread keeps what it
 * uses until the process ends.
 */
void viewer_asker_end(struct viewer_asker *asker);

void viewer_asker_ask(struct viewer_asker *asker, enum viewer_purpose purpose,
		      const struct verdict_ask *ask, const struct viewer_spot *spot);
int viewer_asker_fd(const struct viewer_asker *asker);
/* Returns false when there is none. What was replaced meanwhile is never told. */
bool viewer_asker_take(struct viewer_asker *asker, struct viewer_told *out_told);

#endif
