#!/bin/bash
# installed.sh - what is installed of libholdup is enough to build a program that logs events.
# usage: installed.sh ROOT BUILD        prints TAP
#
# Installs below a temporary folder, builds programs with what pkg-config says, against the
# shared and against the static library, as C and as C++, runs them, and reads what they logged.
root=${1:?root} build=${2:?build}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
count=0 bad=0
export LC_ALL=C XDG_CACHE_HOME=$work/cache HOLDUP_RUNTIME_DIR=$work/runtime

result() {
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		sed 's/^/# /' "$work/log" | tail -n 40
		bad=1
	fi
}

finish() {
	echo "1..$count"
	exit $bad
}

for tool in meson pkg-config gcc g++ python3; do
	command -v $tool >/dev/null || { echo "1..0 # SKIP no $tool"; exit 0; }
done
option() {
	meson introspect --buildoptions "$build" | python3 -c 'import json, sys
print([o["value"] for o in json.load(sys.stdin) if o["name"] == sys.argv[1]][0])' "$1"
}
sanitizers=$(option b_sanitize)
[ "$sanitizers" = none ] || { echo "1..0 # SKIP built with -fsanitize=$sanitizers"; exit 0; }

meson install -C "$build" --no-rebuild --destdir "$work/dest" >"$work/log" 2>&1
result $? "it installs" || finish
find "$work/dest" >"$work/log"
for name in include/holdup/trace.h include/holdup/trace_hot.h libholdup.so libholdup.so.1 \
	libholdup.a pkgconfig/holdup.pc share/man/man7/holdup-trace.7; do
	grep -q "/$name\$" "$work/log"
	result $? "$name is installed"
done

pc=$(find "$work/dest" -name holdup.pc)
libdir=$(dirname "$(dirname "$pc")")
# The folder that was installed to stands in for "/".
export PKG_CONFIG_PATH=${pc%/*}
pkg() { pkg-config --define-variable=prefix="$work/dest$(option prefix)" "$@" holdup; }

cat >"$work/shop.c" <<'END'
#include <holdup/trace.h>

HOLDUP_SPAN(shop, order, (flow, order), (str, customer))
HOLDUP_EVENT(shop, paid, (u64, number), (f64, amount))

int main(void)
{
	holdup_shop_order_begin(4711, "Ada");
	for (int i = 0; i < 1000; i++)
		holdup_shop_paid((uint64_t)i, i / 2.0);
	holdup_shop_order_end();
	return (int)holdup_lost_count();
}
END
cp "$work/shop.c" "$work/shop.cpp"
sed -n '/^\.Bd -literal/,/^\.Ed/p' "$root/docs/man/holdup-trace.7" | sed '1d;$d;s/\\e/\\/g' >"$work/page.c"

# try NAME SOURCE EVENTS FLAGS...: build, run, count what was logged
try() {
	local name=$1 events=$3 compiler="gcc -std=c11" folder
	local source=$work/$2

	shift 3
	case $source in *.cpp) compiler="g++ -std=c++11" ;; esac
	rm -rf "$work/program" "$work/traces"
	$compiler -Wall -Wextra -Werror "$source" "$@" -o "$work/program" >"$work/log" 2>&1 &&
		HOLDUP=stream:$work/traces LD_LIBRARY_PATH=$libdir "$work/program" >"$work/log" 2>&1 &&
		folder=$(echo "$work"/traces/program-*) && "$build/holdup" list "$folder" >"$work/log" 2>&1 &&
		[ "$(grep -c ' shop:' "$work/log")" = "$events" ]
	result $? "$name"
}

[ "$(pkg --modversion)" = "$(sed -n "s/^ *version: '\(.*\)',$/\1/p" "$root/meson.build" | head -n 1)" ]
result $? "its version is the project's"
# shellcheck disable=SC2046 # flags are words
{
	try "a C program logs with the shared library" shop.c 1002 $(pkg --cflags --libs)
	readelf -d "$work/program" 2>/dev/null | grep -q 'NEEDED.*libholdup\.so\.1' >"$work/log" 2>&1
	result $? "it asks for libholdup.so.1"
	try "a C++ program logs with the shared library" shop.cpp 1002 $(pkg --cflags --libs)
	try "the example of the man page logs" page.c 1 $(pkg --cflags --libs)
	mv "$libdir"/libholdup.so* "$work"
	try "a C program logs with the static library" shop.c 1002 $(pkg --static --cflags --libs)
	! readelf -d "$work/program" 2>/dev/null | grep -q 'NEEDED.*libholdup'
	result $? "it asks for no libholdup"
	try "a C++ program logs with the static library" shop.cpp 1002 $(pkg --static --cflags --libs)
	mv "$work"/libholdup.so* "$libdir"
}
finish
