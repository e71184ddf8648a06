/* top_record.h - out of holdup top: record one task, and show why it waited. */
#ifndef CLI_TOP_RECORD_H
#define CLI_TOP_RECORD_H

struct top_task;

/* Print on the terminal, wait for the user; what goes wrong is told there. */
void top_record(const struct top_task *task);

#endif
