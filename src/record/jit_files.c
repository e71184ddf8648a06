/* jit_files.c - see jit_files.h. */
#include "record/jit_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"

#define OPEN_MAX_FILES 256u
#define AGAIN_NS       UINT64_C(50000000)

/* What the kernel says of a process. */
struct jit_process {
	uid_t uid;	    /* whose rights it opens files with */
	int32_t own_number; /* by which it knows itself */
};

struct jit_file {
	int fd;	  /* -1 = not there yet */
	int root; /* of the process, as long as its file is not there; -1 = not open */
	struct jit_process process;
	int64_t since_s; /* of the day: it was looked for first */
	uint64_t looked_ns;
};

struct jit_files {
	struct map index;	       /* tgid -> index */
	struct jit_file *files;	       /* owned */
	size_t count, cap, open_count; /* files and roots that are open */
};

struct jit_files *jit_files_new(void)
{
	return xcalloc(1, sizeof(struct jit_files));
}

static void jit_close(struct jit_file *file)
{
	mem_close_fd(&file->fd);
	mem_close_fd(&file->root);
}

void jit_files_free(struct jit_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < files->count; i++)
		jit_close(&files->files[i]);
	map_fini(&files->index);
	free(files->files);
	free(files);
}

/*
 * The owner of /proc/PID is not asked: it is root for whatever does not let itself be dumped, and
 * a process chooses that.
 */
static bool jit_know(int32_t tgid, struct jit_process *process)
{
	AUTO_FREE char *path = xasprintf("/proc/%d/status", tgid);
	AUTO_FILE FILE *status = fopen(path, "re");
	bool has_uid = false, has_number = false;
	char line[512];

	while (status && fgets(line, sizeof(line), status)) {
		char *last = strrchr(line, '\t');

		if (!last)
			continue;
		if (strncmp(line, "Uid:", 4) == 0) {
			process->uid = (uid_t)strtoul(last, NULL, 10);
			has_uid = true;
		} else if (strncmp(line, "NSpid:", 6) == 0) {
			process->own_number = (int32_t)strtol(last, NULL, 10);
			has_number = true;
		}
	}
	return has_uid && has_number;
}

/*
 * The numbers are given by the kernel: what is asked for is never the program's word. In a namespace
 * of its own a process can put any file of the system in that place, so only its user's are read.
 */
static int jit_open(int root, const struct jit_process *process, int64_t since_s)
{
	AUTO_FREE char *name = xasprintf("tmp/perf-%d.map", process->own_number);
	const struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS,
	};
	struct stat st;
	int fd = (int)syscall(SYS_openat2, root, name, &how, sizeof(how));

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != process->uid ||
	    st.st_mtim.tv_sec < since_s) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The process is there: its root stays open, as the file may come at its end. */
static void jit_look(struct jit_files *files, struct jit_file *file, int32_t tgid)
{
	AUTO_FREE char *top = xasprintf("/proc/%d/root", tgid);
	int root = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct jit_process process = { 0 };

	if (root < 0 || !jit_know(tgid, &process)) {
		mem_close_fd(&root);
		return;
	}
	files->open_count -= file->root >= 0;
	jit_close(file);
	file->process = process;
	file->fd = jit_open(root, &process, 0);
	files->open_count++;
	if (file->fd >= 0)
		mem_close_fd(&root);
	file->root = root;
}

void jit_files_want(struct jit_files *files, int32_t tgid, uint64_t time_ns)
{
	bool is_new;
	uint64_t *index = map_add(&files->index, (uint64_t)tgid, &is_new);
	struct jit_file *file;

	if (is_new) {
		*index = files->count;
		files->files =
			vec_room(files->files, files->count, &files->cap, sizeof(*files->files));
		files->files[files->count++] = (struct jit_file){
			.fd = -1,
			.root = -1,
			.since_s = (int64_t)time(NULL),
		};
	}
	file = &files->files[*index];
	if (file->fd >= 0 || (file->root < 0 && files->open_count >= OPEN_MAX_FILES) ||
	    (file->looked_ns && time_ns - file->looked_ns < AGAIN_NS))
		return;
	file->looked_ns = time_ns;
	jit_look(files, file, tgid);
}

void jit_files_last(struct jit_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		struct jit_file *file = &files->files[i];

		if (file->fd >= 0 || file->root < 0)
			continue;
		file->fd = jit_open(file->root, &file->process, file->since_s);
		if (file->fd >= 0)
			mem_close_fd(&file->root);
	}
}

int jit_files_map(const struct jit_files *files, int32_t tgid)
{
	const uint64_t *index = map_find(&files->index, (uint64_t)tgid);

	return index ? files->files[*index].fd : -1;
}
