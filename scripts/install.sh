#!/bin/sh
# Installs what torture needs from the packages of Debian or Ubuntu: servers for
# local processes, a C compiler. Only root installs, and is told before; anybody
# else is told the command. Does nothing, quickly, when everything is there.
#
# Exit codes: 0 go on, 4 something needed is missing and cannot be installed.
set -eu

has() { command -v "$1" >/dev/null 2>&1; }

has_postgres() {
	for dir in /usr/lib/postgresql/*/bin $(echo "$PATH" | tr ':' ' '); do
		if [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ]; then return 0; fi
	done
	return 1
}

# A container engine is a substitute for local servers.
has_engine() {
	case "${DOCKER_HOST:-}" in
	'') [ -w /var/run/docker.sock ] ;;
	*) true ;;
	esac
}

packages=
has redis-server || packages="$packages redis-server"
has_postgres || packages="$packages postgresql"
has cc || has gcc || has clang || packages="$packages gcc" # gives Redis a wall clock of its own
[ -e /etc/ssl/certs/ca-certificates.crt ] || [ -d /etc/pki ] || packages="$packages ca-certificates"

if [ -z "$packages" ]; then
	exit 0
fi

if ! has apt-get; then
	echo "install: missing:$packages (Debian's names); install them with your package manager" >&2
	if has_engine; then exit 0; fi
	exit 4
fi

command="apt-get install --no-install-recommends$packages"
if [ "$(id -u)" -ne 0 ]; then
	echo "install: not root, so nothing is installed; the command is: sudo $command" >&2
	if has_engine; then
		echo "install: going on with the container engine" >&2
		exit 0
	fi
	exit 4
fi

echo "install: $command (no service is started, no database is made)"

# Debian's packages start a server on its default port, now and at every boot,
# and make a database. Both are asked not to, and what is written for that is
# removed again.
policy=/usr/sbin/policy-rc.d
cluster=/etc/postgresql-common/createcluster.d/torture.conf
made_policy=
cleanup() {
	rm -f "$cluster"
	if [ -n "$made_policy" ]; then rm -f "$policy"; fi
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
	made_policy=yes
fi
mkdir -p "$(dirname "$cluster")"
echo 'create_main_cluster = false' >"$cluster"

export DEBIAN_FRONTEND=noninteractive
get() { apt-get -qq -o DPkg::Lock::Timeout=120 "$@" >/dev/null; }

# Lists may be missing or too old; they are fetched only then.
# shellcheck disable=SC2086 # one word per package
if ! get install -y --no-install-recommends $packages 2>/dev/null; then
	get update
	get install -y --no-install-recommends $packages
fi

case "$packages" in
*redis-server*)
	if has systemctl; then systemctl -q disable redis-server.service 2>/dev/null || true; fi
	;;
esac
