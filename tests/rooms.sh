#!/bin/bash
# rooms.sh - tools/check-rooms finds what breaks the table of rooms, and what the table need not permit.
# usage: rooms.sh ROOT        prints TAP
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

mkdir -p "$work/tools" "$work/src/low" "$work/src/high"
cp "$root/tools/check-rooms.awk" "$work/tools/"
: >"$work/src/low/low.h"
: >"$work/src/low/low_int.h"

# says TEXT NAME: a check of the tree ends with 1 and says TEXT; "" = it is content
says() {
	bash "$root/tools/check-rooms" "$work" >"$work/log"
	local rc=$?
	if [ -z "$1" ]; then
		[ $rc = 0 ]
	else
		[ $rc = 1 ] && grep -qF "$1" "$work/log"
	fi
	result $? "$2"
}

table() {
	printf '%s\n' 'low' "$1" '<zlib.h> '"$2" >"$work/tools/rooms.txt"
}

code() {
	printf '%s\n' "$@" >"$work/src/high/high.c"
}

table 'high low' high
code '#include <zlib.h>' '#include "low/low.h"'
says '' 'what is permitted and used is fine'
code '#include <zlib.h>'
says 'rooms.txt:2: nobody uses that high may include low' 'a room that nobody includes is no permission'
code '#include "low/low.h"'
says 'rooms.txt:3: nobody uses that high may include <zlib.h' 'a library that nobody includes is no permission'
table 'high' high
code '#include <zlib.h>' '#include "low/low.h"'
says 'high.c:2: high must not include "low/low.h"' 'a room that was not permitted is told'
table 'high low' ''
says 'high.c:1: high must not include <zlib.h>' 'a library of nobody is told'
table 'high low' high
code '#include <zlib.h>' '#include "low/low_int.h"'
says 'must not include "low/low_int.h"' 'a header of the room alone is told'
echo "1..$count"
exit $bad
