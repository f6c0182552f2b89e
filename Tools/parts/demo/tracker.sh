#!/usr/bin/env bash
# Tracks the lines of a file with a shell and socat.
#
#   tracker.sh SOCKET LINES ACKNOWLEDGED PER_SECOND
#
# An event's id is made from its line's number. When the connection breaks, what was not acknowledged is sent again under
# the same ids. Each acknowledged id is a line in ACKNOWLEDGED.
set -euo pipefail

socket=$1 lines=$2 acknowledged=$3 per_second=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One track request a line. Its id is the line's number, that of its event has a name before it.
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

# Lets the lines through in small portions, so many a second.
paced() {
    local portion=$((per_second / 5 + 1)) count=0 line
    while IFS= read -r line; do
        printf '%s\n' "$line"
        count=$((count + 1))
        if ((count % portion == 0)); then sleep 0.2; fi
    done
}

# The event ids of the answers that came whole and are no errors.
acknowledgements() {
    sed -unE '/"result"/s/.*"id":"(shell-[0-9]+)".*/\1/p'
}

# The requests whose events are not acknowledged yet.
rest() {
    awk -F '"id":"' 'FILENAME == ARGV[1] { done[$1]; next } { split($2, id, "\""); if (!(id[1] in done)) print }' \
        "$acknowledged" "$work/requests"
}

requests >"$work/requests"
: >"$acknowledged"
while rest >"$work/rest" && [[ -s $work/rest ]]; do
    # It ends with the input, once all is answered, or with the connection; either way the rest is looked at again.
    paced <"$work/rest" 2>/dev/null | socat -t 30 - "UNIX-CONNECT:$socket" 2>/dev/null |
        acknowledgements >>"$acknowledged" || true
    sleep 0.2
done
