/* cpus.h - lists of CPUs as the kernel writes them: "0-3,8". */
#ifndef ACCOUNTS_CPUS_H
#define ACCOUNTS_CPUS_H

#include <stddef.h>
#include <stdint.h>

struct err;

#define DELAYS_CPU_MAX 65536u

struct delays_cpus {
	uint32_t *cpus; /* owned; rising, each once */
	size_t count;
};

/* Returns 0, or -EINVAL with err filled. */
int delays_cpus_parse(const char *text, struct delays_cpus *out_cpus, struct err *err);

/* Those that this machine may ever have. Returns 0, or a negative errno with err filled. */
int delays_cpus_possible(struct delays_cpus *out_cpus, struct err *err);

/* "0-3,8" of count CPUs from 'first' on; free with free(). */
char *delays_cpus_text(const struct delays_cpus *cpus, size_t first, size_t count);

void delays_cpus_fini(struct delays_cpus *cpus);

#endif
