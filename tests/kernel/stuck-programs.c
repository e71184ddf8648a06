/*
 * stuck-programs.c - programs that are stuck, or only idle or busy, in one known way each.
 *
 * usage: stuck-programs KIND        says "ready" on stdout once it is, or is about to be
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fuse.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RING 3
#define BUSY 4

static pthread_mutex_t mutexes[2];
static pthread_rwlock_t rwlocks[2] = { PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER };
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t circle[RING];
static pthread_barrier_t barrier;
static sem_t semaphore;
static pthread_t ring[RING];
static FILE *file;
static int pipes[RING][2];

static void say_ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void make_mutexes(int type, int robust, int protocol)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutexattr_setrobust(&attr, robust);
	pthread_mutexattr_setprotocol(&attr, protocol);
	for (int i = 0; i < 2; i++)
		pthread_mutex_init(&mutexes[i], &attr);
}

static void run_two(void *(*run)(void *own))
{
	pthread_t threads[2];

	pthread_barrier_init(&barrier, NULL, 2);
	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run, (void *)i);
	say_ready();
	pthread_join(threads[0], NULL);
}

static void *lock_both(void *own)
{
	long i = (long)own;

	pthread_mutex_lock(&mutexes[i]);
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&mutexes[!i]);
	return NULL;
}

static void normal_mutexes(void)
{
	make_mutexes(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	run_two(lock_both);
}

static void recursive_mutexes(void)
{
	make_mutexes(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	run_two(lock_both);
}

static void robust_mutexes(void)
{
	make_mutexes(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
	run_two(lock_both);
}

static void pi_mutexes(void)
{
	make_mutexes(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
	run_two(lock_both);
}

static void *lock_next(void *own)
{
	size_t i = (size_t)own;

	pthread_mutex_lock(&circle[i]);
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&circle[(i + 1) % RING]);
	return NULL;
}

/* The owner of the mutex that the kernel refuses waits for the refused one through another. */
static void pi_ring(void)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_barrier_init(&barrier, NULL, RING);
	for (size_t i = 0; i < RING; i++)
		pthread_mutex_init(&circle[i], &attributes);
	for (size_t i = 0; i < RING; i++)
		pthread_create(&ring[i], NULL, lock_next, (void *)i);
	say_ready();
	pthread_join(ring[0], NULL);
}

static void mutex_twice(void)
{
	make_mutexes(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	say_ready();
	pthread_mutex_lock(&mutexes[0]);
	pthread_mutex_lock(&mutexes[0]);
}

/* A time limit ends it: no deadlock. */
static void *lock_timed(void *own)
{
	struct timespec until;
	long i = (long)own;

	pthread_mutex_lock(&mutexes[i]);
	pthread_barrier_wait(&barrier);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1000;
	if (i)
		pthread_mutex_timedlock(&mutexes[!i], &until);
	else
		pthread_mutex_lock(&mutexes[!i]);
	return NULL;
}

static void timed_mutexes(void)
{
	make_mutexes(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	run_two(lock_timed);
}

static void *rwlock_both(void *own)
{
	long i = (long)own;

	pthread_rwlock_wrlock(&rwlocks[i]);
	pthread_barrier_wait(&barrier);
	if (i)
		pthread_rwlock_rdlock(&rwlocks[!i]);
	else
		pthread_rwlock_wrlock(&rwlocks[!i]);
	return NULL;
}

static void write_locks(void)
{
	run_two(rwlock_both);
}

static void *join_next(void *own)
{
	long i = (long)own;

	pthread_barrier_wait(&barrier);
	pthread_join(ring[(i + 1) % RING], NULL);
	return NULL;
}

static void join_ring(void)
{
	pthread_barrier_init(&barrier, NULL, RING + 1);
	for (long i = 0; i < RING; i++)
		pthread_create(&ring[i], NULL, join_next, (void *)i);
	pthread_barrier_wait(&barrier);
	say_ready();
	pause();
}

/* In process i of a ring: read from pair i, write to the next one. */
static void keep_own_ends(int i)
{
	for (int k = 0; k < RING; k++) {
		if (k != i)
			close(pipes[k][0]);
		if (k != (i + 1) % RING)
			close(pipes[k][1]);
	}
}

static int own_place(void)
{
	for (int i = 0; i < RING - 1; i++) {
		if (fork() == 0)
			return i;
	}
	return RING - 1;
}

static void pipe_ring(void)
{
	char byte;
	int i;

	for (i = 0; i < RING; i++)
		(void)!pipe(pipes[i]);
	i = own_place();
	keep_own_ends(i);
	if (i == RING - 1)
		say_ready();
	(void)!read(pipes[i][0], &byte, 1);
}

/* Full buffers: all write, nobody reads. */
static void socket_ring(void)
{
	static char bytes[65536];
	int i;

	for (i = 0; i < RING; i++)
		socketpair(AF_UNIX, SOCK_STREAM, 0, pipes[i]);
	i = own_place();
	keep_own_ends(i);
	if (i == RING - 1)
		say_ready();
	while (write(pipes[(i + 1) % RING][1], bytes, sizeof(bytes)) > 0)
		;
}

/* A process has a mutex in shared memory, and waits for a file lock; the one that has it, for the mutex. */
static void flock_and_mutex(void)
{
	pthread_mutex_t *shared =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int *step = (int *)(shared + 1), fd;
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(shared, &attr);
	if (fork() == 0) {
		pthread_mutex_lock(shared);
		__atomic_add_fetch(step, 1, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(step, __ATOMIC_SEQ_CST) < 2)
			usleep(1000);
		fd = open("lock", O_RDWR | O_CREAT, 0600);
		flock(fd, LOCK_EX);
		return;
	}
	fd = open("lock", O_RDWR | O_CREAT, 0600);
	flock(fd, LOCK_EX);
	__atomic_add_fetch(step, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(step, __ATOMIC_SEQ_CST) < 2)
		usleep(1000);
	say_ready();
	pthread_mutex_lock(shared);
}

/* Each of two open file descriptions has a part of the file, and waits for that of the other. */
static void ranges_of_a_file(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 5 };
	bool is_child;
	char byte;
	int fd;

	(void)!pipe(pipes[0]);
	(void)!pipe(pipes[1]);
	is_child = fork() == 0;
	fd = open("lock", O_RDWR | O_CREAT, 0600);
	lock.l_start = is_child ? 10 : 0;
	fcntl(fd, F_OFD_SETLK, &lock);
	(void)!write(pipes[is_child][1], "x", 1);
	(void)!read(pipes[!is_child][0], &byte, 1);
	lock.l_start = is_child ? 0 : 10;
	if (!is_child)
		say_ready();
	fcntl(fd, F_OFD_SETLKW, &lock);
}

/* The child has the lock and sleeps. */
static void fcntl_lock(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open("lock", O_RDWR | O_CREAT, 0600);

	(void)!pipe(pipes[0]);
	if (fork() == 0) {
		fcntl(fd, F_SETLKW, &lock);
		(void)!write(pipes[0][1], "x", 1);
		sleep(1000);
		return;
	}
	(void)!read(pipes[0][0], &lock.l_start, 1);
	lock.l_start = 0;
	say_ready();
	fcntl(fd, F_SETLKW, &lock);
}

static void stopped_peer(void)
{
	pid_t child;
	char byte;

	(void)!pipe(pipes[0]);
	child = fork();
	if (child == 0) {
		close(pipes[0][0]);
		raise(SIGSTOP);
		return;
	}
	close(pipes[0][1]);
	waitpid(child, NULL, WUNTRACED);
	say_ready();
	(void)!read(pipes[0][0], &byte, 1);
}

static void living_child(void)
{
	if (fork() == 0) {
		sleep(1000);
		return;
	}
	say_ready();
	wait(NULL);
}

/* A child that waits for an eventfd, then one that waits for a message, then one that nobody has waited for. */
static void three_children(void)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 16 };
	char name[32], text[16];
	mqd_t queue;

	snprintf(name, sizeof(name), "/holdup-test-%d", (int)getpid());
	pipes[0][0] = eventfd(0, 0);
	queue = mq_open(name, O_RDWR | O_CREAT, 0600, &attr);
	(void)mq_unlink(name);
	if (fork() == 0)
		_exit((int)read(pipes[0][0], text, 8));
	if (fork() == 0)
		_exit((int)mq_receive(queue, text, sizeof(text), NULL));
	if (fork() == 0)
		_exit(0);
	say_ready();
	sleep(1000);
}

static void await_parent(void)
{
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, getppid(), 0), .events = POLLIN };

	poll(&end, 1, -1);
}

static void send_to_parent(void)
{
	static const char bytes[1000];

	while (send(pipes[0][1], bytes, sizeof(bytes), 0) > 0)
		;
}

static void connect_to_parent(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t length = sizeof(address);

	getsockname(pipes[1][0], (struct sockaddr *)&address, &length);
	for (;;)
		connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, length);
}

static void splice_from_parent(void)
{
	int to[2];

	(void)!pipe(to);
	(void)!splice(pipes[2][0], NULL, to[1], NULL, 4096, 0);
}

static void receive_from_parent(void)
{
	char bytes[16];

	(void)!msgrcv(pipes[1][1], bytes, 8, 0, 0);
}

/* Children that wait for their parent, one in each of these. */
static void for_the_parent(void)
{
	static void (*const kinds[])(void) = { await_parent, send_to_parent, connect_to_parent,
					       splice_from_parent, receive_from_parent };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct {
		long type;
		char text[8];
	} message = { .type = 1 };

	socketpair(AF_UNIX, SOCK_DGRAM, 0, pipes[0]);
	(void)!pipe(pipes[2]);
	pipes[1][0] = socket(AF_UNIX, SOCK_STREAM, 0);
	bind(pipes[1][0], (struct sockaddr *)&address, sizeof(sa_family_t)); /* any name */
	listen(pipes[1][0], 1);
	pipes[1][1] = msgget(IPC_PRIVATE, 0600);
	msgsnd(pipes[1][1], &message, 8, 0);
	msgrcv(pipes[1][1], &message, 8, 0, 0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (fork() != 0)
			continue;
		close(pipes[0][0]);
		close(pipes[2][1]);
		kinds[i]();
		_exit(0);
	}
	say_ready();
	sleep(1000);
}

static void *read_lock(void *unused)
{
	pthread_rwlock_rdlock(&rwlocks[0]);
	sleep(1000);
	return unused;
}

static void *write_lock(void *unused)
{
	pthread_rwlock_wrlock(&rwlocks[0]);
	return unused;
}

/* Two who read, one who wants to write, and, behind that one, one more who wants to read. */
static void reader_behind_writer(void)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
#ifdef __GLIBC__ /* musl has no such preference */
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
	pthread_rwlock_init(&rwlocks[0], &attr);
	pthread_rwlock_rdlock(&rwlocks[0]);
	pthread_create(&ring[0], NULL, write_lock, NULL);
	usleep(300000);
	pthread_create(&ring[1], NULL, read_lock, NULL);
	say_ready();
	sleep(1000);
}

/* The child reads what only its parent could write, who waits for its end. */
static void child_of_parent(void)
{
	char byte;

	(void)!pipe(pipes[0]);
	if (fork() == 0) {
		close(pipes[0][1]);
		(void)!read(pipes[0][0], &byte, 1);
		return;
	}
	say_ready();
	wait(NULL);
}

static void lost_wakeup(void)
{
	make_mutexes(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	pthread_cond_signal(&condition);
	say_ready();
	pthread_mutex_lock(&mutexes[0]);
	pthread_cond_wait(&condition, &mutexes[0]);
}

static void post_it(int unused)
{
	(void)unused;
	sem_post(&semaphore);
}

/* Idle: a signal's handler is what it waits for. */
static void handled_signal(void)
{
	signal(SIGTERM, post_it);
	say_ready();
	sem_wait(&semaphore);
}

static void write_it(int unused)
{
	(void)unused;
	(void)!write(pipes[0][1], "x", 1);
}

/* Idle: the same, and it waits for Ctrl-C in a pipe of its own. */
static void self_pipe(void)
{
	char byte;

	(void)!pipe(pipes[0]);
	signal(SIGINT, write_it);
	say_ready();
	(void)!read(pipes[0][0], &byte, 1);
}

static int share_memory(void *unused)
{
	(void)unused;
	sleep(1000);
	return 0;
}

/* Idle: another process has the same memory. */
static void shared_memory(void)
{
	static char stack[65536] __attribute__((aligned(16)));

	clone(share_memory, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	say_ready();
	sem_wait(&semaphore);
}

static void *sleep_long(void *unused)
{
	sleep(100000);
	return unused;
}

static void *join_it(void *thread)
{
	pthread_join(*(pthread_t *)thread, NULL);
	return NULL;
}

/* One sleeps, one joins that one: the first alone could post. */
static void one_could(void)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, sleep_long, NULL);
	pthread_create(&threads[1], NULL, join_it, &threads[0]);
	say_ready();
	sem_wait(&semaphore);
}

/* Each of two could post. */
static void two_could(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, sleep_long, NULL);
	say_ready();
	sem_wait(&semaphore);
}

/* One of the process could post, and another process. */
static void one_and_another_could(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	pthread_t thread;

	pthread_create(&thread, NULL, sleep_long, NULL);
	clone(share_memory, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	say_ready();
	sem_wait(&semaphore);
}

static void *lock_and_exit(void *unused)
{
	pthread_mutex_lock(&mutexes[0]);
	printf("%d ", (int)syscall(SYS_gettid));
	return unused;
}

static void orphaned_mutex(void)
{
	pthread_t thread;

	make_mutexes(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	pthread_create(&thread, NULL, lock_and_exit, NULL);
	pthread_join(thread, NULL);
	say_ready();
	pthread_mutex_lock(&mutexes[0]);
}

static void *lock_first(void *unused)
{
	pthread_mutex_lock(&mutexes[0]);
	return unused;
}

/* The main thread is a zombie as long as others live. */
static void ended_main(void)
{
	pthread_t thread;

	make_mutexes(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	pthread_mutex_lock(&mutexes[0]);
	pthread_create(&thread, NULL, lock_first, NULL);
	say_ready();
	pthread_exit(NULL);
}

/* As std::atomic waits: without the flag that the word is the process's own. */
static void *wait_for_word(void *word)
{
	syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL, NULL, 0);
	return NULL;
}

static void wait_and_join(void *word)
{
	pthread_t thread;

	pthread_create(&thread, NULL, wait_for_word, word);
	say_ready();
	pthread_join(thread, NULL);
}

static void own_word(void)
{
	static int word;

	wait_and_join(&word);
}

static void shared_word(void)
{
	wait_and_join(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

static void once_in_itself(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	say_ready();
	pthread_once(&once, once_in_itself);
}

/* At the begin of a page, with nothing mapped before it; nobody else has it. */
static void shared_mutex(void)
{
	pthread_mutex_t *mutex;
	pthread_mutexattr_t attr;
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	munmap(pages, 4096);
	mutex = (pthread_mutex_t *)(pages + 4096);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(mutex, &attr);
	pthread_mutex_lock(mutex);
	say_ready();
	pthread_mutex_lock(mutex);
}

static void *come(void *unused)
{
	pthread_barrier_wait(&barrier);
	return unused;
}

static void short_barrier(void)
{
	pthread_t threads[3];

	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, come, NULL);
	say_ready();
	pthread_join(threads[0], NULL);
}

static void *lock_file(void *unused)
{
	flockfile(file);
	return unused;
}

static void stdio_lock(void)
{
	pthread_t thread;

	file = fopen("/dev/null", "w");
	flockfile(file);
	pthread_create(&thread, NULL, lock_file, NULL);
	say_ready();
	pthread_join(thread, NULL);
}

static void *hold_first(void *unused)
{
	pthread_mutex_lock(&mutexes[0]);
	return unused;
}

static void convoy(void)
{
	make_mutexes(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	pthread_mutex_lock(&mutexes[0]);
	for (int i = 0; i < BUSY; i++)
		pthread_create(&ring[0], NULL, hold_first, NULL);
	say_ready();
	sleep(1000);
}

static void *take_and_give(void *unused)
{
	for (;;) {
		pthread_mutex_lock(&mutexes[0]);
		pthread_mutex_lock(&mutexes[1]);
		sched_yield();
		pthread_mutex_unlock(&mutexes[1]);
		pthread_mutex_unlock(&mutexes[0]);
	}
	return unused;
}

/* Never stuck: threads that take two locks in the same order, all the time. */
static void busy_locks(void)
{
	make_mutexes(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	for (int i = 0; i < BUSY; i++)
		pthread_create(&ring[0], NULL, take_and_give, NULL);
	say_ready();
	take_and_give(NULL);
}

static void *hand_on(void *unused)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	while (pthread_create(&thread, &attributes, hand_on, NULL) != 0)
		sched_yield();
	return unused;
}

/* One thread sleeps; the other one is always a new one, which a list of threads may miss. */
static void busy_relay(void)
{
	say_ready();
	(void)hand_on(NULL);
	sem_wait(&semaphore);
}

/* Never stuck: a byte goes round in a ring of processes. */
static void busy_ring(void)
{
	char byte = 0;
	int i;

	for (i = 0; i < RING; i++)
		(void)!pipe(pipes[i]);
	i = own_place();
	keep_own_ends(i);
	if (i == RING - 1) {
		say_ready();
		(void)!write(pipes[0][1], &byte, 1);
	}
	while (read(pipes[i][0], &byte, 1) == 1 && write(pipes[(i + 1) % RING][1], &byte, 1) == 1)
		;
}

/* Asleep in state D until the child, which shares its memory, executes something. */
static void vfork_parent(void)
{
	say_ready();
	if (vfork() == 0) {
		for (;;)
			pause();
	}
}

/* Answers that it is there, and nothing else. */
static void serve_nothing(int fuse)
{
	union {
		struct fuse_in_header header;
		char bytes[1 << 17];
	} request;
	struct {
		struct fuse_out_header header;
		struct fuse_init_out init;
	} answer = { .init = { .major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION } };

	if (read(fuse, &request, sizeof(request)) <= 0)
		return;
	answer.header.len = sizeof(answer);
	answer.header.unique = request.header.unique;
	(void)!write(fuse, &answer, sizeof(answer));
	raise(SIGSTOP);
}

/* A file of a file system whose server was stopped. */
static void stopped_server(void)
{
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[64];
	struct stat st;
	pid_t child;

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	if (fuse < 0 || unshare(CLONE_NEWNS) < 0 || mkdir("served", 0700) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "served", "fuse", 0, options) < 0) {
		puts("missing");
		fflush(stdout);
		pause();
	}
	child = fork();
	if (child == 0) {
		serve_nothing(fuse);
		return;
	}
	close(fuse);
	waitpid(child, NULL, WUNTRACED);
	say_ready();
	(void)!stat("served/file", &st);
}

/* Answers all but the first read, at which it stops. */
static void serve_no_data(int fuse)
{
	static char request[1 << 18];
	const struct fuse_in_header *asked = (const void *)request;

	while (read(fuse, request, sizeof(request)) > 0 && asked->opcode != FUSE_READ) {
		struct {
			struct fuse_out_header header;
			union {
				struct fuse_init_out init;
				struct fuse_attr_out file;
				struct fuse_open_out open;
			};
		} answer = { .header.unique = asked->unique, .header.len = sizeof(answer.header) };

		if (asked->opcode == FUSE_INIT) {
			answer.init.major = FUSE_KERNEL_VERSION;
			answer.init.minor = FUSE_KERNEL_MINOR_VERSION;
			answer.header.len += sizeof(answer.init);
		} else if (asked->opcode == FUSE_GETATTR) {
			answer.file.attr = (struct fuse_attr){
				.ino = 1, .size = 4096, .mode = S_IFREG | 0600, .nlink = 1
			};
			answer.header.len += sizeof(answer.file);
		} else if (asked->opcode == FUSE_OPEN) {
			answer.header.len += sizeof(answer.open);
		} else {
			answer.header.error = -ENOSYS;
		}
		(void)!write(fuse, &answer, answer.header.len);
	}
	raise(SIGSTOP);
}

/* A page of a file of it: no request of its own is waited for. */
static void page_of_stopped_server(void)
{
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	int paged = open("paged", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	char options[64], byte;
	pid_t child;

	snprintf(options, sizeof(options), "fd=%d,rootmode=100600,user_id=0,group_id=0", fuse);
	if (fuse < 0 || unshare(CLONE_NEWNS) < 0 || paged < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "paged", "fuse", 0, options) < 0) {
		puts("missing");
		fflush(stdout);
		pause();
	}
	child = fork();
	if (child == 0) {
		serve_no_data(fuse);
		return;
	}
	close(fuse);
	paged = open("paged", O_RDONLY | O_CLOEXEC);
	say_ready();
	(void)!read(paged, &byte, 1);
}

/* A call on which another process decides, and does not. */
static void undecided_call(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mkdirat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };
	int listener;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (listener >= 0 && fork() == 0) {
		sleep(1000);
		return;
	}
	close(listener);
	say_ready();
	syscall(SYS_mkdirat, AT_FDCWD, "never", 0700);
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {
	{ "normal", normal_mutexes },
	{ "parents", for_the_parent },
	{ "recursive", recursive_mutexes },
	{ "robust", robust_mutexes },
	{ "pi", pi_mutexes },
	{ "pi-ring", pi_ring },
	{ "twice", mutex_twice },
	{ "timed", timed_mutexes },
	{ "rwlock", write_locks },
	{ "join", join_ring },
	{ "pipes", pipe_ring },
	{ "sockets", socket_ring },
	{ "flock", flock_and_mutex },
	{ "fcntl", fcntl_lock },
	{ "stopped", stopped_peer },
	{ "child", living_child },
	{ "parent", child_of_parent },
	{ "lost", lost_wakeup },
	{ "handled", handled_signal },
	{ "self-pipe", self_pipe },
	{ "shared", shared_memory },
	{ "orphan", orphaned_mutex },
	{ "ended", ended_main },
	{ "barrier", short_barrier },
	{ "stdio", stdio_lock },
	{ "convoy", convoy },
	{ "ranges", ranges_of_a_file },
	{ "one-could", one_could },
	{ "two-could", two_could },
	{ "one-and-another", one_and_another_could },
	{ "word", own_word },
	{ "shared-word", shared_word },
	{ "once", once_in_itself },
	{ "shared-mutex", shared_mutex },
	{ "busy-locks", busy_locks },
	{ "busy-relay", busy_relay },
	{ "busy-ring", busy_ring },
	{ "vfork", vfork_parent },
	{ "three", three_children },
	{ "behind", reader_behind_writer },
	{ "fuse", stopped_server },
	{ "fuse-page", page_of_stopped_server },
	{ "seccomp", undecided_call },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, argv[1]) == 0) {
			kinds[i].run();
			return 0;
		}
	}
	fputs("usage: stuck-programs KIND\n", stderr);
	return 2;
}
