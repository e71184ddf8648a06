/* check_int.h - what the parts of the check share. */
#ifndef ANALYSE_CHECK_INT_H
#define ANALYSE_CHECK_INT_H

#include "analyse/check.h"
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
	uint64_t *values;   /* by metric of the model; NULL = not asked yet */
	uint64_t unsure_ns; /* time in which the thread's state is not known */
	uint64_t time_ns;
	uint32_t slot;
	int32_t tid;
	bool known;
};

/* Why a metric cannot be told for a span. */
struct check_metrics {
	const struct model *model;
	const struct timeline *timeline;
	const struct facts *facts;
	const char *const *missing;
	bool wants_timeline;
	bool wants_events;
	struct tl_sums **sums; /* owned; by slot */
	uint32_t sum_count;
	int32_t *
		numbers; /* owned; by metric: of the system call or the wait it is about; -1 = none */
	struct map counters;		       /* tid -> index into counts[] + 1 */
	uint64_t (*counts)[METRIC_KIND_COUNT]; /* owned */
	size_t count_count, count_cap;
	uint64_t hole_ns; /* end of the last hole in the kernel's events; 0 = none */
};

void check_metrics_init(struct check_metrics *metrics, const struct model *model,
			const struct check_opts *opts);
void check_metrics_fini(struct check_metrics *metrics);

/* Count what the timeline does not. */
void check_metrics_count(struct check_metrics *metrics, const struct event *event);

/* The sums of a thread up to 'time_ns'. Times never go back. 'out_sums->values' is the caller's. */
void check_metrics_at(struct check_metrics *metrics, uint32_t slot, int32_t tid, uint64_t time_ns,
		      struct check_sums *out_sums);

/* ------------------------------------------------------------- evaluation */

/* A variable of an instance. */
struct check_variable {
	long double value; /* of values */
	uint64_t base;	   /* of metrics: the sum when it was started */
	uint64_t base_unsure_ns;
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
	uint64_t entered_ns; /* the state was entered */
	char reason[160];    /* why a value is a range; "" = none is */
};

struct eval_range {
	long double low, high;
};

struct eval_range check_eval_variable(struct check_eval *eval, uint32_t variable);
struct eval_range check_eval_expr(struct check_eval *eval, const struct model_expr *expr,
				  uint64_t span_ns);

/* Both sides and the status. Sets eval->reason when it is uncertain. */
enum check_status check_eval_constraint(struct check_eval *eval,
					const struct model_constraint *constraint,
					struct eval_range *out_left, struct eval_range *out_right);

/* Where the span begins that a constraint is about. */
uint64_t check_eval_start(const struct check_eval *eval, const struct model_constraint *constraint);

/* ------------------------------------------------------------------ whole */

struct instance {
	struct instance *same_key;	/* next one of the same key */
	struct instance *older, *newer; /* in the order of their last event */
	uint64_t key;
	char *key_text; /* owned; NULL = the number says it */
	uint64_t number;
	uint64_t begin_ns;
	uint64_t entered_ns;
	uint64_t last_event; /* number of the event that it took last */
	uint64_t transitions;
	uint32_t state;
	uint32_t slot;
	int32_t tid;
	uint8_t status;
	struct check_variable variables[];
};

struct check {
	const struct model *model;
	struct check_opts opts;
	struct check_metrics metrics;
	struct check_result result;
	struct map by_key; /* key -> struct instance * */
	struct instance *oldest, *newest;
	size_t open_count, open_max;
	uint16_t *next;	       /* owned; [state * patterns + pattern]: transition + 1; 0 = none */
	struct map unexpected; /* state << 32 | pattern -> count */
	struct check_sums now, other;	       /* buffers for two threads */
	uint64_t kernel_hole_ns, user_hole_ns; /* ends of the last holes */
	uint64_t kernel_lost, user_lost;
	uint32_t found[CHECK_STATUS_COUNT]; /* findings kept */
	bool has_thread_key;
	uint64_t seed; /* of the samples */
};

/*
 * Is a deadline missed, whatever way the instance goes on? Of the first way, its first such
 * constraint. The time is that of check->now.
 */
bool check_is_late(struct check *check, const struct instance *instance, uint32_t *out_transition,
		   uint32_t *out_constraint);

void check_finish_result(struct check *check);
void check_result_fini(struct check_result *result);

#endif
