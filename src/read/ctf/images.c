/* images.c - see images.h. */
#include "read/ctf/images.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/text.h"
#include "event/event.h"
#include "event/stacks.h"
#include "read/ctf/meta.h"
#include "read/format_text.h"
#include "read/read.h"
#include "store/formats.h"

#define IMAGES_MAX     (1u << 20)
#define LOOK_BACK      1024u /* of one process */
#define PATH_BYTES     4096u
#define BUILD_ID_BYTES 20u
#define NONE	       UINT32_MAX

enum image_role {
	IMAGE_NONE,
	IMAGE_LOADED,
	IMAGE_BUILD_ID,
	IMAGE_UNLOADED,
	IMAGE_SPACE, /* a process in a pid namespace */
	IMAGE_BIRTH,
};

static const struct {
	const char *event;
	enum image_role role;
} image_rows[] = {
	{ "lttng_ust_statedump/bin_info", IMAGE_LOADED },
	{ "lttng_ust_statedump/build_id", IMAGE_BUILD_ID },
	{ "lttng_ust_lib/load", IMAGE_LOADED },
	{ "lttng_ust_lib/build_id", IMAGE_BUILD_ID },
	{ "lttng_ust_lib/unload", IMAGE_UNLOADED },
	{ "lttng_ust_dl/dlopen", IMAGE_LOADED },
	{ "lttng_ust_dl/dlmopen", IMAGE_LOADED },
	{ "lttng_ust_dl/build_id", IMAGE_BUILD_ID },
	{ "lttng_ust_dl/dlclose", IMAGE_UNLOADED },
	{ "kernel/lttng_statedump_process_state", IMAGE_SPACE },
	{ "kernel/lttng_statedump_process_pid_ns", IMAGE_SPACE },
	{ "kernel/sched_process_fork", IMAGE_BIRTH },
};

struct image_field {
	struct format_field at;
	bool is_there;
};

struct image_kind {
	enum image_role role;
	int32_t vpid; /* of all of its trace; 0 = the context tells */
	struct image_field pid, base, size, path, is_pic, build_id, level, numbers;
};

struct image {
	uint64_t start, bytes;
	uint64_t from_ns, until_ns;
	uint32_t path, build_id; /* of 'texts' */
	uint32_t before;	 /* the one before it of the process, or NONE */
	bool is_placed;		 /* its addresses are those of the file */
};

struct ctf_images {
	uint16_t *kind_of; /* owned; by number: index in 'kinds' */
	struct image_kind *kinds;
	size_t kind_count, kind_cap;
	struct image *items; /* owned; in order of time */
	size_t count, cap;
	struct map last; /* process: its last one */
	struct names texts;
	uint64_t changes;
	bool has_spaces; /* numbers of processes may be those of several namespaces */
};

/* ------------------------------------------------------------------ kinds */

static struct image_field image_field(const char *text, const char *name)
{
	struct image_field field = { 0 };

	field.is_there = format_text_field(text, name, &field.at);
	return field;
}

static void add_kind(struct ctf_images *images, const char *text, enum image_role role)
{
	int32_t id = format_text_id(text);

	if (id < 0 || images->kind_count > UINT16_MAX)
		return;
	images->kind_of[id] = (uint16_t)images->kind_count;
	images->kinds = vec_room(images->kinds, images->kind_count, &images->kind_cap,
				 sizeof(*images->kinds));
	images->kinds[images->kind_count++] = (struct image_kind){
		.role = role,
		.pid = image_field(text, "vpid"),
		.base = image_field(text, "baddr"),
		.size = image_field(text, "memsz"),
		.path = image_field(text, "path"),
		.is_pic = image_field(text, "is_pic"),
		.build_id = image_field(text, "build_id"),
		.level = image_field(text, "ns_level"),
		.numbers = image_field(text, "vtids"),
	};
}

/* A trace of one process says whose it is. */
static void set_pids(struct ctf_images *images, const struct ctf_meta *meta)
{
	const struct ctf_env *vpid = ctf_meta_env(meta, "vpid");

	if (!vpid || vpid->text || vpid->number <= 0 || vpid->number > INT32_MAX)
		return;
	for (size_t i = 0; i < meta->event_count; i++) {
		uint32_t number = meta->events[i]->number;

		if (number <= UINT16_MAX && images->kind_of[number])
			images->kinds[images->kind_of[number]].vpid = (int32_t)vpid->number;
	}
}

struct ctf_images *ctf_images_new(struct ctf_meta *const *metas, size_t count,
				  const struct formats *formats)
{
	struct ctf_images *images = xcalloc(1, sizeof(*images));

	images->kind_of = xcalloc(UINT16_MAX + 1u, sizeof(*images->kind_of));
	images->kinds = vec_room(NULL, 0, &images->kind_cap, sizeof(*images->kinds));
	images->kinds[images->kind_count++] = (struct image_kind){ .role = IMAGE_NONE };
	for (size_t i = 0; i < formats->count; i++) {
		for (size_t row = 0; row < ARRAY_LEN(image_rows); row++) {
			if (strcmp(formats->sections[i].name, image_rows[row].event) == 0)
				add_kind(images, formats->sections[i].text, image_rows[row].role);
		}
	}
	for (size_t i = 0; i < count; i++)
		set_pids(images, metas[i]);
	return images;
}

const uint64_t *ctf_images_changes(const struct ctf_images *images)
{
	return &images->changes;
}

void ctf_images_free(struct ctf_images *images)
{
	if (!images)
		return;
	free(images->kind_of);
	free(images->kinds);
	free(images->items);
	map_fini(&images->last);
	names_fini(&images->texts);
	free(images);
}

/* ------------------------------------------------------------------ fields */

static uint64_t image_number(const struct trace_record *record, const struct image_field *field)
{
	uint64_t number = 0;

	if (field->is_there && field->at.bytes == sizeof(number) &&
	    field->at.offset + sizeof(number) <= record->bytes)
		memcpy(&number, record->data + field->at.offset, sizeof(number));
	return number;
}

/* A text or an array; NULL = there is none. */
static const uint8_t *image_bytes(const struct trace_record *record,
				  const struct image_field *field, uint32_t *out_bytes)
{
	uint32_t word;

	if (!field->is_there || field->at.kind != FORMAT_DATA_LOC ||
	    field->at.offset + sizeof(word) > record->bytes)
		return NULL;
	memcpy(&word, record->data + field->at.offset, sizeof(word));
	*out_bytes = word >> 16;
	if (!*out_bytes || (word & 0xffff) + *out_bytes > record->bytes)
		return NULL;
	return record->data + (word & 0xffff);
}

static uint32_t image_path(struct ctf_images *images, const struct trace_record *record,
			   const struct image_field *field)
{
	uint32_t bytes;
	const char *text = (const char *)image_bytes(record, field, &bytes);
	AUTO_FREE char *copy = text ? xstrndup(text, bytes) : NULL;

	return copy ? names_add(&images->texts, copy, PATH_BYTES) : 0;
}

/* One number of 8 bytes for each of its bytes. */
static uint32_t image_build_id(struct ctf_images *images, const struct trace_record *record,
			       const struct image_field *field)
{
	char digits[2 * BUILD_ID_BYTES + 1] = "";
	uint32_t bytes;
	const uint8_t *at = image_bytes(record, field, &bytes);
	uint32_t count = at ? bytes / 8 : 0;

	if (count > BUILD_ID_BYTES)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t byte;

		memcpy(&byte, at + (size_t)8 * i, sizeof(byte));
		snprintf(digits + (size_t)2 * i, 3, "%02x", (unsigned int)(byte & 0xff));
	}
	return names_add(&images->texts, digits, sizeof(digits));
}

/* ------------------------------------------------------------------ what comes and goes */

static uint32_t last_image(const struct ctf_images *images, int32_t tgid)
{
	const uint64_t *last = map_find(&images->last, (uint32_t)tgid);

	return last ? (uint32_t)*last : NONE;
}

/* Of the process, or its one at 'start'; those that are over stay for waits that began before. */
static void end_images(struct ctf_images *images, int32_t tgid, const uint64_t *start,
		       uint64_t time_ns)
{
	uint32_t left = LOOK_BACK;

	images->changes++;
	for (uint32_t i = last_image(images, tgid); i != NONE && left--;
	     i = images->items[i].before) {
		struct image *image = &images->items[i];

		if (image->until_ns == UINT64_MAX && (!start || image->start == *start))
			image->until_ns = time_ns;
	}
}

static void add_image(struct ctf_images *images, const struct image_kind *kind, int32_t tgid,
		      const struct trace_record *record, uint64_t time_ns)
{
	struct image image = {
		.start = image_number(record, &kind->base),
		.bytes = image_number(record, &kind->size),
		.from_ns = time_ns,
		.until_ns = UINT64_MAX,
		.path = image_path(images, record, &kind->path),
		.before = last_image(images, tgid),
		.is_placed = kind->is_pic.is_there && !image_number(record, &kind->is_pic),
	};

	if (!image.bytes || !image.path || images->count == IMAGES_MAX)
		return;
	end_images(images, tgid, &image.start, time_ns);
	map_put(&images->last, (uint32_t)tgid, images->count);
	images->items = vec_room(images->items, images->count, &images->cap, sizeof(image));
	images->items[images->count++] = image;
}

static void name_image(struct ctf_images *images, const struct image_kind *kind, int32_t tgid,
		       const struct trace_record *record)
{
	uint64_t start = image_number(record, &kind->base);
	uint32_t left = LOOK_BACK;

	for (uint32_t i = last_image(images, tgid); i != NONE && left--;
	     i = images->items[i].before) {
		struct image *image = &images->items[i];

		if (image->start != start || image->until_ns != UINT64_MAX)
			continue;
		image->build_id = image_build_id(images, record, &kind->build_id);
		images->changes++;
		return;
	}
}

/* What the kernel says of processes. */
static void take_kernel(struct ctf_images *images, const struct event *event)
{
	if (event->type == EV_SCHED_EXEC && event->task.tid > 0)
		end_images(images, event->task.tid, NULL, event->time_ns);
	else if (event->type == EV_SCHED_FORK && event->task.tid > 0 &&
		 event->task.tid == event->task.tgid)
		end_images(images, event->task.tid, NULL, event->time_ns);
}

static void see_space(struct ctf_images *images, bool is_second)
{
	images->changes += is_second && !images->has_spaces;
	images->has_spaces |= is_second;
}

static int32_t image_pid(const struct image_kind *kind, const struct trace_record *record)
{
	return kind->vpid ? kind->vpid : (int32_t)image_number(record, &kind->pid);
}

static void take_program(struct ctf_images *images, const struct image_kind *kind,
			 const struct trace_record *record, uint64_t time_ns)
{
	int32_t tgid = image_pid(kind, record);
	uint64_t start = image_number(record, &kind->base);

	if (tgid <= 0)
		return;
	if (kind->role == IMAGE_LOADED)
		add_image(images, kind, tgid, record, time_ns);
	else if (kind->role == IMAGE_BUILD_ID)
		name_image(images, kind, tgid, record);
	else
		end_images(images, tgid, &start, time_ns);
}

void ctf_images_learn(void *context, const struct event *event, const struct trace_record *record)
{
	struct ctf_images *images = context;
	const struct image_kind *kind;
	uint32_t bytes;
	uint16_t id;

	take_kernel(images, event);
	if (!record || !record->data || record->bytes < sizeof(id))
		return;
	memcpy(&id, record->data, sizeof(id));
	kind = &images->kinds[images->kind_of[id]];
	switch (kind->role) {
	case IMAGE_NONE:
		return;
	case IMAGE_SPACE:
		see_space(images, image_number(record, &kind->level) != 0);
		return;
	case IMAGE_BIRTH: /* its number in each namespace that it is in */
		images->has_spaces |= image_bytes(record, &kind->numbers, &bytes) &&
				      bytes >= 2 * sizeof(uint64_t);
		return;
	default:
		take_program(images, kind, record, event->time_ns);
		return;
	}
}

bool ctf_images_find(void *context, int32_t tgid, uint64_t time_ns, uint64_t address,
		     struct stack_frame *out_frame)
{
	struct ctf_images *images = context;
	uint32_t left = LOOK_BACK;

	for (uint32_t i = images->has_spaces ? NONE : last_image(images, tgid); i != NONE && left--;
	     i = images->items[i].before) {
		const struct image *image = &images->items[i];

		if (time_ns < image->from_ns || time_ns >= image->until_ns ||
		    address - image->start >= image->bytes)
			continue;
		out_frame->path = names_text(&images->texts, image->path);
		out_frame->module = text_base_name(out_frame->path);
		if (image->build_id)
			out_frame->build_id = names_text(&images->texts, image->build_id);
		out_frame->offset = image->is_placed ? address : address - image->start;
		return true;
	}
	return false;
}
