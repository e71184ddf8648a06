/* lock_source.c - fields of events of class "lock" into struct ev_user_lock. */
#include "cli/lock_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/list_reader.h"
#include "event/event.h"
#include "event/source.h"
#include "read/print.h"
#include "read/value.h"

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

/* src/locks/events.h; several names for one place. */
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

struct lock_source {
	struct source source; /* first */
	struct list_choice choice;
	struct list_reader *reader; /* owned */
	struct decoder *decoders;   /* owned; by number of the kind */
	uint32_t decoder_count;
	bool is_beside; /* the kernel's events come along: their holes are not ours */
	struct event event;
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

static const struct decoder *decoder_of(struct lock_source *source, const struct value_line *line)
{
	const struct printer *printer = list_reader_context(source->reader)->printer;
	uint32_t index = value_kind_index(printer, line->kind);

	if (index >= source->decoder_count) {
		uint32_t count = value_kind_count(printer);

		if (index >= count)
			return NULL;
		source->decoders = xrealloc(source->decoders, count, sizeof(*source->decoders));
		memset(source->decoders + source->decoder_count, 0,
		       (count - source->decoder_count) * sizeof(*source->decoders));
		source->decoder_count = count;
	}
	if (!source->decoders[index].is_tried)
		learn(&source->decoders[index], line->kind);
	return &source->decoders[index];
}

static const char *read_path(struct lock_source *source, const struct decoder *decoder,
			     const struct value_line *line)
{
	const struct printer *printer = list_reader_context(source->reader)->printer;
	const uint8_t *data;
	uint32_t bytes;

	source->path[0] = '\0';
	if (decoder->path &&
	    print_field_bytes(printer, decoder->path, &line->record, &data, &bytes)) {
		if (bytes > PATH_BYTES - 1)
			bytes = PATH_BYTES - 1;
		memcpy(source->path, data, bytes);
		source->path[bytes] = '\0';
	}
	return source->path;
}

/* False: the event is none of ours. */
static bool decode(struct lock_source *source, const struct value_line *line)
{
	const struct printer *printer = list_reader_context(source->reader)->printer;
	const struct decoder *decoder = decoder_of(source, line);
	uint64_t numbers[PLACES] = { 0 };

	if (!decoder || !decoder->is_lock || !line->record.data)
		return false;
	for (size_t i = 0; i < PLACES; i++) {
		if (decoder->fields[i])
			numbers[i] = print_field_number(printer, decoder->fields[i], &line->record);
	}
	source->event = *line->event;
	source->event.type = EV_USER_LOCK;
	source->event.user_lock = (struct ev_user_lock){
		.address = numbers[ADDRESS],
		.mutex = numbers[MUTEX],
		.site = numbers[SITE],
		.path = read_path(source, decoder, line),
		.pid = (int32_t)numbers[PID],
		.owner = (int32_t)numbers[OWNER],
		.result = (int32_t)numbers[RESULT],
		.op = decoder->op,
		.kind = numbers[KIND] < LOCK_KIND_COUNT ? (uint8_t)numbers[KIND]
							: LOCK_KIND_UNKNOWN,
	};
	return true;
}

static int next(struct source *base, const struct event **out_event, struct err *err)
{
	struct lock_source *source = (struct lock_source *)base;
	struct value_line line;
	int rc;

	while ((rc = list_reader_next(source->reader, &line, err)) > 0) {
		if (line.event->type == EV_LOST &&
		    (!source->is_beside || line.event->context & EV_CTX_USER)) {
			*out_event = line.event;
			return 1;
		}
		if (decode(source, &line)) {
			*out_event = &source->event;
			return 1;
		}
	}
	return rc;
}

static int seek(struct source *base, uint64_t time_ns, struct err *err)
{
	(void)base;
	(void)time_ns;
	return err_set(err, -ENOTSUP, "what threads told of their locks is read from the start");
}

static void close_source(struct source *base)
{
	struct lock_source *source = (struct lock_source *)base;

	list_reader_close(source->reader);
	free(source->decoders);
	free(source);
}

static const struct source_ops source_ops = { .next = next, .seek = seek, .close = close_source };

static int open_source(const char *path, bool is_beside, struct source **out_source,
		       struct err *err)
{
	struct lock_source *source = xcalloc(1, sizeof(*source));
	int rc;

	source->source.ops = &source_ops;
	source->is_beside = is_beside;
	rc = list_reader_open(path, &source->choice, &source->reader, err);
	if (rc < 0) {
		close_source(&source->source);
		return rc;
	}
	*out_source = &source->source;
	return 0;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int lock_source_open(const char *path, struct source **out_source, struct err *err)
{
	AUTO_FREE char *user = xasprintf("%s/user", path);

	return open_source(is_folder(user) ? user : path, false, out_source, err);
}

/* Is there one event about a lock? What cannot be read has none. */
static bool tells_of_locks(const char *user)
{
	const struct event *event;
	struct source *source;
	bool is_lock = false;

	if (!is_folder(user) || open_source(user, false, &source, NULL) < 0)
		return false;
	while (!is_lock && source_next(source, &event, NULL) > 0)
		is_lock = event->type == EV_USER_LOCK;
	source_close(source);
	return is_lock;
}

int lock_source_open_beside(const char *path, struct source **out_source, struct err *err)
{
	AUTO_FREE char *user = xasprintf("%s/user", path);

	*out_source = NULL;
	return tells_of_locks(user) ? open_source(path, true, out_source, err) : 0;
}

const struct facts *lock_source_facts(const struct source *source)
{
	return list_reader_facts(((const struct lock_source *)source)->reader);
}
