/*
 * why.h - print the result of analyse/why/why.h, as text for people or as JSON.
 */
#ifndef REPORT_WHY_H
#define REPORT_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct why;
struct why_root;
struct why_wait;
struct facts;
struct stuck;

struct report_why_opts {
	bool json;
	bool colour;
	bool summary;		   /* the WIB summary tree */
	bool instances;		   /* the instances of each summary line */
	uint32_t instance_id;	   /* only this one; 0 = all */
	bool causality;		   /* the recursive blocking causality */
	uint32_t top;		   /* rows of the verdict and instances a line; 0 = default */
	bool code;		   /* whole stacks of waits */
	bool unfold;		   /* a row of the verdict for each root */
	bool lines;		   /* text: one line a result instead of the whole reports */
	bool processes;		   /* the results are of a process each */
	const struct stuck *stuck; /* what was so when the recording ended; NULL = not known */
	bool window_chosen;	   /* the user chose the window: say where it lies */
};

/*
 * Several results print one after the other; JSON becomes an array when 'count' > 1.
 * JSON holds all parts, whatever the options ask for.
 */
void report_why(FILE *out, const struct why *results, size_t count, const struct facts *facts,
		const struct report_why_opts *opts);

/*
 * The sentences of the text report, one by one: the first line, that of a root, and those of the
 * chain, which are indented by their depth. To be freed with free(). All but the first line have names
 * as they were recorded: who shows them escapes them.
 */
char *report_why_headline(const struct why *why, const struct facts *facts, bool window_chosen);
char *report_why_root(const struct why *why, const struct why_root *root);
char *report_why_wait(const struct why_wait *wait);
char *report_why_waker(const struct why_wait *wait);
size_t report_why_hops(const struct why *why);
char *report_why_hop(const struct why *why, size_t index);

#endif
