/* lock_source.c - of all events of a trace those about locks, as EV_USER_LOCK. */
#include "ask/lock_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/locks/lock_owner.h"
#include "ask/line_reader.h"
#include "ask/lock_decode.h"
#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "fields/print.h"
#include "fields/value.h"

struct lock_source {
	struct source source; /* first */
	struct line_choice choice;
	struct line_reader *reader; /* owned */
	struct lock_decode *decode; /* owned */
	bool is_beside;		    /* the kernel's events come along: their holes are not ours */
	struct event event;
};

static int next(struct source *base, const struct event **out_event, struct err *err)
{
	struct lock_source *source = (struct lock_source *)base;
	struct value_line line;
	int rc;

	while ((rc = line_reader_next(source->reader, &line, err)) > 0) {
		if (line.event->type == EV_SCHED_EXIT ||
		    (line.event->type == EV_LOST &&
		     (!source->is_beside || line.event->context & EV_CTX_USER))) {
			*out_event = line.event;
			return 1;
		}
		if (lock_decode(source->decode, &line, &source->event)) {
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
	return err_set(err, -ENOTSUP, "lock events are read from the start");
}

static void close_source(struct source *base)
{
	struct lock_source *source = (struct lock_source *)base;

	lock_decode_free(source->decode);
	line_reader_close(source->reader);
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
	rc = line_reader_open(path, &source->choice, &source->reader, err);
	if (rc < 0) {
		close_source(&source->source);
		return rc;
	}
	source->decode = lock_decode_new(line_reader_context(source->reader)->printer);
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

int lock_owners_read(const char *path, struct lock_owners **out_owners, struct err *err)
{
	struct source *source;
	int rc;

	*out_owners = NULL;
	rc = lock_source_open_beside(path, &source, err);
	if (rc == 0 && source)
		rc = lock_owners_new(source, lock_source_facts(source)->last_ns, out_owners, err);
	source_close(source);
	return rc;
}

/* Recordings of the system have trace.json; those of programs alone have not. */
bool lock_source_is_of_programs(const char *path)
{
	AUTO_FREE char *manifest = xasprintf("%s/trace.json", path);

	return is_folder(path) && access(manifest, F_OK) < 0;
}

bool lock_source_is_alone(const struct source *source)
{
	const struct line_reader *reader = ((const struct lock_source *)source)->reader;
	const struct printer *printer = line_reader_context(reader)->printer;
	const struct print_event *kind = NULL;
	bool has_locks = false;

	while ((kind = printer_next(printer, kind))) {
		if (strcmp(kind->name, "sched_switch") == 0)
			return false;
		has_locks |= strncmp(kind->title, "lock:", 5) == 0;
	}
	return has_locks;
}

const struct facts *lock_source_facts(const struct source *source)
{
	return line_reader_facts(((const struct lock_source *)source)->reader);
}
