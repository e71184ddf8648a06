/* app_option.c - what is written after --app, as a table of known points. */
#include "cli/app_option.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/rights.h"
#include "event/app_known.h"
#include "event/app_table.h"

#define FILE_BYTES_MAX (1u << 20)

/* Programs of the built-in table that were asked for; the rest is nowhere to be found. */
struct wanted {
	bool all;
	const char *names[64];
	size_t count;
};

static int app_read_file(const char *path, struct app_table *table, struct err *err)
{
	AUTO_CLOSE int fd = rights_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *safe = text_escaped(path);
	size_t bytes = 0;
	struct stat st;

	if (fd < 0)
		return err_set(err, -errno, "cannot open %s: %s", safe, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_BYTES_MAX)
		return err_set(err, -EINVAL,
			       "%s is not a table of points: not a regular file, or larger than "
			       "%u bytes",
			       safe, FILE_BYTES_MAX);
	text = xcalloc((size_t)st.st_size + 1, 1);
	while (bytes < (size_t)st.st_size) {
		ssize_t got = read(fd, text + bytes, (size_t)st.st_size - bytes);

		if (got < 0)
			return err_set(err, -errno, "cannot read %s: %s", safe, strerror(errno));
		if (got == 0)
			break;
		bytes += (size_t)got;
	}
	app_table_read(table, text, bytes, safe);
	if (table->fault_count)
		return err_set(err, -EINVAL, "%s%s", table->faults[0],
			       table->fault_count > 1 ? "; more mistakes follow" : "");
	return 0;
}

static bool app_option_is_file(const char *word)
{
	size_t bytes = strlen(word);

	return strchr(word, '/') || (bytes > 4 && !strcmp(word + bytes - 4, ".app"));
}

static int app_option_take_word(struct app_option *option, struct wanted *wanted, const char *word,
				struct err *err)
{
	if (!strcmp(word, "costly"))
		option->costly = true;
	else if (!strcmp(word, "auto"))
		wanted->all = true;
	else if (app_option_is_file(word))
		return app_read_file(word, option->table, err);
	else if (wanted->count < ARRAY_LEN(wanted->names))
		wanted->names[wanted->count++] = word;
	return 0;
}

/* The built-in table stands behind the user's own. */
static int add_known(struct app_option *option, const struct wanted *wanted, struct err *err)
{
	struct app_table *table = option->table;
	size_t first = table->app_count, found = 0;

	app_table_read(table, (const char *)app_known, app_known_bytes, "known.app");
	for (size_t i = first; i < table->app_count; i++) {
		bool is_wanted = wanted->all;

		for (size_t k = 0; k < wanted->count; k++) {
			bool same = !strcmp(wanted->names[k], table->apps[i].name);

			is_wanted |= same;
			found += same;
		}
		if (!is_wanted)
			app_table_hide(table, i);
	}
	if (found >= wanted->count)
		return 0;
	for (size_t k = 0; k < wanted->count; k++) {
		size_t i = first;

		while (i < table->app_count && strcmp(wanted->names[k], table->apps[i].name) != 0)
			i++;
		if (i == table->app_count) {
			AUTO_FREE char *safe = text_escaped(wanted->names[k]);

			return err_set(err, -EINVAL,
				       "--app takes auto, costly, a file that ends in .app, or the "
				       "name of a known program such as postgresql, not '%.60s'",
				       safe);
		}
	}
	return 0;
}

int app_option_read(const char *const *words, size_t count, struct app_option *out_option,
		    struct err *err)
{
	struct wanted wanted = { 0 };
	char **copies = xcalloc(count + 1, sizeof(*copies));
	int rc = 0;

	*out_option = (struct app_option){ 0 };
	if (count)
		out_option->table = xcalloc(1, sizeof(*out_option->table));
	for (size_t i = 0; rc == 0 && i < count; i++) {
		char *rest = copies[i] = xstrdup(words[i]), *word;

		while (rc == 0 && (word = strsep(&rest, ","))) {
			if (*word)
				rc = app_option_take_word(out_option, &wanted, word, err);
		}
	}
	/* "costly" alone is of all. */
	wanted.all |= count && !wanted.count && !out_option->table->app_count;
	if (rc == 0 && count)
		rc = add_known(out_option, &wanted, err);
	for (size_t i = 0; i < count; i++)
		free(copies[i]);
	free(copies);
	if (rc < 0)
		app_option_fini(out_option);
	return rc;
}

void app_option_fini(struct app_option *option)
{
	if (option->table)
		app_table_fini(option->table);
	free(option->table);
	*option = (struct app_option){ 0 };
}
