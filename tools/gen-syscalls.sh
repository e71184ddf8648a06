#!/bin/sh
# Write src/event/syscalls.c: the names of system calls per architecture.
# usage: tools/gen-syscalls.sh X86_INCLUDE ARM_INCLUDE >src/event/syscalls.c
# Each argument is a folder with the kernel's user headers of that architecture
# (asm/unistd_64.h and asm/unistd_32.h; asm/unistd-eabi.h). The generic table comes from
# asm-generic/unistd.h in /usr/include. On Debian:
#	tools/gen-syscalls.sh /usr/include/x86_64-linux-gnu /usr/arm-linux-gnueabihf/include
set -eu
x86=${1:?x86 include folder} arm=${2:?arm include folder}

# Calls newer than those headers. From 424 on a call has one number everywhere.
newer='450 set_mempolicy_home_node 451 cachestat 452 fchmodat2 453 map_shadow_stack 454 futex_wake
455 futex_wait 456 futex_requeue 457 statmount 458 listmount 459 lsm_get_self_attr
460 lsm_set_self_attr 461 lsm_list_modules 462 mseal 463 setxattrat 464 getxattrat
465 listxattrat 466 removexattrat 467 open_tree_attr 468 file_getattr 469 file_setattr 470 listns
471 rseq_slice_yield'
# Those of one architecture: traps of probed programs.
newer_x86_64='335 uretprobe 336 uprobe'

# table NAME CPP-ARGS...: the numbers that the preprocessor sees, as an array.
table() {
	name=$1
	shift
	echo
	echo "static const char *const $name[] = {"
	{
		# The second pass turns "#define __NR_x EXPRESSION" into a number.
		${CC:-cc} -E -dM "$@" - </dev/null | awk '/#define __NR(3264)?_/ { print $2 }' |
			grep -v -e syscalls$ -e _Base -e SYSCALL_BASE -e arch_specific -e __NR3264 |
			sed 's/.*/& &/; s/__NR_/@/' |
			${CC:-cc} -E -P "$@" - | awk '/^@/ { n = $1; $1 = ""; print n, $0 }'
		eval "more=\${newer_$name:-}"
		echo "$newer $more" | tr -s ' \n' '\n\n' | paste - - | awk '{ print "@" $2, $1 }'
	} | tr -d '()' | awk '{
		value = $2
		if ($3 == "+") value = $2 + $4
		if (value ~ /^0x/ || value > 600) next # private to the architecture
		print value, substr($1, 2)
	}' | sort -n -u | awk '{ printf "\t[%d] = \"%s\",\n", $1, $2 }'
	echo "};"
}

cat <<'END'
/*
 * syscalls.c - the names of system calls, by architecture and number.
 *
 * Written by tools/gen-syscalls.sh; do not edit. A trace may come from another
 * machine, so the tables do not depend on the one that builds.
 */
#include "event/syscalls.h"

#include <stddef.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* clang-format off */
END
table x86_64 -include "$x86/asm/unistd_64.h"
table i386 -include "$x86/asm/unistd_32.h"
table arm -D__ARM_EABI__ -I"$arm" -include "$arm/asm/unistd-eabi.h" -D__NR_SYSCALL_BASE=0
# The generic table, with what 64-bit architectures that use it ask for.
table generic -D__BITS_PER_LONG=64 -D__ARCH_WANT_NEW_STAT -D__ARCH_WANT_RENAMEAT \
	-D__ARCH_WANT_SET_GET_RLIMIT -D__ARCH_WANT_MEMFD_SECRET -D__ARCH_WANT_SYS_CLONE3 \
	-include /usr/include/asm-generic/unistd.h
cat <<'END'
/* clang-format on */

struct arch_table {
	const char *arch; /* as uname -m says; a trailing '*' stands for the rest */
	const char *const *names;
	size_t count;
	const char *const *compat_names;
	size_t compat_count;
};

#define TABLE(table)   table, COUNT(table)
#define NO_TABLE       NULL, 0

static const struct arch_table archs[] = {
	{ "x86_64", TABLE(x86_64), TABLE(i386) },
	{ "aarch64*", TABLE(generic), TABLE(arm) },
	{ "arm64*", TABLE(generic), TABLE(arm) },
	{ "riscv64", TABLE(generic), NO_TABLE },
	{ "loongarch64", TABLE(generic), NO_TABLE },
	{ "i?86", TABLE(i386), TABLE(i386) },
	{ "arm*", TABLE(arm), TABLE(arm) },
};

static int arch_is(const char *pattern, const char *arch)
{
	for (; *pattern && *pattern != '*'; pattern++, arch++) {
		if (!*arch || (*pattern != '?' && *pattern != *arch))
			return 0;
	}
	return *pattern == '*' || !*arch;
}

const char *syscalls_name(const char *arch, int64_t nr, bool compat)
{
	for (size_t i = 0; i < COUNT(archs); i++) {
		const char *const *names = compat ? archs[i].compat_names : archs[i].names;
		size_t count = compat ? archs[i].compat_count : archs[i].count;

		if (arch_is(archs[i].arch, arch))
			return nr >= 0 && (uint64_t)nr < count ? names[nr] : NULL;
	}
	return NULL;
}
END
