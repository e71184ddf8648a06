/* check_int.h - what the parts of the check share. */
#ifndef ANALYSE_CHECK_CHECK_INT_H
#define ANALYSE_CHECK_CHECK_INT_H

#include "analyse/check/check.h"
#include "base/map.h"
#include "model/model.h"
#include "timeline/timeline.h"

#define NONE UINT32_MAX

/* ---------------------------------------------------------------- metrics */

/*
 * The metrics of a model, added up for one thread from the start of the trace to some time.
 * Two such sums, subtracted, are the span between.
 */
struct check_sums {
	uint64_t *values;    /* by metric of the model; NULL = not asked yet */
	uint64_t unsure_ns;  /* time in which the thread's state is not known */
	uint64_t blurred_ns; /* on a CPU, in its own code or the kernel's */
	uint64_t vague_ns;   /* in a system call or not: with interrupts and waits on the way */
	uint64_t rss_jump;   /* see check_rss_at() */
	uint64_t untold_ns;  /* asleep, of a kind that is not known */
	uint64_t time_ns;
	uint32_t slot;
	int32_t tid;
	bool known;
	bool has_rss; /* it is known which address space it has */
};

/* Time in which it is not known whether it was of the metric; of those that tell modes apart. */
static inline uint64_t check_sums_blurred(const struct check_sums *sums, enum metric_kind kind)
{
	return kind == METRIC_IN_SYSCALLS ? sums->vague_ns : sums->blurred_ns;
}

/* What threads told of their locks. */
struct check_locks;
struct check_locks *check_locks_new(void);
void check_locks_free(struct check_locks *locks); /* NULL is fine */

/* EV_USER_LOCK of a thread of process 'tgid'; -1 = not known. */
void check_locks_feed(struct check_locks *locks, const struct event *event, int32_t tgid);
void check_locks_exit(struct check_locks *locks, int32_t tid, uint64_t time_ns);

/* Does the process tell, when 'is_held' of holds, too? -1 = not known which: does any? */
bool check_locks_tell(const struct check_locks *locks, int32_t tgid, bool is_held);

/* Time from the start in which the thread held a lock, or waited for one. */
uint64_t check_locks_at(struct check_locks *locks, int32_t tid, uint64_t time_ns, bool is_held);

/* The resident memory of processes. */
struct check_rss;
struct check_rss *check_rss_new(void);
void check_rss_free(struct check_rss *rss); /* NULL is fine */

struct check_holes;
/* 'tgid': process of the event's thread; -1 = not known. 'holes': of the kernel's events. */
void check_rss_feed(struct check_rss *rss, const struct check_resident *resident, int32_t tgid,
		    uint64_t time_ns, const struct check_holes *holes);

/*
 * How large it is now. False: which address space the process has is not known. *out_jump differs
 * at two times when what lies between the two values of then is not known.
 */
bool check_rss_at(const struct check_rss *rss, int32_t tgid, uint64_t *out_bytes,
		  uint64_t *out_jump);

/* Parts of the trace in which events were lost. */
struct check_holes {
	struct check_hole *list; /* owned; by their ends; since_ns: of it and all later ones */
	size_t count, cap;
	uint64_t last_ns; /* end of the last one that came by */
};

/* 'all' may hold those of others, too. */
void check_holes_init(struct check_holes *holes, const struct check_hole *all, size_t count,
		      bool is_user);
void check_holes_fini(struct check_holes *holes);

/* One that ends last of all. What came by long ago is forgotten but for the end of the last one. */
void check_holes_add(struct check_holes *holes, const struct check_hole *hole);

/* Did it touch (start, end)? *out_until_ns: end of the last one, cut to the span. */
bool check_holes_between(const struct check_holes *holes, uint64_t start_ns, uint64_t end_ns,
			 uint64_t *out_until_ns);

/* Of a thread: its sums grow evenly until its state changes. */
struct check_pace {
	const struct timeline *timeline; /* what it was taken from; NULL = nothing */
	uint64_t events;		 /* that the timeline had then */
	uint32_t slot;
	bool is_unsure, is_blurred, is_vague, is_untold; /* these grow */
	uint64_t from_ns, until_ns;
	uint64_t unsure_ns, blurred_ns, vague_ns, untold_ns; /* as the values, up to from_ns */
	struct check_growth {
		uint64_t value;
		bool grows;
	} * growths; /* view; by metric */
};

struct check_metrics {
	const struct model *model;
	const struct timeline *timeline;
	const struct facts *facts;
	const char *const *missing;
	bool wants_timeline;
	bool wants_events;
	struct tl_sums **sums; /* owned; by slot; NULL = not asked lately */
	uint32_t sum_count;
	uint32_t *lately; /* owned; slots whose sums are kept, in a ring */
	uint32_t lately_at;
	struct check_pace *paces;     /* owned; by slot, modulo */
	struct check_growth *growths; /* owned; of all paces */
	/* By metric: what it is about; -1 = none of that name. */
	struct check_number {
		int32_t number;		/* of the system call or the wait */
		int32_t compat;		/* of the call in the 32-bit table, as in TOTAL_CALL */
	} * numbers;			/* owned */
	const struct metric_row **rows; /* owned; by metric */
	uint8_t *transfers;		/* owned; by system call: see check_metrics.c */
	struct map counters;		/* tid -> index into counts[] + 1 */
	uint64_t (*counts)[METRIC_KIND_COUNT]; /* owned */
	size_t count_count, count_cap;
	struct check_locks *locks;   /* owned; NULL = no metric is about them */
	struct check_rss *rss;	     /* owned; NULL = no metric is about it */
	struct check_holes holes[2]; /* in the events of the kernel, and of programs */
	bool has_holes;
	bool took[2];	    /* the model takes events of the kernel, of programs */
	bool is_live;	    /* what a wait that is under way is for is not known yet */
	bool is_one_thread; /* the key of all events is their thread */
};

void check_metrics_init(struct check_metrics *metrics, const struct model *model,
			const struct check_opts *opts);
void check_metrics_fini(struct check_metrics *metrics);

/* The timeline is another one: what is kept of its threads is not that of the new one's. */
void check_metrics_forget(struct check_metrics *metrics);

/* Count what the timeline does not. */
void check_metrics_count(struct check_metrics *metrics, const struct event *event);

/* Count what the engine cannot see in the event itself. */
void check_metrics_add(struct check_metrics *metrics, int32_t tid, enum metric_kind kind,
		       uint64_t amount);

/* The sums of a thread up to 'time_ns'. Times never go back. 'out_sums->values' is the caller's. */
void check_metrics_at(struct check_metrics *metrics, uint32_t slot, int32_t tid, uint64_t time_ns,
		      struct check_sums *out_sums);

/* ------------------------------------------------------------- evaluation */

/* A variable of an instance. */
struct check_variable {
	long double value; /* of values */
	uint64_t base;	   /* of metrics: the sum when it was started */
	uint64_t base_unsure_ns;
	uint64_t base_blurred_ns;
	uint64_t base_rss_jump;
	uint64_t base_untold_ns;
	uint64_t start_ns;
	bool is_set;   /* set or started */
	bool is_known; /* of values */
};

struct check_eval {
	const struct check_metrics *metrics;
	const struct check_reader *reader; /* NULL = there is no event at hand */
	const struct event *event;
	const struct check_variable *variables;
	const struct check_sums *now;
	uint64_t time_ns;			   /* at which it is asked */
	uint32_t slot;				   /* of the instance's thread */
	uint64_t entered_ns;			   /* the state was entered */
	const struct model_constraint *constraint; /* shares are of its span; NULL = of the state */
	struct check_reason reason;
};

struct eval_range {
	long double low, high;
};

struct eval_range check_eval_variable(struct check_eval *eval, uint32_t variable);
struct eval_range check_eval_expr(struct check_eval *eval, const struct model_expr *expr);

/* Is the variable a metric that is known exactly? */
bool check_eval_exact(const struct check_eval *eval, uint32_t variable, uint64_t *out_value);

/*
 * The status, and both sides unless it is valid. Sets eval->reason when it is uncertain.
 */
enum check_status check_eval_constraint(struct check_eval *eval,
					const struct model_constraint *constraint,
					struct eval_range *out_left, struct eval_range *out_right);

/* Were events lost since 'start_ns' that the instance could have taken? */
bool check_eval_lost_way(const struct check_eval *eval, uint64_t start_ns, uint64_t *out_until_ns);

/* Where the span begins that a constraint is about. */
uint64_t check_eval_start(const struct check_eval *eval, const struct model_constraint *constraint);

/* ------------------------------------------------------------------ whole */

struct instance {
	struct instance *same_key;	/* next one of the same key; of unused ones, the next one */
	struct instance *before_key;	/* the other way */
	struct instance *older, *newer; /* in the order of their last event */
	uint64_t key;
	char *key_text; /* owned; NULL = the number says it */
	uint64_t number;
	uint64_t begin_ns;
	uint64_t entered_ns;
	uint64_t known_ns;   /* 'phase' is of then */
	uint64_t last_event; /* number of the event that it took last */
	uint64_t transitions;
	uint32_t state;
	uint32_t slot;
	int32_t tid;
	uint32_t phase; /* see check_phase.c */
	uint8_t status;
	bool is_guess; /* it may have gone another way: nothing that is found from then on is sure */
	struct check_variable variables[];
};

/* What a transition has to do. */
struct check_plan {
	bool asks;	 /* its constraints, or values that are told of, need sums */
	bool starts;	 /* so does what it starts */
	uint32_t *autos; /* owned; variables that it starts without being told to */
	uint32_t auto_count;
};

struct check {
	const struct model *model;
	struct check_opts opts;
	struct check_metrics metrics;
	struct check_result result;
	struct map by_key; /* key -> struct instance * */
	struct instance *oldest, *newest;
	size_t open_count, open_max;
	size_t instance_bytes;
	struct instance *unused;
	char **blocks; /* owned; of instances */
	size_t block_count, block_cap;
	struct check_plan *plans; /* owned; by transition */
	bool has_sums;		  /* a variable is more than the difference of two times */
	uint16_t *next; /* owned; [state * patterns + pattern]: transition + 1; 0 = none */
	struct check_phases *phases; /* owned */
	bool is_alone; /* one pattern only matches the event at hand; asked for in doubt only */
	struct map unexpected;		    /* state << 32 | pattern -> count */
	struct check_sums now, other;	    /* buffers for two threads */
	uint32_t found[CHECK_STATUS_COUNT]; /* findings kept */
	uint64_t seed;			    /* of the samples */
};

/* The transition that the pattern takes out of the state, or NONE. */
static inline uint32_t check_next(const struct check *check, uint32_t state, uint32_t pattern)
{
	return (uint32_t)check->next[(size_t)state * check->model->pattern_count + pattern] - 1;
}

/* A finding that no constraint is behind, but the state that the instance is in. */
void check_find(struct check *check, struct instance *instance, enum check_status status,
		uint64_t time_ns, struct check_reason reason);

/* Were events lost since it entered its state that could have been its own? That is one. */
bool check_has_lost_way(const struct check *check, const struct instance *instance,
			uint64_t time_ns);
void check_find_lost_way(struct check *check, struct instance *instance, uint64_t time_ns);

/* The sums of a thread; the same ones are not asked for twice. */
void check_sums_at(struct check *check, uint32_t slot, int32_t tid, uint64_t time_ns,
		   struct check_sums *sums);

/*
 * Is a deadline missed at 'time_ns', whatever way the instance goes on? The first way, and its
 * first such constraint.
 */
bool check_is_late(struct check *check, const struct instance *instance, uint64_t time_ns,
		   uint32_t *out_transition, uint32_t *out_constraint);

/*
 * The instance goes on in another thread, or its thread in other sums: what was measured so far is
 * kept, and goes on from 'to'.
 */
void check_move_variables(const struct check *check, struct instance *instance,
			  const struct check_sums *from, const struct check_sums *to);

/* ------------------------------------------------- states after losses */

struct check_phases;
struct check_phases *check_phases_new(const struct model *model);
void check_phases_free(struct check_phases *phases); /* NULL is fine */

/*
 * Sets of states that a key may be in, by number. With 'instances: overlap' they are those of
 * instances that are not known of; the initial one stands for none.
 */
#define PHASE_BELIEVED 0u /* the one that the engine has it in */
#define PHASE_ANY      1u

/* Is there a key of which that may not be the believed one? */
bool check_phase_in_doubt(const struct check *check);

/* The set just before 'time_ns'. 'instance': the open one of the key, or NULL. */
uint32_t check_phase_at(const struct check *check, uint64_t key, const struct instance *instance,
			uint64_t time_ns);
void check_phase_keep(struct check *check, uint64_t key, struct instance *instance, uint32_t set,
		      uint64_t time_ns);

/* What becomes of the key is not followed any more. */
void check_phase_forget(struct check *check, uint64_t key);

/* The pattern came in a state that has no transition for it, for sure. */
void check_phase_stray(struct check *check, uint32_t pattern);

/* An event of a key. */
struct check_coming {
	uint32_t pattern;
	uint32_t believed; /* state */
	bool is_alone;	   /* the event matches no other pattern */
	bool is_overlap;   /* the set is of several instances */
	bool is_known;	   /* what it begins is known of */
};

/* Of the states that were possible before the event, and are when it comes. */
struct check_ways {
	uint32_t count, takers; /* so many, and so many of them that have a transition for it */
	bool has_believed, has_initial;
};

void check_phase_step(struct check *check, const struct check_coming *coming, uint32_t set,
		      struct check_ways *out_ways);

/* The set after that step; 'believed': the state the engine has the key in then. */
uint32_t check_phase_after(struct check *check, uint32_t believed);

/* Does any of the set but the initial state take the pattern? */
bool check_phase_may_take(struct check *check, uint32_t set, uint32_t pattern);

void check_plan_init(struct check *check);
void check_plan_fini(struct check *check);

/* 'open_bytes': memory for open instances. */
void check_instances_init(struct check *check, size_t open_bytes);
void check_instances_fini(struct check *check);

/* The newest open one of the key, or NULL; then its same_key. */
struct instance *check_instance_first(struct check *check, uint64_t key);

/* A new one in the initial state. When there is no room, the oldest is given up. */
struct instance *check_instance_add(struct check *check, uint64_t key, uint64_t time_ns);
void check_instance_end(struct check *check, struct instance *instance, enum check_end end,
			uint64_t end_ns);

/* It was heard of. */
void check_instance_renew(struct check *check, struct instance *instance);

char *check_instance_key(const struct instance *instance); /* for people; to be freed */

void check_finish_result(struct check *check);
void check_result_fini(struct check_result *result);

#endif
