/// How deep arrays and objects are nested in a JSON text, told byte by byte.
struct NestingDepth {
    private(set) var deepest = 0
    private var depth = 0
    private var isInString = false
    private var isEscaped = false

    /// Measures a text that is valid JSON.
    init(of json: [UInt8]) {
        for byte in json {
            if isInString { passString(byte) } else { pass(byte) }
        }
    }

    private mutating func pass(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): isInString = true
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            depth += 1
            deepest = max(deepest, depth)
        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
        default: return
        }
    }

    private mutating func passString(_ byte: UInt8) {
        if isEscaped {
            isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
            isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
            isInString = false
        }
    }
}
