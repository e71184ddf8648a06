/* flight_pair_none.c - stands in for flight_pair.c where BPF programs could not be built. */
#include "record/flight_pair.h"

#include <errno.h>
#include <stddef.h>

#include "base/err.h"

int flight_pair_open(const char *first, const char *second, uint64_t limit_ns,
		     struct flight_pair **out_pair, struct err *err)
{
	(void)first;
	(void)second;
	(void)limit_ns;
	(void)out_pair;
	return err_set(err, -ENOTSUP,
		       "holdup was built without its BPF programs, which need clang and libbpf");
}

int flight_pair_fd(const struct flight_pair *pair)
{
	(void)pair;
	return -1;
}

char *flight_pair_take(struct flight_pair *pair)
{
	(void)pair;
	return NULL;
}

char *flight_pair_look(struct flight_pair *pair, uint64_t *out_count)
{
	(void)pair;
	*out_count = 0;
	return NULL;
}

uint64_t flight_pair_next_ns(const struct flight_pair *pair)
{
	(void)pair;
	return UINT64_MAX;
}

int32_t flight_pair_tid(const struct flight_pair *pair, uint64_t *out_first_ns,
			uint64_t *out_second_ns)
{
	(void)pair;
	*out_first_ns = *out_second_ns = 0;
	return 0;
}

void flight_pair_arm(struct flight_pair *pair, bool is_armed)
{
	(void)pair;
	(void)is_armed;
}

void flight_pair_close(struct flight_pair *pair)
{
	(void)pair;
}
