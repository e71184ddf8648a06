/*
 * save.h - the answer and the lanes of a window as one file that needs nothing else.
 *
 * HTML is the page itself with its answers in it, and with other lanes where the view has read them; it loads
 * nothing, and its verdict is a table also without script. SVG is the lanes alone. Both are text; the same trace gives the same bytes.
 */
#ifndef VIEW_SAVE_H
#define VIEW_SAVE_H

#include <stdio.h>

struct err;
struct explanation;
struct view;

/*
 * The window is the view's, or that of the verdict. 'answer' is what why said, with
 * VERDICT_PARTS; NULL = it is asked. Returns 0, or a negative errno with err filled.
 */
int view_save_html(FILE *out, const struct view *view, const struct explanation *answer,
		   struct err *err);
/* The data of such a file alone, as JSON: the window and its lanes; nothing is explained. */
int view_save_data(FILE *out, const struct view *view, struct err *err);
int view_save_svg(FILE *out, const struct view *view, const struct explanation *answer,
		  struct err *err);

#endif
