#!/bin/bash
# words.sh - tools/check-words finds what users should not have to read.
# usage: words.sh ROOT        prints TAP
root=${1:?root}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
count=0 bad=0

result() {
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		sed 's/^/# /' "$work/log"
		bad=1
	fi
}

mkdir -p "$work/src/cli" "$work/docs/man"

# says TEXT NAME: a check of the tree ends with 1 and says TEXT; "" = it is content
says() {
	"$root/tools/check-words" "$work" >"$work/log"
	local rc=$?
	if [ -z "$1" ]; then
		[ $rc = 0 ]
	else
		[ $rc = 1 ] && grep -qF -- "$1" "$work/log"
	fi
	result $? "$2"
}

# option HELP: the help of an option, in C
option() {
	printf '%s\n' 'static const struct opt_spec options[] = {' '	{ "top", "N",' \
		"	  $1, opt_u32, 0 }," '};' >"$work/src/cli/cmd_a.c"
}

page() {
	printf '%s\n' '.Sh DESCRIPTION' "$@" >"$work/docs/man/holdup-a.1"
}

page 'It prints rows.'
option '"Print N rows (default 10)"'
says '' 'plain words are fine'
option '"Rows of the table"'
says '--top does not begin with a verb' 'the help of an option is an imperative'
option '"Print N rows; by " "default 10"'
says 'not "(default X)"' 'a default has one form, over two literals, too'
option '"Print one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"'
says '--top has more than 20 words' 'the help of an option is short'
option '"Print rows."'
says '--top ends in a full stop' 'the help of an option is no sentence'
printf '%s\n' '#define ROWS(outer) \' '	{ "top", "N",      \' '	  "Rows", opt_u32, offsetof(outer, top) }' >"$work/src/cli/cmd_a.c"
says '--top does not begin with a verb' 'so are those in a macro'
printf '%s\n' 'const struct command cmd_a = {' '	.summary = "Say so " "much of this",' '};' >"$work/src/cli/cmd_a.c"
says 'cmd_a.c:2: Say so much of this' 'a vague phrase in two literals is found, with its line'
says 'the summary does not begin with a verb' 'the summary of a command is an imperative'
printf '%s\n' '/* "so much" of it */' 'int a; // so much of it' >"$work/src/cli/cmd_a.c"
says '' 'comments are not looked at'
page 'It prints so' 'many rows.'
says 'holdup-a.1: ' 'a vague phrase over two lines of a page is found'
echo "1..$count"
exit $bad
