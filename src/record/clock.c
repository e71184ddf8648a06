/*
 * clock.c - choose the trace clock and take sync points.
 *
 * A sync point brackets the reading of one clock by two readings of the other and
 * keeps the closest of some tries, so that an interrupt in between does no harm:
 *
 *	tsc ── mono ── tsc      raw  = the middle of the two
 *	mono ── real ── mono    real = moved to the moment of the first bracket
 */
#include "record/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "record/ftrace.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <x86intrin.h>
#define HAVE_TSC 1
#endif

#define SYNC_TRIES 16

#ifdef HAVE_TSC
/* CPUID: the counter runs at one rate in all power states. */
static bool tsc_is_invariant(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && (edx & (1u << 8));
}

static uint64_t read_tsc(void)
{
	_mm_lfence();
	return __rdtsc();
}
#else
static bool tsc_is_invariant(void)
{
	return false;
}

static uint64_t read_tsc(void)
{
	return 0;
}
#endif

static char *kernel_source(void)
{
	return ftrace_read(
		AT_FDCWD, "/sys/devices/system/clocksource/clocksource0/current_clocksource", NULL);
}

bool clock_tsc_is_reliable(void)
{
	AUTO_FREE char *source = kernel_source();

	return source && !strcmp(source, "tsc\n") && tsc_is_invariant();
}

bool clock_tsc_is_steady(void)
{
	AUTO_FREE char *source = kernel_source();

	return source && (!strcmp(source, "tsc\n") || !strcmp(source, "kvm-clock\n")) &&
	       tsc_is_invariant();
}

static bool has_word(const char *text, const char *word)
{
	size_t bytes = strlen(word);

	while (*text) {
		size_t skip = strspn(text, " []\n");
		size_t length = strcspn(text + skip, " []\n");

		if (length == bytes && !memcmp(text + skip, word, bytes))
			return true;
		text += skip + length;
	}
	return false;
}

const char *clock_choose(const char *available, bool tsc_is_reliable)
{
	if (tsc_is_reliable && has_word(available, "x86-tsc"))
		return "x86-tsc";
	return has_word(available, "mono") ? "mono" : NULL;
}

uint64_t clock_mono_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

/* Raw and mono of one moment. */
static void take_raw(struct sync_point *point)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < SYNC_TRIES; i++) {
		uint64_t before = read_tsc();
		uint64_t mono_ns = clock_mono_ns();
		uint64_t width = read_tsc() - before;

		if (width >= best)
			continue;
		best = width;
		point->raw = before + width / 2;
		point->mono_ns = mono_ns;
	}
}

/* How far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC. */
static uint64_t take_real_offset(void)
{
	uint64_t best = UINT64_MAX, offset = 0;

	for (int i = 0; i < SYNC_TRIES; i++) {
		uint64_t before = clock_mono_ns();
		uint64_t real_ns = clock_read_ns(CLOCK_REALTIME);
		uint64_t width = clock_mono_ns() - before;

		if (width >= best)
			continue;
		best = width;
		offset = real_ns - (before + width / 2);
	}
	return offset;
}

struct sync_point clock_take(bool is_tsc)
{
	struct sync_point point = { 0 };

	if (is_tsc)
		take_raw(&point);
	else
		point.raw = point.mono_ns = clock_mono_ns();
	point.real_ns = point.mono_ns + take_real_offset();
	return point;
}

uint64_t clock_raw_to_mono(const struct sync_point *first, const struct sync_point *last,
			   uint64_t raw)
{
	__int128 ns =
		(__int128)(int64_t)(raw - first->raw) * (int64_t)(last->mono_ns - first->mono_ns);

	if (last->raw == first->raw)
		return first->mono_ns;
	return first->mono_ns + (uint64_t)(int64_t)(ns / (int64_t)(last->raw - first->raw));
}

int clock_append(int fd, const struct sync_point *point, struct err *err)
{
	char line[80];
	int bytes = snprintf(line, sizeof(line), "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			     point->raw, point->mono_ns, point->real_ns);
	ssize_t done;

	do {
		done = write(fd, line, (size_t)bytes);
	} while (done < 0 && errno == EINTR);
	if (done < 0)
		return err_set(err, -errno, "cannot write a sync point: %s", strerror(errno));
	return done == bytes ? 0 : err_set(err, -ENOSPC, "cannot write a sync point: disk full");
}
