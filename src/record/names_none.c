/* names_none.c - stands in for names.c where the BPF program could not be built. */
#include <errno.h>
#include <stddef.h>

#include "base/err.h"
#include "record/bpf_parts.h"
#include "record/names.h"

static int not_built(struct err *err)
{
	return err_set(err, -ENOTSUP,
		       "holdup was built without its BPF program, which needs clang and libbpf: "
		       "descriptors opened while recording have no names");
}

int names_start(const char *dir, uint64_t dispatch, enum names_of of,
		struct names_recorder **out_recorder, struct err *err)
{
	(void)dir;
	(void)dispatch;
	(void)of;
	(void)out_recorder;
	return not_built(err);
}

int names_keep(uint64_t keep_bytes, enum names_of of, struct names_recorder **out_recorder,
	       struct err *err)
{
	(void)keep_bytes;
	(void)of;
	(void)out_recorder;
	return not_built(err);
}

bool names_turn_lean(struct names_recorder *recorder)
{
	(void)recorder;
	return false;
}

int names_rest(struct names_recorder *recorder, bool rests, struct err *err)
{
	(void)recorder;
	(void)rests;
	(void)err;
	return 0;
}

bool names_of_waits(const struct names_recorder *recorder)
{
	(void)recorder;
	return false;
}

void names_renew(struct names_recorder *recorder, uint64_t before_ns)
{
	(void)before_ns;
	(void)recorder;
}

void names_forget(struct names_recorder *recorder, uint64_t before_ns)
{
	(void)recorder;
	(void)before_ns;
}

uint64_t names_bytes(struct names_recorder *recorder)
{
	(void)recorder;
	return 0;
}

uint64_t names_most_bytes(const struct names_recorder *recorder)
{
	(void)recorder;
	return 0;
}

uint64_t names_gone_ns(struct names_recorder *recorder)
{
	(void)recorder;
	return 0;
}

void names_take(struct names_recorder *recorder)
{
	(void)recorder;
}

int names_snapshot(struct names_recorder *recorder, int kernel_fd, uint64_t begin_ns,
		   struct last_calls *out_last, struct names_told *out_told, struct err *err)
{
	(void)recorder;
	(void)kernel_fd;
	(void)begin_ns;
	(void)out_last;
	(void)out_told;
	return not_built(err);
}

void names_begin(struct names_recorder *recorder)
{
	(void)recorder;
}

int32_t names_tid(const struct names_recorder *recorder)
{
	(void)recorder;
	return 0;
}

int32_t names_holder(const struct names_recorder *recorder)
{
	(void)recorder;
	return 0;
}

const char *names_without_locks(const struct names_recorder *recorder)
{
	(void)recorder;
	return NULL;
}

const char *names_without_threads(const struct names_recorder *recorder)
{
	(void)recorder;
	return NULL;
}

const char *names_without_limits(const struct names_recorder *recorder)
{
	(void)recorder;
	return NULL;
}

uint64_t names_lost(const struct names_recorder *recorder)
{
	(void)recorder;
	return 0;
}

uint64_t names_lost_calls(const struct names_recorder *recorder)
{
	(void)recorder;
	return 0;
}

uint64_t names_count(const struct names_recorder *recorder)
{
	(void)recorder;
	return 0;
}

void names_end(struct names_recorder *recorder)
{
	(void)recorder;
}

void names_stop(struct names_recorder *recorder)
{
	(void)recorder;
}

int names_probe(struct err *err)
{
	return not_built(err);
}

int names_probe_lean(struct err *err)
{
	return not_built(err);
}

uint64_t bpf_parts_memory(void)
{
	return 0;
}
