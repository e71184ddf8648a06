/*
 * images.h - files that programs had mapped, as LTTng-UST tells of those that it traces.
 *
 *	lttng_ust_statedump:bin_info, build_id	what is there when the session or the program begins
 *	lttng_ust_lib:load, build_id, unload	what comes and goes
 *	lttng_ust_dl:dlopen, dlmopen, build_id, dlclose
 *
 * A mapping is known from its event on, until it is unloaded or the process runs another program. The process is told by its number
 * (context "vpid", or the trace's own): where the kernel's trace has a second pid namespace that may be another
 * one's, and nothing is told.
 */
#ifndef READ_CTF_IMAGES_H
#define READ_CTF_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ctf_images;
struct ctf_meta;
struct event;
struct formats;
struct stack_frame;
struct trace_record;

/* Of traces that are open together; 'formats' are those of their events. */
struct ctf_images *ctf_images_new(struct ctf_meta *const *metas, size_t count,
				  const struct formats *formats);
void ctf_images_free(struct ctf_images *images);

/* For struct code_map of event_stacks.h: 'context' is the images. */
const uint64_t *ctf_images_changes(const struct ctf_images *images);
void ctf_images_learn(void *context, const struct event *event, const struct trace_record *record);
bool ctf_images_find(void *context, int32_t tgid, uint64_t time_ns, uint64_t address,
		     struct stack_frame *out_frame);

#endif
