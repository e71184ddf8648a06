/* bpf_parts.c - see bpf_parts.h. */
#include "record/bpf_parts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

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

void bpf_parts_iterate(int link_fd)
{
	int fd = link_fd < 0 ? -1 : bpf_iter_create(link_fd);
	char none[64];

	while (fd >= 0 && read(fd, none, sizeof(none)) > 0)
		;
	mem_close_fd(&fd);
}
