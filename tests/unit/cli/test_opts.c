/* test_opts.c - command lines against the option table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/opts.h"

struct opts {
	bool json, verbose;
	uint32_t depth;
	uint64_t count, size, min_ns;
	int32_t tid;
	struct opt_pids pids;
	double seconds;
	const char *dir;
	uint32_t colour;
	struct opt_maybe instances;
	struct opt_strings probes;
};

static const struct opt_spec specs[] = {
	{ "json", NULL, "Print JSON", opt_flag, offsetof(struct opts, json), 'j' },
	{ "verbose", NULL, "Say more", opt_flag, offsetof(struct opts, verbose), 'v' },
	{ "depth", "N", "Depth", opt_u32, offsetof(struct opts, depth) },
	{ "count", "N", "Count", opt_u64, offsetof(struct opts, count) },
	{ "tid", "TID", "Thread", opt_pid, offsetof(struct opts, tid) },
	{ "pid", "PID", "Process", opt_pids, offsetof(struct opts, pids), 'p' },
	{ "buffer", "SIZE", "Buffer", opt_size, offsetof(struct opts, size), 'b' },
	{ "duration", "SECONDS", "Time", opt_seconds, offsetof(struct opts, seconds), 'd' },
	{ "min", "DURATION", "Least", opt_duration, offsetof(struct opts, min_ns) },
	{ "dir", "DIR", "Directory", opt_string, offsetof(struct opts, dir), 'o' },
	{ "colour", "auto|always|never", "Colour", opt_choice, offsetof(struct opts, colour) },
	{ "instances", "ID", "Instances", opt_maybe, offsetof(struct opts, instances) },
	{ "probe", "POINT", "Probe", opt_strings, offsetof(struct opts, probes) },
	{ 0 },
};

/* A command line, cut at blanks. */
struct line {
	char *words[32];
	int argc;
	char text[256];
	struct opts opts;
	struct err err;
	int first; /* what opts_parse() returned */
};

static void parse(struct line *line, const char *text)
{
	char *rest = line->text;

	*line = (struct line){ 0 };
	strcpy(line->text, text);
	for (char *word = strsep(&rest, " "); word && *word; word = strsep(&rest, " "))
		line->words[line->argc++] = word;
	line->first = opts_parse(specs, &line->opts, line->argc, line->words, &line->err);
}

static void assert_refused(const char *text, const char *expected)
{
	struct line line;

	parse(&line, text);
	assert_string_equal(line.err.text, expected);
	assert_true(line.first < 0);
	free(line.opts.pids.pids);
}

static void every_type_is_parsed(void **unused)
{
	struct line line;

	parse(&line, "--json --depth 3 --count=18446744073709551615 --tid 7 -p 1 -p 2,3 -b 64K "
		     "--duration 0.5 --min 300ms -o x --colour never --instances=12");
	assert_string_equal(line.err.text, "");
	assert_int_equal(line.first, line.argc);
	assert_true(line.opts.json);
	assert_false(line.opts.verbose);
	assert_int_equal(line.opts.depth, 3);
	assert_int_equal(line.opts.count, UINT64_MAX);
	assert_int_equal(line.opts.tid, 7);
	assert_int_equal(line.opts.pids.count, 3);
	assert_int_equal(line.opts.pids.pids[2], 3);
	assert_int_equal(line.opts.size, 65536);
	assert_true(line.opts.seconds > 0.499 && line.opts.seconds < 0.501);
	assert_int_equal(line.opts.min_ns, 300000000);
	assert_string_equal(line.opts.dir, "x");
	assert_int_equal(line.opts.colour, 2);
	assert_true(line.opts.instances.given);
	assert_int_equal(line.opts.instances.value, 12);
	free(line.opts.pids.pids);
}

static void short_options_may_be_joined(void **unused)
{
	struct line line;

	parse(&line, "-jvoDIR rest");
	assert_true(line.opts.json && line.opts.verbose);
	assert_string_equal(line.opts.dir, "DIR");
	assert_string_equal(line.words[line.first], "rest");
}

static void options_may_follow_operands(void **unused)
{
	struct line line;

	parse(&line, "one --depth 3 two -j three");
	assert_int_equal(line.first, 3);
	assert_string_equal(line.words[3], "one");
	assert_string_equal(line.words[4], "two");
	assert_string_equal(line.words[5], "three");
	assert_int_equal(line.opts.depth, 3);
}

static void all_after_two_dashes_is_the_command(void **unused)
{
	struct line line;
	char **command;

	parse(&line, "trace --json -- ls --verbose -- x");
	command = opts_command(line.words, line.first, &line.argc);
	assert_int_equal(line.argc - line.first, 1);
	assert_string_equal(line.words[line.first], "trace");
	assert_non_null(command);
	assert_string_equal(command[0], "ls");
	assert_string_equal(command[1], "--verbose");
	assert_string_equal(command[2], "--");
	assert_null(command[4]);
	assert_false(line.opts.verbose);
}

static void without_two_dashes_there_is_no_command(void **unused)
{
	struct line line;

	parse(&line, "trace");
	assert_null(opts_command(line.words, line.first, &line.argc));
	assert_int_equal(line.argc, 1);
}

static void an_optional_value_is_never_the_next_word(void **unused)
{
	struct line line;

	parse(&line, "--instances 12");
	assert_true(line.opts.instances.given);
	assert_int_equal(line.opts.instances.value, 0);
	assert_string_equal(line.words[line.first], "12");
}

static void a_single_dash_is_an_operand(void **unused)
{
	struct line line;

	parse(&line, "-");
	assert_int_equal(line.first, 0);
}

static void errors_name_the_option_and_the_value(void **unused)
{
	assert_refused("--buffer 12Q",
		       "option --buffer needs a size such as 512K or 4M, got \"12Q\"");
	assert_refused("-b 12Q", "option --buffer needs a size such as 512K or 4M, got \"12Q\"");
	assert_refused("--buffer", "option --buffer needs a size such as 512K or 4M");
	assert_refused("--dir -- ls", "option --dir needs DIR");
	assert_refused("--depth 4294967296",
		       "option --depth needs a number from 0 to 4294967295, got \"4294967296\"");
	assert_refused("--depth=-1",
		       "option --depth needs a number from 0 to 4294967295, got \"-1\"");
	assert_refused("--tid 0", "option --tid needs a process or thread id from 1 on, got \"0\"");
	assert_refused("-p 1,",
		       "option --pid needs process or thread ids such as 7 or 7,8, got \"1,\"");
	assert_refused("-d 0", "option --duration needs seconds such as 10 or 0.5, got \"0\"");
	assert_refused("--json=1", "option --json needs no value, got \"1\"");
	assert_refused("--colour red", "option --colour needs auto|always|never, got \"red\"");
	assert_refused("--colour=", "option --colour needs auto|always|never, got \"\"");
	assert_refused(
		"--colour=Alway",
		"option --colour needs auto|always|never, got \"Alway\"; did you mean always?");
	assert_refused("--instances=0",
		       "option --instances needs a number from 1 to 4294967295, got \"0\"");
}

static void an_unknown_option_suggests_the_nearest(void **unused)
{
	assert_refused("--jsno", "unknown option --jsno; did you mean --json?");
	assert_refused("--inst", "unknown option --inst; did you mean --instances?");
	assert_refused("--quite-another", "unknown option --quite-another");
	assert_refused("-x", "unknown option -x");
	assert_refused("--a\033[2Jb", "unknown option --a\\x1b[2Jb");
}

static void help_is_in_every_table(void **unused)
{
	struct line line;

	parse(&line, "--json --help");
	assert_int_equal(line.first, OPTS_HELP);
	parse(&line, "-jh");
	assert_int_equal(line.first, OPTS_HELP);
}

static void the_nearest_word_is_found(void **unused)
{
	const char *const words[] = { "why", "record", "doctor" };

	assert_string_equal(opts_near("recrod", words, 3), "record");
	assert_string_equal(opts_near("doctr", words, 3), "doctor");
	assert_string_equal(opts_near("wy", words, 3), "why");
	assert_string_equal(opts_near("rec", words, 3), "record");
	assert_null(opts_near("explain", words, 3));
	assert_null(opts_near("", words, 3));
}

static void the_help_is_the_table(void **unused)
{
	AUTO_FREE char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	opts_print(specs, out);
	fclose(out);
	assert_non_null(strstr(text, "  -j, --json                Print JSON\n"));
	assert_non_null(strstr(text, "      --instances[=ID]      Instances\n"));
	assert_non_null(strstr(text, "      --colour auto|always|never\n"
				     "                            Colour\n"));
	assert_non_null(strstr(text, "  -h, --help                Print this help\n"));
}

static void texts_may_be_repeated(void **state)
{
	struct line line;

	(void)state;
	parse(&line, "--probe a:f(x,y) --probe=b:g");
	assert_int_equal(line.opts.probes.count, 2);
	assert_string_equal(line.opts.probes.items[0], "a:f(x,y)");
	assert_string_equal(line.opts.probes.items[1], "b:g");
	free(line.opts.probes.items);
	parse(&line, "--probe");
	assert_string_equal(line.err.text, "option --probe needs POINT");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_may_be_repeated),
		cmocka_unit_test(every_type_is_parsed),
		cmocka_unit_test(short_options_may_be_joined),
		cmocka_unit_test(options_may_follow_operands),
		cmocka_unit_test(all_after_two_dashes_is_the_command),
		cmocka_unit_test(without_two_dashes_there_is_no_command),
		cmocka_unit_test(an_optional_value_is_never_the_next_word),
		cmocka_unit_test(a_single_dash_is_an_operand),
		cmocka_unit_test(errors_name_the_option_and_the_value),
		cmocka_unit_test(an_unknown_option_suggests_the_nearest),
		cmocka_unit_test(help_is_in_every_table),
		cmocka_unit_test(the_nearest_word_is_found),
		cmocka_unit_test(the_help_is_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
