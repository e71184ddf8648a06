/*
 * names_load.h - open and load what is needed of holdup.bpf.c.
 */
#ifndef RECORD_NAMES_LOAD_H
#define RECORD_NAMES_LOAD_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_object;
struct err;
struct raw_control;

/* Its programs. The last two are good to have beside the others, where the kernel takes them. */
#define NAMES_SINGLE_CALLS "on_one_exit"
#define NAMES_BLOCKS	   "on_block"
#define NAMES_OF_BLOCKS	   "on_block_named" /* of them, what descriptors name, and nothing else */
#define NAMES_THREADS	   "on_each_task"
#define NAMES_THREADS_LEAN "on_each_task_lean" /* the same, with NAMES_BLOCKS alone */
#define NAMES_BIRTHS	   "on_new_task"

/* When set, as before Linux 6.2. */
#define NAMES_NO_CAST "HOLDUP_NO_CAST"

/* What the program is loaded for. */
struct names_load {
	const char *name;
	bool with_threads;
	uint64_t keep_bytes; /* 0 = for a recording */
	const char *also;    /* NAMES_BLOCKS, for later, or NAMES_OF_BLOCKS; NULL = nothing */
};

/*
 * On success *out_object is the caller's to close; 'no_threads' says why the programs of all threads were refused,
 * if they were. Returns 0, or a negative errno with err filled.
 */
int names_load(const struct names_load *what, struct bpf_object **out_object,
	       struct err *no_threads, struct err *err);

/*
 * Without it nobody tells what poll watches. Returns the link of the look at all threads, or -1: then 'no_threads' says
 * why, if it did not yet.
 */
int names_attach_threads(struct bpf_object *object, bool is_lean, struct err *no_threads);

/* Which calls are looked at, and that ours are not. */
void names_set_control(struct raw_control *control);

/* What the kernel's refusal means: fills err. Returns 'rc', or what it stands for. */
int names_load_failed(struct err *err, int rc);

#endif
