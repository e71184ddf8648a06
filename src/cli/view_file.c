/* view_file.c - see view_file.h. */
#include "cli/view_file.h"

#include <errno.h>
#include <string.h>

#include "ask/loaded.h"
#include "base/err.h"
#include "cli/output.h"
#include "timeline/timeline.h"
#include "view/answer.h"

int view_file_write(const struct view *view, const struct explanation *answer, view_save *save,
		    const char *path, const struct output *output, struct err *err)
{
	FILE *out = output_stream(output);
	int rc;

	if (!out)
		return err_set(err, -errno, "cannot write to %s: %s", path, strerror(errno));
	rc = save(out, view, answer, err);
	if (rc == 0 && timeline_damage(view->loaded->timeline))
		rc = err_set(err, -EIO, "%s", timeline_damage(view->loaded->timeline));
	if (fclose(out) != 0 && rc == 0)
		rc = err_set(err, -errno, "cannot write to %s: %s", path, strerror(errno));
	return rc;
}
