/*
 * view_file.h - a picture of a trace into a file: what view --save, --svg and why --html share.
 */
#ifndef CLI_VIEW_FILE_H
#define CLI_VIEW_FILE_H

#include <stdio.h>

struct err;
struct explanation;
struct output;
struct view;

/* view_save_html(), view_save_svg() */
typedef int view_save(FILE *out, const struct view *view, const struct explanation *answer,
		      struct err *err);

/*
 * Save into the output that was begun at 'path'; the caller ends it. What the timeline could not read
 * is an error, for nobody would see it in a picture. Returns 0, or negative with err filled.
 */
int view_file_write(const struct view *view, const struct explanation *answer, view_save *save,
		    const char *path, const struct output *output, struct err *err);

#endif
