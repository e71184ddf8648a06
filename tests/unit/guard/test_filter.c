/* A reader: what it can do, and how it ends when it does something else. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>
#include <seccomp.h>

#include "base/err.h"
#include "guard/caps.h"
#include "guard/drop.h"
#include "guard/filter.h"
#include "guard/user.h"

#define NOBODY_KNOWS 4095 /* the number of no call */

static uint32_t support; /* asked before: a reader may not ask */
static char folder[] = "/var/tmp/holdup-filter-XXXXXX";

typedef int filter_function(const struct guard_place *places, size_t count, struct err *err);

/* Run 'act' in a child that was filtered, with its message thrown away. Returns the wait status. */
static int as_filtered(filter_function *filter, void (*act)(const void *), const void *argument)
{
	const struct guard_place places[] = { { .path = folder } };
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		struct err err = { 0 };
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		(void)dup2(null, STDERR_FILENO);
		if (filter(places, 1, &err) < 0)
			_exit(99);
		act(argument);
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static int as_reader(void (*act)(const void *), const void *argument)
{
	return as_filtered(guard_filter_reader, act, argument);
}

static bool was_stopped(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

static bool went_well(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* In a build with sanitizers, or on such a kernel; "skipped" would be a failure to some readers of TAP. */
static bool cannot_test(enum guard_filter_part part)
{
	bool cannot = guard_filter_is_wide() || !(guard_filter_support() & part);

	if (cannot)
		puts("# not tested: a build with sanitizers, or a kernel without it");
	return cannot;
}

/* With arguments that make the call itself fail, were it made. */
static void make_call(const void *number)
{
	long rc = syscall(*(const int *)number, -1L, -1L, -1L, -1L, -1L, -1L);

	_exit(rc < 0 ? errno : 0);
}

static void each_call_that_reading_never_makes_ends_the_process(void **unused)
{
	size_t count = 0;

	if (cannot_test(GUARD_FILTER_CALLS))
		return;
	for (size_t i = 0; guard_filter_forbidden(i); i++) {
		int number = seccomp_syscall_resolve_name(guard_filter_forbidden(i));
		int status;

		if (number < 0)
			continue;
		status = as_reader(make_call, &number);
		if (!was_stopped(status))
			fail_msg("%s(): wait status %x", guard_filter_forbidden(i), status);
		count++;
	}
	assert_true(count > 80);
}

/* A socket that listens, and one end of a connection to it. */
struct door {
	int listens, guest;
};

static void answer_at_the_door(const void *argument)
{
	const struct door *door = argument;
	char word[4] = "";
	int fd = accept4(door->listens, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0 || recv(fd, word, 3, 0) != 3 || send(fd, "yes", 3, MSG_NOSIGNAL) != 3)
		_exit(1);
	(void)shutdown(fd, SHUT_RDWR);
}

static void a_server_answers_on_a_socket_that_listens(void **unused)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(address);
	struct door door = { socket(AF_INET, SOCK_STREAM, 0), socket(AF_INET, SOCK_STREAM, 0) };
	char word[4] = "";

	assert_int_equal(bind(door.listens, (struct sockaddr *)&address, bytes), 0);
	assert_int_equal(listen(door.listens, 1), 0);
	assert_int_equal(getsockname(door.listens, (struct sockaddr *)&address, &bytes), 0);
	assert_int_equal(connect(door.guest, (struct sockaddr *)&address, bytes), 0);
	assert_int_equal(send(door.guest, "hey", 3, 0), 3);
	assert_true(went_well(as_filtered(guard_filter_server, answer_at_the_door, &door)));
	assert_int_equal(recv(door.guest, word, 3, 0), 3);
	assert_string_equal(word, "yes");
	close(door.guest);
	close(door.listens);
}

static void a_server_makes_no_socket_and_reaches_nobody(void **unused)
{
	static const char *const names[] = { "socket", "socketpair", "connect", "bind",
					     "listen", "execve",     "ptrace",	"recvmsg" };

	if (cannot_test(GUARD_FILTER_CALLS))
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int number = seccomp_syscall_resolve_name(names[i]);

		if (!was_stopped(as_filtered(guard_filter_server, make_call, &number)))
			fail_msg("%s() did not end a server", names[i]);
	}
}

static void set_modes(const void *argument)
{
	const int *fd = argument;
	struct termios modes;

	if (tcgetattr(*fd, &modes) < 0)
		_exit(2);
	errno = 0;
	_exit(tcsetattr(*fd, TCSADRAIN, &modes) < 0 ? 1 : 0);
}

static void type_a_key(const void *argument)
{
	(void)ioctl(*(const int *)argument, TIOCSTI, "x");
}

static void a_screen_sets_modes_and_types_nothing(void **unused)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY);

	assert_true(fd >= 0);
	if (cannot_test(GUARD_FILTER_CALLS))
		return;
	assert_true(went_well(as_filtered(guard_filter_screen, set_modes, &fd)));
	assert_false(went_well(as_filtered(guard_filter_reader, set_modes, &fd)));
	assert_true(was_stopped(as_filtered(guard_filter_screen, type_a_key, &fd)));
	close(fd);
}

static void nobodys_call_fails_as_in_an_older_kernel(void **unused)
{
	const int number = NOBODY_KNOWS;
	int status;

	if (cannot_test(GUARD_FILTER_CALLS))
		return;
	status = as_reader(make_call, &number);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), ENOSYS);
}

static void fork_it(const void *unused)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
}

static void kill_parent(const void *unused)
{
	(void)kill(getppid(), 0);
}

static void kill_thread_of_parent(const void *unused)
{
	(void)syscall(SYS_tgkill, getppid(), getppid(), 0);
}

static void type_into_the_terminal(const void *unused)
{
	(void)ioctl(STDIN_FILENO, TIOCSTI, "x");
}

static void type_with_high_bits(const void *unused)
{
	(void)syscall(SYS_ioctl, STDIN_FILENO, (1ul << 32) | TIOCSTI, "x");
}

static void make_a_space(const void *unused)
{
	(void)syscall(SYS_clone, 0x10000000ul /* CLONE_NEWUSER */ | SIGCHLD, NULL, NULL, NULL,
		      NULL);
}

#ifdef __x86_64__
/* getpid() by the entry for 32-bit programs, whose number is that of writev() here. */
static void call_as_32_bit(const void *unused)
{
	long rc = 20;

	__asm__ volatile("int $0x80" : "+a"(rc) : : "memory", "r8", "r9", "r10", "r11");
	_exit(0);
}

static void call_as_x32(const void *unused)
{
	(void)syscall(0x40000000 | SYS_getpid);
}
#endif

#ifdef __x86_64__
/* Kernels of some guests fault at that entry, whatever filter there is. */
static bool has_32_bit_entry(void)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		(void)signal(SIGSEGV, SIG_DFL);
		call_as_32_bit(NULL);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return went_well(status);
}
#endif

/* ------------------------------------------------------------------ who counts */

static int as_counter_filter(const struct guard_place *places, size_t count, struct err *err)
{
	(void)places;
	(void)count;
	return guard_filter_counter(err);
}

/* What has the number 'command', of bpf(); with rights or without. */
static void call_bpf(const void *command)
{
	char nothing[128] = { 0 };

	(void)syscall(SYS_bpf, *(const int *)command, nothing, sizeof(nothing));
}

static void read_nothing(const void *unused)
{
	char byte;

	(void)unused;
	(void)!read(-1, &byte, 1);
}

static void open_a_file(const void *unused)
{
	(void)unused;
	(void)open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void who_counts_can_do_nothing_else(void **unused)
{
	const int counts = 32 /* BPF_ENABLE_STATS */, loads = 5 /* BPF_PROG_LOAD */;

	(void)unused;
	if (cannot_test(GUARD_FILTER_CALLS) || guard_filter_is_wide())
		return;
	assert_true(went_well(as_filtered(as_counter_filter, read_nothing, NULL)));
	assert_true(went_well(as_filtered(as_counter_filter, call_bpf, &counts)));
	assert_true(was_stopped(as_filtered(as_counter_filter, call_bpf, &loads)));
	assert_true(was_stopped(as_filtered(as_counter_filter, open_a_file, NULL)));
	assert_true(was_stopped(as_filtered(as_counter_filter, fork_it, NULL)));
}

static void neither_processes_nor_signals_nor_typing_nor_other_entries(void **unused)
{
	void (*const acts[])(const void *) = {
		fork_it,
		kill_parent,
		kill_thread_of_parent,
		type_into_the_terminal,
		type_with_high_bits,
		make_a_space,
#ifdef __x86_64__
		call_as_x32,
		call_as_32_bit, /* the last, see below */
#endif
	};
	size_t count = sizeof(acts) / sizeof(acts[0]);

	if (cannot_test(GUARD_FILTER_CALLS))
		return;
#ifdef __x86_64__
	if (!has_32_bit_entry()) {
		puts("# not tested: the entry for 32-bit programs, which this kernel lacks");
		count--;
	}
#endif
	for (size_t i = 0; i < count; i++) {
		int status = as_reader(acts[i], NULL);

		if (!was_stopped(status))
			fail_msg("act %zu: wait status %x", i, status);
	}
}

static void *touch(void *memory)
{
	memset(memory, 1, 4096);
	return NULL;
}

/* What every command does. Ends with the line at which something went wrong. */
#define NEED(what)                             \
	do {                                   \
		if (!(what))                   \
			_exit(__LINE__ % 256); \
	} while (0)

static void read_and_compute(const void *unused)
{
	char *memory = malloc(1 << 20), text[256], name[64];
	pthread_t thread;
	FILE *in = fopen("/proc/self/status", "re");

	NEED(memory && in);
	NEED(fgets(text, sizeof(text), in));
	NEED(pthread_create(&thread, NULL, touch, memory) == 0);
	NEED(pthread_join(thread, NULL) == 0);
	NEED(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fileno(in), 0) == MAP_FAILED);
	NEED(raise(0) == 0 && kill(getpid(), 0) == 0);
	NEED(isatty(STDERR_FILENO) == 0 && errno == ENOTTY);
	NEED(usleep(1) == 0);
	(void)snprintf(name, sizeof(name), "%s/out", folder);
	NEED(fclose(in) == 0);
	in = fopen(name, "we");
	NEED(in && fputs("text\n", in) >= 0 && fclose(in) == 0);
	(void)snprintf(text, sizeof(text), "%s/renamed", folder);
	NEED(rename(name, text) == 0 && unlink(text) == 0);
	NEED(guard_filter_state() == support);
	free(memory);
}

static void reading_and_its_output_work(void **unused)
{
	int status = as_reader(read_and_compute, NULL);

	if (guard_filter_is_wide())
		return; /* the state is less there */
	if (!went_well(status))
		fail_msg("wait status %x", status);
}

static void write_elsewhere(const void *unused)
{
	NEED(open("/var/tmp/holdup-filter-x", O_WRONLY | O_CREAT, 0600) < 0 && errno == EACCES);
	NEED(mkdir("/var/tmp/holdup-filter-y", 0700) < 0 && errno == EACCES);
	NEED(open("/proc/self/mem", O_RDWR) < 0 && errno == EACCES);
	NEED(rename("/bin/sh", "/bin/holdup-filter") < 0);
	NEED(unlink("/var/tmp/holdup-filter-z") < 0);
}

static void nothing_is_written_elsewhere(void **unused)
{
	int status;

	if (cannot_test(GUARD_FILTER_FILES))
		return;
	status = as_reader(write_elsewhere, NULL);
	if (!went_well(status))
		fail_msg("wait status %x", status);
}

/* Whoever gets to run code here may try to switch the message off: it ends all the same. */
static void ignore_and_try(const void *unused)
{
	(void)signal(SIGSYS, SIG_IGN);
	(void)syscall(SYS_socket, 1, 1, 0);
}

static void block_and_try(const void *unused)
{
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)syscall(SYS_socket, 1, 1, 0);
}

static void ignoring_the_signal_does_not_help(void **unused)
{
	if (cannot_test(GUARD_FILTER_CALLS))
		return;
	assert_true(was_stopped(as_reader(ignore_and_try, NULL)));
	assert_true(was_stopped(as_reader(block_and_try, NULL)));
}

static void lend_and_take_back(const void *unused)
{
	const struct guard_user user = { .uid = 65534, .gid = 65534 };
	struct guard_lent lent;

	NEED(guard_lend(&user, &lent, NULL) == 0);
	NEED(open("/etc/shadow", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
	guard_take_back(&lent);
	NEED(close(open("/etc/shadow", O_RDONLY | O_CLOEXEC)) == 0);
	NEED(!(guard_caps_now() & GUARD_CAP(CAP_SYS_ADMIN)));
}

static void root_reads_without_its_rights_and_can_still_open_as_the_user(void **unused)
{
	int status;

	if (cannot_test(GUARD_FILTER_CALLS) || geteuid() != 0)
		return;
	status = as_reader(lend_and_take_back, NULL);
	if (!went_well(status))
		fail_msg("wait status %x", status);
}

static int make_folder(void **unused)
{
	support = guard_filter_support();
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **unused)
{
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_that_reading_never_makes_ends_the_process),
		cmocka_unit_test(a_server_answers_on_a_socket_that_listens),
		cmocka_unit_test(a_server_makes_no_socket_and_reaches_nobody),
		cmocka_unit_test(a_screen_sets_modes_and_types_nothing),
		cmocka_unit_test(nobodys_call_fails_as_in_an_older_kernel),
		cmocka_unit_test(neither_processes_nor_signals_nor_typing_nor_other_entries),
		cmocka_unit_test(who_counts_can_do_nothing_else),
		cmocka_unit_test(reading_and_its_output_work),
		cmocka_unit_test(nothing_is_written_elsewhere),
		cmocka_unit_test(ignoring_the_signal_does_not_help),
		cmocka_unit_test(root_reads_without_its_rights_and_can_still_open_as_the_user),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
