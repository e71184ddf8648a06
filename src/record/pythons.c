/* pythons.c - see pythons.h. */
#include "record/pythons.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "record/images.h"
#include "record/python_file.h"

#define FILES_MAX     64    /* that are looked into */
#define PROCESSES_MAX 65536 /* that are remembered */
#define NO_PYTHON     UINT64_MAX

struct process {
	struct raw_python python;
	uint64_t since_ns; /* when it was mapped; 0 = before the recording, or not known */
};

struct pythons {
	const struct images *images;
	size_t seen; /* of its events */
	struct python_file files[FILES_MAX];
	size_t file_count;
	size_t looked_into;	   /* files, Python or not */
	char no_gil[64];	   /* the name of one without the GIL; "" = none */
	struct map file_index;	   /* number of an image file -> index, or NO_PYTHON */
	struct process *processes; /* owned */
	size_t process_count, process_cap;
	struct map index; /* tgid -> index of 'processes' */
};

struct pythons *pythons_new(const struct images *images)
{
	struct pythons *pythons = xcalloc(1, sizeof(*pythons));

	pythons->images = images;
	return pythons;
}

void pythons_free(struct pythons *pythons)
{
	if (!pythons)
		return;
	map_fini(&pythons->file_index);
	map_fini(&pythons->index);
	free(pythons->processes);
	free(pythons);
}

/* The file's Python, as the next one of 'files'. */
static bool file_take(struct pythons *pythons, const struct image_file *file)
{
	struct python_file *python = &pythons->files[pythons->file_count];

	if (python_file_read(file->fd, file->path, python))
		return true;
	if (python->has_no_gil && !pythons->no_gil[0])
		snprintf(pythons->no_gil, sizeof(pythons->no_gil), "%s",
			 text_base_name(file->path));
	return false;
}

static const struct python_file *file_of(struct pythons *pythons, uint32_t number)
{
	const struct image_file *file = images_file(pythons->images, number);
	bool is_new;
	uint64_t *index;

	if (file->fd < 0 || !python_file_is_named(file->path))
		return NULL;
	index = map_add(&pythons->file_index, number, &is_new);
	if (is_new) {
		*index = NO_PYTHON;
		if (pythons->looked_into < FILES_MAX && file_take(pythons, file))
			*index = pythons->file_count++;
		pythons->looked_into++;
	}
	return *index == NO_PYTHON ? NULL : &pythons->files[*index];
}

static const struct raw_python *process_put(struct pythons *pythons,
					    const struct image_event *event,
					    const struct raw_python *python)
{
	bool is_new;
	uint64_t *index;

	if (pythons->process_count >= PROCESSES_MAX)
		return NULL;
	index = map_add(&pythons->index, (uint64_t)event->tgid, &is_new);
	if (is_new) {
		*index = pythons->process_count;
		pythons->processes = vec_room(pythons->processes, pythons->process_count,
					      &pythons->process_cap, sizeof(*pythons->processes));
		pythons->process_count++;
	}
	pythons->processes[*index] = (struct process){ *python, event->time_ns };
	return &pythons->processes[*index].python;
}

/* Each CPU tells its own events: one may be taken after what happened later on another CPU. */
static bool is_late(const struct pythons *pythons, const struct image_event *event)
{
	const uint64_t *index = map_find(&pythons->index, (uint64_t)event->tgid);

	return index && pythons->processes[*index].since_ns > event->time_ns;
}

/* What the event makes of its process. False = nothing that matters here. */
static bool event_take(struct pythons *pythons, const struct image_event *event,
		       const struct raw_python **out_python)
{
	const struct python_file *file;
	struct raw_python python;
	uint64_t bias;

	*out_python = NULL;
	if (event->kind != IMAGE_MAP && is_late(pythons, event))
		return false;
	if (event->kind == IMAGE_EXEC)
		return map_remove(&pythons->index, (uint64_t)event->tgid);
	if (event->kind == IMAGE_FORK) {
		const struct raw_python *parent = pythons_find(pythons, event->parent);

		if (!parent)
			return map_remove(&pythons->index, (uint64_t)event->tgid);
		python = *parent;
		*out_python = process_put(pythons, event, &python);
		return *out_python;
	}
	file = file_of(pythons, event->file);
	if (!file || file->eval_offset - event->offset >= event->bytes)
		return false;
	bias = event->start + (file->eval_offset - event->offset) - file->eval;
	python = file->python;
	python.head += bias;
	python.code_type += bias;
	python.text_type += bias;
	*out_python = process_put(pythons, event, &python);
	return *out_python;
}

void pythons_look(struct pythons *pythons,
		  void (*tell)(void *context, int32_t tgid, const struct raw_python *python),
		  void *context)
{
	const struct image_event *event;

	while ((event = images_next(pythons->images, &pythons->seen))) {
		const struct raw_python *python;

		if (event_take(pythons, event, &python) && tell)
			tell(context, event->tgid, python);
	}
}

const struct raw_python *pythons_find(const struct pythons *pythons, int32_t tgid)
{
	const uint64_t *index = map_find(&pythons->index, (uint64_t)tgid);

	return index ? &pythons->processes[*index].python : NULL;
}

bool pythons_has_file(const struct pythons *pythons, uint32_t file)
{
	const uint64_t *index = map_find(&pythons->file_index, file);

	return index && *index != NO_PYTHON;
}

const char *pythons_no_gil(const struct pythons *pythons)
{
	return pythons->no_gil[0] ? pythons->no_gil : NULL;
}

bool pythons_is_eval(const struct pythons *pythons, uint32_t file, uint64_t address)
{
	const uint64_t *index = map_find(&pythons->file_index, file);
	const struct python_file *python =
		index && *index != NO_PYTHON ? &pythons->files[*index] : NULL;

	return python && address - python->eval < python->eval_bytes;
}
