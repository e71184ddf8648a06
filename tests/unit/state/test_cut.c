/*
 * test_cut.c - whatever is claimed of a recording whose files are cut holds in the whole one.
 *
 * Each recording of tests/data is cut after every sub-buffer of every CPU: as a file that is
 * shorter than the manifest says, and as what a killed recorder leaves, of which nobody knows
 * how long it should be. Every span in which the cut one is certain what a thread did, or who
 * had a CPU, is looked up in the whole one.
 */
#include "told.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "event/facts.h"
#include "read/read.h"
#include "store/manifest.h"

#define CPUS 2

static const char *const recordings[] = { "futex-convoy", "two-hogs", "wait-child", "fork-chain",
					  "idle-server" };

struct replay {
	struct trace *trace; /* NULL = it cannot be opened */
	struct timeline *tl;
};

static struct replay replay_of(const char *dir)
{
	struct replay replay = { 0 };
	struct err err = { 0 };
	char text[FAULT_BYTES];
	const char *wrong;

	if (read_open(dir, &replay.trace, &err) < 0)
		return replay;
	if (state_run(trace_source(replay.trace), trace_facts(replay.trace), NULL, NULL, &replay.tl,
		      &err) < 0)
		fail_msg("%s", err.text);
	wrong = timeline_fault(replay.tl, text);
	if (wrong)
		fail_msg("%s", wrong);
	return replay;
}

static void replay_fini(struct replay *replay)
{
	timeline_free(replay->tl);
	if (replay->trace)
		trace_close(replay->trace);
}

/* Unpacks a recording into a new folder; returns that of the trace. Free it. */
static char *unpacked(const char *name)
{
	char folder[] = "/tmp/holdup-cut-XXXXXX";
	AUTO_FREE char *command = NULL;

	assert_non_null(mkdtemp(folder));
	command = xasprintf("tar --no-same-owner -C %s -xzf %s/data/%s.tar.gz", folder,
			    getenv("HOLDUP_TESTS"), name);
	assert_int_equal(system(command), 0);
	return xasprintf("%s/%s.holdup", folder, name);
}

static void remove_all(const char *dir)
{
	AUTO_FREE char *command = xasprintf("rm -r %s/..", dir);
	AUTO_FREE char *folder = xasprintf("%.*s", (int)(strrchr(dir, '/') - dir), dir);

	free(command);
	command = xasprintf("rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

/* As a recorder leaves it that was killed before it could count. */
static void forget_the_end(const char *dir)
{
	struct manifest manifest;
	struct err err = { 0 };

	assert_int_equal(manifest_read(dir, &manifest, &err), 0);
	manifest.complete = false;
	manifest.end_ns = manifest.target_end_ns = 0;
	manifest.target_status = -1;
	manifest.cpu_count = 0;
	assert_int_equal(manifest_write(&manifest, dir, &err), 0);
	manifest_fini(&manifest);
}

/* ------------------------------------------------------------------ comparing */

struct cut {
	const char *name;
	uint32_t cpu;
	uint64_t bytes;
	const struct timeline *whole;
	const struct timeline *part;
	uint64_t certain_ns;
	uint64_t all_ns;
};

static bool has_lived(const struct tl_thread *thread, const struct tl_interval *in)
{
	return thread->birth_ns < in->end_ns && thread->death_ns > in->start_ns;
}

/* What the whole recording says of that tid in the span, where it says anything else. */
static void check_claim(const struct cut *cut, int32_t tid, const struct tl_interval *claim)
{
	for (uint32_t slot = 0; slot < cut->whole->thread_count; slot++) {
		const struct tl_thread *thread = cut->whole->threads[slot];
		struct tl_iter iter;
		struct tl_interval in;

		if (thread->tid != tid || !has_lived(thread, claim))
			continue;
		tl_iter_begin(&iter, cut->whole, &thread->track, claim->start_ns, claim->end_ns);
		while (tl_iter_next(&iter, &in)) {
			if (word_wib(in.word) == WIB_NONE || word_wib(in.word) == WIB_UNCERTAIN)
				continue; /* another one had the tid then */
			if (word_wib(in.word) != word_wib(claim->word))
				fail_msg(
					"%s, cpu%u cut at %llu: thread %d at %llu-%llu is %d, not %d",
					cut->name, cut->cpu, (unsigned long long)cut->bytes, tid,
					(unsigned long long)in.start_ns,
					(unsigned long long)in.end_ns, (int)word_kind(in.word),
					(int)word_kind(claim->word));
		}
	}
}

static void check_thread(struct cut *cut, uint32_t slot)
{
	const struct tl_thread *thread = cut->part->threads[slot];
	struct tl_iter iter;
	struct tl_interval in;

	tl_iter_begin(&iter, cut->part, &thread->track, cut->part->origin_ns, cut->part->end_ns);
	while (thread->tid != 0 && tl_iter_next(&iter, &in)) {
		if (word_wib(in.word) == WIB_NONE)
			continue; /* another thread may have the tid */
		cut->all_ns += in.end_ns - in.start_ns;
		if (word_wib(in.word) == WIB_UNCERTAIN)
			continue;
		cut->certain_ns += in.end_ns - in.start_ns;
		check_claim(cut, thread->tid, &in);
	}
}

static int32_t tid_of(const struct timeline *tl, uint32_t slot)
{
	return slot == SLOT_NONE ? -1 : tl->threads[slot]->tid;
}

static void check_cpu(const struct cut *cut, uint32_t cpu)
{
	struct tl_iter iter, whole_iter;
	struct tl_interval in, whole;

	tl_iter_begin(&iter, cut->part, cut->part->cpus[cpu], cut->part->origin_ns,
		      cut->part->end_ns);
	while (tl_iter_next(&iter, &in)) {
		int32_t tid = tid_of(cut->part, in.word);

		tl_iter_begin(&whole_iter, cut->whole, cut->whole->cpus[cpu], in.start_ns,
			      in.end_ns);
		while (tid >= 0 && tl_iter_next(&whole_iter, &whole)) {
			if (tid_of(cut->whole, whole.word) != tid && whole.word != SLOT_NONE)
				fail_msg(
					"%s, cpu%u cut at %llu: CPU %u at %llu-%llu has %d, not %d",
					cut->name, cut->cpu, (unsigned long long)cut->bytes, cpu,
					(unsigned long long)whole.start_ns,
					(unsigned long long)whole.end_ns,
					tid_of(cut->whole, whole.word), tid);
		}
	}
}

/* Both must claim the same: a death or a birth is claimed by WIB_NONE on both sides of it. */
static void check_life(const struct cut *cut, uint32_t slot)
{
	const struct tl_thread *part = cut->part->threads[slot];
	uint32_t whole = timeline_find_thread(cut->whole, part->tid, part->birth_ns);

	if (!part->died || part->tid == 0 || whole == SLOT_NONE)
		return;
	if (cut->whole->threads[whole]->death_ns > part->death_ns)
		fail_msg("%s, cpu%u cut at %llu: thread %d did not die at %llu", cut->name,
			 cut->cpu, (unsigned long long)cut->bytes, part->tid,
			 (unsigned long long)part->death_ns);
}

static void compare(struct cut *cut)
{
	for (uint32_t slot = 0; slot < cut->part->thread_count; slot++) {
		check_thread(cut, slot);
		check_life(cut, slot);
	}
	for (uint32_t cpu = 0; cpu < cut->part->cpu_count; cpu++)
		check_cpu(cut, cpu);
}

/* -------------------------------------------------------------------- cutting */

/* Cut the file of a CPU shorter and shorter. Returns the share that stays certain, in 1000. */
static uint64_t cut_and_compare(const char *name, const struct timeline *whole, uint32_t cpu,
				bool killed)
{
	AUTO_FREE char *dir = unpacked(name);
	AUTO_FREE char *file = xasprintf("%s/kernel/cpu%u.ring", dir, cpu);
	struct cut cut = { .name = name, .cpu = cpu, .whole = whole };
	uint32_t page_bytes = 4096;
	struct stat st;

	assert_int_equal(stat(file, &st), 0);
	if (killed)
		forget_the_end(dir);
	for (cut.bytes = (uint64_t)st.st_size; cut.bytes >= page_bytes; cut.bytes -= page_bytes) {
		/* In the middle of a page as well: that page is lost. */
		uint64_t torn = cut.bytes / page_bytes % 3 == 0 ? page_bytes / 3 : 0;
		struct replay replay;

		assert_int_equal(truncate(file, (off_t)(cut.bytes - torn)), 0);
		replay = replay_of(dir);
		assert_non_null(replay.trace);
		cut.part = replay.tl;
		compare(&cut);
		replay_fini(&replay);
	}
	remove_all(dir);
	return cut.all_ns ? cut.certain_ns * 1000 / cut.all_ns : 1000;
}

static void cut_all(bool killed)
{
	for (size_t i = 0; i < ARRAY_LEN(recordings); i++) {
		AUTO_FREE char *dir = unpacked(recordings[i]);
		struct replay whole = replay_of(dir);

		assert_non_null(whole.trace);
		for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
			uint64_t certain = cut_and_compare(recordings[i], whole.tl, cpu, killed);

			print_message("# %s, cpu%u: %llu.%llu %% stays certain\n", recordings[i],
				      cpu, (unsigned long long)certain / 10,
				      (unsigned long long)certain % 10);
		}
		replay_fini(&whole);
		remove_all(dir);
	}
}

static void a_file_that_is_shorter_than_told_claims_nothing_false(void **unused)
{
	cut_all(false);
}

static void the_files_of_a_killed_recorder_claim_nothing_false(void **unused)
{
	cut_all(true);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_is_shorter_than_told_claims_nothing_false),
		cmocka_unit_test(the_files_of_a_killed_recorder_claim_nothing_false),
	};

	return getenv("HOLDUP_TESTS") ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
