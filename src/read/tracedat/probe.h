/*
 * probe.h - a look into the data for what a trace.dat does not say.
 *
 * It has the formats of all events of the kernel, whatever was recorded. So samples of the
 * records tell: were system calls recorded; does this kernel leave out switches from the idle
 * task; which kinds of events did two instances record, both. The samples are the same at
 * every opening, and their number has a limit; of a small file all records are looked at.
 */
#ifndef READ_TRACEDAT_PROBE_H
#define READ_TRACEDAT_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct dat_probe;
struct facts;
struct kernel_events;
struct ring;

/* A set of enum event_type: bit = type. */
typedef uint64_t type_set;
_Static_assert(EV_TYPE_COUNT <= 64, "a set has 64 bits");

/* 'bytes': how long the data of all CPUs is in the file. */
struct dat_probe *dat_probe_new(size_t instances, uint64_t bytes, const struct facts *facts);
void dat_probe_free(struct dat_probe *probe);

/* Look into the data of one CPU of an instance. The ring is at its first event after it. */
void dat_probe_ring(struct dat_probe *probe, size_t instance, struct ring *ring,
		    const struct kernel_events *events);

/* Write what was found to the facts. */
void dat_probe_finish(const struct dat_probe *probe, struct facts *facts);

/* The kinds of events that an instance has, but for EV_OTHER. */
type_set dat_probe_seen(const struct dat_probe *probe, size_t instance);

/* Are there stacks of the kernel, or of programs? */
bool dat_probe_has_stacks(const struct dat_probe *probe);

#endif
