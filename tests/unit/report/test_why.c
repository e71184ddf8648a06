/* test_why.c - the report of a result made by hand: text word for word, JSON as parsed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include <cmocka.h>

#include "analyse/why/process.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/fake_why.h"
#include "report/table.h"
#include "report/why.h"

/* Not inlined: GCC 12 would take the text for a pointer to this frame. */
__attribute__((noinline)) static char *printed_many(const struct why *results, size_t count,
						    const struct facts *facts,
						    const struct report_why_opts *opts)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	report_why(out, results, count, facts, opts);
	fclose(out);
	return text;
}

static char *printed(const struct why *why, const struct facts *facts,
		     const struct report_why_opts *opts)
{
	return printed_many(why, 1, facts, opts);
}

/* Nothing lost, nothing missing: a report without notes. */
static struct why clean_why(void)
{
	struct why why = fake_why;

	why.lost_events = why.lost_span_ns = why.repairs = why.repairs_exact = 0;
	why.working_ns += why.uncertain_ns;
	why.uncertain_ns = 0;
	why.root_count = 4;
	return why;
}

static const struct facts clean_facts = {
	.first_ns = BEGIN - 500 * MS,
	.last_ns = BEGIN + 2000 * MS,
	.target_tid = 437,
	.complete = true,
	.missing = fake_missing,
	.missing_count = ARRAY_LEN(fake_missing),
};

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is missing in:\n%s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" should not be in:\n%s", part, text);
}

static const char golden_text[] =
	"build.sh[437] took 1.309 s: working 0.4 %, interrupted 0.8 %, blocked 98.6 %, uncertain 0.2 %\n"
	"  Mostly held up by others: 1.290 s.\n"
	"\n"
	"Where the time went, by root cause:\n"
	"   share      time  went to\n"
	"  97.9 %   1.281 s  Xorg[440] sleeping until a timer: clock_nanosleep() (42 x, longest 200 ms)\n"
	"   0.8 %   0.011 s  waiting for a CPU; make[512] ran instead (3 x, longest 5.01 ms)\n"
	"   0.7 %   0.009 s  disk: vda 4096 B read, for Xorg[440], fd 3 = /etc/X11/xorg.conf\n"
	"   0.4 %   0.005 s  working itself: own code (12 x, longest 1.00 ms)\n"
	"   0.2 %   0.003 s  unknown what xinit[438] did: events were lost (2 x, longest 2.00 ms)\n"
	"  <0.1 %  <0.001 s  interrupted: irq 24 virtio0-req.0\n"
	"  ------  --------\n"
	"   100 %   1.309 s\n"
	"\n"
	"The chain of waits behind the largest hold-up:\n"
	"     time  waits\n"
	"  1.281 s    1 x  build.sh[437] waited in wait4(), child xinit[438]; woken by xinit[438] in exit()\n"
	"  1.281 s    1 x    xinit[438] waited in select(), fd 3 = socket to Xorg[440]; woken by Xorg[440] in\n"
	"                      sendmsg()\n"
	"  1.281 s   42 x      root: Xorg[440] waited in clock_nanosleep(); woken by timer hrtimer_wakeup\n"
	"\n"
	"Notes:\n"
	"  The command exited with status 2.\n"
	"  812 events were lost; 3.00 ms of the window lies in holes of the recording. Affected time is\n"
	"    uncertain or unknown. A larger --buffer loses fewer.\n"
	"  CPU 1 lost 812 events in the whole recording.\n"
	"  5 context switches to a thread were not recorded in the whole recording; other events give the\n"
	"    exact time of all of them.\n"
	"  Not recorded: file names of descriptors (BPF program not loaded: Operation not permitted).\n";

static void the_text_is_this(void **unused)
{
	AUTO_FREE char *text = printed(&fake_why, &fake_facts, &(struct report_why_opts){ 0 });

	assert_string_equal(text, golden_text);
}

static const char golden_parts[] =
	"Summary of states (--instances=ID shows an instance):\n"
	"   share      time  count  longest  id  state\n"
	"   0.4 %   0.005 s   12 x               Working\n"
	"   0.4 %   0.005 s   12 x  5.00 ms  #1    own code\n"
	"   0.8 %   0.011 s    4 x               Interrupted\n"
	"   0.8 %   0.011 s    3 x  11.0 ms  #2    waiting for a CPU\n"
	"  <0.1 %  <0.001 s    1 x  1.00 us  #3    irq 24 virtio0-req.0\n"
	"  98.6 %   1.290 s    1 x               Blocked\n"
	"  98.6 %   1.290 s    1 x                 wait4\n"
	"  98.6 %   1.290 s    1 x  1.290 s  #4      child xinit[438]\n"
	"   0.2 %   0.003 s    2 x               Uncertain\n"
	"\n"
	"System calls that began in the window; time: CPU time in the call:\n"
	"  calls  errors     time  system call\n"
	"  1,234       2  0.003 s  read\n"
	"      1       0  0.001 s  wait4\n"
	"\n"
	"Chains of waits: each wait, its waker, and below the waits of the waker:\n"
	"  duration          begins  wait\n"
	"   1.290 s  +0.016001000 s  build.sh[437] waited in wait4(), child xinit[438]; woken by xinit[438]\n"
	"                              in exit()\n"
	"                              meanwhile xinit[438] worked 1.00 ms, was blocked 1.289 s\n"
	"   1.288 s  +0.017000000 s    xinit[438] waited in select(), fd 3 = socket to Xorg[440]; woken by\n"
	"                                Xorg[440] in sendmsg()\n"
	"                                meanwhile Xorg[440] worked 2.00 ms, was blocked 1.286 s\n"
	"   0.200 s  +0.018000000 s      Xorg[440] waited in clock_nanosleep(); woken by timer hrtimer_wakeup\n"
	"                                  in local timer interrupt < idle; by its own request\n"
	"                                  slept in hrtimer_nanosleep < do_nanosleep\n"
	"  41 waits are omitted, among them 1.081 s of the target's own: see --depth and --min\n"
	"\n";

static void the_parts_asked_for_are_these(void **unused)
{
	struct report_why_opts opts = { .summary = true, .causality = true };
	AUTO_FREE char *text = printed(&fake_why, &fake_facts, &opts);

	assert_has(text, golden_parts);
}

/* The sum of the numbers in a column of the verdict, in its last place. */
static void the_rows_add_up_to_the_line_below_them(void **unused)
{
	AUTO_FREE char *text = printed(&fake_why, &fake_facts, &(struct report_why_opts){ 0 });
	const char *row = strstr(text, "went to\n") + 8;
	unsigned int permille = 0, ms = 0;

	for (; strncmp(row, "  ---", 5) != 0; row = strchr(row, '\n') + 1) {
		unsigned int whole, tenths, seconds, thousandths;

		if (sscanf(row, "%u.%u %% %u.%u s", &whole, &tenths, &seconds, &thousandths) != 4)
			continue; /* "<0.1 %" counts nothing */
		permille += whole * 10 + tenths;
		ms += seconds * 1000 + thousandths;
	}
	assert_int_equal(permille, 1000);
	assert_int_equal(ms, 1309);
}

static void what_is_cut_is_said(void **unused)
{
	AUTO_FREE char *text =
		printed(&fake_why, &fake_facts, &(struct report_why_opts){ .top = 3 });

	assert_has(
		text,
		"   0.6 %  0.008 s  and 3 smaller: own work 0.4 %, unknown 0.2 % (--top 6 shows all)\n");
	assert_lacks(text, "virtio0");
}

static void no_line_is_wider_than_the_page(void **unused)
{
	struct report_why_opts all = { .summary = true, .instances = true, .causality = true };
	AUTO_FREE char *text = printed(&fake_why, &fake_facts, &all);
	char *rest = text;

	for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
		size_t len = strlen(line);

		if (text_columns(line) > REPORT_COLUMNS)
			fail_msg("%zu columns: %s", text_columns(line), line);
		if (len > 0 && line[len - 1] == ' ')
			fail_msg("blank at the end: \"%s\"", line);
	}
}

static void a_whole_report_has_no_notes(void **unused)
{
	struct why why = clean_why();
	AUTO_FREE char *text = printed(&why, &clean_facts, &(struct report_why_opts){ 0 });

	assert_lacks(text, "Notes");
	assert_lacks(text, "Not recorded");
}

static void what_is_missing_is_said_when_it_matters(void **unused)
{
	struct why why = clean_why();
	struct why_root root = fake_roots[2];
	AUTO_FREE char *text = NULL;

	root.object = "fd 3";
	root.no_name = true;
	why.roots = &root;
	why.root_count = 1;
	text = printed(&why, &clean_facts, &(struct report_why_opts){ 0 });
	assert_has(text, "Not recorded: file names of descriptors (BPF program not loaded: "
			 "Operation not permitted).\n");
}

static void sleeping_on_request_is_no_hold_up(void **unused)
{
	struct why_root root = { 1290 * MS, WHY_TIMER, WHY_ASKED, BUILD, "nanosleep",
				 "",	    NULL,      1,	  0,	 .is_call = true };
	struct why why = clean_why();
	AUTO_FREE char *text = NULL;

	why.held_up_ns = 0;
	why.asked_ns = why.blocked_ns;
	why.roots = &root;
	why.root_count = 1;
	text = printed(&why, &clean_facts, &(struct report_why_opts){ 0 });
	assert_has(text, "Mostly sleeping on its own request: 1.290 s.\n");
	assert_has(text, "sleeping until a timer itself: nanosleep(); by its own request\n");
	assert_lacks(text, "held up by others");
}

static void what_was_asked_for_in_vain_is_said(void **unused)
{
	struct why_root root = { .ns = 1290 * MS,
				 .kind = WHY_TIMER,
				 .class = WHY_ASKED,
				 .who = BUILD,
				 .what = "nanosleep",
				 .is_call = true,
				 .object = "",
				 .count = 1,
				 .polls = { "flock", "EAGAIN", 29, 30 } };
	struct why why = clean_why();
	AUTO_FREE char *text = NULL;

	why.roots = &root;
	why.root_count = 1;
	text = printed(&why, &clean_facts, &(struct report_why_opts){ 0 });
	assert_has(text, "; before 29 of 30\n");
	assert_has(text, " sleeps flock() failed: EAGAIN\n");
}

static void a_server_without_work_is_idle(void **unused)
{
	struct why_root root = {
		1290 * MS, WHY_OTHER_THREAD, WHY_IDLE, MAKE, "own code", "", NULL, 1, 0
	};
	struct why why = clean_why();
	AUTO_FREE char *text = NULL;

	why.held_up_ns = 0;
	why.idle_ns = why.blocked_ns;
	why.roots = &root;
	why.root_count = 1;
	text = printed(&why, &clean_facts, &(struct report_why_opts){ 0 });
	assert_has(text, "Mostly idle, waiting for work: 1.290 s.\n");
	assert_has(text, "make[512] working: own code; idle, waiting for work\n");
}

/* 'count' roots like 'like', each of another thread: 1 ms, 2 ms ... */
static void add_crowd(struct why *why, const struct why_root *like, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct why_root *root = &why->roots[why->root_count++];

		*root = *like;
		root->ns = (i + 1) * MS;
		root->count = 2;
		root->longest_ns = root->ns;
		root->who.tid = 1000 + (int32_t)why->root_count;
	}
}

static void threads_of_one_name_are_one_row(void **unused)
{
	struct why_root compiler = {
		.kind = WHY_PREEMPTED, .class = WHY_RUNS, .who = MAKE, .what = "", .object = ""
	};
	struct why_root roots[32];
	struct why why = clean_why();
	AUTO_FREE char *text = NULL, *all = NULL;

	memcpy(roots, fake_roots, sizeof(*roots));
	why.roots = roots;
	why.root_count = 1;
	compiler.who.comm = "cc1";
	add_crowd(&why, &compiler, 6); /* 21 ms */
	compiler.class = WHY_HELD_UP;
	add_crowd(&why, &compiler, 5); /* 15 ms */
	compiler.kind = WHY_OTHER_THREAD;
	compiler.what = "own code";
	add_crowd(&why, &compiler, 4); /* few enough to be told each */
	text = printed(&why, &clean_facts, &(struct report_why_opts){ 0 });
	assert_has(text, "  0.021 s  preempted by 6 threads named cc1 (12 x, longest 6.00 ms)\n");
	assert_has(text,
		   "  0.015 s  the awaited thread was preempted by 5 threads named cc1 (10 x, "
		   "longest 5.00 ms)\n");
	assert_has(text, "cc1[1016] working: own code (2 x, longest 4.00 ms)\n");
	assert_has(
		text,
		"The chain of waits behind the largest hold-up:\n"); /* Xorg's is the first row */
	free(text);
	roots[0].ns = 5 * MS;
	text = printed(&why, &clean_facts, &(struct report_why_opts){ 0 });
	assert_has(text, "The chain of waits behind the largest hold-up by one thread:\n");

	all = printed(&why, &clean_facts, &(struct report_why_opts){ .top = 16, .unfold = true });
	assert_has(all, "preempted by cc1[1007] (2 x, longest 6.00 ms)\n");
	assert_lacks(all, "threads named");
	assert_has(all, "The chain of waits behind the largest hold-up:\n");
}

/* Of some it is known that they sleep, of others only that a timer ended that. */
static void a_row_of_sleeps_and_of_other_timers_says_both(void **unused)
{
	for (int first = 0; first < 2; first++) {
		struct why_root sleeper = { .kind = WHY_TIMER,
					    .class = WHY_ASKED,
					    .who = MAKE,
					    .what = first ? "clock_nanosleep" : "sleep",
					    .is_call = first,
					    .object = "" };
		struct why_root roots[32];
		struct why why = clean_why();
		AUTO_FREE char *text = NULL;

		memcpy(roots, fake_roots, sizeof(*roots));
		why.roots = roots;
		why.root_count = 1;
		sleeper.who.comm = "cc1";
		add_crowd(&why, &sleeper, 5);
		sleeper.what = first ? "sleep" : "nanosleep";
		sleeper.is_call = !first;
		add_crowd(&why, &sleeper, 5);
		text = printed(&why, &clean_facts, &(struct report_why_opts){ .top = 1 });
		assert_has(text, "10 threads named cc1 waiting until their timers: sleeps, and ");
		assert_has(text, "whose calls were not recorded");
		assert_lacks(text, "by its own request");
	}
}

/* Kinds of which each thread has a row: 100 sleepers beside others, with numbers in their names. */
static void a_hundred_small_rows_of_one_kind_are_one_large_row(void **unused)
{
	struct why_root sleeper = { .kind = WHY_TIMER,
				    .class = WHY_HELD_UP,
				    .what = "clock_nanosleep",
				    .object = "",
				    .is_call = true };
	static char comms[100][16];
	struct why_root roots[128];
	struct why why = clean_why();
	AUTO_FREE char *text = NULL, *all = NULL;

	memcpy(roots, fake_roots, 2 * sizeof(*roots));
	why.roots = roots;
	why.root_count = 2;
	add_crowd(&why, &sleeper, 100);
	for (size_t i = 0; i < 100; i++) {
		(void)snprintf(comms[i], sizeof(comms[i]), "worker-%zu", i);
		roots[2 + i].who.comm = comms[i];
	}
	text = printed(&why, &clean_facts, &(struct report_why_opts){ 0 });
	assert_has(text, "5.050 s  100 threads named worker-* sleeping until a timer: "
			 "clock_nanosleep() (200 x,\n");
	assert_has(text, " s  all: sleeping 99.8 %, waiting for a CPU 0.2 %\n");
	assert_lacks(text, "smaller");

	for (size_t i = 0; i < 100; i++)
		roots[2 + i].object = comms[i]; /* each for a thing of its own */
	free(text);
	text = printed(&why, &clean_facts, &(struct report_why_opts){ 0 });
	assert_has(text, "clock_nanosleep(), several\n");
	all = printed(&why, &clean_facts, &(struct report_why_opts){ .unfold = true, .top = 200 });
	assert_has(all, "worker-42[1045] sleeping until a timer: clock_nanosleep(), worker-42 (2 ");
	assert_lacks(all, "threads named");
}

/* The roots that charge.c can make of one target, another thread and hardware. */
static size_t possible_roots(struct why_root *roots)
{
	static const struct why_reason reason = { .kind = WHY_REASON_EXPECTED, .object = "r" };
	const struct why_thread whos[] = { BUILD, XINIT, NOONE };
	size_t count = 0;

	for (enum why_kind kind = 0; kind < WHY_KIND_COUNT; kind++) {
		for (size_t i = 0; i < 3 * 4 * 2; i++) {
			struct why_root root = { .ns = MS,
						 .kind = kind,
						 .class = (enum why_class)(i / 3 % 4),
						 .who = whos[i % 3],
						 .what = "w",
						 .object = kind == WHY_LOCK ? "o" : "",
						 .why = &reason,
						 .count = 1 };
			bool own = root.class == WHY_RUNS, first = i >= 12;
			bool is_target = root.who.tid == 437;
			bool cpu = kind == WHY_CPU_QUEUE || kind == WHY_PREEMPTED;
			bool irq = kind == WHY_IRQ || kind == WHY_SOFTIRQ;
			bool hardware = kind == WHY_DISK || kind == WHY_NETWORK || kind == WHY_IPI;

			root.timed_out = first;
			if (irq)
				root.what = kind == WHY_IRQ ? "irq 1" : "softirq RCU";
			if ((first && kind != WHY_TIMER) ||
			    (own && kind != WHY_WORKING && !cpu && !irq && kind != WHY_UNKNOWN) ||
			    (!own && kind == WHY_WORKING) || (!root.who.tid && !cpu && !irq) ||
			    (!root.who.tid && kind == WHY_PREEMPTED) || (cpu && is_target) ||
			    (own && irq && root.who.tid) || (own && hardware))
				continue;
			/* A time-out of the target's own wait is what it asked for. */
			if (first && is_target && root.class != WHY_ASKED)
				continue;
			roots[count++] = root;
		}
	}
	return count;
}

static void words_differ(struct why_process *process)
{
	struct why_root roots[24 * WHY_KIND_COUNT];
	struct why why = clean_why();
	AUTO_FREE char *text = NULL;
	const char *rows[24 * WHY_KIND_COUNT];
	size_t count = 0;
	char *rest;

	why.roots = roots;
	why.root_count = possible_roots(roots);
	assert_in_range(why.root_count, 60, 200);
	why.process = process;
	why.class_ns = why.root_count * MS;
	for (size_t i = 0; i < why.root_count && process; i++)
		roots[i].who.tgid = roots[i].who.tid ? 437 : 0;
	text = printed(&why, &clean_facts,
		       &(struct report_why_opts){ .unfold = true, .top = 1000 });
	rest = strstr(text, "went to\n") + 8;
	for (char *line = strsep(&rest, "\n"); strncmp(line, "  ---", 5) != 0;
	     line = strsep(&rest, "\n")) {
		char *words = strchr(line, '%') ? strstr(line, " s  ") : NULL;

		assert_true(words || line[8] == ' ');
		if (words)
			rows[count++] = words + 4;
	}
	assert_int_equal(count, why.root_count);
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < i; k++) {
			if (strcmp(rows[i], rows[k]) == 0)
				fail_msg("twice: %s", rows[i]);
		}
	}
}

static void two_causes_never_have_the_same_words(void **unused)
{
	struct why_process process = { .threads = 2, .added = 2 };

	words_differ(NULL);
	words_differ(&process);
}

/* A worker held up by the main thread's work, and a hundred others that wait for work. */
/* 'alike' waiters in a queue, then who holds what they wait for. */
static char *chain_of(size_t alike, bool unfold)
{
	struct why_hop hops[32];
	struct why why = clean_why();
	static char comms[32][16];

	for (size_t i = 0; i <= alike; i++) {
		(void)snprintf(comms[i], sizeof(comms[i]), "req-%zu", i);
		hops[i] = (struct why_hop){ .who = { 700 + (int32_t)i, 437, comms[i] },
					    .what = "futex",
					    .is_call = true,
					    .woken_by_call = true,
					    .object = "futex 0x10",
					    .woken_by = "futex",
					    .ns = MS,
					    .count = 1,
					    .waker = { 701 + (int32_t)i, 437, comms[i] } };
	}
	hops[alike].woken_by = "";
	hops[alike].what = "own code";
	hops[alike].is_call = false;
	why.chain = hops;
	why.chain_count = alike + 1;
	return printed(&why, &clean_facts, &(struct report_why_opts){ .unfold = unfold });
}

/* Kinds decide the words, not the texts. */
static void who_was_halted_did_not_wait_in_something(void **unused)
{
	struct why_hop hops[] = {
		{ XORG, "stopped", "", "SIGCONT", 900 * MS, 2, MAKE, .holding = "",
		  .halted = true },
		{ XORG, "recvfrom", "", "packet on eth0", 900 * MS, 2, MAKE, .holding = "",
		  .by_packet = true, .is_call = true },
		{ MAKE, "own code", "", "", 900 * MS, 2, .holding = "" },
	};
	const struct why why = { .target = XORG, .chain = hops, .chain_count = ARRAY_LEN(hops) };
	AUTO_FREE char *halted = report_why_hop(&why, 0);
	AUTO_FREE char *packet = report_why_hop(&why, 1);

	assert_string_equal(halted, "Xorg[440] was stopped; woken by make[512] in SIGCONT");
	assert_string_equal(
		packet,
		"  Xorg[440] waited in recvfrom(); woken by a packet on eth0 from make[512]");
}

static void a_long_queue_of_threads_is_its_first_and_last(void **unused)
{
	AUTO_FREE char *few = chain_of(7, false), *many = chain_of(20, false);
	AUTO_FREE char *all = chain_of(20, true);

	assert_lacks(few, " more named ");
	assert_has(few, "req-3[703] waited in futex()");
	assert_has(many, "req-0[700] waited in futex()");
	assert_has(many, "... 18 more named req-*, each woken by the next (--unfold shows all)\n");
	assert_lacks(many, "req-3[703] waited in futex()");
	assert_has(many, "req-19[719] waited in futex()");
	assert_has(many, "root: req-20[720]: own code");
	assert_has(all, "req-3[703] waited in futex()");
	assert_lacks(all, " more named ");
}

static void who_a_process_is_is_told_once(void **unused)
{
	struct why_person people[] = {
		{ BUILD, "/bin/sh ./build.sh", "", "build.service", "", "SIGKILL of sh[9]" },
		{ XORG, "Xorg :0 -nolisten tcp", "", "build.service", "", "SIGXCPU" },
		{ XINIT, "", "", "3f2a9b4c11d0", "docker", "" },
		{ { 900, 900, "far" }, "not printed anywhere", "", "", "", "" },
	};
	struct why why = clean_why();
	AUTO_FREE char *text = NULL;

	why.people = people;
	why.person_count = ARRAY_LEN(people);
	text = printed(&why, &clean_facts, &(struct report_why_opts){ 0 });
	assert_has(text, "  Its command: /bin/sh ./build.sh; unit build.service\n");
	assert_has(text, "  It was killed by SIGKILL of sh[9]\n");
	assert_has(text, "  Xorg[440]   Xorg :0 -nolisten tcp; killed by SIGXCPU\n");
	assert_has(text, "  xinit[438]  container 3f2a9b4c11d0 (docker)\n");
	assert_lacks(text, "not printed anywhere");
}

static void a_process_is_its_threads_added_up(void **unused)
{
	struct why_root roots[] = {
		{ 900 * MS, WHY_WORKING, WHY_RUNS, BUILD, "own code", "", NULL, 3, MS },
		{ 600 * MS, WHY_OTHER_THREAD, WHY_HELD_UP, BUILD, "own code", "", NULL, 3, MS },
	};
	struct why_root apart[100];
	struct why_process process = {
		.threads = 102, .added = 2, .apart = apart, .told = clean_why()
	};
	struct why why = clean_why();
	AUTO_FREE char *text = NULL, *json = NULL;

	for (size_t i = 0; i < ARRAY_LEN(apart); i++) {
		apart[i] = (struct why_root){ .ns = 10 * MS,
					      .kind = WHY_STUCK,
					      .class = WHY_IDLE,
					      .who = { 500 + (int32_t)i, 437, "pool" },
					      .what = "epoll_wait",
					      .is_call = true,
					      .object = "fd 7" };
	}
	process.apart_count = ARRAY_LEN(apart);
	why.roots = roots;
	why.root_count = ARRAY_LEN(roots);
	why.process = &process;
	why.working_ns = 900 * MS;
	why.blocked_ns = why.held_up_ns = 600 * MS;
	why.interrupted_ns = why.uncertain_ns = 0;
	why.class_ns = 1500 * MS;
	text = printed(&why, &clean_facts, &(struct report_why_opts){ 0 });
	assert_has(text, "build.sh[437] took 1.309 s, 102 threads, 2 of them active, 1.500 s "
			 "together: working 60.0 %,\n");
	assert_has(text, "Mostly working: 900 ms; held up by others: 600 ms.\n");
	assert_has(text, "  60.0 %  0.900 s  build.sh[437] working: own code (3 x");
	assert_has(text, "build.sh[437] running while other threads wait for it: own code (3 x");
	assert_has(text, "100 threads that only waited");
	assert_has(text,
		   "1.000 s  100 threads named pool idle, waiting for work: epoll_wait(), fd 7\n");
	assert_has(text, "The chain of waits behind the largest hold-up of build.sh[437]:\n");
	json = printed(&why, &clean_facts, &(struct report_why_opts){ .json = true });
	assert_has(json, "\"process\":{\"threads\":102,\"added\":2,\"threads_ns\":1500000000,");
}

static void a_chosen_window_says_where_it_lies(void **unused)
{
	AUTO_FREE char *text =
		printed(&fake_why, &fake_facts, &(struct report_why_opts){ .window_chosen = true });

	assert_has(text, "build.sh[437] in 1.309 s: ");
	assert_has(text, "Window: +0.500000000 s to +1.809000000 s of the recording.\n");
}

static void one_instance_comes_with_its_causality(void **unused)
{
	struct report_why_opts opts = { .instances = true, .instance_id = 4 };
	AUTO_FREE char *text = printed(&fake_why, &fake_facts, &opts);

	assert_has(text, "Instance 4: Blocked > wait4 > child xinit[438]\n");
	assert_has(text, "meanwhile xinit[438] worked 1.00 ms, was blocked 1.289 s\n");
	assert_lacks(text, "Instances, longest first");

	free(text);
	opts.instance_id = 77;
	text = printed(&fake_why, &fake_facts, &opts);
	assert_has(text, "No instance 77");
}

static void names_from_the_trace_cannot_drive_the_terminal(void **unused)
{
	struct report_why_opts all = { .summary = true, .instances = true, .causality = true };
	static struct why_root root = {
		1309 * MS, WHY_OTHER_THREAD, WHY_HELD_UP, { 7, 7, "\033[2J" },
		"\033[3J", "\xff\n",	     NULL,	  1,
		0
	};
	static struct why_hop hop = { { 7, 7, "\033[2J" }, "\a", "\r", "", 1, 1 };
	static struct why_line line = { 0, "\033[4J", 1, 1, 0, 1 };
	static struct why_instance instance = { BEGIN, BEGIN + 1, 1, 0, 0 };
	static struct why_wait wait = { BEGIN,
					BEGIN + 1,
					{ 7, 7, "\033[2J" },
					"\b",
					"\v",
					WHY_HELD_UP,
					WHY_WAKER_THREAD,
					{ 8, 8, "\033]0;x" },
					"\f",
					"\033k",
					"\033c",
					0,
					-1,
					1,
					1,
					1,
					1,
					.waker_in = "\033c" };
	static struct why_person people[] = {
		{ { 7, 7, "\033[2J" }, "\033[5J x", "\033", "\033.service", "", "\033[1J" },
		{ { 8, 8, "\033[2J" }, "\033[6J \a", "\033", "\r.service", "", "\n" },
	};
	struct why why = { .people = people,
			   .person_count = 2,
			   .target = { 7, 7, "\033[2J\n" },
			   .cmdline = "\033",
			   .start_ns = BEGIN,
			   .end_ns = BEGIN + 1309 * MS,
			   .roots = &root,
			   .root_count = 1,
			   .chain = &hop,
			   .chain_count = 1,
			   .lines = &line,
			   .line_count = 1,
			   .instances = &instance,
			   .instance_count = 1,
			   .waits = &wait,
			   .wait_count = 1 };
	AUTO_FREE char *text = printed(&why, &clean_facts, &all);

	for (const char *c = text; *c; c++) {
		if ((unsigned char)*c < 0x20 && *c != '\n')
			fail_msg("control character %#x in:\n%s", *c, text);
	}
}

static void an_empty_result_prints_something(void **unused)
{
	static const struct facts none = { .complete = true };
	struct report_why_opts all = { .summary = true, .instances = true, .causality = true };
	struct why why = { .target = { 0, 0, "" }, .cmdline = "" };
	AUTO_FREE char *text = printed(&why, &none, &all);

	assert_has(text, "uncertain 0 %\n");
	assert_has(text, "no waits\n");
}

static void several_results_are_a_line_each(void **unused)
{
	const struct why results[] = { fake_why, fake_why };
	AUTO_FREE char *text =
		printed_many(results, 2, &fake_facts, &(struct report_why_opts){ .lines = true });

	assert_has(text, "2 threads; explain one with --tid\n");
	assert_has(text, "build.sh[437]: 97.9 % Xorg[440]");
}

/* ----------------------------------------------------------------------- JSON */

static struct json_object *parsed(const struct why *results, size_t count)
{
	AUTO_FREE char *text = printed_many(results, count, &fake_facts,
					    &(struct report_why_opts){ .json = true });
	struct json_object *object = json_tokener_parse(text);

	if (!object)
		fail_msg("does not parse: %s", text);
	return object;
}

/* "verdict.0.who.tid" */
static struct json_object *at(struct json_object *object, const char *path)
{
	AUTO_FREE char *copy = xstrdup(path);
	char *rest = copy;

	for (char *key = strsep(&rest, "."); key; key = strsep(&rest, ".")) {
		struct json_object *next = NULL;

		if (json_object_is_type(object, json_type_array))
			next = json_object_array_get_idx(object, (size_t)atoi(key));
		else if (!json_object_object_get_ex(object, key, &next))
			fail_msg("there is no %s", path);
		object = next;
	}
	return object;
}

static uint64_t number_at(struct json_object *object, const char *path)
{
	assert_true(json_object_is_type(at(object, path), json_type_int));
	return json_object_get_uint64(at(object, path));
}

static const char *text_at(struct json_object *object, const char *path)
{
	assert_true(json_object_is_type(at(object, path), json_type_string));
	return json_object_get_string(at(object, path));
}

static void json_sums_are_exact(void **unused)
{
	struct json_object *json = parsed(&fake_why, 1);
	uint64_t window = number_at(json, "window.end_ns") - number_at(json, "window.start_ns");
	struct json_object *verdict = at(json, "verdict");
	uint64_t ns = 0;
	double share = 0;

	for (size_t i = 0; i < json_object_array_length(verdict); i++) {
		struct json_object *root = json_object_array_get_idx(verdict, i);

		ns += number_at(root, "ns");
		share += json_object_get_double(at(root, "share"));
	}
	assert_int_equal(ns, window);
	assert_true(share > 0.99999 && share < 1.00001);
	assert_int_equal(number_at(json, "wib.working_ns") + number_at(json, "wib.interrupted_ns") +
				 number_at(json, "wib.blocked_ns") +
				 number_at(json, "wib.uncertain_ns"),
			 window);
	json_object_put(json);
}

static void json_has_the_documented_keys(void **unused)
{
	struct json_object *json = parsed(&fake_why, 1);

	assert_int_equal(number_at(json, "holdup"), 2);
	assert_int_equal(number_at(json, "target.tid"), 437);
	assert_int_equal(number_at(json, "target.tgid"), 437);
	assert_string_equal(text_at(json, "target.comm"), "build.sh");
	assert_string_equal(text_at(json, "verdict.0.kind"), "timer");
	assert_string_equal(text_at(json, "verdict.0.who.comm"), "Xorg");
	assert_string_equal(text_at(json, "verdict.0.what"), "clock_nanosleep");
	assert_string_equal(text_at(json, "verdict.2.object"), "fd 3 = /etc/X11/xorg.conf");
	assert_null(at(json, "verdict.5.who"));
	assert_string_equal(text_at(json, "chain.1.who.comm"), "xinit");
	assert_int_equal(number_at(json, "lost_events"), 812);
	assert_int_equal(number_at(json, "repairs.exact"), 5);
	assert_int_equal(number_at(json, "syscalls.read"), 1234);
	assert_string_equal(text_at(json, "missing.0.what"), "file names of descriptors");
	json_object_put(json);
}

static void json_trees_nest(void **unused)
{
	struct json_object *json = parsed(&fake_why, 1);

	assert_int_equal(json_object_array_length(at(json, "summary")), 4);
	assert_string_equal(text_at(json, "summary.2.children.0.children.0.name"),
			    "child xinit[438]");
	assert_int_equal(number_at(json, "summary.2.children.0.children.0.instances.0"), 4);
	assert_int_equal(number_at(json, "instances.4.start_ns"), BEGIN + 16001000);
	assert_int_equal(json_object_array_length(at(json, "causality")), 1);
	assert_string_equal(text_at(json, "causality.0.in"), "wait4");
	assert_string_equal(text_at(json, "causality.0.woken_by.kind"), "thread");
	assert_int_equal(number_at(json, "causality.0.woken_by.tid"), 438);
	assert_string_equal(text_at(json, "causality.0.children.0.children.0.woken_by.kind"),
			    "timer");
	assert_int_equal(
		json_object_array_length(at(json, "causality.0.children.0.children.0.children")),
		0);
	json_object_put(json);
}

/* Deeper than any reader of JSON goes: it is flattened, and still valid. */
static void json_of_a_bottomless_causality_is_valid(void **unused)
{
	enum {
		DEEP = 5000
	};
	AUTO_FREE struct why_wait *waits = xcalloc(DEEP, sizeof(*waits));
	AUTO_FREE char *text = NULL;
	struct json_tokener *tokener = json_tokener_new_ex(2000);
	struct json_object *json;
	struct why why = fake_why;

	for (uint32_t i = 0; i < DEEP; i++) {
		waits[i] = fake_waits[0];
		waits[i].depth = i;
	}
	why.waits = waits;
	why.wait_count = DEEP;
	text = printed(&why, &fake_facts, &(struct report_why_opts){ .json = true });
	json = json_tokener_parse_ex(tokener, text, -1);
	assert_non_null(json);
	json_object_put(json);
	json_tokener_free(tokener);
}

static void json_of_several_results_is_an_array(void **unused)
{
	const struct why results[] = { fake_why, fake_why };
	struct json_object *json = parsed(results, 2);

	assert_int_equal(json_object_array_length(json), 2);
	assert_int_equal(number_at(json, "1.target.tid"), 437);
	json_object_put(json);
}

/* A timer whose callback the tracer does not name is no system call. */
static void a_timer_without_a_name_has_no_brackets(void **unused)
{
	struct why_hop chain[ARRAY_LEN(fake_chain)];
	struct why why = fake_why;
	AUTO_FREE char *text = NULL;

	memcpy(chain, fake_chain, sizeof(chain));
	chain[2].woken_by = "timer";
	why.chain = chain;
	text = printed(&why, &fake_facts, &(struct report_why_opts){ 0 });
	assert_has(text, "woken by timer");
	assert_lacks(text, "timer()");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_is_this),
		cmocka_unit_test(the_parts_asked_for_are_these),
		cmocka_unit_test(the_rows_add_up_to_the_line_below_them),
		cmocka_unit_test(what_is_cut_is_said),
		cmocka_unit_test(no_line_is_wider_than_the_page),
		cmocka_unit_test(a_whole_report_has_no_notes),
		cmocka_unit_test(what_is_missing_is_said_when_it_matters),
		cmocka_unit_test(sleeping_on_request_is_no_hold_up),
		cmocka_unit_test(what_was_asked_for_in_vain_is_said),
		cmocka_unit_test(a_server_without_work_is_idle),
		cmocka_unit_test(threads_of_one_name_are_one_row),
		cmocka_unit_test(a_row_of_sleeps_and_of_other_timers_says_both),
		cmocka_unit_test(a_hundred_small_rows_of_one_kind_are_one_large_row),
		cmocka_unit_test(who_was_halted_did_not_wait_in_something),
		cmocka_unit_test(a_long_queue_of_threads_is_its_first_and_last),
		cmocka_unit_test(who_a_process_is_is_told_once),
		cmocka_unit_test(a_process_is_its_threads_added_up),
		cmocka_unit_test(two_causes_never_have_the_same_words),
		cmocka_unit_test(a_chosen_window_says_where_it_lies),
		cmocka_unit_test(one_instance_comes_with_its_causality),
		cmocka_unit_test(names_from_the_trace_cannot_drive_the_terminal),
		cmocka_unit_test(an_empty_result_prints_something),
		cmocka_unit_test(several_results_are_a_line_each),
		cmocka_unit_test(json_sums_are_exact),
		cmocka_unit_test(json_has_the_documented_keys),
		cmocka_unit_test(json_trees_nest),
		cmocka_unit_test(json_of_a_bottomless_causality_is_valid),
		cmocka_unit_test(json_of_several_results_is_an_array),
		cmocka_unit_test(a_timer_without_a_name_has_no_brackets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
