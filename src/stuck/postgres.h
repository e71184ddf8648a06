/*
 * postgres.h - for which lock a backend of PostgreSQL waits, and which backends keep it from getting the lock.
 *
 * A backend that waits for a heavyweight lock sleeps on its latch. The lock, who has it and who queued for it
 * stand in shared memory. Locks are those of pg_locks: of a relation, a row, a transaction ..., and advisory ones.
 */
#ifndef STUCK_POSTGRES_H
#define STUCK_POSTGRES_H

#include <stdbool.h>
#include <stdint.h>

struct asleep;
struct postgres;

/* False when it is no backend, or waits for no such lock. */
bool postgres_wait(struct asleep *asleep);

/* Whether a backend waits for a light-weight lock, which has no owner: the number of its tranche. */
bool postgres_light_lock(struct asleep *asleep, uint32_t *out_tranche);

/* What a look knows of one server; NULL is fine. */
void postgres_free(struct postgres *postgres);

#endif
