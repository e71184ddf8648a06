/* facts.c - ownership of the facts, and look-ups in them. */
#include "event/facts.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "base/text.h"
#include "event/stacks.h"
#include "event/syscalls.h"

void facts_fini(struct facts *facts)
{
	for (size_t i = 0; i < facts->owned_count; i++)
		free(facts->owned[i]);
	free(facts->owned);
	free(facts->recorder_tids);
	free(facts->threads);
	free(facts->fds);
	free(facts->epolls);
	free(facts->vtids);
	free(facts->waits);
	free(facts->moments);
	free(facts->irqs);
	free(facts->devices);
	free(facts->calls);
	free(facts->comms);
	free(facts->printks);
	free(facts->symbols);
	free(facts->missing);
	free(facts->throttles);
	free(facts->steps);
	free(facts->cpus);
	if (facts->stacks)
		stacks_fini(facts->stacks);
	free(facts->stacks);
	free(facts->damage);
	free(facts->unshown);
	*facts = (struct facts){ 0 };
}

int facts_compare_fds(const void *a, const void *b)
{
	const struct fact_fd *x = a, *y = b;

	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	return x->fd < y->fd ? -1 : x->fd > y->fd;
}

char *facts_take(struct facts *facts, char *text)
{
	facts->owned = vec_room(facts->owned, facts->owned_count, &facts->owned_cap,
				sizeof(*facts->owned));
	facts->owned[facts->owned_count++] = text;
	return text;
}

const char *facts_keep(struct facts *facts, const char *text)
{
	return text && *text ? facts_take(facts, xstrdup(text)) : "";
}

static bool is_noted(char *const *notes, size_t count, const char *note)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(notes[i], note) == 0)
			return true;
	}
	return false;
}

/* 'text', owned, is replaced: a note quotes what the trace says. */
static char *escaped(char *text)
{
	char *safe = text_escaped(text);

	free(text);
	return safe;
}

/* Add a sentence to a list of notes, which 'more' ends when it is full. */
static void __attribute__((format(printf, 4, 0)))
add_note(struct facts *facts, bool is_damage, const char *more, const char *format, va_list args)
{
	char ***notes = is_damage ? &facts->damage : &facts->unshown;
	size_t *count = is_damage ? &facts->damage_count : &facts->unshown_count;
	char *note = NULL;

	if (*count > FACTS_MAX_NOTES)
		return;
	if (!*notes)
		*notes = xcalloc(FACTS_MAX_NOTES + 1, sizeof(**notes));
	if (vasprintf(&note, format, args) < 0)
		note = xstrdup(format);
	note = escaped(note);
	if (is_noted(*notes, *count, note)) {
		free(note);
		return;
	}
	if (*count == FACTS_MAX_NOTES) {
		free(note);
		note = xstrdup(more);
	}
	(*notes)[(*count)++] = facts_take(facts, note);
}

void facts_note_damage(struct facts *facts, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_note(facts, true, "more damage than is listed here", format, args);
	va_end(args);
}

void facts_note_unshown(struct facts *facts, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_note(facts, false, "more than is listed here", format, args);
	va_end(args);
}

/* No function is longer: an address behind the last symbol belongs to none. */
#define FUNCTION_MAX_BYTES (1u << 20)

/* The last symbol that starts at or below the address; NULL when it is too far away. */
static const struct fact_symbol *symbol_below(const struct facts *facts, uint64_t address)
{
	size_t low = SEARCH_BEHIND(facts->symbols, facts->symbol_count, address, address);

	if (low == 0 || address - facts->symbols[low - 1].address > FUNCTION_MAX_BYTES)
		return NULL;
	return &facts->symbols[low - 1];
}

const char *facts_symbol(const struct facts *facts, uint64_t address)
{
	const struct fact_symbol *symbol = symbol_below(facts, address);

	return symbol ? symbol->name : NULL;
}

const struct fact_symbol *facts_symbol_at(const struct facts *facts, uint64_t address)
{
	const struct fact_symbol *symbol = symbol_below(facts, address);

	/* Several names for one address: the kernel shows the first. */
	while (symbol && symbol > facts->symbols && symbol[-1].address == symbol->address)
		symbol--;
	return symbol;
}

const char *facts_printk(const struct facts *facts, uint64_t address)
{
	size_t at = SEARCH_FROM(facts->printks, facts->printk_count, nr, address);

	return at < facts->printk_count && facts->printks[at].nr == address
		       ? facts->printks[at].name
		       : NULL;
}

const char *facts_device(const struct facts *facts, uint32_t dev)
{
	/* The last one: what was set up while recording comes later. */
	for (size_t i = facts->device_count; i > 0; i--) {
		if (facts->devices[i - 1].nr == dev)
			return facts->devices[i - 1].name;
	}
	return NULL;
}

const char *facts_syscall(const struct facts *facts, int64_t nr, bool compat)
{
	if (nr == FACTS_CALL_UNKNOWN)
		return "(not named)";
	for (size_t i = 0; i < facts->call_count; i++) {
		if (facts->calls[i].nr == (uint64_t)nr && !compat)
			return facts->calls[i].name;
	}
	return facts->arch ? syscalls_name(facts->arch, nr, compat) : NULL;
}

/* From the top downwards: there the tables are empty. */
int64_t facts_name_call(struct facts *facts, const char *name)
{
	int64_t nr = FACTS_CALLS_MAX - 1 - (int64_t)facts->call_count;

	for (size_t i = 0; i < facts->call_count; i++) {
		if (strcmp(facts->calls[i].name, name) == 0)
			return (int64_t)facts->calls[i].nr;
	}
	if (nr < 0 || facts_syscall(facts, nr, false))
		return -1;
	facts->calls =
		vec_room(facts->calls, facts->call_count, &facts->call_cap, sizeof(*facts->calls));
	facts->calls[facts->call_count++] =
		(struct fact_name){ (uint64_t)nr, facts_keep(facts, name) };
	return nr;
}

void facts_widen(struct facts *facts, uint64_t first_ns, uint64_t last_ns, bool *is_begun)
{
	if (!*is_begun || first_ns < facts->first_ns)
		facts->first_ns = first_ns;
	if (!*is_begun || last_ns > facts->last_ns)
		facts->last_ns = last_ns;
	*is_begun = true;
}
