/* viewer_asker.c - a place for a question and one for an answer for each purpose, and a thread. */
#include "tui/viewer_asker.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ask/beside.h"
#include "ask/loaded.h"
#include "base/mem.h"
#include "base/thread.h"
#include "view/answer.h"

struct place {
	bool is_wanted, is_told;
	uint64_t number; /* of the newest question */
	struct verdict_ask ask;
	struct viewer_spot spot;
	struct viewer_told told;
};

struct viewer_asker {
	struct view view; /* the thread's own */
	struct loaded loaded;
	struct beside beside;
	int ready; /* eventfd */
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t wanted;
	struct place places[VIEWER_PURPOSE_COUNT];
	bool is_busy, is_over;
};

static struct place *next_place(struct viewer_asker *asker)
{
	for (size_t i = 0; i < VIEWER_PURPOSE_COUNT; i++) {
		if (asker->places[i].is_wanted)
			return &asker->places[i];
	}
	return NULL;
}

static void drop_told(struct place *place)
{
	if (place->is_told)
		explanation_fini(&place->told.answer);
	place->is_told = false;
}

/* The lock is held, but for the time of the work. */
static void answer_place(struct viewer_asker *asker, struct place *place)
{
	struct viewer_told told = { .purpose = (enum viewer_purpose)(place - asker->places),
				    .ask = place->ask,
				    .spot = place->spot };
	uint64_t number = place->number, one = 1;

	place->is_wanted = false;
	asker->is_busy = true;
	pthread_mutex_unlock(&asker->lock);
	told.rc = verdict_of(&asker->view, &told.ask, &told.answer, &told.err);
	if (told.rc < 0)
		told.answer = (struct explanation){ 0 };
	pthread_mutex_lock(&asker->lock);
	asker->is_busy = false;
	if (place->number != number || asker->is_over) { /* nobody wants it any more */
		explanation_fini(&told.answer);
		return;
	}
	drop_told(place);
	place->told = told;
	place->is_told = true;
	(void)!write(asker->ready, &one, sizeof(one));
}

static void asker_free(struct viewer_asker *asker)
{
	for (size_t i = 0; i < VIEWER_PURPOSE_COUNT; i++)
		drop_told(&asker->places[i]);
	beside_fini(&asker->beside);
	loaded_fini(&asker->loaded);
	if (asker->ready >= 0)
		(void)close(asker->ready);
	pthread_cond_destroy(&asker->wanted);
	pthread_mutex_destroy(&asker->lock);
	free(asker);
}

static void *run_asker(void *context)
{
	struct viewer_asker *asker = context;
	struct place *place;

	pthread_mutex_lock(&asker->lock);
	while (!asker->is_over) {
		place = next_place(asker);
		if (place)
			answer_place(asker, place);
		else
			pthread_cond_wait(&asker->wanted, &asker->lock);
	}
	pthread_mutex_unlock(&asker->lock);
	return NULL;
}

int viewer_asker_new(const struct view *view, struct viewer_asker **out_asker, struct err *err)
{
	const struct load_opts again = { .flags = LOAD_NO_BUILD };
	struct viewer_asker *asker = xcalloc(1, sizeof(*asker));
	int rc;

	pthread_mutex_init(&asker->lock, NULL);
	pthread_cond_init(&asker->wanted, NULL);
	asker->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = asker->ready < 0 ? err_set(err, -errno, "cannot make an eventfd: %s", strerror(errno))
			      : loaded_open(view->path, &again, &asker->loaded, err);
	if (rc == 0) {
		beside_read(view->path, asker->loaded.facts, &asker->beside);
		asker->view = (struct view){ .path = view->path,
					     .loaded = &asker->loaded,
					     .beside = &asker->beside,
					     .from_ns = view->from_ns,
					     .to_ns = view->to_ns };
		rc = -thread_start_quiet(&asker->thread, NULL, run_asker, asker);
		if (rc < 0)
			err_set(err, rc, "cannot start a thread: %s", strerror(-rc));
	}
	if (rc < 0) {
		asker_free(asker);
		return rc;
	}
	*out_asker = asker;
	return 0;
}

void viewer_asker_end(struct viewer_asker *asker)
{
	bool is_busy;

	if (!asker)
		return;
	pthread_mutex_lock(&asker->lock);
	asker->is_over = true;
	is_busy = asker->is_busy;
	pthread_cond_signal(&asker->wanted);
	pthread_mutex_unlock(&asker->lock);
	if (is_busy) {
		pthread_detach(asker->thread);
		return;
	}
	pthread_join(asker->thread, NULL);
	asker_free(asker);
}

void viewer_asker_ask(struct viewer_asker *asker, enum viewer_purpose purpose,
		      const struct verdict_ask *ask, const struct viewer_spot *spot)
{
	struct place *place = &asker->places[purpose];

	pthread_mutex_lock(&asker->lock);
	drop_told(place);
	place->ask = *ask;
	if (spot)
		place->spot = *spot;
	place->number++;
	place->is_wanted = true;
	pthread_cond_signal(&asker->wanted);
	pthread_mutex_unlock(&asker->lock);
}

int viewer_asker_fd(const struct viewer_asker *asker)
{
	return asker->ready;
}

bool viewer_asker_take(struct viewer_asker *asker, struct viewer_told *out_told)
{
	bool found = false;
	uint64_t count;

	(void)!read(asker->ready, &count, sizeof(count)); /* nothing is there: that is fine */
	pthread_mutex_lock(&asker->lock);
	for (size_t i = 0; i < VIEWER_PURPOSE_COUNT && !found; i++) {
		struct place *place = &asker->places[i];

		found = place->is_told;
		if (found)
			*out_told = place->told;
		place->is_told = place->is_told && !found;
	}
	for (size_t i = 0; found && i < VIEWER_PURPOSE_COUNT; i++) {
		if (asker->places[i].is_told) { /* the next call takes it */
			count = 1;
			(void)!write(asker->ready, &count, sizeof(count));
		}
	}
	pthread_mutex_unlock(&asker->lock);
	return found;
}
