/* names_none.c - stands in for names.c where the BPF program could not be built. */
#include <errno.h>
#include <stddef.h>

#include "base/err.h"
#include "record/names.h"

static int not_built(struct err *err)
{
	return err_set(err, -ENOTSUP,
		       "holdup was built without its BPF program, which needs clang and libbpf: "
		       "descriptors opened while recording have no names");
}

int names_start(const char *dir, uint64_t dispatch, bool is_lean,
		struct names_recorder **out_recorder, struct err *err)
{
	(void)dir;
	(void)dispatch;
	(void)is_lean;
	(void)out_recorder;
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
