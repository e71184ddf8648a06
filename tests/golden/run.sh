#!/bin/bash
# Run every golden case, or the named ones. A case is a folder with its input and
#   cmd      one command line per line, without the name of the tool; # starts a comment
#   expect   each line echoed, all it printed, "-- exit N"; compared byte for byte
# The commands run in the case's folder; traces that several cases use are in ../../data.
# UPDATE=1 rewrites expect: read the difference before you commit it.
# usage: run.sh TOOL [CASE...]
tool=$(realpath "${1:?usage: run.sh TOOL [CASE...]}") bad=0 count=0
shift
cd "$(dirname "$0")" || exit 2
export LC_ALL=C TZ=UTC TERM=dumb COLUMNS=100
unset HOLDUP_TRACE NO_COLOR

run_case() {
	while read -r line || [ -n "$line" ]; do
		case $line in '' | '#'*) continue ;; esac
		echo "\$ holdup $line"
		eval "'$tool' $line" 2>&1 </dev/null
		echo "-- exit $?"
	done <cmd
}

[ $# -gt 0 ] || set -- */
for case; do
	case=${case%/}
	[ -f "$case/cmd" ] || continue
	count=$((count + 1))
	got=$(cd "$case" && run_case)
	if [ "${UPDATE:-0}" = 1 ]; then
		printf '%s\n' "$got" >"$case/expect"
	fi
	if difference=$(printf '%s\n' "$got" |
		diff -u --label expected --label got "$case/expect" - 2>&1); then
		echo "ok $count - $case"
	else
		echo "not ok $count - $case"
		printf '%s\n' "$difference" | sed 's/^/# /'
		bad=1
	fi
done
echo "1..$count"
exit $bad
