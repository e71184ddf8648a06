/*
 * go_take.h - the goroutines of the Go programs among processes that were looked at, without a recording.
 *
 * One child reads what their files say of Go's runtime, and then has nothing to lose; another reads their memory, which
 * may hang. Both are ended when they take too long. Nothing is stopped and nothing written to.
 */
#ifndef RECORD_GO_TAKE_H
#define RECORD_GO_TAKE_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct goroutines;
struct stuck;

/* What files say of Go's runtime, kept from one look to the next. */
struct go_layouts;

struct go_layouts *go_layouts_new(void);
uint64_t go_layouts_spent_ns(
	const struct go_layouts *layouts);	  /* CPU time of reading files, each once */
void go_layouts_free(struct go_layouts *layouts); /* NULL is fine */

struct go_wanted {
	int wait_ms;		    /* for what files say, and again for memory */
	struct go_layouts *layouts; /* not owned; NULL = each file is read */
	/* Only processes all of whose threads wait as Go's runtime lets them, and for which this holds; NULL = all. */
	bool (*is_wanted)(const void *context, int32_t tgid);
	const void *context;
};

/*
 * Of the processes that were asked for, right behind stuck_look(). Fills 'goroutines' (zeroed before); there are none
 * where there is no Go program, and of a program that could not be read it says why. Returns 0, or a negative errno with
 * err filled when it is not known which of them are Go programs. Free them with goroutines_fini() in any case.
 */
int go_take(const struct stuck *stuck, const struct go_wanted *wanted,
	    struct goroutines *goroutines, struct err *err);

#endif
