/*
 * flight-names.c - waits in known functions, on a known descriptor and for a known lock, when it is told to.
 * usage: flight-names FIFO        for each line of input: a read of descriptor 7, a lock; prints a line when both are over
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEDGER_FD 7
#define WAIT_MS	  700
#define HEAD_MS	  50 /* the holder has the lock by then */

static pthread_mutex_t ledger_lock = PTHREAD_MUTEX_INITIALIZER;

static void sleep_ms(long ms)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&pause, NULL);
}

static __attribute__((noinline)) int read_ledger(void)
{
	char byte;

	return (int)read(LEDGER_FD, &byte, 1);
}

static __attribute__((noinline)) int take_ledger(void)
{
	int rc = pthread_mutex_lock(&ledger_lock);

	return rc + pthread_mutex_unlock(&ledger_lock);
}

static void *hold(void *unused)
{
	prctl(PR_SET_NAME, "holder");
	pthread_mutex_lock(&ledger_lock);
	sleep_ms(HEAD_MS + WAIT_MS);
	pthread_mutex_unlock(&ledger_lock);
	return unused;
}

static void wait_for_writer(void)
{
	pid_t writer = fork();

	if (writer == 0) {
		prctl(PR_SET_NAME, "writer");
		sleep_ms(WAIT_MS);
		_exit(write(LEDGER_FD, "x", 1) != 1);
	}
	read_ledger();
	waitpid(writer, NULL, 0);
}

static void wait_for_holder(void)
{
	pthread_t holder;

	pthread_create(&holder, NULL, hold, NULL);
	sleep_ms(HEAD_MS);
	take_ledger();
	pthread_join(holder, NULL);
}

int main(int argc, char **argv)
{
	char line[16];
	int fd = argc == 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;

	if (fd < 0 || dup2(fd, LEDGER_FD) < 0)
		return 2;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		wait_for_writer();
		wait_for_holder();
		puts("done");
		fflush(stdout);
	}
	return 0;
}
