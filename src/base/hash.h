/*
 * hash.h - checksums of bytes: XXH3, 64 bits. Finds damage, resists no attacker.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* 'seed': another checksum, to go on with it; 0 at the start. */
uint64_t hash_bytes(const void *bytes, size_t count, uint64_t seed);

/* Of a few numbers, one after the other. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ (hash >> 31);
}

#endif
