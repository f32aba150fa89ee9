# shellcheck shell=bash Starts a server and its load; both end with the script, however it ends. The
# scripts in this folder source it.

server="" load=""
scratch=$(mktemp -d)

before_stop() { :; } # a script may say what is to be printed while the server still runs

stop() {
  local status=$?
  trap - EXIT INT TERM
  if [[ -n "$load" ]]; then
    kill -TERM "$load" 2>/dev/null || true
    wait "$load" 2>/dev/null || true
    if [[ -f "$scratch/load" ]]; then grep -E '^(rounds|wrong_answers|eintr) ' "$scratch/load" || true; fi
  fi
  if [[ -n "$server" ]] && kill -0 "$server" 2>/dev/null; then
    before_stop || true
    kill -TERM "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  elif [[ -n "$server" ]]; then
    echo "the server has died; its output:" >&2
    cat "$scratch/server" >&2
    status=1
  fi
  rm -rf "$scratch"
  exit "$status"
}
trap stop EXIT
# SIGTERM interrupts a `wait` for a background process, which makes an orderly end possible.
trap 'exit 0' INT TERM

free_port() {
  python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

start_server() {
  command -v "$1" >/dev/null || {
    echo "$1 is not installed: run scripts/install-dependencies" >&2
    exit 1
  }
  "$@" >"$scratch/server" 2>&1 &
  server=$!
}

start_load() {
  "$@" >"$scratch/load" 2>&1 &
  load=$!
}

# Waits at most 10 seconds.
wait_until() { # WHAT COMMAND...
  local what=$1 i
  shift
  for ((i = 0; i < 200; i++)); do
    if "$@"; then return; fi
    kill -0 "$server" 2>/dev/null || break
    sleep 0.05
  done
  echo "waited in vain for $what" >&2
  exit 1
}

port_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
wait_for_port() { wait_until "port $1" port_open "$1"; }
wait_for_load_line() { wait_until "the load" grep -q "^$1" "$scratch/load"; }

wait_for_end() {
  local status=0
  wait "$load" || status=$?
  exit "$status"
}
