#!/bin/bash
# completion.sh - what the shells complete is what the program has.
# usage: completion.sh        prints TAP; the program is $HOLDUP
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
count=0 bad=0
export LC_ALL=C

result() {
	count=$((count + 1))
	[ "$1" = 0 ] && { echo "ok $count - $2"; return; }
	echo "not ok $count - $2"
	sed 's/^/# /' log | head -n 20
	bad=1
}

for shell in bash zsh fish; do "$HOLDUP" completion $shell >holdup.$shell 2>log; result $? "it is made for $shell"; done
"$HOLDUP" completion tcsh >log 2>&1; [ $? = 2 ]; result $? "another shell is wrong usage"
for shell in bash zsh fish; do
	command -v $shell >/dev/null || { echo "# no $shell here"; continue; }
	$shell -n holdup.$shell >log 2>&1; result $? "$shell can read its own"
done

# Every option that the help names, of every command, in every shell.
options_of() { "$HOLDUP" help "$1" | sed -n 's/^  \(-., \|    \)--\([a-z-]*\).*/\2/p' | grep -vx help; }
: >log
for command in $("$HOLDUP" help | sed -n 's/^  \([a-z-]*\)  .*/\1/p' | grep -vx help); do
	sed -n "/^	$command)$/,/;;\$/p" holdup.bash >bash
	sed -n "/^_holdup_$command() {/,/^}/p" holdup.zsh >zsh
	grep "__holdup_in $command'" holdup.fish >fish
	for option in $(options_of "$command"); do
		grep -qe "--$option[ =]" bash || echo "bash: holdup $command --$option" >>log
		grep -qe "--$option[=[}]" zsh || echo "zsh: holdup $command --$option" >>log
		grep -qe " -l $option " fish || echo "fish: holdup $command --$option" >>log
	done
	echo $command >>commands
done
[ ! -s log ] && [ "$(wc -l <commands)" -gt 15 ]; result $? "every option of every command is known to each shell"

# completed WORD...: what bash offers for the last one
completed() {
	bash --norc -c 'source ./holdup.bash
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
		_holdup; echo ${COMPREPLY[*]}' words "$@" 2>&1
}
# offers TEXT WORD...
offers() {
	local wanted=$1

	shift
	completed "$@" | tr ' ' '\n' | sort -u | paste -sd' ' >log
	[ "$(cat log)" = "$wanted" ]
	result $? "bash: \"$*\" becomes \"$wanted\""
}
mkdir models traces; touch a.yaml b.txt
offers "states stats" holdup sta
offers "--colour" holdup why --col
offers "always auto" holdup why --colour a
offers "always" holdup why --colour = al
offers "perfetto" holdup export --format per
offers "sched_switch" holdup record -e sched_sw
offers "core,sched_switch" holdup record -e core,sched_sw
offers "a.yaml" holdup watch a
offers "models traces" holdup record --dir ""
offers "b.txt" holdup why b.
offers "SIGUSR1 SIGUSR2" holdup watch --signal SIGUS
offers "root" holdup delays --user roo
offers "listen" holdup delays lis
offers "reconcile" holdup delays rec
offers "states stats" holdup help sta
offers "" holdup record --user-events sched_sw
offers "--no-pager" holdup --no-p
offers "states stats" holdup --no-pager sta
offers "--colour" holdup --no-pager why --col
offers "always auto" holdup --no-pager why --colour a
if command -v fish >/dev/null; then
	HOME=$work fish --no-config -c 'source ./holdup.fish; complete -C "holdup why --colour a"' >log 2>&1
	[ "$(cut -f1 log | sort | paste -sd' ')" = "always auto" ]; result $? "fish: --colour a becomes always, auto"
	HOME=$work fish --no-config -c 'source ./holdup.fish; complete -C "holdup --no-pager why --colour a"' >log 2>&1
	[ "$(cut -f1 log | sort | paste -sd' ')" = "always auto" ]; result $? "fish: the same behind --no-pager"
	for start in "" core,; do
		HOME=$work fish --no-config -c "source ./holdup.fish; complete -C 'holdup record -e ${start}sched_sw'" >log 2>&1
		[ "$(cut -f1 log)" = "${start}sched_switch" ]; result $? "fish: -e ${start}sched_sw becomes ${start}sched_switch"
	done
fi
echo "1..$count"
exit $bad
