/* saving.h - what is saved, made once for both kinds of file. */
#ifndef VIEW_SAVING_H
#define VIEW_SAVING_H

#include <stdbool.h>
#include <stdio.h>

#include "analyse/others/others.h"
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

#define SAVING_OF_A_GROUP 10u

/* Lanes that are no threads: of each group the largest that have anything in the window. */
struct saving_others {
	const struct others *others; /* NULL = none are read */
	bool *is;		     /* owned; by lane */
	size_t rows[SAVING_OF_A_GROUP * OTHER_GROUP_COUNT];
	uint32_t count;
};

void saving_choose_others(const struct saving *saving, struct saving_others *out_chosen);
void saving_others_fini(struct saving_others *chosen);

/* Of the whole window. */
struct series_column saving_other_sum(const struct saving *saving, const struct other_lane *lane);
/* "held 12.3 ms", "requests in flight: 0.82 on average, 4 at most", "12 packets, 9000 bytes" */
void saving_put_other_words(FILE *out, const struct saving *saving, const struct other_lane *lane);
/* The same as attributes of an element: data-lane, -group, -kind, -sums, -most. */
void saving_put_other_data(FILE *out, const struct saving *saving, const struct other_lane *lane,
			   size_t index);

/* As lanes of the picture, from 'top' down, 'left' from its edge. Returns their height; 0 = there are none. */
uint32_t saving_put_svg_others(FILE *out, const struct saving *saving,
			       const struct saving_others *chosen, uint32_t left, uint32_t top);
uint32_t saving_svg_others_height(const struct saving_others *chosen);

/* Lanes that are no threads, where the view has them read: members of the file's data; a table of their sums. Else nothing. */
void saving_put_others(FILE *out, const struct saving *saving);
void saving_put_others_table(FILE *out, const struct saving *saving);

void saving_put_base64(FILE *out, const char *bytes, size_t count);
/* JSON in a block of the markup: nothing in it can end the block. */
void saving_put_json(FILE *out, const char *bytes, size_t count);

#endif
