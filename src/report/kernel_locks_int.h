/* kernel_locks_int.h - the kernel's locks, as a part of what report/locks.h prints. */
#ifndef REPORT_KERNEL_LOCKS_INT_H
#define REPORT_KERNEL_LOCKS_INT_H

#include <stddef.h>
#include <stdio.h>

struct json;
struct klocks_sum;

/* A table of 'top' rows, then the first ones in detail. Nothing when no event told of one. */
void klocks_print_text(FILE *out, const struct klocks_sum *sum, size_t top);

/* The key "kernel" of the object that is open. */
void klocks_print_json(struct json *json, const struct klocks_sum *sum);

#endif
