#!/bin/bash
# bits32.sh - libholdup and its preload library in 32-bit programs on a 64-bit machine.
# usage: bits32.sh ROOT        prints TAP; the program is $HOLDUP
#
# Both build without a warning, programs log with them, and holdup reads what they logged. Needs a
# compiler that makes such programs (Debian: gcc-12-multilib and libc6-dev-i386, which do not stand
# beside a cross compiler as gcc-multilib), and is skipped without.
root=${1:?usage: bits32.sh ROOT}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
count=0 bad=0
export LC_ALL=C HOLDUP_RUNTIME_DIR=$work/runtime XDG_CACHE_HOME=$work/cache
holdup=${HOLDUP:?}
mkdir traces

result() {
	count=$((count + 1))
	[ "$1" = 0 ] && { echo "ok $count - $2"; return; }
	echo "not ok $count - $2"
	sed 's/^/# /' log | tail -n 30
	bad=1
}

# The kernel's headers of the other kind of programs are the same.
compile() {
	gcc -m32 -std=gnu17 -O2 -Wall -Wextra -Werror -Wno-missing-field-initializers -Wno-sign-compare \
		-D_GNU_SOURCE '-DHOLDUP_VERSION="test"' -fno-strict-aliasing -fvisibility=hidden \
		-ftls-model=initial-exec -fexceptions -pthread -I"$root/src" -I"$root/include" \
		-idirafter "/usr/include/$(gcc -print-multiarch)" "$@" >log 2>&1
}
[ "$(uname -m)" = x86_64 ] && echo 'int main(void) { return 0; }' >main.c && compile -o main main.c && ./main ||
	{ echo "1..0 # SKIP no 32-bit programs can be made, or run: $(tail -n 1 log)"; exit 0; }
compile -fPIC -shared -Wl,-soname,libholdup.so.1 "-Wl,--version-script=$root/include/holdup.map" \
	-o libholdup.so.1 "$root"/src/runtime/*.c && ln -s libholdup.so.1 libholdup.so
result $? "libholdup builds with 32 bits"
compile -fPIC -shared "-Wl,--version-script=$root/src/runtime/locks/locks.map" -Wl,-z,nodelete \
	-o libholdup-locks.so "$root"/src/runtime/locks/*.c -L. -lholdup -Wl,-rpath,"$work"
result $? "libholdup-locks builds with 32 bits"
compile -o load "$root/tests/runtime/load.c" -L. -lholdup -Wl,-rpath,"$work" &&
	HOLDUP=stream:$work/traces/load HOLDUP_SIZE=64M ./load -t 4 -n 1000 >log 2>&1 &&
	"$holdup" check-trace traces/load >log 2>&1 && grep -q "is complete: 4,000 events" log
result $? "a program logs, and all of its events are there"
compile -I"$root/examples" -o lock-table "$root/examples/lock-table.c" &&
	LD_PRELOAD=$work/libholdup-locks.so HOLDUP=stream:$work/traces/locks ./lock-table >log 2>&1 &&
	"$holdup" locks traces/locks >log 2>&1 && grep -q "mutex .*(lock-table)" log
result $? "a program that preloads it tells its locks"
"$holdup" run --locks -o alone -- ./lock-table >log 2>&1 && grep -q "another architecture" log
result $? "holdup run --locks says that it tells nothing with the library of 64 bits, and runs it"
echo "1..$count"
exit $bad
