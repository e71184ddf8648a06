/* delays_compare.c - holdup delays compare: saved runs against each other. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/delays_cmd.h"
#include "accounts/saved.h"
#include "report/delays_compare.h"

int delays_save_open(const struct delays_cmd *cmd, struct output *out_output, FILE **out_file,
		     struct err *err)
{
	int rc;

	*out_file = NULL;
	if (!cmd->save)
		return 0;
	rc = output_begin(cmd->save, out_output, err);
	if (rc < 0)
		return rc;
	*out_file = output_stream(out_output);
	if (*out_file)
		return 0;
	rc = err_set(err, -errno, "cannot write %s: %s", cmd->save, strerror(errno));
	return output_end(out_output, rc, NULL);
}

int delays_save_close(const struct delays_cmd *cmd, struct output *output, FILE *file,
		      struct err *err)
{
	int rc = 0;

	if (ferror(file) | fclose(file))
		rc = err_set(err, -EIO, "cannot write all of %s", cmd->save);
	return output_end(output, rc, err);
}

int delays_compare(const struct delays_cmd *cmd, struct err *err)
{
	AUTO_FREE struct delays_run *runs = NULL;
	struct delays_comparison comparison = { .count = cmd->file_count };
	size_t read_count = 0;
	int rc = 0;

	for (char **more = cmd->command; more && *more; more++)
		comparison.count++;
	if (comparison.count < 2)
		return err_set(err, -EINVAL, "compare needs at least two saved runs");
	if (cmd->command)
		comparison.first_count = cmd->file_count;
	else if (cmd->file_count == 2)
		comparison.first_count = 1;
	if (cmd->command && (!cmd->file_count || comparison.count == cmd->file_count))
		return err_set(err, -EINVAL, "compare needs runs before and after --");
	runs = xcalloc(comparison.count, sizeof(*runs));
	comparison.runs = runs;
	for (size_t i = 0; i < comparison.count && rc == 0; i++) {
		const char *path =
			i < cmd->file_count ? cmd->files[i] : cmd->command[i - cmd->file_count];

		rc = delays_run_read(path, &runs[i], err);
		read_count += rc == 0;
	}
	if (rc == 0)
		rc = delays_runs_check(runs, comparison.count, err);
	if (rc == 0)
		report_delays_compare(stdout, &comparison, cmd->json);
	for (size_t i = 0; i < read_count; i++)
		delays_run_fini(&runs[i]);
	return rc;
}
