/* model_run.c - a trace with its timeline where the model asks for it, and the engine of check over it. */
#include "ask/model_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/check/check.h"
#include "analyse/locks/lock_owner.h"
#include "ask/check_feed.h"
#include "ask/lock_source.h"
#include "base/err.h"
#include "base/mem.h"
#include "model/model.h"
#include "read/read.h"
#include "timeline/timeline.h"

/* One call under way. */
struct running {
	const char *path;
	const struct model_run_opts *opts;
	const struct model *model;
	struct model_run *run;
	struct model_errors *errors;
};

void model_run_fini(struct model_run *run)
{
	check_free(run->check);
	check_feed_free(run->feed);
	loaded_fini(&run->loaded);
	loaded_fini(&run->explained);
	trace_close(run->plain);
	*run = (struct model_run){ 0 };
}

bool model_run_has_kernel(const struct model_run *run)
{
	return check_feed_has_kernel(run->feed);
}

const struct facts *model_run_facts(const struct model_run *run)
{
	return run->plain ? trace_facts(run->plain) : run->loaded.facts;
}

const struct facts *model_run_why_facts(const struct model_run *run)
{
	return run->explained.timeline ? run->explained.facts : run->loaded.facts;
}

/* -------------------------------------------------------------------------- open */

static int make_feed(struct running *running, struct trace *trace, struct err *err)
{
	return check_feed_new(trace, running->model, &running->run->feed, running->errors, err);
}

/* Events of programs in one trace, those of the kernel in another one. */
static int open_kernel(struct running *running, struct err *err)
{
	const struct model_run_opts *opts = running->opts;
	struct model_run *run = running->run;
	int rc = loaded_open(opts->kernel, &opts->load, &run->loaded, err);

	if (rc == 0)
		rc = check_feed_use_kernel(run->feed, run->loaded.trace, err);
	return rc < 0 ? err_wrap(err, "opening %s (--kernel)", opts->kernel) : 0;
}

/* The trace with its timeline when something asks for it, else alone. */
static int model_open_trace(struct running *running, struct err *err)
{
	struct model_run *run = running->run;
	int rc = read_open(running->path, &run->plain, err);

	if (rc == 0)
		rc = make_feed(running, run->plain, err);
	if (rc == 0 && running->opts->kernel)
		return open_kernel(running, err);
	if (rc < 0 || !model_asks_kernel(running->model) || !check_feed_has_kernel(run->feed))
		return rc;
	check_feed_free(run->feed);
	run->feed = NULL;
	trace_close(run->plain);
	run->plain = NULL;
	rc = loaded_open(running->path, &running->opts->load, &run->loaded, err);
	return rc < 0 ? rc : make_feed(running, run->loaded.trace, err);
}

/* --------------------------------------------------------------------------- run */

/* Those of the trace and, when that is another one, of what tells of the kernel. */
static size_t find_holes(const struct running *running, struct check_hole **out_holes)
{
	const struct model_run *run = running->run;
	const struct timeline *kernel = running->opts->kernel ? run->loaded.timeline : NULL;
	const struct check_hole *seen;
	size_t count = check_feed_holes(run->feed, &seen), more = kernel ? kernel->gap_count : 0;

	*out_holes = xcalloc(count + more + 1, sizeof(**out_holes));
	if (count)
		memcpy(*out_holes, seen, count * sizeof(*seen));
	for (size_t i = 0; i < more; i++)
		(*out_holes)[count + i] =
			(struct check_hole){ .since_ns = kernel->gaps[i].since_ns,
					     .until_ns = kernel->gaps[i].until_ns };
	return count + more;
}

static int run_once(struct running *running, const struct check_opts *opts, struct err *err)
{
	struct model_run *run = running->run;

	check_free(run->check);
	run->check = check_new(running->model, opts);
	return check_feed_run(run->feed, run->check, err);
}

static int run_engine(struct running *running, struct err *err)
{
	struct model_run *run = running->run;
	AUTO_FREE struct check_hole *holes = NULL;
	const struct check_result *result;
	struct check_opts opts = {
		.reader = check_feed_reader(run->feed),
		.timeline = run->loaded.timeline,
		.facts = model_run_facts(run),
		.missing = check_feed_missing(run->feed),
	};
	int rc = run_once(running, &opts, err);

	if (rc < 0 || !running->opts->minds_holes)
		return rc;
	opts.hole_count = find_holes(running, &holes);
	opts.holes = holes;
	if (!opts.hole_count)
		return 0;
	result = check_result(run->check);
	opts.took_kernel = result->took_kernel;
	opts.took_user = result->took_user;
	return run_once(running, &opts, err);
}

static int model_explain(struct running *running, struct err *err)
{
	struct model_run *run = running->run;
	uint32_t count = running->opts->explain;
	struct lock_owners *owners;
	const struct loaded *use = &run->loaded;
	int rc = 0;

	if (!count || !check_result(run->check)->count[CHECK_INVALID] || !model_run_has_kernel(run))
		return 0;
	if (!run->loaded.timeline) {
		rc = loaded_open(running->path, &running->opts->load, &run->explained, err);
		use = &run->explained;
	}
	if (rc < 0)
		return rc;
	/* Without it the kernel's events answer alone. */
	(void)lock_owners_read(running->path, &owners, NULL);
	check_explain(run->check, use->timeline, use->facts, owners, count);
	lock_owners_free(owners);
	return 0;
}

int model_run_trace(const char *path, const struct model_run_opts *opts, const struct model *model,
		    struct model_run *out_run, struct model_errors *errors, struct err *err)
{
	struct running running = { path, opts, model, out_run, errors };
	const struct timeline *timeline;
	int rc = model_open_trace(&running, err);

	if (rc == 0)
		rc = run_engine(&running, err);
	if (rc == 0)
		rc = model_explain(&running, err);
	timeline = out_run->loaded.timeline;
	if (rc == 0 && timeline && timeline_damage(timeline))
		rc = err_set(err, -EIO, "%s; holdup index --force rebuilds the index",
			     timeline_damage(timeline));
	return rc;
}
