/*
 * bpf_count.h - have the kernel count the time of BPF programs, now and again.
 *
 * While it counts (BPF_ENABLE_STATS of bpf(2)), every run of every program of the machine costs more. So a recorder that
 * is always on has it do so for a part of the time alone. That needs CAP_SYS_ADMIN, which the recorder gives up: a helper
 * process keeps it, and can do nothing with it but this. Best effort: without rights there is no count.
 */
#ifndef RECORD_BPF_COUNT_H
#define RECORD_BPF_COUNT_H

#include <stdbool.h>
#include <sys/types.h>

/* Asked by this thread. Returns a descriptor, and the kernel counts until it is closed; -1 = it does not. */
int bpf_count_on(void);

struct bpf_count {
	pid_t pid; /* 0 = there is no helper */
	int fd;	   /* to it */
};

#define BPF_COUNT_NONE ((struct bpf_count){ .fd = -1 })

/* Before rights are given up. */
void bpf_count_start(struct bpf_count *count);

/* As bpf_count_on(), asked by the helper. One that does not answer soon is ended. */
int bpf_count_ask(struct bpf_count *count);

void bpf_count_stop(struct bpf_count *count);

#endif
