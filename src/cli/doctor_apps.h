/* doctor_apps.h - holdup doctor --app: which known points are there in what runs. */
#ifndef CLI_DOCTOR_APPS_H
#define CLI_DOCTOR_APPS_H

#include <stddef.h>

#include "cli/opts.h"

struct err;

/* Print a row for each point of each file. Returns 0, or a negative errno with err filled. */
int doctor_apps(const struct opt_strings *apps, const struct opt_pids *pids, struct err *err);

#endif
