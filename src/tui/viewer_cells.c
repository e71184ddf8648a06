/* viewer_cells.c - a lane as characters, and moments as words. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "tui/viewer_draw.h"
#include "tui/viewer_model.h"

/* Work is dark, waits are letters, what was asked for is light. */
static const struct {
	const char *glyph, *ascii;
} glyphs[LANE_STATE_COUNT] = {
	[LANE_OWN] = { "█", "#" },	 [LANE_KERNEL] = { "▓", "%" },
	[LANE_IRQ] = { "i", "i" },	 [LANE_QUEUE] = { "▒", "=" },
	[LANE_LOCK] = { "L", "L" },	 [LANE_DISK] = { "D", "D" },
	[LANE_NETWORK] = { "N", "N" },	 [LANE_THREAD] = { "T", "T" },
	[LANE_OTHER] = { "O", "O" },	 [LANE_SLEEP] = { "z", "z" },
	[LANE_IDLE] = { "·", "." },	 [LANE_STOP] = { "S", "S" },
	[LANE_UNENDED] = { "u", "u" },	 [LANE_STILL] = { "W", "W" },
	[LANE_UNCERTAIN] = { "░", "?" }, [LANE_TARGET] = { "■", "@" },
	[LANE_PROGRAM] = { "□", "o" },	 [LANE_SYSTEM] = { "▪", "k" },
	[LANE_BUSY] = { "▬", "b" },	 [LANE_FREE] = { "─", "-" },
	[LANE_ABSENT] = { " ", " " },
};

const char *viewer_glyph(enum lane_state state, bool ascii)
{
	return ascii ? glyphs[state].ascii : glyphs[state].glyph;
}

static void take_columns(void *context, uint32_t first, uint32_t count,
			 const struct lane_shares *shares)
{
	struct viewer_cell *cells = context, cell = { LANE_ABSENT, 0 };
	uint64_t sum = 0;
	size_t most = 0;

	for (size_t i = 0; i < LANE_ABSENT; i++) { /* who lived at all is seen */
		sum += shares->ns[i];
		most = shares->ns[i] > shares->ns[most] ? i : most;
	}
	if (sum)
		cell = (struct viewer_cell){
			(uint8_t)most,
			(uint8_t)((unsigned __int128)shares->ns[most] * 100 / sum),
		};
	else if (first && !shares->ns[LANE_ABSENT]) /* shorter than a ns: it is as the one before */
		cell = cells[first - 1];
	for (uint32_t i = first; i < first + count; i++)
		cells[i] = cell;
}

void viewer_cells(const struct viewer *viewer, struct view_lane lane, struct viewer_cell *out_cells,
		  struct lane_shares *out_sum)
{
	struct lane_window window = viewer_window(viewer);

	window.each = take_columns;
	window.context = out_cells;
	view_lane_columns(viewer->view, lane, &window, out_sum);
}

struct text viewer_moment(const struct viewer *viewer, uint64_t time_ns, uint64_t fine_ns)
{
	uint64_t ns = time_ns - viewer->timeline->origin_ns, place = 1;
	int digits = 9;
	struct text text;

	while (digits > 0 && place <= fine_ns / 10) {
		place *= 10;
		digits--;
	}
	ns = (ns + place / 2) / place;
	place = 1000000000 / place;
	snprintf(text.s, sizeof(text.s), digits ? "+%" PRIu64 ".%0*" PRIu64 " s" : "+%" PRIu64 " s",
		 ns / place, digits, ns % place);
	return text;
}
