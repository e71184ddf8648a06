/* stack_work.bpf.c - stack.bpf.c for kernels that have task works. */
#define STACK_BY_WORK
#include "stack.bpf.c"
