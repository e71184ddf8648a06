/* saving.h - what is saved, made once for both kinds of file. */
#ifndef VIEW_SAVING_H
#define VIEW_SAVING_H

#include <stdio.h>

#include "view/lanes.h"
#include "view/verdict.h"

struct saving {
	const struct view *view;
	uint64_t from_ns, to_ns;
	const struct explanation *answer; /* no results: the recording has no command */
	struct explanation own;		  /* owned */
	struct view_lane lanes[96];
	uint32_t count;
};

/*
 * 'answer' is what there is already, and must outlive it; NULL = that of the view's window. Returns 0, or a
 * negative errno with err filled; free it with saving_fini(). It stays where it is.
 */
int saving_make(const struct view *view, const struct explanation *answer,
		struct saving *out_saving, struct err *err);
void saving_fini(struct saving *saving);

/* The lanes as an SVG element, with the sentence above them. */
void saving_put_svg(FILE *out, const struct saving *saving);

/* Lanes that are no threads, where the view has them read: members of the file's data; a table of their sums. Else nothing. */
void saving_put_others(FILE *out, const struct saving *saving);
void saving_put_others_table(FILE *out, const struct saving *saving);

void saving_put_base64(FILE *out, const char *bytes, size_t count);
/* JSON in a block of the markup: nothing in it can end the block. */
void saving_put_json(FILE *out, const char *bytes, size_t count);

#endif
