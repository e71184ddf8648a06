/* top_pages.h - the screens of holdup top beside the list. */
#ifndef TUI_TOP_PAGES_H
#define TUI_TOP_PAGES_H

struct grid;
struct top_view;

void top_draw_help(const struct top_view *view, struct grid *grid);

/* The menu of orders, over the list. */
void top_draw_menu(const struct top_view *view, struct grid *grid);

/* One task: what it does now, and its times over the last intervals. */
void top_draw_followed(const struct top_view *view, struct grid *grid);

#endif
