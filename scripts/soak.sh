#!/bin/sh
# Runs the default comparison with many seeds and shows that nothing is left.
#
#   scripts/soak.sh [RUNS] [FLAGS OF compare...]
#
# SIGTERM ends it after the present run, with its summary.
set -u
cd "$(dirname "$0")/.."
runs=${1:-20}
[ $# -gt 0 ] && shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# What a machine looks like: processes (but for the zombies that a container
# engine reaps when it likes), containers, networks, the temporary
# folder, listening ports. Kernel threads and this script's own children come
# and go.
snapshot() {
	ps -eo pid,ppid,lstart,args --no-headers | awk -v self="$$" '$1 != self && $2 != self && $2 != 2 && $1 != 2 { $2 = ""; print }' | grep -v '<defunct>$' | sort
	docker ps -aq 2>/dev/null | sort | sed 's/^/container /'
	docker network ls --no-trunc --format 'network {{.ID}} {{.Name}}' 2>/dev/null | sort
	find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'torture-*' | sort
	find /dev/shm -mindepth 1 -maxdepth 1 -name 'torture-*' 2>/dev/null | sort
	ss -Hltn 2>/dev/null | awk '{ print "listens", $4 }' | sort
}

snapshot > "$dir/before"
stop=
trap 'stop=yes' TERM
done=0
pass=0
hidden=0
for seed in $(seq 1 "$runs"); do
	./bin/torture compare --seed "$seed" "$@" > "$dir/out" 2>&1
	code=$?
	done=$((done + 1))
	[ $code -eq 0 ] && pass=$((pass + 1))
	result=results/latest/result.json
	h=$(grep -o '"hidden": [0-9]*' $result | awk '{ n += $2 } END { print n + 0 }')
	hidden=$((hidden + h))
	landed=$(grep -o '"pauses_landed": [0-9]*' $result | awk '{ n += $2 } END { print n + 0 }')
	echo "seed $seed: exit $code, $(grep -o '"seconds": [0-9.]*' $result | head -1 | cut -d' ' -f2) s, $landed pauses landed, $h hidden from clients"
	[ $code -eq 0 ] || tail -n 40 "$dir/out"
	[ -z "$stop" ] || break
done
snapshot > "$dir/after"
echo "$pass of $done runs passed; $hidden resources violated in the journal and hidden from clients"
if diff "$dir/before" "$dir/after"; then
	echo "nothing is left: processes, containers, networks, temporary folders and ports are as before"
else
	echo "the machine is not as it was (< before, > after)"
	exit 1
fi
[ "$pass" -eq "$done" ]
