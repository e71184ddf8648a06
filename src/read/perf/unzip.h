/*
 * unzip.h - compressed records of a perf.data file, unpacked once to a file without a name.
 *
 * One stream of zstd goes through all of them, with what stood before as its dictionary: there is
 * no way to begin in the middle, and records lie across its pieces. Unpacked, they can be read
 * from anywhere. The file is where $TMPDIR says, else in /var/tmp, else in /tmp.
 */
#ifndef READ_PERF_UNZIP_H
#define READ_PERF_UNZIP_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct perf_unzip;

struct perf_unzip *perf_unzip_new(uint64_t max_bytes);
void perf_unzip_free(struct perf_unzip *unzip);

/*
 * Unpack one piece. As bytes come out, 'take' is given what is there from 'offset' of the new
 * file on; it returns how many bytes it is done with, and gets the others again with more behind
 * them. Returns 0 or a negative errno with err filled.
 */
typedef size_t perf_unzip_fn(void *context, const uint8_t *data, size_t bytes, uint64_t offset);
int perf_unzip_feed(struct perf_unzip *unzip, const uint8_t *data, size_t bytes,
		    perf_unzip_fn *take, void *context, struct err *err);

/* The new file, which is the caller's from now on, and its length. -1 = nothing came out. */
int perf_unzip_end(struct perf_unzip *unzip, uint64_t *out_bytes, size_t *out_left);

#endif
