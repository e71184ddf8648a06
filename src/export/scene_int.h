/*
 * scene_int.h - what the files of a scene share.
 *
 *	scene.c         the timeline: CPUs, waits, wake-ups
 *	scene_events.c  the events: calls, interrupts, disk requests, losses
 *	scene_user.c    events that are known by their fields alone: those of programs
 *	scene_queue.c   runnable threads, in order of time
 */
#ifndef EXPORT_SCENE_INT_H
#define EXPORT_SCENE_INT_H

#include "export/export.h"
#include "export/scene.h"

struct scene_user;

struct scene {
	struct export_job *job;
	const struct scene_ops *ops;
	void *context;
	uint64_t flow; /* the last number given */
};

static inline bool scene_failed(const struct scene *scene)
{
	return scene->ops->failed(scene->context);
}

int scene_events(struct scene *scene, struct err *err);
void scene_queue(struct scene *scene);

/* The fields of events as arguments, and pairs of events as slices. */
struct scene_user *scene_user_new(struct scene *scene);
void scene_user_free(struct scene_user *user); /* ends what is open */
void scene_user_feed(struct scene_user *user, const struct event *event, struct scene_track track);

#endif
