# Sourced: functions for a script of checks, which ends at the first failure.
# shellcheck shell=bash

checked=0

section() {
    printf '\n== %s (%d s)\n' "$1" "$SECONDS"
}

passed() {
    checked=$((checked + 1))
    printf '  ok    %s\n' "$1"
}

# failed WHAT TEXT
failed() {
    printf '  FAIL  %s\n' "$1"
    sed 's/^/        /' <<<"$2"
    exit 1
}

# succeeds WHAT COMMAND …
succeeds() {
    local text
    text=$("${@:2}" 2>&1) || failed "$1" "$text"
    passed "$1"
}

# refused WHAT WORDS COMMAND …: checks that it fails, and prints WORDS (an extended regular expression).
refused() {
    local text
    if text=$("${@:3}" 2>&1); then failed "$1" "it succeeded: $text"; fi
    grep -qE "$2" <<<"$text" || failed "$1" "$text"
    passed "$1"
}

# prints WHAT TEXT COMMAND …: checks that it prints exactly TEXT, and succeeds.
prints() {
    local text
    text=$("${@:3}" 2>&1) || failed "$1" "$text"
    [[ $text == "$2" ]] || failed "$1" "$(diff <(echo "$2") <(echo "$text"))"
    passed "$1"
}

# shows WHAT WORDS COMMAND …: checks that its output contains WORDS (an extended regular expression), and that it succeeds.
shows() {
    local text
    text=$("${@:3}" 2>&1) || failed "$1" "$text"
    grep -qE "$2" <<<"$text" || failed "$1" "$text"
    passed "$1"
}

# becomes WHAT TEXT COMMAND …: checks that it prints TEXT within a minute.
becomes() {
    local text tries=0
    until text=$("${@:3}" 2>&1); [[ $text == "$2" ]]; do
        ((++tries < 300)) || failed "$1" "$text"
        sleep 0.2
    done
    passed "$1"
}
