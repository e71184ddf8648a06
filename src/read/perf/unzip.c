/* unzip.c - zstd, bounded in what it may unpack. */
#include "read/perf/unzip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

#define ROOM_BYTES (512u << 10) /* more than two of the longest records */

struct perf_unzip {
	ZSTD_DStream *stream; /* owned */
	int fd;
	uint64_t written; /* bytes in the file: those before 'room' */
	uint64_t max_bytes;
	uint8_t *room; /* owned; ROOM_BYTES */
	size_t used;
};

struct perf_unzip *perf_unzip_new(uint64_t max_bytes)
{
	struct perf_unzip *unzip = xcalloc(1, sizeof(*unzip));

	unzip->fd = -1;
	unzip->max_bytes = max_bytes;
	unzip->room = xmalloc(ROOM_BYTES);
	unzip->stream = ZSTD_createDStream();
	return unzip;
}

void perf_unzip_free(struct perf_unzip *unzip)
{
	if (!unzip)
		return;
	ZSTD_freeDStream(unzip->stream);
	mem_close_fd(&unzip->fd);
	free(unzip->room);
	free(unzip);
}

static int perf_unzip_open_nameless(struct err *err)
{
	const char *const folders[] = { getenv("TMPDIR"), "/var/tmp", "/tmp" };
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < ARRAY_LEN(folders); i++) {
		AUTO_FREE char *name = NULL;

		if (!folders[i] || folders[i][0] != '/')
			continue;
		fd = open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (fd >= 0)
			break;
		name = xasprintf("%s/holdup-XXXXXX", folders[i]);
		fd = mkostemp(name, O_CLOEXEC);
		if (fd >= 0)
			(void)unlink(name); /* best effort: the name is random */
	}
	if (fd < 0)
		return err_set(err, -errno, "cannot make a file for unpacked data: %s",
			       strerror(errno));
	return fd;
}

static int perf_unzip_write_out(struct perf_unzip *unzip, size_t bytes, struct err *err)
{
	int rc;

	if (unzip->fd < 0)
		unzip->fd = perf_unzip_open_nameless(err);
	if (unzip->fd < 0)
		return unzip->fd;
	rc = file_write_at(unzip->fd, unzip->written, unzip->room, bytes);
	if (rc < 0)
		return err_set(err, -EIO, "cannot write unpacked data: %s", strerror(-rc));
	unzip->written += bytes;
	memmove(unzip->room, unzip->room + bytes, unzip->used - bytes);
	unzip->used -= bytes;
	return 0;
}

/* Give away what has come out; what is done with goes to the file. */
static int perf_unzip_hand_out(struct perf_unzip *unzip, perf_unzip_fn *take, void *context,
			       struct err *err)
{
	size_t done = take(context, unzip->room, unzip->used, unzip->written);

	if (done == 0 && unzip->used == ROOM_BYTES)
		return err_set(err, -EBADMSG, "a record is longer than any can be");
	return done ? perf_unzip_write_out(unzip, done, err) : 0;
}

int perf_unzip_feed(struct perf_unzip *unzip, const uint8_t *data, size_t bytes,
		    perf_unzip_fn *take, void *context, struct err *err)
{
	ZSTD_inBuffer in = { data, bytes, 0 };
	bool full = true;
	int rc = 0;

	if (!unzip->stream)
		return err_set(err, -ENOMEM, "zstd has no memory");
	while (rc == 0 && (in.pos < in.size || full)) {
		ZSTD_outBuffer out = { unzip->room, ROOM_BYTES, unzip->used };
		size_t before = in.pos, result = ZSTD_decompressStream(unzip->stream, &out, &in);
		size_t more = out.pos - unzip->used;

		if (ZSTD_isError(result))
			return err_set(err, -EBADMSG, "it cannot be unpacked: %s",
				       ZSTD_getErrorName(result));
		if (more == 0 && in.pos == before)
			return 0;
		full = out.pos == ROOM_BYTES;
		unzip->used = out.pos;
		if (unzip->written + unzip->used > unzip->max_bytes)
			return err_set(
				err, -EFBIG,
				"unpacked it has more than %llu bytes, which no recording has",
				(unsigned long long)unzip->max_bytes);
		rc = perf_unzip_hand_out(unzip, take, context, err);
	}
	return rc;
}

int perf_unzip_end(struct perf_unzip *unzip, uint64_t *out_bytes, size_t *out_left)
{
	int fd = unzip->fd;

	*out_bytes = unzip->written;
	*out_left = unzip->used;
	unzip->fd = -1;
	return fd;
}
