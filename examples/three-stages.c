/* three-stages.c - a pipeline of three processes: the busiest function is not the one that holds it up. */
#include "truth.h"

#define CHUNKS	   20
#define FETCH_MS   4
#define PARSE_MS   12
#define PARSE_FAST 6
#define INDEX_MS   1000 /* in all: more than parse() has */
#define INDEX_FAST 500
#define STEPS	   20000

enum {
	FAST_PARSE,
	FAST_INDEX
};

static const struct example example = {
	.name = "three-stages",
	.shows =
		"One process fetches 20 chunks, which takes 4 ms each, parses each for 12 ms, and writes it\n"
		"to a pipe. The second one passes them on, the last one waits for them. Beside that, a\n"
		"process computes an index that nobody waits for: index_all() has most of the CPU time, and\n"
		"parse_chunk() is what holds up the last one. Try both switches.",
	.variants =
		(const struct variant[]){
			[FAST_PARSE] = { "--fast-parse", "a chunk is parsed in half the time" },
			[FAST_INDEX] = { "--fast-index", "the index takes half the time" },
			{ NULL, NULL },
		},
};

/* Each its own loop, so that each has its own samples. */
__attribute__((noinline)) static void parse_chunk(uint64_t ns)
{
	static volatile uint64_t parsed;

	for (uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	     clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns;)
		for (unsigned int i = 0; i < STEPS; i++)
			parsed = parsed * 31 + i;
}

__attribute__((noinline)) static void index_all(uint64_t ns)
{
	static volatile uint64_t indexed;

	for (uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	     clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns;)
		for (unsigned int i = 0; i < STEPS; i++)
			indexed ^= indexed * 17 + i;
}

static void parse(const struct run *run, int out, struct root *root)
{
	uint64_t ns = run_ms(run, run_has(run, FAST_PARSE) ? PARSE_FAST : PARSE_MS);
	uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	for (int i = 0; i < CHUNKS; i++) {
		nap(run_ms(run, FETCH_MS));
		parse_chunk(ns);
		if (write(out, "x", 1) != 1)
			fail("write");
	}
	root_set(root, clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns);
}

static void pass_on(int in, int out)
{
	char chunk;

	while (read(in, &chunk, 1) == 1) {
		if (write(out, &chunk, 1) != 1)
			fail("write");
	}
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct root *root = share(sizeof(*root));
	int first[2], second[2];
	uint64_t start_ns, end_ns;
	pid_t indexer, parser, passer;
	char chunk;

	if (pipe2(first, O_CLOEXEC) < 0 || pipe2(second, O_CLOEXEC) < 0)
		fail("pipe2");
	indexer = fork_named("indexer");
	if (indexer == 0) {
		index_all(run_ms(&run, run_has(&run, FAST_INDEX) ? INDEX_FAST : INDEX_MS));
		_exit(0);
	}
	start_ns = now_ns();
	parser = fork_named("parser");
	if (parser == 0) {
		parse(&run, first[1], root);
		_exit(0);
	}
	passer = fork_named("passer");
	if (passer == 0) {
		close(first[1]);
		pass_on(first[0], second[1]);
		_exit(0);
	}
	for (int i = 0; i < CHUNKS; i++) {
		if (read(second[0], &chunk, 1) != 1)
			fail("read");
	}
	end_ns = now_ns();
	(void)kill(indexer, SIGTERM);
	wait_for(parser);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = "other_thread",
				     .root = *root,
				     .what = "the process that parses",
			     });
}
