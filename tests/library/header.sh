#!/bin/bash
# header.sh - the public header, the symbols of both libraries and the man page agree, and the
# header compiles as C11 and as C++ without a warning.
# usage: header.sh ROOT SHARED STATIC        prints TAP
root=${1:?root} shared=${2:?shared library} static=${3:?static library}
header=$root/include/holdup/read.h page=$root/docs/man/holdup-read.3
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
count=0 bad=0
export LC_ALL=C

# result STATUS NAME: what is wrong stands in $work/wrong
result() {
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		sed 's/^/# /' "$work/wrong" | head -n 40
		bad=1
	fi
}

# same NAME LEFT RIGHT: two lists of words, one a line
same() {
	diff "$2" "$3" >"$work/wrong" && [ -s "$2" ]
	result $? "$1"
}

# compiles NAME COMPILER...: a program that includes nothing but the header
compiles() {
	local name=$1

	shift
	if ! command -v "$1" >/dev/null; then
		count=$((count + 1))
		echo "ok $count - $name # SKIP no $1"
		return
	fi
	"$@" -Wall -Wextra -Wshadow -Werror -pedantic -fsyntax-only -I"$root/include" "$work/unit" \
		>"$work/wrong" 2>&1
	result $? "$name"
}

# The comments of the header name functions, too: declarations begin in the first column.
sed -n '/^HR_API/,/;/p' "$header" | grep -o '\bhr_[a-z_]*(' | tr -d '(' | sort -u >"$work/declared"
nm -D --defined-only "$shared" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' | sort >"$work/shared"
nm -g --defined-only "$static" | awk 'NF == 3 { print $3 }' | sort >"$work/static"
sed -n 's/^\.Fo \(hr_[a-z_]*\).*/\1/p; s/^\.Fn \(hr_[a-z_]*\).*/\1/p' "$page" | sort -u >"$work/page"
same "the shared library exports what the header declares, and nothing else" \
	"$work/declared" "$work/shared"
same "the static library exports what the header declares, and nothing else" \
	"$work/declared" "$work/static"
same "the man page names what the header declares" "$work/declared" "$work/page"

# The synopsis of the page, and the declarations, as one line each.
prototypes() {
	python3 - "$1" <<-'END'
		import re, sys
		text = open(sys.argv[1], encoding="utf-8").read()
		if sys.argv[1].endswith(".h"):
		    found = re.findall(r"(?m)^HR_API\s+([^;]*);", re.sub(r"/\*.*?\*/", "", text, flags=re.S))
		else:
		    text = text.split(".Sh DESCRIPTION")[0]
		    text = re.sub(r"\.Fo (\w+)\n((?:\.Fa .*\n)+)\.Fc", lambda m: ".Fn " + m[1] + " " +
		                  " ".join(re.findall(r"\.Fa (.*)", m[2])), text)
		    words = lambda line: re.findall(r'"([^"]*)"|(\S+)', line)
		    found = [(ret.strip('"') + " " + name + "(" + ", ".join(a or b for a, b in words(args)) + ")")
		             for ret, name, args in re.findall(r"(?m)^\.Ft (.*)\n\.Fn (\w+) (.*)$", text)]
		for line in sorted(re.sub(r"\s+", " ", one).replace("* ", "*") for one in found):
		    print(line)
	END
}
if command -v python3 >/dev/null; then
	prototypes "$header" >"$work/in-header"
	prototypes "$page" >"$work/in-page"
	same "the synopsis of the man page is that of the header" "$work/in-header" "$work/in-page"
fi

printf '#include <holdup/read.h>\n#include <holdup/read.h>\nint use(void);\nint use(void) { return HR_KIND_USER; }\n' >"$work/unit"
for compiler in gcc clang; do
	cxx=${compiler/gcc/g++}
	cxx=${cxx/clang/clang++}
	for standard in c11 c17; do
		compiles "$compiler, $standard" $compiler -xc -std=$standard -Wstrict-prototypes
	done
	for standard in c++11 c++17 c++20; do
		compiles "$compiler, $standard" "$cxx" -xc++ -std=$standard -Wold-style-cast
	done
done
echo "1..$count"
exit $bad
