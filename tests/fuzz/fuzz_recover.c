/*
 * fuzz_recover.c - what a process left, recovered: hostile packets, metadata, control files.
 *
 * The input's first byte says what it is: even, a control file; odd, a folder. Its other bits
 * mend headers, so that more than the first check is reached.
 *
 *	control	| kind | bytes of struct holdup_control_ ... |
 *	folder	| kind | 16-bit length | metadata | headers of packets, 108 bytes each ... |
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>

#include <holdup/trace_hot.h>

#include "base/err.h"
#include "base/mem.h"
#include "fuzz_dir.h"
#include "attach/control.h"
#include "attach/recover.h"
#include "wire/user.h"

#define MEND	   2 /* bits of the kind */
#define NO_PROCESS 2000000000
#define IN_FILE	   3 /* packets */
#define FILES_MOST 4

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	return remove(path);
}

static void remove_tree(const char *path)
{
	(void)nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void path_of(char out_path[128], const char *name)
{
	(void)snprintf(out_path, 128, "%s/%s", fuzz_dir_path(), name);
}

/* -------------------------------------------------------------------- control */

static void try_control(const uint8_t *data, size_t bytes, bool mend)
{
	struct holdup_control_ *control = xcalloc(1, sizeof(*control));
	struct user_process process = { .fd = -1, .root_fd = -1, .control = control };
	struct user_recovery recovery;
	struct err err = { 0 };
	const char *why;
	char out[128];
	size_t count;
	int rc;

	memcpy(control, data, bytes < sizeof(*control) ? bytes : sizeof(*control));
	if (mend) {
		control->magic = USER_CONTROL_MAGIC;
		control->abi = HOLDUP_ABI_;
		control->pid = process.proc.ns_pid;
		control->pid_start = process.proc.start;
	}
	/* It may not send us out of our folder. */
	if (control->trace[0] == '/')
		(void)snprintf(control->trace, sizeof(control->trace), "%s/in", fuzz_dir_path());
	fuzz_file("2000000000-7.control", control, sizeof(*control));
	path_of(out, "out");
	rc = user_recover_pid(NO_PROCESS, out, &recovery, &err);
	assert(rc == 0 || err.text[0]);
	user_recovery_fini(&recovery);
	remove_tree(out);
	if (user_control_is_sane(control, &process.proc, &why)) {
		user_control_apply(control);
		free(user_process_classes(&process, &count));
		assert(count <= HOLDUP_CLASSES_);
	} else {
		assert(why);
	}
	free(control);
}

/* --------------------------------------------------------------------- folder */

static void mend_packet(struct user_packet *packet, size_t i)
{
	packet->magic = USER_MAGIC;
	packet->packet_bits = (uint64_t)USER_PACKET * 8;
	packet->content_bits = USER_HEAD * 8 + packet->content_bits % (USER_PACKET * 8);
	packet->cpu = (uint32_t)i % 2;
}

static void write_packets(const uint8_t *data, size_t bytes, bool mend)
{
	char name[64], path[128];

	for (size_t i = 0; bytes >= USER_HEAD && i < (size_t)IN_FILE * FILES_MOST; i++) {
		struct user_packet packet = { 0 };
		int fd;

		memcpy(&packet, data, USER_HEAD);
		data += USER_HEAD;
		bytes -= USER_HEAD;
		if (mend)
			mend_packet(&packet, i);
		(void)snprintf(name, sizeof(name), "in/cpu%zu-%06zu", i / IN_FILE % 2, i / IN_FILE);
		path_of(path, name);
		fd = open(path, O_WRONLY | O_CREAT, 0600);
		assert(fd >= 0);
		assert(pwrite(fd, &packet, USER_HEAD, (off_t)(i % IN_FILE) * USER_PACKET) ==
		       (ssize_t)USER_HEAD);
		/* The end of the input is what a file was cut to. */
		assert(ftruncate(fd, (off_t)(i % IN_FILE + 1) * USER_PACKET -
					     (off_t)(bytes < USER_HEAD ? bytes : 0)) == 0);
		close(fd);
	}
}

static void same_sum(const struct user_sum *a, const struct user_sum *b)
{
	assert(a->packets == b->packets && a->bytes == b->bytes && a->lost == b->lost);
	assert(b->damaged == 0 && b->half_bytes == 0 && b->overwritten == 0);
}

/* What was recovered is whole: it is recovered once more, all of it. */
static void recover_twice(const char *in, const char *out, const char *again)
{
	struct user_recovery first, second;
	struct err err = { 0 };
	int rc = user_recover_dir(in, out, &first, &err);

	assert(rc == 0 || err.text[0]);
	if (rc == 0 && first.count == 1 && !first.items[0].problem) {
		rc = user_recover_dir(out, again, &second, &err);
		assert(rc == 0 && second.count == 1 && !second.items[0].problem);
		same_sum(&first.items[0].sum, &second.items[0].sum);
		user_recovery_fini(&second);
	}
	user_recovery_fini(&first);
}

static void trim(const char *in)
{
	int fd = open(in, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct user_sum first, second;

	assert(fd >= 0);
	if (user_trace_trim(fd, &first) && !first.in_use) {
		(void)user_trace_trim(fd, &second);
		assert(first.packets == second.packets && first.bytes == second.bytes);
		assert(second.half_bytes == 0);
	}
	close(fd);
}

static void try_folder(const uint8_t *data, size_t bytes, bool mend)
{
	char in[128], out[128], again[128];
	size_t length;

	if (bytes < 2)
		return;
	length = data[0] | (size_t)data[1] << 8;
	length = length < bytes - 2 ? length : bytes - 2;
	path_of(in, "in");
	path_of(out, "out");
	path_of(again, "again");
	assert(mkdir(in, 0700) == 0);
	fuzz_file("in/metadata", data + 2, length);
	write_packets(data + 2 + length, bytes - 2 - length, mend);
	recover_twice(in, out, again);
	trim(in);
	remove_tree(in);
	remove_tree(out);
	remove_tree(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (bytes == 0)
		return 0;
	(void)setenv("HOLDUP_RUNTIME_DIR", fuzz_dir_path(), 1);
	if (data[0] % 2)
		try_folder(data + 1, bytes - 1, data[0] & MEND);
	else
		try_control(data + 1, bytes - 1, data[0] & MEND);
	return 0;
}
