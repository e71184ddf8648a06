/* native.c - the records of events that holdup wrote as CTF. */
#include "read/ctf/native.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/order.h"
#include "event/event.h"
#include "event/facts.h"
#include "read/ctf/meta.h"
#include "read/ctf/rows.h"
#include "read/format_text.h"
#include "read/kernel/events.h"
#include "read/kernel/pages.h"
#include "read/read.h"
#include "store/formats.h"

static const char *const names[CTF_NATIVE_COUNT] = {
	[CTF_NATIVE_KERNEL] = "kernel", [CTF_NATIVE_MADE] = "made",   [CTF_NATIVE_USER] = "user",
	[CTF_NATIVE_NAME] = "name",	[CTF_NATIVE_STATE] = "state", [CTF_NATIVE_TOLD] = "told",
};

const char *ctf_native_name(enum ctf_native native)
{
	return names[native];
}

struct ctf_native_kind ctf_native_parse(const struct ctf_event *event)
{
	struct ctf_native_kind kind = { 0 };
	const char *at = event->emf_uri, *title, *text;
	size_t bytes;

	if (!at || strncmp(at, CTF_NATIVE_URI, strlen(CTF_NATIVE_URI)) != 0)
		return kind;
	at += strlen(CTF_NATIVE_URI);
	title = strstr(at, "&title=");
	text = title ? strstr(title, "&text=") : NULL;
	if (!text)
		return kind;
	bytes = (size_t)(title - at);
	for (uint32_t i = CTF_NATIVE_KERNEL; i < CTF_NATIVE_COUNT; i++) {
		if (strlen(names[i]) == bytes && strncmp(names[i], at, bytes) == 0)
			kind.native = i;
	}
	title += strlen("&title=");
	if (kind.native != CTF_NATIVE_NOT)
		kind.title = xstrndup(title, (size_t)(text - title));
	kind.text = text + strlen("&text=");
	return kind;
}

/* Is it what a format of a kind can be: "SYSTEM/EVENT", its number, and the head of all records? */
static bool is_sound(const struct ctf_event *event, const struct ctf_native_kind *kind)
{
	struct format_field type, pid;
	const char *slash = strchr(kind->title, '/');

	return slash && slash > kind->title && slash[1] && event->id &&
	       event->id <= CTF_NATIVE_MAX_KIND &&
	       format_text_id(kind->text) == (int32_t)event->id &&
	       format_text_field(kind->text, "common_type", &type) && type.offset == 0 &&
	       type.bytes == 2 && format_text_field(kind->text, "common_pid", &pid) &&
	       pid.offset == 4 && pid.bytes == 4;
}

static void bind_base(struct ctf_meta *meta, struct ctf_event *event,
		      const struct ctf_native_kind *kind, struct facts *facts)
{
	const char *slash = strchr(kind->title, '/');
	const char *system = ctf_keep(&meta->arena, kind->title, (size_t)(slash - kind->title));
	const char *name = ctf_keep(&meta->arena, slash + 1, strlen(slash + 1));
	struct event *base;

	if (kind->native == CTF_NATIVE_MADE) {
		ctf_rows_bind(meta, event, system, name, facts);
		return;
	}
	base = ctf_take(&meta->arena, sizeof(*base));
	base->type = EV_OTHER;
	base->tid = -1;
	base->other.system = system;
	base->other.name = name;
	event->base = base;
}

static void ctf_native_add_format(struct formats *formats, const struct ctf_native_kind *kind)
{
	formats->sections = vec_room(formats->sections, formats->count, &formats->cap,
				     sizeof(*formats->sections));
	formats->sections[formats->count++] =
		(struct format_section){ xstrdup(kind->title), xstrdup(kind->text),
					 strlen(kind->text) };
}

bool ctf_native_bind(struct ctf_meta *meta, struct ctf_event *event, struct formats *formats,
		     struct facts *facts)
{
	struct ctf_native_kind kind = ctf_native_parse(event);
	bool sound = kind.native != CTF_NATIVE_NOT && is_sound(event, &kind);

	if (sound) {
		event->native = (uint8_t)kind.native;
		event->big_endian = meta->big_endian;
		event->number = (uint32_t)event->id;
		event->record_bytes = CTF_NATIVE_MIN;
		bind_base(meta, event, &kind, facts);
		ctf_native_add_format(formats, &kind);
	}
	free(kind.title);
	return sound;
}

uint32_t ctf_native_kinds(const struct ctf_meta *meta)
{
	uint64_t highest = 0;

	for (size_t i = 0; i < meta->event_count; i++) {
		const struct ctf_event *event = meta->events[i];

		if (event->emf_uri && event->id <= CTF_NATIVE_MAX_KIND && event->id > highest &&
		    strncmp(event->emf_uri, CTF_NATIVE_URI, strlen(CTF_NATIVE_URI)) == 0)
			highest = event->id;
	}
	return (uint32_t)highest;
}

bool ctf_native_has_kernel(const struct ctf_meta *meta)
{
	bool has = false;

	for (size_t i = 0; i < meta->event_count; i++) {
		struct ctf_native_kind kind = ctf_native_parse(meta->events[i]);

		has |= kind.native != CTF_NATIVE_NOT && kind.native != CTF_NATIVE_USER;
		free(kind.title);
	}
	return has;
}

static uint64_t number_8(const uint8_t *data, uint32_t place, bool swap)
{
	uint64_t number;

	memcpy(&number, data + CTF_NATIVE_MIN + (size_t)place * 8, sizeof(number));
	return order_u64(number, swap);
}

const char ctf_name_format[] =
	"name: fd_name\nID: %u\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:u64 inode;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:s64 tgid;\toffset:16;\tsize:8;\tsigned:1;\n"
	"\tfield:s64 tid;\toffset:24;\tsize:8;\tsigned:1;\n"
	"\tfield:s64 fd;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:u64 role;\toffset:40;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:48;\tsize:4;\tsigned:0;\n"
	"\nprint fmt: \"%%s\", __get_str(name)\n";

#define NAME_PLACE 48u

static bool decode_name(const struct ctf_event *kind, const struct trace_record *record,
			struct event *event)
{
	const uint8_t *data = record->data;
	bool big = kind->big_endian, swap = order_swaps(big);
	uint32_t word, start, bytes;
	uint64_t role;

	if (record->bytes < NAME_PLACE + 4)
		return false;
	word = page_word(data + NAME_PLACE, big);
	start = word & 0xffff;
	bytes = word >> 16;
	if (bytes == 0 || start >= record->bytes || bytes > record->bytes - start ||
	    data[start + bytes - 1] != '\0')
		return false;
	role = number_8(data, 4, swap);
	*event = (struct event){
		.tid = -1,
		.type = EV_FD_NAME,
		.fd_name.name = (const char *)data + start,
		.fd_name.inode = number_8(data, 0, swap),
		.fd_name.tgid = (int32_t)number_8(data, 1, swap),
		.fd_name.tid = (int32_t)number_8(data, 2, swap),
		.fd_name.fd = (int32_t)number_8(data, 3, swap),
		.fd_name.role = fd_role_of(role),
		.fd_name.watch = fd_watch_of(role),
	};
	return true;
}

bool ctf_native_decode(const struct ctf_event *kind, const struct kernel_events *events,
		       const struct trace_record *record, struct event *out_event)
{
	const struct record bare = { record->data, record->bytes, 0 };
	int32_t tid = (int32_t)page_word(record->data + 4, kind->big_endian);

	switch ((enum ctf_native)kind->native) {
	case CTF_NATIVE_KERNEL:
		return events && kernel_events_id(events, &bare) == kind->number &&
		       kernel_events_decode(events, &bare, out_event);
	case CTF_NATIVE_NAME:
		return decode_name(kind, record, out_event);
	case CTF_NATIVE_MADE: /* its fields were read already */
	case CTF_NATIVE_TOLD:
		out_event->tid = tid;
		return true;
	default:
		*out_event = *kind->base;
		out_event->tid = tid;
		if (kind->native == CTF_NATIVE_USER)
			out_event->context = EV_CTX_USER;
		return true;
	}
}
