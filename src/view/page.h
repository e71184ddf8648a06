/*
 * page.h - the files of the page, as they are in src/view/page/, embedded when the program is built.
 */
#ifndef VIEW_PAGE_H
#define VIEW_PAGE_H

#include <stddef.h>

struct view_page {
	const char *name; /* "" is the page itself */
	const char *type;
	const unsigned char *bytes;
	size_t count;
};

/* NULL = there is no such file. */
const struct view_page *view_page_find(const char *name);

/*
 * What a saved file holds: all modules as one script, the style, and the hashes of both for its
 * policy, "sha256-...".
 */
extern const struct view_page view_saved_script, view_saved_style;
extern const char view_saved_script_hash[], view_saved_style_hash[];

#endif
