/* desk.c - two threads, their queues, and the trace while it is being opened. */
#include "view/desk.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ask/beside.h"
#include "base/err.h"
#include "base/mem.h"
#include "timeline/timeline.h"
#include "view/answer_int.h"
#include "view/crew.h"
#include "view/events.h"
#include "view/live.h"
#include "view/others.h"

#define WAITING_MAX 64u /* questions in a queue: more are refused */

enum desk_state {
	DESK_OPENING,
	DESK_READY,
	DESK_FAILED
};

/* One thread; all but 'view' is under the desk's lock. */
struct clerk {
	struct view_desk *desk;
	struct view view; /* set before DESK_READY, and the clerk's from then on */
	struct view_job *first;
	size_t waiting;
	pthread_cond_t wanted;
	char *last; /* owned; the slow clerk's own: its last question, and answer */
	struct view_answer last_answer;
};

struct view_desk {
	struct view_desk_opts opts;
	pthread_mutex_t lock;	 /* of what follows */
	pthread_mutex_t reading; /* of the trace, where both clerks have the same one */
	enum desk_state state;
	uint64_t done_ns, whole_ns; /* of the recording, while it is read */
	struct err failure;
	bool is_recorded; /* nothing is awaited any more */
	struct clerk clerks[VIEW_CLERK_COUNT];
	struct view_others *others;
	struct view_events events; /* owned; of the clerk of events */
	bool is_shared;
	struct loaded loaded, second; /* owned */
	struct beside beside;	      /* owned */
};

/* ------------------------------------------------------- opening the trace */

static void on_progress(void *context, uint64_t done_ns, uint64_t whole_ns)
{
	struct view_desk *desk = context;

	pthread_mutex_lock(&desk->lock);
	desk->done_ns = done_ns;
	desk->whole_ns = whole_ns;
	pthread_mutex_unlock(&desk->lock);
}

/* The window of --from and --to; 0, 0 when neither was given. */
static int find_window(struct view_desk *desk, struct view *view, struct err *err)
{
	const struct view_desk_opts *opts = &desk->opts;

	if (opts->from.kind == WHEN_NONE && opts->to.kind == WHEN_NONE)
		return 0;
	return when_window(&desk->loaded, &opts->from, &opts->to, &view->from_ns, &view->to_ns,
			   err);
}

/* A trace whose index cannot be kept is read once, and both use it in turn. */
static void open_second(struct view_desk *desk)
{
	const struct load_opts again = { .flags = LOAD_NO_BUILD };

	desk->is_shared = loaded_open(desk->opts.path, &again, &desk->second, NULL) < 0;
	desk->clerks[VIEW_QUICK].view = desk->clerks[VIEW_SLOW].view;
	desk->clerks[VIEW_QUICK].view.others = desk->others;
	desk->clerks[VIEW_QUICK].view.loaded = desk->is_shared ? &desk->loaded : &desk->second;
	desk->clerks[VIEW_EVENTS].view = desk->clerks[VIEW_QUICK].view;
	desk->clerks[VIEW_QUICK].view.crew = view_crew_new(&desk->clerks[VIEW_QUICK].view);
	desk->clerks[VIEW_EVENTS].view.events = &desk->events;
}

static int open_trace(struct view_desk *desk, struct err *err)
{
	const struct load_opts load = { .progress = on_progress, .context = desk };
	struct clerk *slow = &desk->clerks[VIEW_SLOW];
	int rc = loaded_open(desk->opts.path, &load, &desk->loaded, err);

	if (rc < 0)
		return rc;
	if (desk->loaded.timeline->end_ns <= desk->loaded.timeline->origin_ns)
		return err_set(err, -ENODATA, "%s has no events", desk->opts.path);
	slow->view = (struct view){ .path = desk->opts.path, .loaded = &desk->loaded };
	rc = find_window(desk, &slow->view, err);
	if (rc < 0)
		return rc;
	beside_read(desk->opts.path, desk->loaded.facts, &desk->beside);
	slow->view.beside = &desk->beside;
	slow->view.others = desk->others;
	open_second(desk);
	return 0;
}

/* ----------------------------------------------------------- the two clerks */

static struct view_job *next_job(struct clerk *clerk)
{
	struct view_desk *desk = clerk->desk;
	struct view_job *job;

	pthread_mutex_lock(&desk->lock);
	while (!clerk->first)
		pthread_cond_wait(&clerk->wanted, &desk->lock);
	job = clerk->first;
	clerk->first = job->next;
	clerk->waiting--;
	pthread_mutex_unlock(&desk->lock);
	return job;
}

static void copy_answer(const struct view_answer *from, struct view_answer *to)
{
	*to = *from;
	to->bytes = xmalloc(from->count + 1);
	memcpy(to->bytes, from->bytes, from->count);
}

/* The same verdict is asked again when a page is loaded again. */
static char *name_of(const struct view_job *job)
{
	return xasprintf("%s?%s", job->route, job->query);
}

static bool is_last(const struct clerk *clerk, const struct view_job *job)
{
	AUTO_FREE char *name = job->clerk == VIEW_SLOW && clerk->last ? name_of(job) : NULL;

	return name && strcmp(clerk->last, name) == 0;
}

static void keep_last(struct clerk *clerk, const struct view_job *job)
{
	if (job->clerk != VIEW_SLOW || job->answer.status != 200)
		return;
	free(clerk->last);
	view_answer_fini(&clerk->last_answer);
	clerk->last = name_of(job);
	copy_answer(&job->answer, &clerk->last_answer);
}

static void answer_job(struct clerk *clerk, struct view_job *job)
{
	struct view_desk *desk = clerk->desk;

	if (is_last(clerk, job)) {
		copy_answer(&clerk->last_answer, &job->answer);
	} else {
		if (desk->is_shared)
			pthread_mutex_lock(&desk->reading);
		view_answer_route(&clerk->view, job->route, job->query, &job->answer);
		if (desk->is_shared)
			pthread_mutex_unlock(&desk->reading);
		keep_last(clerk, job);
	}
	job->answered(job);
}

static void *run_quick(void *context)
{
	for (;;)
		answer_job(context, next_job(context));
	return NULL;
}

static void *run_slow(void *context)
{
	struct clerk *clerk = context;
	struct view_desk *desk = clerk->desk;
	struct err err = { 0 };
	int rc = desk->opts.live ? view_live_wait(desk->opts.live, &err) : 0;

	pthread_mutex_lock(&desk->lock);
	desk->is_recorded = true;
	pthread_mutex_unlock(&desk->lock);
	if (rc == 0)
		rc = open_trace(desk, &err);
	pthread_mutex_lock(&desk->lock);
	desk->state = rc < 0 ? DESK_FAILED : DESK_READY;
	desk->failure = err;
	pthread_mutex_unlock(&desk->lock);
	return run_quick(clerk);
}

/* ------------------------------------------------------------------ asking */

/* How far it is, for who asks how to start. */
static void answer_state(const struct view_desk *desk, struct view_answer *out_answer)
{
	struct view_json json;

	view_json_begin(&json);
	json_print_string(&json.json, "state",
			  desk->state == DESK_FAILED		  ? "failed"
			  : desk->opts.live && !desk->is_recorded ? "recording"
								  : "indexing");
	view_json_text(&json.json, "error", desk->state == DESK_FAILED ? desk->failure.text : NULL);
	json_print_u64(&json.json, "done_ns", desk->done_ns);
	json_print_u64(&json.json, "whole_ns", desk->whole_ns);
	view_json_end(&json, out_answer);
}

/* "page=7" of a query: which page asks; NULL = it does not say. */
static const char *page_of(const char *query, size_t *out_bytes)
{
	const char *at = strstr(query, "page=");

	if (!at || (at > query && at[-1] != '&'))
		return NULL;
	*out_bytes = strcspn(at, "&");
	return at;
}

static bool replaces(const struct view_job *job, const struct view_job *older)
{
	size_t bytes = 0, older_bytes = 0;
	const char *page = page_of(job->query, &bytes);
	const char *older_page = page_of(older->query, &older_bytes);

	return page && older_page && bytes == older_bytes && memcmp(page, older_page, bytes) == 0 &&
	       strcmp(job->route, older->route) == 0;
}

/* Take those out that 'job' replaces: a list. */
static struct view_job *take_replaced(struct clerk *clerk, const struct view_job *job)
{
	struct view_job **at = &clerk->first, *taken = NULL;

	while (*at) {
		struct view_job *older = *at;

		if (!replaces(job, older)) {
			at = &older->next;
			continue;
		}
		*at = older->next;
		clerk->waiting--;
		older->next = taken;
		taken = older;
	}
	return taken;
}

static void append(struct clerk *clerk, struct view_job *job)
{
	struct view_job **at = &clerk->first;

	while (*at)
		at = &(*at)->next;
	job->next = NULL;
	*at = job;
	clerk->waiting++;
	pthread_cond_signal(&clerk->wanted);
}

void view_desk_ask(struct view_desk *desk, struct view_job *job)
{
	struct clerk *clerk = &desk->clerks[job->clerk];
	struct view_job *replaced = NULL;
	bool is_start = strcmp(job->route, "start") == 0, is_queued = false;

	pthread_mutex_lock(&desk->lock);
	if (desk->state != DESK_READY && is_start) {
		answer_state(desk, &job->answer);
	} else if (desk->state != DESK_READY && desk->opts.live &&
		   strcmp(job->route, "live") == 0) {
		view_live_answer(desk->opts.live, &job->answer);
	} else if (desk->state != DESK_READY) {
		view_answer_say(&job->answer, 503, "the trace is not open yet");
	} else {
		replaced = take_replaced(clerk, job);
		is_queued = clerk->waiting < WAITING_MAX;
		if (is_queued)
			append(clerk, job);
		else
			view_answer_say(&job->answer, 503, "too many requests at once");
	}
	pthread_mutex_unlock(&desk->lock);
	while (replaced) {
		struct view_job *older = replaced;

		replaced = older->next;
		view_answer_say(&older->answer, 409, "replaced by a newer request");
		older->answered(older);
	}
	if (!is_queued)
		job->answered(job);
}

static int start_clerk(struct clerk *clerk, struct view_desk *desk, void *(*run)(void *),
		       struct err *err)
{
	pthread_t thread;
	int rc;

	clerk->desk = desk;
	pthread_cond_init(&clerk->wanted, NULL);
	rc = pthread_create(&thread, NULL, run, clerk);
	if (rc)
		return err_set(err, -rc, "cannot start a thread: %s", strerror(rc));
	pthread_detach(thread);
	return 0;
}

int view_desk_open(const struct view_desk_opts *opts, struct view_desk **out_desk, struct err *err)
{
	struct view_desk *desk = xcalloc(1, sizeof(*desk));
	int rc = 0;

	desk->opts = *opts;
	pthread_mutex_init(&desk->lock, NULL);
	pthread_mutex_init(&desk->reading, NULL);
	rc = view_others_new(opts->path, opts->model, &desk->others, err);
	for (size_t i = 0; i < VIEW_CLERK_COUNT && rc == 0; i++)
		rc = start_clerk(&desk->clerks[i], desk, i == VIEW_SLOW ? run_slow : run_quick,
				 err);
	if (rc == 0)
		*out_desk = desk;
	return rc; /* on failure the process ends: a thread may use the desk */
}
