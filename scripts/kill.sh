#!/bin/sh
# Kills torture (-9) at random moments, and shows that nothing stays stopped
# and nothing is left, in shared memory neither, while another run goes on
# untouched.
#
#   scripts/kill.sh [TIMES] [guardian]
#
# With "guardian", the guardian is killed too, and `torture clean` must do it.
set -u
cd "$(dirname "$0")/.."
times=${1:-20}
also=${2:-}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
ours() { # processes of a run, by its folder
	for p in /proc/[0-9]*; do
		{ readlink "$p/cwd"; tr '\0' ' ' < "$p/cmdline"; } 2>/dev/null | grep -q "$1" && echo "${p#/proc/} $(cut -d' ' -f3 "$p/stat" 2>/dev/null)"
	done
}
shared() { # PostgreSQL's shared memory that nobody uses
	ls /dev/shm | grep '^PostgreSQL\.' | while read -r name; do
		grep -qsF "/dev/shm/$name" /proc/[0-9]*/maps || echo "/dev/shm/$name"
	done
	ipcs -m | awk '$5 == 56 && $6 == 0 { print "segment-" $2 }'
}
shared > "$dir/shared"
left_shared() { shared | grep -vxFf "$dir/shared"; }
bad=0
for i in $(seq 1 "$times"); do
	provider=process
	[ $((i % 2)) -eq 0 ] && docker info > /dev/null 2>&1 && provider=container
	mkdir "$dir/$i"
	# The other run, which must not notice.
	./bin/torture compare --strategy version-cas --fault pause-holder --provider process --duration 8s --results "$dir/$i/other" > "$dir/$i/other.out" 2>&1 &
	other=$!
	./bin/torture compare --strategy setnx,etcd-claim --fault pause-holder,kill-worker --provider $provider --duration 3s --results "$dir/$i/res" > "$dir/$i/out" 2>&1 &
	run=$!
	wait_ms=$(awk -v s="$i$$" 'BEGIN { srand(s); print int(300 + rand() * 9000) }')
	sleep "$(awk -v m="$wait_ms" 'BEGIN { print m / 1000 }')"
	if [ "$also" = guardian ]; then
		kids=$(cat /proc/$run/task/$run/children 2>/dev/null)
		for k in $kids; do tr '\0' ' ' < /proc/$k/cmdline 2>/dev/null | grep -q guardian && kill -9 "$k"; done
	fi
	stopped=$(ps -eo stat,args | grep -c '^T.*torture')
	kill -9 $run 2>/dev/null
	wait $run 2>/dev/null
	[ "$also" = guardian ] && ./bin/torture clean > "$dir/$i/clean" 2>&1
	left=1
	for n in $(seq 1 150); do
		left=$(ours "$dir/$i/res" | wc -l)
		containers=$(docker ps -aq --filter label=torture.run 2>/dev/null | wc -l)
		folders=$(find /tmp /dev/shm -maxdepth 1 -name 'torture-t[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]-*' 2>/dev/null | wc -l)
		# The other run has one folder and no container.
		[ "$left" -eq 0 ] && [ "$containers" -eq 0 ] && [ "$folders" -le 1 ] && break
		sleep 0.1
	done
	wait $other
	code=$?
	for n in $(seq 1 50); do # others' may come and go
		memory=$(left_shared | wc -l)
		[ "$memory" -eq 0 ] && break
		sleep 0.1
	done
	states=$(ps -eo stat,args | grep -c '^T.*\(torture\|etcd\|redis-server\|postgres\)')
	line="$i: $provider, killed after $wait_ms ms ($stopped stopped then): $left processes, $containers containers, $memory of shared memory left, $states in state T; the other run: exit $code"
	if [ "$left" -ne 0 ] || [ "$containers" -ne 0 ] || [ "$memory" -ne 0 ] || [ "$states" -ne 0 ] || { [ $code -ne 0 ] && [ $code -ne 3 ]; }; then
		bad=$((bad + 1))
		line="$line  <-- BAD"
	fi
	echo "$line"
done
left=$(find /tmp /dev/shm -maxdepth 1 -name 'torture-t[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]-*' 2>/dev/null)
[ -z "$left" ] || { echo "folders are left: $left"; bad=$((bad + 1)); }
left=$(left_shared)
[ -z "$left" ] || { echo "shared memory is left: $left"; bad=$((bad + 1)); }
echo "$bad of $times bad"
[ "$bad" -eq 0 ]
