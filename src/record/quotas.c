/* quotas.c - see quotas.h. */
#include "record/quotas.h"

#include <fts.h>
#include <inttypes.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorting.h"
#include "accounts/proc.h"
#include "store/manifest.h"

#define CGROUPS_MAX 4096u /* looked at: 20 ms or so */
#define TOLD_MAX    64u
#define FILE_BYTES  4096

struct quotas {
	struct manifest_throttle *at; /* owned, with their names: only those that have a quota */
	size_t count, cap;
	size_t seen; /* cgroups looked at */
};

/* ------------------------------------------------------------------ one cgroup */

static bool quota_read_file(const char *folder, const char *name, char text[FILE_BYTES])
{
	AUTO_FREE char *path = xasprintf("%s/%s", folder, name);

	return delays_proc_read(path, text, FILE_BYTES) > 0;
}

/* "20000 100000", or "max 100000" */
static bool read_unified(const char *folder, struct manifest_throttle *out)
{
	char text[FILE_BYTES];
	uint64_t quota_us, period_us;

	if (!quota_read_file(folder, "cpu.max", text) ||
	    sscanf(text, "%" SCNu64 " %" SCNu64, &quota_us, &period_us) != 2 ||
	    !quota_read_file(folder, "cpu.stat", text))
		return false;
	out->quota_ns = quota_us * 1000;
	out->period_ns = period_us * 1000;
	out->ns = delays_proc_number(text, "throttled_usec ") * 1000;
	out->periods = delays_proc_number(text, "nr_periods ");
	out->times = delays_proc_number(text, "nr_throttled ");
	return true;
}

/* A quota of -1 is none. */
static bool read_first_kind(const char *folder, struct manifest_throttle *out)
{
	char text[FILE_BYTES];
	int64_t quota_us;

	if (!quota_read_file(folder, "cpu.cfs_quota_us", text) ||
	    sscanf(text, "%" SCNd64, &quota_us) != 1 || quota_us <= 0 ||
	    !quota_read_file(folder, "cpu.cfs_period_us", text))
		return false;
	out->quota_ns = (uint64_t)quota_us * 1000;
	out->period_ns = strtoull(text, NULL, 10) * 1000;
	if (!quota_read_file(folder, "cpu.stat", text))
		return false;
	out->ns = delays_proc_number(text, "throttled_time ");
	out->periods = delays_proc_number(text, "nr_periods ");
	out->times = delays_proc_number(text, "nr_throttled ");
	return true;
}

/* ------------------------------------------------------------------ all of them */

typedef bool read_fn(const char *folder, struct manifest_throttle *out);

static void add_cgroup(struct quotas *quotas, const char *top, const char *folder, read_fn *read)
{
	struct manifest_throttle found = { 0 };
	const char *below = folder + strlen(top);

	if (!read(folder, &found))
		return;
	found.cgroup = xstrdup(*below ? below : "/");
	quotas->at = vec_room(quotas->at, quotas->count, &quotas->cap, sizeof(*quotas->at));
	quotas->at[quotas->count++] = found;
}

static void quotas_walk(struct quotas *quotas, const char *top, read_fn *read)
{
	AUTO_FREE char *name = xstrdup(top);
	char *const tops[] = { name, NULL };
	FTS *fts = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	const FTSENT *entry;

	while (fts && quotas->seen < CGROUPS_MAX && (entry = fts_read(fts))) {
		if (entry->fts_info != FTS_D)
			continue;
		quotas->seen++;
		add_cgroup(quotas, top, entry->fts_path, read);
	}
	if (fts)
		fts_close(fts);
}

static struct quotas *read_all(void)
{
	struct quotas *quotas = xcalloc(1, sizeof(*quotas));
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *mount;

	while (mounts && (mount = getmntent(mounts))) {
		if (strcmp(mount->mnt_type, "cgroup2") == 0)
			quotas_walk(quotas, mount->mnt_dir, read_unified);
		else if (strcmp(mount->mnt_type, "cgroup") == 0 && hasmntopt(mount, "cpu"))
			quotas_walk(quotas, mount->mnt_dir, read_first_kind);
	}
	if (mounts)
		endmntent(mounts);
	return quotas;
}

bool quotas_any(void)
{
	struct quotas *quotas = read_all();
	bool any = quotas->count > 0;

	quotas_free(quotas);
	return any;
}

struct quotas *quotas_begin(void)
{
	return read_all();
}

/* What 'then' counted for the same cgroup. One that is new, or was made anew, began with nothing. */
static struct manifest_throttle since(const struct quotas *then,
				      const struct manifest_throttle *now)
{
	struct manifest_throttle more = *now;

	for (size_t i = 0; i < then->count; i++) {
		const struct manifest_throttle *old = &then->at[i];

		if (strcmp(old->cgroup, now->cgroup) != 0 || old->times > now->times ||
		    old->periods > now->periods || old->ns > now->ns)
			continue;
		more.times -= old->times;
		more.periods -= old->periods;
		more.ns -= old->ns;
		break;
	}
	return more;
}

ORDER_FUNCTION(longest_first, struct manifest_throttle, ORDER_DOWN(ns));

void quotas_end(const struct quotas *quotas, struct manifest *manifest)
{
	struct quotas *now = quotas ? read_all() : NULL;

	if (!now)
		return;
	for (size_t i = 0; i < now->count; i++)
		now->at[i] = since(quotas, &now->at[i]);
	if (now->count)
		qsort(now->at, now->count, sizeof(*now->at), longest_first);
	for (size_t i = 0; i < now->count && i < TOLD_MAX && now->at[i].times; i++)
		manifest_add_throttle(manifest, &now->at[i]);
	quotas_free(now);
}

void quotas_free(struct quotas *quotas)
{
	for (size_t i = 0; quotas && i < quotas->count; i++)
		free(quotas->at[i].cgroup);
	if (quotas)
		free(quotas->at);
	free(quotas);
}
