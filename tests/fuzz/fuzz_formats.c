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
#include "read/event_filter.h"
#include "read/format_text.h"
#include "read/kernel_events.h"
#include "read/pages.h"
#include "store/formats.h"

#define RECORD_BYTES 64

/* libtraceevent 1.7 leaks when it refuses an expression; that is not ours to find. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static int filter_new(const char *text, const struct formats *formats,
		      struct event_filter **out_filter)
{
	struct err err;
	int rc;

	if (__lsan_disable)
		__lsan_disable();
	rc = event_filter_new(text, formats, false, 8, out_filter, &err);
	if (__lsan_enable)
		__lsan_enable();
	return rc;
}

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

static void filter_all(const struct formats *formats, const uint8_t *tail)
{
	struct event_filter *filter;

	for (size_t i = 0; i < formats->count && i < 4; i++) {
		const char *slash = strchr(formats->sections[i].name, '/');
		const char *cursor = formats->sections[i].text;
		struct format_field field;
		char text[128];

		while (slash && format_text_next(&cursor, &field)) {
			snprintf(text, sizeof(text), "%.60s:%.*s == 1", slash + 1,
				 (int)(field.name_bytes < 40 ? field.name_bytes : 40), field.name);
			if (filter_new(text, formats, &filter) < 0)
				continue;
			(void)event_filter_match(filter, tail, RECORD_BYTES);
			event_filter_free(filter);
			break;
		}
	}
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
	filter_all(&formats, data + bytes - RECORD_BYTES);
	formats_fini(&formats);
	return 0;
}
