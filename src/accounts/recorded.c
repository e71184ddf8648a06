/*
 * recorded.c - kernel/accounts: records of numbers, each 7 bits to a byte, the lowest first.
 *
 * A record is its kind, the length of the rest, and the rest. Kinds that are not known are passed
 * over, and so is what stands behind the numbers that are known: newer recorders may add.
 */
#include "accounts/recorded.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/outbuf.h"

#define MAGIC	      "HOLDACC1"
#define MAGIC_BYTES   8u
#define NUMBER_BYTES  10u /* of 64 bits, at most */
#define PAYLOAD_BYTES 2048u
#define NS_MAX	      (UINT64_MAX / 1024) /* what is larger is no time: 570,000 years are */

enum kind {
	KIND_HEAD = 1,
	KIND_TASK,
	KIND_SCHED,
	KIND_PRESSURE,
	KIND_LOSS,
	KIND_END,
	KIND_STOLEN,
};

/* The numbers of an account, in the order of the file. New ones come last. */
static const struct field {
	uint16_t offset;
	uint16_t bytes;
} fields[] = {
#define FIELD(name)                                                                           \
	{                                                                                     \
		offsetof(struct delays_stats, name), sizeof(((struct delays_stats *)0)->name) \
	}
#define DELAY(class)                                                                         \
	FIELD(delay[class].count), FIELD(delay[class].total_ns), FIELD(delay[class].max_ns), \
		FIELD(delay[class].min_ns)
	FIELD(tid),
	FIELD(tgid),
	FIELD(ppid),
	FIELD(version),
	FIELD(classes),
	FIELD(ranges),
	FIELD(has),
	DELAY(DELAYS_CPU),
	DELAY(DELAYS_DISK),
	DELAY(DELAYS_SWAPIN),
	DELAY(DELAYS_RECLAIM),
	DELAY(DELAYS_THRASHING),
	DELAY(DELAYS_COMPACTION),
	DELAY(DELAYS_COW),
	DELAY(DELAYS_IRQ),
	FIELD(run_ns),
	FIELD(run_real_ns),
	FIELD(exit_status),
	FIELD(flags),
	FIELD(nice),
	FIELD(policy),
	FIELD(uid),
	FIELD(birth_s),
	FIELD(life_us),
	FIELD(user_us),
	FIELD(system_us),
	FIELD(minor_faults),
	FIELD(major_faults),
	FIELD(peak_rss_kb),
	FIELD(peak_vm_kb),
	FIELD(read_chars),
	FIELD(write_chars),
	FIELD(read_calls),
	FIELD(write_calls),
	FIELD(read_bytes),
	FIELD(write_bytes),
	FIELD(cancelled_bytes),
	FIELD(voluntary),
	FIELD(involuntary),
#undef DELAY
#undef FIELD
};

/* ----------------------------------------------------------------------- writing */

struct payload {
	size_t count;
	uint8_t bytes[PAYLOAD_BYTES]; /* the first 'count' are set */
};

static size_t payload_put_number(uint8_t *to, uint64_t value)
{
	size_t count = 0;

	for (; value >= 0x80; value >>= 7)
		to[count++] = (uint8_t)(value | 0x80);
	to[count++] = (uint8_t)value;
	return count;
}

static void payload_add_number(struct payload *payload, uint64_t value)
{
	payload->count += payload_put_number(payload->bytes + payload->count, value);
}

/* What does not fit is cut: names of cgroups. */
static void recorded_add_text(struct payload *payload, const char *text)
{
	size_t room = sizeof(payload->bytes) - payload->count - NUMBER_BYTES;
	size_t bytes = strnlen(text, room);

	payload_add_number(payload, bytes);
	memcpy(payload->bytes + payload->count, text, bytes);
	payload->count += bytes;
}

static void recorded_put_record(struct outbuf *out, enum kind kind, const struct payload *payload)
{
	uint8_t head[2 * NUMBER_BYTES];
	size_t count = payload_put_number(head, kind);

	count += payload_put_number(head + count, payload->count);
	outbuf_put(out, head, count);
	outbuf_put(out, payload->bytes, payload->count);
}

void recorded_put_head(struct outbuf *out, const struct delays_account *account, uint64_t time_ns,
		       uint64_t tick_ns)
{
	struct payload payload;

	payload.count = 0;
	outbuf_put(out, MAGIC, MAGIC_BYTES);
	payload_add_number(&payload, time_ns);
	payload_add_number(&payload, account->state);
	payload_add_number(&payload, account->since_boot);
	payload_add_number(&payload, tick_ns);
	recorded_put_record(out, KIND_HEAD, &payload);
}

static uint64_t get_field(const struct delays_stats *stats, const struct field *field)
{
	const uint8_t *at = (const uint8_t *)stats + field->offset;
	uint64_t wide;
	uint32_t narrow;

	if (field->bytes == sizeof(wide)) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, at, sizeof(narrow));
	return narrow;
}

void recorded_put_task(struct outbuf *out, const struct recorded_task *task)
{
	struct payload payload;

	payload.count = 0;
	payload_add_number(&payload, task->when);
	payload_add_number(&payload, task->time_ns);
	payload_add_number(&payload, task->slack_ns);
	recorded_add_text(&payload, task->stats.name);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		payload_add_number(&payload, get_field(&task->stats, &fields[i]));
	recorded_put_record(out, KIND_TASK, &payload);
}

void recorded_put_sched(struct outbuf *out, const struct recorded_sched *sched)
{
	struct payload payload;

	payload.count = 0;
	payload_add_number(&payload, sched->when);
	payload_add_number(&payload, sched->time_ns);
	payload_add_number(&payload, (uint32_t)sched->tid);
	payload_add_number(&payload, (uint32_t)sched->tgid);
	payload_add_number(&payload, sched->run_ns);
	payload_add_number(&payload, sched->queued_ns);
	payload_add_number(&payload, sched->count);
	recorded_put_record(out, KIND_SCHED, &payload);
}

void recorded_put_pressure(struct outbuf *out, const struct recorded_pressure *pressure)
{
	struct payload payload;

	payload.count = 0;
	payload_add_number(&payload, pressure->when);
	payload_add_number(&payload, pressure->time_ns);
	payload_add_number(&payload, pressure->has_some | pressure->has_full << 1);
	payload_add_number(&payload, pressure->some_ns);
	payload_add_number(&payload, pressure->full_ns);
	recorded_add_text(&payload, pressure->resource);
	recorded_add_text(&payload, pressure->cgroup);
	recorded_put_record(out, KIND_PRESSURE, &payload);
}

void recorded_put_stolen(struct outbuf *out, const struct recorded_stolen *stolen)
{
	struct payload payload;

	payload.count = 0;
	payload_add_number(&payload, stolen->when);
	payload_add_number(&payload, stolen->time_ns);
	payload_add_number(&payload, stolen->stolen_ns);
	payload_add_number(&payload, stolen->step_ns);
	recorded_put_record(out, KIND_STOLEN, &payload);
}

void recorded_put_loss(struct outbuf *out, const struct recorded_loss *loss)
{
	struct payload payload;

	payload.count = 0;
	payload_add_number(&payload, loss->time_ns);
	payload_add_number(&payload, loss->count);
	recorded_add_text(&payload, loss->cpus);
	recorded_put_record(out, KIND_LOSS, &payload);
}

void recorded_put_end(struct outbuf *out, uint64_t time_ns, uint64_t damaged)
{
	struct payload payload;

	payload.count = 0;
	payload_add_number(&payload, time_ns);
	payload_add_number(&payload, damaged);
	recorded_put_record(out, KIND_END, &payload);
}

/* ----------------------------------------------------------------------- reading */

/* Bytes that are left; after a number that is not there 'bad' is set and all are 0. */
struct cursor {
	const uint8_t *at;
	size_t left;
	bool bad;
};

static uint64_t cursor_take_number(struct cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64 && cursor->left; shift += 7) {
		uint8_t byte = *cursor->at++;

		cursor->left--;
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	cursor->bad = true;
	cursor->left = 0;
	return 0;
}

/* A number that has a limit: what is above it is damage. */
static uint64_t take_below(struct cursor *cursor, uint64_t limit)
{
	uint64_t value = cursor_take_number(cursor);

	if (value < limit)
		return value;
	cursor->bad = true;
	return 0;
}

/* The bytes of a text: a view of *out_bytes. */
static const char *recorded_take_text(struct cursor *cursor, size_t *out_bytes)
{
	uint64_t bytes = take_below(cursor, RECORDED_TEXT_MAX);
	const char *text = (const char *)cursor->at;

	*out_bytes = 0;
	if (bytes > cursor->left) {
		cursor->bad = true;
		return "";
	}
	cursor->at += bytes;
	cursor->left -= (size_t)bytes;
	*out_bytes = (size_t)bytes;
	return text;
}

static const char *recorded_keep_text(struct recorded *recorded, struct cursor *cursor)
{
	size_t bytes;
	const char *text = recorded_take_text(cursor, &bytes);

	for (size_t i = recorded->text_count; i > 0 && i + 16 > recorded->text_count; i--) {
		const char *known = recorded->texts[i - 1];

		if (strlen(known) == bytes && memcmp(known, text, bytes) == 0)
			return known;
	}
	recorded->texts = vec_room(recorded->texts, recorded->text_count, &recorded->text_cap,
				   sizeof(char *));
	recorded->texts[recorded->text_count] = xstrndup(text, bytes);
	return recorded->texts[recorded->text_count++];
}

static void set_field(struct delays_stats *stats, const struct field *field, uint64_t value)
{
	uint8_t *at = (uint8_t *)stats + field->offset;
	uint32_t narrow = (uint32_t)value;

	if (field->bytes == sizeof(value))
		memcpy(at, &value, sizeof(value));
	else
		memcpy(at, &narrow, sizeof(narrow));
}

static bool is_id(int32_t id)
{
	return id > 0;
}

static void recorded_parse_head(struct recorded *recorded, struct cursor *cursor)
{
	recorded->begin_ns = take_below(cursor, NS_MAX);
	recorded->state = (enum delays_account_state)take_below(cursor, DELAYS_ACCOUNT_ON + 1);
	recorded->since_boot = cursor_take_number(cursor) != 0;
	if (cursor->left) /* older recorders did not know it */
		recorded->tick_ns = take_below(cursor, NS_MAX);
}

static void parse_task(struct recorded *recorded, struct cursor *cursor)
{
	struct recorded_task task = { .when = (enum recorded_when)take_below(cursor,
									     RECORDED_WHENS) };
	const char *name;
	size_t bytes;

	task.time_ns = take_below(cursor, NS_MAX);
	task.slack_ns = take_below(cursor, NS_MAX);
	name = recorded_take_text(cursor, &bytes);
	if (bytes >= sizeof(task.stats.name))
		cursor->bad = true;
	else
		memcpy(task.stats.name, name, bytes);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		set_field(&task.stats, &fields[i], take_below(cursor, NS_MAX));
	task.stats.classes &= (1u << DELAYS_CLASSES) - 1;
	task.stats.ranges &= task.stats.classes;
	if (cursor->bad || !is_id(task.stats.tid) || !is_id(task.stats.tgid)) {
		cursor->bad = true;
		return;
	}
	recorded->tasks = vec_room(recorded->tasks, recorded->task_count, &recorded->task_cap,
				   sizeof(*recorded->tasks));
	recorded->tasks[recorded->task_count++] = task;
}

static void parse_sched(struct recorded *recorded, struct cursor *cursor)
{
	struct recorded_sched sched = { .when = (enum recorded_when)take_below(cursor,
									       RECORDED_WHENS) };

	sched.time_ns = take_below(cursor, NS_MAX);
	sched.tid = (int32_t)take_below(cursor, INT32_MAX);
	sched.tgid = (int32_t)take_below(cursor, INT32_MAX);
	sched.run_ns = take_below(cursor, NS_MAX);
	sched.queued_ns = take_below(cursor, NS_MAX);
	sched.count = take_below(cursor, NS_MAX);
	if (cursor->bad || !is_id(sched.tid) || !is_id(sched.tgid)) {
		cursor->bad = true;
		return;
	}
	recorded->scheds = vec_room(recorded->scheds, recorded->sched_count, &recorded->sched_cap,
				    sizeof(*recorded->scheds));
	recorded->scheds[recorded->sched_count++] = sched;
}

static void recorded_parse_pressure(struct recorded *recorded, struct cursor *cursor)
{
	struct recorded_pressure row = { .when = (enum recorded_when)take_below(cursor,
										RECORDED_WHENS) };
	uint64_t has;

	row.time_ns = take_below(cursor, NS_MAX);
	has = cursor_take_number(cursor);
	row.has_some = has & 1;
	row.has_full = has & 2;
	row.some_ns = take_below(cursor, NS_MAX);
	row.full_ns = take_below(cursor, NS_MAX);
	row.resource = recorded_keep_text(recorded, cursor);
	row.cgroup = recorded_keep_text(recorded, cursor);
	if (cursor->bad)
		return;
	recorded->pressures = vec_room(recorded->pressures, recorded->pressure_count,
				       &recorded->pressure_cap, sizeof(*recorded->pressures));
	recorded->pressures[recorded->pressure_count++] = row;
}

static void parse_loss(struct recorded *recorded, struct cursor *cursor)
{
	struct recorded_loss loss = { .time_ns = take_below(cursor, NS_MAX) };

	loss.count = take_below(cursor, UINT32_MAX);
	loss.cpus = recorded_keep_text(recorded, cursor);
	if (cursor->bad)
		return;
	recorded->losses = vec_room(recorded->losses, recorded->loss_count, &recorded->loss_cap,
				    sizeof(*recorded->losses));
	recorded->losses[recorded->loss_count++] = loss;
	recorded->lost += loss.count;
}

static void parse_end(struct recorded *recorded, struct cursor *cursor)
{
	uint64_t time_ns = take_below(cursor, NS_MAX);

	recorded->damaged = take_below(cursor, NS_MAX);
	recorded->end_ns = cursor->bad ? 0 : time_ns;
}

static void parse_stolen(struct recorded *recorded, struct cursor *cursor)
{
	enum recorded_when when = (enum recorded_when)take_below(cursor, RECORDED_WHENS);
	uint64_t stolen_ns, step_ns;

	(void)take_below(cursor, NS_MAX); /* when */
	stolen_ns = take_below(cursor, NS_MAX);
	step_ns = take_below(cursor, NS_MAX);
	if (cursor->bad)
		return;
	if (when == RECORDED_START) {
		recorded->first_stolen_ns = stolen_ns;
	} else if (stolen_ns >= recorded->first_stolen_ns) {
		recorded->has_stolen = true;
		recorded->stolen_ns = stolen_ns - recorded->first_stolen_ns;
		recorded->stolen_ns += recorded->stolen_ns ? step_ns : 0;
	}
}

static void (*const parsers[])(struct recorded *, struct cursor *) = {
	[KIND_HEAD] = recorded_parse_head, [KIND_TASK] = parse_task,
	[KIND_SCHED] = parse_sched,	   [KIND_PRESSURE] = recorded_parse_pressure,
	[KIND_LOSS] = parse_loss,	   [KIND_END] = parse_end,
	[KIND_STOLEN] = parse_stolen,
};

/* One record. Returns whether it made sense. */
static bool parse_record(struct recorded *recorded, struct cursor *cursor)
{
	uint64_t kind = cursor_take_number(cursor);
	uint64_t bytes = cursor_take_number(cursor);
	struct cursor payload = { cursor->at, (size_t)bytes, false };

	if (cursor->bad || bytes > cursor->left)
		return false;
	cursor->at += bytes;
	cursor->left -= (size_t)bytes;
	if (kind < ARRAY_LEN(parsers) && parsers[kind])
		parsers[kind](recorded, &payload);
	return !payload.bad;
}

int recorded_parse(const void *bytes, size_t count, struct recorded *out_recorded, struct err *err)
{
	struct recorded recorded = { 0 };
	struct cursor cursor = { bytes, count, false };

	if (count < MAGIC_BYTES || memcmp(bytes, MAGIC, MAGIC_BYTES) != 0)
		return err_set(err, -EBADMSG, "not an accounts file of a holdup recording");
	cursor.at += MAGIC_BYTES;
	cursor.left -= MAGIC_BYTES;
	while (cursor.left) {
		size_t at = count - cursor.left;

		if (parse_record(&recorded, &cursor))
			continue;
		recorded.damage = xasprintf("no whole record at byte %zu of %zu", at, count);
		break;
	}
	*out_recorded = recorded;
	return 0;
}

int recorded_read(const char *dir, struct recorded *out_recorded, struct err *err)
{
	AUTO_FREE char *path = xasprintf("%s/kernel/" RECORDED_FILE, dir);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	AUTO_FREE void *bytes = NULL;
	struct stat st;
	size_t count;
	int rc;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return err_set(
			err, -ENOENT,
			"this recording has no kernel accounts: it is not a holdup recording, or "
			"an older version recorded it");
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size > (off_t)RECORDED_BYTES_MAX)
		return err_set(err, -EBADMSG, "%s is not a regular file of less than %u MiB", path,
			       RECORDED_BYTES_MAX >> 20);
	bytes = xmalloc((size_t)st.st_size + 1);
	count = file_read_at(fd, 0, bytes, (size_t)st.st_size);
	rc = recorded_parse(bytes, count, out_recorded, err);
	return rc < 0 ? err_wrap(err, "reading %s", path) : 0;
}

void recorded_fini(struct recorded *recorded)
{
	for (size_t i = 0; i < recorded->text_count; i++)
		free(recorded->texts[i]);
	free(recorded->texts);
	free(recorded->tasks);
	free(recorded->scheds);
	free(recorded->pressures);
	free(recorded->losses);
	free(recorded->damage);
	*recorded = (struct recorded){ 0 };
}
