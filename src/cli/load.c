/* load.c - a trace with its timeline for a command: progress on the terminal. */
#include "cli/load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/code_names.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/reading.h"
#include "read/read.h"

static void say_read(void *context, uint64_t done_ns, uint64_t whole_ns)
{
	struct text done = text_duration(done_ns);
	char line[128];

	(void)context;
	(void)snprintf(line, sizeof(line), "reading the trace: %s of %s", done.s,
		       text_duration(whole_ns).s);
	progress_say(line);
}

static void clear(void *context)
{
	(void)context;
	progress_clear();
}

static void say_waiting(void *context, const char *dir)
{
	AUTO_FREE char *safe = text_escaped(dir);

	(void)context;
	fprintf(stderr, "holdup: another holdup is building the index in %s; waiting up to 5 s\n",
		safe);
}

int load_check_default(const char *path, struct err *err)
{
	if (strcmp(path, DEFAULT_TRACE) == 0 && access(path, F_OK) < 0 && errno == ENOENT)
		return err_set(err, -ENOENT,
			       "no " DEFAULT_TRACE
			       " here; name a trace or record one (sudo holdup record -- COMMAND)");
	return 0;
}

int load_begin(const char *path, struct err *err)
{
	int rc = load_check_default(path, err);

	return rc < 0 ? rc : reading_begin(path, err);
}

struct load_opts load_opts_shown(uint32_t flags)
{
	return (struct load_opts){ .flags = flags,
				   .code = code_names_add,
				   .progress = say_read,
				   .waiting = say_waiting,
				   .over = clear };
}

int load_trace(const char *path, uint32_t flags, struct loaded *out_loaded, struct err *err)
{
	const struct load_opts opts = load_opts_shown(flags);
	int rc = load_begin(path, err);

	return rc < 0 ? rc : loaded_open(path, &opts, out_loaded, err);
}

int load_plain(const char *path, struct trace **out_trace, struct err *err)
{
	int rc = load_begin(path, err);

	return rc < 0 ? rc : read_open(path, out_trace, err);
}
