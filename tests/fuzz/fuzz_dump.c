/* fuzz_dump.c - any bytes as a state dump: no crash, and strings that are whole. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "store/dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* What was read can be written, and every row is in range. */
static void check(const struct facts *facts)
{
	AUTO_FILE FILE *out = fopen("/dev/null", "w");

	for (size_t i = 0; out && i < facts->thread_count; i++)
		dump_print_thread(out, &facts->threads[i]);
	for (size_t i = 0; out && i < facts->fd_count; i++) {
		if (fd_role_of(facts->fds[i].role) != facts->fds[i].role || facts->fds[i].fd < 0)
			abort();
		if (i && facts->fds[i].tgid < facts->fds[i - 1].tgid)
			abort();
		dump_print_fd(out, &facts->fds[i]);
	}
	for (size_t i = 0; out && i < facts->irq_count; i++)
		dump_print_irq(out, &facts->irqs[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct facts facts = { 0 };
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/holdup-fuzz-dump-%d", (int)getpid());
	file = fopen(path, "w");
	if (!file)
		return 0;
	fwrite(data, 1, bytes, file);
	fclose(file);
	if (dump_read(path, &facts, NULL) == 0)
		check(&facts);
	facts_fini(&facts);
	unlink(path);
	return 0;
}
