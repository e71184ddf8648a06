/*
 * explain_window.h - the window that is explained, and the thread that an event names.
 *
 * An event that bounds the window is one of the target's, where the target has any; of --to it is the
 * first behind --from. Who names no target means the thread that the event of --from was recorded in.
 */
#ifndef ASK_EXPLAIN_WINDOW_H
#define ASK_EXPLAIN_WINDOW_H

#include <stdint.h>

struct err;
struct explain_opts;
struct loaded;
struct targets;

struct why_window {
	uint64_t start_ns; /* 0 = the target's birth */
	uint64_t end_ns;   /* 0 = its end */
};

/*
 * Find the targets and the window. *out_note says what was taken instead of what was asked for, or is
 * NULL; free it with free(). Returns 0, or a negative errno with err filled; *out_targets is freed
 * with targets_fini() then, too.
 */
int why_window_find(struct loaded *loaded, const struct explain_opts *opts,
		    struct targets *out_targets, struct why_window *out_window, char **out_note,
		    struct err *err);

/* Add a sentence to such a note, which may be NULL. Takes 'text'. */
void why_window_note(char **note, char *text);

#endif
