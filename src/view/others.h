/*
 * others.h - locks, disks, network devices, programs and models of a trace: read once, in a thread of
 * its own, when a page asks for the first time.
 *
 *	view_others_new     by the desk, with the trace's path
 *	"others"            begins to read; says how far that is, then which lanes there are
 *	"series", "other"   columns of lanes, and what lies behind a part of one
 */
#ifndef VIEW_OTHERS_H
#define VIEW_OTHERS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/others/others.h"

struct err;
struct json;
struct model;
struct other_lanes;
struct view_others;

/* Starts a thread that waits. 'path' and 'model' (NULL = none) live as long as the process. */
int view_others_new(const char *path, const struct model *model, struct view_others **out_others,
		    struct err *err);

/*
 * For who has no server: they are read before it returns, as long as that takes. Returns 0, or a negative errno with err
 * filled. End it with view_others_end().
 */
int view_others_read(const char *path, const struct model *model, struct view_others **out_others,
		     struct err *err);

/* Lanes that are read already, which stay the caller's; for tests. End it with view_others_end(). */
struct view_others *view_others_ready(const struct other_lanes *lanes);
void view_others_end(struct view_others *others); /* NULL is fine */
/*
 * End it, unless its thread still reads: then it stays, with path and model, until the process ends. Returns
 * whether it is ended.
 */
bool view_others_leave(struct view_others *others);

enum view_others_is {
	VIEW_OTHERS_READING,
	VIEW_OTHERS_READY,
	VIEW_OTHERS_FAILED
};

/* Begin to read, where nobody did. How far it is, 0 of 0 at first; of a failure err says what. */
enum view_others_is view_others_want(struct view_others *others, uint64_t *out_done_ns,
				     uint64_t *out_whole_ns, struct err *err);

/* NULL = they are not read; 'others' may be NULL. */
const struct others *view_others_lanes(struct view_others *others);
/* What the sums of a lane are of: SERIES_SUMS names; NULL from the first one on that is not used. */
const char *const *view_others_values(enum other_group group);
const char *view_others_group(enum other_group group); /* "locks" */
const char *view_others_words(enum other_group group); /* "Locks" */
const char *view_others_kind(enum series_kind kind);   /* "states" */
/* "held 12.3 ms", "requests in flight: 0.82 on average, 4 at most", "12 packets, 9000 bytes" of so many ns; free it. "" = nothing. */
char *view_others_sum_words(const struct other_lane *lane, const struct series_column *sum,
			    uint64_t length_ns);
const char *view_others_what(enum other_what what); /* "held by" */
/* The answer of "others" when they are read; of lanes only those that are chosen, by index; NULL = the largest. */
void view_others_json(struct json *json, const struct view_others *others, const bool *chosen);

#endif
