import CFuzzer
import FuzzTargets
import Glibc

/// `fuzz TARGET [options of libFuzzer] [corpus folders]`
private let targets: [String: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32] = [
    "framer": { FuzzTarget.framer.run(UnsafeRawBufferPointer(start: $0, count: $1)) },
    "message": { FuzzTarget.message.run(UnsafeRawBufferPointer(start: $0, count: $1)) },
    "settings": { FuzzTarget.settings.run(UnsafeRawBufferPointer(start: $0, count: $1)) },
]

guard CommandLine.arguments.count > 1, let target = targets[CommandLine.arguments[1]] else {
    print("usage: fuzz \(targets.keys.sorted().joined(separator: "|")) [options of libFuzzer] [folders]")
    exit(2)
}
// The driver keeps the strings for as long as it runs.
private var arguments: [UnsafeMutablePointer<CChar>?] =
    ([CommandLine.arguments[0]] + CommandLine.arguments.dropFirst(2)).map { strdup($0) } + [nil]
private var count = Int32(arguments.count - 1)
private var first: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = arguments.withUnsafeMutableBufferPointer {
    $0.baseAddress
}
exit(LLVMFuzzerRunDriver(&count, &first, target))
