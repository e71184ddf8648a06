/* fuzz_jit_names.c - what a runtime wrote of its code: a perf map, or after the byte 'd' a jitdump. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/jit_names.h"

static void ask(struct jit_names *names, uint64_t address)
{
	struct jit_name name;
	bool is_there = jit_names_has(names, address);

	assert(jit_names_find(names, address, &name) == is_there);
	if (!is_there)
		return;
	assert(name.function && name.whole && strlen(name.function) <= strlen(name.whole) + 16);
	assert(!name.file || strlen(name.file) <= strlen(name.whole));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static int fd = -1;
	struct jit_names *names = jit_names_new();
	bool is_dump = bytes && data[0] == 'd';

	if (fd < 0)
		fd = memfd_create("fuzz-jit", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) < 0 ||
	    pwrite(fd, data + is_dump, bytes - is_dump, 0) != (ssize_t)(bytes - is_dump))
		abort();
	if (is_dump)
		jit_names_read_dump(names, fd);
	else
		jit_names_read_map(names, fd);
	for (uint64_t address = 0; address < 0x8000; address += 0x10)
		ask(names, address);
	ask(names, UINT64_MAX);
	jit_names_free(names);
	return 0;
}
