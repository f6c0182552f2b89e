# Sourced by Tools/test-package: tests the package in a root without systemd, as in a container.
# shellcheck shell=bash

# The expected files of the package: OWNER:GROUP MODE PATH
places='root:root 755 /usr/bin/headgate
root:root 755 /usr/bin/headgated
root:root 755 /usr/bin/headgate-console
root:headgate 640 /etc/headgate/headgate.json
root:root 644 /etc/logrotate.d/headgate
root:root 644 /lib/systemd/system/headgate.service
root:root 644 /lib/systemd/system/headgate.socket
root:root 644 /lib/systemd/system/headgate-console.service
root:root 644 /usr/share/man/man1/headgate.1.gz
root:root 644 /usr/share/man/man8/headgated.8.gz
root:root 644 /usr/share/man/man8/headgate-console.8.gz
headgate:headgate 700 /var/lib/headgate
headgate:headgate 750 /var/log/headgate'

# Lists the files of the root, except package databases and logs.
everything() {
    (cd "$root" && find . \( -path ./var/lib/dpkg -o -path ./var/cache -o -path ./var/lib/apt \) -prune -o -print |
        grep -vE '^\./(root/|etc/(passwd|group|shadow|gshadow)-|var/log/(apt|dpkg|alternatives)|var/lib/systemd/deb-systemd)' | sort)
}

inside() {
    in_root "$root" "$@"
}

libraries() {
    inside ldd /usr/bin/headgate /usr/bin/headgated /usr/bin/headgate-console
}

missing_libraries() {
    libraries | grep -E 'not found|libswift|libFoundation' || true
}

owners() {
    local place
    sed 's/.* //' <<<"$places" | while read -r place; do inside stat -c '%U:%G %a %n' "$place"; done
}

test_bare() {
    local before
    section "Without systemd"
    install_in "$root" adduser >/dev/null 2>&1
    # Install the dependencies first, so that only the package's own files are new.
    succeeds "the package is installed with its dependencies" install_in "$root" /root/headgate.deb
    inside dpkg --purge headgate >/dev/null 2>&1
    before=$(everything)
    succeeds "the package is installed again" inside dpkg -i /root/headgate.deb
    prints "the programs find every library, and need none of Swift" "" missing_libraries
    prints "the files have the expected owners and modes" "$places" owners
    shows "the daemon's user has no shell" '^headgate:x:[1-9][0-9]{2}:[0-9]+:Headgate,,,:/var/lib/headgate:/usr/sbin/nologin$' \
        inside getent passwd headgate
    succeeds "the files are those of the package" inside dpkg --verify headgate
    shows "headgated prints its version and commit" '^headgated [0-9.]+ \([0-9a-f]{40}(-changed)?\)$' inside headgated --version
    prints "the packaged configuration is valid" "the configuration is valid" \
        inside setpriv --reuid headgate --regid headgate --init-groups \
        headgated --check --config /etc/headgate/headgate.json
    prints "the units are enabled, for a later start of systemd" "/etc/systemd/system/multi-user.target.wants/headgate.service
/etc/systemd/system/sockets.target.wants/headgate.socket" inside sh -c "find /etc/systemd/system -name 'headgate*' | sort"
    succeeds "the package is purged" inside dpkg --purge headgate
    prints "no file of the package is left" "" diff <(echo "$before") <(everything)
    refused "the daemon's user is removed" '' inside getent passwd headgate
    refused "the console's user is removed" '' inside getent passwd headgate-console
    test_terminals
}

# Checks the shell completions and the manual pages.
test_terminals() {
    section "Manual pages and completions"
    install_in "$root" man-db groff zsh fish bash-completion mandoc >/dev/null 2>&1
    inside dpkg -i /root/headgate.deb >/dev/null
    local page
    for page in man1/headgate.1 man8/headgated.8 man8/headgate-console.8; do
        prints "groff finds no fault in $page" "" inside sh -c "man --warnings=w -l /usr/share/man/$page.gz 2>&1 >/dev/null"
        # The date of the pages is that of the programs.
        prints "mandoc finds no fault in $page" "" \
            inside sh -c "mandoc -T lint -W warning /usr/share/man/$page.gz | grep -v 'missing date'; true"
    done
    test_completions
}

# offers SHELL LINE WORDS: checks the completions that the shell offers after the line, using only installed files.
offers() {
    prints "$1 completes: $2" "$3" inside "$1" "/root/completes.$1" "$2"
}

test_completions() {
    cp "$here"/parts/package/tests/completes.* "$root/root"
    local shell
    for shell in bash zsh fish; do
        offers "$shell" "headgate dis" "dispatchers"
        offers "$shell" "headgate --socket /none sta" "status"
        offers "$shell" "headgate dead-letters " "list purge requeue"
        offers "$shell" "headgate watch " "barriers clients dispatchers outcomes"
        offers "$shell" "headgate config get --layer " "file programmatic remote"
        offers "$shell" "headgate pause --" "--flushable --help --json --reason --socket"
    done
}
