/*
 * trace.c - packets, one after the other.
 *
 * All names are looked up in open folders without following links, and only regular files with
 * one name are touched: the folder belongs to another user.
 */
#include "attach/trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "attach/files.h"
#include "attach/proc.h"
#include "wire/user.h"

#define METADATA_MAX  ((size_t)64 << 20)
#define FOLDERS_MAX   65536u
#define TRIES	      10
#define LEASE_TRIES   10000 /* in all: whose files they are may mean ill */
#define LEASE_STEP_NS 1000000
#define DEPTH_MAX     4
#define CPUS_MAX      65536u
#define WALK_MAX_NS   UINT64_C(30000000000) /* in all, as above; a terabyte takes some seconds */
#define WALK_LOOK     256u		    /* packets between looks at the clock */
#define OPEN_DIR      (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define OPEN_FILE     (O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* ------------------------------------------------------------------- packets */

enum user_packet_state user_packet_state(const struct user_packet *packet)
{
	if (packet->magic != USER_MAGIC || packet->packet_bits != (uint64_t)USER_PACKET * 8 ||
	    packet->content_bits < USER_HEAD * 8 || packet->content_bits > packet->packet_bits ||
	    packet->cpu >= CPUS_MAX)
		return USER_PACKET_BAD;
	return packet->begin >= USER_NOT_BEGUN ? USER_PACKET_NOT_BEGUN : USER_PACKET_BEGUN;
}

/*
 * Where writers reserve with compare-and-swap: when all is committed, all is content, also if
 * the last writer died before it said so. Returns the bytes of events that are half-written.
 */
static uint64_t packet_settle(struct user_packet *packet, bool is_dead)
{
	uint64_t reserved = packet->reserved & ~USER_CLOSED;
	uint64_t content = (packet->content_bits + 7) / 8, half = 0;

	if (reserved <= USER_HEAD || reserved > USER_PACKET)
		return 0;
	if (is_dead && packet->committed == reserved && reserved > content) {
		packet->content_bits = reserved * 8;
		content = reserved;
	}
	half = reserved > content ? reserved - content : 0;
	packet->reserved = packet->committed = content;
	return half;
}

static bool read_head(int fd, uint64_t offset, struct user_packet *out_packet)
{
	return pread(fd, out_packet, sizeof(*out_packet), (off_t)offset) ==
	       (ssize_t)sizeof(*out_packet);
}

/* Files may claim any size, and there may be any number of them: one process looks for so long. */
static bool is_time_left(void)
{
	static uint64_t first_ns; /* of this process; two threads would set the same */
	uint64_t now = clock_now_ns(), none = 0;

	(void)__atomic_compare_exchange_n(&first_ns, &none, now, false, __ATOMIC_RELAXED,
					  __ATOMIC_RELAXED);
	return now - __atomic_load_n(&first_ns, __ATOMIC_RELAXED) < WALK_MAX_NS;
}

/* The packets of a file, one after the other. */
struct walk {
	int file;
	uint64_t bytes;
	uint64_t at; /* behind the packet that was read last */
	uint32_t count;
	bool is_bad; /* that one */
};

/* Behind a packet that is none there may be a hole of any size. Returns how many packets it had. */
static uint64_t walk_skip_hole(struct walk *walk)
{
	uint64_t data = walk->is_bad ? file_behind_hole(walk->file, walk->at) : 0;
	uint64_t end = data < walk->bytes ? data : walk->bytes;
	uint64_t packets = end > walk->at ? (end - walk->at) / USER_PACKET : 0;

	walk->at += packets * USER_PACKET;
	return packets;
}

/* False at the end, or when there is no time left. */
static bool walk_next(struct walk *walk, struct user_packet *out_packet, struct user_sum *sum)
{
	sum->damaged += walk_skip_hole(walk);
	if (walk->bytes < USER_PACKET || walk->at > walk->bytes - USER_PACKET)
		return false;
	if ((walk->count++ % WALK_LOOK == 0 && !is_time_left()) ||
	    !read_head(walk->file, walk->at, out_packet)) {
		sum->unread_bytes += walk->bytes - walk->at;
		return false;
	}
	walk->at += USER_PACKET;
	walk->is_bad = user_packet_state(out_packet) == USER_PACKET_BAD;
	sum->damaged += walk->is_bad;
	return true;
}

/* What one packet adds. 'lost' is a count that grows along a CPU's stream. */
static void add_packet(struct user_sum *sum, const struct user_packet *packet, uint64_t half,
		       uint64_t *lost)
{
	sum->packets += packet->content_bits > USER_HEAD * 8;
	sum->bytes += (packet->content_bits - USER_HEAD * 8 + 7) / 8;
	sum->half_bytes += half;
	if (packet->lost > *lost)
		*lost = packet->lost;
}

/* -------------------------------------------------------------------- names */

struct names {
	char **items; /* owned, in order */
	size_t count, cap;
	uint64_t *lost; /* owned; by CPU */
};

int64_t user_cpu_of_name(const char *name, uint32_t *out_index)
{
	unsigned cpu, index;
	char rest;

	if (sscanf(name, "cpu%5u-%9u%c", &cpu, &index, &rest) != 2 || cpu >= CPUS_MAX ||
	    strspn(name + 3, "0123456789-") != strlen(name + 3))
		return -1;
	*out_index = index;
	return cpu;
}

static int64_t cpu_of_name(const char *name)
{
	uint32_t ignored;

	return user_cpu_of_name(name, &ignored);
}

static bool is_hidden(const char *name)
{
	return strncmp(name, ".next", 5) == 0 || strcmp(name, ".metadata") == 0;
}

static int trace_by_name(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

static void names_read(int fd, struct names *out_names)
{
	DIR *dir = file_list(fd);
	struct dirent *entry;
	struct names names = { .lost = xcalloc(CPUS_MAX, sizeof(uint64_t)) };

	while (dir && (entry = readdir(dir))) {
		if (cpu_of_name(entry->d_name) < 0 && !is_hidden(entry->d_name))
			continue;
		names.items = vec_room(names.items, names.count, &names.cap, sizeof(char *));
		names.items[names.count++] = xstrdup(entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (names.count)
		qsort(names.items, names.count, sizeof(char *), trace_by_name);
	*out_names = names;
}

static void names_fini(struct names *names, struct user_sum *sum)
{
	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++)
		sum->lost += names->lost[cpu];
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
	free(names->lost);
}

/* Has the file still the name that it was opened by? */
static bool has_name(int fd, const char *name, int file)
{
	struct stat named, opened;

	return fstatat(fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(file, &opened) == 0 &&
	       named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

/* Root believes of a folder what its owner has put there, and not what was moved there. */
static bool has_owner_of(int fd, int file)
{
	struct stat folder, opened;

	return geteuid() != 0 || (fstat(fd, &folder) == 0 && fstat(file, &opened) == 0 &&
				  folder.st_uid == opened.st_uid);
}

/* For a moment the process has a lease, to see whether it is alone: nobody opens it meanwhile. */
static int open_patiently(int fd, const char *name, int flags)
{
	static uint32_t tries; /* of this process */
	const struct timespec a_bit = { .tv_nsec = LEASE_STEP_NS };
	int file = openat(fd, name, OPEN_FILE | flags);

	while (file < 0 && errno == EWOULDBLOCK &&
	       __atomic_fetch_add(&tries, 1, __ATOMIC_RELAXED) < LEASE_TRIES) {
		(void)nanosleep(&a_bit, NULL);
		file = openat(fd, name, OPEN_FILE | flags);
	}
	return file;
}

/*
 * A process that lives may give the name to a copy, and write to the file anew; but not to one
 * that somebody had open before.
 */
static int open_plain(int fd, const char *name, int flags, uint64_t *out_bytes)
{
	int file = open_patiently(fd, name, flags);

	for (int tries = 0; file >= 0 && tries < TRIES && !has_name(fd, name, file); tries++) {
		(void)close(file);
		file = open_patiently(fd, name, flags);
	}
	if (file >= 0 && (!user_is_plain(file, out_bytes) || !has_owner_of(fd, file))) {
		mem_close_fd(&file);
		return -1;
	}
	return file;
}

static enum user_use use_of(int fd, const char *name)
{
	uint64_t bytes;
	AUTO_CLOSE int file = open_plain(fd, name, O_RDONLY, &bytes);

	return file < 0 ? USER_UNUSED : user_file_use(file);
}

/*
 * The metadata is held as long as the session lives, whatever becomes of its files; a file of
 * packets longer, perhaps, by a thread that was late.
 */
static bool is_in_use(int fd, const struct names *names, uint64_t start)
{
	enum user_use use = use_of(fd, "metadata");
	bool unknown = use == USER_USE_UNKNOWN;

	for (size_t i = 0; i < names->count && use != USER_IN_USE; i++) {
		use = use_of(fd, names->items[i]);
		unknown |= use == USER_USE_UNKNOWN;
	}
	return use == USER_IN_USE || (unknown && user_proc_may_live(start));
}

/* ------------------------------------------------------------------ metadata */

/* Behind the quoted text or the comment at 'at', or behind one character. */
static size_t skip_token(const char *text, size_t bytes, size_t at)
{
	if (text[at] == '"') {
		for (at++; at < bytes && text[at] != '"'; at++)
			at += text[at] == '\\';
	} else if (text[at] == '/' && at + 1 < bytes && text[at + 1] == '*') {
		const char *end = memmem(text + at + 2, bytes - at - 2, "*/", 2);

		return end ? (size_t)(end + 2 - text) : bytes;
	}
	return at < bytes ? at + 1 : bytes;
}

size_t user_whole_blocks(const char *text, size_t bytes)
{
	size_t whole = 0, at = 0;
	int64_t depth = 0;

	while (at < bytes) {
		char c = text[at];
		size_t next = skip_token(text, bytes, at);

		depth += c == '{';
		depth -= c == '}';
		if (c == ';' && depth == 0)
			whole = next;
		if (c == '\n' && whole == at)
			whole = next;
		at = next;
	}
	return whole;
}

/* The text of metadata, NULL when there is none. */
static char *read_metadata(int fd, size_t *out_bytes)
{
	uint64_t size;
	AUTO_CLOSE int file = open_plain(fd, "metadata", O_RDONLY, &size);
	char *text;

	if (file < 0 || size > METADATA_MAX)
		return NULL;
	text = xcalloc(size + 1, 1);
	*out_bytes = file_read_at(file, 0, text, size);
	return text;
}

/* What stands behind "KEY = " in the block env. */
static const char *env_value(const char *text, const char *key)
{
	AUTO_FREE char *line = xasprintf("\n\t%s = ", key);
	const char *at = strstr(text, "\nenv {");

	at = at ? strstr(at, line) : NULL;
	return at ? at + strlen(line) : "";
}

static void describe(struct user_sum *sum, const char *text)
{
	const char *comm = env_value(text, "procname"), *mode = env_value(text, "mode");
	size_t bytes;

	comm += *comm == '"';
	bytes = strcspn(comm, "\"\n");
	if (bytes >= sizeof(sum->comm))
		bytes = sizeof(sum->comm) - 1;
	memcpy(sum->comm, comm, bytes);
	sum->comm[bytes] = '\0';
	sum->pid = strtoull(env_value(text, "vpid"), NULL, 10);
	sum->start = strtoull(env_value(text, "pid_start"), NULL, 10);
	sum->is_flight = strncmp(mode, "\"flight", 7) == 0;
	sum->has_counter = strstr(text, "\nclock {\n\tname = counter;") != NULL;
}

static void read_description(int fd, struct user_sum *sum)
{
	size_t bytes;
	AUTO_FREE char *text = read_metadata(fd, &bytes);

	if (text)
		describe(sum, text);
}

void user_trace_describe(int fd, struct user_sum *out_sum)
{
	*out_sum = (struct user_sum){ 0 };
	read_description(fd, out_sum);
}

/* ---------------------------------------------------------------------- trim */

/* Cut what has not begun, and settle the rest. Returns the packets that are left. */
static uint64_t trim_file(int file, uint64_t bytes, struct user_sum *sum, uint64_t *lost)
{
	struct walk walk = { .file = file, .bytes = bytes };
	struct user_packet packet, settled;
	uint64_t used = 0;

	while (walk_next(&walk, &packet, sum)) {
		uint64_t half;

		if (!walk.is_bad && user_packet_state(&packet) == USER_PACKET_NOT_BEGUN) {
			if (packet.lost > *lost)
				*lost = packet.lost;
			continue;
		}
		used = walk.at / USER_PACKET;
		if (walk.is_bad)
			continue;
		settled = packet;
		half = packet_settle(&settled, true);
		if (memcmp(&settled, &packet, USER_HEAD) != 0)
			(void)!pwrite(file, &settled, USER_HEAD,
				      (off_t)(walk.at - USER_PACKET)); /* or stays */
		add_packet(sum, &settled, half, lost);
	}
	if (walk.at + USER_PACKET <= bytes)
		return bytes / USER_PACKET; /* there was no time for the rest: it stays */
	if (used * USER_PACKET < bytes)
		(void)!ftruncate(file, (off_t)(used * USER_PACKET)); /* harmless if it stays */
	return used;
}

static void trim_metadata(int fd)
{
	size_t bytes, whole;
	AUTO_FREE char *text = read_metadata(fd, &bytes);
	uint64_t size;

	if (!text)
		return;
	whole = user_whole_blocks(text, bytes);
	if (whole && whole < bytes && strspn(text + whole, " \t\n") < bytes - whole) {
		AUTO_CLOSE int file = open_plain(fd, "metadata", O_WRONLY, &size);

		if (file >= 0)
			(void)!ftruncate(file, (off_t)whole); /* else the reader says so */
	}
}

bool user_trace_trim(int fd, struct user_sum *out_sum)
{
	struct user_sum sum = { 0 };
	struct names names;
	uint64_t left = 0;

	read_description(fd, &sum);
	names_read(fd, &names);
	sum.in_use = is_in_use(fd, &names, sum.start);
	for (size_t i = 0; i < names.count && !sum.in_use; i++) {
		int64_t cpu = cpu_of_name(names.items[i]);
		uint64_t bytes, used = 0;
		AUTO_CLOSE int file = -1;

		if (cpu >= 0)
			file = open_plain(fd, names.items[i], O_RDWR, &bytes);
		if (file >= 0)
			used = trim_file(file, bytes, &sum, &names.lost[cpu]);
		if (cpu < 0 || (file >= 0 && used == 0))
			(void)unlinkat(fd, names.items[i], 0);
		left += used;
	}
	names_fini(&names, &sum);
	if (sum.in_use)
		user_trace_count(fd, &sum);
	else if (left)
		trim_metadata(fd);
	else
		(void)unlinkat(fd, "metadata", 0); /* nothing was logged */
	*out_sum = sum;
	return sum.in_use || left;
}

/* --------------------------------------------------------------------- count */

static void count_file(int file, uint64_t bytes, struct user_sum *sum, uint64_t *lost)
{
	struct walk walk = { .file = file, .bytes = bytes };
	struct user_packet packet;

	while (walk_next(&walk, &packet, sum)) {
		if (user_packet_state(&packet) == USER_PACKET_BEGUN)
			add_packet(sum, &packet, packet_settle(&packet, false), lost);
	}
}

void user_trace_count(int fd, struct user_sum *out_sum)
{
	struct user_sum sum = { .in_use = out_sum->in_use };
	struct names names;

	read_description(fd, &sum);
	names_read(fd, &names);
	for (size_t i = 0; i < names.count; i++) {
		int64_t cpu = cpu_of_name(names.items[i]);
		uint64_t bytes = 0;
		AUTO_CLOSE int file =
			cpu < 0 ? -1 : open_plain(fd, names.items[i], O_RDONLY, &bytes);

		if (file >= 0)
			count_file(file, bytes, &sum, &names.lost[cpu]);
	}
	names_fini(&names, &sum);
	*out_sum = sum;
}

/* ---------------------------------------------------------------------- copy */

/* One folder's copying. */
struct copying {
	int to_fd;
	bool is_dead;
	struct user_times times;
	uint64_t most_bytes;
	uint64_t *
		edges; /* owned; of each CPU, when the packet began that was written to at times.from */
	struct user_sum *sum;
	uint8_t *packet; /* owned; USER_PACKET bytes */
	struct err *err;
};

static int write_at(int file, const void *data, size_t bytes, uint64_t offset, struct err *err)
{
	int rc = file_write_at(file, offset, data, bytes);

	return rc < 0 ? err_set(err, rc, "cannot write: %s", strerror(-rc)) : 0;
}

/* Files are not in the order of their packets where they are used in turn. */
static void find_edges(struct copying *copying, int fd, const struct names *names)
{
	struct user_sum ignored = { 0 };

	for (size_t i = 0; i < names->count && copying->times.from; i++) {
		int64_t cpu = cpu_of_name(names->items[i]);
		struct walk walk = { .file = -1 };
		struct user_packet packet;
		AUTO_CLOSE int file =
			cpu < 0 ? -1 : open_plain(fd, names->items[i], O_RDONLY, &walk.bytes);

		walk.file = file;
		while (file >= 0 && walk_next(&walk, &packet, &ignored)) {
			if (user_packet_state(&packet) == USER_PACKET_BEGUN &&
			    packet.begin <= copying->times.from &&
			    packet.begin > copying->edges[cpu])
				copying->edges[cpu] = packet.begin;
		}
	}
}

static bool is_asked_for(const struct copying *copying, const struct user_packet *packet,
			 int64_t cpu)
{
	return packet->begin >= copying->edges[cpu] && packet->begin <= copying->times.until;
}

/*
 * Copy the packet 'before' at 'offset' to 'to', behind 'count' others. 1, 0 when there is nothing to
 * copy, or a negative errno. What is before content_bits as it was read first does not change,
 * unless the whole packet is begun anew: then number and begin are others.
 */
static int copy_packet(struct copying *copying, const struct walk *walk, struct user_packet before,
		       int to, uint64_t count, int64_t cpu, uint64_t *lost)
{
	uint64_t half, bytes, offset = walk->at - USER_PACKET;
	struct user_packet after;
	int rc, from = walk->file;

	if (user_packet_state(&before) != USER_PACKET_BEGUN || !is_asked_for(copying, &before, cpu))
		return 0;
	half = packet_settle(&before, copying->is_dead);
	bytes = (before.content_bits + 7) / 8;
	if (pread(from, copying->packet, bytes, (off_t)offset) != (ssize_t)bytes ||
	    !read_head(from, offset, &after) || after.number != before.number ||
	    after.begin != before.begin || after.magic != before.magic) {
		copying->sum->overwritten++;
		return 0;
	}
	if (copying->sum->bytes + bytes > copying->most_bytes)
		return err_set(copying->err, -EFBIG, "there is no room for it");
	memcpy(copying->packet, &before, USER_HEAD);
	rc = write_at(to, copying->packet, bytes, count * USER_PACKET, copying->err);
	if (rc == 0 && ftruncate(to, (off_t)((count + 1) * USER_PACKET)) < 0)
		rc = err_set(copying->err, -errno, "cannot write: %s", strerror(errno));
	if (rc < 0)
		return rc;
	add_packet(copying->sum, &before, half, lost);
	return 1;
}

static int copy_file(struct copying *copying, int from, uint64_t size, const char *name,
		     int64_t cpu, uint64_t *lost)
{
	AUTO_CLOSE int to =
		openat(copying->to_fd, name, OPEN_FILE | O_WRONLY | O_CREAT | O_EXCL, 0600);
	struct walk walk = { .file = from, .bytes = size };
	struct user_packet packet;
	uint64_t count = 0;
	int rc = 0;

	if (to < 0)
		return err_set(copying->err, -errno, "cannot create %s: %s", name, strerror(errno));
	while (rc >= 0 && walk_next(&walk, &packet, copying->sum)) {
		rc = copy_packet(copying, &walk, packet, to, count, cpu, lost);
		count += rc > 0;
	}
	if (count == 0)
		(void)unlinkat(copying->to_fd, name, 0);
	return rc < 0 ? rc : 0;
}

/* Last: it then describes all events that were copied. */
static int copy_metadata(int fd, const struct copying *copying)
{
	size_t bytes;
	AUTO_FREE char *text = read_metadata(fd, &bytes);
	AUTO_CLOSE int to = -1;

	if (!text)
		return err_set(copying->err, -ENOENT, "there is no metadata");
	describe(copying->sum, text);
	bytes = user_whole_blocks(text, bytes);
	to = openat(copying->to_fd, "metadata", OPEN_FILE | O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (to < 0)
		return err_set(copying->err, -errno, "cannot create metadata: %s", strerror(errno));
	return write_at(to, text, bytes, 0, copying->err);
}

int user_trace_copy(int fd, int to_fd, const struct user_part *part, struct user_sum *out_sum,
		    struct err *err)
{
	struct user_sum sum = { 0 };
	struct copying copying = { .to_fd = to_fd,
				   .times = { 0, UINT64_MAX },
				   .most_bytes = part ? part->most_bytes : UINT64_MAX,
				   .sum = &sum,
				   .err = err };
	struct names names;
	int rc = 0;

	read_description(fd, &sum);
	if (part)
		copying.times = sum.has_counter ? part->counter : part->monotonic;
	copying.packet = xmalloc(USER_PACKET);
	copying.edges = xcalloc(CPUS_MAX, sizeof(*copying.edges));
	names_read(fd, &names);
	find_edges(&copying, fd, &names);
	sum.in_use = is_in_use(fd, &names, sum.start);
	copying.is_dead = !sum.in_use;
	for (size_t i = 0; i < names.count && rc == 0; i++) {
		int64_t cpu = cpu_of_name(names.items[i]);
		uint64_t bytes = 0;
		AUTO_CLOSE int from = -1;

		if (cpu >= 0)
			from = open_plain(fd, names.items[i], O_RDONLY, &bytes);
		if (from >= 0)
			rc = copy_file(&copying, from, bytes, names.items[i], cpu,
				       &names.lost[cpu]);
	}
	names_fini(&names, &sum);
	free(copying.packet);
	free(copying.edges);
	if (rc == 0)
		rc = copy_metadata(fd, &copying);
	*out_sum = sum;
	return rc;
}

/* ---------------------------------------------------------------------- trees */

/* Returns whether there was time for all of them. */
static bool each(int parent_fd, const char *name, user_trace_fn fn, void *context, int depth,
		 uint32_t *visited)
{
	AUTO_CLOSE int fd = openat(parent_fd, name, OPEN_DIR);
	struct stat stat;
	DIR *dir;
	struct dirent *entry;
	bool is_all = true;

	if (fd < 0)
		return true; /* no folder, or none that may be opened */
	if ((*visited)++ > FOLDERS_MAX || !is_time_left())
		return false;
	if (fstatat(fd, "metadata", &stat, AT_SYMLINK_NOFOLLOW) == 0 ||
	    fstatat(fd, ".metadata", &stat, AT_SYMLINK_NOFOLLOW) == 0) {
		fn(context, parent_fd, name);
		return true;
	}
	dir = depth ? file_list(fd) : NULL;
	while (dir && is_all && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			is_all = each(fd, entry->d_name, fn, context, depth - 1, visited);
	}
	if (dir)
		closedir(dir);
	return is_all;
}

bool user_traces_each(int fd, user_trace_fn fn, void *context)
{
	uint32_t visited = 0;

	return each(fd, ".", fn, context, DEPTH_MAX, &visited);
}
