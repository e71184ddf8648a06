/*
 * test_names.c - the BPF program names descriptors as the state dump does.
 *
 * Needs the right to load BPF programs; skips and says so where there is none.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "record/dump.h"
#include "record/names.h"
#include "store/dump.h"
#include "store/manifest.h"
#include "wire/wire.h"

#include "record/opening.h"

#define FDS_MAX 256

/* The latest name of each descriptor of one process. */
struct learnt {
	bool known[FDS_MAX];
	struct wire_name wire[FDS_MAX];
	char text[FDS_MAX][WIRE_NAME_MAX + 1];
};

static void take(struct learnt *learnt, const struct wire_name *wire, const char *text)
{
	if (wire->fd < 0 || wire->fd >= FDS_MAX)
		return;
	learnt->known[wire->fd] = true;
	learnt->wire[wire->fd] = *wire;
	memcpy(learnt->text[wire->fd], text, wire->name_bytes);
	learnt->text[wire->fd][wire->name_bytes] = '\0';
}

/* Read kernel/names whole. Returns how many records it has. */
static size_t read_names(const char *dir, pid_t tgid, struct learnt *learnt)
{
	AUTO_FREE char *path = xasprintf("%s/kernel/names", dir);
	AUTO_FILE FILE *file = fopen(path, "r");
	struct wire_name wire;
	char text[WIRE_NAME_MAX + 8];
	uint64_t last_ns = 0;
	size_t count = 0;

	assert_non_null(file);
	while (fread(&wire, sizeof(wire), 1, file) == 1) {
		size_t padded = (wire.name_bytes + 7) & ~7u;

		assert_int_equal(wire.magic, WIRE_NAME_MAGIC);
		assert_true(wire.name_bytes <= WIRE_NAME_MAX);
		/* The owner of a mutex that somebody else on the machine waits for has none. */
		assert_true(wire.name_bytes > 0 || wire.tgid != tgid);
		assert_int_equal(fread(text, 1, padded, file), padded);
		count++;
		if (wire.tgid != tgid)
			continue;
		assert_true(wire.mono_ns >= last_ns);
		last_ns = wire.mono_ns;
		take(learnt, &wire, text);
	}
	assert_true(feof(file));
	return count;
}

static struct facts dump_of(const char *dir)
{
	AUTO_FREE char *path = xasprintf("%s/kernel/dump.jsonl", dir);
	struct manifest manifest = { 0 };
	struct facts facts = { 0 };

	assert_int_equal(dump_write(dir, &manifest, NULL), 0);
	assert_int_equal(dump_read(path, &facts, NULL), 0);
	manifest_fini(&manifest);
	return facts;
}

/* Compare what both know about the process. Returns how many descriptors that were. */
static size_t compare(const struct learnt *learnt, const struct facts *facts, pid_t tgid)
{
	size_t compared = 0;

	for (size_t i = 0; i < facts->fd_count; i++) {
		const struct fact_fd *fd = &facts->fds[i];

		if (fd->tgid != tgid || fd->fd >= FDS_MAX || !learnt->known[fd->fd])
			continue;
		/* Gone since: the name was right when it was learnt. */
		if (strstr(fd->name, "/gone (deleted)") &&
		    !strstr(learnt->text[fd->fd], "(deleted)"))
			assert_int_equal(strlen(learnt->text[fd->fd]), strlen(fd->name) - 10);
		else
			assert_string_equal(learnt->text[fd->fd], fd->name);
		/* Which end of a pipe it is only the dump knows. */
		assert_int_equal(learnt->wire[fd->fd].role, fd->role & ~FD_READS);
		assert_int_equal(learnt->wire[fd->fd].inode, fd->inode);
		compared++;
	}
	return compared;
}

static void start(const char *dir, struct names_recorder **recorder)
{
	AUTO_FREE char *kernel = xasprintf("%s/kernel", dir);
	struct err err = { 0 };
	int rc;

	assert_int_equal(mkdir(kernel, 0700), 0);
	rc = names_start(dir, 0, false, recorder, &err);
	if (rc < 0) {
		print_message("# %s\n", err.text);
		assert_true(err.text[0]);
		skip();
	}
}

static void names_are_those_of_the_state_dump(void **unused)
{
	char dir[] = "/tmp/holdup-test-names-XXXXXX";
	AUTO_FREE char *command = NULL;
	AUTO_FREE struct learnt *learnt = xcalloc(1, sizeof(*learnt));
	struct names_recorder *recorder = NULL;
	struct opening opening;
	struct facts facts;

	assert_non_null(mkdtemp(dir));
	command = xasprintf("rm -rf %s", dir);
	start(dir, &recorder);
	assert_true(names_tid(recorder) > 0);
	opening = opening_begin();
	names_end(recorder);
	assert_int_equal(names_count(recorder), read_names(dir, opening.pid, learnt));
	/* With a sanitizer its thread is too slow for what a busy machine opens. */
	if (names_lost(recorder) == 0 || !getenv("HOLDUP_SANITIZED")) {
		assert_int_equal(names_lost(recorder), 0);
		facts = dump_of(dir);
		assert_in_range(compare(learnt, &facts, opening.pid), 40, FDS_MAX);
		facts_fini(&facts);
	}
	names_stop(recorder);
	opening_end(&opening);
	assert_int_equal(system(command), 0);
}

static void a_connection_under_way_has_its_peer(void **unused)
{
	char dir[] = "/tmp/holdup-test-names-XXXXXX";
	AUTO_FREE char *command = NULL;
	AUTO_FREE struct learnt *learnt = xcalloc(1, sizeof(*learnt));
	struct names_recorder *recorder = NULL;
	bool found = false;
	uint64_t lost;
	pid_t pid;

	assert_non_null(mkdtemp(dir));
	command = xasprintf("rm -rf %s", dir);
	start(dir, &recorder);
	pid = fork();
	if (pid == 0) {
		/* Nobody accepts, and the queue of one is full: the rest stay under way. */
		int listener = socket(AF_INET, SOCK_STREAM, 0);
		struct sockaddr_in address = { .sin_family = AF_INET };
		socklen_t bytes = sizeof(address);

		address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		(void)!bind(listener, (struct sockaddr *)&address, bytes);
		(void)!listen(listener, 0);
		(void)!getsockname(listener, (struct sockaddr *)&address, &bytes);
		for (int i = 0; i < 4; i++)
			(void)!connect(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0),
				       (struct sockaddr *)&address, bytes);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	names_end(recorder);
	lost = names_lost(recorder);
	names_stop(recorder);
	(void)read_names(dir, pid, learnt);
	for (int i = 0; i < FDS_MAX; i++) {
		if (learnt->known[i] &&
		    (learnt->wire[i].role & FD_ROLE_MASK) == FD_ROLE_CONNECTED) {
			found = true;
			assert_non_null(strstr(learnt->text[i], "->127.0.0.1:"));
		}
	}
	/* With a sanitizer its thread is too slow for what a busy machine opens. */
	assert_true(found || (lost > 0 && getenv("HOLDUP_SANITIZED")));
	assert_int_equal(system(command), 0);
}

static void remove_dir(const char *dir)
{
	AUTO_FREE char *command = xasprintf("rm -rf %s", dir);

	assert_int_equal(system(command), 0);
}

/* A recorder in a directory of its own, with a holder; skips where that is not so. */
static struct names_recorder *start_held(char *dir)
{
	struct names_recorder *recorder = NULL;

	assert_non_null(mkdtemp(dir));
	start(dir, &recorder);
	if (names_holder(recorder) <= 0) {
		print_message("# no tracepoints of single calls\n");
		names_stop(recorder);
		remove_dir(dir);
		skip();
	}
	return recorder;
}

static void the_end_does_not_wait_for_detaching(void **unused)
{
	char dir[] = "/tmp/holdup-test-names-XXXXXX";
	struct names_recorder *recorder = start_held(dir);
	pid_t holder = names_holder(recorder);

	names_end(recorder);
	names_stop(recorder);
	assert_int_equal(kill(holder, 0), 0); /* it has not even begun */
	remove_dir(dir);
}

static void the_holder_is_nobodys_child_and_holds_nothing_else(void **unused)
{
	char dir[] = "/tmp/holdup-test-names-XXXXXX";
	struct names_recorder *recorder = start_held(dir);
	pid_t holder = names_holder(recorder);
	AUTO_FREE char *path = xasprintf("/proc/%d/fd", (int)holder);
	DIR *fds = opendir(path);
	struct dirent *entry;
	size_t events = 0;

	assert_non_null(fds);
	while ((entry = readdir(fds))) {
		char link[256] = "";

		if (readlinkat(dirfd(fds), entry->d_name, link, sizeof(link) - 1) < 0)
			continue; /* "." */
		if (!strcmp(link, "anon_inode:[perf_event]"))
			events++;
		else if (strncmp(link, "socket:", 7) != 0)
			assert_non_null(strstr(link, "tracing"));
	}
	closedir(fds);
	assert_true(events > 0);
	assert_int_equal(getsid(holder), holder);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child: no zombie either */
	assert_int_equal(errno, ECHILD);
	names_stop(recorder);
	remove_dir(dir);
}

static void the_holder_of_a_killed_recorder_ends(void **unused)
{
	char dir[] = "/tmp/holdup-test-names-XXXXXX";
	struct names_recorder *recorder = NULL;
	pid_t child, holder = 0;
	int status, fds[2];

	assert_int_equal(pipe(fds), 0);
	names_stop(start_held(dir)); /* skips here if it must */
	remove_dir(dir);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* to see its end */
	assert_int_equal(mkdir(dir, 0700), 0);
	child = fork();
	if (child == 0) {
		start(dir, &recorder);
		holder = names_holder(recorder);
		if (write(fds[1], &holder, sizeof(holder)) == sizeof(holder))
			pause();
		_exit(3);
	}
	assert_int_equal(read(fds[0], &holder, sizeof(holder)), sizeof(holder));
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	(void)alarm(60); /* never seen: 2 s, or 5 s beside other recorders */
	assert_int_equal(waitpid(holder, &status, 0), holder);
	(void)alarm(0);
	assert_int_equal(status, 0);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
	remove_dir(dir);
	close(fds[0]);
	close(fds[1]);
}

static void a_folder_that_is_not_there_is_an_error(void **unused)
{
	struct names_recorder *recorder = NULL;
	struct err err = { 0 };

	assert_true(names_start("/nonexistent", 0, false, &recorder, &err) < 0);
	assert_null(recorder);
	assert_true(err.text[0]);
	names_stop(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_those_of_the_state_dump),
		cmocka_unit_test(a_connection_under_way_has_its_peer),
		cmocka_unit_test(the_end_does_not_wait_for_detaching),
		cmocka_unit_test(the_holder_is_nobodys_child_and_holds_nothing_else),
		cmocka_unit_test(the_holder_of_a_killed_recorder_ends),
		cmocka_unit_test(a_folder_that_is_not_there_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
