/*
 * app_option.h - what is written after --app, as a table of known points.
 *
 *	auto          all programs that are known, where they are the target or run beside it
 *	postgresql    this one alone
 *	FILE          a table of one's own: a name with a slash, or that ends in .app
 *	costly        points, too, that may cost more than a percent
 */
#ifndef CLI_APP_OPTION_H
#define CLI_APP_OPTION_H

#include <stdbool.h>
#include <stddef.h>

struct app_table;
struct err;

struct app_option {
	struct app_table
		*table; /* owned; free with app_option_fini(). NULL = nothing was asked for */
	bool costly;
};

/*
 * Words have commas between, or are given one by one. Files are opened with the user's rights.
 * Returns 0, or a negative errno with err filled: the place of what is wrong in a file.
 */
int app_option_read(const char *const *words, size_t count, struct app_option *out_option,
		    struct err *err);
void app_option_fini(struct app_option *option);

#endif
