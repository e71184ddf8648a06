/* lock_decode.c - fields of events of class "lock" into struct ev_user_lock. */
#include "ask/lock_decode.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/event.h"
#include "fields/print.h"
#include "fields/value.h"

#define PATH_BYTES 4096u

static const struct {
	const char *name;
	uint8_t op;
} ops[] = {
	{ "begin", USER_LOCK_BEGIN },		{ "module", USER_LOCK_MODULE },
	{ "acquired", USER_LOCK_ACQUIRED },	{ "released", USER_LOCK_RELEASED },
	{ "wait_begin", USER_LOCK_WAIT_BEGIN }, { "wait_end", USER_LOCK_WAIT_END },
	{ "cond_begin", USER_LOCK_COND_BEGIN }, { "cond_end", USER_LOCK_COND_END },
	{ "signal", USER_LOCK_SIGNAL },		{ "broadcast", USER_LOCK_BROADCAST },
	{ "destroyed", USER_LOCK_DESTROYED },
};

enum place {
	ADDRESS,
	MUTEX,
	SITE,
	PID,
	OWNER,
	RESULT,
	KIND,
	PLACES
};

/* src/runtime/locks/events.h; several names for one place. */
static const struct {
	const char *field;
	enum place place;
} places[] = {
	{ "lock", ADDRESS }, { "cond", ADDRESS },  { "start", ADDRESS }, { "mutex", MUTEX },
	{ "end", MUTEX },    { "site", SITE },	   { "bias", SITE },	 { "pid", PID },
	{ "owner", OWNER },  { "result", RESULT }, { "kind", KIND },
};

/* What is known of one kind of event of the trace. */
struct decoder {
	bool is_tried;
	bool is_lock;
	uint8_t op;
	const struct print_field *fields[PLACES]; /* NULL = it has none */
	const struct print_field *path;
};

struct lock_decode {
	const struct printer *printer;
	struct decoder *decoders; /* owned; by number of the kind */
	uint32_t decoder_count;
	char path[PATH_BYTES];
};

static void learn(struct decoder *decoder, const struct print_event *kind)
{
	bool is_known = false;

	decoder->is_tried = true;
	if (strcmp(kind->system, "lock") != 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		if (strcmp(kind->name, ops[i].name) == 0) {
			decoder->op = ops[i].op;
			is_known = true;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		const struct print_field *field = print_event_field(kind, places[i].field);

		if (field && !field->is_text && !field->is_array)
			decoder->fields[places[i].place] = field;
	}
	decoder->path = print_event_field(kind, "path");
	if (decoder->path && !decoder->path->is_text)
		decoder->path = NULL;
	/* The kernel has events of a system "lock", too; none of them has a "pid" of its own. */
	decoder->is_lock = is_known && decoder->fields[PID] &&
			   (decoder->op == USER_LOCK_BEGIN || decoder->fields[ADDRESS]);
}

static const struct decoder *decoder_of(struct lock_decode *decode, const struct value_line *line)
{
	uint32_t index = value_kind_index(decode->printer, line->kind);

	if (index >= decode->decoder_count) {
		uint32_t count = value_kind_count(decode->printer);

		if (index >= count)
			return NULL;
		decode->decoders = xrealloc(decode->decoders, count, sizeof(*decode->decoders));
		memset(decode->decoders + decode->decoder_count, 0,
		       (count - decode->decoder_count) * sizeof(*decode->decoders));
		decode->decoder_count = count;
	}
	if (!decode->decoders[index].is_tried)
		learn(&decode->decoders[index], line->kind);
	return &decode->decoders[index];
}

static const char *read_path(struct lock_decode *decode, const struct decoder *decoder,
			     const struct value_line *line)
{
	const uint8_t *data;
	uint32_t bytes;

	decode->path[0] = '\0';
	if (decoder->path &&
	    print_field_bytes(decode->printer, decoder->path, &line->record, &data, &bytes)) {
		if (bytes > PATH_BYTES - 1)
			bytes = PATH_BYTES - 1;
		memcpy(decode->path, data, bytes);
		decode->path[bytes] = '\0';
	}
	return decode->path;
}

bool lock_decode(struct lock_decode *decode, const struct value_line *line, struct event *out_event)
{
	const struct decoder *decoder = decoder_of(decode, line);
	uint64_t numbers[PLACES] = { 0 };

	if (!decoder || !decoder->is_lock || !line->record.data)
		return false;
	for (size_t i = 0; i < PLACES; i++) {
		if (decoder->fields[i])
			numbers[i] = print_field_number(decode->printer, decoder->fields[i],
							&line->record);
	}
	*out_event = *line->event;
	out_event->type = EV_USER_LOCK;
	out_event->user_lock = (struct ev_user_lock){
		.address = numbers[ADDRESS],
		.mutex = numbers[MUTEX],
		.site = numbers[SITE],
		.path = read_path(decode, decoder, line),
		.pid = (int32_t)numbers[PID],
		/* As the lock has it, it is a number of the container's. */
		.owner = line->event->context & EV_CTX_VTID ? 0 : (int32_t)numbers[OWNER],
		.result = (int32_t)numbers[RESULT],
		.op = decoder->op,
		.kind = numbers[KIND] < LOCK_KIND_COUNT ? (uint8_t)numbers[KIND]
							: LOCK_KIND_UNKNOWN,
	};
	return true;
}

struct lock_decode *lock_decode_new(const struct printer *printer)
{
	struct lock_decode *decode = xcalloc(1, sizeof(*decode));

	decode->printer = printer;
	return decode;
}

void lock_decode_free(struct lock_decode *decode)
{
	if (!decode)
		return;
	free(decode->decoders);
	free(decode);
}
