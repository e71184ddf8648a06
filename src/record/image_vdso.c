/* image_vdso.c - see image_vdso.h. */
#include "record/image_vdso.h"

#include <elf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/mem.h"

#define VDSO_BYTES (64u << 10) /* at most */

/* Page by page: write() stops at the first one that is not there. */
static void copy_pages(int fd, const uint8_t *code, size_t page)
{
	for (size_t at = 0; at < VDSO_BYTES; at += page) {
		if (pwrite(fd, code + at, page, (off_t)at) != (ssize_t)page)
			break;
	}
}

int image_vdso(void)
{
	const uint8_t *code = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	long page = sysconf(_SC_PAGESIZE);
	int fd = code ? memfd_create("vdso", MFD_CLOEXEC) : -1;

	if (fd >= 0)
		copy_pages(fd, code, (size_t)page);
	return fd;
}

#if defined(__x86_64__)

#define MAP_VDSO_32 0x2002     /* of arch_prctl(): asm/prctl.h of old headers does not have it */
#define KERNEL_MAPS 8	       /* the code, and what it reads */
#define ROOM	    (1u << 20) /* of addresses */
#define PAGE	    4096u

struct kernel_map {
	uint64_t start, end;
};

/* Where this process has what the kernel gave it. */
static size_t kernel_maps(struct kernel_map *out_maps)
{
	AUTO_FILE FILE *maps = fopen("/proc/self/maps", "re");
	char line[8192], name[16];
	size_t count = 0;

	while (maps && count < KERNEL_MAPS && fgets(line, sizeof(line), maps)) {
		struct kernel_map *map = &out_maps[count];

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %15s", &map->start,
			   &map->end, name) == 3 &&
		    (strcmp(name, "[vdso]") == 0 || strncmp(name, "[vvar", 5) == 0))
			count++;
	}
	return count;
}

static bool is_386(int fd)
{
	Elf32_Ehdr head;

	return pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	       memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS32 &&
	       head.e_machine == EM_386;
}

/* In a child: the kernel gives this code to who has none. It calls nothing that would need its own. */
static _Noreturn void take_vdso_32(int fd, const struct kernel_map *maps, size_t count)
{
	uint8_t *room = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < count; i++)
		(void)munmap((void *)(uintptr_t)maps[i].start, maps[i].end - maps[i].start);
	if (room == MAP_FAILED || munmap(room, ROOM) < 0 ||
	    syscall(SYS_arch_prctl, MAP_VDSO_32, room) < 0)
		_exit(1);
	/* What it reads lies before it. */
	for (size_t at = 0; at < ROOM; at += PAGE) {
		if (pwrite(fd, room + at, PAGE, 0) != PAGE || !is_386(fd))
			continue;
		copy_pages(fd, room + at, PAGE);
		_exit(0);
	}
	_exit(1);
}

int image_vdso_32(void)
{
	struct kernel_map maps[KERNEL_MAPS];
	size_t count = kernel_maps(maps);
	int fd = memfd_create("vdso32", MFD_CLOEXEC);
	pid_t child;

	if (fd < 0)
		return -1;
	child = fork();
	if (child == 0)
		take_vdso_32(fd, maps, count);
	if (child > 0 && child_await(child) == 0 && is_386(fd))
		return fd;
	close(fd);
	return -1;
}

#else

int image_vdso_32(void)
{
	return -1;
}

#endif
