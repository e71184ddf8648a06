/*
 * stats_page_int.h - what the files that print a struct stats share.
 */
#ifndef REPORT_STATS_PAGE_INT_H
#define REPORT_STATS_PAGE_INT_H

#include <stdbool.h>
#include <stdio.h>

#include "analyse/stats/stats.h"
#include "report/stats.h"
#include "report/stats_int.h"

struct facts;

static inline uint64_t stats_io_ns(const struct stats_sums *sums)
{
	return sums->waits[WAIT_FOR_DISK].ns + sums->waits[WAIT_FOR_IO].ns;
}

static inline uint64_t stats_kernel_ns(const struct stats_sums *sums)
{
	return sums->call_ns + sums->fault_ns + sums->thread_ns + sums->work_ns;
}

static inline uint64_t charge_sum(const struct ps_charge *charge)
{
	return charge->user + charge->system + charge->either;
}

/* "ticks", "interrupts", "assumed" */
static inline const char *ps_source_name(enum ps_source source)
{
	return source == PS_TICKS ? "ticks" : source == PS_INTERRUPTS ? "interrupts" : "assumed";
}

/* One text report being printed. */
struct stats_page {
	FILE *out;
	const struct stats *stats;
	const struct facts *facts;
	enum text_unit unit; /* of every table of times */
	size_t cpus;	     /* of these, each has a row */
	size_t shown;	     /* rows of the main table */
	size_t calls;	     /* rows of the system calls of all */
	bool is_narrow;	     /* a terminal without room for all columns */
	size_t detailed;     /* rows told in detail */
};

void stats_details(const struct stats_page *page); /* stats_detail.c */
void stats_calls(const struct stats_page *page, const struct stats_row *row, size_t max);
void stats_ps(const struct stats_page *page); /* stats_ps.c */
void stats_json(FILE *out, const struct stats *stats, const struct facts *facts);

#endif
