#!/bin/sh
# Starts PostgreSQL under the contract of the official image: a first start makes the database from
#   POSTGRES_PASSWORD[_FILE]   the superuser's password: required, unless POSTGRES_HOST_AUTH_METHOD=trust
#   POSTGRES_USER, POSTGRES_DB superuser (postgres) and its database (the same name)
#   POSTGRES_INITDB_ARGS, POSTGRES_HOST_AUTH_METHOD (scram-sha-256)
#   PGDATA                     must be made or owned by the user that runs this: with an emptyDir, a folder below it
#   /docker-entrypoint-initdb.d/*.sql, *.sql.gz, *.sh: run once, in the order of their names
# Arguments are those of `postgres`. Any user but root will do, and a read-only root file system.
set -eu

fail() { echo "docker-entrypoint: $*" >&2; exit 1; }

from_file() { # NAME: a secret may be given as the path of a file
  eval "file=\${${1}_FILE:-} value=\${$1:-}"
  [ -z "$file" ] || [ -z "$value" ] || fail "both $1 and ${1}_FILE are set"
  [ -z "$file" ] || eval "$1=\$(cat \"\$file\")"
}

writable() { # FOLDER...: the first in which a file can be made
  # By doing it: `[ -w` of small shells looks at permissions only, not at a read-only file system.
  for folder; do
    if file=$(mktemp "$folder/.writable.XXXXXX" 2> /dev/null); then rm "$file"; echo "$folder"; return; fi
  done
  fail "none of these can be written: $*"
}

with_name() { # COMMAND...: initdb and psql want a user name, but a pod may run as any number
  if id -un > /dev/null 2>&1; then "$@"; return; fi
  printf 'postgres:x:%s:%s::%s:/bin/sh\n' "$(id -u)" "$(id -g)" "$PGDATA" > "$names/passwd"
  printf 'postgres:x:%s:\n' "$(id -g)" > "$names/group"
  LD_PRELOAD=$NSS_WRAPPER_LIBRARY NSS_WRAPPER_PASSWD=$names/passwd NSS_WRAPPER_GROUP=$names/group "$@"
}

run_sql() { # DATABASE [OPTION...], SQL on standard input
  with_name psql --no-psqlrc --no-password --quiet --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" \
    --host "$sockets" --dbname "$@"
}

make_database() {
  from_file POSTGRES_PASSWORD
  from_file POSTGRES_USER
  from_file POSTGRES_DB
  method=${POSTGRES_HOST_AUTH_METHOD:-scram-sha-256}
  [ -n "${POSTGRES_PASSWORD:-}" ] || [ "$method" = trust ] ||
    fail "POSTGRES_PASSWORD must be set (or POSTGRES_HOST_AUTH_METHOD=trust, which lets everybody in)"
  # /dev/shm can be written in every container, read-only root or not.
  names=$(mktemp -d /dev/shm/names.XXXXXX)
  password=$names/password
  ( umask 077; printf '%s\n' "${POSTGRES_PASSWORD:-}" > "$password" )

  set -- --pgdata="$PGDATA" --username="$POSTGRES_USER" --encoding=UTF8 --locale=C --no-sync \
    --auth-local=trust --auth-host="$method"
  [ -z "${POSTGRES_PASSWORD:-}" ] || set -- "$@" --pwfile="$password"
  # shellcheck disable=SC2086  # these are words
  with_name initdb "$@" ${POSTGRES_INITDB_ARGS:-}
  printf '\nhost all all all %s\n' "$method" >> "$PGDATA/pg_hba.conf"
}

run_init_files() { # ARGUMENTS of postgres
  # Nobody can connect from outside until the database is complete.
  with_name pg_ctl --pgdata="$PGDATA" --wait --silent --log="$names/log" \
    --options="$* -c listen_addresses='' -c fsync=off -c unix_socket_directories='$sockets'" start ||
    { cat "$names/log" >&2; fail "the first start failed"; }
  [ "$POSTGRES_DB" = postgres ] ||
    echo 'CREATE DATABASE :"name";' | run_sql postgres --set name="$POSTGRES_DB"
  for file in /docker-entrypoint-initdb.d/*; do
    case $file in
      *.sql) echo "running $file"; run_sql "$POSTGRES_DB" < "$file";;
      *.sql.gz) echo "running $file"; gunzip -c "$file" | run_sql "$POSTGRES_DB";;
      *.sh) echo "running $file"
        # The names and the socket, so that `psql` in it just works.
        export PGHOST="$sockets" PGUSER="$POSTGRES_USER" PGDATABASE="$POSTGRES_DB"
        if [ -x "$file" ]; then with_name "$file"; else with_name sh "$file"; fi
        unset PGHOST PGUSER PGDATABASE;;
      '/docker-entrypoint-initdb.d/*') ;;
      *) echo "ignoring $file";;
    esac
  done
  with_name pg_ctl --pgdata="$PGDATA" --wait --silent --mode=fast stop
}

case ${1:-postgres} in
  -*) set -- postgres "$@";;
  postgres) [ $# -gt 0 ] || set -- postgres;;
  *) exec "$@";;
esac
shift

[ "$(id -u)" != 0 ] || fail "PostgreSQL refuses to run as root: set runAsUser, 999 for instance"
export PGDATA="${PGDATA:-/var/lib/postgresql/data}"
POSTGRES_USER=${POSTGRES_USER:-postgres}
export POSTGRES_USER POSTGRES_DB="${POSTGRES_DB:-$POSTGRES_USER}"
sockets=$(writable /var/run/postgresql /tmp /dev/shm)
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  [ -O "$PGDATA" ] || fail "PGDATA=$PGDATA belongs to somebody else: with a volume, let PGDATA be a folder below its mount path"
  make_database
  run_init_files "$@"
  rm -rf "$names"
fi
# Clients find the address by name or number; the defaults come first, so that arguments win.
exec postgres -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories="$sockets" "$@"
