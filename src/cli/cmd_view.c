/*
 * cmd_view.c - holdup view: a trace in the browser, in the terminal, or as one file.
 *
 * Before the trace is opened all that needs rights is done: the socket listens, the browser is
 * started, the files that are written are made.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/beside.h"
#include "ask/window.h"
#include "base/child.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/opts.h"
#include "cli/output.h"
#include "cli/reading.h"
#include "cli/recording.h"
#include "cli/rights.h"
#include "cli/tempdir.h"
#include "cli/view_file.h"
#include "cli/view_live.h"
#include "guard/drop.h"
#include "model/model.h"
#include "record/record.h"
#include "report/check.h"
#include "tui/viewer_live.h"
#include "tui/viewer_screen.h"
#include "view/live.h"
#include "view/others.h"
#include "view/save.h"
#include "view/server.h"

struct view_cmd {
	const char *from, *to;
	const char *save, *svg;
	const char *model_path;
	struct model *model; /* as long as the process: it is read in a thread of its own */
	bool no_open, keep, listen, live, tui;
	double seconds;
	uint32_t port;
	struct recording_opts recording;
	struct when from_when, to_when;
	const char *trace;
};

static const struct opt_spec view_options[] = {
	{ "from", "WHEN", "Start the window at a time or event (default: start of the command)",
	  opt_string, offsetof(struct view_cmd, from) },
	{ "to", "WHEN", "End the window at a time or event (default: end of the command)",
	  opt_string, offsetof(struct view_cmd, to) },
	{ "no-open", NULL, "Do not start a browser", opt_flag, offsetof(struct view_cmd, no_open) },
	{ "listen", NULL,
	  "Print the ssh command for viewing from another machine; do not start a browser",
	  opt_flag, offsetof(struct view_cmd, listen) },
	{ "keep", NULL, "Keep serving without open pages (default: stop after 10 minutes)",
	  opt_flag, offsetof(struct view_cmd, keep) },
	{ "port", "PORT", "Listen on this port of 127.0.0.1 (default 0: any free port)", opt_u32,
	  offsetof(struct view_cmd, port) },
	{ "live", NULL, "Record the whole system, and show lanes meanwhile", opt_flag,
	  offsetof(struct view_cmd, live) },
	{ "duration", "SECONDS", "Stop recording after SECONDS (default: at Ctrl-C)", opt_seconds,
	  offsetof(struct view_cmd, seconds), 'd' },
	{ "model", "FILE", "Show instances and violations of this model, too", opt_string,
	  offsetof(struct view_cmd, model_path) },
	{ "tui", NULL, "Show the trace in this terminal; do not serve", opt_flag,
	  offsetof(struct view_cmd, tui) },
	{ "save", "FILE", "Write the page as one HTML file; do not serve", opt_string,
	  offsetof(struct view_cmd, save) },
	{ "svg", "FILE", "Write the lanes as an SVG image; do not serve", opt_string,
	  offsetof(struct view_cmd, svg) },
	RECORDING_OPTIONS(struct view_cmd, recording),
	{ 0 },
};

/* ---------------------------------------------------------------- the browser */

/* As the user who ran sudo, never as root for a user; nothing of it is waited for. */
static void run_browser(const char *url)
{
	struct err err = { 0 };
	sigset_t none;

	if (fork() != 0)
		_exit(0);
	(void)setsid();
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (guard_become_sudo_user(&err) < 0)
		_exit(1);
	(void)!freopen("/dev/null", "r", stdin);
	(void)!freopen("/dev/null", "w", stdout);
	(void)!freopen("/dev/null", "w", stderr);
	execlp("xdg-open", "xdg-open", url, (char *)NULL);
	_exit(1);
}

static bool has_screen(void)
{
	const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

	return (x && *x) || (wayland && *wayland);
}

static void open_browser(const char *url)
{
	pid_t child;

	if (!has_screen())
		return;
	(void)fflush(NULL);
	child = fork();
	if (child == 0)
		run_browser(url);
	if (child > 0)
		(void)child_await(child);
}

/* The address that the user came to, where that was by ssh; else this machine's name. NULL: neither is known. */
static char *this_host(void)
{
	const char *connection = getenv("SSH_CONNECTION"); /* client, its port, server, its port */
	char name[256] = "", server[64] = "";

	if (connection && sscanf(connection, "%*s %*s %63s", server) == 1)
		return xstrdup(server);
	return gethostname(name, sizeof(name) - 1) == 0 && name[0] ? xstrdup(name) : NULL;
}

/* The port is the same on both sides: the server answers to that name only. */
static void put_ssh_line(const struct view_server *server)
{
	const char *user = getenv("SUDO_USER") ? getenv("SUDO_USER") : getenv("USER");
	AUTO_FREE char *host = this_host();
	AUTO_FREE char *line =
		xasprintf("ssh -N -L %u:127.0.0.1:%u %s%s%s", server->port, server->port,
			  user ? user : "", user ? "@" : "", host ? host : "HOST");
	AUTO_FREE char *safe = text_escaped(line);

	puts(safe);
}

/* Tests do not wait for ten minutes. It can only be sooner. */
static uint32_t leave_s(void)
{
	const char *text = getenv("HOLDUP_VIEW_LEAVE_S");
	uint64_t seconds;

	return text && text_parse_u64(text, &seconds) && seconds < VIEW_LEAVE_S ? (uint32_t)seconds
										: 0;
}

/* 'live': it is still being recorded, and 'door' hears of it; else both are NULL. */
static int serve_trace(const struct view_cmd *cmd, const char *trace, const struct view_live *live,
		       const struct view_live_door *door, struct err *err)
{
	const struct view_desk_opts opts = { .path = trace,
					     .live = live,
					     .from = cmd->from_when,
					     .to = cmd->to_when,
					     .model = cmd->model };
	struct view_server server;
	int rc = view_server_listen((uint16_t)cmd->port, &server, err);

	if (rc < 0)
		return rc;
	if (door && !door->listens(door->of))
		return 0;
	server.keep = cmd->keep;
	server.leave_s = leave_s();
	puts(server.url);
	if (cmd->listen)
		put_ssh_line(&server);
	if (fflush(stdout) != 0)
		return err_set(err, -errno, "cannot write to stdout: %s", strerror(errno));
	if (door)
		door->served(door->of);
	if (!cmd->no_open && !cmd->listen)
		open_browser(server.url);
	reading_serves();
	rc = load_begin(trace, err);
	return rc < 0 ? rc : view_server_run(&server, &opts, err);
}

static int serve(const struct view_cmd *cmd, struct err *err)
{
	return serve_trace(cmd, cmd->trace, NULL, NULL, err);
}

static int serve_live(void *context, const char *dir, struct view_live *live,
		      const struct view_live_door *door, struct err *err)
{
	return serve_trace(context, dir, live, door, err);
}

static int record_and_serve(struct view_cmd *cmd, char **command, struct err *err)
{
	const struct view_live_job job = { .command = command,
					   .seconds = cmd->seconds,
					   .recording = &cmd->recording,
					   .serve = serve_live,
					   .context = cmd };

	return view_live_run(&job, err);
}

/* -------------------------------------------------------------------- to a file */

/* A file is worth writing without them, too. */
static void read_others(const struct view_cmd *cmd, struct view *view)
{
	struct err err = { 0 };

	if (view_others_read(cmd->trace, cmd->model, &view->others, &err) < 0)
		fprintf(stderr, "holdup view: locks, disks and other lanes are left out: %s\n",
			err.text);
}

static int write_file(const struct view *view, const char *path, view_save *save,
		      struct output *output, struct err *err)
{
	return path ? output_end(output, view_file_write(view, NULL, save, path, output, err), err)
		    : 0;
}

static int view_open_trace(const struct view_cmd *cmd, struct loaded *loaded, struct view *view,
			   struct err *err)
{
	int rc = load_begin(cmd->trace, err);

	if (rc == 0)
		rc = load_trace(cmd->trace, 0, loaded, err);
	if (rc == 0 && (cmd->from || cmd->to))
		rc = when_window(loaded, &cmd->from_when, &cmd->to_when, &view->from_ns,
				 &view->to_ns, err);
	return rc;
}

static int save_files(const struct view_cmd *cmd, struct err *err)
{
	struct output html = { .fd = -1 }, svg = { .fd = -1 };
	struct loaded loaded = { 0 };
	struct beside beside = { 0 };
	struct view view = { .path = cmd->trace, .loaded = &loaded, .beside = &beside };
	int rc = 0;

	if (cmd->save)
		rc = output_begin_reader(cmd->save, &html, err);
	if (rc == 0 && cmd->svg)
		rc = output_begin_reader(cmd->svg, &svg, err);
	if (rc == 0)
		rc = view_open_trace(cmd, &loaded, &view, err);
	if (rc == 0) {
		beside_read(cmd->trace, loaded.facts, &beside);
		read_others(cmd, &view);
		rc = write_file(&view, cmd->save, view_save_html, &html, err);
	}
	if (rc == 0)
		rc = write_file(&view, cmd->svg, view_save_svg, &svg, err);
	rc = output_end(&html, rc, err);
	rc = output_end(&svg, rc, err);
	view_others_end(view.others);
	model_free(cmd->model);
	beside_fini(&beside);
	loaded_fini(&loaded);
	return rc;
}

/* ------------------------------------------------------------- in the terminal */

/* The trace is open; 'screen' NULL: it is opened now. */
static int show_loaded(const struct view_cmd *cmd, struct view *view, struct viewer_screen *screen,
		       struct err *err)
{
	struct beside beside = { 0 };
	int rc = view_others_new(cmd->trace, cmd->model, &view->others, err);

	if (rc < 0)
		return rc;
	beside_read(cmd->trace, view->loaded->facts, &beside);
	view->beside = &beside;
	rc = screen ? viewer_screen_show(screen, view, err) : viewer_screen_run(view, err);
	view->beside = NULL;
	beside_fini(&beside);
	if (view_others_leave(view->others))
		model_free(cmd->model);
	return rc;
}

static int show(const struct view_cmd *cmd, struct err *err)
{
	struct loaded loaded = { 0 };
	struct view view = { .path = cmd->trace, .loaded = &loaded };
	int rc;

	reading_shows();
	rc = view_open_trace(cmd, &loaded, &view, err);
	if (rc == 0)
		rc = show_loaded(cmd, &view, NULL, err);
	loaded_fini(&loaded);
	return rc;
}

static void say_read(void *context, uint64_t done_ns, uint64_t whole_ns)
{
	viewer_screen_say_read(context, done_ns, whole_ns);
}

/* The recording is over. */
static int show_recorded(const struct view_cmd *cmd, struct viewer_screen *screen, struct err *err)
{
	const struct load_opts load = { .progress = say_read, .context = screen };
	struct loaded loaded = { 0 };
	struct view view = { .path = cmd->trace, .loaded = &loaded };
	int rc;

	viewer_screen_say_read(screen, 0, 0);
	reading_shows();
	rc = load_begin(cmd->trace, err);
	if (rc == 0)
		rc = loaded_open(cmd->trace, &load, &loaded, err);
	if (rc == 0)
		rc = show_loaded(cmd, &view, screen, err);
	loaded_fini(&loaded);
	return rc;
}

/* In the process that looks. That recording failed is said by the other one. */
static int show_live(void *context, const char *dir, struct view_live *live,
		     const struct view_live_door *door, struct err *err)
{
	struct view_cmd *cmd = context;
	struct viewer_screen *screen = NULL;
	int rc;

	if (!door->listens(door->of))
		return 0;
	rc = viewer_screen_open(&screen, err);
	door->served(door->of);
	cmd->trace = dir;
	if (rc == 0 && viewer_screen_live(screen, live, err) == 0)
		rc = show_recorded(cmd, screen, err);
	viewer_screen_close(screen);
	return rc;
}

/* In the process that records. */
static void draw_live(struct view_live *live, const struct view *view)
{
	struct viewer_live_picture *picture = xcalloc(1, sizeof(*picture));
	size_t bytes = viewer_live_make(view, view_live_width(live), picture);

	view_live_put_bytes(live, picture, bytes);
	free(picture);
}

static int record_and_show(struct view_cmd *cmd, char **command, struct err *err)
{
	const struct view_live_job job = { .command = command,
					   .seconds = cmd->seconds,
					   .recording = &cmd->recording,
					   .serve = show_live,
					   .context = cmd,
					   .draw = draw_live,
					   .has_terminal = true };

	return view_live_run(&job, err);
}

static int run_in_terminal(struct view_cmd *cmd, char **command, struct err *err)
{
	int rc = viewer_screen_check(err);

	if (rc == 0)
		rc = cmd->live || command ? record_and_show(cmd, command, err) : show(cmd, err);
	return rc;
}

/* A recording has no window yet, and is of a command or of the whole system. */
static int check_live(const struct view_cmd *cmd, int operands, bool has_command, struct err *err)
{
	if (cmd->seconds > 0 && !cmd->live && !has_command)
		return err_set(err, -EINVAL, "--duration needs --live or a command");
	if (!cmd->live && !has_command && recording_any(&cmd->recording))
		return err_set(err, -EINVAL, "recording options need --live or a command");
	if (!cmd->live && !has_command)
		return 0;
	if (cmd->recording.locks && !has_command)
		return err_set(err, -EINVAL, "--locks needs a command: -- COMMAND");
	if (operands || cmd->save || cmd->svg || cmd->from || cmd->to)
		return err_set(err, -EINVAL,
			       "recording excludes a trace, --save, --svg, --from and --to");
	return recording_check(&cmd->recording, err);
}

static int view_check_usage(struct view_cmd *cmd, int operands, struct err *err)
{
	int rc;

	if (operands > 1)
		return err_set(err, -EINVAL, "expected one trace");
	if (cmd->port > UINT16_MAX)
		return err_set(err, -EINVAL, "--port is at most %u", UINT16_MAX);
	if ((cmd->save || cmd->svg) && (cmd->keep || cmd->port || cmd->no_open || cmd->listen))
		return err_set(err, -EINVAL,
			       "--save and --svg exclude --keep, --port, --listen and --no-open");
	if (cmd->tui &&
	    (cmd->save || cmd->svg || cmd->keep || cmd->port || cmd->no_open || cmd->listen))
		return err_set(err, -EINVAL,
			       "--tui excludes --save, --svg, --listen, --port, --keep and "
			       "--no-open");
	rc = when_parse(cmd->from, false, &cmd->from_when, err);
	return rc < 0 ? rc : when_parse(cmd->to, true, &cmd->to_when, err);
}

/* Mistakes in it are reported: then err stays empty. */
static int load_model(struct view_cmd *cmd, struct err *err)
{
	struct model_errors errors = { 0 };
	int rc = rights_load_model(cmd->model_path, &cmd->model, &errors, err);

	if (rc < 0 && errors.count) {
		report_mistakes(stderr, cmd->model_path, &errors);
		err->text[0] = '\0';
	}
	model_errors_fini(&errors);
	return rc;
}

static int run_view(int argc, char **argv)
{
	struct view_cmd cmd = { 0 };
	struct err err = { 0 };
	int first = opts_parse(view_options, &cmd, argc, argv, &err);
	char **command;
	int rc;

	if (first < 0)
		return command_usage(&cmd_view, first, &err);
	command = opts_command(argv, first, &argc);
	rc = check_live(&cmd, argc - first, command != NULL, &err);
	if (rc == 0)
		rc = view_check_usage(&cmd, argc - first, &err);
	if (rc < 0)
		return command_usage(&cmd_view, rc, &err);
	cmd.trace = argc > first ? argv[first] : DEFAULT_TRACE;
	if (cmd.model_path) {
		rc = load_model(&cmd, &err);
		if (rc < 0)
			return err.text[0] ? command_fail(&cmd_view, &err) : EXIT_USAGE;
	}
	if (cmd.tui)
		rc = run_in_terminal(&cmd, command, &err);
	else if (cmd.live || command)
		rc = record_and_serve(&cmd, command, &err);
	else
		rc = cmd.save || cmd.svg ? save_files(&cmd, &err) : serve(&cmd, &err);
	recording_fini(&cmd.recording);
	return rc < 0 ? command_fail(&cmd_view, &err) : EXIT_OK;
}

static const struct opt_moved view_moved[] = { RECORDING_MOVED, { 0 } };

const struct command cmd_view = {
	.name = "view",
	.args = "[OPTIONS] [TRACE | -- COMMAND]",
	.summary = "Show a trace in the browser or the terminal",
	.options = view_options,
	.moved = view_moved,
	.details =
		"Serves a page on 127.0.0.1 that shows the report of holdup why and lanes of\n"
		"threads and CPUs over time. The first line on stdout is the address of the page.\n"
		"Whoever has the address can read the trace. The server stops on Ctrl-C, on\n"
		"SIGTERM, or ten minutes after the last page was closed.\n"
		"\n"
		"Exit status: 0 stopped or written, 2 wrong usage, 3 failed.\n"
		"\n"
		"With -- COMMAND or --live it records first, and shows lanes meanwhile. With --tui\n"
		"it shows the same in this terminal; ? lists the keys there.\n"
		"The options of recording are those of holdup record.\n"
		"\n"
		"  holdup view run.holdup\n"
		"  holdup view -- ./server --port 80\n"
		"  holdup view --probe ./server:handle -- ./server\n"
		"  holdup view --listen --port 8080 run.holdup\n"
		"  holdup view --tui run.holdup\n"
		"  holdup view --save run.html --svg run.svg run.holdup\n",
	.only_reads = true,
	.run = run_view,
};
