/*
 * probe.h - what this kernel leaves out of a trace.
 */
#ifndef RECORD_PROBE_H
#define RECORD_PROBE_H

enum idle_switches {
	IDLE_SWITCHES_ALL,     /* every CPU was seen to record them */
	IDLE_SWITCHES_OMITTED, /* at least one was seen to leave one out */
	IDLE_SWITCHES_UNSEEN,  /* neither: a CPU was busy, or not allowed */
};

/*
 * Does this kernel leave out sched_switch records out of the idle task? Seen on
 * some CPUs of a machine and not on others, so all are tried: by sleeping a few
 * times on each, with the events recorded in the instance, which must be fresh and
 * is left empty and switched off. Who cannot tell should think that it does, which
 * costs one more event and loses nothing. Takes half a millisecond per CPU.
 */
enum idle_switches probe_idle_switches(int instance_fd);

/* What the text of 'trace' shows about a thread that slept on one CPU after the other. */
struct probe_counts {
	unsigned int idle_cpus; /* CPUs on which it gave way to the idle task */
	unsigned int omitted;	/* it gave way twice, with no return in between */
};

void probe_count(const char *trace, int tid, struct probe_counts *out_counts);

#endif
