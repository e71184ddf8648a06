/*
 * crew.h - who helps a clerk with the lanes of an answer: one more thread, with a timeline of its own.
 *
 * It is one, however many CPUs there are, so that memory has the same bound everywhere; none where there is one CPU.
 */
#ifndef VIEW_CREW_H
#define VIEW_CREW_H

#include <stdint.h>

struct view;
struct view_crew;

/* For the clerk of 'view', which stays. NULL: nobody helps. */
struct view_crew *view_crew_new(const struct view *view);
void view_crew_free(struct view_crew *crew); /* NULL is fine */

/* Makes part 'index' of an answer, with a view that is its own for so long. */
typedef void view_crew_part(const struct view *view, uint32_t index, void *context);

/* Call 'part' for each index below 'count', once, from this thread and that of view->crew; in no order. */
void view_crew_each(const struct view *view, uint32_t count, view_crew_part *part, void *context);

/* What the helper could not read of the timeline, or NULL. */
const char *view_crew_damage(const struct view_crew *crew);

#endif
