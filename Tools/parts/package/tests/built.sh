# Sourced by Tools/test-package: checks the output of Tools/package without installing it.
# shellcheck shell=bash

# test_built DEB: checks the package and the files built with it.
test_built() {
    local folder tarball program
    folder=$(dirname "$1")
    tarball=$(basename "$1" .deb | tr _ -)
    tarball=${tarball%-*}-linux-${tarball##*-}
    section "The build"
    prints "lintian finds no fault in the package" "" lintian --allow-root --profile debian --fail-on warning "$1"
    succeeds "the checksums are right" in_folder "$folder" sha256sum --check --quiet SHA256SUMS
    succeeds "the tarball unpacks" tar -C "$work" -xzf "$folder/$tarball.tar.gz"
    for program in headgated headgate headgate-console; do
        shows "$program is in the tarball, and prints its commit" "^$program [0-9.]+ .$(commit)" "$work/$tarball/bin/$program" --version
    done
    succeeds "the build date of the daemon is the day of the commit" grep -aqF "$(day)" "$work/$tarball/bin/headgated"
    prints "the bill of materials names the programs by their checksums" "$(in_folder "$work/$tarball/bin" sha256sum headgate headgate-console headgated)" \
        bill_of "$work/$tarball/share/doc/headgate/sbom.spdx.json" files
    prints "the bill of materials names every library that the package depends on" "$(libraries_of "$1" | cut -d ' ' -f 1 | sort)" \
        bill_of "$work/$tarball/share/doc/headgate/sbom.spdx.json" libraries
    prints "the list of libraries has those that the package depends on" "$(libraries_of "$1")" cat "$work/$tarball/share/doc/headgate/LIBRARIES"
}

commit() {
    git -C "$here/.." -c safe.directory="$(cd "$here/.." && pwd)" rev-parse HEAD
}

# The day of the commit in the form of C's __DATE__.
day() {
    LC_ALL=C date -u -d "@$(git -C "$here/.." -c safe.directory="$(cd "$here/.." && pwd)" log -1 --format=%ct)" '+%b %e %Y'
}

# Exits if there are uncommitted files, which a build of the commit would not contain.
require_commit() {
    git -C "$here/.." -c safe.directory="$(cd "$here/.." && pwd)" status --porcelain | grep . >&2 || return 0
    echo "$0: commit these files first: the two builds are of the last commit" >&2 && exit 1
}

# test_twice DEB: builds the same commit again in another folder.
test_twice() {
    section "A second build"
    # Another user may own the repository. `git -c` does not reach the process that serves a clone.
    printf '[safe]\n\tdirectory = *\n' >"$work/gitconfig"
    GIT_CONFIG_GLOBAL=$work/gitconfig git clone -q "$here/.." "$work/twice"
    succeeds "the same commit is built in another folder" "$work/twice/Tools/package"
    prints "the bytes are the same" "$(cat "$(dirname "$1")/SHA256SUMS")" cat "$work/twice/.build/package/SHA256SUMS"
}

in_folder() {
    (cd "$1" && shift && "$@")
}

# bill_of FILE files|libraries: prints the files of a bill of materials in the form of sha256sum, or the names of its libraries.
bill_of() {
    python3 -c '
import json, sys
bill = json.load(open(sys.argv[1]))
if sys.argv[2] == "files":
    for file in bill["files"]:
        print(file["checksums"][1]["checksumValue"], "", file["fileName"].rpartition("/")[2])
else:
    linked = {one["relatedSpdxElement"] for one in bill["relationships"] if one["relationshipType"] == "DYNAMIC_LINK"}
    print("\n".join(sorted(package["name"] for package in bill["packages"] if package["SPDXID"] in linked)))
' "$1" "$2"
}

libraries_of() {
    dpkg-deb -f "$1" Depends | tr ',' '\n' | sed 's/^ //' | grep -v -e '^adduser$' -e '^tzdata$'
}
