/* parts.c - go through the files of a trace directory, and compare them with the manifest. */
#include "store/parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "event/facts.h"
#include "store/manifest.h"

#define MAX_DEPTH 4 /* user/pidPID/PROGRAM-PID/FILE */

/* Names that begin with a dot are not whole yet; a ring's length stands with its CPU. */
static int is_part(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' &&
	       (length < 5 || strcmp(entry->d_name + length - 5, ".ring") != 0);
}

static void note_folder(struct manifest *manifest, int dir_fd, const char *name, const char *path,
			int depth);

static void note_entry(struct manifest *manifest, int folder_fd, const char *name, const char *path,
		       int depth)
{
	struct stat st;

	if (manifest->file_count >= PARTS_MAX ||
	    fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISDIR(st.st_mode))
		note_folder(manifest, folder_fd, name, path, depth + 1);
	else if (S_ISREG(st.st_mode))
		manifest_add_file(manifest, path, (uint64_t)st.st_size);
}

static void note_folder(struct manifest *manifest, int dir_fd, const char *name, const char *path,
			int depth)
{
	AUTO_CLOSE int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent **entries = NULL;
	int count =
		fd < 0 || depth > MAX_DEPTH ? 0 : scandirat(fd, ".", &entries, is_part, alphasort);

	for (int i = 0; i < count; i++) {
		AUTO_FREE char *inside = xasprintf("%s/%s", path, entries[i]->d_name);

		note_entry(manifest, fd, entries[i]->d_name, inside, depth);
		free(entries[i]);
	}
	free(entries);
}

void parts_note(struct manifest *manifest, int dir_fd)
{
	static const char *const folders[] = { "kernel", "user" };

	manifest_forget_files(manifest);
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		note_folder(manifest, dir_fd, folders[i], folders[i], 1);
}

/* The manifest may say anything: a path leads to a place below the trace, or is not looked at. */
static bool stays_inside(const char *path)
{
	return path[0] && path[0] != '/' && strncmp(path, "../", 3) != 0 && !strstr(path, "/../");
}

void parts_check(const struct manifest *manifest, const char *dir, struct facts *facts)
{
	AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; fd >= 0 && i < manifest->file_count; i++) {
		const struct manifest_file *file = &manifest->files[i];
		struct stat st;

		if (!stays_inside(file->name))
			facts_note_damage(facts, "%s: \"files\" names %s", MANIFEST_FILE,
					  file->name);
		else if (fstatat(fd, file->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			facts_note_damage(facts, "%s: missing", file->name);
		else if (S_ISREG(st.st_mode) && (uint64_t)st.st_size < file->bytes)
			facts_note_damage(facts, "%s: cut, %llu of %llu bytes are there",
					  file->name, (unsigned long long)st.st_size,
					  (unsigned long long)file->bytes);
	}
}
