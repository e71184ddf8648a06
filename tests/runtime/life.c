/*
 * life.c - what processes and threads do in their lives, while they log.
 *
 * usage: probe-life CASE [PLUGIN]; the cases are in the table at the end. Each process says for
 * its trace "trace PATH N": so many events load:plain of thread numbers 0 and up are in it.
 */
#include <holdup/trace.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

HOLDUP_EVENT(life, step, (u64, n))
HOLDUP_EVENT(other, step, (u64, n))

#define OTHERS 4
#define ROUNDS 200

static uint64_t steps; /* logged by this process, atomic */
static int stop;

static void step(void)
{
	holdup_life_step(__atomic_add_fetch(&steps, 1, __ATOMIC_RELAXED));
}

static void *log_on(void *unused)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		step();
	return unused;
}

static void tell(const char *who)
{
	char dir[2048] = "", line[4096];
	int length;

	(void)holdup_trace_dir(dir, sizeof(dir));
	length = snprintf(line, sizeof(line), "%s %s %llu %llu\n", who, dir,
			  (unsigned long long)__atomic_load_n(&steps, __ATOMIC_RELAXED),
			  (unsigned long long)holdup_lost_count());
	if (write(STDOUT_FILENO, line, (size_t)length) != length)
		_exit(2);
}

static pthread_t others[OTHERS];

static void begin_others(void)
{
	for (int i = 0; i < OTHERS; i++)
		if (pthread_create(&others[i], NULL, log_on, NULL))
			exit(2);
}

static void end_others(void)
{
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < OTHERS; i++)
		(void)pthread_join(others[i], NULL);
}

static void await_child(pid_t child)
{
	int status = 0;

	if (child < 0 || waitpid(child, &status, 0) != child || status) {
		printf("child ended with %x\n", (unsigned)status);
		exit(1);
	}
}

static void child_logs(void)
{
	__atomic_store_n(&steps, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < 1000; i++)
		step();
	tell("trace");
}

static int run_fork(const char *unused)
{
	(void)unused;
	begin_others();
	for (int i = 0; i < ROUNDS / 10; i++) {
		pid_t child = fork();

		if (child == 0) {
			child_logs();
			if (i % 2)
				exit(0);
			_exit(0);
		}
		await_child(child);
	}
	end_others();
	step();
	tell("trace");
	return 0;
}

/* Nobody tells the library. */
static int run_clone(const char *unused)
{
	(void)unused;
	step();
	for (int i = 0; i < 20; i++) {
		pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

		if (child == 0) {
			if (i % 2)
				child_logs();
			exit(0);
		}
		await_child(child);
		step();
	}
	tell("trace");
	return 0;
}

static int run_vfork(const char *unused)
{
	(void)unused;
	begin_others();
	for (int i = 0; i < 50; i++) {
		pid_t child = vfork();

		if (child == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		await_child(child);
	}
	end_others();
	tell("trace");
	return 0;
}

static int run_exec(const char *unused)
{
	(void)unused;
	begin_others();
	(void)usleep(20000);
	tell("partly");
	execl("/proc/self/exe", "probe-life", "clone", (char *)NULL);
	return 2;
}

static void *log_little(void *unused)
{
	for (int i = 0; i < 50; i++)
		step();
	return unused;
}

static int run_threads(const char *unused)
{
	pthread_t thread;

	(void)unused;
	begin_others();
	for (int i = 0; i < 2000; i++) {
		if (pthread_create(&thread, NULL, log_little, NULL))
			return 2;
		(void)pthread_join(thread, NULL);
	}
	end_others();
	tell("trace");
	return 0;
}

/* Cancelled while it has much to do, so often where packets and files are made. */
static void *log_long(void *unused)
{
	static const char text[8000] = { 0 };

	(void)text;
	for (;;) {
		step();
		if (!unused)
			pthread_testcancel();
	}
	return NULL;
}

static int run_cancel(const char *unused)
{
	pthread_t thread;
	void *result;

	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		if (pthread_create(&thread, NULL, log_long, NULL))
			return 2;
		(void)usleep((useconds_t)(i % 7) * 300);
		(void)pthread_cancel(thread);
		(void)pthread_join(thread, &result);
		if (result != PTHREAD_CANCELED)
			return 1;
	}
	step();
	tell("trace");
	return 0;
}

/* A thread that was in the plugin sleeps while it goes, and comes back to code of ours. */
static sem_t in_plugin, plugin_gone;
static void (*volatile plugin_step)(uint64_t n);

static void *visit_plugin(void *unused)
{
	for (uint64_t i = 0; i < 100; i++)
		plugin_step(i);
	(void)sem_post(&in_plugin);
	while (sem_wait(&plugin_gone) < 0 && errno == EINTR)
		;
	step();
	return unused;
}

static int run_dlclose(const char *plugin)
{
	pthread_t thread;

	(void)sem_init(&in_plugin, 0, 0);
	(void)sem_init(&plugin_gone, 0, 0);
	begin_others();
	for (int i = 0; i < ROUNDS; i++) {
		void *handle = dlopen(plugin, RTLD_NOW);

		if (!handle)
			return 2;
		plugin_step = (void (*)(uint64_t))dlsym(handle, "plugin_step");
		if (pthread_create(&thread, NULL, visit_plugin, NULL))
			return 2;
		(void)sem_wait(&in_plugin);
		if (dlclose(handle))
			return 1;
		(void)sem_post(&plugin_gone);
		(void)pthread_join(thread, NULL);
		plugin_step = NULL;
	}
	end_others();
	tell("trace");
	return 0;
}

/* Streams of all events into a folder of such a name here. */
static struct holdup_options streams_in(const char *name)
{
	static char path[1024];
	size_t end;

	if (!getcwd(path, sizeof(path) / 2))
		exit(2);
	end = strlen(path);
	(void)snprintf(path + end, sizeof(path) - end, "/%s", name);
	return (struct holdup_options){ sizeof(struct holdup_options), path, HOLDUP_STREAM, 0,
					"all" };
}

/* Each trace is whole; none of them has more than was logged. */
static int run_sessions(const char *unused)
{
	char dir[2048];
	struct holdup_options options = streams_in("sessions");

	(void)unused;
	begin_others();
	for (int i = 0; i < ROUNDS / 2; i++) {
		int rc;

		options.mode = i % 3 ? HOLDUP_STREAM : HOLDUP_FLIGHT;
		options.cpu_bytes = i % 3 ? 0 : 1 << 20;
		rc = holdup_start(&options);
		if (rc < 0) {
			printf("start %d: %d\n", i, rc);
			return 1;
		}
		(void)usleep(1000);
		(void)holdup_trace_dir(dir, sizeof(dir));
		printf("session %s 0 %llu\n", dir, (unsigned long long)holdup_lost_count());
		(void)fflush(stdout);
		if (i % 2)
			holdup_stop();
	}
	end_others();
	holdup_stop();
	return 0;
}

/* One after the other, without a stop between them: every event is in one of them. */
static int run_anew(const char *unused)
{
	const struct holdup_options options = streams_in("anew");

	(void)unused;
	if (holdup_start(&options) < 0)
		return 1;
	begin_others();
	for (int i = 0; i < ROUNDS / 8; i++) {
		(void)usleep(500);
		if (holdup_start(&options) < 0)
			return 1;
	}
	end_others();
	tell("last");
	return 0;
}

/* Many traces: nothing may run out, of the little that there is. */
static int run_many(const char *unused)
{
	const struct rlimit few = { 64, 64 };
	const struct holdup_options options = streams_in("many");

	(void)unused;
	if (setrlimit(RLIMIT_NOFILE, &few) < 0)
		return 2;
	for (int i = 0; i < 200; i++) {
		if (holdup_start(&options) < 0)
			return 1;
		step();
		holdup_stop();
	}
	printf("lost %llu\n", (unsigned long long)holdup_lost_count());
	return holdup_lost_count() != 0;
}

static int run_switches(const char *unused)
{
	(void)unused;
	begin_others();
	for (uint64_t i = 0; i < 2000; i++) {
		if (holdup_disable("other") || holdup_enable("other:st*"))
			return 1;
		holdup_other_step(i); /* on: it must be there */
		if (holdup_disable("other:step"))
			return 1;
		holdup_other_step(1 << 20); /* off: it must not */
	}
	end_others();
	tell("trace");
	return 0;
}

static void at_exit(void)
{
	step();
	tell("trace");
}

static __attribute__((constructor)) void before_main(void)
{
	step();
}

static __attribute__((destructor)) void after_main(void)
{
	step();
}

/* One in a constructor, one in main(), one in atexit(), and one in a destructor, untold. */
static int run_ends(const char *unused)
{
	(void)unused;
	step();
	return atexit(at_exit);
}

/* exit() unregisters the events under the threads' feet. */
static int run_exit(const char *unused)
{
	(void)unused;
	begin_others();
	(void)usleep(5000);
	tell("partly");
	return 0;
}

static const struct {
	const char *name;
	int (*run)(const char *plugin);
} cases[] = {
	{ "fork", run_fork },	    { "clone", run_clone },	  { "vfork", run_vfork },
	{ "exec", run_exec },	    { "threads", run_threads },	  { "cancel", run_cancel },
	{ "dlclose", run_dlclose }, { "sessions", run_sessions }, { "many", run_many },
	{ "anew", run_anew },	    { "switches", run_switches }, { "ends", run_ends },
	{ "exit", run_exit },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(argv[1], cases[i].name) == 0)
			return cases[i].run(argc > 2 ? argv[2] : "");
	}
	return 2;
}
