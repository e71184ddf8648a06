/* hash.c - the library is used here only. */
#include "base/hash.h"

#include <xxhash.h>

uint64_t hash_bytes(const void *bytes, size_t count, uint64_t seed)
{
	return XXH3_64bits_withSeed(bytes, count, seed);
}
