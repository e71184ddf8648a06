/*
 * stack_names.h - raw stacks become frames with names: kernel/stacks of the trace.
 */
#ifndef RECORD_STACK_NAMES_H
#define RECORD_STACK_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct images;
struct jit_files;
struct python_codes;
struct pythons;
struct stack_keep;
struct stack_sampling;

/* What names are made of; views. */
struct stack_names_from {
	struct stack_keep *keep;
	struct images *images;
	const struct jit_files *jit_files;
	const struct pythons *pythons;
	const struct python_codes *codes;
	uint64_t since_ns; /* of waits that were over before nothing is told */
	bool names_later;  /* what can be named later on this machine gets no name now */
};

/*
 * Unwind and name all that was kept, and write it to 'stacks' in the folder 'kernel_fd'. The work is
 * done by a child that can do nothing but read, since programs and stacks may be anything; it has a
 * limit of time and memory. Returns 0, or a negative errno with err filled when it came to no end:
 * what it wrote up to then is whole.
 */
int stack_names_write(const struct stack_names_from *from, const struct stack_sampling *sampling,
		      int kernel_fd, struct err *err);

/* The same, while the caller goes on. */
struct stack_naming {
	pid_t pid;  /* 0 = none */
	int fd;	    /* the file */
	int end_fd; /* pidfd: readable when it has ended */
};

#define STACK_NAMING_NONE ((struct stack_naming){ .fd = -1, .end_fd = -1 })

int stack_names_begin(const struct stack_names_from *from, const struct stack_sampling *sampling,
		      int kernel_fd, struct stack_naming *out_naming, struct err *err);

/* Wait for its end, and make the file whole: as stack_names_write(). None is fine. */
int stack_names_end(struct stack_naming *naming, struct err *err);

/*
 * The same in a child that the caller forked: give up all that it could do, write to 'fd', and exit. The
 * caller calls name_child_await().
 */
_Noreturn void stack_names_run(const struct stack_names_from *from,
			       const struct stack_sampling *sampling, int fd);

#endif
