# check-sizes.awk - report long functions and files; fail on those past the hard limits.
# usage: awk -f tools/check-sizes.awk tools/sizes.txt FILE...        prints TAP
#
# A function is what stands between "{" and "}" at the start of a line, as the formatter
# leaves it. tools/sizes.txt allows single exceptions, each with its reason.
BEGIN { soft_function = 60; hard_function = 100; soft_file = 800; hard_file = 1000 }
FNR == NR {
	if ($0 !~ /^#/ && NF >= 4) allowed[$1, $2] = $3
	next
}
function judge(file, name, lines, soft, hard,    limit) {
	limit = ((file, name) in allowed) ? allowed[file, name] : hard
	if (lines <= soft) return
	if (lines > limit) {
		problems = problems "# " file ": " name " has " lines " lines, the limit is " limit "\n"
		bad++
	} else
		notes = notes "# note: " file ": " name " has " lines " lines, aim for " soft "\n"
}
function end_of_file() { if (last) judge(last, "file", last_lines, soft_file, hard_file) }
FNR == 1 { end_of_file(); files++; opened = 0 }
{ last = FILENAME; last_lines = FNR }
/^[a-zA-Z_].*\(/ {
	name = $0
	sub(/\(.*/, "", name)
	sub(/.*[ *]/, "", name)
}
/^\{/ { opened = FNR; next }
/^\}/ {
	if (opened) { functions++; judge(FILENAME, name "()", FNR - opened - 1, soft_function, hard_function) }
	opened = 0
}
END {
	end_of_file()
	printf "1..1\n%sok 1 - %d functions in %d files are short enough\n%s%s", bad ? "not " : "",
		functions, files, problems, notes
	exit bad > 0
}
