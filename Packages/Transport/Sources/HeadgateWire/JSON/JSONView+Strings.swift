internal import CSimdjson
internal import Glibc
import HeadgateData

extension JSONView {
    /// What is between the quotes of a string that has no escapes; nil when it has some, or this is no string.
    public var contents: UnsafeRawBufferPointer? {
        guard kind == .string, !entry.pointee.has_escapes else { return nil }
        return inside
    }

    /// A string, unescaped; nil when this is none. Half a surrogate pair becomes U+FFFD.
    public var string: String? {
        guard kind == .string else { return nil }
        if let contents { return String(decoding: contents, as: UTF8.self) }
        var bytes: [UInt8] = []
        appendUnescaped(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether this is the string `text`, escapes or not.
    public func equals(_ text: StaticString) -> Bool {
        guard kind == .string, text.hasPointerRepresentation else { return false }
        let wanted = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard let contents else { return equalsUnescaped(wanted) }
        // Most keys that are not equal differ in length, so that memcmp is hardly ever called in vain.
        guard contents.count == wanted.count, let here = contents.baseAddress, let there = wanted.baseAddress else {
            return false
        }
        return memcmp(here, there, wanted.count) == 0
    }

    /// Appends a string's UTF-8, unescaped; nothing when this is no string. Half a surrogate pair becomes U+FFFD.
    public func appendUnescaped(to bytes: inout [UInt8]) {
        guard kind == .string else { return }
        if let contents { return bytes.append(contentsOf: contents) }
        JSONUnescaper(inside).append(to: &bytes)
    }

    /// Appends a string, unescaped, so that two that are not the same never give the same bytes: half a surrogate pair
    /// stays what it is, though that is not UTF-8. Nothing when this is no string.
    public func appendExact(to bytes: inout [UInt8]) {
        guard kind == .string else { return }
        if let contents { return bytes.append(contentsOf: contents) }
        JSONUnescaper(inside).append(to: &bytes, keepingHalves: true)
    }

    private func equalsUnescaped(_ wanted: UnsafeRawBufferPointer) -> Bool {
        var bytes: [UInt8] = []
        appendUnescaped(to: &bytes)
        return bytes.elementsEqual(wanted)
    }

    private var inside: UnsafeRawBufferPointer {
        slice(from: entry.pointee.start + 1, to: entry.pointee.end - 1)
    }
}
