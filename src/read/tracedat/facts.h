/*
 * facts.h - what a trace.dat tells beside the events: of the machine, names of threads,
 * formats of trace_printk(), time of day, and what it has not.
 */
#ifndef READ_TRACEDAT_FACTS_H
#define READ_TRACEDAT_FACTS_H

#include "read/tracedat/zip.h"

struct dat_meta;
struct facts;

/*
 * What texts of tracefs tell: saved_cmdlines, printk_formats, trace_clock, and by its symbols, which
 * are in 'facts', the machine.
 */
void dat_facts_texts(struct facts *facts, const struct dat_meta *meta);

/* All but the numbers of CPUs and the span of time. */
void dat_facts_fill(struct facts *facts, const struct dat_meta *meta, enum dat_zip_kind zip);

#endif
