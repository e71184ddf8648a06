/*
 * viewer_model.h - holdup view --tui without a terminal: the answer, lanes, window, selection.
 *
 *	viewer_begin    over an open trace; the answer is there, the largest cause selected
 *	viewer_begin_early   the same without the answer, which comes by viewer_take_answer()
 *	viewer_key.h    changes it by keys
 *	viewer_settle   asks what takes longer, of where the cursor rests
 *	viewer_draw.h   makes cells of it
 *
 * The model is that of the page: the same answers, out of the same functions of view/. All times are ns on the
 * trace clock. One thread.
 */
#ifndef TUI_VIEWER_MODEL_H
#define TUI_VIEWER_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "timeline/timeline.h"
#include "view/chain.h"
#include "view/lanes.h"
#include "view/processes.h"
#include "view/rows.h"
#include "view/verdict.h"

struct err;
struct view;

#define VIEWER_TEXT_BYTES 200
#define VIEWER_SHOWN_MAX  128u /* lanes of threads that are named one by one */
#define VIEWER_WAITS_MAX  300u /* of a cause, whose chains can be stepped through */
#define VIEWER_FOUND_MAX  1000u

enum viewer_focus {
	VIEWER_CAUSES,
	VIEWER_LANES,
};

enum viewer_mode {
	VIEWER_LOOKING,
	VIEWER_HELPING,
	VIEWER_SEARCHING,
};

enum viewer_row_kind {
	VIEWER_PROCESS, /* a heading */
	VIEWER_THREAD,
	VIEWER_CPUS, /* a heading */
	VIEWER_CPU,
	VIEWER_OTHERS, /* a heading */
	VIEWER_OTHER,
};

/* A line of the lanes. */
struct viewer_row {
	enum viewer_row_kind kind;
	uint32_t
		index; /* of the process in 'processes', a thread's slot, a CPU, a group, a lane of others */
	uint32_t depth;	 /* indented so far */
	uint32_t hidden; /* a heading: threads without a lane, or CPUs */
	uint32_t idle;	 /* of these, those that did nothing */
	bool open;
};

enum viewer_fold {
	VIEWER_AS_SHOWN, /* those of its threads that are named */
	VIEWER_OPEN,	 /* all */
	VIEWER_CLOSED,
};

/* One wait of a chain. */
struct viewer_hop {
	uint32_t slot;	/* who waited, or SLOT_NONE */
	uint32_t waker; /* the thread that ended it by what it did then, or SLOT_NONE */
	uint64_t start_ns, end_ns;
	char *words; /* owned; as recorded */
};

struct viewer_chain {
	bool shown;
	bool of_lane;	 /* of the wait at the cursor; else of the selected cause */
	bool is_awaited; /* that wait is not explained yet */
	uint32_t waits[VIEWER_WAITS_MAX];
	uint32_t wait_count, wait_at;
	struct viewer_hop hops[VIEW_CHAIN_HOPS];
	uint32_t hop_count, hop_at;
};

/* What is at the cursor, in the lane that is selected. */
struct viewer_spot {
	struct view_lane
		lane; /* kind 0 = it is a heading; 'o' = a lane of others, which is no span */
	uint64_t start_ns, end_ns;
	uint32_t word; /* of a thread: its state; of a CPU: the slot of who ran */
	bool is_wait;
};

/* The answer for one wait alone. */
struct viewer_charge {
	struct viewer_spot of; /* kind 0 = nothing was asked */
	bool is_awaited;       /* the answer is not there yet */
	struct explanation answer;
};

struct viewer {
	const struct view *view;
	const struct timeline *timeline;

	struct verdict_ask ask;	   /* of the answer */
	struct verdict_ask wanted; /* by the last key that asks */
	struct explanation answer; /* no results: nobody is explained */
	char *headline;		   /* owned */
	char *why_not;		   /* owned; why there is no answer */
	size_t cause, cause_first; /* selected; the first in sight */
	size_t causes_page;

	struct view_processes processes;
	struct rows_busy busy; /* of the whole recording */
	uint8_t *folds;	       /* owned; enum viewer_fold of each process */
	bool cpus_open, all;
	bool others_shown, others_awaited; /* locks, disks ...: viewer_others.h */
	uint32_t others_closed;		   /* bits of enum other_group */
	uint32_t shown[VIEWER_SHOWN_MAX];  /* slots */
	uint32_t shown_count;
	struct viewer_row *rows; /* owned */
	size_t row_count, row_cap;
	size_t row, row_first;
	size_t rows_page;

	uint64_t from_ns, to_ns; /* what is in sight */
	uint64_t cursor_ns;
	uint32_t width; /* columns of a lane */

	enum viewer_focus focus;
	enum viewer_mode mode;
	struct viewer_chain chain;
	struct viewer_charge charge;
	char input[VIEWER_TEXT_BYTES]; /* what is searched */
	uint32_t found[VIEWER_FOUND_MAX];
	uint32_t found_count, found_at;
	char message[200]; /* about the last key */
	bool asks_later;   /* what takes long is asked by viewer_settle_ask() alone */
	bool is_asking;	   /* an answer is on its way */
	bool is_touched;   /* a key was pressed: the window is the user's */
	bool ascii;
};

/* 'view' outlives it. Returns 0 (end it with viewer_fini()), or a negative errno with err filled. */
int viewer_begin(struct viewer *out_viewer, const struct view *view, struct err *err);
/* The busiest threads are shown; 'ask' says what is to be asked. */
int viewer_begin_early(struct viewer *out_viewer, const struct view *view, struct err *err);
void viewer_fini(struct viewer *viewer);

/*
 * What verdict_of() said, which returned 'rc'; 'answer' is the model's from now on, and what is looked at stays. Returns 0, or
 * 'rc' when what was asked cannot be answered: then the answer of before stays, and the model says why.
 */
int viewer_take_answer(struct viewer *viewer, const struct verdict_ask *ask, int rc,
		       const struct explanation *answer, const struct err *err);
/* The first one: what it is about is shown, unless the user looks at something already. */
int viewer_take_first(struct viewer *viewer, const struct verdict_ask *ask, int rc,
		      const struct explanation *answer, struct err *err);

/* NULL = there is none. */
const struct why *viewer_why(const struct viewer *viewer);
const struct why_root *viewer_cause(const struct viewer *viewer);

/* How much of it is in sight; from the drawing, before it draws. */
void viewer_set_page(struct viewer *viewer, size_t causes, size_t rows, uint32_t width);

/* ----------------------------------------------------------------- moving about */

void viewer_zoom(struct viewer *viewer, bool in);
void viewer_pan(struct viewer *viewer, int fifths);
void viewer_look_at(struct viewer *viewer, uint64_t from_ns,
		    uint64_t to_ns); /* with room around it */
void viewer_look_at_all(struct viewer *viewer);
void viewer_fit(struct viewer *viewer);			     /* what is selected */
void viewer_move_cursor(struct viewer *viewer, int columns); /* pans at an edge */
void viewer_step_span(struct viewer *viewer, int by); /* to the lane's next, or the one before */

/* In sight, column by column: what the page divides a lane into. */
struct lane_window viewer_window(const struct viewer *viewer);
uint32_t viewer_column(const struct viewer *viewer, uint64_t time_ns);

/* ---------------------------------------------------------------- causes and rows */

void viewer_select_cause(struct viewer *viewer, size_t cause); /* shows where it was */
void viewer_select_row(struct viewer *viewer, size_t row);

/* The lane of a thread; one is made where there is none. */
void viewer_select_thread(struct viewer *viewer, uint32_t slot);

void viewer_rows_build(struct viewer *viewer); /* the rows, of what is shown and folded */
void viewer_toggle_row(struct viewer *viewer); /* fold or unfold the heading that is selected */
bool viewer_show_thread(struct viewer *viewer, uint32_t slot);

/* Kind 0 for a heading, 'o' for a lane of others. */
struct view_lane viewer_lane(const struct viewer_row *row);
const struct viewer_row *viewer_row(
	const struct viewer *viewer); /* the selected one, NULL = none */
struct viewer_spot viewer_spot(const struct viewer *viewer);

/*
 * Columns in which the selected cause was, or the chain that is shown leads through: of a thread's
 * states, or of anybody's (SLOT_NONE). Returns whether there are any.
 */
bool viewer_mark_columns(const struct viewer *viewer, uint32_t slot, bool *out_columns);

/* Does the cause, or the chain, concern the thread at all, in sight or not? */
bool viewer_is_concerned(const struct viewer *viewer, uint32_t slot);

/* ------------------------------------------------------------------------ chains */

void viewer_chain_show(struct viewer *viewer); /* of the cause, or of the wait at the cursor */
void viewer_chain_hide(struct viewer *viewer);
void viewer_chain_step(struct viewer *viewer, int by);
void viewer_chain_wait(struct viewer *viewer, int by); /* the next wait of the cause */

/* Ask for what the wait at the cursor was charged. Returns whether anything is new. */
bool viewer_settle(struct viewer *viewer);
/* The same in two steps. False: nothing is to be asked. */
bool viewer_settle_ask(struct viewer *viewer, struct verdict_ask *out_ask,
		       struct viewer_spot *out_spot);
/* The answer is the model's from now on; one of a wait that is looked at no more is dropped. */
void viewer_settle_take(struct viewer *viewer, const struct viewer_spot *spot,
			const struct explanation *answer);
const struct why *viewer_charged(const struct viewer *viewer); /* NULL = not known */

/* ------------------------------------------------------------------------ search */

void viewer_find(struct viewer *viewer);
void viewer_find_step(struct viewer *viewer, int by);

#endif
