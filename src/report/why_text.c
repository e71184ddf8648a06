/*
 * why_text.c - the text report: the conclusion, the chain, and one line per thread.
 *
 * Rounded numbers of one column are apportioned (text_apportion()), so that what
 * the reader adds up is what stands under the line.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/terminal.h"
#include "report/table.h"
#include "report/why_int.h"

#define TOLD_LEAST 50 /* a hold-up of less than one in so many parts is not told in the head */
#define HOPS_TOLD  8  /* so many alike, one after the other, are told by the first and the last */

static void set_bold(FILE *out, bool colour)
{
	if (colour)
		terminal_codes(out, "\033[1m");
}

static void set_plain(FILE *out, bool colour)
{
	if (colour)
		terminal_codes(out, "\033[0m");
}

void page_heading(const struct page *page, const char *format, ...)
{
	va_list args;

	fputc('\n', page->out);
	set_bold(page->out, page->opts->colour);
	va_start(args, format);
	vfprintf(page->out, format, args);
	va_end(args);
	set_plain(page->out, page->opts->colour);
	fputc('\n', page->out);
}

void shares_init(struct shares *shares, const struct page *page, const uint64_t *ns, size_t count)
{
	uint64_t place_ns = text_unit_place_ns(page->unit);
	uint64_t whole = 0;

	for (size_t i = 0; i < count; i++)
		whole += ns[i];
	shares->permille = xcalloc(count, sizeof(*shares->permille));
	shares->places = xcalloc(count, sizeof(*shares->places));
	text_apportion(ns, count, 1000, shares->permille);
	text_apportion(ns, count, (whole + place_ns / 2) / place_ns, shares->places);
}

void shares_fini(struct shares *shares)
{
	free(shares->permille);
	free(shares->places);
}

struct text place_text(uint64_t places, uint64_t ns, enum text_unit unit)
{
	static const struct text small[] = { { "<0.001 us" }, { "<0.001 ms" }, { "<0.001 s" } };

	return places == 0 && ns > 0 ? small[unit] : text_thousandths(places, unit);
}

struct text page_duration(const struct page *page, uint64_t ns)
{
	uint64_t place_ns = text_unit_place_ns(page->unit);

	return place_text(ns / place_ns + (ns % place_ns >= place_ns - place_ns / 2), ns,
			  page->unit);
}

struct text page_since(uint64_t from_ns, uint64_t time_ns)
{
	uint64_t ns = time_ns >= from_ns ? time_ns - from_ns : from_ns - time_ns;
	struct text text;

	(void)snprintf(text.s, sizeof(text.s), "%c%" PRIu64 ".%09" PRIu64 " s",
		       time_ns >= from_ns ? '+' : '-', ns / 1000000000u, ns % 1000000000u);
	return text;
}

/* Working, interrupted, blocked, uncertain: in this order everywhere. */
enum part {
	PART_WORKING,
	PART_INTERRUPTED,
	PART_BLOCKED,
	PART_UNCERTAIN,
	PART_COUNT
};

static void parts_of(const struct why *why, uint64_t parts[PART_COUNT])
{
	parts[PART_WORKING] = why->working_ns;
	parts[PART_INTERRUPTED] = why->interrupted_ns;
	parts[PART_BLOCKED] = why->blocked_ns;
	parts[PART_UNCERTAIN] = why->uncertain_ns;
}

static struct text share_text(const struct shares *shares, const uint64_t *ns, size_t i)
{
	return text_permille(shares->permille[i], ns[i] > 0);
}

/* ", 31 threads, of which 4 did more than wait, for 8.00 s together" */
static char *crowd_text(const struct why *why)
{
	const struct why_process *process = why->process;
	AUTO_FREE char *of = process->added < process->threads
				     ? xasprintf(", %zu of them active", process->added)
				     : xstrdup("");

	return xasprintf(", %zu thread%s%s, %s together", process->threads,
			 process->threads == 1 ? "" : "s", of, text_duration(why_states_ns(why)).s);
}

static char *headline(const struct page *page)
{
	const struct why *why = page->why;
	bool whole = !page->opts->window_chosen && why->target.tid == page->facts->target_tid;
	AUTO_FREE char *name = words_thread(&why->target);
	AUTO_FREE char *safe = text_escaped(name);
	AUTO_FREE char *crowd = NULL;
	char *line;
	uint64_t parts[PART_COUNT];
	struct shares shares;

	parts_of(why, parts);
	shares_init(&shares, page, parts, PART_COUNT);
	crowd = why->process ? crowd_text(why) : xstrdup("");
	line = xasprintf("%s %s %s%s: working %s, interrupted %s, blocked %s, uncertain %s", safe,
			 whole ? "took" : "in", text_duration(why_window_ns(why)).s, crowd,
			 share_text(&shares, parts, PART_WORKING).s,
			 share_text(&shares, parts, PART_INTERRUPTED).s,
			 share_text(&shares, parts, PART_BLOCKED).s,
			 share_text(&shares, parts, PART_UNCERTAIN).s);
	shares_fini(&shares);
	return line;
}

static void print_headline(const struct page *page)
{
	AUTO_FREE char *line = headline(page);

	set_bold(page->out, page->opts->colour);
	table_wrap(page->out, line, 0);
	set_plain(page->out, page->opts->colour);
}

/* What the time went to, from the target's point of view. */
struct plain {
	uint64_t ns;
	const char *words;
};

static void print_plain(const struct page *page, const struct plain *plains, size_t count)
{
	uint64_t window_ns = why_states_ns(page->why);
	AUTO_FREE char *text = NULL;
	struct words words;
	size_t most = 0;

	for (size_t i = 1; i < count; i++) {
		if (plains[i].ns > plains[most].ns)
			most = i;
	}
	words_begin(&words);
	fprintf(words.out, "Mostly %s: %s", plains[most].words, text_duration(plains[most].ns).s);
	for (size_t i = 0; i < count; i++) {
		if (i != most && plains[i].ns > 0 && plains[i].ns >= window_ns / 100)
			fprintf(words.out, "; %s: %s", plains[i].words,
				text_duration(plains[i].ns).s);
	}
	fputc('.', words.out);
	text = words_end(&words);
	fputs("  ", page->out);
	table_wrap(page->out, text, 2);
}

/* Of the time held up: in its own waits that what was awaited did not end. */
static uint64_t stuck_ns(const struct why *why)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < why->root_count && !why->classes; i++) {
		if (why->roots[i].kind == WHY_STUCK && why->roots[i].class == WHY_HELD_UP &&
		    (why->process ? why->roots[i].who.tgid == why->target.tgid
				  : why->roots[i].who.tid == why->target.tid))
			ns += why->roots[i].ns;
	}
	return ns;
}

static bool is_timed_out(const struct why_root *root)
{
	return root->timed_out;
}

/*
 * Of the time that it asked for, that of such roots: waits for something, with a limit that ran out; waits that a timer
 * ended, of which no more is known.
 */
static uint64_t asked_ns(const struct why *why, bool (*is_it)(const struct why_root *root))
{
	uint64_t ns = 0;

	for (size_t i = 0; i < why->root_count && !why->classes; i++) {
		bool own = why->process || why->roots[i].who.tid == why->target.tid;

		if (own && is_it(&why->roots[i]) && why->roots[i].class == WHY_ASKED)
			ns += why->roots[i].ns;
	}
	return ns;
}

static uint64_t before_ns(const struct why_before *before)
{
	return before->working_ns + before->interrupted_ns + before->uncertain_ns +
	       before->held_up_ns + before->asked_ns + before->idle_ns;
}

/* Who answers for the time before the birth of who was asked for. */
static void print_stand_ins(const struct page *page)
{
	const struct why *why = page->why;
	AUTO_FREE char *text = NULL, *safe = NULL;
	struct words words;

	if (!why->stand_in_count)
		return;
	words_begin(&words);
	if (why->target.tid == why->stood_in_for)
		fprintf(words.out,
			"The thread was created at %s of the recording. Before that, "
			"its ancestor",
			page_since(page->facts->first_ns,
				   why->stand_ins[why->stand_in_count - 1].end_ns)
				.s);
	else
		fprintf(words.out, "Thread %d did not exist yet. Its ancestor", why->stood_in_for);
	fputs(why->stand_in_count == 1 ? " stands in for it: " : "s stand in for it: ", words.out);
	for (size_t i = 0; i < why->stand_in_count; i++) {
		const struct why_stand_in *by = &why->stand_ins[i];
		AUTO_FREE char *name = words_thread(&by->who);

		fprintf(words.out, "%s%s for %s", i ? ", then " : "", name,
			text_duration(by->end_ns - by->start_ns).s);
	}
	fputs(". That time is included in the first line and in the table.", words.out);
	text = words_end(&words);
	safe = text_escaped(text);
	fputs("  ", page->out);
	table_wrap(page->out, safe, 2);
}

/* On the way from the target to who held it up most: what the last one who waited told of that, which is next to the cause. */
static void print_told(const struct page *page)
{
	const struct why *details = page->why->process ? &page->why->process->told : page->why;
	const struct why_hop *hop = NULL;
	AUTO_FREE char *told = NULL, *text = NULL, *safe = NULL;

	for (size_t i = 0; i + 1 < details->chain_count; i++) {
		if (details->chain[i].told)
			hop = &details->chain[i];
	}
	if (!hop || hop->ns * TOLD_LEAST < why_window_ns(page->why))
		return;
	told = words_hop_told(hop);
	text = xasprintf("Behind the largest hold-up, %s: %s", text_duration(hop->ns).s, told);
	safe = text_escaped(text);
	fputs("  ", page->out);
	table_wrap(page->out, safe, 2);
}

static void why_print_conclusion(const struct page *page)
{
	const struct why *why = page->why;
	uint64_t stuck = stuck_ns(why), timed_out = asked_ns(why, is_timed_out);
	uint64_t any_timer = asked_ns(why, why_root_is_any_timer);
	const struct why_before *before = &why->before;
	const struct plain plains[] = {
		{ why->working_ns - before->working_ns, "working" },
		{ why->interrupted_ns - before->interrupted_ns, "runnable without a CPU" },
		{ why->held_up_ns - before->held_up_ns - stuck, "held up by others" },
		{ stuck, "waiting in vain" },
		{ why->asked_ns - before->asked_ns - timed_out - any_timer,
		  "sleeping on its own request" },
		{ timed_out, "waiting until its own time-outs" },
		{ any_timer, "waiting until its own timers" },
		{ why->idle_ns - before->idle_ns, "idle, waiting for work" },
		{ why->uncertain_ns - before->uncertain_ns,
		  "uncertain, because events are missing" },
		{ before_ns(before), "not created yet" },
	};

	print_headline(page);
	why_text_target(page);
	if (why_window_ns(why) > 0)
		print_plain(page, plains, ARRAY_LEN(plains));
	why_text_held_most(page);
	print_told(page);
	if (page->opts->window_chosen || why->target.tid != page->facts->target_tid)
		fprintf(page->out, "  Window: %s to %s of the recording.\n",
			page_since(page->facts->first_ns, why->start_ns).s,
			page_since(page->facts->first_ns, why->end_ns).s);
	print_stand_ins(page);
}

/* Threads of one name that wait for the same in one another's way. */
static bool same_hop(const struct why_hop *a, const struct why_hop *b)
{
	AUTO_FREE char *x = why_name_pattern(a->who.comm), *y = why_name_pattern(b->who.comm);

	return a->who.tid && b->who.tid && strcmp(x, y) == 0 && strcmp(a->what, b->what) == 0 &&
	       strcmp(a->object, b->object) == 0 && strcmp(a->woken_by, b->woken_by) == 0 &&
	       why_reason_compare(a->woken_by_data, b->woken_by_data) == 0 &&
	       strcmp(a->lock ? a->lock : "", b->lock ? b->lock : "") == 0 && !a->instead &&
	       !b->instead;
}

/* How many hops from 'first' on are alike; the last of the chain is none of them. */
static size_t hops_alike(const struct why *why, size_t first)
{
	size_t run = 1;

	while (first + run + 1 < words_hop_count(why) &&
	       same_hop(&why->chain[first], &why->chain[first + run]))
		run++;
	return run;
}

/* Where in its code the hop waited, below it. */
static void add_hop_code(struct table *table, const struct page *page, size_t i)
{
	const struct why_codes *codes = page->why->chain[i].code;
	AUTO_FREE char *code =
		codes ? words_codes(page->facts, codes, codes->seen_ns, "waited in ") : NULL;
	int indent = i < 16 ? (int)i * 2 + 2 : 34;

	if (!code || !*code)
		return;
	table_cell(table, "%s", "");
	table_cell(table, "%s", "");
	table_cell(table, "%*s%s", indent, "", code);
}

static void add_hop(struct table *table, const struct page *page, size_t i)
{
	const struct why_hop *hop = &page->why->chain[i];
	AUTO_FREE char *sentence = words_hop(page->why, i);

	table_cell(table, "%s", page_duration(page, hop->ns).s);
	table_cell(table, "%s x", text_count(hop->count).s);
	table_cell(table, "%s", sentence);
	add_hop_code(table, page, i);
}

/* Those between the first and the last of a long run of hops alike. */
static void add_hops_between(struct table *table, const struct why *why, size_t first, size_t count)
{
	const struct why_hop *hop = &why->chain[first];
	AUTO_FREE char *name = why_name_pattern(hop->who.comm);
	int indent = first < 16 ? (int)first * 2 : 32;

	table_cell(table, "%s", "");
	table_cell(table, "%s", "");
	table_cell(table, "%*s... %zu more named %s, each woken by the next (--unfold shows all)",
		   indent, "", count, name);
}

static void add_hops(struct table *table, const struct page *page)
{
	size_t count = words_hop_count(page->why);

	for (size_t i = 0; i < count;) {
		size_t run = page->opts->unfold ? 1 : hops_alike(page->why, i);

		add_hop(table, page, i);
		if (run >= HOPS_TOLD) {
			add_hops_between(table, page->why, i + 1, run - 2);
			i += run - 1;
		} else {
			i++;
		}
	}
}

static void print_chain(const struct page *page, bool crowd_is_first)
{
	const struct why *why = page->why;
	struct table table = { 0 };

	if (why->chain_count == 0)
		return;
	table_column(&table, "time", TABLE_RIGHT);
	table_column(&table, "waits", TABLE_RIGHT);
	table_column(&table, "", TABLE_TEXT);
	add_hops(&table, page);
	if (page->of_process) {
		AUTO_FREE char *name = words_thread(&why->target);
		AUTO_FREE char *safe = text_escaped(name);

		page_heading(page, "The chain of waits behind the largest hold-up of %s:", safe);
	} else {
		page_heading(page, crowd_is_first
					   ? "The chain of waits behind the largest hold-up by "
					     "one thread:"
					   : "The chain of waits behind the largest hold-up:");
	}
	table_print(&table, page->out);
	table_fini(&table);
}

/* The parts that are of one thread: of a process, that of which the chain is told. */
static void print_details(const struct page *page)
{
	if (page->of_process &&
	    (page->opts->summary || page->opts->instances || page->opts->causality)) {
		AUTO_FREE char *name = words_thread(&page->why->target);
		AUTO_FREE char *safe = text_escaped(name);

		fprintf(page->out, "\nThread %s only; --tid chooses others:\n", safe);
	}
	if (page->opts->summary)
		why_text_summary(page);
	if (page->opts->instances)
		why_text_instances(page);
	if (page->opts->causality)
		why_text_causality(page);
}

char *report_why_headline(const struct why *why, const struct facts *facts, bool window_chosen)
{
	const struct report_why_opts opts = { .window_chosen = window_chosen };
	const struct page page = { .why = why, .facts = facts, .opts = &opts };

	return headline(&page);
}

char *report_why_root(const struct why *why, const struct why_root *root)
{
	return words_root(why, root);
}

char *report_why_wait(const struct why_wait *wait)
{
	return words_wait(wait);
}

char *report_why_waker(const struct why_wait *wait)
{
	return words_waker(wait);
}

size_t report_why_hops(const struct why *why)
{
	return words_hop_count(why);
}

char *report_why_hop(const struct why *why, size_t index)
{
	return words_hop(why, index);
}

void why_text(const struct page *page)
{
	struct page details = *page;
	bool crowd_is_first;

	why_print_conclusion(page);
	crowd_is_first = why_text_verdict(page);
	if (page->why->root_count == 0 && page->why->classes)
		fprintf(page->out, "\nNo time was spent %s.\n",
			why_class_words(page->why->classes));
	why_text_apart(page);
	why_text_differing(page);
	why_text_worst(page);
	if (page->why->process) {
		details.why = &page->why->process->told;
		details.of_process = true;
	}
	print_chain(&details, crowd_is_first);
	why_text_code(page);
	why_text_people(page);
	print_details(&details);
	why_text_notes(page);
}
