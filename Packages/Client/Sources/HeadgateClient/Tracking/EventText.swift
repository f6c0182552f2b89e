import HeadgateData
import HeadgateWire

/// An event that is there as JSON text, the params of `track`. It is sent as it is, with all its digits and in its
/// order (Behaviour P6); whether its members make sense is for the daemon to say.
public struct EventText: Sendable {
    private let json: [UInt8]
    private let hasID: Bool
    private let hasMembers: Bool

    /// Why a text is no event.
    public enum Fault: Error, Sendable, Equatable {
        /// It is not JSON that can be sent.
        case unreadable(JSONFault)
        /// It is JSON, but no object.
        case noObject
    }

    /// Checks a text of one line.
    public init(_ line: UnsafeRawBufferPointer, scanner: JSONScanner) throws(Fault) {
        let view: JSONView
        do throws(JSONFault) {
            view = try scanner.scan(line)
        } catch {
            throw .unreadable(error)
        }
        guard view.kind == .object else { throw .noObject }
        json = Array(view.raw)
        hasID = view.member("id") != nil
        hasMembers = view.count > 0
    }

    /// Checks a text of one line.
    public init(_ line: [UInt8], scanner: JSONScanner) throws(Fault) {
        self = try line.withUnsafeBufferPointer { bytes throws(Fault) in
            try EventText(UnsafeRawBufferPointer(bytes), scanner: scanner)
        }
    }

    /// Writes it with the id that it has, else with one that is made.
    func write(into writer: inout JSONWriter, id: () -> String) {
        guard !hasID else { return writer.raw(json) }
        writer.raw(#"{"id":"#)
        writer.string(id())
        if hasMembers { writer.raw(",") }
        writer.raw(Array(json.dropFirst()))
    }
}
