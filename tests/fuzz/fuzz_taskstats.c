/* fuzz_taskstats.c - any bytes as what came out of a taskstats socket: no crash, and an end. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "accounts/message.h"

#define FAMILY 31 /* of the seeds */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check(const struct delays_stats *stats)
{
	if (memchr(stats->name, '\0', sizeof(stats->name)) == NULL)
		abort();
	if (stats->ranges & ~stats->classes)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct delays_message_at at = { data, bytes };
	struct delays_message message;
	struct delays_stats stats;
	struct err err = { 0 };
	size_t left = bytes + 1;

	while (delays_message_next(&at, FAMILY, &message, &err) > 0) {
		if (at.left >= left)
			abort();
		left = at.left;
		if (message.has_thread)
			check(&message.thread);
		if (message.has_process)
			check(&message.process);
	}
	if (delays_stats_decode(data, bytes, &stats, &err) == 0)
		check(&stats);
	return 0;
}
