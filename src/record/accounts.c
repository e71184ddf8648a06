/*
 * accounts.c - the kernel's accounts of all threads, at the start, at their exit, at the end.
 */
#include "record/accounts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "accounts/cpus.h"
#include "accounts/list.h"
#include "accounts/listen.h"
#include "accounts/proc.h"
#include "accounts/recorded.h"
#include "accounts/socket.h"
#include "guard/caps.h"
#include "record/clock.h"
#include "store/manifest.h"

#define BATCH	       32u /* of requests: the middle of a batch is when it was asked */
#define LOSSES_MAX     64u
#define PRESSURE_BYTES 512u
#define LOOK_NS	       UINT64_C(1000000000)
#define LOOKS	       1024u /* then half as often */

static const char *const resources[] = { "cpu", "memory", "io", "irq" };
static const char *const cgroup_tops[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

struct accounts {
	int fd;			      /* owned */
	struct outbuf out;	      /* owned; under the lock while the thread runs */
	struct delays_socket *socket; /* owned; NULL = no right to ask */
	struct delays_cpus cpus;      /* owned */
	struct delays_listener *ears; /* owned; NULL = exits are not heard */
	char *cgroup;		      /* owned: its path; "" = there is none of the second kind */
	char *cgroup_folder;	      /* owned; NULL likewise */
	pthread_mutex_t lock;
	pthread_t thread;
	bool has_thread;
	bool is_ended;
	bool is_crowded; /* more threads than are asked one by one */
	int stop_fd;	 /* owned; readable = the thread ends */
	_Atomic int32_t tid;
	uint64_t look_ns; /* when pressure is read next */
	uint32_t looks;
};

static const char what_accounts[] = "the kernel's delay accounting of tasks";

/* --------------------------------------------------------------------- pressure */

/* "some avg10=0.00 ... total=123": the total, in ns. Returns whether the line is there. */
static bool find_total(const char *text, const char *line, uint64_t *out_ns)
{
	const char *at = strstr(text, line);
	const char *total = at ? strstr(at, "total=") : NULL;
	uint64_t us;

	if (!total || sscanf(total, "total=%" SCNu64, &us) != 1)
		return false;
	*out_ns = us * 1000;
	return true;
}

/* Returns 0, or the negative errno of reading it. */
static int put_pressure(struct accounts *accounts, enum recorded_when when, const char *path,
			const char *resource, const char *cgroup)
{
	struct recorded_pressure row = { .when = when, .resource = resource, .cgroup = cgroup };
	char text[PRESSURE_BYTES];
	int got = delays_proc_read(path, text, sizeof(text));

	if (got < 0)
		return got;
	row.time_ns = clock_mono_ns();
	row.has_some = find_total(text, "some ", &row.some_ns);
	row.has_full = find_total(text, "full ", &row.full_ns);
	if (row.has_some || row.has_full)
		recorded_put_pressure(&accounts->out, &row);
	return 0;
}

static int put_machine(struct accounts *accounts, enum recorded_when when, size_t resource)
{
	AUTO_FREE char *path = xasprintf("/proc/pressure/%s", resources[resource]);

	return put_pressure(accounts, when, path, resources[resource], "");
}

/* Returns that of CPUs: where it cannot be read, none can. */
static int put_pressures(struct accounts *accounts, enum recorded_when when)
{
	int first = 0;

	for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
		int rc = put_machine(accounts, when, i);

		first = i == 0 ? rc : first;
		if (accounts->cgroup_folder) {
			AUTO_FREE char *below =
				xasprintf("%s/%s.pressure", accounts->cgroup_folder, resources[i]);

			(void)put_pressure(accounts, when, below, resources[i], accounts->cgroup);
		}
	}
	return first;
}

/* The ninth word of the first line of /proc/stat, in ticks. */
static void put_stolen(struct accounts *accounts, enum recorded_when when)
{
	struct recorded_stolen stolen = { .when = when, .time_ns = clock_mono_ns() };
	long ticks_per_s = sysconf(_SC_CLK_TCK);
	uint64_t ticks;
	char text[512];

	if (ticks_per_s <= 0 || delays_proc_read("/proc/stat", text, sizeof(text)) < 0 ||
	    sscanf(text, "cpu %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &ticks) != 1)
		return;
	stolen.step_ns = 1000000000u / (uint64_t)ticks_per_s;
	stolen.stolen_ns = ticks * stolen.step_ns;
	recorded_put_stolen(&accounts->out, &stolen);
}

/* Clocks that are read without hardware stand still between two ticks. 0 = nobody knows. */
static uint64_t tick_ns(void)
{
	struct timespec step;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &step) < 0)
		return 0;
	return (uint64_t)step.tv_sec * 1000000000u + (uint64_t)step.tv_nsec;
}

/* The cgroup that a command begins in is the recorder's. The root's pressure is the machine's. */
static void find_cgroup(struct accounts *accounts)
{
	char path[RECORDED_TEXT_MAX / 2];

	delays_proc_cgroup(getpid(), path, sizeof(path));
	accounts->cgroup = xstrdup(path);
	for (size_t i = 0; i < ARRAY_LEN(cgroup_tops) && path[0] == '/' && path[1]; i++) {
		AUTO_FREE char *folder = xasprintf("%s%s", cgroup_tops[i], path);
		AUTO_FREE char *file = xasprintf("%s/cpu.pressure", folder);

		if (access(file, R_OK) == 0) {
			accounts->cgroup_folder = xstrdup(folder);
			return;
		}
	}
}

/* ------------------------------------------------------------------------ tasks */

static void put_batch(struct accounts *accounts, enum recorded_when when,
		      struct delays_request *requests, const int32_t *tgids, size_t count)
{
	uint64_t before_ns = clock_mono_ns(), after_ns;

	if (!count || delays_socket_ask(accounts->socket, requests, count, NULL) < 0)
		return;
	after_ns = clock_mono_ns();
	for (size_t i = 0; i < count; i++) {
		struct recorded_task task = { .when = when,
					      .time_ns = before_ns + (after_ns - before_ns) / 2,
					      .slack_ns = (after_ns - before_ns) / 2 + 1,
					      .stats = requests[i].stats };

		if (requests[i].error)
			continue; /* it is gone: its exit is heard */
		task.stats.tid = requests[i].id;
		task.stats.tgid = tgids[i];
		recorded_put_task(&accounts->out, &task);
	}
}

static void put_tasks(struct accounts *accounts, enum recorded_when when,
		      const struct delays_ids *ids)
{
	struct delays_request requests[BATCH] = { 0 };
	int32_t tgids[BATCH];
	size_t count = 0;

	for (size_t i = 0; i < ids->count; i++) {
		if (ids->ids[i].is_process)
			continue; /* its main thread follows */
		requests[count] = (struct delays_request){ .id = ids->ids[i].tid };
		tgids[count++] = ids->ids[i].tgid;
		if (count == BATCH) {
			put_batch(accounts, when, requests, tgids, count);
			count = 0;
		}
	}
	put_batch(accounts, when, requests, tgids, count);
}

static void put_schedstat(struct accounts *accounts, enum recorded_when when,
			  const struct delays_id *id)
{
	struct recorded_sched sched = { .when = when, .tid = id->tid, .tgid = id->tgid };
	char path[64], text[128];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", id->tgid, id->tid);
	if (delays_proc_read(path, text, sizeof(text)) < 0 ||
	    sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &sched.run_ns, &sched.queued_ns,
		   &sched.count) != 3)
		return;
	sched.time_ns = clock_mono_ns();
	recorded_put_sched(&accounts->out, &sched);
}

/* What all threads have on their accounts now. */
static void put_all(struct accounts *accounts, enum recorded_when when)
{
	const struct delays_select select = { .all = true, .threads = true };
	struct delays_ids ids = { 0 };

	if (delays_list(&select, &ids, NULL) < 0)
		return;
	if (ids.count > RECORDED_TASKS_MAX) {
		accounts->is_crowded = true;
	} else {
		if (accounts->socket)
			put_tasks(accounts, when, &ids);
		for (size_t i = 0; i < ids.count; i++) {
			if (!ids.ids[i].is_process)
				put_schedstat(accounts, when, &ids.ids[i]);
		}
	}
	delays_ids_fini(&ids);
}

/* ------------------------------------------------------------------------ exits */

static void on_exit_heard(void *context, const struct delays_message *exit, uint64_t heard_ns)
{
	struct accounts *accounts = context;
	struct recorded_task task = { .when = RECORDED_EXIT,
				      .time_ns = clock_mono_ns(),
				      .stats = exit->thread };

	(void)heard_ns; /* of the clock that counts sleep, too */
	task.stats.tid = exit->tid;
	/* The kernels that do not tell the process: of a lone thread it is its own. */
	if (!(exit->thread.has & DELAYS_HAS_TGID) || exit->thread.tgid <= 0)
		task.stats.tgid = exit->has_process ? exit->tgid : exit->tid;
	recorded_put_task(&accounts->out, &task);
}

static void take_exits(struct accounts *accounts)
{
	const struct delays_exits exits = { on_exit_heard, accounts };

	pthread_mutex_lock(&accounts->lock);
	(void)delays_listener_take(accounts->ears, &exits, NULL); /* losses are counted */
	(void)outbuf_flush(&accounts->out);
	pthread_mutex_unlock(&accounts->lock);
}

static void *listen_main(void *context)
{
	struct accounts *accounts = context;
	struct pollfd stop = { .fd = accounts->stop_fd, .events = POLLIN };

	guard_caps_helper(GUARD_CAP(CAP_NET_ADMIN)); /* the kernel asks whoever asks it */
	prctl(PR_SET_NAME, "holdup-accounts");
	atomic_store(&accounts->tid, gettid());
	while (delays_listener_wait(accounts->ears, &stop, 1, -1, NULL) == 0 && !stop.revents)
		take_exits(accounts);
	return NULL;
}

static int listen_start(struct accounts *accounts, struct err *err)
{
	const struct delays_listen_opts opts = { .cpus = &accounts->cpus };
	int rc = delays_cpus_possible(&accounts->cpus, err);

	if (rc == 0)
		rc = delays_listener_open(&opts, &accounts->ears, err);
	if (rc < 0)
		return rc;
	accounts->stop_fd = eventfd(0, EFD_CLOEXEC);
	rc = accounts->stop_fd < 0 ? errno
				   : pthread_create(&accounts->thread, NULL, listen_main, accounts);
	if (rc != 0)
		return err_set(err, -rc, "cannot start a thread: %s", strerror(rc));
	accounts->has_thread = true;
	return 0;
}

static void listen_stop(struct accounts *accounts)
{
	const uint64_t one = 1;

	if (!accounts->has_thread)
		return;
	while (write(accounts->stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(accounts->thread, NULL);
	accounts->has_thread = false;
}

/* A tid is known once its thread runs. */
static void name_thread(const struct accounts *accounts, struct manifest *manifest)
{
	for (int i = 0; i < 1000 && !atomic_load(&accounts->tid); i++)
		usleep(100);
	if (atomic_load(&accounts->tid))
		manifest_add_recorder_tid(manifest, atomic_load(&accounts->tid));
}

/* ------------------------------------------------------------------ begin and end */

static void begin_tasks(struct accounts *accounts, struct manifest *manifest)
{
	struct err why = { 0 };

	if (delays_socket_open(&accounts->socket, &why) < 0) {
		accounts->socket = NULL;
		manifest_add_missing(manifest, what_accounts, why.text);
	} else if (listen_start(accounts, &why) < 0) {
		delays_listener_close(accounts->ears);
		accounts->ears = NULL;
		manifest_add_missing(manifest, "the kernel's delay accounting of exiting tasks",
				     why.text);
	} else {
		name_thread(accounts, manifest);
	}
}

struct accounts *accounts_begin(int kernel_fd, struct manifest *manifest)
{
	struct accounts *accounts = xcalloc(1, sizeof(*accounts));
	struct delays_account account;
	int rc;

	accounts->stop_fd = -1;
	accounts->fd =
		openat(kernel_fd, RECORDED_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (accounts->fd < 0) {
		manifest_add_missing(manifest, what_accounts, strerror(errno));
		free(accounts);
		return NULL;
	}
	pthread_mutex_init(&accounts->lock, NULL);
	outbuf_to_fd(&accounts->out, accounts->fd);
	find_cgroup(accounts);
	delays_account_read(&account);
	recorded_put_head(&accounts->out, &account, clock_mono_ns(), tick_ns());
	begin_tasks(accounts, manifest);
	pthread_mutex_lock(&accounts->lock);
	rc = put_pressures(accounts, RECORDED_START);
	put_stolen(accounts, RECORDED_START);
	put_all(accounts, RECORDED_START);
	(void)outbuf_flush(&accounts->out);
	pthread_mutex_unlock(&accounts->lock);
	if (rc < 0) {
		AUTO_FREE char *why = xasprintf("/proc/pressure/cpu: %s", strerror(-rc));

		manifest_add_missing(manifest, "pressure (PSI)", why);
	}
	return accounts;
}

void accounts_look(struct accounts *accounts)
{
	uint64_t now_ns = clock_mono_ns();

	if (!accounts || accounts->is_ended || now_ns < accounts->look_ns)
		return;
	pthread_mutex_lock(&accounts->lock);
	for (size_t i = 0; i < ARRAY_LEN(resources); i++)
		(void)put_machine(accounts, RECORDED_EXIT, i);
	pthread_mutex_unlock(&accounts->lock);
	accounts->look_ns = now_ns + (LOOK_NS << (accounts->looks++ / LOOKS));
}

void accounts_last(struct accounts *accounts)
{
	if (!accounts || accounts->is_ended)
		return;
	pthread_mutex_lock(&accounts->lock);
	put_all(accounts, RECORDED_END);
	put_stolen(accounts, RECORDED_END);
	(void)put_pressures(accounts, RECORDED_END);
	pthread_mutex_unlock(&accounts->lock);
}

/* Each loss, as far as that stays short; the rest is added to the last one. */
static uint64_t put_losses(struct accounts *accounts)
{
	struct recorded_loss last = { 0 };
	uint64_t lost = 0;
	size_t count = 0;
	const struct delays_loss *losses;

	if (!accounts->ears)
		return 0;
	losses = delays_listener_losses(accounts->ears, &count, &lost);
	for (size_t i = 0; i < count; i++) {
		last.time_ns = clock_mono_ns() - (delays_now_ns() - losses[i].time_ns);
		last.cpus = losses[i].cpus;
		last.count += losses[i].lost_count;
		if (i + 1 < LOSSES_MAX || i + 1 == count) {
			recorded_put_loss(&accounts->out, &last);
			last.count = 0;
		}
	}
	return lost;
}

static void accounts_note_missing(const struct accounts *accounts, uint64_t lost,
				  struct manifest *manifest)
{
	if (lost) {
		AUTO_FREE char *what = xasprintf("exit records of %" PRIu64 " threads", lost);

		manifest_add_missing(manifest, what, "the kernel's buffer for them was full");
	}
	if (accounts->is_crowded)
		manifest_add_missing(manifest,
				     "the kernel's delay accounting of threads before recording "
				     "began",
				     "there are more than 50,000 threads");
	if (accounts->out.error)
		manifest_add_missing(manifest, "a part of the kernel's accounts of tasks",
				     strerror(-accounts->out.error));
}

void accounts_end(struct accounts *accounts, struct manifest *manifest)
{
	uint64_t lost;

	if (!accounts || accounts->is_ended)
		return;
	accounts->is_ended = true;
	listen_stop(accounts);
	if (accounts->ears)
		take_exits(accounts);
	lost = put_losses(accounts);
	recorded_put_end(&accounts->out, clock_mono_ns(),
			 accounts->ears ? delays_listener_damaged(accounts->ears) : 0);
	(void)outbuf_flush(&accounts->out);
	accounts_note_missing(accounts, lost, manifest);
}

void accounts_free(struct accounts *accounts)
{
	if (!accounts)
		return;
	listen_stop(accounts);
	delays_listener_close(accounts->ears);
	delays_socket_close(accounts->socket);
	delays_cpus_fini(&accounts->cpus);
	outbuf_fini(&accounts->out);
	mem_close_fd(&accounts->stop_fd);
	mem_close_fd(&accounts->fd);
	pthread_mutex_destroy(&accounts->lock);
	free(accounts->cgroup);
	free(accounts->cgroup_folder);
	free(accounts);
}
