/*
 * why_people.c - who the processes of a report are: the target in its head, the others that it names
 * behind it. Titles and paths are what other programs chose: they are cut, and pass text_escaped().
 */
#include <string.h>

#include "base/mem.h"
#include "report/table.h"
#include "report/why_int.h"

#define CMDLINE_SHOWN 200 /* bytes; java's have thousands */

static bool person_is_beside(const struct why_person *person, const struct why_person *other)
{
	return strcmp(person->place, other->place) == 0 &&
	       strcmp(person->manager, other->manager) == 0;
}

/* "java -jar x.jar; unit app.service"; either may be missing, and the place where the target is */
static char *person_text(const struct why_person *person, const struct why_person *target)
{
	AUTO_FREE char *words = words_place(person);
	bool cut = strlen(person->cmdline) > CMDLINE_SHOWN;
	bool place = person->place[0] && !(target && person_is_beside(person, target));

	return xasprintf("%.*s%s%s%s", CMDLINE_SHOWN, person->cmdline, cut ? " ..." : "",
			 person->cmdline[0] && place ? "; " : "", place ? words : "");
}

/* The same, and how it ended. */
static char *other_text(const struct why_person *person, const struct why_person *target)
{
	AUTO_FREE char *text = person_text(person, target);

	if (!person->killed_by[0])
		return xstrdup(text);
	return xasprintf("%s%skilled by %s", text, *text ? "; " : "", person->killed_by);
}

static void why_people_print_line(const struct page *page, const char *what, const char *text)
{
	AUTO_FREE char *line = xasprintf("%s %s", what, text);
	AUTO_FREE char *safe = text_escaped(line);

	fputs("  ", page->out);
	table_wrap(page->out, safe, 2);
}

static const struct why_person *target_person(const struct why *why)
{
	const struct why_person *first = why->people;

	return why->person_count && first->who.tgid == why->target.tgid ? first : NULL;
}

void why_text_target(const struct page *page)
{
	const struct why_person *person = target_person(page->why);
	AUTO_FREE char *text = person ? person_text(person, NULL) : NULL;

	if (text && *text)
		why_people_print_line(page, "Its command:", text);
	if (person && person->killed_by[0])
		why_people_print_line(page, "It was killed by", person->killed_by);
}

static bool is_in_chain(const struct why *why, const struct why_person *person)
{
	const struct why *details = why->process ? &why->process->told : why;

	for (size_t i = 0; i < details->chain_count; i++) {
		if (details->chain[i].who.tgid == person->who.tgid)
			return true;
	}
	return false;
}

/* One of several that are told as one row: the first stands for them. */
static bool is_one_of_many(const struct why *why, const struct why_person *person)
{
	for (const struct why_person *other = why->people; other < person; other++) {
		if (strcmp(other->who.comm, person->who.comm) == 0)
			return true;
	}
	return false;
}

/* Is the process in what was printed: the chain, or a row of the verdict? */
static bool person_is_named(const struct page *page, const struct why_person *person)
{
	const struct why *why = page->why;

	if (is_in_chain(why, person))
		return true;
	for (size_t i = 0; i < why->root_count && i < page_top(page); i++) {
		if (why->roots[i].who.tgid == person->who.tgid &&
		    why->roots[i].ns >= why_verdict_ns(why) / 100)
			return !is_one_of_many(why, person);
	}
	return false;
}

void why_text_people(const struct page *page)
{
	const struct why *why = page->why;
	const struct why_person *target = target_person(why);
	struct table table = { 0 };
	size_t told = 0;

	table_column(&table, "process", TABLE_LEFT);
	table_column(&table, "is", TABLE_TEXT);
	for (size_t i = target ? 1 : 0; i < why->person_count; i++) {
		const struct why_person *person = &why->people[i];
		AUTO_FREE char *name = words_thread(&person->who);
		AUTO_FREE char *text = other_text(person, target);

		if (!person_is_named(page, person) || !*text)
			continue;
		table_cell(&table, "%s", name);
		table_cell(&table, "%s", text);
		told++;
	}
	if (told) {
		page_heading(page, "Processes:");
		table_print(&table, page->out);
	}
	table_fini(&table);
}
