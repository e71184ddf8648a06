#!/bin/bash
# musl.sh - libholdup and its preload library in programs of another C library: musl, Alpine's.
# usage: musl.sh ROOT        prints TAP; the program is $HOLDUP
#
# Both are built with musl-gcc, without a warning; programs log with them, linked dynamically and
# statically; a program that measures its own locks agrees with what the preload library told.
root=${1:?usage: musl.sh ROOT}
command -v musl-gcc >/dev/null || { echo "1..0 # SKIP no musl-gcc (Debian: musl-tools)"; exit 0; }
command -v python3 >/dev/null || { echo "1..0 # SKIP no python3"; exit 0; }
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

# The kernel's headers are the system's: musl has none of its own.
compile() {
	musl-gcc -std=gnu17 -O2 -Wall -Wextra -Werror -Wno-missing-field-initializers -Wno-sign-compare \
		-D_GNU_SOURCE '-DHOLDUP_VERSION="test"' -fno-strict-aliasing -fvisibility=hidden \
		-ftls-model=initial-exec -fexceptions -I"$root/src" -I"$root/include" \
		-idirafter /usr/include -idirafter "/usr/include/$(gcc -print-multiarch)" "$@" >log 2>&1
}
compile -fPIC -shared -Wl,-soname,libholdup.so.1 "-Wl,--version-script=$root/include/holdup.map" \
	-Wl,-z,nodelete -o libholdup.so.1 "$root"/src/runtime/*.c && ln -s libholdup.so.1 libholdup.so
result $? "libholdup builds with musl"
compile -fPIC -shared "-Wl,--version-script=$root/src/runtime/locks/locks.map" -Wl,-z,nodelete \
	-o libholdup-locks.so "$root"/src/runtime/locks/*.c -L. -lholdup -Wl,-rpath,"$work"
result $? "libholdup-locks builds with musl"
for program in texts load; do
	compile -o $program "$root/tests/runtime/$program.c" -L. -lholdup -Wl,-rpath,"$work" &&
		compile -static -o $program-static "$root/tests/runtime/$program.c" "$root"/src/runtime/*.c
	result $? "$program is linked with it, dynamically and statically"
done

# logs NAME EVENTS COMMAND...: a whole trace of so many events
logs() {
	local name=$1 events=$2

	shift 2
	HOLDUP=stream:$work/traces/$name HOLDUP_SIZE=64M "$@" >log 2>&1 &&
		"$holdup" check-trace "traces/$name" >log 2>&1 && grep -q "is complete: $events events" log
	result $? "$name logs, and all of its $events events are there"
}
logs texts 500 ./texts 500
logs texts-static 500 ./texts-static 500
logs load 4,000 ./load -t 4 -n 1000
logs load-static 4,000 ./load-static -t 4 -n 1000

compile -I"$root/examples" -o lock-table "$root/examples/lock-table.c" &&
	LD_PRELOAD=$work/libholdup-locks.so HOLDUP=stream:$work/traces/locks ./lock-table >own 2>log &&
	"$holdup" locks --json traces/locks >told 2>log
result $? "a program runs with the preload library"
python3 - >log 2>&1 <<'END'
import json
own = json.load(open("own", encoding="utf-8"))
told = {(lock["kind"], lock["taken"], lock["waits"]) for lock in json.load(open("told", encoding="utf-8"))["locks"]}
wanted = {("mutex", own["convoy_mutex"]["taken"], own["convoy_mutex"]["waits"]),
          ("rwlock", own["table_rwlock"]["taken"], own["table_rwlock"]["waits"])}
print(f"wanted {sorted(wanted)}\ntold {sorted(told, key=str)}")
assert wanted <= told
END
result $? "it told how often each lock was taken and waited for, as the program counted"

# holdup's own preload library is of glibc: a program of musl, and its children, run without it.
mkdir runs
"$holdup" run --locks -o runs/alone -- ./lock-table >log 2>&1 && grep -q "uses another C library" log &&
	! grep -q "Error" log
result $? "holdup run --locks says that a program of musl tells nothing, and runs it"
# A sanitizer's runtime cannot come behind what is preloaded.
[ -z "${HOLDUP_SANITIZED:-}" ] || { echo "1..$count"; exit $bad; }
gcc -O2 -D_GNU_SOURCE -pthread -I"$root/examples" -o lock-table-glibc "$root/examples/lock-table.c" >log 2>&1 &&
	"$holdup" run --locks -o runs/both -- sh -c './lock-table && ./lock-table-glibc' >log 2>&1 &&
	! grep -q "Error" log && "$holdup" locks runs/both >log 2>&1 && grep -q "(lock-table-glib" log
result $? "beside one of glibc, it runs as well, and the other tells its locks"
echo "1..$count"
exit $bad
