/*
 * why_int.h - what the files that print a struct why share.
 */
#ifndef REPORT_WHY_INT_H
#define REPORT_WHY_INT_H

#include <stdbool.h>
#include <stdio.h>

#include "analyse/why/why.h"
#include "analyse/why/fold.h"
#include "analyse/why/process.h"
#include "analyse/why/worst.h"
#include "base/text.h"
#include "event/facts.h"
#include "report/why.h"
#include "report/why_reason.h"

/* One text report being printed. */
struct page {
	FILE *out;
	const struct why *why;
	const struct facts *facts;
	const struct report_why_opts *opts;
	enum text_unit unit; /* of every column of times */
	bool of_process;     /* 'why' is of the thread that a process is told by */
};

#define TOP_DEFAULT 10

/* One more may be counted with. */
static inline uint32_t page_top(const struct page *page)
{
	uint32_t top = page->opts->top ? page->opts->top : TOP_DEFAULT;

	return top < UINT32_MAX ? top : UINT32_MAX - 1;
}

static inline uint64_t why_window_ns(const struct why *why)
{
	return why->end_ns - why->start_ns;
}

/* What the verdict adds up to: the window, its time in the class that was asked for, or of threads. */
static inline uint64_t why_verdict_ns(const struct why *why)
{
	return why->classes || why->process ? why->class_ns : why_window_ns(why);
}

/* What the states add up to: of a process the time of its threads. */
static inline uint64_t why_states_ns(const struct why *why)
{
	return why->working_ns + why->interrupted_ns + why->blocked_ns + why->uncertain_ns;
}

/* A heading: bold on a colour terminal. */
void page_heading(const struct page *page, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A sentence that grows: print to 'out' between the two calls. */
struct words {
	FILE *out;
	char *text;
	size_t bytes;
};

void words_begin(struct words *words);
char *words_end(struct words *words); /* free the result with free() */

/* Sentences. All return text to be freed with free(). */
char *words_thread(const struct why_thread *thread); /* "make[512]", "a thread" */
/* "unit nginx.service", "container 3f2a9b4c11d0 (docker)"; "" = none */
char *words_place(const struct why_person *person);
char *words_root(const struct why *why, const struct why_root *root);
char *words_row(const struct why *why, const struct why_row *row);
char *words_row_short(const struct why *why, const struct why_row *row);
char *words_root_short(const struct why *why, const struct why_root *root); /* no counts */
size_t words_hop_count(const struct why *why);				    /* hops worth telling */
char *words_hop(const struct why *why, size_t index);
/* Only what it reported, which is something, and who woke it. */
char *words_hop_told(const struct why_hop *hop);
char *words_wait(const struct why_wait *wait);
char *words_waker(const struct why_wait *wait);		/* "woken by make[512] in write" */
char *words_line(const struct why *why, uint32_t line); /* "Blocked > read > fd 3 = /etc/passwd" */

/*
 * why_code.c: "it waited in inflate_fast (libz.so.1), called by x", which begins with 'sleeping', or "at
 * work in ..."; "" = not known. Free it.
 */
char *words_codes(const struct facts *facts, const struct why_codes *codes, uint64_t ns,
		  const char *sleeping);
/* Below a root: what was done meanwhile, and where the target itself waited; "" = not known. Free them. */
char *words_root_done(const struct facts *facts, const struct why *why,
		      const struct why_root *root);
char *words_root_waited(const struct facts *facts, const struct why_root *root);
struct json;
/* Nothing where no stacks were recorded. */
void why_json_codes(struct json *json, const struct facts *facts, const char *key,
		    const struct why_codes *codes, uint64_t ns);
/* The same with the state, and without an id of the stack: where places of both are one list, and the report has no stacks. */
void why_json_places(struct json *json, const struct facts *facts, const char *key,
		     const struct why_codes *codes, uint64_t ns);
/* "waited_in", "code" and "code_seen" of a root. */
void why_json_root_code(struct json *json, const struct facts *facts, const struct why_root *root,
			bool has_stacks);
void why_json_stacks(struct json *json, const struct facts *facts, const struct why *why,
		     const struct why *details); /* those that both name */

/* One column of shares: tenths of percent of the window that add up. */
struct shares {
	uint64_t *permille; /* owned */
	uint64_t *places;   /* owned; in text_unit_place_ns() of the page's unit */
};

void shares_init(struct shares *shares, const struct page *page, const uint64_t *ns, size_t count);
void shares_fini(struct shares *shares);

/* "0.011 s"; "<0.001 s" for something that is not nothing. */
struct text place_text(uint64_t places, uint64_t ns, enum text_unit unit);

/* A span as a cell of a column in the page's unit. */
struct text page_duration(const struct page *page, uint64_t ns);

/* "+1.234567890 s": since the start of the window or of the recording. */
struct text page_since(uint64_t from_ns, uint64_t time_ns);

/* The parts of the text report, each with its heading. */
bool why_text_verdict(
	const struct page *page); /* why_verdict.c; true: many threads, told as one, are first */
void why_text_target(const struct page *page);	  /* why_people.c: the command, in the head */
void why_text_people(const struct page *page);	  /* why_people.c: the others that are named */
void why_text_code(const struct page *page);	  /* why_code.c: whole stacks */
void why_text_apart(const struct page *page);	  /* why_verdict.c: threads that only waited */
void why_text_held_most(const struct page *page); /* why_verdict.c: of a process, in the head */
void why_text_differing(const struct page *page); /* why_verdict.c: threads unlike the sum */
void why_text_worst(const struct page *page);	  /* why_verdict.c: the worst moment */
void why_text_summary(const struct page *page);	  /* why_tree.c */
void why_text_instances(const struct page *page); /* why_tree.c */
void why_text_causality(const struct page *page); /* why_tree.c */
void why_text_notes(const struct page *page);	  /* why_notes.c */
void why_text(const struct page *page);		  /* why_text.c */
void why_text_lines(FILE *out, const struct why *results, size_t count,
		    const struct report_why_opts *opts); /* why_lines.c */

/* 'stuck' is what was so at the end; NULL = not known. */
void why_json(FILE *out, const struct why *results, size_t count, const struct facts *facts,
	      const struct stuck *stuck);

/* Was it idle for another reason than that it waited for work, which the root has? */
bool why_words_is_parked(const struct why_root *root);

#endif
