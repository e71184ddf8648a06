/*
 * check.c - read what probe-load logged, by the layout of wire/user.h and nothing of the library.
 *
 * usage: probe-check [-k] [-g] [-i] COUNTERS FOLDER..., or probe-check FOLDER for probe-life
 *	-k	the process was killed: one event more than it knows of may be there
 *	-g	flight recorder: what is there must be the last of each stream, without a gap
 *	-i	an event may be missing behind one that is half-written (killed, no rseq)
 *
 * Every event must be there once, whole, in order of its thread, and no time may go back in a
 * stream; except as many as were lost. Folders are traces that follow each other: no thread may
 * come back to an earlier one. Prints what is wrong, and counts; exit status 1 if so.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sum.h"
#include "wire/user.h"

#define ID_MOST 65536

struct file {
	char name[64];
	const uint8_t *data;
	size_t bytes;
};

/* What is known of a thread's events. */
struct thread {
	uint64_t *time; /* by number; 0: not there */
	uint64_t room;
	uint64_t count;
	uint64_t end, before; /* one more than the largest number, and that of earlier folders */
};

static struct {
	struct file files[8192];
	size_t file_count;
	uint8_t plain[ID_MOST]; /* 1: load:plain, 2: load:bulk, 4: some class's "step", by id */
	struct {
		const char *name;
		uint64_t count, most; /* of them, and their largest number */
	} steps[ID_MOST];
	struct thread threads[MOST];
	uint64_t events, lost, stuck, packets, least;
	bool killed, flight, may_stick;
	unsigned wrong;
} all;

static void wrong(const struct file *file, uint64_t packet, const char *what, uint64_t number)
{
	if (++all.wrong < 20)
		printf("wrong: %s packet %llu: %s %llu\n", file ? file->name : "-",
		       (unsigned long long)packet, what, (unsigned long long)number);
}

static void map_file(const char *dir, const char *name)
{
	struct file *file = &all.files[all.file_count];
	char path[4096];
	struct stat stat;
	int fd;

	if (all.file_count == sizeof(all.files) / sizeof(all.files[0]))
		exit(2);
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	(void)snprintf(file->name, sizeof(file->name), "%s", name);
	fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &stat) < 0)
		exit(2);
	file->bytes = (size_t)stat.st_size;
	file->data = file->bytes ? mmap(NULL, file->bytes, PROT_READ, MAP_PRIVATE, fd, 0)
				 : (const uint8_t *)"";
	if (file->data == MAP_FAILED)
		exit(2);
	(void)close(fd);
	all.file_count++;
}

/* The numbers of our events, from "id = N; name = "load:plain"" in the metadata. */
static void read_ids(const struct file *metadata)
{
	char *text = calloc(1, metadata->bytes + 1);
	const char *at = text;

	memcpy(text, metadata->data, metadata->bytes);
	while ((at = strstr(at, "event {"))) {
		const char *id = strstr(at, "id = "), *name = strstr(at, "name = \"");
		unsigned long number = id ? strtoul(id + 5, NULL, 10) : ID_MOST;

		if (name && number < ID_MOST && strncmp(strchr(name, ':'), ":step\"", 6) == 0) {
			all.plain[number] = 4;
			all.steps[number].name = strndup(name + 8, strcspn(name + 8, "\""));
		} else if (name && number < ID_MOST)
			all.plain[number] = strncmp(name + 8, "load:plain\"", 11) == 0	? 1
					    : strncmp(name + 8, "load:bulk\"", 10) == 0 ? 2
											: 3;
		at += 7;
	}
	free(text);
}

static uint64_t load(const uint8_t *at, size_t bytes)
{
	uint64_t value = 0;

	memcpy(&value, at, bytes);
	return value;
}

static void take(const struct file *file, uint64_t packet, const uint8_t *at, uint64_t time)
{
	uint32_t number = (uint32_t)load(at, 4);
	uint64_t seq = load(at + 4, 8);
	struct thread *thread = &all.threads[number % MOST];

	if (number >= MOST || (uint32_t)load(at + 12, 4) != sum_of(number, seq) ||
	    seq >= UINT64_C(1) << 32) {
		wrong(file, packet, "torn event, number", seq);
		return;
	}
	if (seq >= thread->room) {
		uint64_t room = seq * 2 + 1024;

		thread->time = realloc(thread->time, room * 8);
		memset(thread->time + thread->room, 0, (room - thread->room) * 8);
		thread->room = room;
	}
	if (thread->time[seq])
		wrong(file, packet, "twice, number", seq);
	if (seq < thread->before)
		wrong(file, packet, "an earlier trace goes on behind number", seq);
	thread->time[seq] = time;
	thread->end = seq >= thread->end ? seq + 1 : thread->end;
	thread->count++;
	all.events++;
}

static void count_step(unsigned id, const uint8_t *at)
{
	uint64_t number = load(at, 8);

	all.steps[id].count++;
	if (number > all.steps[id].most)
		all.steps[id].most = number;
}

/* Bytes of the event's payload; 0: there is none such. */
static size_t payload_of(unsigned kind, const uint8_t *at, size_t left)
{
	size_t bytes = kind == 1 ? 16 : 20;

	if (kind == 4)
		return left < 8 ? 0 : 8;
	if (kind != 1 && kind != 2)
		return 0;
	if (left < bytes)
		return 0;
	return kind == 1 ? bytes : bytes + (size_t)load(at + 16, 4);
}

static void read_packet(const struct file *file, const uint8_t *data, uint64_t *last)
{
	const struct user_packet *head = (const struct user_packet *)(const void *)data;
	size_t at = USER_HEAD, end = head->content_bits / 8;

	if (head->magic != USER_MAGIC || head->packet_bits != USER_PACKET * 8u ||
	    end > USER_PACKET || end < USER_HEAD) {
		wrong(file, head->number, "header", end);
		return;
	}
	if (head->begin >= USER_NOT_BEGUN) {
		if (end != USER_HEAD)
			wrong(file, head->number, "content before it began", end);
		return;
	}
	if (head->begin < *last)
		wrong(file, head->number, "begins early by", *last - head->begin);
	*last = head->begin;
	all.packets++;
	all.stuck += (head->reserved & ~USER_CLOSED) != head->committed;
	while (at < end) {
		unsigned id = (unsigned)load(data + at, 2);
		uint64_t time = load(data + at + 2, 6) | head->begin >> 48 << 48;
		size_t bytes = payload_of(all.plain[id], data + at + USER_EVENT_HEAD, end - at);

		if (!bytes || at + USER_EVENT_HEAD + bytes > end) {
			wrong(file, head->number, "no such event at", at);
			return;
		}
		if (time < *last)
			wrong(file, head->number, "time goes back by", *last - time);
		*last = time;
		if (all.plain[id] == 4)
			count_step(id, data + at + USER_EVENT_HEAD);
		else
			take(file, head->number, data + at + USER_EVENT_HEAD, time);
		at += USER_EVENT_HEAD + bytes;
	}
}

/*
 * Several threads may make the next file at once, and all but one take theirs away again: a
 * killed process leaves them, empty.
 */
static bool has_begun(const struct file *file)
{
	return file->bytes >= USER_PACKET &&
	       ((const struct user_packet *)(const void *)file->data)->begin < USER_NOT_BEGUN;
}

/* All files of one CPU, in the order of their names. */
static size_t read_stream(size_t from)
{
	unsigned cpu = (unsigned)strtoul(all.files[from].name + 3, NULL, 10);
	uint64_t last = 0, lost = 0, number = UINT64_MAX, before = all.packets;
	bool ended = false;
	size_t i = from;

	for (; i < all.file_count && strtoul(all.files[i].name + 3, NULL, 10) == cpu; i++) {
		const struct file *file = &all.files[i];

		if (file->bytes % USER_PACKET)
			wrong(file, 0, "odd length", file->bytes);
		if (all.killed && !has_begun(file))
			continue;
		for (size_t at = 0; at + USER_PACKET <= file->bytes; at += USER_PACKET) {
			const struct user_packet *head =
				(const struct user_packet *)(const void *)(file->data + at);

			if (number != UINT64_MAX && head->number != number)
				wrong(file, head->number, "expected packet", number);
			number = head->number + 1;
			if (ended && head->begin < USER_NOT_BEGUN)
				wrong(file, head->number, "begun behind one that is not", 0);
			ended |= head->begin >= USER_NOT_BEGUN;
			if (head->cpu != cpu || head->instance != cpu)
				wrong(file, head->number, "of cpu", head->cpu);
			if (!ended && head->lost < lost)
				wrong(file, head->number, "lost goes back", head->lost);
			lost = head->lost > lost ? head->lost : lost;
			read_packet(file, file->data + at, &last);
		}
	}
	all.lost += lost;
	if ((all.packets - before) * USER_PACKET < all.least || !all.least)
		all.least = (all.packets - before) * USER_PACKET;
	return i;
}

static void check_thread(const struct counters *counters, unsigned number, uint64_t *missing)
{
	const struct thread *thread = &all.threads[number];
	uint64_t logged = counters->logged[number], last = 0, first = 0, absent = 0;

	for (uint64_t seq = 0; seq < thread->room; seq++) {
		if (!thread->time[seq])
			continue;
		if (thread->time[seq] < last)
			wrong(NULL, number, "thread's time goes back at", seq);
		last = thread->time[seq];
		if (seq >= logged + (all.killed ? 1 : 0))
			wrong(NULL, number, "never logged: number", seq);
	}
	if (all.flight)
		while (first < logged && (first >= thread->room || !thread->time[first]))
			first++;
	for (uint64_t seq = first; seq < logged; seq++) {
		if (seq < thread->room && thread->time[seq])
			continue;
		absent++;
		if (absent == 1 && !counters->lost && !all.lost && !all.may_stick)
			wrong(NULL, number, "first missing number", seq);
	}
	*missing += absent;
}

/* For probe-life: how many events, by name. */
static int print_steps(void)
{
	for (unsigned id = 0; id < ID_MOST; id++) {
		if (all.steps[id].name)
			printf("%s %llu %llu\n", all.steps[id].name,
			       (unsigned long long)all.steps[id].count,
			       (unsigned long long)all.steps[id].most);
	}
	printf("lost %llu 0\n", (unsigned long long)all.lost);
	printf("stuck %llu 0\n", (unsigned long long)all.stuck);
	return all.wrong != 0;
}

static int by_name(const void *left, const void *right)
{
	const struct file *a = left, *b = right;
	unsigned long cpu_a = strtoul(a->name + 3, NULL, 10),
		      cpu_b = strtoul(b->name + 3, NULL, 10);

	return cpu_a != cpu_b ? (cpu_a < cpu_b ? -1 : 1) : strcmp(a->name, b->name);
}

static void read_folder(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;

	if (!dir)
		exit(2);
	while ((entry = readdir(dir))) {
		if (strcmp(entry->d_name, "metadata") == 0) {
			map_file(path, entry->d_name);
			read_ids(&all.files[--all.file_count]);
		}
	}
	rewinddir(dir);
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, "cpu", 3) == 0)
			map_file(path, entry->d_name);
	}
	(void)closedir(dir);
	qsort(all.files, all.file_count, sizeof(all.files[0]), by_name);
	for (size_t i = 0; i < all.file_count;)
		i = read_stream(i);
	all.file_count = 0;
	for (unsigned i = 0; i < MOST; i++)
		all.threads[i].before = all.threads[i].end;
}

int main(int argc, char **argv)
{
	struct counters counters;
	uint64_t missing = 0;
	int option, fd;

	while ((option = getopt(argc, argv, "kgi")) >= 0) {
		all.killed |= option == 'k';
		all.flight |= option == 'g';
		all.may_stick |= option == 'i';
	}
	if (argc - optind == 1) {
		all.killed = true;
		read_folder(argv[optind]);
		return print_steps();
	}
	if (argc - optind < 2)
		return 2;
	fd = open(argv[optind], O_RDONLY);
	if (fd < 0 || read(fd, &counters, sizeof(counters)) != sizeof(counters))
		return 2;
	while (++optind < argc)
		read_folder(argv[optind]);
	for (unsigned i = 0; i < MOST; i++)
		check_thread(&counters, i, &missing);
	if (!all.killed && !all.flight && missing != counters.lost)
		wrong(NULL, 0, "events missing", missing);
	printf("events %llu missing %llu lost %llu in-trace %llu packets %llu least %llu stuck %llu\n",
	       (unsigned long long)all.events, (unsigned long long)missing,
	       (unsigned long long)counters.lost, (unsigned long long)all.lost,
	       (unsigned long long)all.packets, (unsigned long long)all.least,
	       (unsigned long long)all.stuck);
	return all.wrong != 0;
}
