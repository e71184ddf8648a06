/*
 * learn.h - a model out of good runs: which event came after which, and how long and how often.
 *
 *	learn_new();
 *	for each trace: learn_feed() each event ..., learn_end_trace()
 *	learn_finish()                      the machine is known
 *	for each trace: run a model of that machine over it, learn_take_values()
 *	learn_limits()                      so is what must hold
 *
 * The machine: a state is "this event came last". An event begins an instance when sequences of
 * keys begin with it, and ends one when nothing but such an event, or nothing at all, ever came
 * after it. So each state can be named after one event, and a person can read the machine.
 *
 * The limits: see learn_tail.c.
 *
 * One thread at a time.
 */
#ifndef ANALYSE_CHECK_LEARN_H
#define ANALYSE_CHECK_LEARN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/check/check_stats.h"

struct check_result;
struct err;
struct learn;
struct model;

#define LEARN_MAX_SYMBOLS 200u /* kinds of events */
#define LEARN_NONE	  UINT32_MAX
#define LEARN_TOP	  65u /* largest values that are kept */

/* How a model writes an event. */
enum learn_take {
	LEARN_EVENT,
	LEARN_SYSCALL,
};

/* What is measured on the way from one event to the next, and of instances as wholes. */
enum learn_class {
	LEARN_TIME,	  /* of a wait: below a floor it harms nobody */
	LEARN_TIME_TOTAL, /* elapsed: the others are parts of it */
	LEARN_COUNT,	  /* what a program does itself: the same each time, or not */
	LEARN_CHANCE,	  /* what happens to it: any number may be a bit larger */
};

struct learn_metric {
	const char *name; /* as in a model: "blocked(disk)" */
	enum learn_class class;
	bool is_whole; /* asked of whole instances, too */
};

extern const struct learn_metric learn_metrics[];
extern const uint32_t learn_metric_count;

/* What was seen of a metric. */
struct learn_value {
	struct check_stats stats;
	double top[LEARN_TOP]; /* the largest ones, largest first */
	uint32_t top_count;
	double *run_max; /* owned; the largest of each trace */
	size_t run_count, run_cap;
	uint64_t uncertain; /* values that are not known: left out */
	double limit;
	bool is_used; /* the limit says something */
};

struct learn_state {
	char *name;	 /* owned */
	uint32_t symbol; /* that came last; LEARN_NONE = initial */
	bool may_end;	 /* good runs ended here */
	uint64_t ended;	 /* so many */
};

struct learn_transition {
	uint32_t from, to; /* states */
	uint32_t symbol;
	uint64_t taken;
	struct learn_value *values; /* owned; learn_metric_count of them */
	struct learn_value
		*whole; /* owned; of those that are asked of whole instances; NULL = it ends none */
};

struct learned {
	struct learn_state *states; /* owned; the first one is the initial one */
	uint32_t state_count;
	struct learn_transition *transitions; /* owned; by state */
	uint32_t transition_count;
	uint64_t events, keys, traces;
	uint64_t instances; /* begun */
	uint64_t cut;	    /* sequences that did not begin with an event that begins others */
	uint64_t holes;
};

struct learn *learn_new(void);
void learn_free(struct learn *learn); /* NULL is fine */

/* The number of a kind of event; LEARN_NONE when there are too many. */
uint32_t learn_symbol(struct learn *learn, const char *name, enum learn_take take);
const char *learn_symbol_name(const struct learn *learn, uint32_t symbol);
enum learn_take learn_symbol_take(const struct learn *learn, uint32_t symbol);

/* The next event of the trace, and the key of the instance that it belongs to. */
void learn_feed(struct learn *learn, uint64_t key, uint32_t symbol);

/* No more events of this key: its thread ended. */
void learn_end_key(struct learn *learn, uint64_t key);

/* Events were lost: what came before and what comes behind belong to no sequence. */
void learn_hole(struct learn *learn);
void learn_end_trace(struct learn *learn);

/*
 * Make the machine. 'begins': names of events that begin instances; none = found out. Returns 0,
 * or -EINVAL with err filled when nothing was learned.
 */
int learn_finish(struct learn *learn, const char *const *begins, size_t begin_count,
		 struct err *err);

/* After learn_finish(). Owned by 'learn'. */
struct learned *learn_result(struct learn *learn);

/* Take what a model of this machine, whose transitions are in the same order, measured. */
void learn_take_values(struct learn *learn, const struct check_result *result);

/* What limits have on top of what is likely. */
struct learn_slack {
	double margin;	 /* 0.25 = a quarter more */
	double floor_ns; /* any time may be so much longer than the longest seen */
};

void learn_limits(struct learn *learn, const struct learn_slack *slack);

/*
 * A value above all those that 'learn_horizon' times as many further values will have, with
 * 'constraints' of that kind in a model; see learn_tail.c.
 */
#define LEARN_HORIZON 10
double learn_tail(const double *top, size_t top_count, uint64_t count, uint32_t constraints);

void learn_value_add(struct learn_value *value, double number);
void learn_value_fini(struct learn_value *value);

#endif
