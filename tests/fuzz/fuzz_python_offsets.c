/* fuzz_python_offsets.c - what CPython publishes of its layout: the bytes of it, of the version that stands in them. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "symbol/python_offsets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct python_offsets offsets;
	uint64_t version = 0;

	if (bytes >= 2 * sizeof(version))
		memcpy(&version, data + sizeof(version), sizeof(version));
	if (python_offsets_read(data, bytes, version, &offsets) != PYTHON_OFFSETS_KNOWN)
		return 0;
	assert(offsets.thread_next < offsets.thread_frame &&
	       offsets.thread_frame < offsets.thread_self);
	assert(offsets.thread_number < PYTHON_OFFSETS_MAX);
	assert(offsets.frame_instruction < offsets.frame_owner &&
	       offsets.frame_owner < offsets.frame_locals);
	assert(offsets.frame_locals < PYTHON_OFFSETS_MAX);
	assert(offsets.code_line < offsets.code_file && offsets.code_table < offsets.code_start);
	assert(offsets.code_start < PYTHON_OFFSETS_MAX);
	return 0;
}
