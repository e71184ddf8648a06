/* pid_window.c - PID [TRACE], --from and --to. */
#include "cli/command.h"
#include "cli/pid_window.h"

#include <errno.h>

#include "base/err.h"
#include "base/text.h"

int pid_window_parse(struct pid_window *window, const char *noun, const char *const times[2],
		     int count, char **operands, struct err *err)
{
	uint64_t number;
	int rc;

	if (count < 1)
		return err_set(err, -EINVAL, "no %s ID given", noun);
	if (count > 2)
		return err_set(err, -EINVAL, "expected one %s and one trace", noun);
	if (!text_parse_u64(operands[0], &number) || number == 0 || number > INT32_MAX)
		return err_set(err, -EINVAL, "\"%s\" is not a %s ID", operands[0], noun);
	window->pid = (int32_t)number;
	window->path = count > 1 ? operands[1] : DEFAULT_TRACE;
	rc = when_parse(times[0], false, &window->from, err);
	return rc < 0 ? rc : when_parse(times[1], true, &window->to, err);
}

int pid_window_load(const struct pid_window *window, struct loaded *out_loaded,
		    uint64_t *out_start_ns, uint64_t *out_end_ns, struct err *err)
{
	int rc = load_trace(window->path, 0, out_loaded, err);

	if (rc < 0)
		return rc;
	rc = when_window(out_loaded, &window->from, &window->to, out_start_ns, out_end_ns, err);
	if (rc < 0)
		loaded_fini(out_loaded);
	return rc;
}
