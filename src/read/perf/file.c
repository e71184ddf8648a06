/* file.c - header, attributes and features of a perf.data file. */
#include "read/perf/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "event/facts.h"
#include "read/perf/features.h"
#include "store/file.h"

#define SECTION_MAX (256u << 20)
#define FEATURES_AT 72u /* in the header: 256 bits */
#define MAX_PARTS   1024u

/* ------------------------------------------------------------------ pieces */

size_t perf_file_add(struct perf_file *file, struct perf_bytes part)
{
	file->parts =
		vec_room(file->parts, file->part_count, &file->part_cap, sizeof(*file->parts));
	file->parts[file->part_count++] = part;
	return file->part_count - 1;
}

void perf_file_fini(struct perf_file *file)
{
	for (size_t i = 0; i < file->part_count; i++) {
		mem_close_fd(&file->parts[i].fd);
		free(file->parts[i].name);
	}
	free(file->parts);
	perf_attrs_fini(&file->attrs);
	formats_fini(&file->formats);
	formats_fini(&file->pmus);
	formats_fini(&file->build_ids);
	for (size_t i = 0; i < file->word_count; i++)
		free(file->words[i]);
	free(file->words);
}

static bool has_magic(int fd, bool *out_swap, bool *out_old)
{
	uint8_t head[8];
	uint64_t magic;

	if (file_read_at(fd, 0, head, sizeof(head)) != sizeof(head))
		return false;
	magic = perf_u64(head, false);
	*out_swap = magic == __builtin_bswap64(PERF_MAGIC);
	*out_old = magic == PERF_MAGIC_OLD || magic == __builtin_bswap64(PERF_MAGIC_OLD);
	return *out_swap || *out_old || magic == PERF_MAGIC;
}

/*
 * Version 1, until 2012: the magic is the same in either byte order. What tells it is the length
 * of a stream's header, or that of an attribute with the place of its ids, which grew over time.
 */
static bool old_order(int fd, bool *out_swap)
{
	static const uint32_t attr_bytes[] = { 64, 72, 80, 96, 104, 112, 120, 128, 136 };
	uint8_t head[24];
	size_t got = file_read_at(fd, 0, head, sizeof(head));

	for (int swap = 0; swap < 2; swap++) {
		*out_swap = swap;
		if (got >= PERF_PIPE_HEADER && perf_u64(head + 8, swap) == PERF_PIPE_HEADER)
			return true;
		for (size_t i = 0; got == sizeof(head) && i < ARRAY_LEN(attr_bytes); i++) {
			if (perf_u64(head + 16, swap) == attr_bytes[i] + 16)
				return true;
		}
	}
	return false;
}

/* The file itself, or that of the folder. Free it. */
static char *main_path(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return xasprintf("%s/data", path);
	return xstrdup(path);
}

bool perf_file_matches(const char *path)
{
	AUTO_FREE char *file = main_path(path);
	uint64_t bytes;
	AUTO_CLOSE int fd = file_open(file, &bytes, NULL);
	bool swap, old;

	return fd >= 0 && has_magic(fd, &swap, &old);
}

/* ------------------------------------------------------------------ sections */

struct section {
	uint64_t offset, bytes;
};

static struct section section_at(const uint8_t *at, bool swap)
{
	return (struct section){ perf_u64(at, swap), perf_u64(at + 8, swap) };
}

static bool is_behind(struct section section, uint64_t size)
{
	return section.offset > size || section.bytes > size - section.offset;
}

/* The bytes of a section, or NULL with the reason. Free it. */
static uint8_t *perf_file_read_section(const struct perf_file *file, struct section section,
				       uint64_t size, const char **out_wrong)
{
	uint8_t *data;

	if (is_behind(section, size)) {
		*out_wrong = "it is after the end of the file";
		return NULL;
	}
	if (section.bytes > SECTION_MAX) {
		*out_wrong = "it is larger than 256 MiB";
		return NULL;
	}
	data = xmalloc(section.bytes + 1);
	if (file_read_at(file->parts[0].fd, section.offset, data, section.bytes) == section.bytes)
		return data;
	free(data);
	*out_wrong = "it cannot be read";
	return NULL;
}

bool perf_file_attr(struct perf_file *file, const uint8_t *data, size_t bytes)
{
	size_t told = bytes >= PERF_ATTR_MIN_BYTES ? perf_u32(data + 4, file->swap) : 0;

	if (told < PERF_ATTR_MIN_BYTES)
		told = PERF_ATTR_MIN_BYTES;
	if (told > bytes || !perf_attrs_add(&file->attrs, data, told))
		return false;
	for (size_t at = told; bytes - at >= 8; at += 8)
		perf_attrs_add_id(&file->attrs, perf_u64(data + at, file->swap),
				  file->attrs.count - 1);
	return true;
}

/* All ids together are part of the file: no more than 'left' bytes. */
static void read_ids(struct perf_file *file, struct section ids, uint64_t size, uint64_t *left)
{
	size_t index = file->attrs.count - 1;
	const char *wrong = NULL;
	AUTO_FREE uint8_t *data = NULL;

	if (ids.bytes <= *left)
		data = perf_file_read_section(file, ids, size, &wrong);
	else
		wrong = "they are more than the file has";
	if (!data) {
		facts_note_damage(file->facts, "the ids of event %zu: %s", index, wrong);
		return;
	}
	*left -= ids.bytes;
	for (size_t at = 0; ids.bytes - at >= 8; at += 8)
		perf_attrs_add_id(&file->attrs, perf_u64(data + at, file->swap), index);
}

/* Attributes of a file, each with the place of its ids. */
static int read_attrs(struct perf_file *file, struct section attrs, uint64_t each, uint64_t size,
		      struct err *err)
{
	const char *wrong = NULL;
	AUTO_FREE uint8_t *data = perf_file_read_section(file, attrs, size, &wrong);
	uint64_t left = size;

	if (!data)
		return err_set(err, -EBADMSG, "the attributes of its events: %s", wrong);
	if (each < PERF_ATTR_MIN_BYTES + 16 || each > 65536)
		return err_set(
			err, -EBADMSG,
			"its header says that an attribute has %llu bytes, but it has at least %u",
			(unsigned long long)each, PERF_ATTR_MIN_BYTES + 16);
	for (uint64_t at = 0; attrs.bytes - at >= each; at += each) {
		if (!perf_attrs_add(&file->attrs, data + at, each - 16))
			return err_set(err, -EBADMSG, "it has more than %u events", PERF_MAX_ATTRS);
		read_ids(file, section_at(data + at + each - 16, file->swap), size, &left);
	}
	return 0;
}

/* The first of them says where the file ends: those behind it are gone, too. */
static void say_cut_section(struct perf_file *file, uint32_t number)
{
	const char *name = perf_feature_name(number);

	if (name)
		facts_note_damage(file->facts, "its section %s: it is after the end of the file",
				  name);
	else if (!file->lacks_features)
		facts_note_damage(file->facts, "its section %u is after the end of the file",
				  number);
	file->lacks_features = true;
}

static void read_feature(struct perf_file *file, uint32_t number, struct section section,
			 uint64_t size)
{
	const char *wrong = NULL;
	AUTO_FREE uint8_t *data = NULL;

	if (!perf_feature_name(number))
		return; /* nothing that is wanted */
	data = perf_file_read_section(file, section, size, &wrong);
	if (data)
		perf_feature_read(file, number, data, section.bytes);
	else
		facts_note_damage(file->facts, "its section %s: %s", perf_feature_name(number),
				  wrong);
}

/* Word 'index' of the bitmap: of two longs where the recording machine had such of 32 bits. */
static uint64_t bitmap_word(const uint8_t *head, uint32_t index, bool swap, bool halves)
{
	const uint8_t *at = head + FEATURES_AT + index * 8;

	return halves ? perf_u32(at, swap) | (uint64_t)perf_u32(at + 4, swap) << 32
		      : perf_u64(at, swap);
}

/* Every perf tells the name of its host. */
static bool has_halves(const uint8_t *head, bool swap)
{
	uint64_t host = UINT64_C(1) << PERF_FEATURE_HOSTNAME;

	return swap && !(bitmap_word(head, 0, swap, false) & host) &&
	       (bitmap_word(head, 0, swap, true) & host);
}

/* Behind the records is a list of sections, one for each bit of the header. */
static void read_features(struct perf_file *file, const uint8_t *head, uint64_t size)
{
	bool halves = has_halves(head, file->swap);
	uint64_t at = file->parts[0].end;
	uint8_t entry[16];

	for (uint32_t number = 0; number < PERF_FEATURE_COUNT; number++) {
		uint64_t word = bitmap_word(head, number / 64, file->swap, halves);

		if (!(word >> number % 64 & 1))
			continue;
		if (file_read_at(file->parts[0].fd, at, entry, sizeof(entry)) != sizeof(entry)) {
			file->lacks_features = true;
			facts_note_damage(file->facts, "it ends in the list of its sections");
			return;
		}
		at += sizeof(entry);
		if (is_behind(section_at(entry, file->swap), size)) {
			say_cut_section(file, number);
			continue;
		}
		read_feature(file, number, section_at(entry, file->swap), size);
	}
}

static int perf_map_file(struct perf_file *file, uint64_t size, struct err *err)
{
	uint8_t head[PERF_FILE_HEADER];
	struct perf_bytes *part = &file->parts[0];
	struct section data;
	int rc;

	if (file_read_at(part->fd, 0, head, sizeof(head)) != sizeof(head))
		return err_set(err, -EBADMSG, "it ends in its header");
	data = section_at(head + 40, file->swap);
	rc = read_attrs(file, section_at(head + 24, file->swap), perf_u64(head + 16, file->swap),
			size, err);
	if (rc < 0)
		return rc;
	if (data.offset > size)
		return err_set(err, -EBADMSG, "its records begin at byte %llu, after its end",
			       (unsigned long long)data.offset);
	part->begin = data.offset;
	part->end = size;
	if (data.bytes == 0) {
		file->is_cut = true; /* written when perf ends */
		facts_note_damage(file->facts, "perf did not finish the file: it has only records");
		return 0;
	}
	if (data.bytes > size - data.offset) {
		file->is_cut = true;
		facts_note_damage(file->facts,
				  "it ends at byte %llu, %llu bytes before the end of its records",
				  (unsigned long long)size,
				  (unsigned long long)(data.bytes - (size - data.offset)));
		return 0;
	}
	part->end = data.offset + data.bytes;
	/* The first header had no features. */
	if (perf_u64(head + 8, file->swap) > FEATURES_AT)
		read_features(file, head, size);
	return 0;
}

/* One more than the highest N of the folder's data.N. */
static uint32_t count_others(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	uint32_t count = 0;

	while (dir && (entry = readdir(dir))) {
		unsigned int number;
		char rest;

		if (sscanf(entry->d_name, "data.%9u%c", &number, &rest) == 1 && number >= count)
			count = number + 1;
	}
	if (dir)
		closedir(dir);
	return count;
}

/* The other files of a folder: records only. Nothing else tells how many there were. */
static void open_others(struct perf_file *file, const char *path)
{
	AUTO_FREE char *symbols = xasprintf("%s/kcore_dir/kallsyms", path);
	uint32_t count = count_others(path);
	char *text;
	uint64_t size;
	size_t bytes;

	if (count == 0)
		facts_note_damage(file->facts, "the folder has no file data.0: the records of each "
					       "CPU are missing");
	if (count > MAX_PARTS) {
		facts_note_damage(file->facts, "the folder has a file data.%u: only %u are read",
				  count - 1, MAX_PARTS);
		count = MAX_PARTS;
	}
	for (uint32_t i = 0; i < count; i++) {
		AUTO_FREE char *name = xasprintf("%s/data.%u", path, i);
		struct err err = { 0 };
		int fd = file_open(name, &size, &err);

		if (fd < 0)
			facts_note_damage(file->facts, "data.%u, with all its records: %s", i,
					  err.text);
		else
			perf_file_add(file, (struct perf_bytes){ .fd = fd,
								 .name = xasprintf("data.%u", i),
								 .end = size });
	}
	if (file_read(symbols, SECTION_MAX, &text, &bytes, NULL) == 0)
		perf_symbols_add(text, file->facts);
}

int perf_file_open(const char *path, struct perf_file *file, struct facts *facts, struct err *err)
{
	AUTO_FREE char *name = main_path(path);
	bool old = false;
	uint8_t head[PERF_PIPE_HEADER];
	uint64_t size;
	int fd, rc;

	file->facts = facts;
	file->clockid = -1;
	file->tracing.long_bytes = 8;
	fd = file_open(name, &size, err);
	if (fd < 0)
		return fd;
	perf_file_add(file, (struct perf_bytes){ .fd = fd, .name = xstrdup("the file") });
	if (!has_magic(fd, &file->swap, &old))
		return err_set(err, -EBADMSG, "it does not begin as a perf.data file does");
	if (old && !old_order(fd, &file->swap))
		return err_set(err, -EBADMSG,
			       "the file has version 1 (PERFFILE), and its byte order is unknown");
	if (file_read_at(fd, 0, head, sizeof(head)) != sizeof(head))
		return err_set(err, -EBADMSG, "it ends in its header");
	file->attrs.swap = file->swap;
	file->tracing.big_endian = file->swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	file->is_pipe = perf_u64(head + 8, file->swap) == PERF_PIPE_HEADER;
	if (file->is_pipe) {
		file->parts[0].begin = PERF_PIPE_HEADER;
		file->parts[0].end = size;
		return 0;
	}
	rc = perf_map_file(file, size, err);
	if (rc == 0 && strcmp(name, path) != 0)
		open_others(file, path);
	return rc;
}
