/* fuzz_manifest.c - trace.json: what is read can be written and read again, the same. */
#include <assert.h>
#include <stdint.h>

#include "base/err.h"
#include "fuzz_dir.h"
#include "store/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct manifest first = { 0 }, second = { 0 };
	struct err err = { 0 };
	int rc;

	fuzz_file("trace.json", data, bytes);
	rc = manifest_read(fuzz_dir_path(), &first, &err);
	if (rc < 0) {
		assert(err.text[0]);
		return 0;
	}
	assert(manifest_write(&first, fuzz_dir_path(), &err) == 0);
	assert(manifest_read(fuzz_dir_path(), &second, &err) == 0);
	assert(first.cpu_count == second.cpu_count && first.event_count == second.event_count);
	assert(first.begin_ns == second.begin_ns && first.target_tid == second.target_tid);
	manifest_fini(&first);
	manifest_fini(&second);
	return 0;
}
