/* load.c - the index that fits the trace, wherever it is, or a new one. */
#include "cli/load.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/progress.h"
#include "cli/when.h"
#include "event/facts.h"
#include "event/source.h"
#include "read/key.h"
#include "read/read.h"
#include "state/state.h"
#include "timeline/index.h"
#include "timeline/timeline.h"

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

static void say_read(void *context, uint64_t time_ns)
{
	const struct facts *facts = context;
	struct text done = text_duration(time_ns - facts->first_ns);
	char line[128];

	if (time_ns < facts->first_ns)
		return;
	(void)snprintf(line, sizeof(line), "reading the trace: %s of %s", done.s,
		       text_duration(facts->last_ns - facts->first_ns).s);
	progress_say(line);
}

static int feed_events(struct loaded *loaded, struct index_writer *writer, struct err *err)
{
	const struct facts *facts = loaded->facts;
	struct state *state = state_new(facts);
	int rc;

	index_attach(writer, state_timeline(state));
	rc = state_drain(state, trace_source(loaded->trace), say_read, (void *)facts,
			 &loaded->timeline, err);
	progress_clear();
	return rc < 0 ? err_wrap(err, "reading the events of the trace") : 0;
}

/* Damage that was met when the events were read: they are not read again. */
static void recall_damage(struct loaded *loaded)
{
	const struct timeline *tl = loaded->timeline;

	for (size_t i = 0; i < tl->note_count; i++)
		trace_note_damage(loaded->trace, timeline_name(tl, tl->notes[i]));
}

/* Build the index in 'dir'; NULL = in a file without a name. */
static int build(struct loaded *loaded, const char *dir, const struct index_key *key,
		 uint32_t flags, struct err *err)
{
	struct index_writer *writer = NULL;
	int rc = index_begin(dir, key, flags & LOAD_REBUILD, &writer, err);

	if (rc == -EEXIST) { /* another one has just built it */
		rc = index_open(dir, key, &loaded->timeline, err);
		if (rc == 0)
			recall_damage(loaded);
		return rc;
	}
	if (rc < 0)
		return rc;
	rc = feed_events(loaded, writer, err);
	for (size_t i = 0; rc == 0 && i < loaded->facts->damage_count; i++)
		timeline_note(loaded->timeline, loaded->facts->damage[i]);
	if (rc == 0)
		return index_commit(writer, loaded->timeline, err);
	index_abort(writer);
	return rc;
}

/* Where a failed attempt leaves nothing: the next place is tried from the start. */
static int build_again(struct loaded *loaded, const char *dir, const struct index_key *key,
		       uint32_t flags, struct err *err)
{
	timeline_free(loaded->timeline);
	loaded->timeline = NULL;
	if (source_seek(trace_source(loaded->trace), 0, err) < 0)
		return err->code;
	return build(loaded, dir, key, flags, err);
}

/* Reasons to try another place; anything else is about the trace itself. */
static bool is_about_place(int rc)
{
	return rc == -EROFS || rc == -EACCES || rc == -EPERM || rc == -ENOSPC || rc == -EDQUOT ||
	       rc == -ENOTDIR || rc == -ENOENT || rc == -EIO || rc == -EFBIG || rc == -ENOLCK ||
	       rc == -EEXIST || rc == -EISDIR;
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

static bool open_existing(struct loaded *loaded, const struct places *places,
			  const struct index_key *key)
{
	for (size_t i = 0; i < places->count; i++) {
		struct err err = { 0 };
		int rc = index_open(places->dirs[i], key, &loaded->timeline, &err);

		if (rc == 0) {
			loaded->kept = true;
			recall_damage(loaded);
			return true;
		}
		if (rc == -EBADMSG && !loaded->note)
			loaded->note = xasprintf("The index was built again: %s.", err.text);
	}
	return false;
}

static int build_somewhere(struct loaded *loaded, const struct places *places,
			   const struct index_key *key, uint32_t flags, struct err *err)
{
	struct err first = { 0 };
	int rc;

	loaded->built = true;
	for (size_t i = 0; i < places->count; i++) {
		rc = build_again(loaded, places->dirs[i], key, flags, err);
		if (rc == 0) {
			loaded->kept = true;
			return 0;
		}
		if (!is_about_place(rc))
			return rc;
		if (!first.code)
			first = *err;
	}
	if (flags & LOAD_MUST_KEEP)
		return err_set(err, first.code ? first.code : -ENOENT,
			       "there is no place for the index: %s", first.text);
	rc = build_again(loaded, NULL, key, flags, err);
	if (rc == 0 && first.code) {
		free(loaded->note);
		loaded->note =
			xasprintf("The index could not be kept for the next time: %s.", first.text);
	}
	return rc;
}

static int load_timeline(const char *path, uint32_t flags, struct loaded *loaded, struct err *err)
{
	struct places places = { 0 };
	struct index_key key;
	int rc = read_key(path, key.bytes, err);

	if (rc < 0)
		return rc;
	places_of(path, &places);
	if (flags & LOAD_REBUILD || !open_existing(loaded, &places, &key))
		rc = build_somewhere(loaded, &places, &key, flags, err);
	for (size_t i = 0; i < places.count; i++)
		free(places.dirs[i]);
	return rc;
}

int load_trace(const char *path, uint32_t flags, struct loaded *out_loaded, struct err *err)
{
	struct loaded loaded = { 0 };
	struct err local = { 0 }; /* the caller's may be NULL */
	int rc = read_open(path, &loaded.trace, &local);

	if (rc == 0) {
		loaded.facts = trace_facts(loaded.trace);
		rc = load_timeline(path, flags, &loaded, &local);
	}
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

/* ------------------------------------------------------------------- window */

int load_find(struct trace *trace, const struct when *when, uint64_t from_ns, uint64_t otherwise,
	      uint64_t *out_ns, struct err *err)
{
	int rc;

	*out_ns = otherwise;
	if (when->kind == WHEN_NONE)
		return 0;
	if (when->kind == WHEN_PLACE)
		return trace_find_place(trace, when->cpu, when->ns, out_ns, err);
	if (when->kind != WHEN_EVENT)
		return when_resolve(when, trace_facts(trace), out_ns, err);
	rc = trace_find_event(trace, when->event, when->last, from_ns, out_ns, err);
	if (rc == 0)
		return err_set(err, -ENOENT, "no event matches \"%s\"", when->event);
	return rc < 0 ? rc : 0;
}

int load_moment(struct loaded *loaded, const struct when *when, uint64_t from_ns,
		uint64_t otherwise, uint64_t *out_ns, struct err *err)
{
	return load_find(loaded->trace, when, from_ns, otherwise, out_ns, err);
}

int load_window(struct loaded *loaded, const struct when *from, const struct when *to,
		uint64_t *out_start_ns, uint64_t *out_end_ns, struct err *err)
{
	const struct timeline *tl = loaded->timeline;
	uint64_t start, end;
	int rc = load_moment(loaded, from, 0, tl->origin_ns, &start, err);

	if (rc < 0)
		return err_wrap(err, "looking for the start of the window (--from)");
	rc = load_moment(loaded, to, start, tl->end_ns, &end, err);
	if (rc < 0)
		return err_wrap(err, "looking for the end of the window (--to)");
	if (start < tl->origin_ns)
		start = tl->origin_ns;
	if (end > tl->end_ns)
		end = tl->end_ns;
	if (end <= start)
		return err_set(err, -EINVAL,
			       "the window is empty: it ends before it starts, or lies outside the "
			       "recording");
	*out_start_ns = start;
	*out_end_ns = end;
	return 0;
}
