#!/bin/bash
# installed.sh - what is installed of the reading library is enough to build a program with it.
# usage: installed.sh ROOT BUILD        prints TAP
#
# Installs below a temporary folder, builds the example with what pkg-config says, against the
# shared and against the static library, as C and as C++, and runs it.
root=${1:?root} build=${2:?build}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
count=0 bad=0
export LC_ALL=C XDG_CACHE_HOME=$work/cache

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

for tool in meson pkg-config gcc; do
	command -v $tool >/dev/null || { echo "1..0 # SKIP no $tool"; exit 0; }
done
sanitizers=$(meson introspect --buildoptions "$build" | python3 -c 'import json, sys
print([o["value"] for o in json.load(sys.stdin) if o["name"] == "b_sanitize"][0])')
[ "$sanitizers" = none ] || { echo "1..0 # SKIP built with -fsanitize=$sanitizers"; exit 0; }

meson install -C "$build" --no-rebuild --destdir "$work/dest" >"$work/log" 2>&1
result $? "it installs" || finish
prefix=$(meson introspect --buildoptions "$build" | python3 -c 'import json, sys
print([o["value"] for o in json.load(sys.stdin) if o["name"] == "prefix"][0])')
find "$work/dest" >"$work/log"
for name in include/holdup/read.h libholdup-read.so libholdup-read.so.1 libholdup-read.a \
	pkgconfig/holdup-read.pc share/man/man3/holdup-read.3; do
	grep -q "/$name\$" "$work/log"
	result $? "$name is installed"
done

pc=$(find "$work/dest" -name holdup-read.pc)
libdir=$(dirname "$(dirname "$pc")")
# The folder that was installed to stands in for "/".
export PKG_CONFIG_PATH=${pc%/*}
pkg() { pkg-config --define-variable=prefix="$work/dest$prefix" "$@" holdup-read; }
tar --no-same-owner -C "$work" -xzf "$root/tests/data/futex-convoy.tar.gz" || exit 2
source=$root/examples/read-api/longest-waits.c

# try NAME COMMAND...: build $work/program and run it
try() {
	local name=$1

	shift
	rm -f "$work/program"
	"$@" -o "$work/program" >"$work/log" 2>&1 &&
		LD_LIBRARY_PATH=$libdir "$work/program" "$work/futex-convoy.holdup" >"$work/log" 2>&1 &&
		grep -q 'ended by convoy-waiter\[144\] in futex' "$work/log"
	result $? "$name"
}

[ "$(pkg --modversion)" = "$(sed -n "s/^ *version: '\(.*\)',$/\1/p" "$root/meson.build" | head -n 1)" ]
result $? "its version is the project's"
# shellcheck disable=SC2046 # flags are words
{
	try "the example builds and runs with the shared library" \
		gcc -std=c11 -Wall -Wextra -Werror "$source" $(pkg --cflags --libs)
	readelf -d "$work/program" 2>/dev/null | grep -q 'NEEDED.*libholdup-read\.so\.1' >"$work/log" 2>&1
	result $? "it asks for libholdup-read.so.1"
	sed -n '/^\.Bd -literal/,/^\.Ed/p' "$root/docs/man/holdup-read.3" |
		sed '1d;$d;s/\\e/\\/g' >"$work/page.c"
	try "the example of the man page builds and runs" \
		gcc -std=c11 -Wall -Wextra -Werror "$work/page.c" $(pkg --cflags --libs)
	mv "$libdir"/libholdup-read.so* "$work"
	# A function of a name that the library has inside does not get in its way.
	echo 'int err_set(void); int err_set(void) { return 7; }' >"$work/same-name.c"
	try "the example builds and runs with the static library" \
		gcc -std=c11 "$source" "$work/same-name.c" $(pkg --static --cflags --libs)
	mv "$work"/libholdup-read.so* "$libdir"
	cat >"$work/use.cpp" <<-'END'
		#include <cstdio>
		#include <holdup/read.h>
		int main(int, char **argv)
		{
			hr_trace *trace = nullptr;
			hr_wait wait = {};
			hr_waits *waits = nullptr;
			wait.struct_size = sizeof(wait);
			if (hr_open(argv[1], nullptr, &trace, nullptr, 0) < 0)
				return 1;
			if (hr_waits_new(trace, hr_command_thread(trace), hr_begin_ns(trace), hr_end_ns(trace), &waits) < 0)
				return 1;
			while (hr_waits_next(waits, &wait) > 0)
				std::printf("ended by %s[%d] in %s\n", hr_thread_comm(trace, wait.waker.thread),
					    hr_thread_tid(trace, wait.waker.thread), hr_actor_text(trace, &wait.waker));
			hr_waits_free(waits);
			hr_close(trace);
		}
	END
	if command -v g++ >/dev/null; then
		try "a C++ program builds and runs" \
			g++ -std=c++11 -Wall -Wextra -Werror "$work/use.cpp" $(pkg --cflags --libs)
	fi
}
finish
