/* event_filter.c - a guarded libtraceevent filter. */
#include "read/event_filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <event-parse.h>

#include "base/err.h"
#include "base/mem.h"
#include "read/format_text.h"
#include "store/formats.h"

/* Offsets in a record have 16 bits, and so have lengths: twice that, and zeros behind. */
#define RECORD_MAX_BYTES 65536u
#define SCRATCH_BYTES	 (4 * RECORD_MAX_BYTES)

struct event_filter {
	struct tep_handle *tep;
	struct tep_event_filter *filter;
	bool wants[65536];
	uint8_t scratch[SCRATCH_BYTES]; /* zero but while matching */
};

/* Letters, digits, _ and what 'more' has. */
static bool is_plain(const char *text, size_t bytes, const char *more)
{
	for (size_t i = 0; i < bytes; i++) {
		char c = text[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    c != '_' && (!c || !strchr(more, c)))
			return false;
	}
	return bytes > 0;
}

/* The fields of one part of the format, in the kernel's own words. */
static void print_fields(FILE *out, const char *text, bool common)
{
	struct format_field field;

	while (format_text_next(&text, &field)) {
		bool is_common = field.name_bytes > 7 && memcmp(field.name, "common_", 7) == 0;

		if (is_common == common && is_plain(field.type, field.type_bytes, " *[]"))
			fprintf(out, "\tfield:%.*s;\toffset:%u;\tsize:%u;\tsigned:%d;\n",
				(int)field.type_bytes, field.type, field.offset, field.bytes,
				field.is_signed);
	}
	fputc('\n', out);
}

static void add_format(struct tep_handle *tep, const struct format_section *section)
{
	const char *slash = strchr(section->name, '/');
	int32_t id = format_text_id(section->text);
	AUTO_FREE char *system = NULL;
	char *text = NULL;
	size_t bytes = 0;
	FILE *out;

	if (!slash || id < 0 || !is_plain(slash + 1, strlen(slash + 1), "") ||
	    !is_plain(section->name, (size_t)(slash - section->name), "-"))
		return;
	out = open_memstream(&text, &bytes);
	if (!out)
		return;
	system = xstrndup(section->name, (size_t)(slash - section->name));
	fprintf(out, "name: %s\nID: %d\nformat:\n", slash + 1, id);
	print_fields(out, section->text, true);
	print_fields(out, section->text, false);
	fprintf(out, "print fmt: \"\"\n");
	fclose(out);
	(void)tep_parse_event(tep, text, bytes, system); /* else it cannot be asked for */
	free(text);
}

static bool has_event(const struct formats *formats, const char *name, size_t bytes)
{
	for (size_t i = 0; i < formats->count; i++) {
		if (strlen(formats->sections[i].name) == bytes &&
		    memcmp(formats->sections[i].name, name, bytes) == 0)
			return true;
	}
	return false;
}

/* "sched:sched_switch" is how everyone else writes "sched/sched_switch". Free it. */
static char *with_slash(const char *expression, const struct formats *formats)
{
	char *text = xstrdup(expression);
	char *colon = strchr(text, ':');

	if (!colon)
		return text;
	*colon = '/';
	if (!has_event(formats, text, (size_t)(strchrnul(colon, ':') - text)))
		*colon = ':';
	return text;
}

/* The length of the quoted string, the word or the single character at 'at'. */
static size_t token_bytes(const char *at)
{
	size_t bytes = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_");

	if (*at == '"' || *at == '\'') {
		const char *end = strchr(at + 1, *at);

		return end ? (size_t)(end + 1 - at) : strlen(at);
	}
	return bytes ? bytes : 1;
}

/* A glob as a regular expression; special characters in brackets, for the library eats '\\'. */
static void put_glob(FILE *out, const char *glob, size_t bytes)
{
	fputc('^', out);
	for (size_t i = 0; i < bytes; i++) {
		if (glob[i] == '*')
			fputs(".*", out);
		else if (glob[i] == '?')
			fputc('.', out);
		else if (strchr(".+(){}|$", glob[i]))
			fprintf(out, "[%c]", glob[i]);
		else
			fputc(glob[i], out);
	}
	fputc('$', out);
}

/*
 * The kernel's filters write 'FIELD ~ "GLOB"', the library knows only '=~' with a
 * regular expression. The text with the one written as the other. Free it.
 */
static char *with_regex(const char *text)
{
	char *made = NULL;
	size_t made_bytes = 0;
	FILE *out = open_memstream(&made, &made_bytes);

	while (out && *text) {
		const char *quote = text + 1 + strspn(text + 1, " \t");
		const char *end = *text == '~' && *quote == '"' ? strchr(quote + 1, '"') : NULL;

		if (*text == '"' || *text == '\'') { /* not inside a quoted text */
			size_t bytes = token_bytes(text);

			fwrite(text, 1, bytes, out);
			text += bytes;
		} else if ((*text == '=' || *text == '!') && text[1] == '~') {
			fwrite(text, 1, 2, out);
			text += 2;
		} else if (end) {
			fputs("=~ \"", out);
			put_glob(out, quote + 1, (size_t)(end - quote - 1));
			fputc('"', out);
			text = end + 1;
		} else {
			fputc(*text++, out);
		}
	}
	if (out)
		fclose(out);
	return made ? made : xstrdup("");
}

/* Is 'name' a field of an event that the filter is about, or one the library adds? */
static bool has_field(const struct event_filter *filter, const struct formats *formats,
		      const char *name)
{
	static const char *const added[] = { "COMM", "CPU", "TIMESTAMP", "comm", "NOT" };
	struct format_field field;

	for (size_t i = 0; i < ARRAY_LEN(added); i++) {
		if (strcmp(added[i], name) == 0)
			return true;
	}
	for (size_t i = 0; i < formats->count; i++) {
		int32_t id = format_text_id(formats->sections[i].text);

		if (id >= 0 && filter->wants[id] &&
		    format_text_field(formats->sections[i].text, name, &field))
			return true;
	}
	return false;
}

/*
 * The library takes a field that does not exist for something that is never true.
 * Find such a word: one that stands before a comparison and is no field.
 */
static int check_fields(const struct event_filter *filter, const struct formats *formats,
			const char *expression, struct err *err)
{
	const char *at = strchr(expression, ':');

	while (at && *at) {
		size_t bytes = token_bytes(at);
		const char *next = at + bytes + strspn(at + bytes, " \t");

		if (is_plain(at, bytes, "") && !(*at >= '0' && *at <= '9') && *next &&
		    strchr("=!<>~", *next)) {
			AUTO_FREE char *name = xstrndup(at, bytes);

			if (!has_field(filter, formats, name))
				return err_set(err, -EINVAL, "\"%s\": the event has no field %s",
					       expression, name);
		}
		at += bytes;
	}
	return 0;
}

static int compile(struct event_filter *filter, const char *expression, struct err *err)
{
	enum tep_errno code = tep_filter_add_filter_str(filter->filter, expression);
	char why[256] = "";

	if (code < 0) {
		tep_filter_strerror(filter->filter, code, why, sizeof(why));
		return err_set(err, -EINVAL, "\"%s\" is no event of this trace or no filter: %s",
			       expression, why[0] ? why : "it cannot be read");
	}
	for (int i = 0; i < filter->filter->filters; i++)
		filter->wants[filter->filter->event_filters[i].event_id & 65535] = true;
	return 0;
}

int event_filter_new(const char *expression, const struct formats *formats, bool big_endian,
		     uint32_t long_bytes, struct event_filter **out_filter, struct err *err)
{
	struct event_filter *filter = xcalloc(1, sizeof(*filter));
	AUTO_FREE char *slashed = with_slash(expression, formats);
	AUTO_FREE char *text = with_regex(slashed);
	int rc;

	tep_set_loglevel(TEP_LOG_NONE);
	filter->tep = tep_alloc();
	if (!filter->tep) {
		free(filter);
		return err_set(err, -ENOMEM, "no memory for a filter");
	}
	tep_set_file_bigendian(filter->tep, big_endian ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(filter->tep, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
						     ? TEP_BIG_ENDIAN
						     : TEP_LITTLE_ENDIAN);
	tep_set_long_size(filter->tep, (int)long_bytes);
	for (size_t i = 0; i < formats->count; i++)
		add_format(filter->tep, &formats->sections[i]);
	filter->filter = tep_filter_alloc(filter->tep);
	rc = filter->filter ? compile(filter, text, err)
			    : err_set(err, -ENOMEM, "no memory for a filter");
	if (rc == 0)
		rc = check_fields(filter, formats, text, err);
	if (rc < 0) {
		event_filter_free(filter);
		return rc;
	}
	*out_filter = filter;
	return 0;
}

void event_filter_free(struct event_filter *filter)
{
	if (!filter)
		return;
	if (filter->filter)
		tep_filter_free(filter->filter);
	tep_free(filter->tep);
	free(filter);
}

bool event_filter_wants(const struct event_filter *filter, uint16_t id)
{
	return filter->wants[id];
}

bool event_filter_match(struct event_filter *filter, const uint8_t *data, uint32_t bytes)
{
	struct tep_record record = { .data = filter->scratch };
	enum tep_errno code;

	if (bytes > RECORD_MAX_BYTES)
		bytes = RECORD_MAX_BYTES;
	memcpy(filter->scratch, data, bytes);
	record.size = record.record_size = (int)bytes;
	code = tep_filter_match(filter->filter, &record);
	memset(filter->scratch, 0, bytes);
	return code == TEP_ERRNO__FILTER_MATCH;
}
