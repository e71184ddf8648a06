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

struct err;
struct model;
struct other_lanes;
struct view_others;

/* Starts a thread that waits. 'path' and 'model' (NULL = none) live as long as the process. */
int view_others_new(const char *path, const struct model *model, struct view_others **out_others,
		    struct err *err);

/* Lanes that are read already, which stay the caller's; for tests. End it with view_others_end(). */
struct view_others *view_others_ready(const struct other_lanes *lanes);
void view_others_end(struct view_others *others);

#endif
