#!/bin/sh
# embed.sh NAME INPUT OUTPUT - the bytes of INPUT as a C array NAME, with NAME_bytes.
set -e
{
	echo "/* Made from $(basename "$2") by embed.sh. */"
	echo '#include <stddef.h>'
	echo
	echo "extern const unsigned char $1[];"
	echo "extern const size_t $1_bytes;"
	echo
	echo "const unsigned char $1[] __attribute__((aligned(8))) = {"
	od -An -v -tx1 "$2" | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'
	echo '};'
	echo
	echo "const size_t $1_bytes = sizeof($1);"
} >"$3"
