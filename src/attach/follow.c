/*
 * follow.c - see follow.h.
 *
 *	cpu0-000001 | packet | packet |	   cpu0-000002 | packet | packet |
 *			     └── at: its number, and how many of its bytes were handed over
 *
 * Packets of a CPU are numbered. A file that is used anew has other numbers under another name: then the place is looked
 * for by the number. Files of a CPU are in the order of their names.
 */
#include "attach/follow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/files.h"
#include "attach/trace.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/sorting.h"
#include "wire/user.h"

#define OPEN_FILE    (O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
#define FILES_MOST   16384u /* of a folder; those that are beyond are not seen */
#define CPUS_MOST    1024u
#define STEPS_MOST   8192u	/* heads that one look reads, and files that it opens */
#define STEPS_MORE   64u	/* to find the end of a program that is too fast */
#define LISTS_MOST   2u		/* of a look */
#define LOST_MOST    (1u << 20) /* packets between two: what is beyond is not believed */
#define BEHIND_LOOKS 10u	/* so often in a row there may be more than one look takes */
#define JUST_NS	     UINT64_C(50000000) /* times of folders are as coarse */

struct follow_file {
	uint32_t cpu, index;
};

/* Where we are in a CPU's packets. */
struct follow_place {
	uint32_t cpu;
	uint32_t index;	 /* of the file */
	uint32_t at;	 /* packet of the file */
	uint32_t seen;	 /* bytes of it */
	uint64_t number; /* of the packet */
	uint64_t begin;	 /* of it; 0 = it has not begun */
	uint64_t ticks;	 /* of the last event that was handed over */
	uint32_t behind; /* looks in a row that left a rest */
};

struct user_follow {
	int folder_fd;
	uint32_t uid; /* whose it is */
	uint64_t metadata_bytes;
	uint64_t since_ticks;
	struct follow_file *files; /* owned; by CPU and index, of the last listing */
	size_t count, cap;
	struct timespec changed;     /* the folder, before that */
	bool is_listed, is_new;	     /* the listing; nobody has looked for CPUs in it */
	struct follow_place *places; /* owned */
	size_t place_count, place_cap;
	uint8_t *packet;       /* owned */
	uint32_t steps, lists; /* of this look */
	uint32_t turn;	       /* where the next one begins */
};

struct user_follow *user_follow_new(int folder_fd)
{
	struct user_follow *follow = xcalloc(1, sizeof(*follow));
	struct stat stat = { .st_uid = (uid_t)-1 };

	(void)fstat(folder_fd, &stat); /* else nothing in it is believed */
	follow->folder_fd = folder_fd;
	follow->uid = stat.st_uid;
	follow->packet = xcalloc(1, USER_PACKET + USER_PIECE_SLACK);
	return follow;
}

void user_follow_free(struct user_follow *follow)
{
	if (!follow)
		return;
	mem_close_fd(&follow->folder_fd);
	free(follow->files);
	free(follow->places);
	free(follow->packet);
	free(follow);
}

/* --------------------------------------------------------------------- files */

/* What the owner of the folder has put there, not what was moved there. */
static int follow_open(const struct user_follow *follow, const char *name, uint64_t *out_bytes)
{
	int file = openat(follow->folder_fd, name, OPEN_FILE);
	struct stat stat;

	if (file < 0)
		return -errno;
	if (user_is_plain(file, out_bytes) && fstat(file, &stat) == 0 && stat.st_uid == follow->uid)
		return file;
	mem_close_fd(&file);
	return -EPERM;
}

int user_follow_metadata(struct user_follow *follow, size_t most, char **out_text,
			 size_t *out_bytes)
{
	struct stat stat;
	uint64_t bytes;
	AUTO_CLOSE int file = -1;
	char *text;

	if (fstatat(follow->folder_fd, "metadata", &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if ((uint64_t)stat.st_size == follow->metadata_bytes)
		return 0;
	file = follow_open(follow, "metadata", &bytes);
	if (file < 0)
		return file;
	if (bytes > most)
		return -EFBIG;
	text = xcalloc(bytes + 1, 1);
	bytes = file_read_at(file, 0, text, bytes);
	follow->metadata_bytes = bytes;
	*out_text = text;
	*out_bytes = user_whole_blocks(text, bytes);
	return 1;
}

void user_follow_forget_metadata(struct user_follow *follow)
{
	follow->metadata_bytes = 0;
}

ORDER_FUNCTION(compare_files, struct follow_file, ORDER_UP(cpu), ORDER_UP(index));

static void list_files(struct user_follow *follow)
{
	DIR *dir = follow->lists < LISTS_MOST ? file_list(follow->folder_fd) : NULL;
	struct dirent *entry;

	if (!dir)
		return;
	follow->lists++;
	follow->is_new = true;
	follow->count = 0;
	while (follow->count < FILES_MOST && (entry = readdir(dir))) {
		uint32_t index;
		int64_t cpu = user_cpu_of_name(entry->d_name, &index);

		if (cpu < 0)
			continue;
		follow->files = vec_room(follow->files, follow->count, &follow->cap,
					 sizeof(*follow->files));
		follow->files[follow->count++] = (struct follow_file){ (uint32_t)cpu, index };
	}
	closedir(dir);
	if (follow->count)
		qsort(follow->files, follow->count, sizeof(*follow->files), compare_files);
}

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec;
}

/* Only when a name was added or taken away since the last time, or may have been. */
static void keep_listed(struct user_follow *follow)
{
	struct stat stat;
	uint64_t now_ns = clock_read_ns(CLOCK_REALTIME);

	if (fstat(follow->folder_fd, &stat) < 0)
		return;
	if (follow->is_listed && ns_of(&stat.st_mtim) == ns_of(&follow->changed))
		return;
	list_files(follow);
	follow->changed = stat.st_mtim;
	follow->is_listed = now_ns > ns_of(&stat.st_mtim) + JUST_NS;
}

/* An open file of packets; 'file' -1 = none. */
struct follow_open {
	int file;
	uint32_t packets;
};

static struct follow_open open_packets(struct user_follow *follow, uint32_t cpu, uint32_t index)
{
	AUTO_FREE char *name = xasprintf("cpu%u-%06u", cpu, index);
	uint64_t bytes = 0;
	struct follow_open open = { .file = follow_open(follow, name, &bytes) };

	follow->steps++;
	if (bytes / USER_PACKET < UINT32_MAX)
		open.packets = (uint32_t)(bytes / USER_PACKET);
	return open;
}

/* False: it is none, or this look has read enough. */
static bool follow_head(struct user_follow *follow, const struct follow_open *open, uint32_t at,
			struct user_packet *out_packet)
{
	return open->file >= 0 && at < open->packets && follow->steps++ < STEPS_MOST &&
	       pread(open->file, out_packet, sizeof(*out_packet), (off_t)at * USER_PACKET) ==
		       (ssize_t)sizeof(*out_packet) &&
	       user_packet_state(out_packet) != USER_PACKET_BAD;
}

static bool has_begun(const struct user_packet *packet)
{
	return user_packet_state(packet) == USER_PACKET_BEGUN;
}

/* The files of a CPU are [first, end). */
static size_t files_of(const struct user_follow *follow, uint32_t cpu, size_t *out_end)
{
	*out_end = SEARCH_WHERE(follow->files, follow->count, .cpu <= cpu);
	return SEARCH_WHERE(follow->files, follow->count, .cpu < cpu);
}

/* --------------------------------------------------------------------- places */

static void place_set(struct follow_place *place, uint32_t index, uint32_t at,
		      const struct user_packet *packet)
{
	*place = (struct follow_place){
		.cpu = place->cpu,
		.index = index,
		.at = at,
		.seen = USER_HEAD,
		.number = packet->number,
		.begin = has_begun(packet) ? packet->begin : 0,
		.ticks = packet->begin,
		.behind = place->behind,
	};
}

/* The head of the first packet of a file of the list. */
static bool first_head(struct user_follow *follow, const struct follow_file *file,
		       struct user_packet *out_packet)
{
	struct follow_open open = open_packets(follow, file->cpu, file->index);
	bool is_there = follow_head(follow, &open, 0, out_packet);

	mem_close_fd(&open.file);
	return is_there;
}

/* The last packet that began before, or the first one that there is. */
static bool place_at_time(struct user_follow *follow, struct follow_place *place)
{
	size_t end, first = files_of(follow, place->cpu, &end), which = end;
	struct user_packet packet;
	struct follow_open open;
	bool found = false;

	for (size_t i = end; i > first; i--) {
		if (!first_head(follow, &follow->files[i - 1], &packet))
			continue;
		which = i - 1;
		if (has_begun(&packet) && packet.begin <= follow->since_ticks)
			break;
	}
	if (which == end)
		return false;
	open = open_packets(follow, place->cpu, follow->files[which].index);
	for (uint32_t at = 0; follow_head(follow, &open, at, &packet); at++) {
		if (found && (!has_begun(&packet) || packet.begin > follow->since_ticks))
			break;
		place_set(place, follow->files[which].index, at, &packet);
		found = true;
	}
	mem_close_fd(&open.file);
	return found;
}

/* The oldest packet that is there and not older than 'number'. */
static bool place_at_number(struct user_follow *follow, struct follow_place *place, uint64_t number)
{
	size_t end, first = files_of(follow, place->cpu, &end);
	struct user_packet packet;
	bool found = false;

	for (size_t i = first; i < end && !found; i++) {
		struct follow_open open = open_packets(follow, place->cpu, follow->files[i].index);
		uint32_t at = 0;

		if (follow_head(follow, &open, 0, &packet) && packet.number < number)
			at = number - packet.number < open.packets
				     ? (uint32_t)(number - packet.number)
				     : open.packets;
		found = follow_head(follow, &open, at, &packet) && packet.number >= number;
		if (found)
			place_set(place, follow->files[i].index, at, &packet);
		mem_close_fd(&open.file);
	}
	return found;
}

/* The first packet of the newest file that has begun: a program was too fast for too long. */
static bool place_at_end(struct user_follow *follow, struct follow_place *place)
{
	size_t end, first = files_of(follow, place->cpu, &end);
	struct user_packet packet;

	for (size_t i = end; i > first; i--) {
		if (!first_head(follow, &follow->files[i - 1], &packet) || !has_begun(&packet))
			continue;
		if (packet.number > place->number)
			place_set(place, follow->files[i - 1].index, 0, &packet);
		return true;
	}
	return false;
}

static uint64_t lost_between(uint64_t before, uint64_t number)
{
	return number - before < LOST_MOST ? number - before : LOST_MOST;
}

/* What was at its place was overwritten: go on behind it. */
static bool place_again(struct user_follow *follow, struct follow_place *place, uint64_t *lost)
{
	uint64_t before = place->number;
	bool had_begun = place->begin != 0;

	list_files(follow);
	/* One that had not begun may have got another name with the same number. */
	if (!place_at_number(follow, place, had_begun ? before + 1 : before))
		return false;
	*lost += lost_between(before, place->number);
	return true;
}

/* ---------------------------------------------------------------------- a look */

struct follow_look {
	struct user_follow *follow;
	uint64_t cpu_bytes, most_bytes; /* of each CPU, and of all */
	user_piece_fn fn;
	void *context;
	struct user_followed *followed;
};

/* Hand over what is new of the packet. False: it was overwritten meanwhile. */
static bool take_piece(const struct follow_look *look, struct follow_place *place,
		       const struct follow_open *open, const struct user_packet *before)
{
	struct user_follow *follow = look->follow;
	uint64_t content = (before->content_bits + 7) / 8, offset;
	struct user_packet after;
	struct user_piece piece = { .cpu = place->cpu, .data = follow->packet };
	uint64_t ticks;

	if (content <= place->seen)
		return true;
	offset = (uint64_t)place->at * USER_PACKET + place->seen;
	piece.bytes = (uint32_t)(content - place->seen);
	piece.first = place->seen;
	piece.ticks = place->ticks;
	if (file_read_at(open->file, offset, follow->packet, piece.bytes) != piece.bytes ||
	    !follow_head(follow, open, place->at, &after) || after.number != before->number ||
	    after.begin != before->begin)
		return false;
	ticks = look->fn(look->context, &piece);
	place->ticks = ticks > place->ticks ? ticks : place->ticks;
	place->seen = (uint32_t)content;
	look->followed->bytes += piece.bytes;
	return true;
}

/* Behind the last packet of a file stands the first one of the next that has its number. */
static bool next_place(const struct follow_look *look, const struct follow_place *place,
		       const struct follow_open *open, struct follow_place *out_next)
{
	struct user_follow *follow = look->follow;
	struct user_packet packet;
	size_t end, first;

	*out_next = *place;
	if (place->at + 1 < open->packets) {
		if (!follow_head(follow, open, place->at + 1, &packet) || !has_begun(&packet) ||
		    packet.number != place->number + 1)
			return false;
		place_set(out_next, place->index, place->at + 1, &packet);
		return true;
	}
	keep_listed(follow);
	first = files_of(follow, place->cpu, &end);
	for (size_t i = first; i < end; i++) {
		if (follow->files[i].index <= place->index ||
		    !first_head(follow, &follow->files[i], &packet))
			continue;
		if (!has_begun(&packet) || packet.number != place->number + 1)
			return false;
		place_set(out_next, follow->files[i].index, 0, &packet);
		return true;
	}
	return false;
}

enum step {
	STEP_ON,
	STEP_END,
	STEP_LOST, /* the packet is not there any more */
};

/* One packet: what comes behind it is looked for first, so that it is whole where there is something. */
static enum step follow_step(const struct follow_look *look, struct follow_place *place)
{
	struct follow_open open = open_packets(look->follow, place->cpu, place->index);
	struct follow_place next = *place;
	struct user_packet packet;
	bool has_next = false;
	enum step step = STEP_LOST;

	if (follow_head(look->follow, &open, place->at, &packet) &&
	    packet.number == place->number && (!place->begin || packet.begin == place->begin)) {
		if (!place->begin && has_begun(&packet))
			place_set(place, place->index, place->at, &packet);
		step = STEP_END;
	}
	if (step == STEP_END && place->begin) {
		has_next = next_place(look, place, &open, &next);
		if (follow_head(look->follow, &open, place->at, &packet) &&
		    packet.number == place->number && packet.begin == place->begin &&
		    take_piece(look, place, &open, &packet))
			step = has_next ? STEP_ON : STEP_END;
		else
			step = STEP_LOST;
	}
	mem_close_fd(&open.file);
	if (step == STEP_ON)
		*place = next;
	return step;
}

/* More than it can take for so long: what is between is given up. */
static void keep_up(const struct follow_look *look, struct follow_place *place)
{
	uint64_t before = place->number;

	look->followed->has_rest = true;
	if (place->ticks < look->followed->rest_ticks)
		look->followed->rest_ticks = place->ticks;
	if (++place->behind < BEHIND_LOOKS)
		return;
	place->behind = 0;
	list_files(look->follow);
	look->follow->steps = STEPS_MOST - STEPS_MORE;
	if (place_at_end(look->follow, place))
		look->followed->lost += lost_between(before, place->number);
}

static void follow_cpu(const struct follow_look *look, struct follow_place *place)
{
	uint64_t until = look->followed->bytes + look->cpu_bytes;
	enum step step = STEP_ON;

	until = until < look->most_bytes ? until : look->most_bytes;

	while (step == STEP_ON && look->followed->bytes < until &&
	       look->follow->steps < STEPS_MOST) {
		step = follow_step(look, place);
		if (step == STEP_LOST && look->follow->steps < STEPS_MOST &&
		    place_again(look->follow, place, &look->followed->lost))
			step = STEP_ON;
	}
	if (step == STEP_ON)
		keep_up(look, place);
	else
		place->behind = 0;
}

static bool has_place(const struct user_follow *follow, uint32_t cpu)
{
	for (size_t i = 0; i < follow->place_count; i++) {
		if (follow->places[i].cpu == cpu)
			return true;
	}
	return false;
}

/* CPUs that began to be written to. */
static void add_places(struct user_follow *follow)
{
	if (!follow->is_new)
		return;
	follow->is_new = false;
	for (size_t i = 0; i < follow->count && follow->place_count < CPUS_MOST; i++) {
		struct follow_place place = { .cpu = follow->files[i].cpu };

		if ((i && follow->files[i - 1].cpu == place.cpu) || has_place(follow, place.cpu))
			continue;
		if (!place_at_time(follow, &place)) {
			follow->is_new = true; /* once more */
			continue;
		}
		follow->places = vec_room(follow->places, follow->place_count, &follow->place_cap,
					  sizeof(*follow->places));
		follow->places[follow->place_count++] = place;
	}
}

void user_follow_from(struct user_follow *follow, uint64_t since_ticks)
{
	follow->since_ticks = since_ticks;
	follow->place_count = 0;
	follow->is_new = true;
}

void user_follow_look(struct user_follow *follow, uint64_t most_bytes, user_piece_fn fn,
		      void *context, struct user_followed *out_followed)
{
	struct follow_look look = { follow, most_bytes, most_bytes, fn, context, out_followed };

	*out_followed = (struct user_followed){ .rest_ticks = UINT64_MAX };
	follow->steps = follow->lists = 0;
	keep_listed(follow);
	add_places(follow);
	if (follow->place_count)
		look.cpu_bytes = most_bytes / follow->place_count + USER_PACKET;
	follow->turn++;
	for (size_t i = 0; i < follow->place_count; i++)
		follow_cpu(&look, &follow->places[(follow->turn + i) % follow->place_count]);
}
