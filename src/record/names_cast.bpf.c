/* names_cast.bpf.c - holdup.bpf.c for kernels in whose programs any address can be given a type. */
#define BLOCKS_BY_CAST
#include "holdup.bpf.c"
