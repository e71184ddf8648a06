/* screen.c - ncurses, and nothing that anybody decides. */
#include "tui/screen.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#define NCURSES_WIDECHAR 1
#include <ncurses.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/terminal.h"
#include "tui/grid.h"
#include "tui/key.h"
#include "tui/top_model.h"
#include "view/shares.h"

#define ESCAPE_MS 50 /* over ssh the bytes of a key come together, mostly */
#define NS_PER_S  1000000000u

/* --------------------------------------------------------------------- drawing */

static const struct {
	attr_t attributes;
	short front; /* -1 = that of the terminal */
} styles[GRID_STYLES] = {
	[GRID_PLAIN] = { A_NORMAL, -1 },
	[GRID_BOLD] = { A_BOLD, -1 },
	[GRID_DIM] = { A_DIM, -1 },
	[GRID_BAR] = { A_REVERSE, COLOR_GREEN },
	[GRID_SELECTED] = { A_REVERSE, COLOR_CYAN },
	[GRID_WARNING] = { A_BOLD, COLOR_YELLOW },
	[GRID_TIMES + TOP_RUN] = { A_NORMAL, COLOR_GREEN },
	[GRID_TIMES + TOP_CPU] = { A_NORMAL, COLOR_RED },
	[GRID_TIMES + TOP_DISK] = { A_NORMAL, COLOR_MAGENTA },
	[GRID_TIMES + TOP_MEMORY] = { A_NORMAL, COLOR_YELLOW },
	[GRID_TIMES + TOP_OTHER] = { A_NORMAL, -1 },
	[GRID_LANES + LANE_OWN] = { A_NORMAL, COLOR_GREEN },
	[GRID_LANES + LANE_KERNEL] = { A_NORMAL, COLOR_BLUE },
	[GRID_LANES + LANE_IRQ] = { A_NORMAL, COLOR_MAGENTA },
	[GRID_LANES + LANE_QUEUE] = { A_NORMAL, COLOR_RED },
	[GRID_LANES + LANE_LOCK] = { A_BOLD, COLOR_YELLOW },
	[GRID_LANES + LANE_DISK] = { A_NORMAL, COLOR_YELLOW },
	[GRID_LANES + LANE_NETWORK] = { A_NORMAL, COLOR_CYAN },
	[GRID_LANES + LANE_THREAD] = { A_BOLD, COLOR_YELLOW },
	[GRID_LANES + LANE_OTHER] = { A_NORMAL, COLOR_MAGENTA },
	[GRID_LANES + LANE_SLEEP] = { A_DIM, -1 },
	[GRID_LANES + LANE_IDLE] = { A_DIM, -1 },
	[GRID_LANES + LANE_STOP] = { A_NORMAL, -1 },
	[GRID_LANES + LANE_UNENDED] = { A_NORMAL, -1 },
	[GRID_LANES + LANE_STILL] = { A_BOLD, -1 },
	[GRID_LANES + LANE_UNCERTAIN] = { A_DIM, -1 },
	[GRID_LANES + LANE_TARGET] = { A_NORMAL, COLOR_GREEN },
	[GRID_LANES + LANE_PROGRAM] = { A_NORMAL, COLOR_MAGENTA },
	[GRID_LANES + LANE_SYSTEM] = { A_NORMAL, COLOR_BLUE },
	[GRID_LANES + LANE_BUSY] = { A_NORMAL, COLOR_CYAN },
	[GRID_LANES + LANE_FREE] = { A_DIM, -1 },
	[GRID_LANES + LANE_ABSENT] = { A_NORMAL, -1 },
};

static void init_colours(void)
{
	if (!has_colors())
		return;
	start_color();
	use_default_colors();
	for (int i = 0; i < GRID_STYLES; i++)
		init_pair((short)(i + 1), styles[i].front, -1);
}

static attr_t attributes_of(const struct grid_cell *cell)
{
	attr_t attributes = styles[cell->style].attributes;

	if (cell->marks & GRID_FAINT)
		attributes = (attributes & ~A_BOLD) | A_DIM;
	if (cell->marks & GRID_STRONG)
		attributes = (attributes & ~A_DIM) | A_BOLD;
	return cell->marks & GRID_CURSOR ? attributes ^ A_REVERSE : attributes;
}

static void make_ascii(struct grid *grid)
{
	for (int i = 0; i < grid->rows * grid->columns; i++) {
		if (grid->cells[i].code > 126)
			grid->cells[i].code = '?';
	}
}

void screen_show(const struct screen *screen, struct grid *grid)
{
	bool colours = has_colors();

	if (screen->ascii)
		make_ascii(grid);
	for (int i = 0; i < grid->rows * grid->columns; i++) {
		wchar_t text[2] = { (wchar_t)grid->cells[i].code, 0 };
		short pair = (short)(colours ? grid->cells[i].style + 1 : 0);
		cchar_t cell;

		setcchar(&cell, text, attributes_of(&grid->cells[i]), pair, NULL);
		mvadd_wch(i / grid->columns, i % grid->columns, &cell);
	}
	refresh();
}

/* ---------------------------------------------------------------- in and out of it */

static void watched_signals(sigset_t *out_set)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP };

	sigemptyset(out_set);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		sigaddset(out_set, numbers[i]);
}

/* ncurses takes those that cannot, too, and writes what nobody can read. */
static bool can_move(void)
{
	char name[] = "cup";
	const char *sequence = tigetstr(name);

	return sequence && sequence != (const char *)-1;
}

static int open_terminal(struct screen *screen, const char *instead, struct err *err)
{
	const char *kind = getenv("TERM");
	SCREEN *terminal = newterm(NULL, terminal_stdout(), stdin);

	if (!terminal)
		return err_set(err, -ENOTTY, "unknown terminal type (TERM=%.40s); %s",
			       kind ? kind : "", instead);
	screen->terminal = terminal;
	if (can_move())
		return 0;
	endwin();
	return err_set(err, -ENOTTY, "this terminal cannot move its cursor (TERM=%.40s); %s",
		       kind ? kind : "", instead);
}

int screen_open(struct screen *out_screen, const char *instead, struct err *err)
{
	sigset_t set;
	int rc;

	*out_screen = (struct screen){ .signals = -1 };
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_set(err, -ENOTTY, "not a terminal; %s", instead);
	setlocale(LC_CTYPE, "");
	out_screen->ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	watched_signals(&set);
	sigprocmask(SIG_BLOCK, &set, &out_screen->old_mask);
	out_screen->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (out_screen->signals < 0)
		return err_set(err, -errno, "cannot watch for signals: %s", strerror(errno));
	rc = open_terminal(out_screen, instead, err);
	if (rc < 0)
		return rc;
	init_colours();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	mouseinterval(0);
	out_screen->rows = LINES;
	out_screen->columns = COLS;
	return 0;
}

void screen_close(struct screen *screen)
{
	if (screen->terminal) {
		/* What there is no other screen for stays: but not where the shell writes next. */
		move(LINES - 1, 0);
		clrtoeol();
		refresh();
		endwin();
		delscreen(screen->terminal);
	}
	if (screen->signals >= 0) {
		close(screen->signals);
		sigprocmask(SIG_SETMASK, &screen->old_mask, NULL);
	}
	*screen = (struct screen){ .signals = -1 };
}

/* Stop as a shell expects it, with the terminal as it was. */
static void suspend(void)
{
	struct sigaction as_usual = { .sa_handler = SIG_DFL }, before;
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	endwin();
	sigaction(SIGTSTP, &as_usual, &before);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, NULL); /* stops here */
	sigprocmask(SIG_BLOCK, &stop, NULL);
	sigaction(SIGTSTP, &before, NULL);
}

static void resize(struct screen *screen)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
	clearok(curscr, TRUE);
	screen->rows = LINES;
	screen->columns = COLS;
}

void screen_leave(struct screen *screen)
{
	(void)screen;
	endwin();
}

void screen_return(struct screen *screen)
{
	resize(screen);
	flushinp();
}

bool screen_signals(struct screen *screen)
{
	struct signalfd_siginfo info;

	while (read(screen->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGTSTP)
			suspend();
		else if (info.ssi_signo != SIGWINCH)
			return false;
		resize(screen);
	}
	return true;
}

bool screen_interrupts(struct screen *screen, uint32_t *interrupts)
{
	struct signalfd_siginfo info;

	while (read(screen->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGWINCH)
			resize(screen);
		else if (info.ssi_signo == SIGINT)
			(*interrupts)++;
		else if (info.ssi_signo != SIGTSTP)
			return false;
	}
	return true;
}

bool screen_drop_signals(const struct screen *screen)
{
	struct signalfd_siginfo info;
	bool go_on = true;

	while (read(screen->signals, &info, sizeof(info)) == sizeof(info))
		go_on = go_on && info.ssi_signo != SIGTERM && info.ssi_signo != SIGHUP;
	return go_on;
}

bool screen_wait_for(const struct screen *screen, int fd, uint64_t left_ns, bool *out_is_quiet)
{
	struct pollfd fds[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = screen->signals, .events = POLLIN },
		{ .fd = fd, .events = POLLIN },
	};
	struct timespec left = { (time_t)(left_ns / NS_PER_S), (long)(left_ns % NS_PER_S) };

	*out_is_quiet = ppoll(fds, ARRAY_LEN(fds), left_ns == UINT64_MAX ? NULL : &left, NULL) == 0;
	return !(fds[0].revents & (POLLHUP | POLLERR | POLLNVAL));
}

bool screen_wait(const struct screen *screen, uint64_t left_ns, bool *out_is_quiet)
{
	return screen_wait_for(screen, -1, left_ns, out_is_quiet);
}

/* ------------------------------------------------------------------------ keys */

static int screen_key_of(int code)
{
	static const struct {
		int code, key;
	} keys[] = {
		{ KEY_UP, TUI_KEY_UP },
		{ KEY_DOWN, TUI_KEY_DOWN },
		{ KEY_LEFT, TUI_KEY_LEFT },
		{ KEY_RIGHT, TUI_KEY_RIGHT },
		{ KEY_PPAGE, TUI_KEY_PAGE_UP },
		{ KEY_NPAGE, TUI_KEY_PAGE_DOWN },
		{ KEY_HOME, TUI_KEY_HOME },
		{ KEY_END, TUI_KEY_END },
		{ KEY_ENTER, TUI_KEY_ENTER },
		{ '\r', TUI_KEY_ENTER },
		{ KEY_BACKSPACE, TUI_KEY_BACKSPACE },
		{ 8, TUI_KEY_BACKSPACE },
	};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (keys[i].code == code)
			return keys[i].key;
	}
	if (code >= KEY_F(1) && code <= KEY_F(10))
		return TUI_KEY_F1 + code - KEY_F(1);
	return code < 256 ? code : 0;
}

static int mouse_key(struct screen_click *out_click)
{
	MEVENT event;

	if (getmouse(&event) != OK)
		return 0;
	*out_click = (struct screen_click){ .row = event.y, .column = event.x };
	if (event.bstate & (BUTTON4_PRESSED | BUTTON5_PRESSED))
		out_click->wheel = event.bstate & BUTTON4_PRESSED ? -1 : 1;
	return SCREEN_MOUSE;
}

int screen_key(struct screen_click *out_click)
{
	int code = getch();

	if (code == ERR)
		return SCREEN_NO_KEY;
	return code == KEY_MOUSE ? mouse_key(out_click) : screen_key_of(code);
}
