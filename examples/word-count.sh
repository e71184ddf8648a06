#!/bin/sh
# word-count.sh - a shell script as there are many: a loop, a pipe, a file written to disk.
# docs/stats.md breaks one run of it down.
out=${1:-/var/tmp/word-count.out}

for file in /etc/passwd /etc/group /etc/profile /etc/debian_version; do
	wc -w "$file"
done | sort -n >"$out"
dd if=/dev/zero of="$out.data" bs=16k count=4 conv=fsync 2>/dev/null
sleep 0.02
rm -f "$out" "$out.data"
