import Foundation

/// A system call of the harness that failed.
struct SystemError: Error, CustomStringConvertible {
    let description: String

    init(_ call: String, code: Int32 = errno) {
        description = "\(call): \(String(cString: strerror(code)))"
    }

    /// The call's answer, or its error when it is negative.
    static func check(_ answer: Int32, _ call: String) throws -> Int32 {
        guard answer >= 0 else { throw SystemError(call) }
        return answer
    }
}
