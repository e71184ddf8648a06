/* unit_bus.c - see unit_bus.h. */
#include "record/unit_bus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

#define SYSTEMD	      "org.freedesktop.systemd1"
#define MANAGER	      SYSTEMD ".Manager"
#define MANAGER_PATH  "/org/freedesktop/systemd1"
#define UNIT_PATH     MANAGER_PATH "/unit"
#define DRIVER	      "org.freedesktop.DBus"
#define DRIVER_PATH   "/org/freedesktop/DBus"
#define PROPERTIES    DRIVER ".Properties"
#define ADDRESS	      "unix:path=/run/dbus/system_bus_socket"
#define ADDRESS_NAME  "DBUS_SYSTEM_BUS_ADDRESS"
#define ANSWER_US     UINT64_C(1000000)	 /* a Result is waited for so long */
#define CALL_US	      UINT64_C(4000000)	 /* anything else */
#define LIST_EVERY_US UINT64_C(60000000) /* for what was missed */
#define BACK_OFF_S    1u
#define BACK_OFF_MAX  60u
#define ASKED_MOST    64u   /* at once; of more, no Result is known */
#define LISTED_MOST   4096u /* of a list, that are looked at */
#define WORD_BYTES    64

/* What a signal or an answer tells of a unit. */
struct unit_told {
	char active[WORD_BYTES], sub[WORD_BYTES];
	bool has_run;
	uint8_t run[UNIT_RUN_BYTES];
	struct unit_outcome outcome;
};

struct unit_bus {
	const struct unit_listener *listener;
	char **names; /* owned; where a pattern is another name of a unit, its own one; NULL = it is not */
	sd_bus *bus;
	char *owner; /* owned; of systemd's name; NULL = nobody */
	struct unit_failures failures;
	bool was_listed; /* what had failed before is known */
	bool is_heard;
	int refused;			 /* a negative errno: systemd does not list its units */
	uint64_t listed_us;		 /* when it was asked for, CLOCK_MONOTONIC */
	char last_unit[UNIT_NAME_BYTES]; /* whose outcome came last */
	struct unit_outcome last;
	size_t asked;
	struct unit_groups groups;
};

/* A unit whose outcome is asked for. */
struct unit_question {
	struct unit_bus *bus;
	char name[UNIT_NAME_BYTES];
	struct unit_told told;
};

static uint64_t now_us(void)
{
	return clock_now_ns() / 1000;
}

bool unit_bus_is_built(void)
{
	return true;
}

/* ------------------------------------------------------------------ messages */

static bool is_from(const char *sender, sd_bus_message *message)
{
	const char *name = sd_bus_message_get_sender(message);

	return sender && name && strcmp(sender, name) == 0;
}

static void copy_word(char *to, const char *word)
{
	if (strlen(word) < WORD_BYTES)
		memcpy(to, word, strlen(word) + 1);
}

static int read_string(sd_bus_message *message, char *to)
{
	const char *text;
	int rc = sd_bus_message_read(message, "v", "s", &text);

	if (rc >= 0)
		copy_word(to, text);
	return rc;
}

static int read_time(sd_bus_message *message, uint64_t *out_ns)
{
	uint64_t us;
	int rc = sd_bus_message_read(message, "v", "t", &us);

	if (rc >= 0 && us < UINT64_MAX / 1000)
		*out_ns = us * 1000;
	return rc;
}

static int read_pid(sd_bus_message *message, int32_t *out_pid)
{
	uint32_t pid;
	int rc = sd_bus_message_read(message, "v", "u", &pid);

	if (rc >= 0 && pid <= INT32_MAX)
		*out_pid = (int32_t)pid;
	return rc;
}

static int read_run(sd_bus_message *message, struct unit_told *told)
{
	const void *bytes;
	size_t count;
	int rc = sd_bus_message_enter_container(message, 'v', "ay");

	if (rc >= 0)
		rc = sd_bus_message_read_array(message, 'y', &bytes, &count);
	if (rc >= 0 && count == UNIT_RUN_BYTES) {
		told->has_run = true;
		memcpy(told->run, bytes, UNIT_RUN_BYTES);
	}
	return rc < 0 ? rc : sd_bus_message_exit_container(message);
}

/* A value of another type than systemd's is no message of systemd's: it ends there. */
static int read_property(sd_bus_message *message, const char *key, struct unit_told *told)
{
	if (strcmp(key, "ActiveState") == 0)
		return read_string(message, told->active);
	if (strcmp(key, "SubState") == 0)
		return read_string(message, told->sub);
	if (strcmp(key, "InvocationID") == 0)
		return read_run(message, told);
	if (strcmp(key, "Result") == 0)
		return read_string(message, told->outcome.result);
	if (strcmp(key, "ExecMainPID") == 0)
		return read_pid(message, &told->outcome.pid);
	if (strcmp(key, "ExecMainStartTimestampMonotonic") == 0)
		return read_time(message, &told->outcome.begun_ns);
	if (strcmp(key, "ExecMainExitTimestampMonotonic") == 0)
		return read_time(message, &told->outcome.ended_ns);
	return sd_bus_message_skip(message, "v");
}

/* a{sv}. What came before a damage is kept. */
static int read_properties(sd_bus_message *message, struct unit_told *told)
{
	const char *key;
	int rc = sd_bus_message_enter_container(message, 'a', "{sv}");

	while (rc >= 0 && (rc = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
		rc = sd_bus_message_read(message, "s", &key);
		if (rc >= 0)
			rc = read_property(message, key, told);
		if (rc >= 0)
			rc = sd_bus_message_exit_container(message);
	}
	return rc;
}

/* ------------------------------------------------------------------- verdicts */

static bool pattern_takes(const struct unit_bus *bus, size_t i, const char *name)
{
	return unit_pattern_matches(bus->listener->patterns[i], name) ||
	       (bus->names[i] && strcmp(bus->names[i], name) == 0);
}

static bool is_wanted(const struct unit_bus *bus, const char *name)
{
	for (size_t i = 0; i < bus->listener->count; i++) {
		if (pattern_takes(bus, i, name))
			return true;
	}
	return false;
}

/* Its outcome is known, or cannot be. */
static void judge(struct unit_bus *bus, const char *name, const struct unit_told *told,
		  const struct unit_outcome *outcome)
{
	enum unit_level level = unit_level_of(told->active, told->sub, outcome->result);
	struct unit_outcome whole = *outcome;

	if (level != UNIT_GOOD) {
		whole.others = unit_groups_take(&bus->groups, name);
		unit_group_leave_out(&whole.others, whole.pid);
	}
	if (!unit_failures_note(&bus->failures, name, level, told->has_run ? told->run : NULL) ||
	    !bus->was_listed)
		return;
	whole.is_retried = level == UNIT_RETRIES;
	for (size_t i = 0; i < bus->listener->count; i++) {
		if (pattern_takes(bus, i, name))
			bus->listener->failed(bus->listener->context, i, name, &whole);
	}
}

static int on_outcome(sd_bus_message *message, void *context, sd_bus_error *error)
{
	struct unit_question *question = context;
	struct unit_bus *bus = question->bus;
	struct unit_told told = { 0 };

	(void)error;
	bus->asked--;
	if (!sd_bus_message_is_method_error(message, NULL) && is_from(bus->owner, message))
		(void)read_properties(message, &told); /* as far as it goes */
	judge(bus, question->name, &question->told, &told.outcome);
	return 0;
}

/* 'property': NULL = all of them. */
static int send_question(struct unit_bus *bus, const char *interface, const char *property,
			 sd_bus_message_handler_t handler, struct unit_question *question)
{
	sd_bus_message *message = NULL;
	sd_bus_slot *slot = NULL;
	char *path = NULL;
	int rc = sd_bus_path_encode(UNIT_PATH, question->name, &path);

	if (rc >= 0)
		rc = sd_bus_message_new_method_call(bus->bus, &message, bus->owner, path,
						    PROPERTIES, property ? "Get" : "GetAll");
	if (rc >= 0)
		rc = sd_bus_message_append(message, "s", interface);
	if (rc >= 0 && property)
		rc = sd_bus_message_append(message, "s", property);
	if (rc >= 0)
		rc = sd_bus_call_async(bus->bus, &slot, message, handler, question, ANSWER_US);
	if (rc >= 0) {
		(void)sd_bus_slot_set_destroy_callback(slot, free);
		(void)sd_bus_slot_set_floating(slot, 1);
		sd_bus_slot_unref(slot);
	}
	sd_bus_message_unref(message);
	free(path);
	return rc;
}

static struct unit_question *unit_question_new(struct unit_bus *bus, const char *name,
					       const struct unit_told *told)
{
	struct unit_question *question = xcalloc(1, sizeof(*question));

	question->bus = bus;
	question->told = *told;
	memcpy(question->name, name, strlen(name) + 1);
	bus->asked++;
	return question;
}

/* Ask for the outcome, and judge then; at once where there is none to be had. */
static void ask(struct unit_bus *bus, const char *name, const struct unit_told *told)
{
	static const struct unit_outcome none = { 0 };
	AUTO_FREE char *interface = unit_interface(name);
	struct unit_question *question;

	if (!interface || !bus->owner || bus->asked == ASKED_MOST) {
		judge(bus, name, told, &none);
		return;
	}
	question = unit_question_new(bus, name, told);
	if (send_question(bus, interface, NULL, on_outcome, question) < 0) {
		bus->asked--;
		free(question);
		judge(bus, name, told, &none);
	}
}

static int on_group(sd_bus_message *message, void *context, sd_bus_error *error)
{
	static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified",
					     "/sys/fs/cgroup/systemd", NULL };
	struct unit_question *question = context;
	struct unit_bus *bus = question->bus;
	struct unit_group group;
	const char *path;

	(void)error;
	bus->asked--;
	if (!sd_bus_message_is_method_error(message, NULL) && is_from(bus->owner, message) &&
	    sd_bus_message_read(message, "v", "s", &path) >= 0 &&
	    unit_group_read(roots, path, &group))
		unit_groups_note(&bus->groups, question->name, &group);
	return 0;
}

/* It is being stopped: who is still there? Best effort: only the main process is known, then. */
static void ask_group(struct unit_bus *bus, const char *name, const struct unit_told *told)
{
	AUTO_FREE char *interface = unit_interface(name);
	struct unit_question *question;

	if (!interface || !bus->owner || bus->asked == ASKED_MOST)
		return;
	question = unit_question_new(bus, name, told);
	if (send_question(bus, interface, "ControlGroup", on_group, question) < 0) {
		bus->asked--;
		free(question);
	}
}

/* -------------------------------------------------------------------- signals */

/* The unit at that path, to be freed; NULL: it is none, or nobody asked for it. */
static char *unit_at(const struct unit_bus *bus, const char *path)
{
	char *name = NULL;

	if (!path || sd_bus_path_decode(path, UNIT_PATH, &name) <= 0)
		return NULL;
	if (unit_name_is_valid(name) && is_wanted(bus, name))
		return name;
	free(name);
	return NULL;
}

/* Would it be a failure, if its Result is one? */
static bool is_suspect(const struct unit_told *told)
{
	return unit_level_of(told->active, told->sub, "?") != UNIT_GOOD;
}

static void on_state(struct unit_bus *bus, const char *name, const struct unit_told *told)
{
	static const struct unit_outcome none = { 0 };
	bool is_known = strcmp(bus->last_unit, name) == 0;

	bus->last_unit[0] = '\0';
	if (strcmp(told->active, "deactivating") == 0)
		ask_group(bus, name, told);
	else if (!is_suspect(told))
		(void)unit_groups_take(&bus->groups,
				       name); /* it is another run, or has ended well */
	if (!is_suspect(told))
		judge(bus, name, told, &none);
	else if (is_known)
		judge(bus, name, told, &bus->last);
	else
		ask(bus, name, told);
}

static int on_properties(sd_bus_message *message, void *context, sd_bus_error *error)
{
	struct unit_bus *bus = context;
	struct unit_told told = { 0 };
	AUTO_FREE char *name = NULL;
	const char *interface;

	(void)error;
	if (!is_from(bus->owner, message))
		return 0;
	name = unit_at(bus, sd_bus_message_get_path(message));
	if (!name || sd_bus_message_read(message, "s", &interface) < 0 ||
	    read_properties(message, &told) < 0)
		return 0;
	if (strcmp(interface, SYSTEMD ".Unit") == 0) {
		if (told.active[0])
			on_state(bus, name, &told);
	} else if (told.outcome.result[0]) {
		memcpy(bus->last_unit, name, strlen(name) + 1);
		bus->last = told.outcome;
	}
	return 0;
}

static void set_heard(struct unit_bus *bus, bool is_heard, const char *text)
{
	if (bus->is_heard == is_heard)
		return;
	bus->is_heard = is_heard;
	bus->listener->hears(bus->listener->context, is_heard, text);
}

/* ----------------------------------------------------------------------- list */

/* One of a list: it is known, or is asked about. */
static void on_listed(struct unit_bus *bus, const char *name, const struct unit_told *told)
{
	enum unit_level level = unit_level_of(told->active, told->sub, "?");

	if (!unit_name_is_valid(name) || !is_wanted(bus, name) || level == UNIT_GOOD)
		return;
	if (!bus->was_listed)
		(void)unit_failures_note(&bus->failures, name, level, NULL);
	unit_failures_list(&bus->failures, name);
	if (unit_failures_level(&bus->failures, name) < level)
		ask(bus, name, told);
}

/* a(ssssssouso) */
static int read_list(struct unit_bus *bus, sd_bus_message *message)
{
	int rc = sd_bus_message_enter_container(message, 'a', "(ssssssouso)");

	for (size_t i = 0; rc >= 0 && i < LISTED_MOST; i++) {
		const char *name, *active, *sub;
		struct unit_told told = { 0 };

		rc = sd_bus_message_read(message, "(ssssssouso)", &name, NULL, NULL, &active, &sub,
					 NULL, NULL, NULL, NULL, NULL);
		if (rc <= 0)
			break;
		copy_word(told.active, active);
		copy_word(told.sub, sub);
		on_listed(bus, name, &told);
	}
	return rc;
}

static int on_list(sd_bus_message *message, void *context, sd_bus_error *error)
{
	struct unit_bus *bus = context;

	(void)error;
	if (sd_bus_message_is_method_error(message, NULL) || !is_from(bus->owner, message)) {
		bus->refused = bus->was_listed ? 0 : -sd_bus_message_get_errno(message);
		return 0; /* else it is asked for again */
	}
	unit_failures_begin(&bus->failures);
	if (read_list(bus, message) < 0)
		return 0;
	unit_failures_end(&bus->failures);
	bus->was_listed = true;
	set_heard(bus, true, "systemd is heard again: failures of units are seen");
	return 0;
}

static int ask_list(struct unit_bus *bus)
{
	static const char *const states[] = { "failed", "auto-restart", "auto-restart-queued",
					      "failed-before-auto-restart", NULL };
	sd_bus_message *message = NULL;
	int rc = sd_bus_message_new_method_call(bus->bus, &message, bus->owner, MANAGER_PATH,
						MANAGER, "ListUnitsByPatterns");

	bus->listed_us = now_us();
	if (rc >= 0)
		rc = sd_bus_message_append_strv(message, (char **)(uintptr_t)states);
	if (rc >= 0)
		rc = sd_bus_message_append(message, "as", 0);
	if (rc >= 0)
		rc = sd_bus_call_async(bus->bus, NULL, message, on_list, bus, CALL_US);
	sd_bus_message_unref(message);
	return rc;
}

/* Who has subscribed already hears so as an error, which is none. */
static int on_subscribed(sd_bus_message *message, void *context, sd_bus_error *error)
{
	(void)message;
	(void)context;
	(void)error;
	return 0;
}

static int greet(struct unit_bus *bus)
{
	int rc = sd_bus_call_method_async(bus->bus, NULL, bus->owner, MANAGER_PATH, MANAGER,
					  "Subscribe", on_subscribed, bus, NULL);

	return rc < 0 ? rc : ask_list(bus);
}

/* systemd reads its files anew, or has done so. */
static int on_reloading(sd_bus_message *message, void *context, sd_bus_error *error)
{
	struct unit_bus *bus = context;
	int begins;

	(void)error;
	if (is_from(bus->owner, message) && sd_bus_message_read(message, "b", &begins) >= 0 &&
	    !begins)
		(void)ask_list(bus); /* else it is due in a minute */
	return 0;
}

static int on_owner(sd_bus_message *message, void *context, sd_bus_error *error)
{
	struct unit_bus *bus = context;
	const char *name, *before, *now;

	(void)error;
	if (!is_from(DRIVER, message) ||
	    sd_bus_message_read(message, "sss", &name, &before, &now) < 0 ||
	    strcmp(name, SYSTEMD) != 0)
		return 0;
	free(bus->owner);
	bus->owner = *now ? xstrdup(now) : NULL;
	bus->last_unit[0] = '\0';
	set_heard(
		bus, false,
		"systemd has left the system bus: failures of units are not seen until it is back");
	return bus->owner ? greet(bus) : 0;
}

/* ----------------------------------------------------------------- connection */

static int find_owner(struct unit_bus *bus, struct err *err)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *reply = NULL;
	const char *owner;
	int rc = sd_bus_call_method(bus->bus, DRIVER, DRIVER_PATH, DRIVER, "GetNameOwner", &error,
				    &reply, "s", SYSTEMD);

	if (rc >= 0)
		rc = sd_bus_message_read(reply, "s", &owner);
	if (rc >= 0) {
		free(bus->owner);
		bus->owner = xstrdup(owner);
	} else if (sd_bus_error_has_name(&error, DRIVER ".Error.NameHasNoOwner")) {
		rc = err_set(err, -ENOENT, "systemd is not on the system bus (" SYSTEMD ")");
	} else {
		rc = err_set(err, rc, "the system bus does not answer: %s", strerror(-rc));
	}
	sd_bus_error_free(&error);
	sd_bus_message_unref(reply);
	return rc;
}

static int listen_to(struct unit_bus *bus, const char *rule, sd_bus_message_handler_t handler,
		     struct err *err)
{
	int rc = sd_bus_add_match(bus->bus, NULL, rule, handler, bus);

	return rc < 0 ? err_set(err, rc, "cannot listen on the system bus: %s", strerror(-rc)) : 0;
}

static int listen_to_all(struct unit_bus *bus, struct err *err)
{
	static const struct {
		const char *rule;
		sd_bus_message_handler_t handler;
	} signals[] = {
		{ "type='signal',sender='" DRIVER "',path='" DRIVER_PATH "',interface='" DRIVER
		  "',member='NameOwnerChanged',arg0='" SYSTEMD "'",
		  on_owner },
		{ "type='signal',sender='" SYSTEMD "',interface='" PROPERTIES
		  "',member='PropertiesChanged',path_namespace='" UNIT_PATH "'",
		  on_properties },
		{ "type='signal',sender='" SYSTEMD "',path='" MANAGER_PATH "',interface='" MANAGER
		  "',member='Reloading'",
		  on_reloading },
	};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(signals) && rc == 0; i++)
		rc = listen_to(bus, signals[i].rule, signals[i].handler, err);
	return rc;
}

/* The name under which systemd has it, which may be another one. */
static int find_name(struct unit_bus *bus, size_t i)
{
	sd_bus_message *reply = NULL;
	const char *path;
	int rc = sd_bus_call_method(bus->bus, bus->owner, MANAGER_PATH, MANAGER, "LoadUnit", NULL,
				    &reply, "s", bus->listener->patterns[i]);

	if (rc >= 0)
		rc = sd_bus_message_read(reply, "o", &path);
	if (rc >= 0) {
		free(bus->names[i]);
		bus->names[i] = NULL;
		rc = sd_bus_path_decode(path, UNIT_PATH, &bus->names[i]);
	}
	sd_bus_message_unref(reply);
	return rc;
}

static void tell_absent(const struct unit_bus *bus, size_t i)
{
	sd_bus_message *reply = NULL;
	char *path = NULL;
	const char *state = "";
	int rc = sd_bus_path_encode(UNIT_PATH, bus->names[i], &path);

	if (rc >= 0)
		rc = sd_bus_call_method(bus->bus, bus->owner, path, PROPERTIES, "Get", NULL, &reply,
					"ss", SYSTEMD ".Unit", "LoadState");
	if (rc >= 0)
		rc = sd_bus_message_read(reply, "v", "s", &state);
	if (rc >= 0 && strcmp(state, "not-found") == 0) {
		AUTO_FREE char *text = xasprintf("there is no unit %s now; it is watched for",
						 bus->listener->patterns[i]);

		bus->listener->told(bus->listener->context, text);
	}
	sd_bus_message_unref(reply);
	free(path);
}

/* Best effort: without it only a unit's own name counts. */
static void find_names(struct unit_bus *bus)
{
	for (size_t i = 0; i < bus->listener->count; i++) {
		if (!unit_pattern_is_name(bus->listener->patterns[i]) || find_name(bus, i) < 0)
			continue;
		if (!bus->was_listed && bus->names[i])
			tell_absent(bus, i);
	}
}

static int begin(struct unit_bus *bus, struct err *err)
{
	const char *address = getenv(ADDRESS_NAME);
	int rc = sd_bus_new(&bus->bus);

	if (address && !unit_address_is_local(address))
		return err_set(err, -EINVAL, ADDRESS_NAME " must begin with unix:");
	if (rc >= 0)
		rc = sd_bus_set_address(bus->bus, address ? address : ADDRESS);
	if (rc >= 0)
		rc = sd_bus_set_bus_client(bus->bus, 1);
	if (rc >= 0)
		rc = sd_bus_negotiate_fds(bus->bus, 0);
	if (rc >= 0)
		rc = sd_bus_set_method_call_timeout(bus->bus, CALL_US);
	if (rc >= 0)
		rc = sd_bus_start(bus->bus);
	return rc < 0 ? err_set(err, rc, "there is no system bus (D-Bus): %s", strerror(-rc)) : 0;
}

static int unit_bus_connect(struct unit_bus *bus, struct err *err)
{
	int rc;

	bus->asked = 0;
	bus->last_unit[0] = '\0';
	rc = begin(bus, err);
	if (rc == 0)
		rc = listen_to_all(bus, err);
	if (rc == 0)
		rc = find_owner(bus, err);
	if (rc < 0)
		return rc;
	find_names(bus);
	rc = greet(bus);
	return rc < 0 ? err_set(err, rc, "the system bus does not answer: %s", strerror(-rc)) : 0;
}

static void disconnect(struct unit_bus *bus)
{
	sd_bus_close(bus->bus);
	bus->bus = sd_bus_unref(bus->bus);
	free(bus->owner);
	bus->owner = NULL;
}

/* How long there may be nothing to do. */
static uint64_t idle_us(const struct unit_bus *bus)
{
	uint64_t gone_us = now_us() - bus->listed_us;

	if (!bus->owner)
		return UINT64_MAX;
	return gone_us < LIST_EVERY_US ? LIST_EVERY_US - gone_us : 0;
}

/* Until the connection is lost: a negative errno. */
static int serve(struct unit_bus *bus)
{
	int rc = 0;

	while (rc >= 0) {
		rc = sd_bus_process(bus->bus, NULL);
		if (rc == 0)
			rc = sd_bus_wait(bus->bus, idle_us(bus));
		if (rc == -EINTR)
			rc = 0;
		if (rc >= 0 && bus->refused)
			rc = bus->refused;
		if (rc >= 0 && idle_us(bus) == 0)
			rc = ask_list(bus);
	}
	return rc;
}

static void tell_lost(struct unit_bus *bus, int rc)
{
	AUTO_FREE char *text =
		xasprintf("the system bus is lost (%s): failures of units are not seen until it is "
			  "back",
			  strerror(-rc));

	set_heard(bus, false, text);
}

/* It is lost, or could not be made: make it again. */
static void unit_bus_renew(struct unit_bus *bus)
{
	unsigned int pause_s = BACK_OFF_S;

	do {
		disconnect(bus);
		(void)sleep(pause_s);
		pause_s = pause_s * 2 < BACK_OFF_MAX ? pause_s * 2 : BACK_OFF_MAX;
	} while (unit_bus_connect(bus, NULL) < 0);
}

static void unit_bus_fini(struct unit_bus *bus)
{
	disconnect(bus);
	for (size_t i = 0; i < bus->listener->count; i++)
		free(bus->names[i]);
	free(bus->names);
	unit_failures_fini(&bus->failures);
}

int unit_bus_run(const struct unit_listener *listener, struct err *err)
{
	struct unit_bus bus = { .listener = listener };
	int rc;

	bus.names = xcalloc(listener->count + 1, sizeof(*bus.names));
	rc = unit_bus_connect(&bus, err);
	while (rc == 0) {
		rc = serve(&bus);
		if (!bus.was_listed) {
			(void)err_set(err, rc, "systemd does not list its units: %s",
				      strerror(-rc));
			break;
		}
		tell_lost(&bus, rc);
		unit_bus_renew(&bus);
		rc = 0;
	}
	unit_bus_fini(&bus);
	return rc;
}
