/*
 * delays_serve.c - holdup delays serve: the sums as OpenMetrics text over HTTP.
 *
 * The accounts are asked for when somebody asks us, at most once a second: any number of requests
 * costs no more than that.
 */
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/delays_cmd.h"
#include "cli/exit.h"
#include "accounts/gather.h"
#include "accounts/proc.h"
#include "guard/caps.h"
#include "report/delays_metrics.h"
#include "serve/http.h"

#define FRESH_NS       UINT64_C(1000000000)
#define LABELS_DEFAULT 100u
#define LABELS_MAX     1000u

struct serving {
	struct delays_select select;
	struct delays_sampler *sampler; /* owned */
	struct delays_gather gather;
	struct http_body *body; /* a ref; the last text; NULL = none yet */
	uint64_t body_ns;	/* when that was made */
};

static struct http_body *metrics_body(const struct delays_gather *gather)
{
	size_t bytes = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	report_delays_metrics(out, gather);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return http_body_new(text, bytes);
}

/* Returns 0, or a negative errno. */
static int refresh(struct serving *serving)
{
	struct delays_sample sample;
	struct http_body *body;
	int rc;

	if (serving->body && delays_now_ns() - serving->body_ns < FRESH_NS)
		return 0;
	rc = delays_sample_take(serving->sampler, &serving->select, DELAYS_TAKE_IO, &sample, NULL);
	if (rc < 0)
		return rc;
	delays_gather_feed(&serving->gather, &sample);
	body = metrics_body(&serving->gather);
	if (!body)
		return -ENOMEM;
	http_body_drop(serving->body);
	serving->body = body;
	serving->body_ns = delays_now_ns();
	return 0;
}

static void delays_serve_answer(void *context, const char *path, struct http_answer *out_answer)
{
	static const char index[] = "holdup delays: see /metrics\n";
	struct serving *serving = context;

	if (strcmp(path, "/") == 0) {
		out_answer->status = 200;
		out_answer->body = http_body_new(xstrdup(index), sizeof(index) - 1);
		return;
	}
	if (strcmp(path, "/metrics") != 0)
		return;
	if (refresh(serving) < 0) {
		out_answer->status = 503;
		return;
	}
	serving->body->refs++;
	*out_answer = (struct http_answer){ 200, REPORT_METRICS_TYPE, serving->body };
}

static int delays_serve_watch_signals(int *out_fd, struct err *err)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	*out_fd = signalfd(-1, &ends, SFD_CLOEXEC);
	if (*out_fd < 0)
		return err_set(err, -errno, "cannot watch for signals: %s", strerror(errno));
	return 0;
}

static int serving_run(const struct delays_cmd *cmd, struct serving *serving, struct err *err)
{
	const struct http_opts opts = { .listen = cmd->serve,
					.answer = delays_serve_answer,
					.context = serving };
	AUTO_CLOSE int stop_fd = -1;
	struct http *http;
	int rc = delays_serve_watch_signals(&stop_fd, err);

	if (rc == 0)
		rc = http_open(&opts, &http, err);
	if (rc < 0)
		return rc;
	/* Who asks is anybody: what answers may ask the kernel for accounts, and no more. */
	rc = guard_caps_nobody(GUARD_CAP(CAP_NET_ADMIN), err);
	if (rc < 0) {
		http_close(http);
		return rc;
	}
	(void)refresh(serving); /* the first request then has something to compare with */
	fprintf(stderr, "serving http://%s/metrics\n", http_where(http));
	rc = http_run(http, stop_fd, err);
	http_close(http);
	return rc;
}

int delays_serve(const struct delays_cmd *cmd, struct err *err)
{
	struct serving serving = { 0 };
	struct err why = { 0 };
	int rc;

	if (cmd->labels > LABELS_MAX)
		return err_set(err, -EINVAL, "--labels is at most %u", LABELS_MAX);
	rc = delays_cmd_select(cmd, &serving.select, err);
	if (rc < 0)
		return rc;
	if (!cmd->pid_count && !cmd->comm && !cmd->cgroup && !cmd->user)
		serving.select.all = true;
	serving.select.threads = false;
	(void)delays_sampler_open(&serving.sampler, &why); /* falls back to /proc; why says why */
	if (delays_sampler_source(serving.sampler) == DELAYS_FROM_PROC)
		fprintf(stderr, "holdup: %s; reporting only CPU time and waits for a CPU\n",
			why.text);
	delays_gather_init(&serving.gather, cmd->labels ? cmd->labels : LABELS_DEFAULT);
	rc = serving_run(cmd, &serving, err);
	delays_gather_fini(&serving.gather);
	delays_sampler_close(serving.sampler);
	http_body_drop(serving.body);
	return rc < 0 ? rc : EXIT_OK;
}
