/* top_record.h - out of holdup top: record one task, and show why it waited. */
#ifndef CLI_TOP_RECORD_H
#define CLI_TOP_RECORD_H

#include <stdio.h>

struct top_task;

/* Print on the terminal, wait for the user; what goes wrong is told there. */
void top_record(const struct top_task *task);

/* Show in a pager what 'print' prints, in a child; wait for the user likewise. */
void top_show(void (*print)(void *context, FILE *out), void *context);

#endif
