/*
 * saved.c - reports read back, and simple statistics over few runs.
 *
 * For many hosts the median and the median distance from it: one bad host moves neither. The
 * scale is never below 1 % of the median and 1 ms: what is equal by chance is no measure.
 */
#include "accounts/saved.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

#define MAD_TO_DEVIATION 1.4826 /* of a normal distribution */
#define SCALE_SHARE	 0.01
#define SCALE_FLOOR_NS	 1e6
#define DEPTH_MAX	 16

const char *delays_part_words(enum delays_part part)
{
	switch (part) {
	case DELAYS_PART_RUN:
		return "running";
	case DELAYS_PART_REST:
		return "the rest: asleep or blocked otherwise";
	case DELAYS_PART_WHOLE:
		return "the lives of all threads";
	default:
		return delays_class_words((enum delays_class)(part - DELAYS_PART_CLASS));
	}
}

void delays_run_fini(struct delays_run *run)
{
	free(run->label);
	*run = (struct delays_run){ 0 };
}

/* A member that is not there, or null, is not known: that is not zero. */
static int saved_add_number(struct json_object *object, const char *key, enum delays_part part,
			    struct delays_run *run, struct err *err)
{
	struct json_object *value;
	int64_t number;

	if (!json_object_object_get_ex(object, key, &value) || !value) {
		run->partial |= 1u << part;
		return 0;
	}
	if (!json_object_is_type(value, json_type_int))
		return err_set(err, -EBADMSG, "\"%s\" is not an integer", key);
	number = json_object_get_int64(value);
	if (number < 0)
		return err_set(err, -EBADMSG, "\"%s\" is negative: %" PRId64, key, number);
	if ((uint64_t)number > DELAYS_SAVED_NS_MAX - run->ns[part])
		return err_set(err, -EBADMSG, "\"%s\" is too large for a time: %" PRId64, key,
			       number);
	run->ns[part] += (uint64_t)number;
	run->known |= 1u << part;
	return 0;
}

static int saved_add_class(struct json_object *delays, enum delays_class class,
			   struct delays_run *run, struct err *err)
{
	const char *name = delays_class_name(class);
	enum delays_part part = DELAYS_PART_CLASS + class;
	struct json_object *delay;
	int rc;

	if (!json_object_object_get_ex(delays, name, &delay) || !delay) {
		run->partial |= 1u << part;
		return 0;
	}
	if (!json_object_is_type(delay, json_type_object))
		return err_set(err, -EBADMSG, "\"%s\" of \"delays\" is not an object", name);
	rc = saved_add_number(delay, "total_ns", part, run, err);
	return rc < 0 ? err_wrap(err, "reading \"%s\" of \"delays\"", name) : 0;
}

/* A task, or the sum of exits. */
static int saved_add_object(struct json_object *object, struct delays_run *run, struct err *err)
{
	struct json_object *delays = NULL;
	int rc = saved_add_number(object, "run_ns", DELAYS_PART_RUN, run, err);

	if (rc == 0)
		rc = saved_add_number(object, "rest_ns", DELAYS_PART_REST, run, err);
	if (rc == 0)
		rc = saved_add_number(object, "base_ns", DELAYS_PART_WHOLE, run, err);
	if (json_object_object_get_ex(object, "delays", &delays) && delays &&
	    !json_object_is_type(delays, json_type_object))
		return err_set(err, -EBADMSG, "\"delays\" is not an object");
	for (enum delays_class class = 0; class < DELAYS_CLASSES && rc == 0; class ++)
		rc = saved_add_class(delays, class, run, err);
	return rc;
}

static bool is_process(struct json_object *task)
{
	struct json_object *value;

	return json_object_object_get_ex(task, "process", &value) && json_object_get_boolean(value);
}

static int saved_add_tasks(struct json_object *tasks, struct delays_run *run, struct err *err)
{
	size_t count = json_object_array_length(tasks);
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++) {
		struct json_object *task = json_object_array_get_idx(tasks, i);

		if (!json_object_is_type(task, json_type_object))
			return err_set(err, -EBADMSG, "task %zu is not an object", i + 1);
		rc = is_process(task) ? saved_add_object(task, run, err) : 0;
		if (rc < 0)
			err_wrap(err, "reading task %zu", i + 1);
	}
	return rc;
}

static int add_report(struct json_object *report, struct delays_run *run, struct err *err)
{
	struct json_object *value;

	if (!json_object_is_type(report, json_type_object))
		return err_set(err, -EBADMSG, "not a report of holdup delays");
	run->certain = true;
	if (json_object_object_get_ex(report, "certain", &value))
		run->certain = json_object_get_boolean(value);
	if (json_object_object_get_ex(report, "sum", &value) &&
	    json_object_is_type(value, json_type_object))
		return saved_add_object(value, run, err);
	if (!json_object_object_get_ex(report, "tasks", &value) ||
	    !json_object_is_type(value, json_type_array))
		return err_set(err, -EBADMSG, "not a report of holdup delays");
	return saved_add_tasks(value, run, err);
}

int delays_run_parse(const char *text, size_t bytes, const char *name, struct delays_run *out_run,
		     struct err *err)
{
	struct json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
	struct json_object *report = NULL, *host;
	struct delays_run run = { 0 };
	int rc;

	if (!tokener)
		return err_set(err, -ENOMEM, "no memory to read JSON");
	if (bytes <= DELAYS_SAVED_BYTES_MAX)
		report = json_tokener_parse_ex(tokener, text, (int)bytes);
	if (report)
		rc = add_report(report, &run, err);
	else
		rc = err_set(err, -EBADMSG, "invalid or incomplete JSON at byte %zu",
			     json_tokener_get_parse_end(tokener));
	json_tokener_free(tokener);
	if (rc == 0 && json_object_object_get_ex(report, "host", &host) &&
	    json_object_is_type(host, json_type_string))
		run.label = xasprintf("%s (%s)", name, json_object_get_string(host));
	else if (rc == 0)
		run.label = xstrdup(name);
	json_object_put(report);
	if (rc == 0)
		*out_run = run;
	return rc;
}

/* Opening never waits for the other end of a pipe. */
static int open_saved(const char *path, size_t *out_bytes, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int rc = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		rc = err_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		rc = err_set(err, -EBADMSG, "%s is not a file", path);
	else if (st.st_size > (off_t)DELAYS_SAVED_BYTES_MAX)
		rc = err_set(err, -EBADMSG, "%s is too large for a saved report: more than %u MiB",
			     path, DELAYS_SAVED_BYTES_MAX >> 20);
	if (rc < 0) {
		mem_close_fd(&fd);
		return rc;
	}
	*out_bytes = (size_t)st.st_size;
	return fd;
}

int delays_run_read(const char *path, struct delays_run *out_run, struct err *err)
{
	AUTO_FREE char *text = NULL;
	size_t size = 0, bytes;
	AUTO_CLOSE int fd = open_saved(path, &size, err);
	int rc;

	if (fd < 0)
		return fd;
	text = xmalloc(size + 1);
	bytes = file_read_at(fd, 0, text, size);
	if (bytes < size)
		rc = err_set(err, -EIO, "cannot read the whole file");
	else
		rc = delays_run_parse(text, bytes, path, out_run, err);
	return rc < 0 ? err_wrap(err, "reading %s", path) : 0;
}

int delays_runs_check(const struct delays_run *runs, size_t count, struct err *err)
{
	uint32_t shared = (1u << DELAYS_PART_WHOLE) - 1;

	for (size_t i = 0; i < count; i++) {
		if (!(runs[i].known & ((1u << DELAYS_PART_WHOLE) - 1)))
			return err_set(err, -ENODATA, "%s has no times to compare", runs[i].label);
		shared &= runs[i].known;
	}
	if (!shared)
		return err_set(err, -ENODATA, "no class of time is known in all %zu runs", count);
	return 0;
}

/* ------------------------------------------------------------------ statistics */

static int saved_by_value(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

/* Sorts the values. */
static double median_of(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), saved_by_value);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double deviation_of(const struct delays_run *runs, size_t count, enum delays_part part,
			   double mean)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += ((double)runs[i].ns[part] - mean) * ((double)runs[i].ns[part] - mean);
	return count > 1 ? sqrt(sum / (double)(count - 1)) : 0;
}

void delays_spread_make(const struct delays_run *runs, size_t count, enum delays_part part,
			struct delays_spread *out_spread)
{
	AUTO_FREE double *values = xcalloc(count, sizeof(*values));
	struct delays_spread spread = { .is_known = true };

	for (size_t i = 0; i < count; i++) {
		values[i] = (double)runs[i].ns[part];
		spread.mean += values[i] / (double)count;
		spread.is_known = spread.is_known && (runs[i].known & (1u << part));
	}
	spread.deviation = deviation_of(runs, count, part, spread.mean);
	spread.median = median_of(values, count);
	for (size_t i = 0; i < count; i++) {
		double distance = (double)runs[i].ns[part] - spread.median;

		values[i] = fabs(distance);
		if (fabs(distance) > fabs(spread.distance)) {
			spread.distance = distance;
			spread.farthest = i;
		}
	}
	spread.scale = median_of(values, count) * MAD_TO_DEVIATION;
	spread.scale = fmax(spread.scale, fmax(spread.median * SCALE_SHARE, SCALE_FLOOR_NS));
	*out_spread = spread;
}

/* Up to 'count' (or degrees of freedom): the value of the row before. */
struct quantile {
	size_t count;
	double value;
};

static double look_up(const struct quantile *rows, size_t row_count, size_t count)
{
	double value = rows[0].value;

	for (size_t i = 0; i < row_count && rows[i].count <= count; i++)
		value = rows[i].value;
	return value;
}

double delays_chance_distance(size_t count)
{
	/* The 99 % quantile of the largest distance over the scale, simulated: 200,000 draws. */
	static const struct quantile rows[] = {
		{ 3, 111 },  { 4, 18.4 }, { 6, 10.5 }, { 8, 7.9 },  { 10, 6.9 },
		{ 12, 6.3 }, { 16, 5.6 }, { 24, 5.0 }, { 32, 4.7 }, { 64, 4.4 },
	};

	return look_up(rows, ARRAY_LEN(rows), count);
}

double delays_chance_difference(size_t one_count, size_t other_count)
{
	/* Student's t, 99 %, two-sided, by degrees of freedom. */
	static const struct quantile rows[] = {
		{ 1, 63.66 }, { 2, 9.92 },  { 3, 5.84 },  { 4, 4.60 },	 { 5, 4.03 },  { 6, 3.71 },
		{ 7, 3.50 },  { 8, 3.36 },  { 9, 3.25 },  { 10, 3.17 },	 { 12, 3.05 }, { 15, 2.95 },
		{ 20, 2.85 }, { 30, 2.75 }, { 60, 2.66 }, { 120, 2.62 },
	};

	if (one_count + other_count < 3)
		return -1;
	return look_up(rows, ARRAY_LEN(rows), one_count + other_count - 2) *
	       sqrt(1 / (double)one_count + 1 / (double)other_count);
}

double delays_difference_score(const struct delays_spread *one, size_t one_count,
			       const struct delays_spread *other, size_t other_count)
{
	double variance = 0, freedom = (double)(one_count + other_count) - 2;

	if (freedom < 1)
		return -1;
	/* Of one run, pooled over both groups. */
	variance += one->deviation * one->deviation * (double)(one_count - 1) / freedom;
	variance += other->deviation * other->deviation * (double)(other_count - 1) / freedom;
	return fabs(other->mean - one->mean) / fmax(sqrt(variance), SCALE_FLOOR_NS / 1000);
}
