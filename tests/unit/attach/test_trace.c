/* test_trace.c - what processes leave: cut clean, copied, counted. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "packet_maker.h"
#include "attach/trace.h"

struct fixture {
	char dir[64], out[64];
	int fd, out_fd;
	struct made_packet *packets; /* three */
};

static int open_dir(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int set_up(void **state)
{
	struct fixture *made = xcalloc(1, sizeof(*made));

	strcpy(made->dir, "/tmp/holdup-user-XXXXXX");
	strcpy(made->out, "/tmp/holdup-user-XXXXXX");
	if (!mkdtemp(made->dir) || !mkdtemp(made->out))
		return -1;
	made->fd = open_dir(made->dir);
	made->out_fd = open_dir(made->out);
	made->packets = xcalloc(3, sizeof(*made->packets));
	for (uint64_t i = 0; i < 3; i++)
		packet_init(&made->packets[i], 4, i);
	text_write(made->dir, "metadata", MADE_METADATA(MADE_COUNTER, "", ""));
	*state = made;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *made = *state;
	AUTO_FREE char *command = xasprintf("rm -rf %s %s", made->dir, made->out);

	mem_close_fd(&made->fd);
	mem_close_fd(&made->out_fd);
	free(made->packets);
	free(made);
	return system(command);
}

static void packets_that_never_began_are_cut_off(void **state)
{
	struct fixture *made = *state;
	struct user_sum sum;

	packet_event(&made->packets[0], 100, 7, 1);
	packet_event(&made->packets[0], 110, 7, 2);
	packets_write(made->dir, "cpu4-000001", made->packets, 3);
	packets_write(made->dir, "cpu4-000002", made->packets + 1, 2);
	packets_write(made->dir, ".next4-3-99", made->packets + 1, 2);
	text_write(made->dir, ".metadata", "/* CTF");
	assert_true(user_trace_trim(made->fd, &sum));
	assert_int_equal(size_of(made->dir, "cpu4-000001"), USER_PACKET);
	assert_int_equal(size_of(made->dir, "cpu4-000002"), -1);
	assert_int_equal(size_of(made->dir, ".next4-3-99"), -1);
	assert_int_equal(size_of(made->dir, ".metadata"), -1);
	assert_int_equal(sum.packets, 1);
	assert_int_equal(sum.bytes, 48); /* behind 108 bytes: 4 of padding, 20, 4, 20 */
	assert_int_equal(sum.pid, 7);
	assert_true(sum.is_flight);
	assert_false(sum.in_use);
}

static void a_folder_without_an_event_is_emptied(void **state)
{
	struct fixture *made = *state;
	struct user_sum sum;

	packets_write(made->dir, "cpu4-000001", made->packets, 3);
	assert_false(user_trace_trim(made->fd, &sum));
	assert_int_equal(rmdir(made->dir), 0);
}

/* To cut a file that is mapped would end the process that has it. */
static void files_of_a_living_process_are_left_alone(void **state)
{
	struct fixture *made = *state;
	AUTO_FREE char *path = xasprintf("%s/cpu4-000001", made->dir);
	struct user_sum sum;
	void *memory;
	int fd;

	packet_event(&made->packets[0], 100, 7, 1);
	packets_write(made->dir, "cpu4-000001", made->packets, 3);
	fd = open(path, O_RDWR | O_CLOEXEC);
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd); /* the library has no descriptor of it either */
	assert_true(user_trace_trim(made->fd, &sum));
	assert_true(sum.in_use);
	assert_int_equal(sum.packets, 1);
	assert_int_equal(size_of(made->dir, "cpu4-000001"), 3 * USER_PACKET);
	munmap(memory, 4096);
	assert_true(user_trace_trim(made->fd, &sum));
	assert_int_equal(size_of(made->dir, "cpu4-000001"), USER_PACKET);
}

static struct user_packet head_of(const char *dir, const char *name)
{
	AUTO_FREE char *path = xasprintf("%s/%s", dir, name);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct user_packet head = { 0 };

	assert_int_equal(read(fd, &head, sizeof(head)), sizeof(head));
	return head;
}

/* Reserved by two, written by one: nothing behind the hole counts. */
static void half_written_bytes_are_told_and_left_out(void **state)
{
	struct fixture *made = *state;
	struct user_packet *head = &made->packets[0].head;
	struct user_sum sum;
	uint64_t content;

	packet_event(&made->packets[0], 100, 7, 1);
	content = head->content_bits / 8;
	head->reserved = (content + 60) | USER_CLOSED;
	head->committed = content + 24;
	packets_write(made->dir, "cpu4-000001", made->packets, 1);
	assert_int_equal(user_trace_copy(made->fd, made->out_fd, NULL, &sum, NULL), 0);
	assert_int_equal(sum.half_bytes, 60);
	assert_int_equal(head_of(made->out, "cpu4-000001").reserved, content);
	assert_int_equal(head_of(made->out, "cpu4-000001").committed, content);
	assert_int_equal(head_of(made->out, "cpu4-000001").content_bits, content * 8);
}

/* The last writer had committed, and died before it said that all is content. */
static void what_is_committed_whole_is_published(void **state)
{
	struct fixture *made = *state;
	struct user_packet *head = &made->packets[0].head;
	struct user_sum sum;
	uint64_t content;

	packet_event(&made->packets[0], 100, 7, 1);
	packet_event(&made->packets[0], 101, 7, 2);
	content = head->content_bits / 8;
	head->reserved = head->committed = content;
	head->content_bits -= 24 * 8;
	packets_write(made->dir, "cpu4-000001", made->packets, 1);
	assert_true(user_trace_trim(made->fd, &sum));
	assert_int_equal(sum.half_bytes, 0);
	assert_int_equal(head_of(made->dir, "cpu4-000001").content_bits, content * 8);
}

static void a_copy_has_what_is_whole(void **state)
{
	struct fixture *made = *state;
	struct user_sum sum;

	packet_event(&made->packets[0], 100, 7, 1);
	packet_event(&made->packets[1], 200, 7, 2);
	made->packets[1].head.lost = 5;
	packets_write(made->dir, "cpu4-000009", made->packets, 1);
	packets_write(made->dir, "cpu4-000010", made->packets + 1, 2);
	assert_int_equal(user_trace_copy(made->fd, made->out_fd, NULL, &sum, NULL), 0);
	assert_int_equal(size_of(made->out, "cpu4-000009"), USER_PACKET);
	assert_int_equal(size_of(made->out, "cpu4-000010"), USER_PACKET);
	assert_int_equal(size_of(made->out, "metadata"), size_of(made->dir, "metadata"));
	assert_int_equal(sum.packets, 2);
	assert_int_equal(sum.lost, 5);
	assert_int_equal(size_of(made->dir, "cpu4-000010"), 2 * USER_PACKET); /* as it was */
}

/* Of a CPU the packet that was written to as the time began has events of it; one that began behind its end has none. */
static void a_copy_of_a_time_has_the_packets_of_it(void **state)
{
	struct fixture *made = *state;
	struct user_part part = { .counter = { 250, 300 },
				  .monotonic = { 0, 1 },
				  .most_bytes = UINT64_MAX };
	struct user_sum sum;

	packet_event(&made->packets[0], 100, 7, 1);
	packet_event(&made->packets[1], 200, 7, 2);
	packet_event(&made->packets[2], 301, 7, 3);
	/* They are used in turn: the name does not tell which one is older. */
	packets_write(made->dir, "cpu4-000001", made->packets + 2, 1);
	packets_write(made->dir, "cpu4-000002", made->packets, 1);
	packets_write(made->dir, "cpu4-000003", made->packets + 1, 1);
	assert_int_equal(user_trace_copy(made->fd, made->out_fd, &part, &sum, NULL), 0);
	assert_true(sum.has_counter);
	assert_int_equal(sum.packets, 1);
	assert_int_equal(size_of(made->out, "cpu4-000001"), -1);
	assert_int_equal(size_of(made->out, "cpu4-000002"), -1);
	assert_int_equal(size_of(made->out, "cpu4-000003"), USER_PACKET);
}

static void a_copy_ends_where_there_is_no_room(void **state)
{
	struct fixture *made = *state;
	struct user_part part = { .counter = { 0, 1000 }, .most_bytes = 150 };
	struct user_sum sum;

	packet_event(&made->packets[0], 100, 7, 1);
	packet_event(&made->packets[1], 200, 7, 2);
	packets_write(made->dir, "cpu4-000001", made->packets, 2);
	assert_int_equal(user_trace_copy(made->fd, made->out_fd, &part, &sum, NULL), -EFBIG);
}

static void damaged_packets_cost_themselves(void **state)
{
	struct fixture *made = *state;
	struct user_sum sum;

	for (int i = 0; i < 3; i++)
		packet_event(&made->packets[i], 100 + (uint64_t)i, 7, 1);
	made->packets[0].head.magic = 1;
	made->packets[1].head.content_bits = UINT64_MAX - 6;
	packets_write(made->dir, "cpu4-000001", made->packets, 3);
	assert_int_equal(user_trace_copy(made->fd, made->out_fd, NULL, &sum, NULL), 0);
	assert_int_equal(sum.damaged, 2);
	assert_int_equal(sum.packets, 1);
	assert_int_equal(size_of(made->out, "cpu4-000001"), USER_PACKET);
}

/* Links, and names that are none of the library's, are somebody's trap. */
static void what_is_not_a_file_of_the_library_is_not_touched(void **state)
{
	struct fixture *made = *state;
	AUTO_FREE char *link = xasprintf("%s/cpu1-000001", made->dir);
	AUTO_FREE char *fifo = xasprintf("%s/cpu2-000001", made->dir);
	AUTO_FREE char *aim = xasprintf("%s/aim", made->out);
	struct user_sum sum;

	packets_write(made->out, "aim", made->packets, 2);
	assert_int_equal(symlink(aim, link), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	text_write(made->dir, "cpu4-000001.txt", "mine");
	text_write(made->dir, "cpux", "mine");
	packet_event(&made->packets[0], 100, 7, 1);
	packets_write(made->dir, "cpu4-000001", made->packets, 1);
	assert_true(user_trace_trim(made->fd, &sum));
	assert_int_equal(size_of(made->out, "aim"), 2 * USER_PACKET);
	assert_int_equal(size_of(made->dir, "cpu4-000001.txt"), 4);
	assert_int_equal(size_of(made->dir, "cpux"), 4);
	assert_int_equal(sum.packets, 1);
}

static void a_description_cut_in_the_middle_goes(void **unused)
{
	static const char whole[] = "/* x; */\ntypealias a := b;\nevent {\n\tname = \"a};\";\n};\n";
	char text[256];

	assert_int_equal(user_whole_blocks(whole, strlen(whole)), strlen(whole));
	for (size_t cut = 0; cut < strlen(whole); cut++) {
		size_t got;

		memcpy(text, whole, cut);
		got = user_whole_blocks(text, cut);
		assert_true(got <= cut);
		if (cut < 27)
			assert_true(got <= 9 || got >= 26); /* the comment, or the first line */
		else if (cut < strlen(whole) - 1)
			assert_int_equal(got, 27);
	}
}

static void count(void *context, int parent_fd, const char *name)
{
	(void)parent_fd;
	*(size_t *)context += strcmp(name, "x") == 0 || strcmp(name, "y") == 0;
}

static void folders_are_found_below(void **state)
{
	struct fixture *made = *state;
	AUTO_FREE char *command =
		xasprintf("mkdir -p %s/a/x %s/y && touch %s/a/x/metadata %s/y/metadata", made->out,
			  made->out, made->out, made->out);
	size_t found = 0;

	assert_int_equal(system(command), 0);
	assert_true(user_traces_each(made->out_fd, count, &found));
	assert_int_equal(found, 2);
}

/* Another process that has a lease for a moment, as the library's helper does. 'told' hears of it. */
static pid_t lease_for_a_moment(const char *path, int told[2])
{
	const struct timespec moment = { .tv_nsec = 50000000 };
	pid_t pid = fork();

	if (pid == 0) {
		int fd = open(path, O_RDWR | O_CLOEXEC);
		char good = 'n';

		/* Who opens it makes a signal that does nothing. */
		if (fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_WRLCK) == 0)
			good = 'y';
		if (write(told[1], &good, 1) != 1)
			_exit(1);
		for (int i = 0; i < 4; i++) /* SIGURG does not end it, either */
			(void)nanosleep(&moment, NULL);
		(void)fcntl(fd, F_SETLEASE, F_UNLCK);
		_exit(0);
	}
	return pid;
}

static void a_file_that_has_a_lease_is_waited_for(void **state)
{
	struct fixture *made = *state;
	AUTO_FREE char *path = xasprintf("%s/cpu4-000001", made->dir);
	struct user_sum sum = { 0 };
	int told[2], status = -1;
	char good = 'n';
	pid_t pid;

	packet_event(&made->packets[0], 100, 7, 1);
	packets_write(made->dir, "cpu4-000001", made->packets, 3);
	assert_int_equal(pipe(told), 0);
	pid = lease_for_a_moment(path, told);
	assert_true(pid > 0);
	assert_int_equal(read(told[0], &good, 1), 1);
	if (good == 'y') {
		assert_int_equal(open(path, O_RDONLY | O_NONBLOCK), -1);
		assert_int_equal(errno, EWOULDBLOCK);
	}
	user_trace_count(made->fd, &sum);
	assert_int_equal(sum.packets, 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(told[0]);
	close(told[1]);
}

/* A file may claim any size: what is a hole costs no time, and none of it stays at the end. */
static void a_hole_is_not_walked_through(void **state)
{
	struct fixture *made = *state;
	AUTO_FREE char *path = xasprintf("%s/cpu4-000001", made->dir);
	const uint64_t last = (uint64_t)1 << 43;
	struct user_sum sum;

	packet_event(&made->packets[0], 100, 7, 1);
	packet_event(&made->packets[1], 200, 7, 1);
	packets_write(made->dir, "cpu4-000001", made->packets, 1);
	{
		AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

		if (pwrite(fd, &made->packets[1], USER_PACKET, (off_t)(last - USER_PACKET)) !=
		    USER_PACKET)
			skip(); /* no file may be so large here */
		assert_int_equal(ftruncate(fd, (off_t)(last + (last >> 1))), 0);
	}
	assert_int_equal(user_trace_copy(made->fd, made->out_fd, NULL, &sum, NULL), 0);
	assert_int_equal(sum.packets, 2);
	assert_int_equal(size_of(made->out, "cpu4-000001"), 2 * USER_PACKET);
	assert_true(user_trace_trim(made->fd, &sum));
	assert_int_equal(sum.packets, 2);
	assert_in_range(sum.damaged, last / USER_PACKET - 2, last / USER_PACKET * 3 / 2);
	assert_in_range(size_of(made->dir, "cpu4-000001"), last, last + USER_PACKET);
}

int main(void)
{
#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_FOLDER(packets_that_never_began_are_cut_off),
		WITH_FOLDER(a_folder_without_an_event_is_emptied),
		WITH_FOLDER(files_of_a_living_process_are_left_alone),
		WITH_FOLDER(half_written_bytes_are_told_and_left_out),
		WITH_FOLDER(what_is_committed_whole_is_published),
		WITH_FOLDER(a_copy_has_what_is_whole),
		WITH_FOLDER(a_copy_of_a_time_has_the_packets_of_it),
		WITH_FOLDER(a_copy_ends_where_there_is_no_room),
		WITH_FOLDER(damaged_packets_cost_themselves),
		WITH_FOLDER(a_hole_is_not_walked_through),
		WITH_FOLDER(what_is_not_a_file_of_the_library_is_not_touched),
		WITH_FOLDER(a_file_that_has_a_lease_is_waited_for),
		cmocka_unit_test(a_description_cut_in_the_middle_goes),
		WITH_FOLDER(folders_are_found_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
