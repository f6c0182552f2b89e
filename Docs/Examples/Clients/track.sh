#!/usr/bin/env bash
# Tracks one event with socat, and prints the daemon's answer.
#
#   track.sh EVENT ID
#
# The id makes it safe to run again: the daemon stores an event of an id once.
set -euo pipefail

folder=${XDG_RUNTIME_DIR:-/run}/headgate
[[ -d $folder ]] || folder=/run/headgate
socket=${HEADGATE_SOCKET:-$folder/headgate.sock}

# What a JSON string needs escaped, and nothing else: enough for names and ids without control characters.
quoted() {
    local text=${1//\\/\\\\}
    printf '"%s"' "${text//\"/\\\"}"
}

request='{"jsonrpc":"2.0","id":1,"method":"track","params":{"event":%s,"id":%s}}\n'
# shellcheck disable=SC2059
answer=$(printf "$request" "$(quoted "$1")" "$(quoted "$2")" | socat -t 10 - "UNIX-CONNECT:$socket")
printf '%s\n' "$answer"
[[ $answer == *'"result"'* ]]
