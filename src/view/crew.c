/* crew.c - parts are taken from one counter, so that who is done early takes more. */
#include "view/crew.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "ask/loaded.h"
#include "base/mem.h"
#include "base/thread.h"
#include "timeline/index.h"
#include "timeline/timeline.h"
#include "view/answer.h"

struct view_crew {
	struct view view;     /* the helper's */
	struct loaded loaded; /* its timeline is owned */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock; the helper reads the first three without it while it is at work. */
	view_crew_part *part;
	void *context;
	uint32_t count;
	enum {
		CREW_RESTS,
		CREW_ASKED, /* it has not begun: what was asked may be taken back */
		CREW_WORKS,
	} state;
	bool is_over;
	_Atomic uint32_t next; /* index of the part that nobody has begun */
};

static void take_parts(struct view_crew *crew, const struct view *view, uint32_t count,
		       view_crew_part *part, void *context)
{
	uint32_t index;

	while ((index = atomic_fetch_add(&crew->next, 1)) < count)
		part(view, index, context);
}

static void *help(void *argument)
{
	struct view_crew *crew = argument;

	pthread_mutex_lock(&crew->lock);
	for (;;) {
		while (crew->state != CREW_ASKED && !crew->is_over)
			pthread_cond_wait(&crew->changed, &crew->lock);
		if (crew->is_over)
			break;
		crew->state = CREW_WORKS;
		pthread_mutex_unlock(&crew->lock);
		take_parts(crew, &crew->view, crew->count, crew->part, crew->context);
		pthread_mutex_lock(&crew->lock);
		crew->state = CREW_RESTS;
		pthread_cond_broadcast(&crew->changed);
	}
	pthread_mutex_unlock(&crew->lock);
	return NULL;
}

static bool has_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) > 1;
}

struct view_crew *view_crew_new(const struct view *view)
{
	struct view_crew *crew;
	struct timeline *timeline;

	if (!has_cpus() || index_open_again(view->loaded->timeline, &timeline, NULL) < 0)
		return NULL;
	crew = xcalloc(1, sizeof(*crew));
	crew->loaded = *view->loaded;
	crew->loaded.timeline = timeline;
	crew->view = *view;
	crew->view.loaded = &crew->loaded;
	pthread_mutex_init(&crew->lock, NULL);
	pthread_cond_init(&crew->changed, NULL);
	if (thread_start_quiet(&crew->thread, NULL, help, crew) == 0)
		return crew;
	timeline_free(timeline);
	free(crew);
	return NULL;
}

void view_crew_free(struct view_crew *crew)
{
	if (!crew)
		return;
	pthread_mutex_lock(&crew->lock);
	crew->is_over = true;
	pthread_cond_broadcast(&crew->changed);
	pthread_mutex_unlock(&crew->lock);
	pthread_join(crew->thread, NULL);
	pthread_cond_destroy(&crew->changed);
	pthread_mutex_destroy(&crew->lock);
	timeline_free(crew->loaded.timeline);
	free(crew);
}

static void ask_helper(struct view_crew *crew, uint32_t count, view_crew_part *part, void *context)
{
	pthread_mutex_lock(&crew->lock);
	crew->part = part;
	crew->context = context;
	crew->count = count;
	atomic_store(&crew->next, 0);
	crew->state = CREW_ASKED;
	pthread_cond_broadcast(&crew->changed);
	pthread_mutex_unlock(&crew->lock);
}

/* Every part is taken: one that has not begun has nothing to do, and is not waited for. */
static void await_helper(struct view_crew *crew)
{
	pthread_mutex_lock(&crew->lock);
	if (crew->state == CREW_ASKED)
		crew->state = CREW_RESTS;
	while (crew->state == CREW_WORKS)
		pthread_cond_wait(&crew->changed, &crew->lock);
	pthread_mutex_unlock(&crew->lock);
}

void view_crew_each(const struct view *view, uint32_t count, view_crew_part *part, void *context)
{
	struct view_crew *crew = view->crew;

	if (!crew || count < 2) {
		for (uint32_t i = 0; i < count; i++)
			part(view, i, context);
		return;
	}
	ask_helper(crew, count, part, context);
	take_parts(crew, view, count, part, context);
	await_helper(crew);
}

const char *view_crew_damage(const struct view_crew *crew)
{
	return crew ? timeline_damage(crew->loaded.timeline) : NULL;
}
