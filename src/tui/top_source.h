/*
 * top_source.h - the tasks of holdup top, interval by interval, out of the kernel's accounting.
 *
 * A process is the sum of its threads, in I/O too. Used by one thread at a time.
 */
#ifndef TUI_TOP_SOURCE_H
#define TUI_TOP_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct delays_change;
struct delays_select;
struct err;
struct top_model;
struct top_source;
struct top_task;

/*
 * 'select' is copied, what it points to must outlive the source. Takes the first sample. Threads are
 * asked about when the model shows them: that is what costs time.
 * Returns 0, or a negative errno with err filled.
 */
int top_source_open(const struct delays_select *select, struct top_source **out_source,
		    struct err *err);

void top_source_close(struct top_source *source); /* NULL is fine */

/*
 * Ask again, and feed the model with what came since; when it shows threads, or none, since now, they
 * are only asked about. Returns 0, or a negative errno with err filled.
 */
int top_source_feed(struct top_source *source, struct top_model *model, struct err *err);

/* Fill in the cgroups, which are read only when model->cgroups says so, and rebuild. */
void top_source_fill_cgroups(struct top_model *model);

/* What keeps the numbers from being complete, for a person: no rights, switched off; "" = nothing. */
const char *top_source_note(const struct top_source *source);

/* One change as a task, without cgroup. */
void top_task_of_change(const struct delays_change *change, struct top_task *out_task);

#endif
