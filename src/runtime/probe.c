/*
 * probe.c - libholdup begins, forks, ends; and what the program may ask it.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/probe_int.h"
#include "runtime/registry.h"
#include "runtime/rules.h"
#include "runtime/text.h"

#define CPUS_MAX     8192
#define CPUS_MANY    1024 /* so many rooms cost nothing worth a look at /sys */
#define FILE_DEFAULT (4u << 20)
#define FILE_MOST    8192 /* packets */

enum life {
	LIFE_FORKED,
	LIFE_HERE,
	LIFE_BEGINNING
};

struct probe probe = { .control_fd = -1 };

/* --------------------------------------------------------------------- locks */

/* While its signals are blocked: opening a file must not end a thread that was cancelled. */
static __thread int cancel_before __attribute__((tls_model("initial-exec")));

void signals_block(sigset_t *out_before)
{
	sigset_t all;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, out_before);
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_before);
}

void signals_restore(const sigset_t *before)
{
	(void)pthread_setcancelstate(cancel_before, NULL);
	(void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

void probe_lock(sigset_t *out_before)
{
	signals_block(out_before);
	while (__atomic_exchange_n(&probe.lock, 1, __ATOMIC_ACQUIRE)) /* pairs with unlock */
		(void)sched_yield();
}

void probe_unlock(const sigset_t *before)
{
	__atomic_store_n(&probe.lock, 0, __ATOMIC_RELEASE);
	signals_restore(before);
}

/* --------------------------------------------------------------------- begin */

/* The highest number in "0-3,8-11". False when there is no such file. */
static bool read_possible(uint32_t *out_highest)
{
	char line[256] = "";
	int fd = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);
	uint32_t number = 0, highest = 0;

	if (fd >= 0)
		(void)close(fd);
	for (ssize_t i = 0; i < got && highest < CPUS_MAX; i++) {
		if (line[i] >= '0' && line[i] <= '9')
			number = number * 10 + (uint32_t)(line[i] - '0');
		else
			number = 0;
		if (number > highest)
			highest = number;
	}
	if (got > 0)
		*out_highest = highest;
	return got > 0;
}

/*
 * One more than the highest number that a CPU may have: some may come later. The kernel's masks
 * have a bit for each, and no more than 63 others, mostly. What is mounted at /sys may be
 * nothing, or tell a container of fewer: it counts only where masks have room for all that
 * could ever be.
 */
static uint32_t count_cpus(void)
{
	unsigned long mask[CPUS_MAX / (8 * sizeof(unsigned long))];
	long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
	uint32_t highest;

	if (bytes <= 0 || bytes > (long)sizeof(mask))
		bytes = sizeof(mask);
	if (bytes * 8 > CPUS_MANY && read_possible(&highest))
		return highest < CPUS_MAX ? highest + 1 : CPUS_MAX;
	return (uint32_t)bytes * 8;
}

#define CPUS_BEFORE 4 /* entries: two that stay empty, and one for life_word() */

/* Is this still the process that made the entries? Threads never come that far before them. */
static uint64_t *life_word(void)
{
	return &probe.cpus[-CPUS_BEFORE].session;
}

/*
 * Half a line off, so that what is read of an entry never seems to the CPU to be what was just
 * written to a packet's header, as addresses that end alike do. As many as there can be anywhere,
 * which takes no memory: a thread on a CPU that nobody told us of finds an empty one.
 */
static struct holdup_cpu_ *make_entries(void)
{
	size_t bytes = (CPUS_MAX + CPUS_BEFORE + 1) * sizeof(struct holdup_cpu_);
	uint8_t *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	(void)madvise(memory, bytes, MADV_WIPEONFORK); /* else forked_child() does it */
	return (struct holdup_cpu_ *)(void *)(memory + 32) + CPUS_BEFORE;
}

static bool make_cpus(void)
{
	probe.cpus = make_entries();
	if (!probe.cpus)
		return false;
	*life_word() = LIFE_HERE;
	return true;
}

/* The child of a fork() has no trace, no packets, and a new number. */
static void begin_child(void)
{
	memset(probe.cpus, 0, probe.cpu_count * sizeof(struct holdup_cpu_));
	segment_forget_all();
	room_forget_retired();
	probe.session = NULL;
	probe.lock = 0;
	probe.lost = 0;
	probe.helper = HELPER_NONE;
	probe.busy = false;
	probe.large_since = 0;
	probe.pid = (int32_t)getpid();
	if (probe.control_fd >= 0)
		(void)close(probe.control_fd);
	control_begin();
}

bool probe_after_fork(void)
{
	uint64_t life = LIFE_FORKED;

	if (!probe.cpus || __atomic_load_n(life_word(), __ATOMIC_ACQUIRE) == LIFE_HERE)
		return false;
	if (__atomic_compare_exchange_n(life_word(), &life, LIFE_BEGINNING, false, __ATOMIC_ACQUIRE,
					__ATOMIC_ACQUIRE)) {
		begin_child();
		__atomic_store_n(life_word(), LIFE_HERE, __ATOMIC_RELEASE);
	}
	while (__atomic_load_n(life_word(), __ATOMIC_ACQUIRE) != LIFE_HERE)
		(void)sched_yield();
	return true;
}

static sigset_t before_fork;

static void forking(void)
{
	probe_lock(&before_fork);
}

static void forked_parent(void)
{
	sigset_t before = before_fork; /* another thread's as soon as the lock is free */

	probe_unlock(&before);
}

static void forked_child(void)
{
	sigset_t before = before_fork;

	*life_word() = LIFE_FORKED;
	(void)probe_after_fork();
	holdup_tid_ = (int32_t)syscall(SYS_gettid);
	signals_restore(&before);
}

/* "64M" in bytes; 0 when it makes no sense. */
static uint64_t parse_size(const char *text)
{
	char *end;
	uint64_t bytes = strtoull(text, &end, 10);

	switch (*end) {
	case 'G':
	case 'g':
		bytes <<= 10; /* fall through */
	case 'M':
	case 'm':
		bytes <<= 10; /* fall through */
	case 'K':
	case 'k':
		return bytes << 10;
	default:
		return bytes;
	}
}

/* Packets of a stream's larger files: HOLDUP_FILE bytes. */
static uint32_t stream_most(void)
{
	const char *wanted = secure_getenv("HOLDUP_FILE");
	uint64_t packets = (wanted ? parse_size(wanted) : FILE_DEFAULT) / USER_PACKET;

	if (packets > LARGE_BYTES / USER_PACKET)
		packets -= packets % (LARGE_BYTES / USER_PACKET);
	return packets < 2 ? 2 : packets > FILE_MOST ? FILE_MOST : (uint32_t)packets;
}

/* HOLDUP=stream:DIR, HOLDUP=flight:DIR; DIR may be missing. */
static void ask_for_environment(void)
{
	struct holdup_control_ *control = &holdup_state_.control;
	const char *what = secure_getenv("HOLDUP"), *events = secure_getenv("HOLDUP_EVENTS");
	const char *size = secure_getenv("HOLDUP_SIZE"), *dir;
	enum holdup_mode mode;

	if (!what || !*what)
		return;
	if (strncmp(what, "stream", 6) == 0)
		mode = HOLDUP_STREAM;
	else if (strncmp(what, "flight", 6) == 0)
		mode = HOLDUP_FLIGHT;
	else
		return;
	dir = what[6] == ':' && what[7] ? what + 7 : NULL;
	if (!events || rules_add(control->rules, sizeof(control->rules), events, false) < 0)
		(void)rules_add(control->rules, sizeof(control->rules), "all", false);
	(void)control_ask(control, dir, mode, size ? parse_size(size) : 0);
}

static void library_begin(void)
{
	const char *wanted = secure_getenv("HOLDUP_RSEQ");

	probe.pid = (int32_t)getpid();
	probe.has_rseq = !wanted || strcmp(wanted, "0") != 0;
	probe.is_counter = probe_clock_is_counter();
	probe.has_rseq &= probe.is_counter; /* the sequences read the counter */
	probe.ticks_per_ms = probe.is_counter ? 2000000 : 1000000; /* roughly is enough */
	probe.cpu_count = count_cpus();
	probe.stream_most = stream_most();
	wanted = secure_getenv("HOLDUP_LARGE");
	probe.large_pages = !wanted || strcmp(wanted, "0") != 0;
	if (!make_cpus())
		return;
	put_init();
	holdup_state_.abi = HOLDUP_ABI_;
	(void)control_runtime_dir(probe.runtime, sizeof(probe.runtime));
	holdup_state_.control.session = HOLDUP_NO_SESSION_ << HOLDUP_TURN_;
	ask_for_environment();
	control_begin();
	(void)pthread_atfork(forking, forked_parent, forked_child);
	/* Without restartable sequences nobody may come by them: other entries, always empty. */
	holdup_state_.cpus = probe.has_rseq ? probe.cpus : make_entries();
	if (holdup_state_.control.mode == HOLDUP_STREAM)
		helper_begin();
}

/* Before the constructors of whoever uses it, in the order that the linker chose. */
static __attribute__((constructor(101))) void probe_begin(void)
{
	int error = errno;

	if (!probe.cpus)
		library_begin();
	errno = error;
}

/* ----------------------------------------------------------------------- end */

static __attribute__((destructor(101))) void probe_end(void)
{
	sigset_t before;

	if (!probe.cpus)
		return;
	/* A child that was made without fork() and did not log: the trace is its parent's. */
	if (__atomic_load_n(life_word(), __ATOMIC_ACQUIRE) != LIFE_HERE)
		return;
	__atomic_store_n(&probe.ended, 1, __ATOMIC_SEQ_CST);
	for (uint32_t cpu = 0; cpu < probe.cpu_count; cpu++)
		__atomic_store_n(&probe.cpus[cpu].session, 0, __ATOMIC_SEQ_CST);
	helper_end();
	probe_lock(&before); /* a thread may be about to end or begin a trace */
	session_end();
	probe_unlock(&before);
	control_end();
}

/* ------------------------------------------------------------------ registry */

bool probe_look_at_news(uint64_t word)
{
	struct holdup_control_ *control = &holdup_state_.control;
	uint64_t turn = word & ((UINT64_C(1) << HOLDUP_TURN_) - 1);
	sigset_t before;

	if (__atomic_load_n(&probe.turn, __ATOMIC_ACQUIRE) == turn)
		return false;
	probe_lock(&before);
	do {
		word = __atomic_load_n(&control->session, __ATOMIC_SEQ_CST);
		registry_apply(control);
		turn = word & ((UINT64_C(1) << HOLDUP_TURN_) - 1);
		__atomic_store_n(&probe.turn, turn, __ATOMIC_RELEASE);
	} while (__atomic_load_n(&control->session, __ATOMIC_SEQ_CST) != word);
	probe_unlock(&before);
	return true;
}

uint32_t holdup_news_(const struct holdup_event_ *event)
{
	int error = errno;
	uint32_t id;

	(void)probe_look_at_news(__atomic_load_n(&holdup_state_.control.session, __ATOMIC_SEQ_CST));
	errno = error;
	/* Of a class that has been switched off all ids are numbers again. */
	id = __atomic_load_n(&event->id, __ATOMIC_RELAXED);
	return holdup_on_(id) ? id : HOLDUP_OFF_;
}

void holdup_register_(struct holdup_event_ *const *from, struct holdup_event_ *const *to)
{
	struct holdup_control_ *control = &holdup_state_.control;
	int error = errno;
	sigset_t before;
	size_t known, now;
	const char *text;

	if (from == to || (*from)->number)
		return;
	probe_begin();
	if (!probe.cpus)
		return;
	(void)probe_after_fork();
	probe_lock(&before);
	(void)registry_metadata(&known);
	if (registry_add(from, to)) {
		text = registry_metadata(&now);
		session_add_metadata(text + known, now - known);
	}
	control_lock();
	registry_apply(control);
	control_unlock();
	probe_unlock(&before);
	errno = error;
}

/* The code of the sequences goes away with the library that is unloaded: nobody may be in it. */
void holdup_unregister_(struct holdup_event_ *const *from, struct holdup_event_ *const *to)
{
	sigset_t before;

	if (from == to || !(*from)->number || !probe.cpus)
		return;
	probe_lock(&before);
	registry_remove(from);
	for (; from < to; from++) {
		__atomic_store_n(&(*from)->id, HOLDUP_OFF_, __ATOMIC_RELAXED);
		(*from)->number = 0;
	}
	probe_unlock(&before);
	put_wait_for_others();
}

/* ----------------------------------------------------------------- functions */

static int change_rules(const char *events, bool off)
{
	struct holdup_control_ *control = &holdup_state_.control;
	sigset_t before;
	int rc;

	if (!events || !probe.cpus)
		return -EINVAL;
	(void)probe_after_fork();
	probe_lock(&before);
	control_lock();
	rc = rules_add(control->rules, sizeof(control->rules), events, off);
	if (rc == 0)
		registry_apply(control);
	control_unlock();
	probe_unlock(&before);
	return rc;
}

int holdup_enable(const char *events)
{
	return change_rules(events, false);
}

int holdup_disable(const char *events)
{
	return change_rules(events, true);
}

static uint64_t control_number(void)
{
	return __atomic_load_n(&holdup_state_.control.session, __ATOMIC_ACQUIRE) >> HOLDUP_TURN_;
}

int holdup_start(const struct holdup_options *options)
{
	sigset_t before;
	int rc = 0;

	if (!options || options->struct_size < sizeof(*options) || !probe.cpus ||
	    (options->mode != HOLDUP_STREAM && options->mode != HOLDUP_FLIGHT))
		return -EINVAL;
	(void)probe_after_fork();
	if (options->events)
		rc = holdup_enable(options->events);
	if (rc < 0)
		return rc;
	probe_lock(&before);
	control_lock();
	rc = control_ask(&holdup_state_.control, options->dir, options->mode, options->cpu_bytes);
	control_unlock();
	probe_unlock(&before);
	if (rc == 0 && options->mode == HOLDUP_STREAM)
		helper_begin();
	if (rc == 0) {
		const struct session *session = session_now(control_number());

		if (!session || !session->good)
			rc = errno ? -errno : -EIO;
	}
	return rc;
}

void holdup_stop(void)
{
	struct holdup_control_ *control = &holdup_state_.control;
	sigset_t before;

	if (!probe.cpus)
		return;
	(void)probe_after_fork();
	probe_lock(&before);
	control_lock();
	/* The rules go: they are what the next trace begins with. */
	control->rules[0] = '\0';
	registry_apply(control);
	__atomic_store_n(&control->session, HOLDUP_NO_SESSION_ << HOLDUP_TURN_, __ATOMIC_RELEASE);
	control_unlock();
	session_end();
	probe_unlock(&before);
}

uint64_t holdup_lost_count(void)
{
	const struct session *session = __atomic_load_n(&probe.session, __ATOMIC_ACQUIRE);
	uint64_t lost = __atomic_load_n(&probe.lost, __ATOMIC_RELAXED);

	for (uint32_t cpu = 0; session && cpu < probe.cpu_count; cpu++)
		lost += __atomic_load_n(&session->rooms[cpu].lost, __ATOMIC_RELAXED);
	return lost;
}

const char *holdup_method(void)
{
	return probe.has_rseq ? "rseq" : "cas";
}
