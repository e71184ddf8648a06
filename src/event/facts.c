/* facts.c - ownership of the facts, and look-ups in them. */
#include "event/facts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
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
	free(facts->irqs);
	free(facts->devices);
	free(facts->symbols);
	free(facts->missing);
	free(facts->cpus);
	free(facts->damage);
	*facts = (struct facts){ 0 };
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

void facts_note_damage(struct facts *facts, const char *format, ...)
{
	va_list args;
	char *note = NULL;

	if (facts->damage_count > FACTS_MAX_DAMAGE)
		return;
	if (!facts->damage)
		facts->damage = xcalloc(FACTS_MAX_DAMAGE + 1, sizeof(*facts->damage));
	if (facts->damage_count == FACTS_MAX_DAMAGE) {
		note = xstrdup("more damage than is listed here");
	} else {
		va_start(args, format);
		if (vasprintf(&note, format, args) < 0)
			note = xstrdup(format);
		va_end(args);
	}
	facts->damage[facts->damage_count++] = facts_take(facts, note);
}

/* No function is longer: an address behind the last symbol belongs to none. */
#define FUNCTION_MAX_BYTES (1u << 20)

const char *facts_symbol(const struct facts *facts, uint64_t address)
{
	size_t low = 0, high = facts->symbol_count;

	/* The last symbol that starts at or below the address. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (facts->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address - facts->symbols[low - 1].address > FUNCTION_MAX_BYTES)
		return NULL;
	return facts->symbols[low - 1].name;
}

const struct fact_symbol *facts_symbol_at(const struct facts *facts, uint64_t address)
{
	size_t low = 0, high = facts->symbol_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (facts->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address - facts->symbols[low - 1].address > FUNCTION_MAX_BYTES)
		return NULL;
	/* Several names for one address: the kernel shows the first. */
	for (low--; low && facts->symbols[low - 1].address == facts->symbols[low].address; low--)
		;
	return &facts->symbols[low];
}

const char *facts_device(const struct facts *facts, uint32_t dev)
{
	for (size_t i = 0; i < facts->device_count; i++) {
		if (facts->devices[i].nr == dev)
			return facts->devices[i].name;
	}
	return NULL;
}

const char *facts_syscall(const struct facts *facts, int64_t nr, bool compat)
{
	return facts->arch ? syscalls_name(facts->arch, nr, compat) : NULL;
}
