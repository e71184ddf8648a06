/* names_load.c - see names_load.h. */
#include "record/names_load.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "record/bpf/raw.h"
#include "record/bpf_parts.h"
#include "record/named_calls.h"

#define ENTRY_BYTES 128u	/* that an entry of a map takes, about */
#define LANES_BYTES (16u << 20) /* of all CPUs together, unless these are many */
#define LANE_LEAST  4u		/* chunks of a CPU; a power of two, as all */
#define LANE_MOST   64u

extern const unsigned char holdup_bpf_program[];
extern const size_t holdup_bpf_program_bytes;
extern const unsigned char holdup_bpf_cast[];
extern const size_t holdup_bpf_cast_bytes;

int names_load_failed(struct err *err, int rc)
{
	switch (-rc) {
	case EPERM:
	case EACCES:
		return err_set(err, rc,
			       "no permission to load BPF programs (needs root, or CAP_BPF and "
			       "CAP_PERFMON): %s",
			       strerror(-rc));
	case ENOENT:
	case ESRCH:
		if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
			return err_set(err, -ENOTSUP,
				       "this kernel has no type information "
				       "(/sys/kernel/btf/vmlinux)");
		break;
	case ENOSYS:
		return err_set(err, -ENOTSUP, "this kernel has no BPF");
	}
	return err_set(err, rc, "the kernel rejected the BPF program: %s", strerror(-rc));
}

static const char *names_threads_program(const char *name)
{
	return strcmp(name, NAMES_BLOCKS) == 0 ? NAMES_THREADS_LEAN : NAMES_THREADS;
}

static bool program_is_wanted(const char *program, const struct names_load *what, bool with_threads)
{
	return strcmp(program, what->name) == 0 ||
	       (what->also && strcmp(program, what->also) == 0) ||
	       (with_threads && (strcmp(program, names_threads_program(what->name)) == 0 ||
				 strcmp(program, NAMES_BIRTHS) == 0));
}

static void leave_out(struct bpf_object *object, const char *name)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);

	if (map)
		(void)bpf_map__set_autocreate(map, false);
}

static bool is_with(const struct names_load *what, const char *program)
{
	return strcmp(what->name, program) == 0 || (what->also && strcmp(what->also, program) == 0);
}

/* What only NAMES_BLOCKS fills takes 20 MiB of the kernel's memory. */
static void leave_out_blocks(struct bpf_object *object, const struct names_load *what)
{
	if (is_with(what, NAMES_BLOCKS))
		return;
	leave_out(object, "blocks");
	leave_out(object, "lanes");
	leave_out(object, "chunks");
	if (!what->also) {
		leave_out(object, "named");
		leave_out(object, "recent");
	}
}

/* For always less memory is taken than for a recording: a ring that is a quarter full wakes who takes it out. */
static void size_maps(struct bpf_object *object, uint64_t keep_bytes)
{
	bpf_parts_size(object, "blocks", keep_bytes / 16, 64u << 10, 4u << 20);
	bpf_parts_size(object, "ring", keep_bytes / 16, 64u << 10, 1u << 20);
	bpf_parts_size(object, "named", keep_bytes / 8 / ENTRY_BYTES, 512, 32768);
	bpf_parts_size(object, "sleepers", keep_bytes / 16 / ENTRY_BYTES, 512, 8192);
	bpf_parts_size(object, "askers", keep_bytes / 16 / ENTRY_BYTES, 512, 4096);
}

/* A lane for each CPU that there may ever be. */
static void size_lanes(struct bpf_object *object, uint64_t keep_bytes)
{
	int possible = libbpf_num_possible_cpus();
	uint32_t cpus = possible > 0 ? (uint32_t)possible : 1;
	uint64_t want = keep_bytes && keep_bytes / 8 < LANES_BYTES ? keep_bytes / 8 : LANES_BYTES;
	uint32_t chunks = keep_bytes ? 1 : LANE_LEAST;
	struct bpf_map *map = bpf_object__find_map_by_name(object, "chunks");

	while (chunks < LANE_MOST && chunks * UINT64_C(2) * cpus * sizeof(struct raw_chunk) <= want)
		chunks *= 2;
	bpf_parts_each_cpu(object, "lanes");
	if (map)
		(void)bpf_map__set_max_entries(map, chunks * cpus);
}

static int open_programs(bool by_cast, struct bpf_object **out_object, struct err *err)
{
	int rc = by_cast ? bpf_parts_open("holdup", holdup_bpf_cast, holdup_bpf_cast_bytes,
					  out_object, NULL)
			 : bpf_parts_open("holdup", holdup_bpf_program, holdup_bpf_program_bytes,
					  out_object, NULL);

	return rc < 0 ? names_load_failed(err, rc) : 0;
}

/* Open and load programs of the object. On success *out_object is the caller's to close. */
static int load_programs(const struct names_load *what, bool with_threads, bool by_cast,
			 struct bpf_object **out_object, struct err *err)
{
	struct bpf_object *object = NULL;
	struct bpf_program *program;
	int rc = open_programs(by_cast, &object, err);

	if (rc < 0)
		return rc;
	bpf_object__for_each_program(program, object)(void) bpf_program__set_autoload(
		program, program_is_wanted(bpf_program__name(program), what, with_threads));
	leave_out_blocks(object, what);
	size_lanes(object, what->keep_bytes);
	if (what->keep_bytes)
		size_maps(object, what->keep_bytes);
	rc = bpf_object__load(object);
	if (rc) {
		bpf_object__close(object);
		return names_load_failed(err, rc);
	}
	*out_object = object;
	return 0;
}

/* What runs at each switch may be had faster. */
static bool load_by_cast(const struct names_load *what, struct bpf_object **out_object)
{
	struct err ignored = { 0 };

	return (is_with(what, NAMES_BLOCKS) || is_with(what, NAMES_OF_BLOCKS)) &&
	       !secure_getenv(NAMES_NO_CAST) &&
	       load_programs(what, what->with_threads, true, out_object, &ignored) == 0;
}

int names_load(const struct names_load *what, struct bpf_object **out_object,
	       struct err *no_threads, struct err *err)
{
	if (load_by_cast(what, out_object))
		return 0;
	if (what->with_threads && load_programs(what, true, false, out_object, no_threads) == 0)
		return 0;
	return load_programs(what, false, false, out_object, err);
}

int names_attach_threads(struct bpf_object *object, bool is_lean, struct err *no_threads)
{
	struct bpf_program *program = bpf_object__find_program_by_name(
		object, is_lean ? NAMES_THREADS_LEAN : NAMES_THREADS);
	int fd = program ? bpf_program__fd(program) : -1;
	int link_fd = fd >= 0 ? bpf_link_create(fd, 0, BPF_TRACE_ITER, NULL) : -1;

	if (link_fd < 0 && !no_threads->text[0])
		(void)err_set(no_threads, -ENOTSUP, "no BPF iterator over threads%s%s",
			      fd >= 0 ? ": " : "", fd >= 0 ? strerror(errno) : "");
	return link_fd < 0 ? -1 : link_fd;
}

static void set_call(struct raw_control *control, const struct named_call *call)
{
	if (call->nr >= 0 && call->nr < RAW_NR_MAX)
		control->calls[call->nr] = call->call;
}

void names_set_control(struct raw_control *control)
{
	size_t count;
	const int *on_fd = named_calls_on_fd(&count);

	control->recorder_tgid = (uint32_t)getpid();
	for (size_t i = 0; i < count; i++)
		control->takes_fd[on_fd[i]] = on_fd[i] < RAW_NR_MAX;
	for (size_t i = 0; i < named_calls_opening.count; i++)
		set_call(control, &named_calls_opening.at[i]);
	for (size_t i = 0; i < named_calls_making.count; i++)
		set_call(control, &named_calls_making.at[i]);
	for (size_t i = 0; i < named_calls_looking.count; i++)
		set_call(control, &named_calls_looking.at[i]);
}
