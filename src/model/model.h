/*
 * model.h - a state machine over events with constraints, as tables.
 *
 * What the text of a model may say is in docs/model.md and docs/model.schema.json. Names of events and
 * fields are not looked up here: that needs a trace.
 *
 * Read-only once made: any number of threads may use it.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/metric.h"

struct err;

/* Of hostile models. */
#define MODEL_MAX_BYTES	      ((size_t)4 << 20)
#define MODEL_MAX_STATES      1024u
#define MODEL_MAX_TRANSITIONS 4096u
#define MODEL_MAX_VARIABLES   256u
#define MODEL_MAX_OPS	      64u /* of one expression */
#define MODEL_MAX_ERRORS      32u

/* Where something stands in the text, from 1; 0 = nowhere. */
struct model_place {
	uint32_t line;
	uint32_t column;
};

enum model_unit {
	UNIT_ANY, /* of the trace: not known here */
	UNIT_PLAIN,
	UNIT_TIME, /* ns */
	UNIT_BYTES,
};

enum model_op_kind {
	OP_NUMBER,
	OP_SHARE, /* number = a part of the span of the constraint: 0.1 */
	OP_VARIABLE,
	OP_FIELD,
	OP_TIME, /* of the event, ns */
	OP_CPU,
	OP_TID,
	OP_ADD,
	OP_SUBTRACT,
	OP_MULTIPLY,
	OP_DIVIDE,
	OP_NEGATE,
};

struct model_op {
	enum model_op_kind kind;
	uint32_t index; /* OP_VARIABLE, OP_FIELD */
	double number;
};

/* An expression in postfix order. */
struct model_expr {
	struct model_op *ops; /* owned */
	uint32_t count;
	enum model_unit unit;
};

enum model_compare {
	CMP_EQUAL,
	CMP_DIFFERS,
	CMP_BELOW,
	CMP_AT_MOST,
	CMP_ABOVE,
	CMP_AT_LEAST,
};

struct model_constraint {
	char *text; /* owned; as it is shown */
	struct model_place place;
	struct model_expr left, right;
	enum model_compare compare;
	uint32_t subject; /* the variable whose value is reported; UINT32_MAX = none */
};

/*
 * A variable is a value, which transitions set, or a metric, which runs from where it is
 * started. One without a name in the file is started by every transition.
 */
struct model_variable {
	char *name; /* owned; "elapsed", "blocked(disk)" */
	struct model_place place;
	bool is_metric;
	bool is_auto;	 /* runs since the state was entered */
	uint32_t metric; /* index into metrics[] */
	enum model_unit unit;
};

enum model_take {
	TAKE_EVENT,	   /* by name: "system:event", "event"; '*' and '?' stand for others */
	TAKE_SYSCALL,	   /* a call begins */
	TAKE_SYSCALL_EXIT, /* it ends */
};

enum model_key {
	KEY_THREAD,
	KEY_PROCESS,
	KEY_CPU,
	KEY_ALL, /* one for the whole trace */
	KEY_FIELD,
};

/* Events that are one to the model: of one name, filter and key. */
struct model_pattern {
	enum model_take take;
	enum model_key key;
	char *name;	/* owned */
	char *filter;	/* owned; NULL = none */
	uint32_t field; /* KEY_FIELD: index into fields[] */
	struct model_place place;
	struct model_place filter_place;
};

struct model_set {
	uint32_t variable;
	struct model_expr value;
};

struct model_transition {
	uint32_t from, to; /* states */
	uint32_t pattern;
	struct model_place place;
	uint32_t *starts; /* owned; variables that are metrics */
	uint32_t start_count;
	struct model_set *sets; /* owned */
	uint32_t set_count;
	struct model_constraint *constraints; /* owned */
	uint32_t constraint_count;
};

struct model_state {
	char *name; /* owned */
	struct model_place place;
	bool is_final; /* an instance that comes here has ended */
	bool may_end;  /* a trace may end here: no deadline is missed by that */
};

struct model_field {
	char *name;		  /* owned */
	struct model_place place; /* of its first use */
};

struct model {
	char *name;	   /* owned */
	char *description; /* owned; "" = none */
	bool is_overlap;   /* each event that can begin an instance begins one */
	bool is_strict;	   /* an event that the state has no transition for is a violation */
	uint32_t initial;

	struct model_state *states;
	uint32_t state_count;
	struct model_transition *transitions; /* in the order of the file */
	uint32_t transition_count;
	struct model_pattern *patterns;
	uint32_t pattern_count;
	struct model_variable *variables;
	uint32_t variable_count;
	struct model_metric *metrics;
	uint32_t metric_count;
	struct model_field *fields;
	uint32_t field_count;
	size_t state_cap, transition_cap, pattern_cap, variable_cap, metric_cap, field_cap;
};

/* What is wrong with a model: at least one, in the order they were found. */
struct model_errors {
	struct {
		struct model_place place;
		char *text; /* owned */
	} items[MODEL_MAX_ERRORS];
	uint32_t count;
	uint32_t more; /* that were not kept */
};

void model_errors_fini(struct model_errors *errors);
void model_errors_add(struct model_errors *errors, struct model_place place, const char *format,
		      ...) __attribute__((format(printf, 3, 4)));

/*
 * Understand a text of 'bytes' bytes. Returns 0 and *out_model (free with model_free()), or
 * -EINVAL with every mistake in errors, which the caller frees in any case.
 */
int model_parse(const char *text, size_t bytes, struct model **out_model,
		struct model_errors *errors);

/*
 * The same of a file. Negative, with err filled, when it cannot be read; -EINVAL with errors
 * filled when it is no model.
 */
int model_load(const char *path, struct model **out_model, struct model_errors *errors,
	       struct err *err);

void model_free(struct model *model); /* NULL is fine */

/* Does it need to know what threads did, or is the program's own clock enough? */
bool model_asks_kernel(const struct model *model);

/*
 * Add a constraint that always holds to each transition but those out of the initial state, so that
 * the time in the state before it is measured. Returns the variable that does, or UINT32_MAX: the model has too many.
 */
uint32_t model_measure_elapsed(struct model *model);

#endif
