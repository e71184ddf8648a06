/*
 * top_screen.c - the terminal: keys and signals in, cells out.
 *
 * Signals come through a descriptor, so nothing is interrupted halfway. ncurses sends only what differs
 * from what the terminal shows.
 */
#include "tui/top_screen.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <wchar.h>

#define NCURSES_WIDECHAR 1
#include <ncurses.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/terminal.h"
#include "delays/proc.h"
#include "tui/grid.h"
#include "tui/top_draw.h"
#include "tui/top_keys.h"
#include "tui/top_source.h"

#define NS_PER_MS	1000000u
#define FIRST_NS	(300u * NS_PER_MS) /* the first interval is short, so that there is something */
#define DOUBLE_CLICK_NS (400u * NS_PER_MS)
#define WHEEL_LINES	3
#define ESCAPE_MS	50 /* over ssh the bytes of a key come together, mostly */

struct screen {
	struct top_view *view;
	struct top_source *source;
	const struct top_screen_opts *opts;
	SCREEN *terminal; /* owned */
	struct grid grid; /* owned */
	int signals;	  /* owned */
	sigset_t old_mask;
	uint64_t next_ns;
	uint64_t click_ns;
	int click_row;
	uint64_t shown; /* intervals */
};

static uint64_t first_ns(const struct top_screen_opts *opts)
{
	return opts->interval_ns < FIRST_NS ? opts->interval_ns : FIRST_NS;
}

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

static void send_cells(const struct grid *grid)
{
	bool colours = has_colors();

	for (int i = 0; i < grid->rows * grid->columns; i++) {
		wchar_t text[2] = { (wchar_t)grid->cells[i].code, 0 };
		short style = grid->cells[i].style;
		cchar_t cell;

		setcchar(&cell, text, styles[style].attributes, (short)(colours ? style + 1 : 0),
			 NULL);
		mvadd_wch(i / grid->columns, i % grid->columns, &cell);
	}
	refresh();
}

/* Without UTF-8 only what ASCII has. */
static void make_ascii(struct grid *grid)
{
	for (int i = 0; i < grid->rows * grid->columns; i++) {
		if (grid->cells[i].code > 126)
			grid->cells[i].code = '?';
	}
}

static void draw(struct screen *screen)
{
	struct top_view *view = screen->view;

	view->note = top_source_note(screen->source);
	grid_reset(&screen->grid, LINES, COLS);
	top_model_set_page(&view->model, top_draw_page(view, LINES));
	if (view->mode == TOP_FOLLOWING && !view->model.followed_ended && !view->paused)
		top_details_read(view->model.followed.tgid, view->model.followed.tid,
				 &view->details);
	top_draw(view, &screen->grid);
	if (view->ascii)
		make_ascii(&screen->grid);
	send_cells(&screen->grid);
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

static int enter(struct screen *screen, struct err *err)
{
	const char *kind = getenv("TERM");
	sigset_t set;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_set(err, -ENOTTY, "this is no terminal: see --batch");
	setlocale(LC_CTYPE, "");
	screen->view->ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	watched_signals(&set);
	sigprocmask(SIG_BLOCK, &set, &screen->old_mask);
	screen->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (screen->signals < 0)
		return err_set(err, -errno, "cannot watch for signals: %s", strerror(errno));
	screen->terminal = newterm(NULL, terminal_stdout(), stdin);
	if (!screen->terminal)
		return err_set(err, -ENOTTY,
			       "the terminal is of no known kind (TERM=%.40s): see "
			       "--batch",
			       kind ? kind : "");
	if (!can_move()) {
		endwin();
		return err_set(err, -ENOTTY,
			       "this terminal cannot move its cursor (TERM=%.40s): see --batch",
			       kind ? kind : "");
	}
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
	return 0;
}

static void leave(struct screen *screen)
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
	grid_fini(&screen->grid);
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

static void resize(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
	clearok(curscr, TRUE);
}

/* Returns false when it is to end. */
static bool take_signals(struct screen *screen)
{
	struct signalfd_siginfo info;

	while (read(screen->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGTSTP)
			suspend();
		else if (info.ssi_signo != SIGWINCH)
			return false;
		resize();
	}
	return true;
}

/* What the user typed at the recording (Ctrl-C) is not for us. Returns false when it is to end. */
static bool drop_signals(const struct screen *screen)
{
	struct signalfd_siginfo info;
	bool go_on = true;

	while (read(screen->signals, &info, sizeof(info)) == sizeof(info))
		go_on = go_on && info.ssi_signo != SIGTERM && info.ssi_signo != SIGHUP;
	return go_on;
}

/* Returns false when it is to end. */
static bool record(const struct screen *screen)
{
	const struct top_view *view = screen->view;
	const struct top_line *line = top_model_selected(&view->model);
	struct top_task task;

	if (view->mode == TOP_FOLLOWING)
		task = view->model.followed;
	else if (line)
		task = *line->task;
	else
		return true;
	endwin();
	screen->opts->on_record(&task);
	resize();
	flushinp();
	return drop_signals(screen);
}

/* ------------------------------------------------------------------------ keys */

static int key_of(int code)
{
	static const struct {
		int code, key;
	} keys[] = {
		{ KEY_UP, TOP_KEY_UP },
		{ KEY_DOWN, TOP_KEY_DOWN },
		{ KEY_PPAGE, TOP_KEY_PAGE_UP },
		{ KEY_NPAGE, TOP_KEY_PAGE_DOWN },
		{ KEY_HOME, TOP_KEY_HOME },
		{ KEY_END, TOP_KEY_END },
		{ KEY_ENTER, TOP_KEY_ENTER },
		{ '\r', TOP_KEY_ENTER },
		{ KEY_BACKSPACE, TOP_KEY_BACKSPACE },
		{ 8, TOP_KEY_BACKSPACE },
	};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (keys[i].code == code)
			return keys[i].key;
	}
	if (code >= KEY_F(1) && code <= KEY_F(10))
		return TOP_KEY_F1 + code - KEY_F(1);
	return code < 256 ? code : 0;
}

static enum top_action press_mouse(struct screen *screen)
{
	struct top_click click = { .rows = LINES, .columns = COLS };
	uint64_t now_ns = delays_now_ns();
	MEVENT event;

	if (getmouse(&event) != OK)
		return TOP_NOTHING;
	if (event.bstate & (BUTTON4_PRESSED | BUTTON5_PRESSED)) {
		top_model_move(&screen->view->model,
			       event.bstate & BUTTON4_PRESSED ? -WHEEL_LINES : WHEEL_LINES);
		return TOP_REDRAW;
	}
	click.row = event.y;
	click.column = event.x;
	click.twice = event.y == screen->click_row && now_ns - screen->click_ns < DOUBLE_CLICK_NS;
	screen->click_row = event.y;
	screen->click_ns = now_ns;
	return top_mouse_click(screen->view, &click);
}

/* What does not work now will not work at the next interval either, and is told then. */
static void sample_threads(struct screen *screen)
{
	(void)top_source_feed(screen->source, &screen->view->model, NULL);
	screen->next_ns = delays_now_ns() + first_ns(screen->opts);
}

/* Returns false when it is to end. */
static bool take_keys(struct screen *screen)
{
	int code;

	while ((code = getch()) != ERR) {
		enum top_action action = code == KEY_MOUSE
						 ? press_mouse(screen)
						 : top_key_press(screen->view, key_of(code));

		if (action == TOP_QUIT)
			return false;
		if (action == TOP_CGROUPS)
			top_source_fill_cgroups(&screen->view->model);
		if (action == TOP_SAMPLE)
			sample_threads(screen);
		if (action == TOP_RECORD && !record(screen))
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------------ loop */

static int sample(struct screen *screen, struct err *err)
{
	uint64_t now_ns = delays_now_ns();
	int rc;

	if (now_ns < screen->next_ns)
		return 0;
	screen->next_ns += screen->opts->interval_ns;
	if (screen->next_ns < now_ns)
		screen->next_ns = now_ns + screen->opts->interval_ns; /* late: do not hurry */
	if (screen->view->paused)
		return 0;
	top_pressure_read(screen->view->pressure);
	rc = top_source_feed(screen->source, &screen->view->model, err);
	screen->shown++;
	return rc;
}

/* Returns false when the terminal has gone. */
static bool wait_for_more(const struct screen *screen)
{
	struct pollfd fds[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = screen->signals, .events = POLLIN },
	};
	uint64_t now_ns = delays_now_ns();
	uint64_t left_ns = screen->next_ns > now_ns ? screen->next_ns - now_ns : 0;
	struct timespec left = { (time_t)(left_ns / 1000000000), (long)(left_ns % 1000000000) };

	(void)ppoll(fds, ARRAY_LEN(fds), &left, NULL);
	return !(fds[0].revents & (POLLHUP | POLLERR | POLLNVAL));
}

static int run(struct screen *screen, struct err *err)
{
	bool go_on = true;

	while (go_on) {
		int rc = sample(screen, err);

		if (rc < 0)
			return rc;
		if (screen->opts->count && screen->shown >= screen->opts->count)
			return 0;
		draw(screen);
		go_on = wait_for_more(screen) && take_signals(screen) && take_keys(screen);
	}
	return 0;
}

int top_screen_run(struct top_view *view, struct top_source *source,
		   const struct top_screen_opts *opts, struct err *err)
{
	struct screen screen = { .view = view, .source = source, .opts = opts, .signals = -1 };
	int rc = enter(&screen, err);

	screen.next_ns = delays_now_ns() + first_ns(opts);
	if (rc == 0)
		rc = run(&screen, err);
	leave(&screen);
	return rc;
}
