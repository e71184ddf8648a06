/*
 * dump.c - the state dump as lines of JSON, written and read.
 *
 * What a line may hold is one table: the writer prints its keys in that order, the
 * reader takes them in any order. The file is read in pieces, so that neither a line
 * without an end nor a file without an end costs more memory than the limits below.
 */
#include "store/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "event/event.h"
#include "event/facts.h"
#include "store/file.h"
#include "store/json_text.h"

#define LINE_MAX_BYTES (1u << 20)
#define FILE_MAX_BYTES (256u << 20)
#define JSON_DEPTH     4

enum field_type {
	FIELD_I32,   /* 0 .. INT32_MAX */
	FIELD_ANY32, /* any int32_t */
	FIELD_U32,
	FIELD_U64,
	FIELD_ROLE,
	FIELD_BOOL,
	FIELD_CHAR,
	FIELD_TEXT,
};

struct field {
	const char *key;
	uint16_t offset;
	uint8_t type;
	bool must; /* the line is damaged without it */
};

/* What is being collected, per kind of line. */
struct rows {
	char *items; /* owned */
	size_t count;
	size_t cap;
};

struct kind {
	const char *key;
	const struct field *fields;
	uint8_t field_count;
	uint16_t item_bytes;
	uint16_t items_offset; /* in struct facts: the pointer */
	uint16_t count_offset; /* in struct facts: the count */
};

#define FIELD(of, key, member, kind, must)                   \
	{                                                    \
		key, offsetof(struct of, member), kind, must \
	}

static const struct field thread_fields[] = {
	FIELD(fact_thread, "tid", tid, FIELD_I32, true),
	FIELD(fact_thread, "tgid", tgid, FIELD_I32, true),
	FIELD(fact_thread, "ppid", ppid, FIELD_I32, false),
	FIELD(fact_thread, "comm", comm, FIELD_TEXT, false),
	FIELD(fact_thread, "cmdline", cmdline, FIELD_TEXT, false),
	FIELD(fact_thread, "cgroup", cgroup, FIELD_TEXT, false),
	FIELD(fact_thread, "uid", uid, FIELD_U32, false),
	FIELD(fact_thread, "policy", policy, FIELD_ANY32, false),
	FIELD(fact_thread, "prio", prio, FIELD_ANY32, false),
	FIELD(fact_thread, "state", state, FIELD_CHAR, false),
	FIELD(fact_thread, "frozen", frozen, FIELD_TEXT, false),
	FIELD(fact_thread, "allowed", allowed, FIELD_TEXT, false),
	FIELD(fact_thread, "kernel", kernel, FIELD_BOOL, false),
	FIELD(fact_thread, "compat", compat, FIELD_BOOL, false),
	FIELD(fact_thread, "ns", seen_ns, FIELD_U64, false),
	FIELD(fact_thread, "call", call, FIELD_I32, false),
	FIELD(fact_thread, "arg0", arg0, FIELD_U64, false),
	FIELD(fact_thread, "arg1", arg1, FIELD_U64, false),
	FIELD(fact_thread, "arg2", arg2, FIELD_U64, false),
	FIELD(fact_thread, "untimed", untimed, FIELD_BOOL, false),
	FIELD(fact_thread, "call_ns", call_ns, FIELD_U64, false),
};

static const struct field fd_fields[] = {
	FIELD(fact_fd, "tgid", tgid, FIELD_I32, true),
	FIELD(fact_fd, "fd", fd, FIELD_I32, true),
	FIELD(fact_fd, "role", role, FIELD_ROLE, false),
	FIELD(fact_fd, "inode", inode, FIELD_U64, false),
	FIELD(fact_fd, "name", name, FIELD_TEXT, true),
};

static const struct field epoll_fields[] = {
	FIELD(fact_epoll, "tgid", tgid, FIELD_I32, true),
	FIELD(fact_epoll, "epoll", epoll, FIELD_I32, true),
	FIELD(fact_epoll, "target", target, FIELD_I32, true),
};

static const struct field vtid_fields[] = {
	FIELD(fact_vtid, "space", space, FIELD_U64, true),
	FIELD(fact_vtid, "vtid", vtid, FIELD_I32, true),
	FIELD(fact_vtid, "tid", tid, FIELD_I32, true),
	FIELD(fact_vtid, "tgid", tgid, FIELD_I32, true),
	FIELD(fact_vtid, "start", start, FIELD_U64, false),
};

static const struct field wait_fields[] = {
	FIELD(fact_wait, "tid", tid, FIELD_I32, true),
	FIELD(fact_wait, "who", who, FIELD_I32, true),
	FIELD(fact_wait, "process", is_process, FIELD_BOOL, false),
	FIELD(fact_wait, "inferred", is_inferred, FIELD_BOOL, false),
	FIELD(fact_wait, "ns", seen_ns, FIELD_U64, true),
	FIELD(fact_wait, "word", word, FIELD_U64, false),
	FIELD(fact_wait, "call", call, FIELD_TEXT, true),
	FIELD(fact_wait, "object", object, FIELD_TEXT, true),
	FIELD(fact_wait, "how", how, FIELD_TEXT, true),
};

static const struct field name_fields[] = {
	FIELD(fact_name, "nr", nr, FIELD_U64, true),
	FIELD(fact_name, "name", name, FIELD_TEXT, true),
};

static const struct field moment_fields[] = {
	FIELD(fact_moment, "text", text, FIELD_TEXT, true),
};

#define KIND(key, fields, item, array, count)                                        \
	{                                                                            \
		key, fields, ARRAY_LEN(fields), sizeof(struct item),                 \
			offsetof(struct facts, array), offsetof(struct facts, count) \
	}

enum {
	KIND_THREAD,
	KIND_FD,
	KIND_EPOLL,
	KIND_VTID,
	KIND_WAIT,
	KIND_IRQ,
	KIND_DEVICE,
	KIND_MOMENT,
	KIND_COUNT
};

static const struct kind kinds[KIND_COUNT] = {
	[KIND_THREAD] = KIND("thread", thread_fields, fact_thread, threads, thread_count),
	[KIND_FD] = KIND("fd", fd_fields, fact_fd, fds, fd_count),
	[KIND_EPOLL] = KIND("epoll", epoll_fields, fact_epoll, epolls, epoll_count),
	[KIND_VTID] = KIND("vtid", vtid_fields, fact_vtid, vtids, vtid_count),
	[KIND_WAIT] = KIND("wait", wait_fields, fact_wait, waits, wait_count),
	[KIND_IRQ] = KIND("irq", name_fields, fact_name, irqs, irq_count),
	[KIND_DEVICE] = KIND("device", name_fields, fact_name, devices, device_count),
	[KIND_MOMENT] = KIND("moment", moment_fields, fact_moment, moments, moment_count),
};

/* Where the optional keys begin when a line lacks them. */
static const union {
	struct fact_thread thread;
	char bytes[sizeof(struct fact_thread)];
} empty_thread = { .thread = { .comm = "",
			       .cmdline = "",
			       .cgroup = "",
			       .frozen = "",
			       .allowed = "",
			       .policy = -1,
			       .state = '?' } };

static void dump_print_text(FILE *out, const char *string)
{
	AUTO_FREE char *coded = json_text_coded(string);

	putc_unlocked('"', out);
	for (const char *at = coded; *at; at++) {
		unsigned char c = (unsigned char)*at;

		if (c == '"' || c == '\\')
			putc_unlocked('\\', out);
		if (c < 0x20 || c == 0x7f)
			fprintf(out, "\\u%04x", c);
		else
			putc_unlocked(c, out);
	}
	putc_unlocked('"', out);
}

/* A character that is no plain letter becomes '?'. */
static char plain(char letter)
{
	return letter > ' ' && letter < 0x7f && letter != '"' && letter != '\\' ? letter : '?';
}

static void print_value(FILE *out, enum field_type type, const char *from)
{
	union {
		int32_t i32;
		uint32_t u32;
		uint64_t u64;
		uint8_t u8;
		bool yes;
		const char *text;
	} value;

	memcpy(&value, from,
	       type == FIELD_TEXT  ? sizeof(value.text)
	       : type == FIELD_U64 ? sizeof(value.u64)
	       : type == FIELD_BOOL || type == FIELD_ROLE || type == FIELD_CHAR
		       ? 1
		       : sizeof(value.i32));
	switch (type) {
	case FIELD_I32:
	case FIELD_ANY32:
		fprintf(out, "%" PRId32, value.i32);
		return;
	case FIELD_U32:
		fprintf(out, "%" PRIu32, value.u32);
		return;
	case FIELD_U64:
		fprintf(out, "%" PRIu64, value.u64);
		return;
	case FIELD_ROLE:
		fprintf(out, "%u", value.u8);
		return;
	case FIELD_BOOL:
		fputs(value.yes ? "true" : "false", out);
		return;
	case FIELD_CHAR:
		fprintf(out, "\"%c\"", plain((char)value.u8));
		return;
	case FIELD_TEXT:
		dump_print_text(out, value.text);
	}
}

static void print_line(FILE *out, const struct kind *kind, const void *item)
{
	fprintf(out, "{\"%s\":{", kind->key);
	for (size_t i = 0; i < kind->field_count; i++) {
		const struct field *field = &kind->fields[i];

		fprintf(out, "%s\"%s\":", i ? "," : "", field->key);
		print_value(out, field->type, (const char *)item + field->offset);
	}
	fputs("}}\n", out);
}

void dump_print_thread(FILE *out, const struct fact_thread *thread)
{
	print_line(out, &kinds[KIND_THREAD], thread);
}

void dump_print_fd(FILE *out, const struct fact_fd *fd)
{
	print_line(out, &kinds[KIND_FD], fd);
}

void dump_print_epoll(FILE *out, const struct fact_epoll *epoll)
{
	print_line(out, &kinds[KIND_EPOLL], epoll);
}

void dump_print_vtid(FILE *out, const struct fact_vtid *vtid)
{
	print_line(out, &kinds[KIND_VTID], vtid);
}

void dump_print_wait(FILE *out, const struct fact_wait *wait)
{
	print_line(out, &kinds[KIND_WAIT], wait);
}

void dump_print_irq(FILE *out, const struct fact_name *irq)
{
	print_line(out, &kinds[KIND_IRQ], irq);
}

void dump_print_device(FILE *out, const struct fact_name *device)
{
	print_line(out, &kinds[KIND_DEVICE], device);
}

void dump_print_moment(FILE *out, const struct fact_moment *moment)
{
	print_line(out, &kinds[KIND_MOMENT], moment);
}

/* Integers from 'low' to 'high' only; json-c would bend the others. */
static bool take_int(struct json_object *json, int64_t low, int64_t high, int64_t *out)
{
	if (!json_object_is_type(json, json_type_int))
		return false;
	*out = json_object_get_int64(json);
	return *out >= low && *out <= high;
}

static bool take_u64(struct json_object *json, uint64_t *out)
{
	if (!json_object_is_type(json, json_type_int) || json_object_get_int64(json) < 0)
		return false;
	*out = json_object_get_uint64(json);
	return true;
}

static bool take_text(struct json_object *json, struct facts *facts, const char **out)
{
	AUTO_FREE char *bytes = NULL;

	if (!json_object_is_type(json, json_type_string))
		return false;
	bytes = json_text_bytes(json_object_get_string(json));
	*out = facts_keep(facts, bytes);
	return true;
}

static bool take_char(struct json_object *json, char *out)
{
	if (!json_object_is_type(json, json_type_string) || json_object_get_string_len(json) != 1)
		return false;
	*out = plain(json_object_get_string(json)[0]);
	return true;
}

/* One value into its place in the item. False when it is not what the field wants. */
static bool dump_take_value(const struct field *field, struct json_object *json,
			    struct facts *facts, char *item)
{
	char *to = item + field->offset;
	int64_t number = 0;

	switch ((enum field_type)field->type) {
	case FIELD_I32:
	case FIELD_ANY32:
		if (!take_int(json, field->type == FIELD_I32 ? 0 : INT32_MIN, INT32_MAX, &number))
			return false;
		memcpy(to, &(int32_t){ (int32_t)number }, sizeof(int32_t));
		return true;
	case FIELD_U32:
		if (!take_int(json, 0, UINT32_MAX, &number))
			return false;
		memcpy(to, &(uint32_t){ (uint32_t)number }, sizeof(uint32_t));
		return true;
	case FIELD_U64:
		return take_u64(json, (uint64_t *)(void *)to);
	case FIELD_ROLE: /* one that a newer recorder knows is unknown here */
		if (!take_int(json, 0, INT32_MAX, &number))
			return false;
		*to = (char)fd_role_of((uint64_t)number);
		return true;
	case FIELD_BOOL:
		if (!json_object_is_type(json, json_type_boolean))
			return false;
		memcpy(to, &(bool){ json_object_get_boolean(json) }, sizeof(bool));
		return true;
	case FIELD_CHAR:
		return take_char(json, to);
	case FIELD_TEXT:
		return take_text(json, facts, (const char **)(void *)to);
	}
	return false;
}

static bool take_item(const struct kind *kind, struct json_object *json, struct facts *facts,
		      char *item)
{
	for (size_t i = 0; i < kind->field_count; i++) {
		const struct field *field = &kind->fields[i];
		struct json_object *value;

		if (!json_object_object_get_ex(json, field->key, &value)) {
			if (field->must)
				return false;
			continue;
		}
		if (!dump_take_value(field, value, facts, item))
			return false;
	}
	return true;
}

struct reader {
	struct facts *facts;
	struct rows rows[KIND_COUNT];
	struct json_tokener *tokener;
	const char *path;
	uint64_t line; /* from 1 */
};

/* The object of a line. Returns whether it is one of ours, whole. */
static bool take_object(struct reader *reader, struct json_object *json)
{
	for (size_t i = 0; i < KIND_COUNT; i++) {
		const struct kind *kind = &kinds[i];
		struct rows *rows = &reader->rows[i];
		struct json_object *inner;
		char *item;

		if (!json_object_object_get_ex(json, kind->key, &inner))
			continue;
		if (!json_object_is_type(inner, json_type_object))
			return false;
		rows->items = vec_room(rows->items, rows->count, &rows->cap, kind->item_bytes);
		item = rows->items + rows->count * kind->item_bytes;
		memset(item, 0, kind->item_bytes);
		if (i == KIND_THREAD)
			memcpy(item, empty_thread.bytes, sizeof(empty_thread.bytes));
		if (!take_item(kind, inner, reader->facts, item))
			return false;
		rows->count++;
		return true;
	}
	return true; /* of a kind that a newer recorder writes */
}

static void take_line(struct reader *reader, const char *text, size_t bytes)
{
	struct json_object *json;
	bool good = false;

	json_tokener_reset(reader->tokener);
	json = json_tokener_parse_ex(reader->tokener, text, (int)bytes);
	if (json_object_is_type(json, json_type_object))
		good = take_object(reader, json);
	json_object_put(json);
	if (!good)
		facts_note_damage(reader->facts,
				  "%s: line %" PRIu64 " is not a line of a state dump",
				  reader->path, reader->line);
}

/*
 * Cut the whole lines out of 'buffer' and move the rest to its start. Returns how many
 * bytes stay. *skip is set while a line that is too long goes on.
 */
static size_t take_lines(struct reader *reader, char *buffer, size_t bytes, bool *skip)
{
	char *at = buffer, *end;

	while ((end = memchr(at, '\n', bytes - (size_t)(at - buffer)))) {
		reader->line++;
		if (!*skip && end > at)
			take_line(reader, at, (size_t)(end - at));
		*skip = false;
		at = end + 1;
	}
	bytes -= (size_t)(at - buffer);
	memmove(buffer, at, bytes);
	if (bytes < LINE_MAX_BYTES)
		return bytes;
	if (!*skip)
		facts_note_damage(reader->facts, "%s: line %" PRIu64 " is too long", reader->path,
				  reader->line + 1);
	*skip = true;
	return 0;
}

static void read_lines(struct reader *reader, int fd, char *buffer)
{
	size_t held = 0;
	uint64_t total = 0;
	bool skip = false;
	ssize_t got;

	while ((got = read(fd, buffer + held, LINE_MAX_BYTES - held)) > 0) {
		total += (uint64_t)got;
		if (total > FILE_MAX_BYTES) {
			facts_note_damage(reader->facts, "%s: only the first %u MiB were read",
					  reader->path, FILE_MAX_BYTES >> 20);
			return;
		}
		held = take_lines(reader, buffer, held + (size_t)got, &skip);
	}
	if (got < 0)
		facts_note_damage(reader->facts, "%s: %s", reader->path, strerror(errno));
	if (held || skip)
		facts_note_damage(reader->facts, "%s: the last line is cut", reader->path);
}

ORDER_FUNCTION(compare_fds, struct fact_fd, ORDER_UP(tgid), ORDER_UP(fd), ORDER_UP(inode),
	       ORDER_TEXT(name));

ORDER_FUNCTION(compare_waits, struct fact_wait, ORDER_UP(tid), ORDER_UP(seen_ns), ORDER_UP(who),
	       ORDER_UP(is_process));

/* Append what was collected to the array of the facts. */
static void hand_over(struct facts *facts, const struct kind *kind, struct rows *rows)
{
	void **items = (void **)(void *)((char *)facts + kind->items_offset);
	size_t *count = (size_t *)(void *)((char *)facts + kind->count_offset);

	if (rows->count) {
		*items = xrealloc(*items, *count + rows->count, kind->item_bytes);
		memcpy((char *)*items + *count * kind->item_bytes, rows->items,
		       rows->count * kind->item_bytes);
		*count += rows->count;
	}
	free(rows->items);
}

int dump_read(const char *path, struct facts *facts, struct err *err)
{
	struct reader reader = { .facts = facts, .path = path };
	AUTO_FREE char *buffer = NULL;
	uint64_t bytes;
	AUTO_CLOSE int fd = file_open(path, &bytes, err);

	if (fd < 0)
		return fd;
	reader.tokener = json_tokener_new_ex(JSON_DEPTH);
	if (!reader.tokener)
		return err_set(err, -ENOMEM, "%s: no memory for a parser", path);
	json_tokener_set_flags(reader.tokener, JSON_TOKENER_VALIDATE_UTF8);
	buffer = xmalloc(LINE_MAX_BYTES);
	read_lines(&reader, fd, buffer);
	json_tokener_free(reader.tokener);
	for (size_t i = 0; i < KIND_COUNT; i++)
		hand_over(facts, &kinds[i], &reader.rows[i]);
	facts->vtid_cap = facts->vtid_count;
	if (facts->fd_count)
		qsort(facts->fds, facts->fd_count, sizeof(*facts->fds), compare_fds);
	if (facts->wait_count)
		qsort(facts->waits, facts->wait_count, sizeof(*facts->waits), compare_waits);
	return 0;
}
