/* tree.c - accounts that move up. */
#include "accounts/tree.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

#define SLACK_NS     100000000u /* between reading the records of several CPUs */
#define DEPTH_MAX    64u
#define VERSION_FLAG 12u /* from here on records tell the last thread of a process */
#define EVERYTHING   0	 /* no process has this number */

/* Where the account of a process that ended went. */
struct closed {
	int32_t tgid;
	int32_t to;
	uint64_t time_ns;
};

struct delays_tree {
	int32_t root;
	struct map places;		/* tgid: index of its account + 1 */
	struct delays_groups *accounts; /* owned */
	size_t account_count;
	size_t account_cap;
	size_t *unused; /* owned; indices of accounts that are empty */
	size_t unused_count;
	size_t unused_cap;
	struct map closed;   /* tgid: index in ends + 1 */
	struct closed *ends; /* owned; one for each number that ever ended */
	size_t end_count;
	size_t end_cap;
};

struct delays_tree *delays_tree_new(int32_t root)
{
	struct delays_tree *tree = xcalloc(1, sizeof(*tree));

	tree->root = root;
	return tree;
}

void delays_tree_free(struct delays_tree *tree)
{
	if (!tree)
		return;
	for (size_t i = 0; i < tree->account_count; i++)
		free(tree->accounts[i].groups);
	free(tree->accounts);
	free(tree->unused);
	free(tree->ends);
	map_fini(&tree->places);
	map_fini(&tree->closed);
	free(tree);
}

static struct delays_group *group_of(struct delays_groups *groups, const char *name)
{
	struct delays_group *group;

	for (size_t i = 0; i < groups->count; i++) {
		if (strcmp(groups->groups[i].name, name) == 0)
			return &groups->groups[i];
	}
	groups->groups =
		vec_room(groups->groups, groups->count, &groups->cap, sizeof(*groups->groups));
	group = &groups->groups[groups->count++];
	memset(group, 0, sizeof(*group));
	memcpy(group->name, name, sizeof(group->name));
	group->name[sizeof(group->name) - 1] = '\0';
	return group;
}

/* The account of a process; made when there is none. */
static struct delays_groups *account_of(struct delays_tree *tree, int32_t tgid)
{
	bool is_new;
	uint64_t *place = map_add(&tree->places, (uint64_t)(uint32_t)tgid, &is_new);

	if (!is_new)
		return &tree->accounts[*place - 1];
	if (tree->unused_count) {
		*place = tree->unused[--tree->unused_count] + 1;
	} else {
		tree->accounts = vec_room(tree->accounts, tree->account_count, &tree->account_cap,
					  sizeof(*tree->accounts));
		tree->accounts[tree->account_count++] = (struct delays_groups){ 0 };
		*place = tree->account_count;
	}
	return &tree->accounts[*place - 1];
}

static void merge(struct delays_groups *to, const struct delays_groups *from)
{
	for (size_t i = 0; i < from->count; i++) {
		const struct delays_group *more = &from->groups[i];
		struct delays_group *group = group_of(to, more->name);

		group->processes += more->processes;
		group->threads += more->threads;
		group->impossible += more->impossible;
		delays_stats_add(&group->stats, &more->stats);
	}
}

/* All that process 'from' holds goes to 'to'. */
static void move_account(struct delays_tree *tree, int32_t from, int32_t to)
{
	const uint64_t *place = map_find(&tree->places, (uint64_t)(uint32_t)from);
	struct delays_groups *target;
	size_t index;

	if (!place || from == to)
		return;
	index = *place - 1;
	target = account_of(tree, to); /* may move the accounts */
	merge(target, &tree->accounts[index]);
	tree->accounts[index].count = 0;
	map_remove(&tree->places, (uint64_t)(uint32_t)from);
	tree->unused = vec_room(tree->unused, tree->unused_count, &tree->unused_cap,
				sizeof(*tree->unused));
	tree->unused[tree->unused_count++] = index;
}

/*
 * Who has the account that belongs to 'tgid' now: itself, or who took it over. The process meant
 * has ended if who means it was born before that end; else the number was taken again since.
 */
static int32_t holder(const struct delays_tree *tree, int32_t tgid, uint64_t birth_ns)
{
	for (uint32_t i = 0; i < DEPTH_MAX && tgid != tree->root; i++) {
		const uint64_t *at = map_find(&tree->closed, (uint64_t)(uint32_t)tgid);

		if (!at || birth_ns > tree->ends[*at - 1].time_ns + SLACK_NS)
			break;
		tgid = tree->ends[*at - 1].to;
	}
	return tgid;
}

static void close_process(struct delays_tree *tree, int32_t tgid, int32_t to, uint64_t time_ns)
{
	bool is_new;
	uint64_t *at = map_add(&tree->closed, (uint64_t)(uint32_t)tgid, &is_new);

	if (is_new) {
		tree->ends =
			vec_room(tree->ends, tree->end_count, &tree->end_cap, sizeof(*tree->ends));
		*at = ++tree->end_count;
	}
	tree->ends[*at - 1] = (struct closed){ .tgid = tgid, .to = to, .time_ns = time_ns };
	move_account(tree, tgid, to);
}

static bool tree_is_last(const struct delays_message *exit)
{
	if (exit->thread.version >= VERSION_FLAG)
		return (exit->thread.flags & DELAYS_FLAG_LAST) != 0;
	return exit->has_process || exit->thread.tid == exit->tid;
}

static struct delays_stats checked_stats(const struct delays_message *exit)
{
	struct delays_stats stats = exit->thread;

	delays_stats_check(&stats, stats.life_us * 1000, false);
	return stats;
}

void delays_tree_feed(struct delays_tree *tree, const struct delays_message *exit, uint64_t time_ns)
{
	const struct delays_stats checked = checked_stats(exit);
	const struct delays_stats *stats = &checked;
	int32_t tgid = stats->has & DELAYS_HAS_TGID ? stats->tgid : exit->tid;
	uint64_t life_ns = stats->life_us * 1000;
	uint64_t birth_ns = time_ns > life_ns ? time_ns - life_ns : 0;
	int32_t to = tree->root ? holder(tree, stats->ppid, birth_ns) : EVERYTHING;
	struct delays_group *group = group_of(account_of(tree, to), stats->name);

	delays_stats_add(&group->stats, stats);
	group->threads++;
	group->impossible += stats->impossible != 0;
	if (!tree_is_last(exit))
		return;
	group->processes++;
	if (tree->root)
		close_process(tree, tgid, to, time_ns);
}

void delays_tree_add_living(struct delays_tree *tree, int32_t tgid)
{
	if (tree->root)
		move_account(tree, tgid, tree->root);
}

const struct delays_groups *delays_tree_groups(struct delays_tree *tree)
{
	return account_of(tree, tree->root);
}

void delays_tree_add(struct delays_tree *tree, const struct delays_stats *stats)
{
	struct delays_group *group = group_of(account_of(tree, tree->root), stats->name);

	delays_stats_add(&group->stats, stats);
}

void delays_groups_sum(const struct delays_groups *groups, struct delays_group *out_sum)
{
	struct delays_group sum = { 0 };

	for (size_t i = 0; i < groups->count; i++) {
		sum.processes += groups->groups[i].processes;
		sum.threads += groups->groups[i].threads;
		sum.impossible += groups->groups[i].impossible;
		delays_stats_add(&sum.stats, &groups->groups[i].stats);
	}
	*out_sum = sum;
}
