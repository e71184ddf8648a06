/*
 * fuzz_go_layout.c - any bytes as a Go program: where its runtime's fields and variables are.
 */
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/go_layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static int fd = -1;
	struct go_layout layout;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, bytes, 0) != (ssize_t)bytes)
		return 0;
	(void)go_layout_is_go(fd);
	(void)go_layout_read(fd, &layout);
	return 0;
}
