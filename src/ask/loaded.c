/* loaded.c - the index that fits the trace, wherever it is, or a new one. */
#include "ask/loaded.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "event/facts.h"
#include "event/source.h"
#include "read/trace_key.h"
#include "read/read.h"
#include "state/state.h"
#include "timeline/index.h"
#include "timeline/timeline.h"

#define WAIT_STEP_MS 20
#define WAIT_TELL_MS 300
#define WAIT_MOST_MS 5000

/* ------------------------------------------------------------------- places */

/* timeline/ in the trace directory; a file has none. */
static char *place_in_trace(const char *path)
{
	struct stat stat_;

	if (stat(path, &stat_) < 0 || !S_ISDIR(stat_.st_mode))
		return NULL;
	return xasprintf("%s/timeline", path);
}

static char *place_in_cache(const char *path)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	AUTO_FREE char *whole = realpath(path, NULL);
	uint64_t hash;

	if (!whole)
		return NULL;
	hash = hash_bytes(whole, strlen(whole), 0);
	if (cache && *cache == '/')
		return xasprintf("%s/holdup/%016llx", cache, (unsigned long long)hash);
	if (home && *home == '/')
		return xasprintf("%s/.cache/holdup/%016llx", home, (unsigned long long)hash);
	return NULL;
}

/* -------------------------------------------------------------------- build */

/* One attempt after the other to have the timeline of a trace. */
struct job {
	struct loaded *loaded;
	const struct load_opts *opts;
	struct index_key key;
};

static void tell_progress(void *context, uint64_t time_ns)
{
	const struct job *job = context;
	const struct facts *facts = job->loaded->facts;

	if (job->opts->progress && time_ns >= facts->first_ns && facts->last_ns > facts->first_ns)
		job->opts->progress(job->opts->context, time_ns - facts->first_ns,
				    facts->last_ns - facts->first_ns);
}

static int feed_events(struct job *job, struct index_writer *writer, struct err *err)
{
	struct loaded *loaded = job->loaded;
	struct state *state = state_new(loaded->facts);
	int rc;

	index_attach(writer, state_timeline(state));
	rc = state_drain(state, trace_source(loaded->trace), tell_progress, job, &loaded->timeline,
			 err);
	return rc < 0 ? err_wrap(err, "reading the events of the trace") : 0;
}

/* Damage that was met when the events were read: they are not read again. */
static void recall_damage(struct loaded *loaded)
{
	const struct timeline *tl = loaded->timeline;

	for (size_t i = 0; i < tl->note_count; i++)
		trace_note_damage(loaded->trace, timeline_name(tl, tl->notes[i]));
}

/* Somebody who holds the lock for longer than a while may hold it for ever. */
static int begin_index(struct job *job, const char *dir, struct index_writer **out_writer,
		       struct err *err)
{
	const struct timespec step = { .tv_nsec = WAIT_STEP_MS * 1000000 };
	const struct load_opts *opts = job->opts;
	int rc = -EBUSY;

	for (int ms = 0; rc == -EBUSY && ms <= WAIT_MOST_MS; ms += WAIT_STEP_MS) {
		if (ms)
			(void)nanosleep(&step, NULL); /* a signal makes it shorter: no harm */
		if (ms == WAIT_TELL_MS && opts->waiting)
			opts->waiting(opts->context, dir);
		rc = index_begin(dir, &job->key, opts->flags & LOAD_REBUILD, out_writer, err);
	}
	return rc;
}

/* Build the index in 'dir'; NULL = in a file without a name. */
static int build(struct job *job, const char *dir, struct err *err)
{
	struct loaded *loaded = job->loaded;
	struct index_writer *writer = NULL;
	int rc = begin_index(job, dir, &writer, err);

	if (rc == -EEXIST) { /* another one has just built it */
		rc = index_open(dir, &job->key, &loaded->timeline, err);
		if (rc == 0)
			recall_damage(loaded);
		return rc;
	}
	if (rc < 0)
		return rc;
	rc = feed_events(job, writer, err);
	for (size_t i = 0; rc == 0 && i < loaded->facts->damage_count; i++)
		timeline_note(loaded->timeline, loaded->facts->damage[i]);
	if (rc == 0)
		return index_commit(writer, loaded->timeline, err);
	index_abort(writer);
	return rc;
}

/* Where a failed attempt leaves nothing: the next place is tried from the start. */
static int build_again(struct job *job, const char *dir, struct err *err)
{
	struct loaded *loaded = job->loaded;

	timeline_free(loaded->timeline);
	loaded->timeline = NULL;
	if (source_seek(trace_source(loaded->trace), 0, err) < 0)
		return err->code;
	return build(job, dir, err);
}

/* Reasons to try another place; anything else is about the trace itself. */
static bool is_about_place(int rc)
{
	return rc == -EROFS || rc == -EACCES || rc == -EPERM || rc == -ENOSPC || rc == -EDQUOT ||
	       rc == -ENOTDIR || rc == -ENOENT || rc == -EIO || rc == -EFBIG || rc == -ENOLCK ||
	       rc == -EEXIST || rc == -EISDIR || rc == -EBUSY || rc == -EINVAL;
}

struct places {
	char *dirs[2]; /* owned; in the order in which they are tried */
	size_t count;
};

static void places_of(const char *path, struct places *places)
{
	char *const dirs[] = { place_in_trace(path), place_in_cache(path) };

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		if (dirs[i])
			places->dirs[places->count++] = dirs[i];
	}
}

static bool open_existing(struct job *job, const struct places *places)
{
	struct loaded *loaded = job->loaded;

	for (size_t i = 0; i < places->count; i++) {
		struct err err = { 0 };
		int rc = index_open(places->dirs[i], &job->key, &loaded->timeline, &err);

		if (rc == 0) {
			loaded->kept = true;
			recall_damage(loaded);
			return true;
		}
		if (rc == -EBADMSG && !loaded->note)
			loaded->note = xasprintf("The index was rebuilt: %s.", err.text);
	}
	return false;
}

static int build_somewhere(struct job *job, const struct places *places, struct err *err)
{
	struct loaded *loaded = job->loaded;
	bool temporary = job->opts->flags & LOAD_TEMPORARY;
	struct err first = { 0 };
	int rc;

	loaded->built = true;
	for (size_t i = 0; !temporary && i < places->count; i++) {
		rc = build_again(job, places->dirs[i], err);
		if (rc == 0) {
			loaded->kept = true;
			return 0;
		}
		if (!is_about_place(rc))
			return rc;
		if (!first.code)
			first = *err;
		if (rc == -EBUSY)
			break; /* it is being built there: once is enough */
	}
	if (job->opts->flags & LOAD_MUST_KEEP)
		return err_set(err, first.code ? first.code : -ENOENT,
			       "cannot find a directory for the index: %s", first.text);
	rc = build_again(job, NULL, err);
	if (rc == 0 && first.code) {
		free(loaded->note);
		loaded->note =
			xasprintf("The index could not be kept for later use: %s.", first.text);
	}
	return rc;
}

static int find_or_build(struct job *job, const struct places *places, struct err *err)
{
	uint32_t flags = job->opts->flags;

	if (!(flags & LOAD_REBUILD) && open_existing(job, places))
		return 0;
	if (flags & LOAD_NO_BUILD)
		return err_set(err, -ENOENT, "there is no valid index of the trace");
	return build_somewhere(job, places, err);
}

static int load_timeline(struct job *job, const char *path, struct err *err)
{
	struct places places = { 0 };
	int rc = read_key(path, job->key.bytes, err);

	if (rc < 0)
		return rc;
	places_of(path, &places);
	rc = find_or_build(job, &places, err);
	for (size_t i = 0; i < places.count; i++)
		free(places.dirs[i]);
	return rc;
}

int loaded_open(const char *path, const struct load_opts *opts, struct loaded *out_loaded,
		struct err *err)
{
	struct loaded loaded = { 0 };
	struct job job = { .loaded = &loaded, .opts = opts };
	struct err local = { 0 }; /* the caller's may be NULL */
	int rc = read_open(path, &loaded.trace, &local);

	if (rc == 0) {
		loaded.facts = trace_facts(loaded.trace);
		if (opts->code && loaded.facts->stacks_of_others)
			opts->code(loaded.trace);
		rc = load_timeline(&job, path, &local);
	}
	if (opts->over)
		opts->over(opts->context);
	if (rc < 0) {
		loaded_fini(&loaded);
		return err_set(err, rc, "%s", local.text);
	}
	*out_loaded = loaded;
	return 0;
}

void loaded_fini(struct loaded *loaded)
{
	timeline_free(loaded->timeline);
	trace_close(loaded->trace);
	free(loaded->note);
	*loaded = (struct loaded){ 0 };
}
