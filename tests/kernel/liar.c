/*
 * liar.c - a hostile command: its own events say that other threads wrote them.
 *
 * usage: liar OUT SECONDS TID...       TID may be "self"
 *
 * For each TID a job that takes too long, by the model of rights.py, in the name of that
 * thread. Then it stays for SECONDS. OUT becomes the number of SIGUSR1 that it got itself.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <holdup/trace.h>

HOLDUP_EVENT(work, job_begin, (u32, job), (flow, flow))
HOLDUP_EVENT(work, job_end, (u32, job), (flow, flow))

#define LONG_US 80000 /* more than the 50 ms of the model */

extern __thread int32_t holdup_tid_; /* the library's idea of who writes */

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
	(void)number;
	signals++;
}

static void lie(uint32_t job, const char *tid)
{
	holdup_tid_ = strcmp(tid, "self") == 0 ? (int32_t)gettid() : (int32_t)atoi(tid);
	holdup_work_job_begin(job, 5000 + job);
	usleep(LONG_US);
	holdup_work_job_end(job, 5000 + job);
}

static void stay(double seconds)
{
	struct timespec left = { .tv_sec = (time_t)seconds,
				 .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) };

	while (nanosleep(&left, &left) < 0)
		;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	FILE *out;

	if (argc < 3)
		return 2;
	(void)sigaction(SIGUSR1, &action, NULL);
	for (int i = 3; i < argc; i++)
		lie((uint32_t)i - 2, argv[i]);
	stay(atof(argv[2]));
	out = fopen(argv[1], "w");
	if (!out)
		return 3;
	fprintf(out, "%d\n", (int)signals);
	return fclose(out) == 0 ? 0 : 3;
}
