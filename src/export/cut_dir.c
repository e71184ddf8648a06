/* cut_dir.c - a cut of a recording, as a recording: docs/FORMAT.md. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "event/event.h"
#include "event/source.h"
#include "export/ctf_export.h"
#include "export/cut_int.h"
#include "export/cut_ring.h"
#include "read/kernel/pages.h"
#include "read/read.h"
#include "store/dump.h"
#include "store/formats.h"
#include "store/manifest.h"
#include "store/parts.h"
#include "wire/wire.h"

struct writing {
	struct cut *cut;
	const char *dir;
	struct manifest manifest; /* of the source, then of the cut */
	struct trace_meaning meaning;
	struct page_layout layout;
	struct cut_ring **rings; /* owned; index = CPU; NULL = none */
	uint32_t ring_count;
	FILE *names; /* NULL = no name yet */
	bool has_programs;
};

static FILE *cut_open_file(const struct writing *writing, const char *name, struct err *err)
{
	AUTO_FREE char *path = xasprintf("%s/kernel/%s", writing->dir, name);
	FILE *out = fopen(path, "wxe");

	if (!out)
		(void)err_set(err, -errno, "cannot make %s: %s", path, strerror(errno));
	return out;
}

static int cut_dir_close_file(FILE *out, const char *name, struct err *err)
{
	bool failed = ferror(out);

	errno = EIO;
	if (fclose(out) != 0 || failed)
		return err_set(err, errno ? -errno : -EIO, "cannot write kernel/%s: %s", name,
			       strerror(errno ? errno : EIO));
	return 0;
}

/* ------------------------------------------------------------------ events */

static struct cut_ring *ring_of(struct writing *writing, uint32_t cpu)
{
	AUTO_FREE char *path = NULL;

	if (cpu >= MANIFEST_MAX_CPUS)
		return NULL;
	if (cpu >= writing->ring_count) {
		writing->rings = vec_grow(writing->rings, writing->ring_count, cpu + 1,
					  sizeof(struct cut_ring *));
		writing->ring_count = cpu + 1;
	}
	path = xasprintf("%s/kernel/cpu%u.ring", writing->dir, cpu);
	if (!writing->rings[cpu])
		writing->rings[cpu] = cut_ring_new(path, &writing->layout);
	return writing->rings[cpu];
}

static int cut_put_name(struct writing *writing, const struct event *event, struct err *err)
{
	static const char zeros[8];
	const struct ev_fd_name *name = &event->fd_name;
	size_t bytes = strnlen(name->name, WIRE_NAME_MAX);
	bool swap = order_swaps(writing->meaning.big_endian);
	struct wire_name wire = {
		.magic = WIRE_NAME_MAGIC,
		.name_bytes = (uint32_t)bytes,
		.mono_ns = event->time_ns,
		.inode = name->inode,
		.tgid = name->tgid,
		.tid = name->tid,
		.fd = name->fd,
		.role = name->role | (uint32_t)name->watch << FD_WATCH_SHIFT,
	};

	if (swap)
		return err_set(err, -ENOTSUP, "a recording of another byte order cannot be cut");
	if (!writing->names)
		writing->names = cut_open_file(writing, "names", err);
	if (!writing->names)
		return err->code;
	fwrite(&wire, sizeof(wire), 1, writing->names);
	fwrite(name->name, 1, bytes, writing->names);
	fwrite(zeros, 1, -bytes & 7, writing->names);
	return 0;
}

static int cut_dir_put_event(struct writing *writing, const struct event *event, struct err *err)
{
	struct trace_record record;
	struct cut_ring *ring;

	if (event->context & EV_CTX_USER) {
		writing->has_programs = true;
		return 0;
	}
	if (event->type == EV_FD_NAME)
		return cut_put_name(writing, event, err);
	if (event->type == EV_LOST && event->lost.is_step)
		return 0; /* the manifest has it */
	ring = ring_of(writing, event->cpu);
	if (!ring)
		return err_set(err, -EBADMSG, "there is a CPU %u", event->cpu);
	if (event->type == EV_LOST)
		cut_ring_lost(ring, event->time_ns, event->lost.count);
	else if (trace_record(writing->cut->trace, &record))
		cut_ring_put(ring, event->time_ns, &record);
	writing->cut->events += event->type != EV_LOST;
	return 0;
}

static int cut_dir_put_events(struct writing *writing, struct err *err)
{
	struct cut *cut = writing->cut;
	struct source *source = trace_source(cut->trace);
	const struct event *event;
	int rc;

	trace_keep_records(cut->trace, true);
	rc = source_seek(source, cut->is_start ? 0 : cut->opts->from_ns, err);
	while (rc >= 0 && (rc = source_next(source, &event, err)) > 0) {
		if (event->time_ns >= cut->opts->to_ns)
			return 0;
		if (cut_wants(cut, event))
			rc = cut_dir_put_event(writing, event, err);
	}
	return rc < 0 ? err_wrap(err, "cutting the events") : 0;
}

/* Every CPU of the recording has a file: one without events is known to be idle or left out. */
static int end_rings(struct writing *writing, struct err *err)
{
	struct manifest *manifest = &writing->manifest;
	int rc = 0;

	manifest->cpu_count = 0;
	for (uint32_t cpu = 0; cpu < writing->ring_count; cpu++) {
		struct cut_ring_sum sum;
		struct manifest_cpu line = { .cpu = cpu };
		int ended;

		if (!writing->rings[cpu])
			continue;
		ended = cut_ring_end(writing->rings[cpu], &sum, rc < 0 ? NULL : err);
		rc = rc < 0 ? rc : ended;
		line.events = sum.events;
		line.lost = sum.lost;
		line.bytes = sum.bytes;
		manifest_add_cpu(manifest, &line);
	}
	free(writing->rings);
	if (writing->names && rc == 0)
		return cut_dir_close_file(writing->names, "names", err);
	if (writing->names)
		(void)fclose(writing->names);
	return rc;
}

/* What programs logged becomes CTF; the reader finds it in user/. */
static int put_programs(struct writing *writing, struct err *err)
{
	struct cut *cut = writing->cut;
	struct ctf_choice choice = cut_choice(cut);
	AUTO_FREE char *user = xasprintf("%s/user", writing->dir);
	AUTO_FREE char *folder = xasprintf("%s/programs", user);
	int64_t events;

	if (!writing->has_programs)
		return 0;
	if (mkdir(user, 0700) < 0 || mkdir(folder, 0700) < 0)
		return err_set(err, -errno, "cannot make %s: %s", folder, strerror(errno));
	choice.programs_only = true;
	events = ctf_export(cut->trace, folder, &choice, err);
	cut->events += events > 0 ? (uint64_t)events : 0;
	return events < 0 ? (int)events : 0;
}

/* ------------------------------------------------------------------ beside */

/* Formats that were made for programs' events come with those. */
static int put_formats(struct writing *writing, struct err *err)
{
	const struct formats *formats = writing->meaning.formats;
	FILE *out = cut_open_file(writing, "formats", err);
	int rc = 0;

	if (!out)
		return err->code;
	for (size_t i = 0; i < formats->count && rc == 0; i++) {
		const struct format_section *section = &formats->sections[i];

		if (strncmp(section->text, "name: event\n", 12) != 0)
			rc = formats_print(out, section->name, section->text, section->bytes);
	}
	return cut_dir_close_file(out, "formats", err);
}

/* Raw time and CLOCK_MONOTONIC are the same. */
static int put_sync(struct writing *writing, struct err *err)
{
	const struct facts *facts = &writing->cut->facts;
	const uint64_t times[] = { facts->first_ns, facts->last_ns };
	FILE *out = cut_open_file(writing, "sync", err);

	if (!out)
		return err->code;
	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		fprintf(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", times[i], times[i],
			times[i] + (uint64_t)facts->realtime_offset_ns);
	return cut_dir_close_file(out, "sync", err);
}

static int put_dump(struct writing *writing, struct err *err)
{
	const struct facts *facts = &writing->cut->facts;
	FILE *out = cut_open_file(writing, "dump.jsonl", err);

	if (!out)
		return err->code;
	for (size_t i = 0; i < facts->thread_count; i++)
		dump_print_thread(out, &facts->threads[i]);
	for (size_t i = 0; i < facts->fd_count; i++)
		dump_print_fd(out, &facts->fds[i]);
	for (size_t i = 0; i < facts->epoll_count; i++)
		dump_print_epoll(out, &facts->epolls[i]);
	for (size_t i = 0; i < facts->wait_count; i++) {
		if (facts->waits[i].seen_ns > facts->first_ns &&
		    facts->waits[i].seen_ns <= facts->last_ns)
			dump_print_wait(out, &facts->waits[i]);
	}
	for (size_t i = 0; i < facts->moment_count; i++)
		dump_print_moment(out, &facts->moments[i]);
	for (size_t i = 0; i < facts->irq_count; i++)
		dump_print_irq(out, &facts->irqs[i]);
	for (size_t i = 0; i < facts->device_count; i++)
		dump_print_device(out, &facts->devices[i]);
	return cut_dir_close_file(out, "dump.jsonl", err);
}

static int put_symbols(struct writing *writing, struct err *err)
{
	const struct facts *facts = &writing->cut->facts;
	FILE *out;

	if (facts->symbol_count == 0)
		return 0;
	out = cut_open_file(writing, "kallsyms", err);
	if (!out)
		return err->code;
	for (size_t i = 0; i < facts->symbol_count; i++)
		fprintf(out, "%" PRIx64 " %s\n", facts->symbols[i].address, facts->symbols[i].name);
	return cut_dir_close_file(out, "kallsyms", err);
}

static int put_stacks(struct writing *writing, struct err *err)
{
	FILE *out;

	if (!writing->cut->facts.stacks)
		return 0;
	out = cut_open_file(writing, "stacks", err);
	if (!out)
		return err->code;
	cut_stacks_put(writing->cut, out);
	return cut_dir_close_file(out, "stacks", err);
}

/* ------------------------------------------------------------------ the whole */

static int cut_dir_open_layout(struct writing *writing, struct err *err)
{
	const struct manifest *manifest = &writing->manifest;

	if (!trace_meaning(writing->cut->trace, &writing->meaning))
		return err_set(err, -ENOTSUP, "the events of this format have no records");
	return page_layout_init(&writing->layout,
				formats_find(writing->meaning.formats, "header_page"),
				manifest->page_bytes, manifest->long_bytes,
				writing->meaning.big_endian, err);
}

static void set_manifest(struct writing *writing)
{
	const struct facts *facts = &writing->cut->facts;
	struct manifest *manifest = &writing->manifest;
	AUTO_CLOSE int fd = open(writing->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	free(manifest->clock);
	manifest->clock = xstrdup("mono");
	manifest->begin_ns = facts->first_ns;
	manifest->end_ns = facts->last_ns;
	manifest->complete = true;
	if (fd >= 0)
		parts_note(manifest, fd);
}

/* What the cut cannot have, for the trace that it is of does not: known once all of that was read. */
static void note_source(struct writing *writing)
{
	const struct facts *source = trace_facts(writing->cut->trace);

	if (!source->complete)
		manifest_add_missing(
			&writing->manifest, "the end of the recording",
			"the recorder of the trace that was cut did not come to its end");
	for (size_t i = 0; i < source->damage_count; i++)
		manifest_add_missing(&writing->manifest, "damage of the trace that was cut",
				     source->damage[i]);
}

static int write_parts(struct writing *writing, struct err *err)
{
	static int (*const parts[])(struct writing * writing, struct err * err) = {
		cut_dir_put_events, end_rings, put_programs, put_formats,
		put_sync,	    put_dump,  put_symbols,  put_stacks,
	};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		/* Open files are closed in any case. */
		if (rc == 0 || parts[i] == end_rings) {
			int done = parts[i](writing, rc < 0 ? NULL : err);

			rc = rc < 0 ? rc : done;
		}
	}
	return rc;
}

int cut_write_dir(struct cut *cut, const char *dir, struct err *err)
{
	struct writing writing = { .cut = cut, .dir = dir };
	AUTO_FREE char *kernel = xasprintf("%s/kernel", dir);
	int rc = manifest_read(cut->path, &writing.manifest, err);

	if (rc == 0 && mkdir(kernel, 0700) < 0)
		rc = err_set(err, -errno, "cannot make %s: %s", kernel, strerror(errno));
	if (rc == 0)
		rc = cut_dir_open_layout(&writing, err);
	if (rc == 0)
		rc = write_parts(&writing, err);
	if (rc == 0) {
		set_manifest(&writing);
		note_source(&writing);
		rc = manifest_write(&writing.manifest, dir, err);
	}
	manifest_fini(&writing.manifest);
	return rc;
}
