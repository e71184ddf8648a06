/* completion.c - one table of kinds, one printer per shell. */
#include "cli/completion.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/opts.h"
#include "export/export.h"
#include "record/events.h"

/* ------------------------------------------------------------------ kinds of values */

enum kind {
	KIND_FREE, /* numbers and texts: nothing to complete */
	KIND_FILE,
	KIND_FOLDER,
	KIND_MODEL,
	KIND_PROGRAM,
	KIND_PROCESS,
	KIND_USER,
	KIND_SIGNAL,
	KIND_EVENTS, /* a list with commas */
	KIND_FORMAT, /* from here on, words that are printed */
	KIND_WORDS,  /* "a|b|c" */
};

/* By what the help calls a value or an operand. */
static const struct arg_row {
	const char *arg;
	enum kind kind;
} args[] = {
	{ "FILE", KIND_FILE },
	{ "OUT", KIND_FILE },
	{ "TRACE", KIND_FILE }, /* a folder or a file */
	{ "BIN:FUNC[(ARGS)]", KIND_FILE },
	{ "[BIN:]PROVIDER:NAME", KIND_FILE },
	{ "DIR", KIND_FOLDER },
	{ "PATH", KIND_FOLDER }, /* of a cgroup */
	{ "PORT", KIND_FREE },
	{ "MODEL", KIND_MODEL },
	{ "COMMAND", KIND_PROGRAM },
	{ "PID", KIND_PROCESS },
	{ "TID", KIND_PROCESS },
	{ "TRIGGER", KIND_FREE },
	{ "CONDITION", KIND_FREE },
	{ "USER", KIND_USER },
	{ "SIGNAL", KIND_SIGNAL },
	{ "SET", KIND_EVENTS },
	{ "EVENTS", KIND_FREE }, /* of programs, which nobody knows */
	{ "FORMAT", KIND_FORMAT },
	{ "DURATION", KIND_FREE },
	{ "EXPR", KIND_FREE },
	{ "ID", KIND_FREE },
	{ "KEY", KIND_FREE },
	{ "LIST", KIND_FREE },
	{ "N", KIND_FREE },
	{ "NAME", KIND_FREE },
	{ "PERCENT", KIND_FREE },
	{ "SECONDS", KIND_FREE },
	{ "SIZE", KIND_FREE },
	{ "TEXT", KIND_FREE },
	{ "TIME", KIND_FREE },
	{ "WHEN", KIND_FREE },
	{ "[ADDRESS:]PORT", KIND_FREE },
	{ "RATE|all[:RATE]|off", KIND_FREE },
};

/* How each shell completes it, up to KIND_FORMAT. */
static const struct kind_row {
	const char *bash; /* sets COMPREPLY */
	const char *zsh;  /* an action of _arguments */
	const char *fish; /* arguments of complete */
} kinds[] = {
	[KIND_FREE] = { ":", " ", "-x" },
	[KIND_FILE] = { "_holdup_files -f", "_files", "-r -F" },
	[KIND_FOLDER] = { "_holdup_files -d", "_files -/",
			  "-x -a '(__fish_complete_directories)'" },
	[KIND_MODEL] = { "_holdup_files -f -X '!*.y*ml'", "_files -g \"*.(yaml|yml)\"",
			 "-x -a '(__fish_complete_suffix .yaml .yml)'" },
	[KIND_PROGRAM] = { "_holdup_add -c", "_command_names -e",
			   "-x -a '(__fish_complete_command)'" },
	[KIND_PROCESS] = { "_holdup_add -W \"$(cd /proc && echo [0-9]*)\"", "_pids",
			   "-x -a '(__fish_complete_pids)'" },
	[KIND_USER] = { "_holdup_add -u", "_users", "-x -a '(__fish_complete_users)'" },
	[KIND_SIGNAL] = { "_holdup_add -A signal", "_signals",
			  "-x -a '(kill -l | string split \" \")'" },
	[KIND_EVENTS] = { "_holdup_list \"$_holdup_events\"", "_sequence compadd - $_holdup_events",
			  "-x -a '(__holdup_list)'" },
};

static const struct arg_row *find_arg(const char *arg)
{
	for (size_t i = 0; i < ARRAY_LEN(args); i++) {
		if (strcmp(args[i].arg, arg) == 0)
			return &args[i];
	}
	return NULL;
}

static enum kind arg_kind(const char *arg)
{
	const struct arg_row *row = find_arg(arg);

	if (row)
		return row->kind;
	return strchr(arg, '|') ? KIND_WORDS : KIND_FREE;
}

static bool arg_is_known(const char *arg)
{
	return find_arg(arg) || (strchr(arg, '|') && !strpbrk(arg, "[]:<> "));
}

static bool has_value(const struct opt_spec *spec)
{
	return spec->arg && spec->type != opt_flag;
}

/* A value that is joined to its option, "--instances=ID", never stands in the next word. */
static bool takes_next(const struct opt_spec *spec)
{
	return has_value(spec) && spec->type != opt_maybe;
}

/* ------------------------------------------------------------------ lists of words */

static void print_commands(const struct completion *completion, FILE *out)
{
	for (size_t i = 0; i < completion->count; i++)
		fprintf(out, "%s ", completion->commands[i]->name);
	fputs("help", out);
}

static void completion_print_events(FILE *out)
{
	const char *name;

	fputs("core full lean", out);
	for (size_t i = 0; (name = events_table_name(i)) != NULL; i++) {
		if (!strpbrk(name, "*?"))
			fprintf(out, " %s", name);
	}
}

/* The words that a value may be, with blanks between them. */
static void print_words(enum kind kind, const char *arg, FILE *out)
{
	if (kind == KIND_FORMAT) {
		for (size_t i = 0; i < export_format_count; i++)
			fprintf(out, "%s%s", i ? " " : "", export_formats[i].name);
		return;
	}
	for (; *arg; arg++)
		fputc(*arg == '|' ? ' ' : *arg, out);
}

/* A sentence in a shell's single quotes, with a backslash before each of 'special'. */
static void print_sentence(const char *text, const char *special, FILE *out)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", out);
		else if (strchr(special, *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

/* The next operand of a usage line: a word in capitals, or a small one that is typed as it is. */
static const char *next_operand(const char **rest, size_t *out_len)
{
	static const char *const no_operands[] = { "OPTIONS", "ARGS" };
	const char *at = *rest;

	while (*at) {
		size_t len = strcspn(at, "[] .|");
		bool skip = len == 0 || at[0] == '-';

		if (len == 2 && strncmp(at, "--", 2) == 0)
			break; /* then comes a command line */
		if (len > 2 && strncmp(at, "--", 2) == 0)
			len += strcspn(at + len + 1, "[] .|") + 1; /* a required option */
		for (size_t i = 0; i < ARRAY_LEN(no_operands); i++)
			skip |= len == strlen(no_operands[i]) &&
				strncmp(at, no_operands[i], len) == 0;
		*rest = at + len + (at[len] != '\0');
		if (!skip) {
			*out_len = len;
			return at;
		}
		at = *rest;
	}
	return NULL;
}

/* What may stand as an operand of a command: each kind once, and the words that are typed. */
struct operands {
	bool kinds[KIND_WORDS + 1];
	char *words; /* owned; with blanks between them */
};

static void operands_of(const struct command *command, struct operands *out_operands)
{
	const char *rest = command->args, *at;
	size_t len;

	*out_operands = (struct operands){ .words = xstrdup("") };
	while ((at = next_operand(&rest, &len)) != NULL) {
		AUTO_FREE char *word = xstrndup(at, len);
		char *longer;

		if (isupper((unsigned char)word[0])) {
			out_operands->kinds[arg_kind(word)] = true;
			continue;
		}
		longer = xasprintf("%s%s%s", out_operands->words, out_operands->words[0] ? " " : "",
				   word);
		free(out_operands->words);
		out_operands->words = longer;
	}
}

/* ------------------------------------------------------------------ bash */

static const char bash_begin[] =
	"# bash completion for holdup; made by: holdup completion bash\n"
	"_holdup_add() { COMPREPLY+=($(compgen \"$@\" -- \"$cur\")); }\n"
	"_holdup_files() {\n"
	"\tlocal IFS=$'\\n'\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\tCOMPREPLY+=($(compgen \"$@\" -- \"$cur\"))\n"
	"\t[ \"$1\" = -d ] || COMPREPLY+=($(compgen -d -- \"$cur\"))\n"
	"}\n"
	"# The last of several words with commas between them.\n"
	"_holdup_list() {\n"
	"\tlocal before=\n"
	"\tcase $cur in *,*) before=${cur%,*}, ;; esac\n"
	"\tCOMPREPLY+=($(compgen -P \"$before\" -W \"$1\" -- \"${cur##*,}\"))\n"
	"}\n";

static const char bash_middle[] =
	"_holdup() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} i first=1\n"
	"\t[ \"$COMP_CWORD\" = 1 ] || [ \"${COMP_WORDS[1]}\" != --no-pager ] || first=2\n"
	"\tlocal command=${COMP_WORDS[first]}\n"
	"\tCOMPREPLY=()\n"
	"\tif [ \"$COMP_CWORD\" = \"$first\" ]; then\n"
	"\t\t_holdup_add -W \"$_holdup_commands --help --version --no-pager\"\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tfor ((i = first + 1; i < COMP_CWORD; i++)); do\n"
	"\t\t[ \"${COMP_WORDS[i]}\" = -- ] || continue\n"
	"\t\tif declare -F _command_offset >/dev/null; then _command_offset $((i + 1))\n"
	"\t\telif [ $((i + 1)) = \"$COMP_CWORD\" ]; then _holdup_add -c\n"
	"\t\telse _holdup_files -f; fi\n"
	"\t\treturn\n"
	"\tdone\n"
	"\t# The shell makes three words of --name=value.\n"
	"\t[ \"$cur\" != = ] || cur=\n"
	"\t[ \"$prev\" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}\n"
	"\tcase $command:$prev in\n";

static void bash_action(enum kind kind, const char *arg, FILE *out)
{
	if (kind < KIND_FORMAT) {
		fputs(kinds[kind].bash, out);
		return;
	}
	fputs("_holdup_add -W '", out);
	print_words(kind, arg, out);
	fputc('\'', out);
}

static void bash_values(const struct command *command, FILE *out)
{
	for (const struct opt_spec *spec = command->options; spec->name; spec++) {
		if (!takes_next(spec))
			continue;
		fprintf(out, "\t%s:--%s", command->name, spec->name);
		if (spec->letter)
			fprintf(out, "|%s:-%c", command->name, spec->letter);
		fputs(") ", out);
		bash_action(arg_kind(spec->arg), spec->arg, out);
		fputs("; return ;;\n", out);
	}
}

static void bash_command(const struct command *command, FILE *out)
{
	struct operands operands;

	operands_of(command, &operands);
	fprintf(out, "\t%s)\n\t\tcase $cur in -*) _holdup_add -W '", command->name);
	for (const struct opt_spec *spec = command->options; spec->name; spec++)
		fprintf(out, "--%s%s ", spec->name, spec->type == opt_maybe ? "=" : "");
	fputs("--help --'; return ;; esac\n", out);
	if (operands.words[0])
		fprintf(out, "\t\t_holdup_add -W '%s'\n", operands.words);
	for (int kind = 0; kind < KIND_FORMAT; kind++) {
		if (operands.kinds[kind] && kind != KIND_FREE)
			fprintf(out, "\t\t%s\n", kinds[kind].bash);
	}
	fputs("\t\t;;\n", out);
	free(operands.words);
}

static void print_bash(const struct completion *completion, FILE *out)
{
	fputs(bash_begin, out);
	fputs("_holdup_commands='", out);
	print_commands(completion, out);
	fputs("'\n_holdup_events='", out);
	completion_print_events(out);
	fputs("'\n", out);
	fputs(bash_middle, out);
	for (size_t i = 0; i < completion->count; i++)
		bash_values(completion->commands[i], out);
	fputs("\tesac\n\tcase $command in\n\thelp) _holdup_add -W \"$_holdup_commands\" ;;\n", out);
	for (size_t i = 0; i < completion->count; i++)
		bash_command(completion->commands[i], out);
	fputs("\tesac\n}\ncomplete -F _holdup holdup\n", out);
}

/* ------------------------------------------------------------------ zsh */

static const char zsh_end[] =
	"_holdup() {\n"
	"\tif (( CURRENT > 2 )) && [[ ${words[2]} = --no-pager ]]; then\n"
	"\t\twords[2]=()\n"
	"\t\t(( CURRENT-- ))\n"
	"\tfi\n"
	"\tlocal dashes=${words[(i)--]}\n"
	"\tif (( dashes < CURRENT )); then\n"
	"\t\tshift $dashes words\n"
	"\t\t(( CURRENT -= dashes ))\n"
	"\t\t_normal\n"
	"\telif (( CURRENT == 2 )); then\n"
	"\t\t_describe -t commands 'command' _holdup_commands\n"
	"\t\tcompadd -- --help --version --no-pager\n"
	"\telse\n"
	"\t\tlocal command=${words[2]}\n"
	"\t\tshift words\n"
	"\t\t(( CURRENT-- ))\n"
	"\t\t(( ! $+functions[_holdup_$command] )) || _holdup_$command\n"
	"\tfi\n"
	"}\n"
	"if [[ \"$funcstack[1]\" = _holdup ]]; then _holdup \"$@\"; else compdef _holdup holdup; "
	"fi\n";

static void zsh_action(enum kind kind, const char *arg, FILE *out)
{
	if (kind < KIND_FORMAT) {
		fputs(kinds[kind].zsh, out);
		return;
	}
	fputc('(', out);
	print_words(kind, arg, out);
	fputc(')', out);
}

static void zsh_option(const struct opt_spec *spec, FILE *out)
{
	fputs(" \\\n\t\t", out);
	if (spec->letter)
		fprintf(out, "'*'{-%c%s,--%s%s}'[", spec->letter, has_value(spec) ? "+" : "",
			spec->name, has_value(spec) ? "=" : "");
	else
		fprintf(out, "'*--%s%s[", spec->name,
			!has_value(spec)	  ? ""
			: spec->type == opt_maybe ? "=-"
						  : "=");
	print_sentence(spec->help, "[]\\:", out);
	fputc(']', out);
	if (has_value(spec)) {
		fputs(spec->type == opt_maybe ? "::" : ":", out);
		print_sentence(arg_kind(spec->arg) == KIND_WORDS ? "word" : spec->arg,
			       "[]\\:", out);
		fputc(':', out);
		zsh_action(arg_kind(spec->arg), spec->arg, out);
	}
	fputc('\'', out);
}

static void zsh_command(const struct command *command, FILE *out)
{
	struct operands operands;
	bool any = false;

	operands_of(command, &operands);
	fprintf(out, "_holdup_%s() {\n", command->name);
	for (int kind = 0; kind < KIND_FORMAT; kind++)
		any |= operands.kinds[kind] && kind != KIND_FREE;
	fputs("\t_arguments -s", out);
	for (const struct opt_spec *spec = command->options; spec->name; spec++)
		zsh_option(spec, out);
	fputs(" \\\n\t\t'(-h --help)'{-h,--help}'[Print this help]'", out);
	if (any || operands.words[0])
		fputs(" \\\n\t\t'*:operand:_holdup_operands'", out);
	fputs("\n}\n", out);
	fprintf(out, "_holdup_operands_%s() {\n\t:\n", command->name);
	if (operands.words[0])
		fprintf(out, "\tcompadd -- %s\n", operands.words);
	for (int kind = 0; kind < KIND_FORMAT; kind++) {
		if (operands.kinds[kind] && kind != KIND_FREE)
			fprintf(out, "\t%s\n", kinds[kind].zsh);
	}
	fputs("}\n", out);
	free(operands.words);
}

static void print_zsh(const struct completion *completion, FILE *out)
{
	fputs("#compdef holdup\n# zsh completion for holdup; made by: holdup completion zsh\n"
	      "typeset -ga _holdup_commands _holdup_events\n_holdup_commands=(\n",
	      out);
	for (size_t i = 0; i < completion->count; i++) {
		fprintf(out, "\t'%s:", completion->commands[i]->name);
		print_sentence(completion->commands[i]->summary, "\\", out);
		fputs("'\n", out);
	}
	fputs("\t'help:Show the options of a command'\n)\n_holdup_events=(", out);
	completion_print_events(out);
	fputs(")\n_holdup_help() { compadd -- ${_holdup_commands%%:*} }\n"
	      "_holdup_operands() { _holdup_operands_${words[1]} }\n",
	      out);
	for (size_t i = 0; i < completion->count; i++)
		zsh_command(completion->commands[i], out);
	fputs(zsh_end, out);
}

/* ------------------------------------------------------------------ fish */

static const char fish_begin[] =
	"# fish completion for holdup; made by: holdup completion fish\n"
	"function __holdup_dashes\n"
	"\tcontains -- -- (commandline -opc)\n"
	"end\n"
	"function __holdup_in\n"
	"\tset -l words (commandline -opc | string match -v -- --no-pager)\n"
	"\ttest (count $words) -ge 2; and test \"$words[2]\" = $argv[1]; and not __holdup_dashes\n"
	"end\n"
	"function __holdup_first\n"
	"\ttest (count (commandline -opc | string match -v -- --no-pager)) -eq 1\n"
	"end\n"
	"function __holdup_list\n"
	"\tset -l before (commandline -ct | string match -r '.*,'; or echo)\n"
	"\tfor word in $__holdup_events; echo $before$word; end\n"
	"end\n"
	"complete -c holdup -f\n"
	"complete -c holdup -n __holdup_dashes -x -a '(__fish_complete_subcommand "
	"--fcs-skip=(contains -i -- -- "
	"(commandline -opc)))'\n"
	"complete -c holdup -n __holdup_first -l help -s h -d 'Print the commands'\n"
	"complete -c holdup -n __holdup_first -l version -s V -d 'Print the version'\n"
	"complete -c holdup -n __holdup_first -l no-pager -d 'Print without a pager'\n";

static void fish_action(enum kind kind, const char *arg, FILE *out)
{
	if (kind < KIND_FORMAT) {
		fputs(kinds[kind].fish, out);
	} else {
		fputs("-x -a '", out);
		print_words(kind, arg, out);
		fputc('\'', out);
	}
}

static void fish_command(const struct command *command, FILE *out)
{
	struct operands operands;

	fprintf(out, "complete -c holdup -n __holdup_first -a %s -d '", command->name);
	print_sentence(command->summary, "\\", out);
	fputs("'\n", out);
	for (const struct opt_spec *spec = command->options; spec->name; spec++) {
		fprintf(out, "complete -c holdup -n '__holdup_in %s' -l %s", command->name,
			spec->name);
		if (spec->letter)
			fprintf(out, " -s %c", spec->letter);
		fputs(" -d '", out);
		print_sentence(spec->help, "\\", out);
		fputs("' ", out);
		if (takes_next(spec))
			fish_action(arg_kind(spec->arg), spec->arg, out);
		fputc('\n', out);
	}
	operands_of(command, &operands);
	if (operands.words[0])
		fprintf(out, "complete -c holdup -n '__holdup_in %s' -a '%s'\n", command->name,
			operands.words);
	for (int kind = 0; kind < KIND_FORMAT; kind++) {
		if (!operands.kinds[kind] || kind == KIND_FREE)
			continue;
		fprintf(out, "complete -c holdup -n '__holdup_in %s' ", command->name);
		fish_action((enum kind)kind, "", out);
		fputc('\n', out);
	}
	free(operands.words);
}

static void print_fish(const struct completion *completion, FILE *out)
{
	fputs(fish_begin, out);
	fputs("set -g __holdup_events ", out);
	completion_print_events(out);
	fputs("\ncomplete -c holdup -n __holdup_first -a help -d 'Show the options of a command'\n"
	      "complete -c holdup -n '__holdup_in help' -x -a '",
	      out);
	print_commands(completion, out);
	fputs("'\n", out);
	for (size_t i = 0; i < completion->count; i++)
		fish_command(completion->commands[i], out);
}

/* ------------------------------------------------------------------ public */

static const struct shell_row {
	const char *name;
	void (*print)(const struct completion *completion, FILE *out);
} shells[] = {
	{ "bash", print_bash },
	{ "zsh", print_zsh },
	{ "fish", print_fish },
};

/* An option of a new kind says what it completes to, or nothing is printed. */
static int completion_check_options(const struct command *command, struct err *err)
{
	for (const struct opt_spec *spec = command->options; spec->name; spec++) {
		if (has_value(spec) && !arg_is_known(spec->arg))
			return err_set(err, -ENOENT, "no completion for %s of holdup %s --%s",
				       spec->arg, command->name, spec->name);
	}
	return 0;
}

int completion_print(const struct completion *completion, const char *shell, FILE *out,
		     struct err *err)
{
	for (size_t i = 0; i < completion->count; i++) {
		int rc = completion_check_options(completion->commands[i], err);

		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; shell && i < ARRAY_LEN(shells); i++) {
		if (strcmp(shells[i].name, shell) == 0) {
			shells[i].print(completion, out);
			return 0;
		}
	}
	return err_set(err, -EINVAL, "completion needs a shell: bash, zsh or fish");
}
