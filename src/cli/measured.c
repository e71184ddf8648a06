/* measured.c - a trace with its timeline where it has one, and the engine of check over it. */
#include "cli/measured.h"

#include "analyse/check.h"
#include "base/err.h"
#include "cli/check_feed.h"
#include "cli/load.h"
#include "read/read.h"

void measured_fini(struct measured *measured)
{
	check_free(measured->check);
	check_feed_free(measured->feed);
	trace_close(measured->plain);
	if (measured->loaded.trace)
		loaded_fini(&measured->loaded);
	*measured = (struct measured){ 0 };
}

static int open_trace(const char *path, const struct model *model, struct measured *measured,
		      struct model_errors *errors, struct err *err)
{
	int rc = load_plain(path, &measured->plain, err);

	if (rc == 0)
		rc = check_feed_new(measured->plain, model, &measured->feed, errors, err);
	if (rc < 0 || !check_feed_has_kernel(measured->feed))
		return rc;
	check_feed_free(measured->feed);
	measured->feed = NULL;
	trace_close(measured->plain);
	measured->plain = NULL;
	rc = load_trace(path, 0, &measured->loaded, err);
	if (rc == 0)
		rc = check_feed_new(measured->loaded.trace, model, &measured->feed, errors, err);
	return rc;
}

int measured_run(const char *path, const struct model *model, struct measured *out_measured,
		 struct model_errors *errors, struct err *err)
{
	struct check_opts opts;
	int rc = open_trace(path, model, out_measured, errors, err);

	if (rc < 0)
		return rc;
	opts = (struct check_opts){
		.reader = check_feed_reader(out_measured->feed),
		.timeline = out_measured->loaded.timeline,
		.facts = out_measured->plain ? trace_facts(out_measured->plain)
					     : out_measured->loaded.facts,
		.missing = check_feed_missing(out_measured->feed),
	};
	out_measured->check = check_new(model, &opts);
	return check_feed_run(out_measured->feed, out_measured->check, err);
}

bool measured_has_kernel(const struct measured *measured)
{
	return check_feed_has_kernel(measured->feed);
}
