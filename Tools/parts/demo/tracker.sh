#!/usr/bin/env bash
# Tracks the lines of a file with a shell and socat.
#
#   tracker.sh SOCKET LINES ACKNOWLEDGED PER_SECOND
#
# The id of an event contains the number of its line. When the connection breaks, unacknowledged events are sent again under
# the same ids. Each acknowledged id is a line in ACKNOWLEDGED.
set -euo pipefail

socket=$1 lines=$2 acknowledged=$3 per_second=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints a track request for each line. The request's id is the line number, and the event's id is `shell-NUMBER`.
requests() {
    awk '{
        details = $0
        sub(/^[^ ]+ [^ ]+ [^ ]+ ?/, "", details)
        gsub(/\\/, "\\\\", details)
        gsub(/"/, "\\\"", details)
        printf "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"track\",\"params\":{\"event\":\"package_%s\",", NR, $3
        printf "\"id\":\"shell-%d\",\"data\":{\"at\":\"%s %s\",\"details\":\"%s\"}}}\n", NR, $1, $2, details
    }' "$lines"
}

# Passes the lines on in small portions, at most PER_SECOND.
paced() {
    local portion=$((per_second / 5 + 1)) count=0 line
    while IFS= read -r line; do
        printf '%s\n' "$line"
        count=$((count + 1))
        if ((count % portion == 0)); then sleep 0.2; fi
    done
}

# Prints the event ids of complete answers that are not errors.
acknowledgements() {
    sed -unE '/"result"/s/.*"id":"(shell-[0-9]+)".*/\1/p'
}

# Prints the requests whose events are not acknowledged yet.
rest() {
    awk -F '"id":"' 'FILENAME == ARGV[1] { done[$1]; next } { split($2, id, "\""); if (!(id[1] in done)) print }' \
        "$acknowledged" "$work/requests"
}

requests >"$work/requests"
: >"$acknowledged"
while rest >"$work/rest" && [[ -s $work/rest ]]; do
    # The pipeline ends after the last answer or with the connection. The loop then repeats unacknowledged requests.
    paced <"$work/rest" 2>/dev/null | socat -t 30 - "UNIX-CONNECT:$socket" 2>/dev/null |
        acknowledgements >>"$acknowledged" || true
    sleep 0.2
done
