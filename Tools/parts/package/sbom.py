"""Writes the software bill of materials of the package, in SPDX 2.3 as JSON. Identical builds have identical bills.

    sbom.py VERSION ARCHITECTURE COMMIT LIBRARIES PROGRAM …     LIBRARIES: the packages of Debian that the programs need
"""

import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys

# The licences of the libraries, as their copyright files in Debian say. A library without an entry ends the build.
LICENCES = {
    "libc6": "LGPL-2.1-or-later",
    "libcurl4": "curl",
    "libgcc-s1": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "liblz4-1": "BSD-2-Clause",
    "libmicrohttpd12": "LGPL-2.1-or-later",
    "libnats3.4": "Apache-2.0",
    "librdkafka1": "BSD-2-Clause",
    "libre2-9": "BSD-3-Clause",
    "libsimdjson14": "Apache-2.0",
    "libsqlite3-0": "blessing",
    "libssl3": "Apache-2.0",
    "libstdc++6": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libuv1": "MIT",
    "libxxhash0": "BSD-2-Clause",
    "libzstd1": "BSD-3-Clause OR GPL-2.0-only",
    "zlib1g": "Zlib",
}
SWIFT_LICENCE = "Apache-2.0 WITH Swift-exception"


def output(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def package(name: str, version: str, licence: str, supplier: str, location: str | None = None) -> dict:
    entry = {
        "SPDXID": f"SPDXRef-{name.replace('+', '-plus')}", "name": name, "versionInfo": version, "supplier": supplier,
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": licence,
        "licenseDeclared": licence, "copyrightText": "NOASSERTION",
    }  # fmt: skip
    if location:
        entry["externalRefs"] = [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": location}
        ]
    return entry


def debian(name: str, architecture: str) -> dict:
    if name not in LICENCES:
        sys.exit(f"sbom.py: {name} has no licence here: read /usr/share/doc/{name}/copyright, and add it")
    version = output("dpkg-query", "-W", "-f", "${Version}", f"{name}:{architecture}")
    location = f"pkg:deb/debian/{name.replace('+', '%2B')}@{version.replace('+', '%2B')}?arch={architecture}"
    return package(name, version, LICENCES[name], "Organization: Debian", location)


def swift() -> dict:
    version = output("swift", "--version").split("Swift version ")[1].split()[0]
    return package("swift-runtime", version, SWIFT_LICENCE, "Organization: Swift project", f"pkg:github/swiftlang/swift@{version}")


def file(path: pathlib.Path) -> dict:
    content = path.read_bytes()
    return {
        "SPDXID": f"SPDXRef-file-{path.name}", "fileName": f"./usr/bin/{path.name}", "fileTypes": ["BINARY"],
        "checksums": [
            {"algorithm": "SHA1", "checksumValue": hashlib.sha1(content).hexdigest()},
            {"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()},
        ],
        "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION",
    }  # fmt: skip


def bill(version: str, architecture: str, commit: str, libraries: str, programs: list[str]) -> dict:
    files = [file(pathlib.Path(program)) for program in sorted(programs)]
    sums = sorted(entry["checksums"][0]["checksumValue"] for entry in files)
    own = package("headgate", version, "NOASSERTION", "Organization: Headgate maintainers")
    own |= {
        "filesAnalyzed": True, "hasFiles": [entry["SPDXID"] for entry in files],
        "packageVerificationCode": {"packageVerificationCodeValue": hashlib.sha1("".join(sums).encode()).hexdigest()},
        "licenseInfoFromFiles": ["NOASSERTION"], "sourceInfo": f"commit {commit}",
    }  # fmt: skip
    runtime = swift()
    needed = [debian(library.split()[0], architecture) for library in libraries.split(",")]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own)]
    relations += [(own["SPDXID"], "STATIC_LINK", runtime)]
    relations += [(own["SPDXID"], "DYNAMIC_LINK", library) for library in needed]
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"headgate-{version}-{architecture}",
        "documentNamespace": f"https://headgate.example/spdx/{version}/{architecture}/{sums[0]}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: Tools/package"]},
        "packages": [own, runtime, *needed], "files": files,
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other["SPDXID"]}
            for one, kind, other in relations
        ],
    }  # fmt: skip


version, architecture, commit, libraries, *programs = sys.argv[1:]
print(json.dumps(bill(version, architecture, commit, libraries, programs), indent=1))
