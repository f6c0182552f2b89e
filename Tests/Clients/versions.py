#!/usr/bin/env python3
"""Checks that all packages have the daemon's version, which `Packages/Core` defines."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = "Packages/Core/Sources/HeadgateData/Version.swift", r'current = "([^"]+)"'
PLACES = [
    ("Packages/Client/C/headgate.h", r'#define HEADGATE_VERSION "([^"]+)"'),
    ("Packages/Client/Go/version.go", r'const Version = "([^"]+)"'),
    ("Packages/Client/Node/package.json", r'"version": "([^"]+)"'),
    ("Packages/Client/PHP/Headgate.php", r"const VERSION = '([^']+)'"),
    ("Packages/Client/PHP/composer.json", r'"version": "([^"]+)"'),
    ("Packages/Client/Python/headgate/__init__.py", r'__version__ = "([^"]+)"'),
    ("Packages/Client/Java/src/headgate/Client.java", r'String VERSION = "([^"]+)"'),
    ("Packages/Client/Rust/Cargo.toml", r'version = "([^"]+)"'),
    ("Packages/Client/Rust/log/Cargo.toml", r'version = "([^"]+)"'),
    ("Packages/Client/Rust/src/lib.rs", r'VERSION: &str = "([^"]+)"'),
    ("Packages/Client/Ruby/lib/headgate.rb", r'VERSION = "([^"]+)"'),
    ("Tools/parts/package/changelog", r"headgate \(([^)]+)\)"),
]


def version(path, pattern):
    found = re.search(pattern, (ROOT / path).read_text(encoding="utf-8"))
    if found is None:
        sys.exit(f"{path} has no version ({pattern})")
    return found[1]


def main():
    wanted = version(*SOURCE)
    wrong = [f"{path} says {got}" for path, pattern in PLACES if (got := version(path, pattern)) != wanted]
    if wrong:
        sys.exit(f"the daemon's version is {wanted}, but {', '.join(wrong)}")
    print(f"{len(PLACES)} packages have the version {wanted}")


main()
