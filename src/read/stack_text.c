/* stack_text.c - see stack_text.h. */
#include "read/stack_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "event/stacks.h"

#define ARROW	   "=>"
#define FRAME_MAX  512u
#define PATH_BYTES 4096u

static bool is_edge(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

uint32_t stack_texts_split(struct stack_texts *texts, const char *text, size_t bytes,
			   uint64_t *out_words, uint32_t max)
{
	const char *end = memchr(text, '\0', bytes);
	const char *at = text;
	uint32_t count = 0;

	end = end ? end : text + bytes;
	at = memmem(text, (size_t)(end - text), ARROW, strlen(ARROW));
	while (at && count < max) {
		const char *next;
		AUTO_FREE char *frame = NULL;

		for (at += strlen(ARROW); at < end && is_edge(*at); at++)
			;
		next = memmem(at, (size_t)(end - at), ARROW, strlen(ARROW));
		bytes = (size_t)((next ? next : end) - at);
		while (bytes && is_edge(at[bytes - 1]))
			bytes--;
		frame = xstrndup(at, bytes < FRAME_MAX ? bytes : FRAME_MAX);
		if (*frame && strcmp(frame, "??") != 0 && strcmp(frame, "0x0") != 0)
			out_words[count++] = names_add(&texts->names, frame, FRAME_MAX + 1);
		at = next;
	}
	return count;
}

/* "<00007f12>", "(ffffffff81)": 0 = it is none. */
static uint64_t address_in(const char *text, char open, char close)
{
	char *end;
	uint64_t address;

	if (!text || *text != open || !isxdigit((unsigned char)text[1]))
		return 0;
	address = strtoull(text + 1, &end, 16);
	return *end == close ? address : 0;
}

static const char *kept(struct stack_texts *texts, const char *text, size_t bytes)
{
	AUTO_FREE char *copy = xstrndup(text, bytes);

	return names_text(&texts->names, names_add(&texts->names, copy, PATH_BYTES));
}

/* "/usr/lib/libc.so.6[+0x11d7c2]": bytes behind the start of the mapping, which no line tells. */
static void in_file(struct stack_texts *texts, const char *text, struct stack_frame *frame)
{
	frame->path = kept(texts, text, strcspn(text, "["));
	frame->module = text_base_name(frame->path);
	frame->offset = 0;
}

void stack_texts_frame(struct stack_texts *texts, uint64_t word, struct stack_frame *frame)
{
	const char *text = names_text(&texts->names, (uint32_t)word);
	size_t name = strcspn(text, " +");
	const char *behind = strchr(text, ' ');

	frame->offset = address_in(text, '<', '>');
	if (frame->offset || *text == '<')
		return;
	if (strncmp(text, "0x", 2) == 0) {
		frame->offset = strtoull(text, NULL, 16);
		return;
	}
	if (*text == '/') {
		in_file(texts, text, frame);
		return;
	}
	frame->function = kept(texts, text, name);
	if (behind) {
		frame->offset = address_in(behind + 1, '(', ')');
		frame->offset = frame->offset ? frame->offset : address_in(behind + 1, '<', '>');
	}
}

void stack_texts_fini(struct stack_texts *texts)
{
	names_fini(&texts->names);
}
