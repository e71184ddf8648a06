/* fuzz_app_table.c - any bytes as a table of known points: read, written, read again, told. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/app_table.h"

static bool field(void *context, const char *name, struct app_field *out_field)
{
	*out_field = (struct app_field){ "\xc3\xa4 text\n\x1b", 9, (int64_t)strlen(name) };
	return name[0] != 'x';
}

/* What is written is what was read: nothing of it is wrong the second time. */
static void check_text(const char *text)
{
	struct app_table again = { 0 };

	app_table_read(&again, text, strlen(text), "again");
	if (again.fault_count)
		abort();
	app_table_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct app_table table = { 0 };
	char **events;
	char *text;

	app_table_read(&table, (const char *)data, size, "fuzz");
	events = xcalloc(table.point_count + 1, sizeof(*events));
	for (size_t i = 0; i < table.point_count; i++) {
		char *words = app_words(&table, &table.points[i], field, NULL);

		if (words && strlen(words) > 400)
			abort();
		free(words);
		events[i] = i % 3 ? xasprintf("p:e%zu", i) : NULL;
	}
	text = app_table_text(&table, (const char *const *)events);
	check_text(text);
	for (size_t i = 0; i < table.point_count; i++)
		free(events[i]);
	free(events);
	free(text);
	app_table_fini(&table);
	return 0;
}
