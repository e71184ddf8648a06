/*
 * manifest.c - trace.json, read and written from the same tables of keys.
 *
 * A key that is missing keeps its default, so that a newer recorder may add keys
 * within a version; a key of the wrong type or out of range is damage.
 */
#include "store/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "event/steps.h"
#include "store/file.h"
#include "store/json_text.h"
#include "store/parts.h"

#define MAX_EVENTS	  65536u
#define MAX_MISSING	  4096u
#define MAX_THROTTLES	  1024
#define MAX_STEPS	  65536u
#define MAX_RECORDER_TIDS 65536u
#define MAX_DEPTH	  8
#define MAX_VALUES	  (1u << 19) /* json-c needs some 100 bytes for each */
#define PAGE_BYTES_MIN	  256u
#define PAGE_BYTES_MAX	  (8u << 20)

enum key_type {
	KEY_BOOL,
	KEY_I32,
	KEY_U32,
	KEY_U64,
	KEY_TEXT,
};

struct key {
	const char *name;
	enum key_type type;
	size_t offset; /* in the struct that the table is for */
	uint64_t max;  /* of an unsigned number; 0 = what the type holds */
};

#define KEY_AS(name, strct, member, kind, most)                  \
	{                                                        \
		name, kind, offsetof(struct strct, member), most \
	}
#define KEY(strct, member, kind, most)	   KEY_AS(#member, strct, member, kind, most)
#define COST_KEY(name, member, kind, most) KEY_AS(name, manifest, cost.member, kind, most)

/* In the order of the file. */
static const struct key manifest_keys[] = {
	KEY(manifest, version, KEY_U32, 0),
	KEY(manifest, complete, KEY_BOOL, 0),
	KEY(manifest, host, KEY_TEXT, 0),
	KEY(manifest, kernel, KEY_TEXT, 0),
	KEY(manifest, arch, KEY_TEXT, 0),
	KEY(manifest, boot_id, KEY_TEXT, 0),
	KEY(manifest, recorder, KEY_TEXT, 0),
	KEY(manifest, clock, KEY_TEXT, 0),
	KEY(manifest, page_bytes, KEY_U32, PAGE_BYTES_MAX),
	KEY(manifest, long_bytes, KEY_U32, 8),
	KEY(manifest, buffer_bytes, KEY_U64, 0),
	KEY(manifest, begin_ns, KEY_U64, INT64_MAX),
	KEY(manifest, end_ns, KEY_U64, INT64_MAX),
	KEY(manifest, omits_idle_switches, KEY_BOOL, 0),
	KEY(manifest, has_syscalls, KEY_BOOL, 0),
	KEY(manifest, is_lean, KEY_BOOL, 0),
	KEY(manifest, has_lean_steps, KEY_BOOL, 0),
	COST_KEY("recorder_cpu_ns", cpu_ns, KEY_U64, INT64_MAX),
	COST_KEY("bpf_ns", bpf_ns, KEY_U64, INT64_MAX),
	COST_KEY("bpf_runs", bpf_runs, KEY_U64, INT64_MAX),
	COST_KEY("bpf_window_ns", bpf_window_ns, KEY_U64, INT64_MAX),
	COST_KEY("bpf_on_ns", bpf_on_ns, KEY_U64, INT64_MAX),
	COST_KEY("event_ns", event_ns, KEY_U64, INT64_MAX),
	COST_KEY("call_event_ns", call_event_ns, KEY_U64, INT64_MAX),
	COST_KEY("events_ns", events_ns, KEY_U64, INT64_MAX),
	COST_KEY("cost_cpus", cpus, KEY_U32, MANIFEST_MAX_CPUS),
	COST_KEY("budget_ppm", budget_ppm, KEY_U32, 1000000),
	COST_KEY("budget_ns", budget_ns, KEY_U64, INT64_MAX),
	COST_KEY("budget_cost_ns", budget_cost_ns, KEY_U64, INT64_MAX),
	KEY(manifest, target_tid, KEY_I32, 0),
	KEY(manifest, target_cmdline, KEY_TEXT, 0),
	KEY(manifest, target_start_ns, KEY_U64, INT64_MAX),
	KEY(manifest, target_end_ns, KEY_U64, INT64_MAX),
	KEY(manifest, target_status, KEY_I32, 0),
	KEY(manifest, apps, KEY_TEXT, 0),
};

static const struct key cpu_keys[] = {
	KEY(manifest_cpu, cpu, KEY_U32, MANIFEST_MAX_CPUS - 1),
	KEY(manifest_cpu, events, KEY_U64, INT64_MAX),
	KEY(manifest_cpu, lost, KEY_U64, INT64_MAX),
	KEY(manifest_cpu, dropped, KEY_U64, INT64_MAX),
	KEY(manifest_cpu, bytes, KEY_U64, INT64_MAX),
};

static const struct key missing_keys[] = {
	KEY(manifest_missing, what, KEY_TEXT, 0),
	KEY(manifest_missing, why, KEY_TEXT, 0),
};

static const struct key throttle_keys[] = {
	KEY(manifest_throttle, cgroup, KEY_TEXT, 0),
	KEY(manifest_throttle, quota_ns, KEY_U64, INT64_MAX),
	KEY(manifest_throttle, period_ns, KEY_U64, INT64_MAX),
	KEY(manifest_throttle, periods, KEY_U64, INT64_MAX),
	KEY(manifest_throttle, times, KEY_U64, INT64_MAX),
	KEY(manifest_throttle, ns, KEY_U64, INT64_MAX),
};

static const struct key step_keys[] = {
	KEY(manifest_step, since_ns, KEY_U64, INT64_MAX),
	KEY(manifest_step, step, KEY_U32, STEP_COUNT - 1),
	KEY(manifest_step, cost_ppm, KEY_U32, 0),
};

static const struct key file_keys[] = {
	KEY(manifest_file, name, KEY_TEXT, 0),
	KEY(manifest_file, bytes, KEY_U64, INT64_MAX),
};

struct key_table {
	const struct key *keys;
	size_t count;
};

#define KEY_TABLE(keys) ((struct key_table){ keys, ARRAY_LEN(keys) })

void manifest_forget_files(struct manifest *manifest)
{
	for (size_t i = 0; i < manifest->file_count; i++)
		free(manifest->files[i].name);
	manifest->file_count = 0;
}

void manifest_fini(struct manifest *manifest)
{
	for (size_t i = 0; i < ARRAY_LEN(manifest_keys); i++) {
		if (manifest_keys[i].type == KEY_TEXT)
			mem_free((char *)manifest + manifest_keys[i].offset);
	}
	for (size_t i = 0; i < manifest->event_count; i++)
		free(manifest->events[i]);
	for (size_t i = 0; i < manifest->missing_count; i++) {
		free(manifest->missing[i].what);
		free(manifest->missing[i].why);
	}
	for (size_t i = 0; i < manifest->throttle_count; i++)
		free(manifest->throttles[i].cgroup);
	manifest_forget_files(manifest);
	free(manifest->files);
	free(manifest->throttles);
	free(manifest->steps);
	free(manifest->events);
	free(manifest->cpus);
	free(manifest->recorder_tids);
	free(manifest->missing);
	*manifest = (struct manifest){ 0 };
}

void manifest_add_event(struct manifest *manifest, const char *event)
{
	manifest->events = vec_room(manifest->events, manifest->event_count, &manifest->event_cap,
				    sizeof(*manifest->events));
	manifest->events[manifest->event_count++] = xstrdup(event);
}

static struct manifest_missing *missing_room(struct manifest *manifest)
{
	manifest->missing = vec_room(manifest->missing, manifest->missing_count,
				     &manifest->missing_cap, sizeof(*manifest->missing));
	return &manifest->missing[manifest->missing_count];
}

static struct manifest_throttle *throttle_room(struct manifest *manifest)
{
	manifest->throttles = vec_room(manifest->throttles, manifest->throttle_count,
				       &manifest->throttle_cap, sizeof(*manifest->throttles));
	return &manifest->throttles[manifest->throttle_count];
}

void manifest_add_throttle(struct manifest *manifest, const struct manifest_throttle *throttle)
{
	struct manifest_throttle *copy = throttle_room(manifest);

	*copy = *throttle;
	copy->cgroup = xstrdup(throttle->cgroup);
	manifest->throttle_count++;
}

void manifest_add_missing(struct manifest *manifest, const char *what, const char *why)
{
	*missing_room(manifest) = (struct manifest_missing){ xstrdup(what), xstrdup(why) };
	manifest->missing_count++;
}

void manifest_add_step(struct manifest *manifest, const struct manifest_step *step)
{
	manifest->steps = vec_room(manifest->steps, manifest->step_count, &manifest->step_cap,
				   sizeof(*manifest->steps));
	manifest->steps[manifest->step_count++] = *step;
}

void manifest_add_cpu(struct manifest *manifest, const struct manifest_cpu *cpu)
{
	size_t at = manifest->cpu_count;

	manifest->cpus = vec_room(manifest->cpus, manifest->cpu_count, &manifest->cpu_cap,
				  sizeof(*manifest->cpus));
	for (; at > 0 && manifest->cpus[at - 1].cpu > cpu->cpu; at--)
		manifest->cpus[at] = manifest->cpus[at - 1];
	manifest->cpus[at] = *cpu;
	manifest->cpu_count++;
}

void manifest_add_recorder_tid(struct manifest *manifest, int32_t tid)
{
	manifest->recorder_tids =
		vec_room(manifest->recorder_tids, manifest->recorder_tid_count,
			 &manifest->recorder_tid_cap, sizeof(*manifest->recorder_tids));
	manifest->recorder_tids[manifest->recorder_tid_count++] = tid;
}

static struct manifest_file *file_room(struct manifest *manifest)
{
	manifest->files = vec_room(manifest->files, manifest->file_count, &manifest->file_cap,
				   sizeof(*manifest->files));
	return &manifest->files[manifest->file_count];
}

void manifest_add_file(struct manifest *manifest, const char *name, uint64_t bytes)
{
	*file_room(manifest) = (struct manifest_file){ xstrdup(name), bytes };
	manifest->file_count++;
}

/* A JSON string, whatever the bytes are. */
static json_object *new_text(const char *text)
{
	AUTO_FREE char *coded = json_text_coded(text);

	return json_object_new_string(coded);
}

static json_object *new_value(const struct key *key, const void *strct)
{
	const void *at = (const char *)strct + key->offset;

	switch (key->type) {
	case KEY_BOOL:
		return json_object_new_boolean(*(const bool *)at);
	case KEY_I32:
		return json_object_new_int64(*(const int32_t *)at);
	case KEY_U32:
		return json_object_new_int64(*(const uint32_t *)at);
	case KEY_U64:
		return json_object_new_uint64(*(const uint64_t *)at);
	case KEY_TEXT:
		return new_text(*(char *const *)at);
	}
	return NULL;
}

static json_object *new_object(struct key_table table, const void *strct)
{
	json_object *object = json_object_new_object();

	for (size_t i = 0; i < table.count; i++)
		json_object_object_add(object, table.keys[i].name,
				       new_value(&table.keys[i], strct));
	return object;
}

static json_object *manifest_json(const struct manifest *manifest)
{
	json_object *root = new_object(KEY_TABLE(manifest_keys), manifest);
	json_object *events = json_object_new_array();
	json_object *cpus = json_object_new_array();
	json_object *tids = json_object_new_array();
	json_object *missing = json_object_new_array();
	json_object *throttles = json_object_new_array();
	json_object *steps = json_object_new_array();
	json_object *files = json_object_new_array();

	for (size_t i = 0; i < manifest->event_count; i++)
		json_object_array_add(events, new_text(manifest->events[i]));
	for (size_t i = 0; i < manifest->cpu_count; i++)
		json_object_array_add(cpus, new_object(KEY_TABLE(cpu_keys), &manifest->cpus[i]));
	for (size_t i = 0; i < manifest->recorder_tid_count; i++)
		json_object_array_add(tids, json_object_new_int(manifest->recorder_tids[i]));
	for (size_t i = 0; i < manifest->missing_count; i++)
		json_object_array_add(missing,
				      new_object(KEY_TABLE(missing_keys), &manifest->missing[i]));
	for (size_t i = 0; i < manifest->throttle_count; i++)
		json_object_array_add(throttles, new_object(KEY_TABLE(throttle_keys),
							    &manifest->throttles[i]));
	json_object_object_add(root, "events", events);
	json_object_object_add(root, "cpus", cpus);
	json_object_object_add(root, "recorder_tids", tids);
	json_object_object_add(root, "missing", missing);
	for (size_t i = 0; i < manifest->file_count; i++)
		json_object_array_add(files, new_object(KEY_TABLE(file_keys), &manifest->files[i]));
	for (size_t i = 0; i < manifest->step_count; i++)
		json_object_array_add(steps, new_object(KEY_TABLE(step_keys), &manifest->steps[i]));
	json_object_object_add(root, "throttles", throttles);
	json_object_object_add(root, "steps", steps);
	json_object_object_add(root, "files", files);
	return root;
}

/* Make the file 'name' in the folder 'dir_fd' hold 'text', on the disk. */
static int write_synced(int dir_fd, const char *name, const char *text)
{
	AUTO_CLOSE int fd =
		openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc;

	if (fd < 0)
		return -errno;
	rc = file_write(fd, text, strlen(text));
	if (rc == 0)
		rc = file_write(fd, "\n", 1);
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	return rc;
}

int manifest_write(const struct manifest *manifest, const char *dir, struct err *err)
{
	static const char temporary[] = MANIFEST_FILE ".new";
	AUTO_CLOSE int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	json_object *root;
	int rc;

	if (dir_fd < 0)
		return err_set(err, -errno, "cannot open %s: %s", dir, strerror(errno));
	root = manifest_json(manifest);
	rc = write_synced(dir_fd, temporary,
			  json_object_to_json_string_ext(
				  root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_PRETTY_TAB |
						JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(root);
	if (rc == 0 && renameat(dir_fd, temporary, dir_fd, MANIFEST_FILE) < 0)
		rc = -errno;
	if (rc == 0 && fsync(dir_fd) < 0 && errno != EINVAL) /* EINVAL: cannot be synced there */
		rc = -errno;
	if (rc < 0) {
		(void)unlinkat(dir_fd, temporary, 0); /* best effort: it is not read by anyone */
		return err_set(err, rc, "cannot write %s/%s: %s", dir, MANIFEST_FILE,
			       strerror(-rc));
	}
	return 0;
}

static int manifest_wrong(struct err *err, const char *key, const char *what)
{
	return err_set(err, -EBADMSG, "\"%s\" is not %s", key, what);
}

static int manifest_take_number(const struct key *key, json_object *value, void *at,
				struct err *err)
{
	int64_t number = json_object_get_int64(value);
	uint64_t most = key->max ? key->max : key->type == KEY_U32 ? UINT32_MAX : UINT64_MAX;

	if (!json_object_is_type(value, json_type_int))
		return manifest_wrong(err, key->name, "a whole number");
	if (key->type == KEY_I32) {
		if (number < INT32_MIN || number > INT32_MAX)
			return manifest_wrong(err, key->name, "in range");
		*(int32_t *)at = (int32_t)number;
		return 0;
	}
	if (number < 0 || json_object_get_uint64(value) > most)
		return manifest_wrong(err, key->name, "in range");
	if (key->type == KEY_U32)
		*(uint32_t *)at = (uint32_t)number;
	else
		*(uint64_t *)at = json_object_get_uint64(value);
	return 0;
}

static int manifest_take_value(const struct key *key, json_object *value, void *strct,
			       struct err *err)
{
	void *at = (char *)strct + key->offset;

	switch (key->type) {
	case KEY_BOOL:
		if (!json_object_is_type(value, json_type_boolean))
			return manifest_wrong(err, key->name, "true or false");
		*(bool *)at = json_object_get_boolean(value);
		return 0;
	case KEY_TEXT:
		if (!json_object_is_type(value, json_type_string))
			return manifest_wrong(err, key->name, "a string");
		free(*(char **)at);
		*(char **)at = json_text_bytes(json_object_get_string(value));
		return 0;
	default:
		return manifest_take_number(key, value, at, err);
	}
}

static int take_object(struct key_table table, json_object *object, void *strct, struct err *err)
{
	for (size_t i = 0; i < table.count; i++) {
		const struct key *key = &table.keys[i];
		json_object *value;
		int rc = 0;

		if (json_object_object_get_ex(object, key->name, &value))
			rc = manifest_take_value(key, value, strct, err);
		else if (key->type == KEY_TEXT)
			*(char **)((char *)strct + key->offset) = xstrdup("");
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int manifest_take_event(struct manifest *manifest, json_object *item, struct err *err)
{
	if (!json_object_is_type(item, json_type_string))
		return manifest_wrong(err, "events", "a list of strings");
	manifest_add_event(manifest, json_object_get_string(item));
	return 0;
}

static int take_cpu(struct manifest *manifest, json_object *item, struct err *err)
{
	struct manifest_cpu cpu = { .cpu = MANIFEST_MAX_CPUS };
	int rc = take_object(KEY_TABLE(cpu_keys), item, &cpu, err);

	if (rc < 0)
		return rc;
	if (cpu.cpu == MANIFEST_MAX_CPUS)
		return manifest_wrong(err, "cpus", "a list of CPUs with their number");
	if (manifest->cpu_count && cpu.cpu <= manifest->cpus[manifest->cpu_count - 1].cpu)
		return manifest_wrong(err, "cpus", "in order of their numbers");
	manifest_add_cpu(manifest, &cpu);
	return 0;
}

static int take_tid(struct manifest *manifest, json_object *item, struct err *err)
{
	int64_t tid = json_object_get_int64(item);

	if (!json_object_is_type(item, json_type_int) || tid < 0 || tid > INT32_MAX)
		return manifest_wrong(err, "recorder_tids", "a list of thread ids");
	manifest_add_recorder_tid(manifest, (int32_t)tid);
	return 0;
}

static int take_missing(struct manifest *manifest, json_object *item, struct err *err)
{
	struct manifest_missing *missing = missing_room(manifest);

	*missing = (struct manifest_missing){ 0 };
	manifest->missing_count++; /* from here on manifest_fini() frees it */
	return take_object(KEY_TABLE(missing_keys), item, missing, err);
}

static int take_throttle(struct manifest *manifest, json_object *item, struct err *err)
{
	struct manifest_throttle *throttle = throttle_room(manifest);

	*throttle = (struct manifest_throttle){ 0 };
	manifest->throttle_count++;
	return take_object(KEY_TABLE(throttle_keys), item, throttle, err);
}

static int take_step(struct manifest *manifest, json_object *item, struct err *err)
{
	struct manifest_step step = { 0 };
	int rc = take_object(KEY_TABLE(step_keys), item, &step, err);

	if (rc < 0)
		return rc;
	if (manifest->step_count &&
	    step.since_ns < manifest->steps[manifest->step_count - 1].since_ns)
		return manifest_wrong(err, "steps", "in order of time");
	manifest_add_step(manifest, &step);
	return 0;
}

static int take_file(struct manifest *manifest, json_object *item, struct err *err)
{
	struct manifest_file *file = file_room(manifest);

	*file = (struct manifest_file){ 0 };
	manifest->file_count++;
	return take_object(KEY_TABLE(file_keys), item, file, err);
}

static const struct list {
	const char *name;
	size_t max;
	enum json_type item;
	int (*take)(struct manifest *manifest, json_object *item, struct err *err);
} lists[] = {
	{ "events", MAX_EVENTS, json_type_string, manifest_take_event },
	{ "cpus", MANIFEST_MAX_CPUS, json_type_object, take_cpu },
	{ "recorder_tids", MAX_RECORDER_TIDS, json_type_int, take_tid },
	{ "missing", MAX_MISSING, json_type_object, take_missing },
	{ "throttles", MAX_THROTTLES, json_type_object, take_throttle },
	{ "steps", MAX_STEPS, json_type_object, take_step },
	{ "files", PARTS_MAX, json_type_object, take_file },
};

static int take_list(const struct list *list, json_object *root, struct manifest *manifest,
		     struct err *err)
{
	json_object *array;
	size_t count;

	if (!json_object_object_get_ex(root, list->name, &array))
		return 0;
	if (!json_object_is_type(array, json_type_array))
		return manifest_wrong(err, list->name, "a list");
	count = json_object_array_length(array);
	if (count > list->max)
		return err_set(err, -EBADMSG, "\"%s\" has %zu items, more than %zu", list->name,
			       count, list->max);
	for (size_t i = 0; i < count; i++) {
		json_object *item = json_object_array_get_idx(array, i);
		int rc;

		if (!json_object_is_type(item, list->item))
			return manifest_wrong(err, list->name, "a list of items of one kind");
		rc = list->take(manifest, item, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The version decides before anything else is looked at. */
static int check_version(json_object *root, struct err *err)
{
	json_object *version;
	int64_t number;

	if (!json_object_is_type(root, json_type_object) ||
	    !json_object_object_get_ex(root, "version", &version) ||
	    !json_object_is_type(version, json_type_int))
		return err_set(err, -EBADMSG, "no version number");
	number = json_object_get_int64(version);
	if (number > MANIFEST_VERSION)
		return err_set(err, -ENOTSUP, "version %lld is newer than %d, the newest known",
			       (long long)number, MANIFEST_VERSION);
	if (number < 1)
		return err_set(err, -EBADMSG, "version %lld never existed", (long long)number);
	return 0;
}

static int check_ranges(const struct manifest *manifest, struct err *err)
{
	if (manifest->page_bytes < PAGE_BYTES_MIN || manifest->page_bytes % 8)
		return manifest_wrong(err, "page_bytes", "the size of a sub-buffer");
	if (manifest->long_bytes != 4 && manifest->long_bytes != 8)
		return manifest_wrong(err, "long_bytes", "4 or 8");
	if (manifest->end_ns && manifest->end_ns < manifest->begin_ns)
		return manifest_wrong(err, "end_ns", "after begin_ns");
	return 0;
}

static int take_root(json_object *root, struct manifest *manifest, struct err *err)
{
	int rc = check_version(root, err);

	if (rc == 0)
		rc = take_object(KEY_TABLE(manifest_keys), root, manifest, err);
	for (size_t i = 0; i < ARRAY_LEN(lists) && rc == 0; i++)
		rc = take_list(&lists[i], root, manifest, err);
	return rc < 0 ? rc : check_ranges(manifest, err);
}

/* Parse ASCII, which must be one JSON value and nothing else. NULL with err filled. */
static json_object *parsed_ascii(const char *text, size_t bytes, struct err *err)
{
	json_tokener *tokener = json_tokener_new_ex(MAX_DEPTH);
	json_object *root;

	if (!tokener) {
		err_set(err, -ENOMEM, "no memory for a JSON parser");
		return NULL;
	}
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	root = json_tokener_parse_ex(tokener, text, (int)bytes + 1); /* with the terminator */
	if (!root)
		err_set(err, -EBADMSG, "byte %zu is not JSON: %s",
			json_tokener_get_parse_end(tokener),
			json_tokener_error_desc(json_tokener_get_error(tokener)));
	json_tokener_free(tokener);
	return root;
}

static json_object *parsed(const char *text, size_t bytes, struct err *err)
{
	AUTO_FREE char *ascii = NULL;
	size_t values = 0, ascii_bytes, bad;

	for (size_t i = 0; i < bytes; i++)
		values += text[i] == ',' || text[i] == '[' || text[i] == '{';
	if (values > MAX_VALUES) {
		err_set(err, -EBADMSG, "more than %u values", MAX_VALUES);
		return NULL;
	}
	ascii = json_text_ascii(text, bytes, &ascii_bytes, &bad);
	if (!ascii) {
		err_set(err, -EBADMSG, "byte %zu is not JSON: it is no UTF-8", bad);
		return NULL;
	}
	return parsed_ascii(ascii, ascii_bytes, err);
}

static int parse_manifest(const char *text, size_t bytes, struct manifest *manifest,
			  struct err *err)
{
	json_object *root = parsed(text, bytes, err);
	int rc;

	if (!root)
		return -EBADMSG;
	rc = take_root(root, manifest, err);
	json_object_put(root);
	return rc;
}

int manifest_read(const char *dir, struct manifest *out_manifest, struct err *err)
{
	AUTO_FREE char *path = xasprintf("%s/%s", dir, MANIFEST_FILE);
	AUTO_FREE char *text = NULL;
	struct manifest manifest = { .target_status = -1 };
	size_t bytes;
	int rc;

	rc = file_read(path, MANIFEST_MAX_BYTES, &text, &bytes, err);
	if (rc == -EFBIG)
		return err_set(err, -EBADMSG, "%s is larger than any manifest", path);
	if (rc < 0)
		return rc;
	rc = parse_manifest(text, bytes, &manifest, err);
	if (rc < 0) {
		manifest_fini(&manifest);
		return err_wrap(err, "reading %s", path);
	}
	*out_manifest = manifest;
	return 0;
}
