/* fuzz_ctf_metadata.c - the metadata of CTF: packets or text, and what it declares. */
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "read/ctf/meta.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct ctf_meta *meta;
	struct err err = { 0 };
	size_t text_bytes;
	char *text;

	if (ctf_metadata_text(data, bytes, &text, &text_bytes, &err) < 0)
		return 0;
	if (ctf_meta_new(text, text_bytes, &meta, &err) == 0)
		ctf_meta_free(meta);
	free(text);
	return 0;
}
