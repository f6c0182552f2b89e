# Sourced by the scripts of Tools: the repository's root, the Swift toolchain, and the lists of sources.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

if ! command -v swift >/dev/null && [ -x /opt/swift/usr/bin/swift ]; then
    PATH=$PATH:/opt/swift/usr/bin
fi
if ! command -v swift >/dev/null; then
    echo "No Swift toolchain in PATH or /opt/swift. Swift 6.3 or later is needed: https://www.swift.org/install/linux/" >&2
    exit 1
fi

# Prints the sources with these suffixes, each followed by a NUL, without build folders.
sources() {
    find "$root" \( -name .build -o -name .git \) -prune -o -type f -name "*$1" -print0 | sort -z
}

# Prints all shell scripts, each followed by a NUL.
shell_scripts() {
    find "$root/Tools" "$root/.ci" -type f -print0 | xargs -0 grep -lZE -m 1 '^(#!.*sh|# shellcheck shell=)' | sort -z
}

swift_format() {
    local action=$1
    shift
    sources .swift | xargs -0 swift format "$action" --configuration "$root/.swift-format" --parallel "$@"
}
