/*
 * server.c - run the program's commands one after the other, each in a process of its own.
 *
 *	mutate_server
 *
 * Loading a program and its libraries costs more than reading a small trace does. So they are loaded
 * once, and each run is a fork of that. A request on stdin is a line with the number of bytes that
 * follow, and that many bytes: texts that end in NUL. They are the folder to run in, the files for
 * stdout and stderr, and the words of the command line from "holdup" on. The answer on stdout is a
 * line: wait status, KiB of memory at most, microseconds on a CPU.
 *
 * Limits are in the environment: MUTATE_SECONDS on a CPU (and four times that at all), MUTATE_SPACE
 * in MiB of addresses (0: no limit), MUTATE_FILE in MiB of a file that it writes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

#define MOST_WORDS 64
#define MOST_BYTES (1u << 20)
#define COULD_NOT  98 /* exit status of a run that could not be set up */

int holdup_main(int argc, char **argv); /* main() of the program */

static rlim_t limit_of(const char *name, rlim_t usual)
{
	const char *text = getenv(name);

	return text ? (rlim_t)strtoul(text, NULL, 10) : usual;
}

static void set_limit(int what, rlim_t value, rlim_t more)
{
	const struct rlimit limit = { .rlim_cur = value, .rlim_max = value + more };

	if (setrlimit(what, &limit) < 0)
		_exit(COULD_NOT);
}

static void set_limits(void)
{
	const rlim_t seconds = limit_of("MUTATE_SECONDS", 20);
	const rlim_t space = limit_of("MUTATE_SPACE", 1024);

	set_limit(RLIMIT_CPU, seconds, 2);
	set_limit(RLIMIT_FSIZE, limit_of("MUTATE_FILE", 256) << 20, 0);
	if (space > 0)
		set_limit(RLIMIT_AS, space << 20, 0);
	alarm((unsigned)seconds * 4);
}

static void redirect(int fd, const char *path)
{
	AUTO_CLOSE int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (file < 0 || dup2(file, fd) < 0)
		_exit(COULD_NOT);
}

/* words: folder, stdout, stderr, command line. */
static void run(char **words, int count)
{
	AUTO_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || chdir(words[0]) < 0)
		_exit(COULD_NOT);
	redirect(STDOUT_FILENO, words[1]);
	redirect(STDERR_FILENO, words[2]);
	set_limits();
	exit(holdup_main(count - 3, words + 3));
}

static void answer(pid_t pid)
{
	struct rusage used = { 0 };
	int status = 0;

	while (wait4(pid, &status, 0, &used) < 0 && errno == EINTR)
		;
	printf("%d %ld %lld\n", status, used.ru_maxrss,
	       (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000LL + used.ru_utime.tv_usec +
		       used.ru_stime.tv_usec);
	fflush(stdout);
}

static int split(char *text, size_t bytes, char **words)
{
	int count = 0;

	for (char *at = text; at < text + bytes && count < MOST_WORDS; at += strlen(at) + 1)
		words[count++] = at;
	words[count] = NULL;
	return count;
}

/* Returns whether there was one. */
static bool one_request(void)
{
	char line[32], *words[MOST_WORDS + 1];
	AUTO_FREE char *text = NULL;
	size_t bytes;
	int count;
	pid_t pid;

	if (!fgets(line, sizeof(line), stdin))
		return false;
	bytes = strtoul(line, NULL, 10);
	if (bytes == 0 || bytes > MOST_BYTES)
		return false;
	text = xmalloc(bytes + 1);
	if (fread(text, 1, bytes, stdin) != bytes)
		return false;
	text[bytes] = '\0';
	count = split(text, bytes, words);
	if (count < 4)
		return false;
	pid = fork();
	if (pid < 0)
		return false;
	if (pid == 0)
		run(words, count);
	answer(pid);
	return true;
}

int main(void)
{
	bool more = true;

	while (more)
		more = one_request();
	return 0;
}
