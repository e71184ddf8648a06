/* flight_programs.c - what programs keep of their own events, in a snapshot of the kernel's. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/tree.h"
#include "base/text.h"
#include "record/flight_int.h"
#include "store/manifest.h"

#define FOLDER	  "user"
#define MARGIN_NS UINT64_C(100000000) /* the rings may hold so much more than was told */

static bool is_finished(const char *name)
{
	return *name != '.';
}

/* The counter's value at an earlier time of CLOCK_MONOTONIC; 0 = it is not known, or was before it began. */
static uint64_t counter_at(const struct sync_point *first, const struct sync_point *now,
			   uint64_t mono_ns)
{
	uint64_t ticks = now->raw - first->raw, ns = now->mono_ns - first->mono_ns;
	__uint128_t back;

	if (now->mono_ns <= first->mono_ns || now->raw <= first->raw || mono_ns > now->mono_ns)
		return 0;
	back = (__uint128_t)(now->mono_ns - mono_ns) * ticks / ns;
	return back < now->raw ? now->raw - (uint64_t)back : 0;
}

static struct user_part part_of(struct flight *flight)
{
	struct user_part part = { .counter = { 0, UINT64_MAX }, .most_bytes = flight->user_bytes };
	struct sync_point now = clock_take(flight->session.is_tsc);
	struct flight_held held;

	flight_held(flight, &held);
	part.monotonic = (struct user_times){ now.mono_ns - held.held_ns - MARGIN_NS, now.mono_ns };
	if (held.held_ns + MARGIN_NS > now.mono_ns)
		part.monotonic.from = 0;
	if (flight->session.is_tsc && flight->sync_count)
		part.counter = (struct user_times){
			counter_at(&flight->syncs[0], &now, part.monotonic.from), now.raw
		};
	return part;
}

void flight_programs_begin(struct flight *flight)
{
	const struct directory *directory = &flight->session.directory;
	struct user_part part;

	if (flight->is_old || !flight->user_bytes || mkdirat(directory->dir_fd, FOLDER, 0700) < 0)
		return;
	flight->user_dir_fd =
		openat(directory->dir_fd, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	part = part_of(flight);
	flight_user_begin(&flight->user, flight->user_dir_fd, &part);
}

static void note_one(struct manifest *manifest, const char *format, uint32_t count, const char *why)
{
	AUTO_FREE char *what = NULL;

	if (!count)
		return;
	what = xasprintf(format, count, count == 1 ? "" : "s");
	manifest_add_missing(manifest, what, why);
}

static void note_copied(struct flight *flight, const struct flight_user_copied *copied)
{
	const struct user_flights *flights = &copied->flights;
	struct manifest *manifest = flight->session.manifest;
	AUTO_FREE char *bound = xasprintf("a snapshot keeps %s of them: an eighth of --disk",
					  text_size(flight->user_bytes).s);

	note_one(manifest, "the own events of %u program%s", flights->streaming,
		 "they are whole in folders of their own: holdup user list");
	note_one(manifest, "the own events of %u program%s, for want of room", flights->no_room,
		 bound);
	note_one(manifest, "the own events of %u program%s that could not be copied",
		 flights->failed, "their files cannot be read, or their copies not be written");
	if (copied->is_cut)
		manifest_add_missing(manifest, "own events of some programs",
				     "there was no time to copy them all");
	if (copied->is_failed)
		manifest_add_missing(manifest, "own events of programs",
				     "there is no helper to copy them");
}

void flight_programs_end(struct flight *flight)
{
	struct flight_user_copied copied;

	if (flight->user_dir_fd < 0)
		return;
	flight_user_end(&flight->user, &copied);
	flight_note_helper(flight, copied.worker);
	note_copied(flight, &copied);
	tree_empty(flight->user_dir_fd, is_finished); /* of a copy that took too long */
	mem_close_fd(&flight->user_dir_fd);
	flight->user_dir_fd = -1;
	(void)unlinkat(flight->session.directory.dir_fd, FOLDER, AT_REMOVEDIR); /* if it is empty */
}
