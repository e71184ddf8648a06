# check-rooms.awk - fail when a file includes a room or a library it may not know, and when the
# table permits what no file does.
# usage: awk -f tools/check-rooms.awk tools/rooms.txt $(git ls-files 'src/*.[ch]')
#
# The part behind src/ decides the room of a file. An outside header belongs to the rooms
# that stand behind its prefix in the table; headers with no line there are free for all.
FNR == NR {
	if ($1 ~ /^</) {
		header = $1
		sub(/>$/, "", header)
		outside[header] = 1
		for (i = 2; i <= NF; i++) owner[header, $i] = FNR
	} else if ($1 !~ /^#/ && NF) {
		known[$1] = 1
		for (i = 2; i <= NF; i++) may[$1, $i] = FNR
	}
	next
}
function complain(what) { print FILENAME ":" FNR ": " room " must not include " what; bad = 1 }
FNR == 1 {
	path = FILENAME
	sub(/^(.*\/)?src\//, "", path)
	split(path, part, "/")
	room = part[1]
	if (!known[room]) { print FILENAME ": room " room " has no line in the table"; bad = 1 }
}
$1 != "#include" { next }
$2 ~ /^</ {
	for (header in outside) {
		if (index($2, header) != 1) continue
		if (!((header, room) in owner)) complain($2)
		used[header, room] = 1
	}
	next
}
{
	split(substr($2, 2), part, "/")
	if (part[1] == room || !known[part[1]]) next
	if (!((room, part[1]) in may) || $2 ~ /_int\.h"$/) complain($2)
	used[room, part[1]] = 1
}
function unused(pair, line, who, whom) {
	if (pair in used) return
	print ARGV[1] ":" line ": nobody uses that " who " may include " whom
	bad = 1
}
END {
	for (pair in may) {
		split(pair, part, SUBSEP)
		unused(pair, may[pair], part[1], part[2])
	}
	for (pair in owner) {
		split(pair, part, SUBSEP)
		unused(pair, owner[pair], part[2], part[1])
	}
	exit bad
}
