/* stats.c - read the kernel's counts. */
#include "read/tracedat/stats.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "read/tracedat/meta.h"

#define SEARCHED_CPUS 1024u /* where they are not in order */

/* "NAME: 12" */
static bool stat_line_number(const char *line, const char *name, uint64_t *out_number)
{
	size_t bytes = strlen(name);
	char *end;

	if (strncmp(line, name, bytes) != 0 || line[bytes] != ':')
		return false;
	*out_number = strtoull(line + bytes + 1, &end, 10);
	return end != line + bytes + 1;
}

static bool is_line(const char *line, const char *words)
{
	size_t bytes = strlen(words);

	return strncmp(line, words, bytes) == 0 && (line[bytes] == '\n' || line[bytes] == '\0');
}

static struct dat_buffer *find_buffer(const struct dat_meta *meta, const char *name)
{
	for (size_t i = 0; i < meta->buffer_count; i++) {
		if (is_line(name, meta->buffers[i].name))
			return &meta->buffers[i];
	}
	return NULL;
}

static struct dat_cpu *find_cpu(const struct dat_buffer *buffer, uint64_t cpu)
{
	if (!buffer)
		return NULL;
	if (cpu < buffer->cpu_count && buffer->cpus[cpu].cpu == cpu)
		return &buffer->cpus[cpu];
	for (size_t i = 0; i < buffer->cpu_count && i < SEARCHED_CPUS; i++) {
		if (buffer->cpus[i].cpu == cpu)
			return &buffer->cpus[i];
	}
	return NULL;
}

static void dat_stats_take_line(const char *line, struct dat_cpu *cpu)
{
	static const char *const lost[] = { "overrun", "commit overrun", "dropped events" };
	uint64_t number;

	for (size_t i = 0; i < ARRAY_LEN(lost); i++) {
		if (stat_line_number(line, lost[i], &number) && number < UINT32_MAX)
			cpu->lost += number;
	}
	if (stat_line_number(line, "entries", &cpu->unread))
		cpu->has_unread = true;
	else if (stat_line_number(line, "read events", &cpu->read))
		cpu->has_read = true;
}

void dat_stats_fill(struct dat_meta *meta)
{
	struct dat_buffer *buffer = find_buffer(meta, "\n");
	struct dat_cpu *cpu = NULL;
	uint64_t number;

	for (const char *line = meta->stats; line && *line; line += strspn(line, "\n")) {
		if (strncmp(line, "Buffer: ", 8) == 0) {
			buffer = find_buffer(meta, line + 8);
			cpu = NULL;
		} else if (stat_line_number(line, "CPU", &number)) {
			cpu = find_cpu(buffer, number);
		} else if (cpu) {
			dat_stats_take_line(line, cpu);
		}
		line += strcspn(line, "\n");
	}
}
