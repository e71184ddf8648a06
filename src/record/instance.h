/*
 * instance.h - a private tracefs instance, and what dead recorders left behind.
 *
 * An instance is named holdup-PID-STARTTIME after its recorder, with "-N" behind
 * it for a second one of the same process. So a later recorder can tell whether
 * the owner still lives, even when the pid was given out again. A small child
 * process of the recorder removes the instance when the recorder is killed; where
 * that child dies too, the next start removes it.
 */
#ifndef RECORD_INSTANCE_H
#define RECORD_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

struct instance {
	char *path;	 /* owned; NULL = not open */
	int dir_fd;	 /* of the instance's directory */
	int hold_fd;	 /* an open file inside: the kernel refuses to remove the instance */
	pid_t watchdog;	 /* pid of the child that cleans up after us; 0 = none */
	int watchdog_fd; /* closed = the watchdog wakes */
};

/* An instance that is not open: instance_close() does nothing with it. */
#define INSTANCE_NONE ((struct instance){ .dir_fd = -1, .hold_fd = -1, .watchdog_fd = -1 })

/*
 * Make an instance below 'tracing_dir', switched off. Call it before threads are
 * started. Returns 0, or a negative errno with err filled and nothing left behind.
 */
int instance_open(const char *tracing_dir, struct instance *out_instance, struct err *err);

/*
 * Take an instance over that a dead recorder left, 'name' in instances/, and stop what it still records.
 * Returns 0, or a negative errno with err filled: -ENOENT it is gone, -EBUSY its recorder lives.
 */
int instance_adopt(const char *tracing_dir, const char *name, struct instance *out_instance,
		   struct err *err);

/*
 * When this process is killed the instance stays, switched off, until the next start of a recorder:
 * what its rings hold can still be read then. Where nobody watches over us, it goes on recording.
 */
void instance_outlive(const struct instance *instance);

/* Close and remove it, with the points in user programs of its group (probe_group.h). All other files in it must be closed. Safe to call twice. */
void instance_close(struct instance *instance);

/* The same without removing it: the next start finds it. */
void instance_leave(struct instance *instance);

/*
 * Remove the instances of recorders that are dead, and their points in user programs. Returns how
 * many instances were removed.
 * One that is in use is never removed: the kernel refuses.
 */
int instance_remove_stale(const char *tracing_dir);

/* Does nobody, the top level included, have events switched on? 'tracing_fd': the tracing directory. */
bool instance_all_idle(int tracing_fd);

/* Read "holdup-PID-STARTTIME[-N]". False when 'name' is not one of ours. */
bool instance_parse_name(const char *name, pid_t *out_pid, uint64_t *out_start_time);

/* Start time of a process in clock ticks since boot. False when there is no such process. */
bool instance_process_start(pid_t pid, uint64_t *out_start_time);

#endif
