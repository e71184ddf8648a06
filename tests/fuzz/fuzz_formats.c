/*
 * fuzz_formats.c - kernel/formats, compiled, and records decoded by it.
 *
 * The input is the file; its last 64 bytes serve as a record as well.
 */
#include <stdint.h>

#include "base/err.h"
#include "event/event.h"
#include "event/facts.h"
#include "fuzz_dir.h"
#include "read/format_text.h"
#include "read/kernel/events.h"
#include "read/kernel/pages.h"
#include "store/formats.h"

#define RECORD_BYTES 64

static void decode_all(const struct formats *formats, bool big_endian, const uint8_t *tail)
{
	struct facts facts = { 0 };
	struct kernel_events *events = kernel_events_new(formats, big_endian, &facts);
	uint8_t *data = malloc(RECORD_BYTES);
	struct event event;

	for (size_t i = 0; i < formats->count; i++) {
		int32_t id = format_text_id(formats->sections[i].text);

		for (uint32_t bytes = 0; bytes <= RECORD_BYTES; bytes += 4) {
			struct record record = { data, bytes, 0 };

			memcpy(data, tail, RECORD_BYTES);
			for (int at = 0; at < 8 && id >= 0; at += 2) {
				data[at] = (uint8_t)(big_endian ? id >> 8 : id);
				data[at + 1] = (uint8_t)(big_endian ? id : id >> 8);
			}
			(void)kernel_events_decode(events, &record, &event);
		}
	}
	free(data);
	kernel_events_free(events);
	facts_fini(&facts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct formats formats;
	struct page_layout layout;
	struct err err = { 0 };
	const char *header;
	char path[128];

	if (bytes < RECORD_BYTES)
		return 0;
	fuzz_file("kernel/formats", data, bytes);
	snprintf(path, sizeof(path), "%s/kernel/formats", fuzz_dir_path());
	(void)formats_read(path, &formats, &err);
	header = formats_find(&formats, "header_page");
	(void)page_layout_init(&layout, header, 4096, 8, false, &err);
	decode_all(&formats, false, data + bytes - RECORD_BYTES);
	decode_all(&formats, true, data + bytes - RECORD_BYTES);
	formats_fini(&formats);
	return 0;
}
