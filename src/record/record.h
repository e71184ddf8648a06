/*
 * record.h - record the kernel while a command runs, or for a while.
 *
 * A private tracefs instance takes the events; one thread per CPU splices whole
 * sub-buffers from the kernel to a file. Nothing global is changed, and the
 * instance is removed on every way out; one that a killed recorder left behind is
 * removed at the next start.
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct app_table;
struct err;
struct manifest;

struct record_opts {
	const char *dir;   /* trace directory to make; must not exist, or be an empty directory,
				  or a trace directory when 'replace' */
	bool replace;	   /* an older trace of ours at 'dir' may be replaced */
	bool is_temporary; /* 'dir' is of our own making: in a place of root's, and yet the user's */
	const char *
		events; /* "core", "lean", "full", or a list "sched,irq:*,sys_enter"; NULL = "full" */
	uint64_t buffer_bytes; /* per CPU; 0 = default, chosen from memory size */
	const int32_t *pids;   /* -p: end when all of these are gone; NULL = none */
	size_t pid_count;
	uint32_t budget_ppm;	   /* keep to it, of the time of all CPUs; 0 = record all */
	double seconds;		   /* 0 = until the command or pids end, or a signal */
	bool stacks;		   /* kernel stacks at blocking points */
	uint64_t stack_min_ns;	   /* stacks of waits of at least this; 0 = of none */
	bool names_later;	   /* of code, where they can be read later: name_trace.h */
	uint32_t sample_hz;	   /* samples of work in a second, of each CPU; 0 = none */
	bool samples_all;	   /* of all threads of the machine */
	bool as_root;		   /* do not drop to the user who ran sudo */
	bool no_bpf;		   /* do not load the BPF program */
	char *const *argv;	   /* command, NULL-terminated; NULL = none */
	const char *const *probes; /* points in programs, as in probe_spec.h */
	size_t probe_count;
	const char *const *usdt; /* USDT points */
	size_t usdt_count;
	const struct app_table *apps; /* known points of known programs; NULL = none */
	bool apps_costly;	      /* those, too, that may cost more than a percent */
	bool no_user;		      /* do not collect what programs log themselves (libholdup) */
	const char *user;	      /* which of it: patterns; NULL = all */
	/* Called about twice a second from the main thread while recording; may be NULL. */
	void (*progress)(void *context, double seconds, uint64_t bytes, uint64_t lost);
	void *progress_context;
	/*
	 * What is being done before recording begins and after it ended; NULL: nothing of it any
	 * more. Called from the main thread; may be NULL.
	 */
	void (*phase)(void *context, const char *what);
	void *phase_context;
	/* Recording has begun, and a command may be started. From the main thread; may be NULL. */
	void (*begun)(void *context);
	void *begun_context;
	/* Recording is over, the command still runs and is awaited. From the main thread; may be NULL. */
	void (*awaits)(void *context, int32_t pid);
	void *awaits_context;
	bool looks_after; /* who called looks into processes afterwards: CAP_SYS_PTRACE is kept */
	/*
	 * Who follows the recording while it is made: called every 'step_ms' from the main thread,
	 * which does nothing else meanwhile. All events before 'whole_ns' are in the directory, on
	 * the clock as it will be; UINT64_MAX: recording is over, the trace is whole. NULL = nobody.
	 */
	void (*step)(void *context, uint64_t whole_ns);
	void *step_context;
	uint32_t step_ms;
	/* With step_context: all is recorded, the trace is about to become the user's; or NULL. */
	void (*before_giving)(void *context);
};

struct record_result {
	struct manifest *manifest; /* final; owned; free with record_result_fini() */
	int status;		   /* wait status of the command; -1 = none ran */
	double seconds;
	uint64_t events;
	uint64_t bytes;
	uint64_t lost;
	uint32_t user_processes; /* that logged events of their own */
	uint32_t user_living;	 /* of these, that have not ended */
	uint64_t user_bytes;
	uint64_t user_lost;
	uint64_t user_half_bytes;   /* left out: from an event that nobody ended on */
	uint64_t user_unread_bytes; /* of programs' files that there was no time to look at */
	bool user_is_cut;	    /* nor was there for all their folders */
	bool is_cut;		    /* its end could not be written: see manifest->missing */
	bool interrupted;	    /* ended by SIGINT or SIGTERM */
	bool is_given;		    /* it and its name are the user's who ran sudo, to change */
	int final_signal; /* the user wants nothing to follow; 0 = no such signal. Set with -EINTR too */
};

/*
 * Record. Blocks until the command ended, the time is over, the pids are gone, or
 * SIGINT/SIGTERM came (a command that runs gets the signal too). Returns 0 with *out_result filled, or
 * a negative errno with err filled; the instance is removed in both cases.
 *   -EPERM, -EACCES   no right to use tracefs
 *   -ENOENT           no tracefs, no such point in a program, or the command was not found
 *                     (result.status tells 127 << 8)
 *   -EINVAL           an unknown event in the list, a thread given as process ...
 *   -ESRCH            no such process
 *   -EEXIST           'dir' holds something else
 *   -EINTR            a signal came before recording began: the command was not started,
 *                     result.final_signal tells which
 *   -ENOSPC           disk full before recording began, or trace.json does not fit
 *
 * After a failure nothing is left behind. A disk that gets full while recording is
 * no failure: recording stops, the trace is valid up to then and its manifest says
 * so under 'missing'. When recording stops before the command ends (full disk, time
 * over), the trace is made whole at once and the command is awaited, unrecorded.
 *
 * The first SIGINT, SIGTERM, SIGHUP or SIGQUIT is passed to the command (the keys of
 * a terminal reach it without us) and its end awaited; the second one ends recording
 * at once and leaves the command alone. Where the command is only awaited, the first one ends
 * that, half a second later if the command does not end by it. These signals are blocked meanwhile and the
 * mask is restored. Call it from a program without other threads that take them.
 */
int record_run(const struct record_opts *opts, struct record_result *out_result, struct err *err);

void record_result_fini(struct record_result *result);

/* One line of `holdup doctor`. */
enum check_state {
	CHECK_OK,
	CHECK_DEGRADED, /* something is lost; recording works */
	CHECK_FATAL,	/* cannot record */
};

struct check {
	enum check_state state;
	const char *name; /* "tracefs", "event sched:sched_switch", "BPF" ... */
	char *found;	  /* what is the case; owned */
	char *lost;	  /* what is lost by it; NULL = nothing; owned */
	char *command;	  /* the one command that would enable it; NULL = none; owned */
};

struct doctor {
	struct check *checks; /* owned */
	size_t count;
	size_t cap;
};

/* Look at this kernel, user and container. Changes nothing that lasts. */
void doctor_run(struct doctor *out_doctor);
void doctor_fini(struct doctor *doctor);

#endif
