/*
 * flight_logged_look.c - find programs, look at each in turn, tell what fired.
 *
 *	every 50 ms (100 ms when nothing is written)	what was written is read, and judged up to when the look began
 *	every 500 ms	who has begun or ended: new processes are asked whether they log, and some of the old ones
 *
 * Both are rarer when they cost more than one part in twenty of a CPU. A program that has no event of a trigger costs a look
 * at its description's length.
 */
#include "cli/flight_logged_look.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/control.h"
#include "attach/follow.h"
#include "attach/scan.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/flight_logged.h"
#include "cli/flight_logged_reader.h"
#include "proc/proc.h"
#include "record/clock.h"
#include "record/flight_on.h"

#define LOOK_NS	      UINT64_C(50000000)
#define IDLE_LOOK_NS  UINT64_C(100000000)
#define IDLE_AFTER_NS UINT64_C(2000000000)
#define SCAN_NS	      UINT64_C(500000000)
#define ASK_NS	      UINT64_C(1000000) /* so long old processes are asked in one scan */
#define LOOK_BYTES    (4u << 20)	/* of one program in one look */
#define USER_BYTES    (8u << 20)	/* of all programs of a user in one look */
#define TEXTS_BYTES   (8u << 20)	/* descriptions of all programs */
#define ONE_USER_PART 2u		/* one user may have half of the room */
#define FUTURE_NS     UINT64_C(1000000000)
#define FILES_MOST    4096u

_Static_assert(CTF_PIECES_SLACK <= USER_PIECE_SLACK, "what is behind a piece");

/* A process that uses libholdup. */
struct program {
	int32_t pid; /* 0 = the place is free */
	int pidfd;
	struct user_process *process;
	struct user_follow *follow; /* NULL = it does not log now */
	char *trace;		    /* the folder that is followed, as it names it; owned */
	uint64_t since_ticks;	    /* nothing asked for was written before; of its clock */
	size_t text_bytes;
	uint64_t look_bytes; /* of this look */
	bool has_rest;	     /* ... which did not take all of it */
	bool is_counter;
	bool is_read; /* it has events that are asked for */
	bool is_described, is_given_up;
	struct flight_logged_match match;
};

struct looker {
	const struct flight_logged_looking *looking;
	struct flight_logged_counts *counts;
	pid_t keeper;
	uint64_t before_ns; /* CPU time of those before it */
	struct flight_logged_reader reader;
	struct program programs[FLIGHT_LOGGED_SLOTS];
	struct user_scan scan;
	struct sync_point first, now;
	uint32_t turn; /* who is looked at first */
	bool has_counter;
	struct flight_logged_fire *fires; /* owned; of each trigger */
	uint64_t *untold;		  /* owned, likewise: there was no room in the pipe */
	uint64_t changed_ns;		  /* when something was written */
	/* Of the program that is looked at. */
	struct program *program;
	bool is_damaged;
};

static uint64_t cpu_now_ns(const struct looker *looker)
{
	return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) +
	       flight_logged_reader_cpu_ns(&looker->reader);
}

/* ----------------------------------------------------------------------- times */

static double ticks_per_ns(const struct looker *looker, const struct program *program)
{
	uint64_t ns = looker->now.mono_ns - looker->first.mono_ns;

	return program->is_counter && ns
		       ? (double)(looker->now.raw - looker->first.raw) / (double)ns
		       : 1;
}

static uint64_t ticks_of(const struct sync_point *point, const struct program *program)
{
	return program->is_counter ? point->raw : point->mono_ns;
}

/* A time of the last seconds, or nearly so. */
static uint64_t to_ns(const struct looker *looker, const struct program *program, uint64_t ticks)
{
	uint64_t now = ticks_of(&looker->now, program);
	double ago_ns;

	if (!ticks || ticks > now)
		return ticks ? looker->now.mono_ns : 0;
	ago_ns = (double)(now - ticks) / ticks_per_ns(looker, program);
	return ago_ns < (double)looker->now.mono_ns ? looker->now.mono_ns - (uint64_t)ago_ns : 1;
}

/* -------------------------------------------------------------------- messages */

/* The number of a thread as we see it, which its process may see otherwise; 0 = not known. */
static int32_t find_thread(int proc_fd, const struct program *program, int32_t vtid)
{
	const struct user_proc *proc = &program->process->proc;
	AUTO_FREE char *tasks = xasprintf("%d/task", program->pid);
	AUTO_FREE char *other = xasprintf("%d", vtid);
	AUTO_FREE int32_t *tids = NULL;
	struct proc_thread thread;
	int count = proc_numbers(proc_fd, tasks, &tids);

	for (int i = 0; i < count; i++) {
		if (proc->ns_pid == proc->pid
			    ? tids[i] == vtid
			    : proc_read_thread(proc_fd, program->pid, tids[i], &thread) &&
				      thread.vtid == vtid)
			return tids[i];
	}
	/* One that has ended, if nobody else has its number now. */
	return proc->ns_pid == proc->pid && faccessat(proc_fd, other, F_OK, 0) < 0 ? vtid : 0;
}

static void read_comm(int proc_fd, int32_t pid, int32_t tid, char comm[16])
{
	AUTO_FREE char *path =
		tid ? xasprintf("%d/task/%d/comm", pid, tid) : xasprintf("%d/comm", pid);
	char text[64] = "";

	(void)proc_read(proc_fd, path, text, sizeof(text)); /* or it has ended */
	text[strcspn(text, "\n")] = '\0';
	memcpy(comm, text, strnlen(text, 15));
}

/* A pipe that is full is that of a recorder that is busy: what it is not told now is counted in the next one. */
static void tell_fire(struct looker *looker, const struct program *program, size_t trigger)
{
	AUTO_CLOSE int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct flight_logged_fire *fire = &looker->fires[trigger];
	struct flight_logged_message message = {
		.pid = program->pid,
		.count = fire->count + looker->untold[trigger],
		.first_ns = to_ns(looker, program, fire->first_ticks),
		.second_ns = to_ns(looker, program, fire->second_ticks),
	};

	if (fire->tid > 0 && proc_fd >= 0)
		message.tid = find_thread(proc_fd, program, fire->tid);
	if (proc_fd >= 0)
		read_comm(proc_fd, program->pid, message.tid, message.comm);
	fire->count = 0;
	looker->untold[trigger] = message.count;
	if (write(looker->looking->fds[trigger], &message, sizeof(message)) ==
	    (ssize_t)sizeof(message))
		looker->untold[trigger] = 0;
}

static void tell_fires(struct looker *looker, const struct program *program)
{
	for (size_t i = 0; i < looker->looking->count; i++) {
		if (looker->fires[i].count)
			tell_fire(looker, program, i);
	}
}

/* ------------------------------------------------------------------ description */

static bool has_names(const struct looker *looker, const char *text, size_t bytes)
{
	for (size_t i = 0; i < looker->looking->name_count; i++) {
		AUTO_FREE char *quoted = xasprintf("\"%s\"", looker->looking->names[i]);

		if (memmem(text, bytes, quoted, strlen(quoted)))
			return true;
	}
	return false;
}

static void give_up(struct looker *looker, struct program *program, _Atomic uint64_t *why)
{
	if (!program->is_given_up)
		(*why)++;
	program->is_given_up = true;
	program->is_read = false;
	program->text_bytes = 0;
	flight_logged_drop(&looker->reader, (uint32_t)(program - looker->programs));
}

/* The reader has ended, of what this program wrote: that of all others is described to the next one. */
static void begin_again(struct looker *looker)
{
	give_up(looker, looker->program, &looker->counts->unread);
	for (size_t i = 0; i < FLIGHT_LOGGED_SLOTS; i++) {
		struct program *program = &looker->programs[i];

		if (program->follow && program->is_read)
			user_follow_forget_metadata(program->follow);
	}
}

/* One user may have half of the room. */
static bool is_much_text(const struct looker *looker, const struct program *of)
{
	size_t all = 0, same = 0;

	for (size_t i = 0; i < FLIGHT_LOGGED_SLOTS; i++) {
		const struct program *program = &looker->programs[i];

		if (!program->pid)
			continue;
		all += program->text_bytes;
		if (program->process->proc.uid == of->process->proc.uid)
			same += program->text_bytes;
	}
	return all > TEXTS_BYTES || same > TEXTS_BYTES / ONE_USER_PART;
}

static void describe(struct looker *looker, struct program *program, const char *text, size_t bytes)
{
	uint32_t slot = (uint32_t)(program - looker->programs);
	enum flight_logged_answer answered;

	if (strstr(text, "\nclock {\n\tname = counter;"))
		program->is_counter = true;
	else if (!strstr(text, "\nclock {\n\tname = monotonic;")) {
		give_up(looker, program, &looker->counts->other_time);
		return;
	}
	if (program->is_counter && !looker->has_counter) {
		give_up(looker, program, &looker->counts->other_time);
		return;
	}
	program->is_described = true;
	if (!has_names(looker, text, bytes))
		return;
	program->text_bytes = bytes;
	if (is_much_text(looker, program)) {
		give_up(looker, program, &looker->counts->no_room);
		return;
	}
	answered = flight_logged_describe(&looker->reader, slot, text, bytes);
	if (answered == FLIGHT_LOGGED_DEAD)
		begin_again(looker);
	else if (answered == FLIGHT_LOGGED_BAD)
		give_up(looker, program, &looker->counts->unread);
	if (answered != FLIGHT_LOGGED_READ || program->is_read)
		return;
	program->is_read = true;
	user_follow_from(program->follow, program->since_ticks ? program->since_ticks
							       : ticks_of(&looker->first, program));
}

/* Returns whether there was more. */
static bool look_at_description(struct looker *looker, struct program *program)
{
	AUTO_FREE char *text = NULL;
	size_t bytes;
	int rc = user_follow_metadata(program->follow, FLIGHT_LOGGED_TEXT_BYTES, &text, &bytes);

	if (rc == -EFBIG)
		give_up(looker, program, &looker->counts->no_room);
	if (rc > 0)
		describe(looker, program, text, bytes);
	return rc > 0;
}

/* ------------------------------------------------------------------------ a look */

/* What is described behind what we know of the description is read once more. */
static uint64_t take_piece(void *context, const struct user_piece *piece)
{
	struct looker *looker = context;
	struct program *program = looker->program;
	const struct ctf_piece bytes = { piece->data, piece->bytes, piece->first, piece->ticks };
	const struct ctf_found *found;
	enum flight_logged_answer answered;
	uint64_t last_ticks = piece->ticks;
	size_t count;

	if (!program->is_read)
		return piece->ticks;
	answered = flight_logged_read(&looker->reader, (uint32_t)(program - looker->programs),
				      &bytes, &found, &count, &last_ticks);
	if (answered == FLIGHT_LOGGED_BAD && look_at_description(looker, program) &&
	    program->is_read)
		answered =
			flight_logged_read(&looker->reader, (uint32_t)(program - looker->programs),
					   &bytes, &found, &count, &last_ticks);
	looker->is_damaged |=
		answered != FLIGHT_LOGGED_READ || !flight_logged_add(&program->match, found, count);
	if (answered == FLIGHT_LOGGED_DEAD)
		begin_again(looker);
	return last_ticks;
}

/* Events of before the recorder, and such that come of a time to come. */
static void drop_others(struct program *program, uint64_t until_ticks, uint64_t future_ticks)
{
	struct flight_logged_match *match = &program->match;
	size_t kept = 0;

	for (size_t i = 0; i < match->count; i++) {
		if (match->events[i].ticks >= program->since_ticks &&
		    (match->events[i].ticks <= until_ticks ||
		     match->events[i].ticks - until_ticks <= future_ticks))
			match->events[kept++] = match->events[i];
	}
	match->count = kept;
}

static void judge(struct looker *looker, struct program *program, uint64_t until_ticks,
		  uint64_t lost)
{
	double per_ns = ticks_per_ns(looker, program);
	const struct flight_logged_rules rules = { looker->looking->triggers,
						   looker->looking->count, per_ns };

	if (lost)
		flight_logged_forget(&program->match);
	looker->counts->lost += lost;
	drop_others(program, until_ticks, (uint64_t)((double)FUTURE_NS * per_ns));
	if (!flight_logged_judge(&program->match, &rules, until_ticks, looker->fires))
		looker->counts->lost++;
	tell_fires(looker, program);
}

/* What one look may still read of the programs of its user, so that nobody keeps it from those of others. */
static uint64_t bytes_left(const struct looker *looker, const struct program *of)
{
	uint64_t used = 0;

	for (size_t i = 0; i < FLIGHT_LOGGED_SLOTS; i++) {
		const struct program *program = &looker->programs[i];

		if (program->look_bytes && program->process->proc.uid == of->process->proc.uid)
			used += program->look_bytes;
	}
	if (used >= USER_BYTES)
		return 0;
	return USER_BYTES - used < LOOK_BYTES ? USER_BYTES - used : LOOK_BYTES;
}

static void look_at(struct looker *looker, struct program *program)
{
	struct user_followed followed;
	uint64_t until_ticks;

	if (program->is_given_up)
		return;
	looker->now = clock_take(looker->has_counter);
	looker->program = program;
	looker->is_damaged = false;
	(void)look_at_description(looker, program);
	if (!program->is_read) {
		/* What it describes later it logs later, too. */
		if (program->is_described)
			program->since_ticks = ticks_of(&looker->now, program);
		return;
	}
	if (!program->since_ticks)
		program->since_ticks = ticks_of(&looker->first, program);
	until_ticks = ticks_of(&looker->now, program);
	user_follow_look(program->follow, bytes_left(looker, program), take_piece, looker,
			 &followed);
	program->look_bytes += followed.bytes;
	program->has_rest = followed.has_rest;
	if (followed.rest_ticks < until_ticks)
		until_ticks = followed.rest_ticks;
	if (followed.bytes)
		looker->changed_ns = looker->now.mono_ns;
	if (program->is_read)
		judge(looker, program, until_ticks, followed.lost + looker->is_damaged);
}

/* --------------------------------------------------------------------- programs */

static void stop_following(struct looker *looker, struct program *program)
{
	uint32_t slot = (uint32_t)(program - looker->programs);

	if (!program->follow)
		return;
	if (program->is_read)
		flight_logged_drop(&looker->reader, slot);
	user_follow_free(program->follow);
	flight_logged_match_fini(&program->match);
	free(program->trace);
	program->follow = NULL;
	program->trace = NULL;
	program->since_ticks = 0;
	program->text_bytes = 0;
	program->is_read = program->is_given_up = false;
	program->is_counter = program->is_described = false;
}

static void begin_following(struct program *program, const char *trace)
{
	int fd = user_process_open_folder(program->process, trace);

	if (fd < 0)
		return;
	program->follow = user_follow_new(fd);
	program->trace = xstrdup(trace);
	(void)!getrandom(&program->match.salt, sizeof(program->match.salt), GRND_NONBLOCK);
}

/* Where it logs to now. */
static void keep_program(struct looker *looker, struct program *program)
{
	const char *failed, *trace;

	if (!user_process_read(program->process))
		return; /* it is ending, or means ill */
	trace = user_process_logs(program->process) ? user_process_trace(program->process, &failed)
						    : NULL;
	if (program->follow && (!trace || strcmp(trace, program->trace) != 0)) {
		look_at(looker, program);
		stop_following(looker, program);
	}
	if (trace && !program->follow)
		begin_following(program, trace);
}

static void remove_program(struct looker *looker, struct program *program)
{
	stop_following(looker, program);
	user_process_close(program->process);
	mem_close_fd(&program->pidfd);
	*program = (struct program){ .pidfd = -1 };
}

static bool has_ended(const struct program *program)
{
	struct pollfd wait = { .fd = program->pidfd, .events = POLLIN };

	return poll(&wait, 1, 0) > 0;
}

static void look_at_all(struct looker *looker)
{
	uint64_t read = 0;

	for (size_t i = 0; i < FLIGHT_LOGGED_SLOTS; i++)
		looker->programs[i].look_bytes = 0;
	looker->turn++;
	for (size_t i = 0; i < FLIGHT_LOGGED_SLOTS; i++) {
		struct program *program =
			&looker->programs[(looker->turn + i) % FLIGHT_LOGGED_SLOTS];
		bool is_last = program->pid && has_ended(program);

		if (program->follow)
			look_at(looker, program);
		if (is_last && !(program->is_read && program->has_rest))
			remove_program(looker, program);
		read += program->pid && program->is_read;
	}
	looker->counts->programs = read;
}

static struct program *find_program(struct looker *looker, int32_t pid)
{
	for (size_t i = 0; i < FLIGHT_LOGGED_SLOTS; i++) {
		if (looker->programs[i].pid == pid)
			return &looker->programs[i];
	}
	return NULL;
}

static struct program *find_room(struct looker *looker, uint32_t uid)
{
	struct program *room = NULL;
	size_t same = 0;

	for (size_t i = 0; i < FLIGHT_LOGGED_SLOTS; i++) {
		struct program *program = &looker->programs[i];

		if (!program->pid)
			room = program;
		else
			same += program->process->proc.uid == uid;
	}
	return same < FLIGHT_LOGGED_SLOTS / ONE_USER_PART ? room : NULL;
}

/* Does it use libholdup? Then it is a program from now on. */
static bool ask_process(void *context, int32_t pid, bool is_new)
{
	struct looker *looker = context;
	struct user_process *process;
	struct program *program;

	if (user_process_open(pid, &process, NULL) < 0)
		return false;
	program = find_room(looker, process->proc.uid);
	if (!program) {
		looker->counts->no_room += is_new;
		user_process_close(process);
		return false;
	}
	/* Where another process has got its number since, it is only looked at for longer. */
	*program = (struct program){ .pid = pid, .pidfd = pidfd_open(pid, 0), .process = process };
	if (program->pidfd < 0) {
		remove_program(looker, program);
		return false;
	}
	keep_program(looker, program);
	if (program->follow)
		look_at(looker, program);
	return true;
}

static bool knows(void *context, int32_t pid)
{
	struct looker *looker = context;
	struct program *program = find_program(looker, pid);

	if (program)
		keep_program(looker, program);
	return program;
}

static uint64_t used_ns(void *context)
{
	return cpu_now_ns(context);
}

/* -------------------------------------------------------------------------- run */

/* Returns whether its keeper is still there: a change of rights, as for looking up names, forgets a signal for its end. */
static bool rest(const struct looker *looker, uint64_t ns)
{
	const struct timespec time = { .tv_sec = (time_t)(ns / 1000000000),
				       .tv_nsec = (long)(ns % 1000000000) };

	(void)nanosleep(&time, NULL);
	return getppid() == looker->keeper;
}

static void run(struct looker *looker)
{
	static const struct user_scan_ops scan_ops = { knows, ask_process, used_ns, ASK_NS };
	uint64_t scanned_ns = 0, scan_every_ns = SCAN_NS;

	do {
		uint64_t begin_ns = clock_now_ns(), cpu_ns = cpu_now_ns(looker), every_ns;

		if (begin_ns - scanned_ns >= scan_every_ns) {
			user_scan_take(&looker->scan, &scan_ops, looker);
			scanned_ns = begin_ns;
			scan_every_ns = (cpu_now_ns(looker) - cpu_ns) * looker->looking->cost_part;
			scan_every_ns = scan_every_ns < SCAN_NS ? SCAN_NS : scan_every_ns;
			cpu_ns = cpu_now_ns(looker);
		}
		look_at_all(looker);
		every_ns = begin_ns < looker->changed_ns + IDLE_AFTER_NS ? LOOK_NS : IDLE_LOOK_NS;
		every_ns = looker->counts->programs ? every_ns : SCAN_NS;
		cpu_ns = (cpu_now_ns(looker) - cpu_ns) * looker->looking->cost_part;
		every_ns = every_ns < cpu_ns ? cpu_ns : every_ns;
		looker->counts->look_ns = every_ns;
		looker->counts->reader = looker->reader.pid;
		looker->counts->cpu_ns = looker->before_ns + cpu_now_ns(looker);
		cpu_ns = clock_now_ns() - begin_ns; /* it takes itself */
		if (!rest(looker, cpu_ns < every_ns ? every_ns - cpu_ns : 0))
			break;
	} while (true);
}

void flight_logged_look(struct flight_logged_looking *looking, struct flight_logged_counts *counts,
			pid_t keeper)
{
	const struct rlimit files = { FILES_MOST, FILES_MOST };
	struct looker *looker = xcalloc(1, sizeof(*looker));

	(void)prctl(PR_SET_NAME, "holdup-logged");
	(void)signal(SIGPIPE, SIG_IGN);
	(void)setrlimit(RLIMIT_NOFILE, &files);
	guard_caps_seal();
	guard_caps_helper(FLIGHT_LOGGED_RIGHTS);
	looker->looking = looking;
	looker->counts = counts;
	looker->before_ns = counts->cpu_ns;
	looker->keeper = keeper;
	looker->has_counter = clock_tsc_is_steady();
	looker->first = looker->now = clock_take(looker->has_counter);
	looker->fires = xcalloc(looking->count, sizeof(*looker->fires));
	looker->untold = xcalloc(looking->count, sizeof(*looker->untold));
	for (size_t i = 0; i < FLIGHT_LOGGED_SLOTS; i++)
		looker->programs[i].pidfd = -1;
	/* Nothing of the recorder's stays open but the pipes. */
	if (!child_keep_fds(looking->fds, looking->count) || getppid() != keeper ||
	    !flight_logged_reader_init(&looker->reader, (const char *const *)looking->names,
				       looking->name_count))
		_exit(1);
	run(looker);
	flight_logged_reader_end(&looker->reader);
	_exit(0);
}

/* ---------------------------------------------------------------- what is looked for */

static uint32_t add_name(struct flight_logged_looking *looking, const char *name)
{
	for (size_t i = 0; i < looking->name_count; i++) {
		if (strcmp(looking->names[i], name) == 0)
			return (uint32_t)i;
	}
	looking->names = xrealloc(looking->names, looking->name_count + 1, sizeof(char *));
	looking->names[looking->name_count] = xstrdup(name);
	return (uint32_t)looking->name_count++;
}

void flight_logged_looking_add(struct flight_logged_looking *looking, const struct flight_on *on,
			       int fd)
{
	size_t count = looking->count;

	looking->triggers = xrealloc(looking->triggers, count + 1, sizeof(*looking->triggers));
	looking->fds = xrealloc(looking->fds, count + 1, sizeof(*looking->fds));
	looking->triggers[count] = (struct flight_logged_trigger){
		.first = add_name(looking, on->event),
		.second = on->second ? add_name(looking, on->second) : FLIGHT_LOGGED_ALONE,
		.limit_ns = on->min_ns,
	};
	looking->fds[count] = fd;
	looking->count++;
}

void flight_logged_looking_fini(struct flight_logged_looking *looking)
{
	for (size_t i = 0; i < looking->count; i++)
		mem_close_fd(&looking->fds[i]);
	for (size_t i = 0; i < looking->name_count; i++)
		free(looking->names[i]);
	free(looking->triggers);
	free(looking->fds);
	free(looking->names);
	*looking = (struct flight_logged_looking){ 0 };
}
