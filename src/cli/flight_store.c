/* flight_store.c - snapshots on disk: notes, sizes, the oldest ones go. */
#include "cli/flight_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/keyed.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/tree.h"
#include "report/flight.h"

#define NOTE_MAX  4096
#define DEPTH_MAX 4
#define BLOCK	  512u	   /* of st_blocks */
#define NAME_NS	  1000000u /* names differ from so much on */

static const char *const endings[] = { FLIGHT_NOTE, FLIGHT_NEW, FLIGHT_REPORT, FLIGHT_TRACE };

static char *name_of(uint64_t real_ns)
{
	time_t seconds = (time_t)(real_ns / 1000000000);
	struct tm day;
	char text[32];

	gmtime_r(&seconds, &day);
	(void)strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &day);
	return xasprintf("%s-%03u", text, (unsigned int)(real_ns / 1000000 % 1000));
}

static bool is_taken(int dir_fd, const char *name)
{
	bool is = false;

	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		AUTO_FREE char *file = xasprintf("%s%s", name, endings[i]);

		is |= faccessat(dir_fd, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	}
	return is;
}

char *flight_store_name(int dir_fd, uint64_t real_ns)
{
	char *name = name_of(real_ns);

	while (is_taken(dir_fd, name)) {
		free(name);
		real_ns += NAME_NS;
		name = name_of(real_ns);
	}
	return name;
}

/* "20261126-210501-123" and an ending of ours; of nothing else is anything removed. */
static bool is_ours(const char *file, size_t *out_length)
{
	static const char shape[] = "dddddddd-dddddd-ddd";
	size_t i;

	for (i = 0; shape[i]; i++) {
		if (shape[i] == 'd' ? file[i] < '0' || file[i] > '9' : file[i] != shape[i])
			return false;
	}
	*out_length = i;
	for (size_t k = 0; k < ARRAY_LEN(endings); k++) {
		if (strcmp(file + i, endings[k]) == 0)
			return true;
	}
	return false;
}

int flight_store_note(int dir_fd, const struct flight_row *row, struct err *err)
{
	AUTO_FREE char *name = xasprintf("%s" FLIGHT_NOTE, row->name);
	AUTO_FREE char *new = xasprintf("%s" FLIGHT_NEW, row->name);
	AUTO_FREE char *why = text_escaped(row->why);
	AUTO_FREE char *verdict = text_escaped(row->verdict);
	int fd = openat(dir_fd, new, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	bool failed;

	if (!out) {
		int rc = err_set(err, -errno, "cannot make %s: %s", name, strerror(errno));

		mem_close_fd(&fd);
		return rc;
	}
	fprintf(out,
		"number %" PRIu64 "\ntime %" PRIu64 "\nbegin %" PRIu64 "\nend %" PRIu64
		"\ngap %" PRIu64 "\nwhy %.1024s\nverdict %.2048s\nwhole 1\n",
		row->number, row->real_ns, row->begin_ns, row->end_ns, row->gap_ns, why, verdict);
	failed = ferror(out);
	if (fclose(out) != 0 || failed || renameat(dir_fd, new, dir_fd, name) < 0) {
		(void)unlinkat(dir_fd, new, 0);
		return err_set(err, -ENOSPC, "cannot write %s: the disk is full", name);
	}
	return 0;
}

/* Bytes on disk of a file, or of a folder with what is in it. Of what several snapshots share, its part. */
static uint64_t bytes_of(int at, const char *name, int depth)
{
	struct stat st;
	uint64_t bytes;
	AUTO_CLOSE int fd = -1;
	DIR *dir;
	struct dirent *entry;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	bytes = (uint64_t)st.st_blocks * BLOCK;
	if (S_ISREG(st.st_mode) && st.st_nlink > 1)
		bytes /= st.st_nlink;
	if (!S_ISDIR(st.st_mode) || depth >= DEPTH_MAX)
		return bytes;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : file_list(fd);
	while (dir && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			bytes += bytes_of(fd, entry->d_name, depth + 1);
	}
	if (dir)
		closedir(dir);
	return bytes;
}

static uint64_t bytes_of_all(int dir_fd, const char *name)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		AUTO_FREE char *file = xasprintf("%s%s", name, endings[i]);

		bytes += bytes_of(dir_fd, file, 0);
	}
	return bytes;
}

static bool read_note(int dir_fd, const char *file, size_t length, struct flight_row *out_row)
{
	AUTO_CLOSE int fd = openat(dir_fd, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[NOTE_MAX + 1], why[NOTE_MAX], verdict[NOTE_MAX];
	struct flight_row row = { 0 };
	uint64_t whole;

	if (fd < 0)
		return false;
	text[file_read_at(fd, 0, text, NOTE_MAX)] = '\0';
	if (!keyed_find_u64(text, "whole", &whole) || !keyed_find_u64(text, "time", &row.real_ns) ||
	    !keyed_find_u64(text, "begin", &row.begin_ns) ||
	    !keyed_find_u64(text, "end", &row.end_ns) ||
	    !keyed_find_u64(text, "gap", &row.gap_ns) || !keyed_find(text, "why", why, sizeof(why)))
		return false;
	(void)keyed_find_u64(text, "number", &row.number); /* older versions wrote none */
	row.why = xstrdup(why);
	row.verdict = xstrdup(keyed_find(text, "verdict", verdict, sizeof(verdict)) ? verdict : "");
	row.name = xstrndup(file, length);
	row.bytes = bytes_of_all(dir_fd, row.name);
	*out_row = row;
	return true;
}

/* The oldest one first. */
static int compare_flight_rows(const void *a, const void *b)
{
	const struct flight_row *one = a, *other = b;

	if (one->number != other->number)
		return one->number < other->number ? -1 : 1;
	return strcmp(one->name, other->name);
}

int flight_store_list(int dir_fd, struct flight_list *out_list)
{
	struct flight_list list = { 0 };
	DIR *dir = file_list(dir_fd);
	struct dirent *entry;
	size_t length;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		if (!is_ours(entry->d_name, &length) ||
		    strcmp(entry->d_name + length, FLIGHT_NOTE) != 0)
			continue;
		list.rows = vec_room(list.rows, list.count, &list.cap, sizeof(*list.rows));
		list.count += read_note(dir_fd, entry->d_name, length, &list.rows[list.count]);
	}
	closedir(dir);
	if (list.count)
		qsort(list.rows, list.count, sizeof(*list.rows), compare_flight_rows);
	*out_list = list;
	return 0;
}

uint64_t flight_store_last(int dir_fd)
{
	struct flight_list list;
	uint64_t number = 0;

	if (flight_store_list(dir_fd, &list) < 0)
		return 0;
	if (list.count)
		number = list.rows[list.count - 1].number;
	flight_list_fini(&list);
	return number;
}

void flight_list_fini(struct flight_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->rows[i].name);
		free(list->rows[i].why);
		free(list->rows[i].verdict);
	}
	free(list->rows);
	*list = (struct flight_list){ 0 };
}

void flight_store_remove(int dir_fd, const char *name)
{
	/* The note goes first: what is left is half a snapshot, which the next start removes. */
	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		AUTO_FREE char *file = xasprintf("%s%s", name, endings[i]);

		(void)tree_remove(dir_fd, file);
	}
}

static bool has_note(const struct flight_list *list, const char *file, size_t length)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strncmp(list->rows[i].name, file, length) == 0)
			return true;
	}
	return false;
}

void flight_store_sweep(int dir_fd)
{
	struct flight_list list;
	DIR *dir;
	struct dirent *entry;
	size_t length;

	if (flight_store_list(dir_fd, &list) < 0)
		return;
	dir = file_list(dir_fd);
	while (dir && (entry = readdir(dir))) {
		if (is_ours(entry->d_name, &length) && !has_note(&list, entry->d_name, length))
			(void)tree_remove(dir_fd, entry->d_name);
	}
	if (dir)
		closedir(dir);
	flight_list_fini(&list);
}

/* The oldest one that may go while they take too much; NULL = none. Free it with free(). */
static char *find_surplus(int dir_fd, uint64_t most_bytes, uint64_t more_bytes, const char *but)
{
	struct flight_list list;
	uint64_t bytes = more_bytes;
	char *name = NULL;

	if (flight_store_list(dir_fd, &list) < 0)
		return NULL;
	for (size_t i = 0; i < list.count; i++)
		bytes += list.rows[i].bytes;
	for (size_t i = 0; i < list.count && bytes > most_bytes && !name; i++) {
		if (!but || strcmp(list.rows[i].name, but) != 0)
			name = xstrdup(list.rows[i].name);
	}
	flight_list_fini(&list);
	return name;
}

/* What a removed one had shared counts for those that are left: they are counted anew. */
size_t flight_store_bound(int dir_fd, uint64_t most_bytes, uint64_t more_bytes, const char *but)
{
	AUTO_FREE char *last = NULL;
	size_t removed = 0;
	char *name;

	while ((name = find_surplus(dir_fd, most_bytes, more_bytes, but))) {
		bool stays = last && strcmp(name, last) == 0; /* it cannot be removed */

		free(last);
		last = name;
		if (stays)
			break;
		flight_store_remove(dir_fd, name);
		removed++;
	}
	return removed;
}
