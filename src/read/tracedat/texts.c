/* texts.c - what tracefs had to say about events, as a trace.dat has it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/facts.h"
#include "read/tracedat/meta.h"
#include "read/format_text.h"
#include "read/kernel_symbols.h"

#define FORMAT_MAX_BYTES (1u << 20)
#define MAX_SECTIONS	 65536u
#define NAME_BYTES	 256u
#define MAX_SYMBOLS	 (2u << 20)

/* Takes 'text'. */
static void add_section(struct dat_meta *meta, char *name, char *text)
{
	struct formats *formats = &meta->formats;

	formats->sections = vec_room(formats->sections, formats->count, &formats->cap,
				     sizeof(*formats->sections));
	formats->sections[formats->count++] = (struct format_section){
		.name = name,
		.text = text,
		.bytes = strlen(text),
	};
}

static int dat_texts_take_header(struct dat_input *input, const char *name, struct dat_meta *meta,
				 struct err *err)
{
	char found[16];
	size_t bytes = strlen(name) + 1;
	uint64_t text_bytes;
	char *text;

	if (!dat_take(input, found, bytes))
		return dat_cut(input, name, err);
	if (memcmp(found, name, bytes) != 0)
		return err_set(err, -EBADMSG, "there is no %s at byte %llu", name,
			       (unsigned long long)dat_place(input));
	if (!dat_take_number(input, 8, &text_bytes) || text_bytes > FORMAT_MAX_BYTES ||
	    !dat_take_text(input, text_bytes, &text))
		return dat_cut(input, name, err);
	add_section(meta, xstrdup(name), text);
	return 0;
}

int dat_read_headers(struct dat_input *input, struct dat_meta *meta, struct facts *facts,
		     struct err *err)
{
	const char *text;
	struct format_field commit;
	int rc = dat_texts_take_header(input, "header_page", meta, err);

	(void)facts;
	if (rc == 0)
		rc = dat_texts_take_header(input, "header_event", meta, err);
	text = formats_find(&meta->formats, "header_page");
	/* The file tells the size of a long of user space; the kernel's is that of this field. */
	if (text && format_text_field(text, "commit", &commit) &&
	    (commit.bytes == 4 || commit.bytes == 8))
		meta->long_bytes = commit.bytes;
	return rc;
}

/* The event's name from the first line, "name: sched_switch". */
static bool format_text_name(const char *text, char out_name[NAME_BYTES])
{
	return sscanf(text, "name: %255[^ \t\n/]", out_name) == 1;
}

static int dat_texts_take_format(struct dat_input *input, const char *system, struct dat_meta *meta,
				 struct err *err)
{
	char name[NAME_BYTES], *text;
	uint64_t bytes;

	if (!dat_take_number(input, 8, &bytes))
		return dat_cut(input, "the list of formats", err);
	if (bytes > FORMAT_MAX_BYTES || !dat_take_text(input, bytes, &text))
		return dat_cut(input, "a format", err);
	if (meta->formats.count < MAX_SECTIONS && format_text_name(text, name))
		add_section(meta, xasprintf("%s/%s", system, name), text);
	else
		free(text);
	return 0;
}

int dat_read_ftrace(struct dat_input *input, struct dat_meta *meta, struct facts *facts,
		    struct err *err)
{
	uint64_t count;
	int rc = 0;

	(void)facts;
	if (!dat_take_number(input, 4, &count))
		return dat_cut(input, "the list of ftrace's formats", err);
	while (rc == 0 && count--)
		rc = dat_texts_take_format(input, "ftrace", meta, err);
	return rc;
}

static int take_system(struct dat_input *input, struct dat_meta *meta, struct err *err)
{
	AUTO_FREE char *system = NULL;
	uint64_t count;
	int rc = 0;

	if (!dat_take_string(input, NAME_BYTES, &system) || !dat_take_number(input, 4, &count))
		return dat_cut(input, "the list of systems", err);
	if (*system == '\0' || strchr(system, '/'))
		return err_set(err, -EBADMSG, "there is no name of a system before byte %llu",
			       (unsigned long long)dat_place(input));
	while (rc == 0 && count--)
		rc = dat_texts_take_format(input, system, meta, err);
	return rc;
}

int dat_read_events(struct dat_input *input, struct dat_meta *meta, struct facts *facts,
		    struct err *err)
{
	uint64_t count;
	int rc = 0;

	(void)facts;
	if (!dat_take_number(input, 4, &count))
		return dat_cut(input, "the list of systems", err);
	while (rc == 0 && count--)
		rc = take_system(input, meta, err);
	return rc;
}

/* ------------------------------------------------------------------ symbols */

bool dat_take_symbol(char *line, struct fact_symbol *out_symbol)
{
	char *at, *end;

	out_symbol->address = strtoull(line, &at, 16);
	if (at == line || out_symbol->address == 0 || at[0] != ' ' || !at[1] ||
	    !strchr("tTwW", at[1]) || at[2] != ' ')
		return false;
	out_symbol->name = at + 3;
	for (end = at + 3; *end && *end != '\t' && *end != ' '; end++)
		;
	*end = '\0';
	return end > out_symbol->name && out_symbol->name[0] != '$';
}

/* A text behind its length of 'number_bytes'; NULL when it has none. */
static int take_sized(struct dat_input *input, uint32_t number_bytes, const char *what,
		      char **out_text, struct err *err)
{
	uint64_t bytes;

	if (!dat_take_number(input, number_bytes, &bytes))
		return dat_cut(input, what, err);
	if (bytes > DAT_SECTION_MAX_BYTES)
		return err_set(err, -EBADMSG, "%s at byte %llu has %llu bytes, more than %llu",
			       what, (unsigned long long)dat_place(input),
			       (unsigned long long)bytes,
			       (unsigned long long)DAT_SECTION_MAX_BYTES);
	*out_text = NULL;
	if (bytes && !dat_take_text(input, bytes, out_text))
		return dat_cut(input, what, err);
	return 0;
}

int dat_read_symbols(struct dat_input *input, struct dat_meta *meta, struct facts *facts,
		     struct err *err)
{
	char *text;
	int rc = take_sized(input, 4, "the list of symbols", &text, err);

	(void)meta;
	if (rc == 0 && text && !facts->symbol_count)
		(void)symbols_add(facts, text, MAX_SYMBOLS, dat_take_symbol);
	else if (rc == 0)
		free(text);
	return rc;
}

int dat_read_printk(struct dat_input *input, struct dat_meta *meta, struct facts *facts,
		    struct err *err)
{
	(void)facts;
	free(meta->printk);
	meta->printk = NULL;
	return take_sized(input, 4, "the list of print formats", &meta->printk, err);
}

int dat_read_cmdlines(struct dat_input *input, struct dat_meta *meta, struct facts *facts,
		      struct err *err)
{
	(void)facts;
	free(meta->cmdlines);
	meta->cmdlines = NULL;
	return take_sized(input, 8, "the list of command lines", &meta->cmdlines, err);
}
