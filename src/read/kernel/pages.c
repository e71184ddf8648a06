/* pages.c - the header of a page, laid out as the kernel's header_page text says. */
#include "read/kernel/pages.h"

#include <errno.h>

#include "base/err.h"
#include "read/format_text.h"

#define COMMIT_MASK ((1u << 27) - 1) /* the bits above are flags */

static uint64_t kernel_pages_number_at(const uint8_t *at, uint32_t bytes, bool big_endian)
{
	uint64_t number = 0;

	for (uint32_t i = 0; i < bytes; i++)
		number = number << 8 | at[big_endian ? i : bytes - 1 - i];
	return number;
}

/* What every kernel so far has: a 64-bit time stamp, then a long. */
static void layout_default(struct page_layout *layout)
{
	layout->time_offset = 0;
	layout->commit_offset = 8;
	layout->commit_bytes = layout->long_bytes;
	layout->data_offset = 8 + layout->long_bytes;
}

static int layout_from_text(struct page_layout *layout, const char *text, struct err *err)
{
	struct format_field time, commit, data;

	if (!format_text_field(text, "timestamp", &time) || time.bytes != 8 ||
	    !format_text_field(text, "commit", &commit) ||
	    (commit.bytes != 4 && commit.bytes != 8) || !format_text_field(text, "data", &data))
		return err_set(err, -EBADMSG, "header_page lacks timestamp, commit or data");
	if (time.offset > PAGE_HEADER_BYTES - 8 || commit.offset > PAGE_HEADER_BYTES - 8 ||
	    data.offset > PAGE_HEADER_BYTES || data.offset % 4)
		return err_set(err, -EBADMSG, "header_page has impossible offsets");
	layout->time_offset = time.offset;
	layout->commit_offset = commit.offset;
	layout->commit_bytes = commit.bytes;
	layout->data_offset = data.offset;
	return 0;
}

int page_layout_init(struct page_layout *out_layout, const char *header_page, uint32_t page_bytes,
		     uint32_t long_bytes, bool big_endian, struct err *err)
{
	struct page_layout layout = {
		.page_bytes = page_bytes,
		.long_bytes = long_bytes,
		.big_endian = big_endian,
	};
	int rc = 0;

	if (page_bytes <= PAGE_HEADER_BYTES || (long_bytes != 4 && long_bytes != 8))
		return err_set(err, -EBADMSG, "pages of %u bytes are too short", page_bytes);
	if (header_page)
		rc = layout_from_text(&layout, header_page, err);
	else
		layout_default(&layout);
	if (rc == 0)
		*out_layout = layout;
	return rc;
}

static bool header_at(const struct page_layout *layout, const uint8_t *bytes, struct page *out_page,
		      bool *out_stored)
{
	/* The flags stand in the low 32 bits, however long the field is. */
	uint32_t commit = (uint32_t)kernel_pages_number_at(
		bytes + layout->commit_offset, layout->commit_bytes, layout->big_endian);

	*out_page = (struct page){
		.time = kernel_pages_number_at(bytes + layout->time_offset, 8, layout->big_endian),
		.bytes = commit & COMMIT_MASK,
		.lost = commit & WIRE_PAGE_LOST,
	};
	*out_stored = out_page->lost && (commit & WIRE_PAGE_LOST_STORED);
	return out_page->bytes <= layout->page_bytes - layout->data_offset;
}

bool page_peek(const struct page_layout *layout, const uint8_t *bytes, struct page *out_page)
{
	bool stored;

	return header_at(layout, bytes, out_page, &stored);
}

bool page_open(const struct page_layout *layout, const uint8_t *bytes, struct page *out_page)
{
	uint32_t behind;
	bool stored;

	if (!header_at(layout, bytes, out_page, &stored))
		return false;
	out_page->data = bytes + layout->data_offset;
	/* The kernel stores the number behind the data when there is room. */
	behind = layout->page_bytes - layout->data_offset - out_page->bytes;
	if (stored && behind >= layout->long_bytes)
		out_page->lost_count = kernel_pages_number_at(
			out_page->data + out_page->bytes, layout->long_bytes, layout->big_endian);
	if (out_page->lost_count >> (8 * layout->long_bytes - 1))
		out_page->lost_count = 0; /* -1: the kernel does not know */
	return true;
}
