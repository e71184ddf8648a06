/* why_sampled.c - say what it rests on, look, print. */
#include "cli/why_sampled.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/why_live.h"
#include "report/sampled.h"
#include "stuck/sampled.h"

#define EVERY_NS UINT64_C(50000000)

static volatile sig_atomic_t is_stopped;

static void why_sampled_on_signal(int number)
{
	(void)number;
	is_stopped = 1;
}

bool why_sampled_helps(int rc, const struct why_live *live)
{
	return (rc == -EACCES || rc == -EPERM) && geteuid() != 0 && live->count > 0;
}

int why_sampled(const struct why_live *live, FILE *out, bool json, uint32_t top, struct err *err)
{
	const struct stuck_select select = { .tgids = live->pids, .count = live->count };
	const struct sigaction action = { .sa_handler = why_sampled_on_signal };
	double seconds = live->seconds > 0 ? live->seconds : WHY_LIVE_SECONDS;
	struct sampled *sampled;
	int rc;

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	fprintf(stderr,
		"holdup why: no permission to trace; sampling %u times per second for %g s "
		"instead; Ctrl-C stops\n",
		(unsigned int)(UINT64_C(1000000000) / EVERY_NS), seconds);
	rc = sampled_run(&select, (uint64_t)(seconds * 1e9), EVERY_NS, &is_stopped, &sampled, err);
	if (rc < 0)
		return err_wrap(err, "sampling without tracing");
	if (json)
		report_sampled_json(out, sampled);
	else
		report_sampled_text(out, sampled, top);
	sampled_free(sampled);
	return 0;
}
