/*
 * control.h - see and steer processes that log events with libholdup, from outside.
 *
 * The control file (struct holdup_control_) is mapped by its process and belongs to its user:
 * here it is read and written with checks, never mapped, and no text of it is believed. Changes
 * are made alone (flock), as the library makes its own.
 */
#ifndef ATTACH_CONTROL_H
#define ATTACH_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/proc.h"

struct err;
struct holdup_control_;

enum user_mode {
	USER_STREAM = 1, /* all events */
	USER_FLIGHT = 2, /* the last ones */
};

/* A process with a control file. */
struct user_process {
	struct user_proc proc;
	int root_fd;			 /* its root folder; kept, so that its files stay there */
	int fd;				 /* the control file */
	struct holdup_control_ *control; /* owned; as it was last read, with all texts ended */
};

/*
 * Find the control file of a process. Returns 0 and *out_process (free with
 * user_process_close()), or a negative errno with err filled:
 *   -ESRCH   there is no such process
 *   -ENOENT  it does not use libholdup, or did not begin to yet
 *   -EACCES  it is another user's
 *   -ENOTSUP it uses another version of it
 */
int user_process_open(int32_t pid, struct user_process **out_process, struct err *err);
void user_process_close(struct user_process *process);

/* Open a folder that the process names, if it is its user's. Returns a descriptor or a negative errno. */
int user_process_open_folder(const struct user_process *process, const char *path);

/* Is this the name of a control file, PID-NAMESPACE.control? *out_pid: as the process sees itself. */
bool user_control_pid(const char *name, uint32_t *out_pid);

/* Read the control again. False when it is gone. */
bool user_process_read(struct user_process *process);

/* Does it log to a trace now? */
bool user_process_logs(const struct user_process *process);

/* Folder of its trace as it sees it, or NULL; *out_failed: why there is none, or NULL. */
const char *user_process_trace(const struct user_process *process, const char **out_failed);

/* Switch events on or off, as holdup_enable() and holdup_disable() do. */
int user_process_switch(struct user_process *process, const char *events, bool off,
			struct err *err);

/*
 * Ask for a trace: events by 'events' alone, NULL = those that are on. 'dir' is a path as the
 * process sees it; "" = its runtime folder. The trace begins with its next event.
 */
int user_process_ask(struct user_process *process, const char *dir, enum user_mode mode,
		     const char *events, struct err *err);

/* Log nothing any more. */
int user_process_stop(struct user_process *process, struct err *err);

/* Switch back to what was on in 'before': a control that was read earlier. */
int user_process_restore(struct user_process *process, const struct holdup_control_ *before,
			 struct err *err);

/* Events of a class of a process. */
struct user_class {
	char name[64];
	uint32_t count;
	uint32_t on;
};

/* The classes in order of their names; free the result. */
struct user_class *user_process_classes(const struct user_process *process, size_t *out_count);

/* Remove control files in our folders whose process is gone. Returns how many. */
size_t user_remove_stale(void);

/* Check a control that was read: whose it says it is. Exported for tests. */
bool user_control_is_sane(struct holdup_control_ *control, const struct user_proc *proc,
			  const char **out_why);

/* Write down what 'rules' means for the names of 'control': mask, and one more change. For tests. */
void user_control_apply(struct holdup_control_ *control);

#endif
