/*
 * session.c - one trace of one process: begun by the first event after somebody asked for it.
 *
 * The metadata has its name before the first file of events has: CTF 1.8 (diamon.org/ctf).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/probe_int.h"
#include "runtime/registry.h"
#include "runtime/text.h"

#define HEAD_BYTES     8192
#define FLIGHT_DEFAULT (4u << 20)
#define ALIVE_BYTES    1     /* rounded up to a page */
#define FOLDERS_MAX    10000 /* of one program name and process number */

static const char trace_text[] = "packet.header := struct {\n"
				 "\t\tuint32_t magic;\n"
				 "\t\tuint8_t uuid[16];\n"
				 "\t\tuint32_t stream_id;\n"
				 "\t\tuint64_t stream_instance_id;\n"
				 "\t};\n"
				 "};\n\n";

static const char types_text[] =
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 8; align = 8; signed = true; } := int8_t;\n"
	"typealias integer { size = 16; align = 8; signed = true; } := int16_t;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
	"typealias integer { size = 8; align = 8; signed = false; base = 16; } := hex8_t;\n"
	"typealias integer { size = 16; align = 8; signed = false; base = 16; } := hex16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; base = 16; } := hex32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; base = 16; } := hex64_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; base = 16; } := flow_t;\n"
	"typealias floating_point { exp_dig = 8; mant_dig = 24; align = 8; } := float32_t;\n"
	"typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := float64_t;\n"
	"typealias enum : uint8_t { \"false\" = 0, \"true\" = 1 } := bool8_t;\n"
	"typealias string { encoding = UTF8; } := utf8_string;\n\n";

static const char stream_text[] =
	"stream {\n"
	"\tid = 0;\n"
	"\tpacket.context := struct {\n"
	/* The alignment hides what is not CTF's business: see struct user_packet. */
	"\t\tinteger { size = 64; align = 512; signed = false; } content_size;\n"
	"\t\tuint64_t packet_size;\n"
	"\t\tticks64_t timestamp_begin;\n"
	"\t\tuint64_t events_discarded;\n"
	/* Not packet_seq_num: babeltrace2 2.1 dies of a gap in it, since there is no timestamp_end. */
	"\t\tuint64_t holdup_packet_number;\n"
	"\t\tuint32_t cpu_id;\n"
	"\t};\n"
	"\tevent.header := struct {\n"
	"\t\tuint16_t id;\n"
	"\t\tticks48_t timestamp;\n"
	"\t};\n"
	"\tevent.context := struct {\n"
	"\t\tint32_t _vtid;\n"
	"\t};\n"
	"};\n\n";

static void session_add_line(struct text *text, const char *name, const char *value)
{
	text_add(text, "\t");
	text_add(text, name);
	text_add(text, " = \"");
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			text_add(text, "\\");
		if ((unsigned char)*value >= ' ')
			text_bytes(text, value, 1);
	}
	text_add(text, "\";\n");
}

static void session_add_number(struct text *text, const char *name, uint64_t value)
{
	text_add(text, "\t");
	text_add(text, name);
	text_add(text, " = ");
	text_number(text, value);
	text_add(text, ";\n");
}

static void add_uuid(struct text *text, const uint8_t uuid[16])
{
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text_add(text, "-");
		text_hex(text, uuid[i], 2);
	}
}

static void session_read_line(const char *path, char *out_line, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, out_line, size - 1);

	if (fd >= 0)
		(void)close(fd);
	out_line[got > 0 ? got : 0] = '\0';
	out_line[strcspn(out_line, "\n")] = '\0';
}

static void add_environment(struct text *text, const struct session *session)
{
	const struct holdup_control_ *control = &holdup_state_.control;
	char line[256];
	struct stat ns;

	text_add(text, "env {\n");
	session_add_line(text, "domain", "ust");
	session_add_line(text, "tracer_name", "holdup");
	session_add_line(text, "tracer_version", HOLDUP_VERSION);
	session_read_line("/proc/sys/kernel/hostname", line, sizeof(line));
	session_add_line(text, "hostname", line);
	session_add_line(text, "procname", control->comm);
	session_add_number(text, "vpid", (uint64_t)probe.pid);
	session_add_number(text, "pid_start",
			   control->pid_start); /* clock ticks after boot, proc(5) */
	if (stat("/proc/self/ns/pid", &ns) == 0)
		session_add_number(text, "pid_ns", ns.st_ino);
	session_add_line(text, "mode", session->mode == HOLDUP_FLIGHT ? "flight" : "stream");
	session_add_line(text, "method", holdup_method());
	text_add(text, "};\n\n");
}

static void add_clock(struct text *text, const struct probe_clock *clock)
{
	char boot[64];

	session_read_line("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	text_add(text, "clock {\n\tname = ");
	text_add(text, clock->is_counter ? "counter" : "monotonic");
	text_add(text, ";\n");
	if (strlen(boot) == 36) {
		text_add(text, "\tuuid = \"");
		text_add(text, boot);
		text_add(text, "\";\n");
	}
	session_add_line(text, "description",
			 clock->is_counter ? "time stamp counter (x86-tsc)" : "CLOCK_MONOTONIC");
	session_add_number(text, "freq", clock->frequency);
	session_add_number(text, "offset_s", clock->offset_s);
	session_add_number(text, "offset", clock->offset);
	text_add(text, "\tabsolute = true;\n};\n\n");
	for (int bits = 48; bits <= 64; bits += 16) {
		text_add(text, "typealias integer { size = ");
		text_number(text, (uint64_t)bits);
		text_add(text, "; align = 8; signed = false; map = clock.");
		text_add(text, clock->is_counter ? "counter" : "monotonic");
		text_add(text, ".value; } := ticks");
		text_number(text, (uint64_t)bits);
		text_add(text, "_t;\n");
	}
	text_add(text, "\n");
}

static void describe(struct text *text, const struct session *session,
		     const struct probe_clock *clock)
{
	text_add(text, "/* CTF 1.8 */\n\n");
	text_add(text, types_text);
	text_add(text, "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"");
	add_uuid(text, session->uuid);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	text_add(text, "\";\n\tbyte_order = be;\n\t");
#else
	text_add(text, "\";\n\tbyte_order = le;\n\t");
#endif
	text_add(text, trace_text);
	add_environment(text, session);
	add_clock(text, clock);
	text_add(text, stream_text);
}

static bool write_all(int fd, const char *data, size_t bytes)
{
	while (bytes) {
		ssize_t done = write(fd, data, bytes);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		data += done;
		bytes -= (size_t)done;
	}
	return true;
}

static void path_in(const char *dir, const char *name, char *out_path)
{
	struct text path;

	text_begin(&path, out_path, PATH_BYTES);
	text_add(&path, dir);
	text_add(&path, "/");
	text_add(&path, name);
}

/*
 * A mapping holds the file open for writing, without a descriptor, as long as the process and
 * its session live. Files of events may come and go meanwhile.
 */
static void show_life(struct session *session, int fd)
{
	void *page = mmap(NULL, ALIVE_BYTES, PROT_READ, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		return;
	(void)madvise(page, ALIVE_BYTES, MADV_DONTFORK);
	session->alive = page;
}

static bool write_metadata(struct session *session, const struct probe_clock *clock)
{
	char head[HEAD_BYTES], hidden[PATH_BYTES], path[PATH_BYTES];
	const char *events;
	struct text text;
	size_t bytes;
	bool good;
	int fd;

	text_begin(&text, head, sizeof(head));
	describe(&text, session, clock);
	path_in(session->dir, ".metadata", hidden);
	path_in(session->dir, "metadata", path);
	fd = open(hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return false;
	show_life(session, fd);
	events = registry_metadata(&bytes);
	good = !text.cut && write_all(fd, head, text.length) && write_all(fd, events, bytes);
	(void)close(fd);
	return good && rename(hidden, path) == 0;
}

void session_add_metadata(const char *text, size_t bytes)
{
	const struct session *session = __atomic_load_n(&probe.session, __ATOMIC_ACQUIRE);
	char path[PATH_BYTES];
	int fd;

	if (!session || !session->good)
		return;
	path_in(session->dir, "metadata", path);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)write_all(fd, text, bytes);
	(void)close(fd);
}

/* "DIR/comm-pid", or "DIR/comm-pid-2" and so on when it is there already. */
static bool make_folder(struct session *session, const char *dir)
{
	const struct holdup_control_ *control = &holdup_state_.control;
	struct text text;

	(void)mkdir(dir, 0777);
	for (unsigned i = 1; i < FOLDERS_MAX; i++) {
		text_begin(&text, session->dir, sizeof(session->dir));
		text_add(&text, dir);
		text_add(&text, "/");
		for (const char *c = control->comm; *c; c++)
			text_bytes(&text, *c > ' ' && *c < 127 && !strchr("/.", *c) ? c : "_", 1);
		text_add(&text, "-");
		text_number(&text, (uint64_t)probe.pid);
		if (i > 1) {
			text_add(&text, "-");
			text_number(&text, i);
		}
		if (text.cut)
			return false;
		if (mkdir(session->dir, 0755) == 0)
			return true;
		if (errno != EEXIST)
			return false;
	}
	return false;
}

/* Others see the folder, or why there is none. */
static void session_tell(const struct session *session, const char *dir)
{
	struct holdup_control_ *control = &holdup_state_.control;
	int error = errno;
	struct text text;

	text_begin(&text, control->trace, sizeof(control->trace));
	if (session->good) {
		text_add(&text, session->dir);
		return;
	}
	text_add(&text, "!cannot write a trace in ");
	text_add(&text, dir);
	text_add(&text, ": error ");
	text_number(&text, (uint64_t)error);
}

static void open_session(struct session *session)
{
	const struct holdup_control_ *control = &holdup_state_.control;
	struct probe_clock clock;
	char dir[HOLDUP_TEXT_];

	memcpy(dir, control->dir, sizeof(dir));
	dir[sizeof(dir) - 1] = '\0';
	if (!dir[0])
		memcpy(dir, probe.runtime, sizeof(dir));
	session->mode = control->mode == HOLDUP_FLIGHT ? HOLDUP_FLIGHT : HOLDUP_STREAM;
	session->cpu_bytes = control->cpu_bytes;
	session->packets = 2;
	if (session->mode == HOLDUP_FLIGHT) {
		uint64_t bytes = session->cpu_bytes ? session->cpu_bytes : FLIGHT_DEFAULT;
		uint64_t quarter = (bytes + 3) / 4;

		if (quarter > UINT64_C(1) << 30)
			quarter = UINT64_C(1) << 30;
		session->packets = (uint32_t)((quarter + USER_PACKET - 1) / USER_PACKET);
	}
	if (getrandom(session->uuid, sizeof(session->uuid), GRND_NONBLOCK) < 0) {
		uint64_t now = probe_clock_now(probe.is_counter);

		memcpy(session->uuid, &now, sizeof(now));
		memcpy(session->uuid + 8, &probe.pid, sizeof(probe.pid));
	}
	session->uuid[6] = (uint8_t)((session->uuid[6] & 0x0f) | 0x40); /* RFC 4122, version 4 */
	session->uuid[8] = (uint8_t)((session->uuid[8] & 0x3f) | 0x80);
	if (dir[0] && make_folder(session, dir)) {
		probe_clock_read(dir, &clock);
		session->good = write_metadata(session, &clock);
	}
	session_tell(session, dir);
}

static size_t bytes_of_rooms(void)
{
	return probe.cpu_count * sizeof(struct cpu_room);
}

static struct session *session_new(uint64_t number)
{
	/* The struct stands behind the rooms, which must be aligned. */
	size_t bytes = bytes_of_rooms() + sizeof(struct session);
	uint8_t *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct session *session;

	if (memory == MAP_FAILED)
		return NULL;
	session = (struct session *)(void *)(memory + bytes_of_rooms());
	session->rooms = (struct cpu_room *)(void *)memory;
	session->number = number;
	return session;
}

/* ----------------------------------------------------------------------- end */

static bool is_empty(const struct segment *segment, uint32_t i)
{
	return __atomic_load_n(&segment_packet(segment, i)->begin, __ATOMIC_RELAXED) >=
	       USER_NOT_BEGUN;
}

/* What has not begun goes: packets behind the last one, files behind the last file. */
static void cut_room(const struct session *session, const struct cpu_room *room, uint32_t cpu)
{
	const struct segment *segment = __atomic_load_n(&room->current, __ATOMIC_ACQUIRE);

	for (; segment; segment = __atomic_load_n(&segment->next, __ATOMIC_ACQUIRE)) {
		uint32_t used = 0;

		while (used < segment->packets && !is_empty(segment, used))
			used++;
		segment_cut(session, segment, cpu, used);
	}
}

static bool all_are_empty(const struct session *session)
{
	for (; session; session = session->older) {
		for (uint32_t cpu = 0; cpu < probe.cpu_count; cpu++) {
			if (!room_is_empty(&session->rooms[cpu]))
				return false;
		}
	}
	return true;
}

/*
 * Cut the files of sessions that are over, and give back their memory. A thread that is inside
 * may write where a file would be cut: what it is in waits for the end of the next session.
 */
static void tidy_up(void)
{
	struct session *newest = __atomic_load_n(&probe.session, __ATOMIC_ACQUIRE);

	for (struct session *session = newest; session; session = session->older) {
		for (uint32_t cpu = 0; session->good && cpu < probe.cpu_count; cpu++) {
			struct cpu_room *room = &session->rooms[cpu];

			if (!__atomic_load_n(&session->closed, __ATOMIC_SEQ_CST) ||
			    !__atomic_load_n(&room->current, __ATOMIC_ACQUIRE) ||
			    !room_is_empty(room))
				continue;
			cut_room(session, room, cpu);
			room_retire(session, cpu);
		}
	}
	if (all_are_empty(newest))
		room_free_retired();
}

static void session_close(struct session *session)
{
	__atomic_store_n(&session->closed, true, __ATOMIC_SEQ_CST);
	put_wait_for_others();
	helper_settle(); /* else it makes files in a folder that is done */
	tidy_up();
	if (session->alive)
		(void)munmap(session->alive, ALIVE_BYTES);
	session->alive = NULL;
	if (helper_runs())
		helper_wake(); /* it has descriptors of what was given back */
}

void session_end(void)
{
	struct session *session = __atomic_load_n(&probe.session, __ATOMIC_ACQUIRE);

	if (session && !session->closed)
		session_close(session);
	else if (session)
		tidy_up(); /* of what somebody was still in then */
}

/*
 * The session that 'control' asks for. An older one is closed; its memory stays: threads may
 * be late by any time.
 */
static struct session *session_begin(uint64_t number)
{
	struct session *session, *old;
	sigset_t before;

	probe_lock(&before);
	session = old = __atomic_load_n(&probe.session, __ATOMIC_ACQUIRE);
	if (!old || old->number < number) {
		session = session_new(number);
		if (session) {
			open_session(session);
			session->older = old;
			__atomic_store_n(&probe.session, session, __ATOMIC_RELEASE);
			if (old && !old->closed)
				session_close(old);
		}
	}
	probe_unlock(&before);
	return session;
}

struct session *session_now(uint64_t number)
{
	struct session *session = __atomic_load_n(&probe.session, __ATOMIC_ACQUIRE);

	if (number == HOLDUP_NO_SESSION_ || __atomic_load_n(&probe.ended, __ATOMIC_ACQUIRE))
		return NULL;
	if (session && session->number >= number)
		return session->number == number ? session : NULL;
	return session_begin(number);
}

size_t holdup_trace_dir(char *out_text, size_t size)
{
	const struct session *session = __atomic_load_n(&probe.session, __ATOMIC_ACQUIRE);
	const char *dir = session && session->good ? session->dir : "";
	size_t length = strlen(dir);

	if (size) {
		size_t copied = length < size ? length : size - 1;

		memcpy(out_text, dir, copied);
		out_text[copied] = '\0';
	}
	return length;
}
