"""The sources that print messages, grouped by program in reading order."""
import re

# The families of messages, in reading order: the title, and a pattern of the sources. The first pattern that matches a source is its family.
FAMILIES = [(title, re.compile(pattern)) for title, pattern in (
    ("headgated: lines of the log", r"Packages/Server/Sources/HeadgateServer/Logging/|.*/GateWarning\.swift"),
    ("headgated: start, options, --verify", r"Tools/headgated/|.*/(DaemonCommand|DaemonPaths|StartFault|StoreReport)\.swift"),
    ("headgated: faults of the settings", r"Packages/Server/Sources/HeadgateServer/Settings/|Packages/Core/Sources/Headgate(Data/Settings|Core/(Rules|Transformations))/"
     r"|.*/Dispatchers/.*(Kind|Settings|Settings\+Reading|Endpoint|HeaderName|ConfiguredDispatcher)\.swift"),
    ("headgated: last errors of dispatchers", r"Packages/Server/Sources/HeadgateServer/Dispatchers/"),
    ("headgated: faults of the event store", r"Packages/Server/Sources/(HeadgateStore|HeadgateSQLiteStore|HeadgateServer/Stores)/"),
    ("headgated: answers, methods and metrics", r"Packages/(Server|Core|Transport)/Sources/"),
    ("headgate doctor", r"Packages/Client/Sources/HeadgateCommands/Doctor/"),
    ("headgate: help and output", r"Packages/Client/Sources/HeadgateCommands/|Tools/headgate/"),
    ("headgate and headgate-console: states and advice", r"Packages/Client/Sources/HeadgateText/"),
    ("headgate-console", r"Packages/Console/Sources/|Tools/headgate-console/"),
    ("clients", r"Packages/Client/(?!(.*/)?[Tt]ests?/|.*_test\.go$|.*\.test\.)"),
)]
NOT_PRINTED = re.compile(r"Packages/[A-Za-z]+/Sources/(HeadgateSeeds|[A-Za-z]+Testing)/|.*/(Bash|Fish|Zsh)Completions\.swift")
TAG = re.compile(r"<[^>]*>|&[a-z]+;")
WORD = re.compile(r"[A-Za-z]{2,}")


def of(path):
    """Returns the title of a source's family, or None if people do not read its texts."""
    if NOT_PRINTED.match(path):
        return None
    return next((title for title, pattern in FAMILIES if pattern.match(path)), None)


def show(messages):
    """Prints messages (each a path, a line and a text) by family and file. Texts of fewer than two words are left out."""
    by_family = {title: {} for title, _ in FAMILIES}
    for path, line, text in messages:
        plain = " ".join(TAG.sub(" ", text).split())
        if len(WORD.findall(plain)) > 1:
            by_family[of(path)].setdefault(path, []).append((line, plain))
    for title, by_file in by_family.items():
        if by_file:
            print(f"\n# {title}")
        for path, found in by_file.items():
            print(path)
            for line, text in found:
                print(f"{line:5}  {text}")
