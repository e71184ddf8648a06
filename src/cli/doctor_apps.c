/* doctor_apps.c - holdup doctor --app: which known points are there in what runs. */
#include "cli/doctor_apps.h"

#include <errno.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/app_option.h"
#include "event/app_table.h"
#include "guard/user.h"
#include "record/apps.h"
#include "record/probes.h"
#include "report/table.h"

struct listing {
	const struct app_table *table;
	struct table rows;
	size_t count;
};

/* An app_found_fn. The path is that of a process's own root: what is before it says nothing. */
static void apps_add_row(void *context, const struct app_found *found)
{
	struct listing *listing = context;
	const struct app_point *point = &listing->table->points[found->point];
	const struct app_span *span = &listing->table->spans[point->span];
	int skip = 0;

	(void)sscanf(found->path, "/proc/%*d/root%n", &skip);
	listing->count++;
	table_cell(&listing->rows, "%s", listing->table->apps[span->app].name);
	table_cell(&listing->rows, "%s", found->path + skip);
	table_cell(&listing->rows, "%s %s", point->ends ? "end of" : "begin of", span->name);
	table_cell(&listing->rows, "%s", span->is_costly ? "costly" : "");
	table_cell(&listing->rows, "%s", found->why_not ? found->why_not : "there");
}

int doctor_apps(const struct opt_strings *apps, const struct opt_pids *pids, struct err *err)
{
	struct app_option option;
	struct guard_user user = { 0 };
	bool is_users = guard_user_find(&user);
	const struct probes_wish wish = { .pids = pids->pids,
					  .pid_count = pids->count,
					  .user = is_users ? &user : NULL };
	struct listing listing = { 0 };
	int rc = app_option_read(apps->items, apps->count, &option, err);

	listing.table = option.table;
	table_column(&listing.rows, "program", TABLE_LEFT);
	table_column(&listing.rows, "file", TABLE_LEFT);
	table_column(&listing.rows, "span", TABLE_LEFT);
	table_column(&listing.rows, "", TABLE_LEFT);
	table_column(&listing.rows, "point", TABLE_TEXT);
	if (rc == 0)
		apps_look(&wish, option.table, apps_add_row, &listing);
	if (rc == 0 && listing.count)
		table_print(&listing.rows, stdout);
	else if (rc == 0)
		puts("No running program that this user can see has known points.");
	table_fini(&listing.rows);
	guard_user_fini(&user);
	app_option_fini(&option);
	return rc;
}
