/* test_dump.c - the state dump says what /proc says. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "record/dump.h"
#include "store/dump.h"
#include "store/manifest.h"

#include "record/opening.h"

struct dumped {
	struct opening opening;
	struct facts facts;
};

static int set_up(void **state)
{
	struct dumped *dumped = xcalloc(1, sizeof(*dumped));
	struct manifest manifest = { 0 };
	struct err err = { 0 };
	char path[128];
	struct stat info;

	dumped->opening = opening_begin();
	snprintf(path, sizeof(path), "%s/kernel", dumped->opening.dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(dump_write(dumped->opening.dir, &manifest, &err), 0);
	snprintf(path, sizeof(path), "%s/kernel/dump.jsonl", dumped->opening.dir);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
	assert_int_equal(dump_read(path, &dumped->facts, &err), 0);
	assert_int_equal(dumped->facts.damage_count, 0);
	manifest_fini(&manifest);
	*state = dumped;
	return 0;
}

static int tear_down(void **state)
{
	struct dumped *dumped = *state;

	opening_end(&dumped->opening);
	facts_fini(&dumped->facts);
	free(dumped);
	return 0;
}

static void this_thread_is_there(void **state)
{
	const struct dumped *dumped = *state;
	const struct fact_thread *thread = NULL;
	char comm[32] = "";
	FILE *file = fopen("/proc/self/comm", "r");

	assert_int_equal(fscanf(file, "%31[^\n]", comm), 1);
	fclose(file);
	for (size_t i = 0; i < dumped->facts.thread_count; i++) {
		if (dumped->facts.threads[i].tid == getpid())
			thread = &dumped->facts.threads[i];
	}
	assert_non_null(thread);
	assert_int_equal(thread->tgid, getpid());
	assert_int_equal(thread->ppid, getppid());
	assert_int_equal(thread->uid, getuid());
	assert_string_equal(thread->comm, comm);
	assert_non_null(strstr(thread->cmdline, "test_record_dump"));
	assert_false(thread->kernel);
	assert_true(thread->seen_ns > 0);
}

/* The descriptors of the child whose names begin and end so. */
static size_t count_named(const struct dumped *dumped, enum fd_role role, const char *begin,
			  const char *end)
{
	size_t count = 0;

	for (size_t i = 0; i < dumped->facts.fd_count; i++) {
		const struct fact_fd *fd = &dumped->facts.fds[i];
		size_t len = strlen(fd->name);

		count += fd->tgid == dumped->opening.pid && (fd->role & FD_ROLE_MASK) == role &&
			 strncmp(fd->name, begin, strlen(begin)) == 0 && len >= strlen(end) &&
			 strcmp(fd->name + len - strlen(end), end) == 0;
	}
	return count;
}

/* Sockets of the child that name themselves and one other, which names them. */
static size_t count_pairs(const struct dumped *dumped)
{
	size_t count = 0;

	for (size_t i = 0; i < dumped->facts.fd_count; i++) {
		const struct fact_fd *fd = &dumped->facts.fds[i];
		unsigned long long own, other;
		char reverse[64];

		if (fd->tgid != dumped->opening.pid ||
		    sscanf(fd->name, "unix %llu->%llu", &own, &other) != 2)
			continue;
		assert_int_equal(own, fd->inode);
		snprintf(reverse, sizeof(reverse), "unix %llu->%llu", other, own);
		count += count_named(dumped, FD_ROLE_SOCKET, reverse, "") == 1;
	}
	return count;
}

static void files_and_devices_have_their_paths(void **state)
{
	const struct dumped *dumped = *state;

	assert_int_equal(count_named(dumped, FD_ROLE_FILE, "/etc/passwd", ""), 1);
	assert_int_equal(count_named(dumped, FD_ROLE_DIR, "/", ""), 1);
	assert_true(count_named(dumped, FD_ROLE_DEVICE, "/dev/null", "") >= 1);
	assert_int_equal(count_named(dumped, FD_ROLE_FILE, dumped->opening.dir, "/a file"), 1);
	assert_int_equal(count_named(dumped, FD_ROLE_FILE, dumped->opening.dir, "/gone (deleted)"),
			 4);
	assert_int_equal(count_named(dumped, FD_ROLE_PIPE, dumped->opening.dir, "/fifo"), 1);
	assert_int_equal(count_named(dumped, FD_ROLE_FILE, "/memfd:hello (deleted)", ""), 1);
}

static void sockets_say_who_is_at_the_other_end(void **state)
{
	const struct dumped *dumped = *state;
	char peer[32], path[128];

	snprintf(peer, sizeof(peer), " peer %d", (int)dumped->opening.pid);
	snprintf(path, sizeof(path), "unix %s/sock peer", dumped->opening.dir);
	assert_true(count_named(dumped, FD_ROLE_LISTEN, "tcp listen 127.0.0.1:", "") == 1);
	assert_true(count_named(dumped, FD_ROLE_CONNECTED, "tcp 127.0.0.1:", "") == 1);
	assert_true(count_named(dumped, FD_ROLE_ACCEPTED, "tcp 127.0.0.1:", "") == 2);
	assert_int_equal(count_named(dumped, FD_ROLE_CONNECTED, "udp 127.0.0.1:", ""), 1);
	assert_int_equal(count_named(dumped, FD_ROLE_SOCKET, "udp 127.0.0.1:", ""), 1);
	assert_int_equal(count_named(dumped, FD_ROLE_SOCKET, "tcp", ""), 1);
	assert_int_equal(count_named(dumped, FD_ROLE_LISTEN, "unix listen /", "/sock"), 1);
	assert_int_equal(count_named(dumped, FD_ROLE_LISTEN, "unix listen @holdup-test-", ""), 1);
	assert_int_equal(count_named(dumped, FD_ROLE_ACCEPTED, path, peer), 1);
	assert_int_equal(count_named(dumped, FD_ROLE_CONNECTED, path, peer), 1);
	assert_int_equal(count_pairs(dumped), 4);
	assert_int_equal(count_named(dumped, FD_ROLE_SOCKET, "netlink uevent", ""), 1);
}

static void anonymous_ones_have_plain_names(void **state)
{
	const struct dumped *dumped = *state;
	char pidfd[32];
	size_t watched = 0;

	snprintf(pidfd, sizeof(pidfd), "pidfd %d", (int)dumped->opening.pid);
	assert_int_equal(count_named(dumped, FD_ROLE_EPOLL, "epoll", ""), 1);
	assert_int_equal(count_named(dumped, FD_ROLE_EVENTFD, "eventfd", ""), 1);
	assert_int_equal(count_named(dumped, FD_ROLE_TIMERFD, "timerfd", ""), 1);
	assert_int_equal(count_named(dumped, FD_ROLE_SIGNALFD, "signalfd", ""), 1);
	assert_int_equal(count_named(dumped, FD_ROLE_INOTIFY, "inotify", ""), 1);
	assert_int_equal(count_named(dumped, FD_ROLE_PIDFD, pidfd, ""), 1);
	for (size_t i = 0; i < dumped->facts.epoll_count; i++)
		watched += dumped->facts.epolls[i].tgid == dumped->opening.pid;
	assert_int_equal(watched, 1);
}

static void both_ends_of_a_pipe_have_its_inode(void **state)
{
	const struct dumped *dumped = *state;
	uint64_t inodes[64];
	size_t count = 0, pairs = 0;

	for (size_t i = 0; i < dumped->facts.fd_count && count < ARRAY_LEN(inodes); i++) {
		const struct fact_fd *fd = &dumped->facts.fds[i];

		if (fd->tgid == dumped->opening.pid && strncmp(fd->name, "pipe:", 5) == 0)
			inodes[count++] = fd->inode;
	}
	for (size_t i = 0; i < count; i++) {
		for (size_t k = i + 1; k < count; k++)
			pairs += inodes[i] && inodes[i] == inodes[k];
	}
	assert_true(pairs >= 2);
}

static void it_never_writes_over_a_file(void **state)
{
	const struct dumped *dumped = *state;
	struct manifest manifest = { 0 };
	struct err err = { 0 };

	assert_int_equal(dump_write(dumped->opening.dir, &manifest, &err), -EEXIST);
	assert_non_null(strstr(err.text, "dump.jsonl"));
	manifest_fini(&manifest);
}

/* The dump beside the other one's, in its place. */
static void dump_late(const struct dumped *dumped, uint64_t born_ns, const struct dump_since *since,
		      struct map *early, struct facts *facts)
{
	struct manifest manifest = { 0 };
	struct dump *dump = NULL;
	struct err err = { 0 };
	char path[128];

	snprintf(path, sizeof(path), "%s/kernel/dump.jsonl", dumped->opening.dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(dump_late_read(born_ns, &manifest, &dump, &err), 0);
	if (early)
		dump_late_note(dump, early);
	assert_int_equal(dump_late_write(dump, dumped->opening.dir, NULL, since, 0, &err), 0);
	dump_late_free(dump);
	assert_int_equal(dump_read(path, facts, &err), 0);
	manifest_fini(&manifest);
}

static bool has_thread(const struct facts *facts, int32_t tid)
{
	for (size_t i = 0; i < facts->thread_count; i++) {
		if (facts->threads[i].tid == tid)
			return true;
	}
	return false;
}

/* What is open when a recording is over says nothing of what was open while it went on. */
static bool is_waited_for(const struct facts *facts, const struct fact_fd *fd)
{
	for (size_t i = 0; i < facts->thread_count; i++) {
		const struct fact_thread *thread = &facts->threads[i];

		if (thread->tgid == fd->tgid && thread->call_ns && thread->arg0 == (uint64_t)fd->fd)
			return true;
	}
	return false;
}

static void a_late_one_has_threads_and_the_files_they_wait_for(void **state)
{
	const struct dumped *dumped = *state;
	struct facts facts = { 0 };
	size_t childs = 0;

	dump_late(dumped, UINT64_MAX, NULL, NULL, &facts);
	assert_true(has_thread(&facts, getpid()));
	for (size_t i = 0; i < facts.fd_count; i++) {
		assert_true(is_waited_for(&facts, &facts.fds[i]));
		childs += facts.fds[i].tgid == dumped->opening.pid;
	}
	assert_int_equal(childs, 1); /* it waits in a read, and has much else open */
	facts_fini(&facts);
}

static size_t fds_of(const struct facts *facts, int32_t tgid, int32_t fd)
{
	size_t count = 0;

	for (size_t i = 0; i < facts->fd_count; i++)
		count += facts->fds[i].tgid == tgid && (fd < 0 || facts->fds[i].fd == fd);
	return count;
}

/* The same at the start and at the end, and nobody has told of it between: it was open all the time. */
static void a_late_one_has_files_that_were_open_all_the_time(void **state)
{
	const struct dumped *dumped = *state;
	int32_t tgid = dumped->opening.pid;
	struct map early = { 0 }, told = { 0 };
	struct dump_since since = { &early, UINT64_MAX, &told, true };
	struct facts facts = { 0 };
	const struct fact_fd *one = NULL;

	dump_late(dumped, UINT64_MAX, &since, &early, &facts);
	assert_int_equal(fds_of(&facts, tgid, -1), fds_of(&dumped->facts, tgid, -1));
	for (size_t i = 0; i < facts.fd_count; i++)
		one = facts.fds[i].tgid == tgid ? &facts.fds[i] : one;
	assert_non_null(one);
	map_put(&told, (uint64_t)(uint32_t)tgid << 32 | (uint32_t)one->fd, 1);
	{
		struct facts less = { 0 };

		dump_late(dumped, UINT64_MAX, &since, NULL, &less);
		assert_int_equal(fds_of(&less, tgid, one->fd), 0);
		assert_int_equal(fds_of(&less, tgid, -1), fds_of(&facts, tgid, -1) - 1);
		facts_fini(&less);
	}
	facts_fini(&facts);
	map_fini(&early);
	map_fini(&told);
}

static void who_was_born_later_is_not_in_a_late_one(void **state)
{
	struct facts facts = { 0 };

	dump_late(*state, 1, NULL, NULL, &facts);
	assert_false(has_thread(&facts, getpid()));
	assert_true(has_thread(&facts, 2) || !has_thread(&facts, 1)); /* none in a container */
	facts_fini(&facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(this_thread_is_there),
		cmocka_unit_test(files_and_devices_have_their_paths),
		cmocka_unit_test(sockets_say_who_is_at_the_other_end),
		cmocka_unit_test(anonymous_ones_have_plain_names),
		cmocka_unit_test(both_ends_of_a_pipe_have_its_inode),
		cmocka_unit_test(it_never_writes_over_a_file),
		cmocka_unit_test(a_late_one_has_threads_and_the_files_they_wait_for),
		cmocka_unit_test(a_late_one_has_files_that_were_open_all_the_time),
		cmocka_unit_test(who_was_born_later_is_not_in_a_late_one),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
