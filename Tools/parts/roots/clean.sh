# Sourced: clean Debian 12 roots, created by debootstrap, whose processes have their own namespaces. Requires root.
#
# Downloads are cached in $XDG_CACHE_HOME/headgate (~/.cache/headgate).
# shellcheck shell=bash

suite=bookworm
roots=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/headgate

# Prints the URL of this machine's Debian mirror.
mirror() {
    local found
    found=$(grep -rhsv '^ *#' /etc/apt/sources.list /etc/apt/sources.list.d | grep -oE 'https?://[^] ]+/debian/?' || true)
    found=${found%%$'\n'*}
    echo "${found:-http://deb.debian.org/debian}"
}

# Exits if namespaces, mounts or debootstrap are missing, since clean roots need them.
require_roots() {
    [[ $(id -u) -eq 0 ]] || { echo "$0: a clean root needs root: sudo $0" >&2 && exit 1; }
    command -v debootstrap >/dev/null || { echo "$0: debootstrap is missing: Tools/setup --roots" >&2 && exit 1; }
    unshare --mount --pid --net --ipc --uts --fork true 2>/dev/null ||
        { echo "$0: this machine grants no namespaces" >&2 && exit 1; }
}

# Prints the path of the base system's archive, which is downloaded if it is missing.
base_system() {
    local base=$cache/$suite.tar
    [[ -f $base ]] && return
    mkdir -p "$cache"
    echo "Fetching Debian ($suite) from $(mirror)"
    debootstrap --variant=minbase "$suite" "$base.folder" "$(mirror)" >"$base.log" 2>&1 ||
        { tail -n 20 "$base.log" >&2 && exit 1; }
    tar -C "$base.folder" -cf "$base.part" .
    mv "$base.part" "$base"
    rm -rf "$base.folder"
}

# new_root FOLDER: creates a minimal Debian that can install packages without starting services.
new_root() {
    base_system
    mkdir -p "$1" "$cache/archives"
    tar -C "$1" -xf "$cache/$suite.tar"
    find "$cache/archives" -name '*.deb' -exec cp -t "$1/var/cache/apt/archives" {} +
    cp -L /etc/resolv.conf "$1/etc/resolv.conf"
    # Every installed Debian has this file, but debootstrap does not create it.
    printf '127.0.0.1\tlocalhost\n::1\tlocalhost\n' >"$1/etc/hosts"
    printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
    chmod 0755 "$1/usr/sbin/policy-rc.d"
    echo 'APT::Keep-Downloaded-Packages "true";' >"$1/etc/apt/apt.conf.d/keep"
}

# remove_root FOLDER: removes the root, and keeps its downloaded packages for the next one.
remove_root() {
    [[ -d $1 ]] || return 0
    find "$1/var/cache/apt/archives" -maxdepth 1 -name '*.deb' -exec cp -n -t "$cache/archives" {} +
    rm -rf --one-file-system "$1"
}

# in_root FOLDER [options of enter] COMMAND …: runs a command with the machine's network, but not its processes and files.
in_root() {
    unshare --mount --pid --uts --ipc --fork --kill-child --propagation private \
        "$roots/enter" "$@"
}

# install_in FOLDER PACKAGE …: installs packages. It downloads the package lists again only if the present ones fail.
install_in() {
    local install=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install "${@:2}")
    in_root "$1" "${install[@]}" || { in_root "$1" apt-get -qq update && in_root "$1" "${install[@]}"; }
}

# -- A root that systemd has booted, with a network of its own --------------------------------------------------------

booter='' booted=''

children_of() {
    cat "/proc/$1/task/$1/children" 2>/dev/null
}

# boot_root FOLDER: boots the root, and returns when systemd has started all units. The output is in FOLDER.console.
boot_root() {
    local tries=0
    unshare --mount --propagation private "$roots/boot" "$1" >"$1.console" 2>&1 </dev/null &
    booter=$!
    until in_booted test -S /run/systemd/private 2>/dev/null; do
        kill -0 "$booter" 2>/dev/null && ((++tries < 600)) || { cat "$1.console" >&2 && return 1; }
        sleep 0.1
        booted=$(for namespace in $(children_of "$booter"); do children_of "$namespace"; done | tr -d ' ')
    done
    in_booted systemctl is-system-running --wait
}

# in_booted COMMAND …: runs a command as root in the booted root.
in_booted() {
    nsenter --target "${booted:-none}" --all --root --wd \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"
}

# Shuts the booted root down, as a machine would be.
halt_root() {
    kill -s RTMIN+4 "$booted"
    wait "$booter"
    booter='' booted=''
}

# Kills a root that is still booted.
kill_root() {
    [[ -n $booter ]] || return 0
    kill "$booter" 2>/dev/null || true
    wait "$booter" 2>/dev/null || true
    booter='' booted=''
}
