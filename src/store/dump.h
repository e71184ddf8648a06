/*
 * dump.h - the state dump: what lived and what was open when recording began.
 *
 * One JSON object a line, so that a cut file loses only its last line:
 *
 *	{"thread":{"tid","tgid","ppid","comm","cmdline","cgroup","uid","policy","prio","state","kernel","ns"}}
 *	{"fd":{"tgid","fd","role","inode","name"}}          role: enum fd_role as a number
 *	{"epoll":{"tgid","epoll","target"}}
 *	{"vtid":{"space","vtid","tid","tgid","start"}}      of threads in a pid namespace of their own
 *	{"wait":{"tid","who","process","inferred","ns","word","call","object","how"}}   struct fact_wait
 *	{"irq":{"nr","name"}}
 *	{"device":{"nr","name"}}                            nr: major << 20 | minor
 *
 * A thread's state is the letter that /proc has, or 'F': the freezer of its cgroup keeps it asleep.
 * Strings that are not valid UTF-8 have the bad bytes replaced by '?'.
 */
#ifndef STORE_DUMP_H
#define STORE_DUMP_H

#include <stdio.h>

#define DUMP_FROZEN 'F'

struct err;
struct facts;
struct fact_thread;
struct fact_fd;
struct fact_epoll;
struct fact_moment;
struct fact_name;
struct fact_vtid;
struct fact_wait;

void dump_print_thread(FILE *out, const struct fact_thread *thread);
void dump_print_fd(FILE *out, const struct fact_fd *fd);
void dump_print_epoll(FILE *out, const struct fact_epoll *epoll);
void dump_print_vtid(FILE *out, const struct fact_vtid *vtid);
void dump_print_wait(FILE *out, const struct fact_wait *wait);
void dump_print_moment(FILE *out, const struct fact_moment *moment);
void dump_print_irq(FILE *out, const struct fact_name *irq);
void dump_print_device(FILE *out, const struct fact_name *device);

/*
 * Read a dump into 'facts' (threads, fds, epolls, vtids, waits, irqs, devices are appended,
 * fds and waits sorted). Damaged lines are skipped and noted in facts->damage. Returns 0 or
 * a negative errno of opening.
 */
int dump_read(const char *path, struct facts *facts, struct err *err);

#endif
