/* formats.c - format texts, one section behind the other. */
#include "store/formats.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/file.h"

#define MARK	       "=== "
#define NAME_MAX_BYTES 256u
#define MAX_SECTIONS   65536u /* no kernel has more events: an event id has 16 bits */

void formats_fini(struct formats *formats)
{
	for (size_t i = 0; i < formats->count; i++) {
		free(formats->sections[i].name);
		free(formats->sections[i].text);
	}
	free(formats->sections);
	*formats = (struct formats){ 0 };
}

int formats_print(FILE *out, const char *name, const char *text, size_t bytes)
{
	errno = 0;
	if (fprintf(out, MARK "%s %zu\n", name, bytes) < 0 ||
	    fwrite(text, 1, bytes, out) != bytes || fputc('\n', out) == EOF)
		return errno ? -errno : -EIO;
	return 0;
}

struct cursor {
	const char *at;
	size_t left;
};

/* Decimal digits up to 'limit', and nothing else, in at[0..bytes). */
static bool read_number(const char *at, size_t bytes, size_t limit, size_t *out_value)
{
	size_t value = 0;

	if (bytes == 0 || bytes > 10)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		if (at[i] < '0' || at[i] > '9')
			return false;
		value = value * 10 + (size_t)(at[i] - '0');
	}
	*out_value = value;
	return value <= limit;
}

/* Take "=== NAME BYTES\n" and the text. False: what is there is no whole section. */
static bool take_section(struct cursor *cursor, struct format_section *out_section)
{
	const char *end = memchr(cursor->at, '\n', cursor->left);
	size_t mark = strlen(MARK), line, bytes;
	const char *name, *blank;

	if (!end || (size_t)(end - cursor->at) < mark || memcmp(cursor->at, MARK, mark) != 0)
		return false;
	line = (size_t)(end - cursor->at);
	name = cursor->at + mark;
	blank = memrchr(name, ' ', line - mark);
	if (!blank || blank == name || (size_t)(blank - name) > NAME_MAX_BYTES)
		return false;
	/* The text and the newline behind it must be there whole. */
	if (cursor->left - line - 1 == 0 ||
	    !read_number(blank + 1, (size_t)(end - blank - 1), cursor->left - line - 2, &bytes) ||
	    end[1 + bytes] != '\n')
		return false;

	out_section->name = xstrndup(name, (size_t)(blank - name));
	out_section->text = xmalloc(bytes + 1);
	memcpy(out_section->text, end + 1, bytes);
	out_section->text[bytes] = '\0';
	out_section->bytes = bytes;
	cursor->at += line + 1 + bytes + 1;
	cursor->left -= line + 1 + bytes + 1;
	return true;
}

int formats_read(const char *path, struct formats *out_formats, struct err *err)
{
	AUTO_FREE char *text = NULL;
	struct cursor cursor = { 0 };
	struct format_section section;
	int rc;

	*out_formats = (struct formats){ 0 };
	rc = file_read(path, FORMATS_MAX_BYTES, &text, &cursor.left, err);
	if (rc < 0)
		return rc;
	cursor.at = text;
	while (cursor.left && out_formats->count < MAX_SECTIONS) {
		if (!take_section(&cursor, &section))
			return err_set(err, -EBADMSG, "%s has no whole section at byte %zu", path,
				       (size_t)(cursor.at - text));
		out_formats->sections = vec_room(out_formats->sections, out_formats->count,
						 &out_formats->cap, sizeof(section));
		out_formats->sections[out_formats->count++] = section;
	}
	if (cursor.left)
		return err_set(err, -EBADMSG, "%s has more than %u sections", path, MAX_SECTIONS);
	return 0;
}

const char *formats_find(const struct formats *formats, const char *name)
{
	for (size_t i = 0; i < formats->count; i++) {
		if (strcmp(formats->sections[i].name, name) == 0)
			return formats->sections[i].text;
	}
	return NULL;
}
