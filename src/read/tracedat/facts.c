/* facts.c - texts of a trace.dat to facts. */
#include "read/tracedat/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorting.h"
#include "event/facts.h"
#include "read/tracedat/clock.h"
#include "read/tracedat/meta.h"

#define MAX_NAMES (1u << 20)

/* "Linux host 6.1.0 x86_64" */
static void read_uname(struct facts *facts, const char *uname)
{
	char host[128], kernel[128], machine[128];

	if (!uname || sscanf(uname, "%*s %127s %127s %127s", host, kernel, machine) != 3) {
		dat_missing(facts, "host, kernel and machine", "not in the file");
		return;
	}
	facts->host = facts_keep(facts, host);
	facts->kernel = facts_keep(facts, kernel);
	facts->arch = facts_keep(facts, machine);
}

/* The entry points of system calls have the name of the architecture, where there are symbols. */
static const char *arch_of_symbols(const struct facts *facts)
{
	static const struct {
		const char *prefix, *arch;
	} entries[] = {
		{ "__x64_sys_", "x86_64" },	  { "__arm64_sys_", "aarch64" },
		{ "__riscv_sys_", "riscv64" },	  { "__s390x_sys_", "s390x" },
		{ "entry_SYSCALL_64", "x86_64" },
	};

	for (size_t i = 0; i < facts->symbol_count; i++) {
		for (size_t j = 0; j < ARRAY_LEN(entries); j++) {
			if (strncmp(facts->symbols[i].name, entries[j].prefix,
				    strlen(entries[j].prefix)) == 0)
				return entries[j].arch;
		}
	}
	return NULL;
}

/* "1234 name\n": who had the number last, as far as the kernel remembered. */
static void dat_facts_read_names(struct facts *facts, const char *text)
{
	char *rest = text ? facts_take(facts, xstrdup(text)) : NULL, *line;
	size_t cap = 0;

	while (rest && (line = strsep(&rest, "\n")) && facts->comm_count < MAX_NAMES) {
		char *end;
		long tid = strtol(line, &end, 10);

		if (end == line || *end != ' ' || tid <= 0 || tid > INT32_MAX)
			continue;
		facts->comms =
			vec_room(facts->comms, facts->comm_count, &cap, sizeof(*facts->comms));
		facts->comms[facts->comm_count++] = (struct fact_name){
			.nr = (uint64_t)tid,
			.name = end + 1,
		};
	}
}

ORDER_FUNCTION(dat_facts_by_nr, struct fact_name, ORDER_UP(nr));

/* "text\n" with its quotes: what stands between them, escapes as what they mean. */
static char *unquoted(char *text)
{
	char *to, *from, *end = strrchr(text, '"');

	if (*text != '"' || end == text)
		return NULL;
	*end = '\0';
	to = text;
	for (from = text + 1; *from; from++) {
		if (*from != '\\' || !from[1]) {
			*to++ = *from;
			continue;
		}
		from++;
		*to++ = *from == 'n' ? '\n' : *from == 't' ? '\t' : *from == 'r' ? '\r' : *from;
	}
	*to = '\0';
	return text;
}

/* "0xffffffff81e1a0c0 : \"format\"\n" */
static void read_printk(struct facts *facts, const char *text)
{
	char *rest = text ? facts_take(facts, xstrdup(text)) : NULL, *line;
	size_t cap = 0;

	while (rest && (line = strsep(&rest, "\n")) && facts->printk_count < MAX_NAMES) {
		char *end;
		uint64_t address = strtoull(line, &end, 16);
		char *format;

		if (end == line || strncmp(end, " : ", 3) != 0)
			continue;
		format = unquoted(end + 3);
		if (!format)
			continue;
		facts->printks = vec_room(facts->printks, facts->printk_count, &cap,
					  sizeof(*facts->printks));
		facts->printks[facts->printk_count++] =
			(struct fact_name){ .nr = address, .name = format };
	}
	if (facts->printk_count)
		qsort(facts->printks, facts->printk_count, sizeof(*facts->printks),
		      dat_facts_by_nr);
}

/* Which clock was it, and is its unit known? */
static void dat_facts_check_clock(struct facts *facts, const struct dat_meta *meta)
{
	const char *text = meta->clock;
	char name[32];

	for (size_t b = 0; !text && b < meta->buffer_count; b++)
		text = meta->buffers[b].clock;
	dat_clock_name(text, name);
	if (*name && !facts->clock)
		facts->clock = facts_keep(facts, name);
	if (*name && !dat_clock_counts_ns(name) && !meta->has_tsc) {
		AUTO_FREE char *why = xasprintf(
			"the clock \"%s\" counts something else: one unit is taken as 1 ns", name);

		dat_missing(facts, "times in ns", why);
	}
}

static void check_instances(struct facts *facts, const struct dat_meta *meta)
{
	for (size_t b = 0; b < meta->buffer_count; b++) {
		if (meta->buffers[b].is_text)
			dat_missing(facts, "text of a latency tracer",
				    "it is text, and not read: see trace-cmd report");
	}
}

/* "trace-cmd 3.1.6": what follows in brackets is about its source. */
static const char *tracer_of(struct facts *facts, const char *version)
{
	size_t bytes = version ? strcspn(version, " \n") : 0;

	return bytes ? facts_take(facts, xasprintf("trace-cmd %.*s", (int)bytes, version))
		     : "trace-cmd";
}

void dat_facts_texts(struct facts *facts, const struct dat_meta *meta)
{
	if (!facts->arch)
		facts->arch = arch_of_symbols(facts);
	if (!facts->arch)
		dat_missing(facts, "names of system calls", "the machine is not known");
	dat_facts_read_names(facts, meta->cmdlines);
	read_printk(facts, meta->printk);
	dat_facts_check_clock(facts, meta);
}

void dat_facts_fill(struct facts *facts, const struct dat_meta *meta, enum dat_zip_kind zip)
{
	static const char *const formats[] = {
		[DAT_ZIP_NONE] = "trace.dat, version 7",
		[DAT_ZIP_ZLIB] = "trace.dat, version 7, compressed by zlib",
		[DAT_ZIP_ZSTD] = "trace.dat, version 7, compressed by zstd",
	};

	facts->format = meta->version == 6 ? "trace.dat, version 6" : formats[zip];
	facts->target_status = -1;
	facts->tracer = tracer_of(facts, meta->tool_version);
	read_uname(facts, meta->uname);
	dat_facts_texts(facts, meta);
	if (meta->has_date)
		facts->realtime_offset_ns = meta->date_ns;
	else
		dat_missing(facts, "time of day", "the file has no option DATE");
	check_instances(facts, meta);
	dat_missing(facts, "processes of threads, their arguments and files",
		    "trace-cmd does not record the state at the start");
}
