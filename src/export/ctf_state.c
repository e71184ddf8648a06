/* ctf_state.c - lists of struct facts as records of made formats. */
#include "export/ctf_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/order.h"
#include "event/event.h"
#include "event/facts.h"
#include "export/ctf_layout.h"
#include "read/ctf/native.h"
#include "fields/print.h"
#include "read/read.h"
#include "store/formats.h"

#define MAX_TEXT 16000u /* bytes of one text; what is longer is cut */

struct ctf_state {
	struct formats formats; /* of the lists, and behind them that of names */
	struct printer *printer;
	struct ctf_layout **layouts; /* owned; as the formats */
	uint32_t first;
	bool big_endian;
	uint8_t *record; /* owned; the list that it is of, and its bytes so far */
	uint32_t list, used;
	uint8_t *final; /* owned; the same as its layout says */
};

static void ctf_state_add_format(struct ctf_state *state, const char *name, const char *text,
				 size_t bytes)
{
	struct formats *formats = &state->formats;

	formats->sections = vec_room(formats->sections, formats->count, &formats->cap,
				     sizeof(*formats->sections));
	formats->sections[formats->count++] =
		(struct format_section){ xasprintf("holdup/%s", name), xstrdup(text), bytes };
}

static void add_formats(struct ctf_state *state)
{
	AUTO_FREE char *name = NULL;

	for (size_t i = 0; i < ctf_state_list_count; i++) {
		AUTO_FREE char *text = NULL;
		size_t bytes = 0;
		FILE *out = open_memstream(&text, &bytes);

		if (!out)
			abort();
		ctf_state_format(out, &ctf_state_lists[i], state->first + (uint32_t)i);
		(void)fclose(out);
		ctf_state_add_format(state, ctf_state_lists[i].event, text, bytes);
	}
	name = xasprintf(ctf_name_format, state->first + (uint32_t)ctf_state_list_count);
	ctf_state_add_format(state, "fd_name", name, strlen(name));
}

struct ctf_state *ctf_state_new(uint32_t first, bool big_endian)
{
	struct ctf_state *state;

	if (first + ctf_state_list_count + 1 > CTF_NATIVE_MAX_KIND)
		return NULL;
	state = xcalloc(1, sizeof(*state));
	state->first = first;
	state->big_endian = big_endian;
	state->record = xcalloc(1, CTF_LAYOUT_MAX_BYTES + 8);
	state->final = xcalloc(1, CTF_LAYOUT_MAX_BYTES + 8);
	add_formats(state);
	state->printer = printer_new(
		&(struct print_setup){ &state->formats, &(struct facts){ 0 }, big_endian, 8 });
	state->layouts = xcalloc(state->formats.count, sizeof(struct ctf_layout *));
	for (size_t i = 0; i < state->formats.count; i++)
		state->layouts[i] = ctf_layout_new(
			printer_event(state->printer, (uint16_t)(first + i)), big_endian);
	return state;
}

void ctf_state_free(struct ctf_state *state)
{
	if (!state)
		return;
	for (size_t i = 0; i < state->formats.count; i++)
		ctf_layout_free(state->layouts[i]);
	free(state->layouts);
	printer_free(state->printer);
	formats_fini(&state->formats);
	free(state->record);
	free(state->final);
	free(state);
}

void ctf_state_print(const struct ctf_state *state, enum ctf_stream_kind stream, FILE *out)
{
	for (size_t i = 0; i < state->formats.count; i++) {
		const struct format_section *format = &state->formats.sections[i];
		bool is_name = i == ctf_state_list_count;
		AUTO_FREE char *uri =
			xasprintf(CTF_NATIVE_URI "%s&title=%s&text=%s",
				  ctf_native_name(is_name ? CTF_NATIVE_NAME : CTF_NATIVE_STATE),
				  format->name, format->text);

		if (is_name != (stream == CTF_STREAM_NAMES))
			continue;
		fprintf(out, "event {\n\tname = \"%s\";\n\tid = %u;\n\tstream_id = %u;\n",
			is_name ? "holdup_fd_name" : strchr(format->name, '/') + 1,
			state->first + (uint32_t)i, (uint32_t)stream);
		fputs("\tmodel.emf.uri = ", out);
		ctf_print_string(out, uri);
		fputs(";\n\tfields := struct {\n", out);
		ctf_layout_print(state->layouts[i], out);
		fputs("\t};\n};\n\n", out);
	}
}

/* ------------------------------------------------------------------ records */

static bool ctf_state_swaps(const struct ctf_state *state)
{
	return order_swaps(state->big_endian);
}

static void ctf_state_begin_record(struct ctf_state *state, uint32_t list, uint32_t places)
{
	uint16_t id = (uint16_t)(state->first + list);

	state->list = list;
	state->used = CTF_NATIVE_MIN + places * 8;
	memset(state->record, 0, state->used);
	id = order_u16(id, ctf_state_swaps(state));
	memcpy(state->record, &id, sizeof(id));
}

static void ctf_state_put_number(struct ctf_state *state, uint32_t place, uint64_t number)
{
	number = order_u64(number, ctf_state_swaps(state));
	memcpy(state->record + CTF_NATIVE_MIN + (size_t)place * 8, &number, sizeof(number));
}

static void ctf_state_put_text(struct ctf_state *state, uint32_t place, const char *text)
{
	size_t bytes = text ? strnlen(text, MAX_TEXT) : 0;
	uint32_t word = (uint32_t)(bytes + 1) << 16 | state->used;

	word = order_u32(word, ctf_state_swaps(state));
	memcpy(state->record + CTF_NATIVE_MIN + (size_t)place * 8, &word, sizeof(word));
	if (bytes)
		memcpy(state->record + state->used, text, bytes);
	state->record[state->used + bytes] = '\0';
	state->used += (uint32_t)bytes + 1;
}

static void ctf_state_end_record(struct ctf_state *state, struct ctf_writer *writer,
				 enum ctf_stream_kind stream, uint64_t time_ns)
{
	const struct trace_record record = { state->record, state->used, 0 };
	uint32_t tail;
	uint32_t bytes = ctf_layout_put(state->layouts[state->list], &record, state->final, &tail);

	ctf_writer_put(writer, stream, 0, time_ns,
		       &(struct ctf_writer_event){ state->final, bytes, tail, 0 });
}

static void ctf_state_put_field(struct ctf_state *state, const struct ctf_state_field *field,
				uint32_t place, const char *item)
{
	const char *text;
	uint64_t number;
	int32_t word;

	switch ((enum ctf_state_type)field->type) {
	case CTF_STATE_TEXT:
		memcpy(&text, item + field->offset, sizeof(text));
		ctf_state_put_text(state, place, text);
		break;
	case CTF_STATE_U8:
		ctf_state_put_number(state, place, (uint8_t)item[field->offset]);
		break;
	case CTF_STATE_I32:
		memcpy(&word, item + field->offset, sizeof(word));
		ctf_state_put_number(state, place, (uint64_t)(int64_t)word);
		break;
	case CTF_STATE_U32:
		memcpy(&word, item + field->offset, sizeof(word));
		ctf_state_put_number(state, place, (uint32_t)word);
		break;
	default:
		memcpy(&number, item + field->offset, sizeof(number));
		ctf_state_put_number(state, place, number);
		break;
	}
}

void ctf_state_put(struct ctf_state *state, struct ctf_writer *writer, const struct facts *facts)
{
	for (size_t i = 0; i < ctf_state_list_count; i++) {
		const struct ctf_state_list *list = &ctf_state_lists[i];
		const char *items =
			*(char *const *)(const void *)((const char *)facts + list->items_offset);
		size_t count =
			*(const size_t *)(const void *)((const char *)facts + list->count_offset);

		for (size_t n = 0; n < count; n++) {
			ctf_state_begin_record(state, (uint32_t)i, list->field_count);
			for (uint32_t f = 0; f < list->field_count; f++)
				ctf_state_put_field(state, &list->fields[f], f,
						    items + n * list->item_bytes);
			ctf_state_end_record(state, writer, CTF_STREAM_STATE, facts->first_ns);
		}
	}
}

void ctf_state_put_name(struct ctf_state *state, struct ctf_writer *writer,
			const struct event *event)
{
	const struct ev_fd_name *name = &event->fd_name;

	ctf_state_begin_record(state, (uint32_t)ctf_state_list_count, 6);
	ctf_state_put_number(state, 0, name->inode);
	ctf_state_put_number(state, 1, (uint64_t)(int64_t)name->tgid);
	ctf_state_put_number(state, 2, (uint64_t)(int64_t)name->tid);
	ctf_state_put_number(state, 3, (uint64_t)(int64_t)name->fd);
	ctf_state_put_number(state, 4, name->role | (uint64_t)name->watch << FD_WATCH_SHIFT);
	ctf_state_put_text(state, 5, name->name);
	ctf_state_end_record(state, writer, CTF_STREAM_NAMES, event->time_ns);
}
