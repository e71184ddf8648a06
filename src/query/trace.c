/* trace.c - open a recording, and what is known of it as a whole. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/facts.h"
#include "query/read_int.h"

const char *hr_version(void)
{
	return HOLDUP_VERSION;
}

/* ------------------------------------------------------------ the caller's structs */

int read_check_size(struct hr_trace *trace, const void *out, size_t bytes)
{
	size_t has;

	memcpy(&has, out, sizeof(has));
	/* There is no version with fewer fields than this one. */
	if (has < bytes)
		return err_set(trace ? &trace->err : NULL, -EINVAL,
			       "struct_size is %zu, not at least %zu", has, bytes);
	return 0;
}

int read_check_row(struct hr_trace *trace, const void *out, size_t bytes, uint32_t index,
		   size_t count)
{
	if (index >= count)
		return err_set(&trace->err, -EINVAL, "there is no row with index %u", index);
	return read_check_size(trace, out, bytes);
}

void read_give(void *out, const void *from, size_t bytes)
{
	size_t has;

	memcpy(&has, out, sizeof(has));
	memcpy(out, from, bytes);
	memset((char *)out + bytes, 0, has - bytes);
	memcpy(out, &has, sizeof(has));
}

/* Options of a newer version are refused when they ask for something. */
static int take_options(const struct hr_options *options, struct hr_options *out, struct err *err)
{
	const uint32_t known =
		HR_OPEN_REBUILD | HR_OPEN_MUST_KEEP | HR_OPEN_TEMPORARY | HR_OPEN_NO_BUILD;
	const uint8_t *bytes = (const uint8_t *)options;

	if (options->struct_size < sizeof(*out))
		return err_set(err, -EINVAL, "struct_size of the options is %zu, not at least %zu",
			       options->struct_size, sizeof(*out));
	for (size_t i = sizeof(*out); i < options->struct_size; i++) {
		if (bytes[i])
			return err_set(err, -E2BIG, "the options are those of a newer version");
	}
	if (options->flags & ~known || options->reserved)
		return err_set(err, -EINVAL, "there are no such flags: 0x%x", options->flags);
	if ((options->flags & HR_OPEN_NO_BUILD &&
	     options->flags & (HR_OPEN_REBUILD | HR_OPEN_TEMPORARY)) ||
	    (options->flags & HR_OPEN_TEMPORARY && options->flags & HR_OPEN_MUST_KEEP))
		return err_set(err, -EINVAL, "these flags contradict each other: 0x%x",
			       options->flags);
	*out = *options;
	return 0;
}

/* --------------------------------------------------------------------- open, close */

static struct load_opts load_opts_of(const struct hr_options *options)
{
	static const struct {
		uint32_t public;
		uint32_t load;
	} flags[] = {
		{ HR_OPEN_REBUILD, LOAD_REBUILD },
		{ HR_OPEN_MUST_KEEP, LOAD_MUST_KEEP },
		{ HR_OPEN_TEMPORARY, LOAD_TEMPORARY },
		{ HR_OPEN_NO_BUILD, LOAD_NO_BUILD },
	};
	struct load_opts opts = { .progress = options->progress, .context = options->context };

	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		opts.flags |= options->flags & flags[i].public ? flags[i].load : 0;
	return opts;
}

struct hr_trace *read_trace_new(const struct loaded *loaded)
{
	struct hr_trace *trace = xcalloc(1, sizeof(*trace));

	trace->loaded = *loaded;
	return trace;
}

static int hr_open_trace(const char *path, const struct hr_options *options,
			 struct hr_trace **out_trace, struct err *err)
{
	struct hr_options taken = { .struct_size = sizeof(taken) };
	struct load_opts opts;
	struct loaded loaded;
	int rc = 0;

	if (!path || !out_trace)
		return err_set(err, -EINVAL, "no path, or no place for the trace");
	if (options)
		rc = take_options(options, &taken, err);
	if (rc < 0)
		return rc;
	opts = load_opts_of(&taken);
	rc = loaded_open(path, &opts, &loaded, err);
	if (rc < 0)
		return rc;
	*out_trace = read_trace_new(&loaded);
	(*out_trace)->path = xstrdup(path);
	(*out_trace)->options = taken;
	return 0;
}

int hr_open(const char *path, const struct hr_options *options, struct hr_trace **out_trace,
	    char *error, size_t error_bytes)
{
	struct err err = { 0 };
	int rc = hr_open_trace(path, options, out_trace, &err);

	if (error && error_bytes)
		(void)snprintf(error, error_bytes, "%s", err.text); /* cut when too long */
	return rc;
}

static void forget_texts(struct hr_trace *trace)
{
	beside_fini(&trace->beside);
	trace->has_beside = false;
	names_fini(&trace->texts);
	trace->texts = (struct names){ 0 };
}

void hr_close(struct hr_trace *trace)
{
	if (!trace)
		return;
	loaded_fini(&trace->loaded);
	forget_texts(trace);
	free(trace->path);
	free(trace);
}

int hr_rebuild(struct hr_trace *trace)
{
	struct load_opts opts = load_opts_of(&trace->options);
	struct loaded loaded;
	int rc;

	if (!trace->path)
		return err_set(&trace->err, -EINVAL, "the trace has no path");
	opts.flags &= ~(uint32_t)LOAD_NO_BUILD;
	opts.flags |= LOAD_REBUILD;
	rc = loaded_open(trace->path, &opts, &loaded, &trace->err);
	if (rc < 0)
		return rc;
	loaded_fini(&trace->loaded);
	forget_texts(trace);
	trace->loaded = loaded;
	trace->generation++;
	return 0;
}

const char *hr_error(const struct hr_trace *trace)
{
	return trace->err.text;
}

const char *read_keep(struct hr_trace *trace, char *text)
{
	uint32_t id = names_add(&trace->texts, text, SIZE_MAX);

	free(text);
	return names_text(&trace->texts, id);
}

/* ------------------------------------------------------------------------- checks */

int read_check_damage(struct hr_trace *trace)
{
	const char *damage = timeline_damage(trace->loaded.timeline);

	return damage ? err_set(&trace->err, -EBADMSG, "%s", damage) : 0;
}

int read_check_generation(struct hr_trace *trace, uint32_t generation)
{
	if (generation != trace->generation)
		return err_set(&trace->err, -ESTALE, "the index was rebuilt during the reading");
	return 0;
}

int read_check_thread(struct hr_trace *trace, uint32_t thread)
{
	if (thread >= trace->loaded.timeline->thread_count)
		return err_set(&trace->err, -EINVAL, "there is no thread with index %u", thread);
	return read_check_damage(trace);
}

int read_check_cpu(struct hr_trace *trace, uint32_t cpu)
{
	if (cpu >= trace->loaded.timeline->cpu_count)
		return err_set(&trace->err, -EINVAL, "there is no CPU %u", cpu);
	return read_check_damage(trace);
}

int read_cut_window(struct hr_trace *trace, uint64_t *start_ns, uint64_t *end_ns)
{
	const struct timeline *tl = trace->loaded.timeline;

	if (*start_ns > *end_ns)
		return err_set(&trace->err, -EINVAL, "the window ends before it starts");
	if (*start_ns < tl->origin_ns)
		*start_ns = tl->origin_ns;
	if (*end_ns > tl->end_ns)
		*end_ns = tl->end_ns;
	if (*end_ns < *start_ns)
		*end_ns = *start_ns;
	return 0;
}

/* -------------------------------------------------------------------- the recording */

uint64_t hr_begin_ns(const struct hr_trace *trace)
{
	return trace->loaded.timeline->origin_ns;
}

uint64_t hr_end_ns(const struct hr_trace *trace)
{
	return trace->loaded.timeline->end_ns;
}

int64_t hr_realtime_offset_ns(const struct hr_trace *trace)
{
	return trace->loaded.facts->realtime_offset_ns;
}

uint64_t hr_event_count(const struct hr_trace *trace)
{
	return trace->loaded.timeline->events;
}

uint64_t hr_lost_count(const struct hr_trace *trace)
{
	return trace->loaded.timeline->lost_events;
}

const char *hr_about(const struct hr_trace *trace, enum hr_about what)
{
	const struct facts *facts = trace->loaded.facts;
	const char *texts[] = {
		[HR_ABOUT_HOST] = facts->host,
		[HR_ABOUT_KERNEL] = facts->kernel,
		[HR_ABOUT_ARCH] = facts->arch,
		[HR_ABOUT_FORMAT] = facts->format,
		[HR_ABOUT_COMMAND] = facts->target_cmdline,
		[HR_ABOUT_INDEX] = trace->loaded.note,
		[HR_ABOUT_LEFT_OUT] = trace->beside.note,
	};

	if ((unsigned int)what >= ARRAY_LEN(texts) || !texts[what])
		return "";
	return texts[what];
}

const char *hr_damage(const struct hr_trace *trace, uint32_t index)
{
	const struct facts *facts = trace->loaded.facts;

	if (index < facts->damage_count)
		return facts->damage[index];
	return index == facts->damage_count ? timeline_damage(trace->loaded.timeline) : NULL;
}

const char *hr_missing(const struct hr_trace *trace, uint32_t index)
{
	const struct facts *facts = trace->loaded.facts;

	return index < facts->missing_count ? facts->missing[index].what : NULL;
}

const char *hr_missing_reason(const struct hr_trace *trace, uint32_t index)
{
	const struct facts *facts = trace->loaded.facts;

	return index < facts->missing_count ? facts->missing[index].why : NULL;
}

uint32_t hr_gap_count(const struct hr_trace *trace)
{
	return (uint32_t)trace->loaded.timeline->gap_count;
}

int hr_gap_get(struct hr_trace *trace, uint32_t index, struct hr_gap *out_gap)
{
	const struct timeline *tl = trace->loaded.timeline;
	int rc = read_check_size(trace, out_gap, sizeof(*out_gap));
	struct hr_gap gap;

	if (rc < 0)
		return rc;
	if (index >= tl->gap_count)
		return err_set(&trace->err, -EINVAL, "there is no gap with index %u", index);
	gap = (struct hr_gap){
		.since_ns = tl->gaps[index].since_ns,
		.until_ns = tl->gaps[index].until_ns,
		.lost = tl->gaps[index].lost,
		.cpu = tl->gaps[index].cpu,
	};
	read_give(out_gap, &gap, sizeof(gap));
	return 0;
}

uint32_t hr_cpu_count(const struct hr_trace *trace)
{
	return trace->loaded.timeline->cpu_count;
}
