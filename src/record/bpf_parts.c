/* bpf_parts.c - see bpf_parts.h. */
#include "record/bpf_parts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

static int say_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

void bpf_parts_quiet(void)
{
	(void)libbpf_set_print(say_nothing);
}

int bpf_parts_open(const char *name, const unsigned char *image, size_t bytes,
		   struct bpf_object **out_object, struct err *err)
{
	struct bpf_object_open_opts opts = { .sz = sizeof(opts), .object_name = name };
	int rc;

	bpf_parts_quiet();
	*out_object = bpf_object__open_mem(image, bytes, &opts);
	rc = (int)libbpf_get_error(*out_object);
	if (rc == 0)
		return 0;
	*out_object = NULL;
	return err_set(err, rc, "the BPF program cannot be opened: %s", strerror(-rc));
}

int bpf_parts_load(struct bpf_object *object, struct err *err)
{
	int rc = bpf_object__load(object);

	return rc ? err_set(err, rc, "the kernel rejected the BPF program: %s", strerror(-rc)) : 0;
}

void *bpf_parts_map(struct bpf_object *object, size_t bytes)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		const char *name = bpf_map__name(map);
		size_t len = strlen(name);
		void *memory;

		if (len < 4 || strcmp(name + len - 4, ".bss") != 0)
			continue;
		if (bpf_map__value_size(map) < bytes)
			return NULL;
		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
		return memory == MAP_FAILED ? NULL : memory;
	}
	return NULL;
}

void bpf_parts_each_cpu(struct bpf_object *object, const char *map)
{
	struct bpf_map *found = bpf_object__find_map_by_name(object, map);
	int cpus = libbpf_num_possible_cpus();

	if (found && cpus > 0)
		(void)bpf_map__set_max_entries(found, (__u32)cpus); /* else CPU 0 alone has one */
}

void bpf_parts_size(struct bpf_object *object, const char *map, uint64_t want, uint32_t least,
		    uint32_t most)
{
	struct bpf_map *found = bpf_object__find_map_by_name(object, map);
	uint32_t size = least;

	while (size < most && size * UINT64_C(2) <= want)
		size *= 2;
	if (found)
		(void)bpf_map__set_max_entries(found, size);
}

void bpf_parts_iterate(int link_fd)
{
	int fd = link_fd < 0 ? -1 : bpf_iter_create(link_fd);
	char none[64];

	while (fd >= 0 && read(fd, none, sizeof(none)) > 0)
		;
	mem_close_fd(&fd);
}

/* Of the map or program behind a descriptor of ours; 0 where it is another thing. */
static uint64_t part_memory(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	AUTO_FILE FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	uint64_t bytes = 0;
	char line[128];

	if (!file)
		mem_close_fd(&fd);
	while (file && fgets(line, sizeof(line), file))
		(void)sscanf(line, "memlock: %" SCNu64, &bytes); /* 0, else */
	return bytes;
}

uint64_t bpf_parts_memory(void)
{
	DIR *dir = opendir("/proc/self/fdinfo");
	struct dirent *entry;
	uint64_t bytes = 0;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			bytes += part_memory(dirfd(dir), entry->d_name);
	}
	if (dir)
		closedir(dir);
	return bytes;
}
