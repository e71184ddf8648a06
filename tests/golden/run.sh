#!/bin/bash
# Run every golden case, or the named ones. A case is a folder with
#   cmd      one command line per line, without the name of the tool; # starts a comment
#   expect   each line echoed, all it printed, "-- exit N"; compared byte for byte
#   prepare  optional: a shell script that is run first
# and other input. The commands run in a copy of the folder where the traces of tests/data lie
# unpacked. UPDATE=1 rewrites expect: read the difference before you commit it.
# usage: run.sh TOOL [CASE...]
tool=$(realpath "${1:?usage: run.sh TOOL [CASE...]}") bad=0 count=0
shift
cd "$(dirname "$0")" || exit 2
export LC_ALL=C TZ=UTC TERM=dumb COLUMNS=100
unset NO_COLOR
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
mkdir "$work/data"
for archive in ../data/*.tar.gz; do
	[ ! -e "$archive" ] || tar --no-same-owner -C "$work/data" -xzf "$archive" || exit 2
done

run_case() {
	[ ! -e prepare ] || sh -e prepare || echo "prepare: exit $?"
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
	mkdir "$work/$case" && cp -a "$work"/data/. "$case"/. "$work/$case"
	got=$(cd "$work/$case" && run_case)
	# What a sanitizer says of its own search for leaks, where a thread was on its way out.
	[ -z "${HOLDUP_SANITIZED:-}" ] ||
		got=$(printf '%s\n' "$got" | grep -av '^==[0-9]*==Running thread [0-9]* was not suspended')
	rm -rf "${work:?}/$case"
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
