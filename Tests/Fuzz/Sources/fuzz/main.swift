import CFuzzer
import FuzzTargets
import Glibc

/// `fuzz TARGET [options of libFuzzer] [corpus folders]` tries inputs, and observes the coverage of the whole program.
/// `fuzz --fast TARGET …` observes only the code that the inputs in the folders reach, which is several times as fast.
/// `fuzz --targets` prints a line for each target, with its name, its longest input, and `c` or `swift` for the
/// parser's language.
private let usage = "usage: fuzz [--fast] TARGET [options of libFuzzer] [folders], or fuzz --targets"

private var rest = CommandLine.arguments.dropFirst()
if rest == ["--targets"] {
    for target in FuzzTarget.allCases {
        print("\(target.rawValue) \(target.longestInput) \(target.isReadByC ? "c" : "swift")")
    }
    exit(0)
}

/// Returns the target from the arguments. When libFuzzer starts the program itself to merge inputs, it passes only
/// options, so the name is also kept in the environment.
@MainActor private func takeTarget() -> FuzzTarget? {
    let variable = "HEADGATE_FUZZ_TARGET"
    if let name = rest.first, !name.hasPrefix("-") {
        rest.removeFirst()
        setenv(variable, name, 1)
    }
    return getenv(variable).flatMap { FuzzTarget(rawValue: String(cString: $0)) }
}

private let isFast = rest.first == "--fast"
if isFast { rest.removeFirst() }
guard let chosen = takeTarget() else {
    print(usage)
    exit(2)
}
// A global, because the function that libFuzzer calls cannot capture anything.
private let target = chosen

if isFast {
    for folder in rest where !folder.hasPrefix("-") { Corpus(folder).run(target) }
    print("watching \(fuzzer_watch_reached(16)) edges")
} else {
    print("watching \(fuzzer_watch_all()) edges")
}
// The driver keeps the strings as long as it runs.
private var arguments: [UnsafeMutablePointer<CChar>?] =
    ([CommandLine.arguments[0]] + rest).map { strdup($0) } + [nil]
private var count = Int32(arguments.count - 1)
private var first: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = arguments.withUnsafeMutableBufferPointer {
    $0.baseAddress
}
exit(LLVMFuzzerRunDriver(&count, &first) { target.run(UnsafeRawBufferPointer(start: $0, count: $1)) })
