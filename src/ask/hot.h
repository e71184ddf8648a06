/*
 * hot.h - which code had the CPU, or was waited in, in a trace on disk.
 */
#ifndef ASK_HOT_H
#define ASK_HOT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/profile/functions.h"
#include "analyse/profile/hot.h"
#include "ask/beside.h"
#include "ask/loaded.h"
#include "ask/target.h"
#include "ask/window.h"

struct err;

struct hot_ask_opts {
	struct when from, to;
	struct target_opts target; /* zeroed: what was sampled; of the verdict: the command */
	enum hot_by by;
	uint32_t states; /* HOT_... */
	bool waits;
	bool native;
	enum hot_tree_kind tree;
	bool of_verdict;
	struct load_opts load;
};

/* Zeroed is empty. */
struct hot_asked {
	struct loaded loaded; /* owned */
	struct hot hot;	      /* owned */
	enum hot_scope scope;
	char *note; /* owned; on window and threads, for the user; NULL = none */
};

/* Returns 0 (free with hot_asked_fini()), or a negative errno with err filled. */
int hot_ask(const char *path, const struct hot_ask_opts *opts, struct hot_asked *out_asked,
	    struct err *err);

/*
 * The threads that are meant when none are chosen, and the window. Returns 0 (free the targets), or a
 * negative errno with err filled.
 */
int hot_default(const struct loaded *loaded, const struct when *from, const struct when *to,
		struct hot_opts *out_opts, struct targets *out_targets, struct err *err);

void hot_asked_fini(struct hot_asked *asked);

struct functions_ask_opts {
	struct when from, to;
	struct target_opts target; /* zeroed: what was sampled */
	enum functions_sort sort;
	struct load_opts load;
};

/* Zeroed is empty. */
struct functions_asked {
	struct loaded loaded;	    /* owned */
	struct functions functions; /* owned */
	enum hot_scope scope;
};

/*
 * At work and waiting, by function, of the threads and the window of hot_ask(). Returns 0 (free with
 * functions_asked_fini()), or a negative errno with err filled.
 */
int functions_ask(const char *path, const struct functions_ask_opts *opts,
		  struct functions_asked *out_asked, struct err *err);

void functions_asked_fini(struct functions_asked *asked);

#endif
