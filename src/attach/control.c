/*
 * control.c - control files from outside.
 *
 * What is on is decided in one place, user_control_apply(), and written in one, write_switches():
 * they follow the library's registry_apply().
 */
#include "attach/control.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <holdup/trace_hot.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "runtime/rules.h"
#include "attach/files.h"
#include "wire/user.h"

#define LOCK_TRIES   200 /* for one process */
#define LOCK_ALL     400 /* in all: any number of processes may mean ill */
#define LOCK_STEP_NS 5000000
#define STALE_MAX_NS 1000000000u /* others can make any number of files; the rest is for later */
#define CLASSES	     HOLDUP_CLASSES_

/* ------------------------------------------------------------------- reading */

bool user_control_pid(const char *name, uint32_t *out_pid)
{
	size_t digits = strspn(name, "0123456789"), more;
	AUTO_FREE char *number = xstrndup(name, digits);
	uint64_t pid;

	if (name[digits] != '-' || digits > 10 || !text_parse_u64(number, &pid))
		return false;
	more = strspn(name + digits + 1, "0123456789");
	if (!more || strcmp(name + digits + 1 + more, ".control") != 0)
		return false;
	*out_pid = (uint32_t)pid;
	return true;
}

static void end_text(char *text, size_t size)
{
	text[size - 1] = '\0';
}

bool user_control_is_sane(struct holdup_control_ *control, const struct user_proc *proc,
			  const char **out_why)
{
	*out_why = NULL;
	if (control->magic != USER_CONTROL_MAGIC)
		*out_why = "its control file is invalid";
	else if (control->abi != HOLDUP_ABI_)
		*out_why = "it uses another version of libholdup";
	else if (control->pid != proc->ns_pid || control->pid_start != proc->start)
		*out_why = "its control file belongs to an earlier process";
	end_text(control->dir, sizeof(control->dir));
	end_text(control->rules, sizeof(control->rules));
	end_text(control->trace, sizeof(control->trace));
	end_text(control->comm, sizeof(control->comm));
	end_text(control->names, sizeof(control->names));
	if (!*out_why && !rules_are_sane(control->rules))
		*out_why = "the patterns in its control file are invalid";
	return !*out_why;
}

bool user_process_read(struct user_process *process)
{
	const char *why;

	return pread(process->fd, process->control, sizeof(*process->control), 0) ==
		       (ssize_t)sizeof(*process->control) &&
	       user_control_is_sane(process->control, &process->proc, &why);
}

static int check_control(struct user_process *process, struct err *err)
{
	const char *why;
	struct stat stat;
	uint64_t bytes;

	if (!user_is_plain(process->fd, &bytes) || fstat(process->fd, &stat) < 0 ||
	    stat.st_uid != process->proc.uid || (stat.st_mode & 022) ||
	    bytes < sizeof(*process->control) ||
	    pread(process->fd, process->control, sizeof(*process->control), 0) !=
		    (ssize_t)sizeof(*process->control))
		return err_set(err, -ENOENT, "the control file of process %d is not its own",
			       process->proc.pid);
	if (user_control_is_sane(process->control, &process->proc, &why))
		return 0;
	return err_set(err,
		       process->control->magic == USER_CONTROL_MAGIC &&
				       process->control->abi != HOLDUP_ABI_
			       ? -ENOTSUP
			       : -ENOENT,
		       "process %d: %s", process->proc.pid, why);
}

/* The folders that the library tries, in its order; the last one where the others are not its own. */
static int open_control(struct user_process *process, struct err *err)
{
	const struct user_proc *proc = &process->proc;
	AUTO_FREE char *name =
		xasprintf("%d-%llu.control", proc->ns_pid, (unsigned long long)proc->pid_ns);
	char *paths[] = {
		proc->runtime ? xasprintf("%s/%s", proc->runtime, name) : xstrdup(""),
		xasprintf("/dev/shm/holdup-%u/%s", proc->ns_uid, name),
		xasprintf("/tmp/holdup-%u/%s", proc->ns_uid, name),
		xasprintf("/dev/shm/holdup-%u/%s", proc->uid, name),
	};
	const struct user_owner owner = { proc->uid, proc->gid };
	int rc = -ENOENT;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		int fd = !*paths[i] || process->fd >= 0 ? -ENOENT
							: user_open_of(process->root_fd, paths[i],
								       O_RDWR | O_NOFOLLOW, &owner);

		if (fd >= 0)
			process->fd = fd;
		else if (fd == -EACCES || fd == -EPERM)
			rc = -EACCES;
		free(paths[i]);
	}
	if (process->fd >= 0)
		return check_control(process, err);
	if (rc == -EACCES)
		return err_set(err, rc, "process %d belongs to another user", proc->pid);
	return err_set(err, rc, "process %d does not use libholdup", proc->pid);
}

int user_process_open_folder(const struct user_process *process, const char *path)
{
	const struct user_owner owner = { process->proc.uid, process->proc.gid };

	return user_open_of(process->root_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, &owner);
}

int user_process_open(int32_t pid, struct user_process **out_process, struct err *err)
{
	struct user_process *process = xcalloc(1, sizeof(*process));
	AUTO_FREE char *root = xasprintf("/proc/%d/root", pid);
	int rc = 0;

	process->fd = process->root_fd = -1;
	if (pid <= 0 || !user_proc_read(pid, &process->proc))
		rc = err_set(err, -ESRCH, "no process %d", pid);
	if (rc == 0) {
		process->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
		/* We may not look: it is another user's, or one of ours that hides. */
		if (process->root_fd < 0)
			process->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		process->control = xcalloc(1, sizeof(*process->control));
		rc = open_control(process, err);
	}
	if (rc < 0) {
		user_process_close(process);
		return rc;
	}
	*out_process = process;
	return 0;
}

void user_process_close(struct user_process *process)
{
	if (!process)
		return;
	mem_close_fd(&process->fd);
	mem_close_fd(&process->root_fd);
	user_proc_fini(&process->proc);
	free(process->control);
	free(process);
}

/* The number of the session that is asked for. */
static uint64_t control_read_number(const struct holdup_control_ *control)
{
	return control->session >> HOLDUP_TURN_;
}

/* The word of a session, with a new turn: the process looks at its rules again. */
static void set_number(struct holdup_control_ *control, uint64_t number)
{
	uint64_t turns = UINT64_C(1) << HOLDUP_TURN_;

	control->session = number << HOLDUP_TURN_ | (control->session + 1) % turns;
}

bool user_process_logs(const struct user_process *process)
{
	return control_read_number(process->control) != HOLDUP_NO_SESSION_;
}

const char *user_process_trace(const struct user_process *process, const char **out_failed)
{
	const char *trace = process->control->trace;

	*out_failed = *trace == '!' ? trace + 1 : NULL;
	return *trace == '/' ? trace : NULL;
}

/* -------------------------------------------------------------- what is on */

/* A line "ID MAJOR:EVENT" of the names. */
struct name_line {
	uint32_t id; /* number in its class << 6 | class */
	char major[256];
	char event[256];
};

/* Take the next line that makes sense. False at the end. */
static bool next_name(const char **at, struct name_line *out_line)
{
	while (**at) {
		const char *line = *at, *end = strchrnul(line, '\n');

		*at = *end ? end + 1 : end;
		if (*line >= '0' && *line <= '9' &&
		    sscanf(line, "%9u %255[^: \n]:%255[^ \n]", &out_line->id, out_line->major,
			   out_line->event) == 3 &&
		    out_line->id && out_line->id < HOLDUP_IDS_ &&
		    out_line->id % HOLDUP_CLASSES_ != HOLDUP_NEWS_)
			return true;
	}
	return false;
}

void user_control_apply(struct holdup_control_ *control)
{
	const char *at = control->names;
	struct name_line line;
	uint64_t mask = 0;

	while (next_name(&at, &line)) {
		if (rules_allow(control->rules, line.major, line.event))
			mask |= UINT64_C(1) << line.id % HOLDUP_CLASSES_;
	}
	control->mask = mask;
}

static bool is_on(const struct holdup_control_ *control, const struct name_line *line)
{
	return control->mask >> line->id % HOLDUP_CLASSES_ & 1 &&
	       rules_allow(control->rules, line->major, line->event);
}

#define WRITE_FIELD(process, field)                                                           \
	(pwrite((process)->fd, &(process)->control->field, sizeof((process)->control->field), \
		offsetof(struct holdup_control_, field)) ==                                   \
	 (ssize_t)sizeof((process)->control->field))

/*
 * Rules first: events that the process declares meanwhile follow them. Then the mask, with the
 * bit that leads events which are off to the new rules; then a new turn, which leads those that
 * are on there. The mask once more: the process may have written one of the old rules before it
 * saw the turn.
 */
static bool write_switches(struct user_process *process)
{
	struct holdup_control_ *control = process->control;

	user_control_apply(control);
	control->mask |= UINT64_C(1) << HOLDUP_NEWS_;
	set_number(control, control_read_number(control));
	return WRITE_FIELD(process, rules) && WRITE_FIELD(process, mask) &&
	       WRITE_FIELD(process, session) && WRITE_FIELD(process, mask);
}

struct user_class *user_process_classes(const struct user_process *process, size_t *out_count)
{
	struct user_class *classes = xcalloc(CLASSES + 1, sizeof(*classes));
	const char *at = process->control->names;
	struct name_line line;
	size_t count = 0, i;

	while (next_name(&at, &line)) {
		end_text(line.major, sizeof(classes->name));
		for (i = 0; i < count && strcmp(classes[i].name, line.major) < 0; i++)
			;
		if (i == count || strcmp(classes[i].name, line.major) != 0) {
			if (count == CLASSES)
				continue;
			memmove(classes + i + 1, classes + i, (count - i) * sizeof(*classes));
			classes[i] = (struct user_class){ 0 };
			strcpy(classes[i].name, line.major);
			count++;
		}
		classes[i].count++;
		classes[i].on += is_on(process->control, &line);
	}
	*out_count = count;
	return classes;
}

/* ------------------------------------------------------------------ changing */

/* Alone, but never for ever: the file is another's, and so may be the lock. */
static int lock(struct user_process *process, struct err *err)
{
	static uint32_t tries; /* of this process */
	const struct timespec step = { .tv_nsec = LOCK_STEP_NS };

	for (int i = 0; flock(process->fd, LOCK_EX | LOCK_NB) < 0; i++) {
		if ((errno != EWOULDBLOCK && errno != EINTR) || i == LOCK_TRIES ||
		    __atomic_fetch_add(&tries, 1, __ATOMIC_RELAXED) >= LOCK_ALL)
			return err_set(err, -EBUSY, "process %d keeps its control file locked",
				       process->proc.pid);
		(void)nanosleep(&step, NULL);
	}
	if (user_process_read(process))
		return 0;
	(void)flock(process->fd, LOCK_UN);
	return err_set(err, -ESRCH, "process %d has ended", process->proc.pid);
}

static int unlock(struct user_process *process, bool written, struct err *err)
{
	int rc = written ? 0
			 : err_set(err, -EIO, "cannot write the control file of process %d",
				   process->proc.pid);

	(void)flock(process->fd, LOCK_UN);
	return rc;
}

static int add_rules(struct user_process *process, const char *events, bool off, struct err *err)
{
	struct holdup_control_ *control = process->control;
	int rc = rules_add(control->rules, sizeof(control->rules), events, off);

	if (rc == -E2BIG)
		return err_set(err, rc, "the patterns of process %d would be too long",
			       process->proc.pid);
	return rc < 0 ? err_set(err, rc, "\"%s\" is not an event pattern", events) : 0;
}

int user_process_switch(struct user_process *process, const char *events, bool off, struct err *err)
{
	int rc = lock(process, err);

	if (rc < 0)
		return rc;
	rc = add_rules(process, events, off, err);
	if (rc == 0)
		return unlock(process, write_switches(process), err);
	(void)unlock(process, true, NULL);
	return rc;
}

/* What is asked for, before the word that asks: write_switches() writes that. */
static bool write_wish(struct user_process *process)
{
	struct holdup_control_ *control = process->control;

	set_number(control, ++control->asked);
	control->trace[0] = '\0'; /* that of the session before; the process says the new one's */
	return WRITE_FIELD(process, trace) && WRITE_FIELD(process, dir) &&
	       WRITE_FIELD(process, mode) && WRITE_FIELD(process, cpu_bytes) &&
	       WRITE_FIELD(process, asked);
}

int user_process_ask(struct user_process *process, const char *dir, enum user_mode mode,
		     const char *events, struct err *err)
{
	struct holdup_control_ *control = process->control;
	int rc;

	if (strlen(dir) >= sizeof(control->dir))
		return err_set(err, -ENAMETOOLONG, "the name %s is too long", dir);
	rc = lock(process, err);
	if (rc < 0)
		return rc;
	if (events) {
		control->rules[0] = '\0';
		rc = add_rules(process, events, false, err);
	}
	if (rc < 0) {
		(void)unlock(process, true, NULL);
		return rc;
	}
	memset(control->dir, 0, sizeof(control->dir));
	memcpy(control->dir, dir, strlen(dir));
	control->mode = (uint32_t)mode;
	control->cpu_bytes = 0;
	return unlock(process, write_wish(process) && write_switches(process), err);
}

static bool write_stop(struct user_process *process)
{
	set_number(process->control, HOLDUP_NO_SESSION_);
	process->control->rules[0] = '\0'; /* as holdup_stop() does */
	return write_switches(process);
}

int user_process_stop(struct user_process *process, struct err *err)
{
	int rc = lock(process, err);

	return rc < 0 ? rc : unlock(process, write_stop(process), err);
}

int user_process_restore(struct user_process *process, const struct holdup_control_ *before,
			 struct err *err)
{
	struct holdup_control_ *control = process->control;
	bool written = true;
	int rc = lock(process, err);

	if (rc < 0)
		return rc;
	if (control_read_number(before) == HOLDUP_NO_SESSION_) {
		set_number(control, HOLDUP_NO_SESSION_);
	} else {
		memcpy(control->dir, before->dir, sizeof(control->dir));
		control->mode = before->mode;
		control->cpu_bytes = before->cpu_bytes;
		written = write_wish(process);
	}
	memcpy(control->rules, before->rules, sizeof(control->rules));
	return unlock(process, written && write_switches(process), err);
}

/* --------------------------------------------------------------------- stale */

static bool is_control_name(const char *name)
{
	uint32_t pid;

	return user_control_pid(name, &pid);
}

static size_t remove_stale_in(int parent_fd, const char *name, uint32_t uid, uint64_t end_ns)
{
	int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	size_t count = 0;

	if (!dir)
		mem_close_fd(&fd);
	/* Somebody else's, with a name that lies: nothing of ours. */
	while (dir && user_is_own_folder(fd, uid) && clock_now_ns() < end_ns &&
	       (entry = readdir(dir))) {
		AUTO_CLOSE int file = -1;
		uint64_t bytes;

		if (!is_control_name(entry->d_name))
			continue;
		file = openat(fd, entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		/* Its process keeps it open as long as it lives, wherever that is. */
		if (file >= 0 && user_is_plain(file, &bytes) && bytes >= sizeof(uint64_t) &&
		    user_file_use(file) == USER_UNUSED && unlinkat(fd, entry->d_name, 0) == 0)
			count++;
	}
	if (dir)
		closedir(dir);
	return count;
}

size_t user_remove_stale(void)
{
	static const char *const places[] = { "/dev/shm", "/tmp" };
	uint64_t end_ns = clock_now_ns() + STALE_MAX_NS;
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		DIR *dir = opendir(places[i]);
		struct dirent *entry;
		uint64_t uid;

		while (dir && clock_now_ns() < end_ns && (entry = readdir(dir))) {
			if (strncmp(entry->d_name, "holdup-", 7) == 0 &&
			    text_parse_u64(entry->d_name + 7, &uid) &&
			    (geteuid() == 0 || uid == geteuid()))
				count += remove_stale_in(dirfd(dir), entry->d_name, (uint32_t)uid,
							 end_ns);
		}
		if (dir)
			closedir(dir);
	}
	return count;
}
