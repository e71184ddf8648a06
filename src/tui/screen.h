/*
 * screen.h - the terminal: keys and signals in, cells out.
 *
 *	screen_open    for the whole screen; screen_close: as it was
 *	screen_show    cells; only what differs from what is shown is sent
 *	screen_wait    for a key or a signal; then screen_signals() and screen_key()
 *
 * Signals come through a descriptor, so nothing is interrupted halfway. One at a time.
 */
#ifndef TUI_SCREEN_H
#define TUI_SCREEN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct grid;

struct screen {
	int rows, columns; /* as they are now */
	bool ascii;	   /* it has no UTF-8 */
	void *terminal;	   /* owned: ncurses' */
	int signals;	   /* owned */
	sigset_t old_mask;
};

/* Where the mouse was pressed, or its wheel turned. */
struct screen_click {
	int row, column;
	int wheel; /* -1 = up, 1 = down, 0 = it was pressed */
};

#define SCREEN_NO_KEY (-1)
#define SCREEN_MOUSE  (-2)

/*
 * 'instead' is what the user may do where this is no terminal that can show it. Returns 0, or a negative errno with
 * err filled: -ENOTTY when this is no terminal, or of no known kind. screen_close() in any case.
 */
int screen_open(struct screen *out_screen, const char *instead, struct err *err);
void screen_close(struct screen *screen);

/* Without UTF-8 what ASCII lacks becomes "?". */
void screen_show(const struct screen *screen, struct grid *grid);

/* The terminal as it was, for others; and back. */
void screen_leave(struct screen *screen);
void screen_return(struct screen *screen);

/*
 * Until there is a key or a signal, or 'left_ns' (UINT64_MAX = any time) have passed: then it is quiet.
 * False: the terminal has gone.
 */
bool screen_wait(const struct screen *screen, uint64_t left_ns, bool *out_is_quiet);
/* The same, or until 'fd' can be read; -1 = none. */
bool screen_wait_for(const struct screen *screen, int fd, uint64_t left_ns, bool *out_is_quiet);

/* Take signals; stops and goes on where one says so. False: it is to end. */
bool screen_signals(struct screen *screen);
/*
 * The same where another process records, which Ctrl-C and Ctrl-Z are for: of Ctrl-C it is counted, and nothing stops.
 */
bool screen_interrupts(struct screen *screen, uint32_t *interrupts);
/* Drop them: what a user typed at somebody else. False: it is to end. */
bool screen_drop_signals(const struct screen *screen);

/* A character, or enum tui_key; SCREEN_NO_KEY: none is there; SCREEN_MOUSE: *out_click. 0 is a key without a name. */
int screen_key(struct screen_click *out_click);

#endif
