import CNATS
import Glibc
import HeadgateCore
import HeadgateTransport
import HeadgateWire

/// The receiver of libnats's reports of one connection, on libnats's threads: acknowledgements, and the end of the
/// connection.
///
/// libnats gets a number instead of a pointer. Its threads may call back long after the connection is destroyed, and then
/// find nothing.
// Unchecked: only the thread of the acknowledgements uses the scanner.
final class NATSReports: @unchecked Sendable {
    let link: MessageLink
    private let scanner = JSONScanner()

    init(_ link: MessageLink) {
        self.link = link
    }

    /// Handles a message to a connection's inbox: the stream's answer to the event that the subject names.
    static let onAcknowledgement: natsMsgHandler = { _, _, answer, closure in
        defer { natsMsg_Destroy(answer) }
        guard let reports = reports(closure), let subject = natsMsg_GetSubject(answer),
            let message = MessageFlights.Message(
                subject: UnsafeRawBufferPointer(start: subject, count: strlen(subject)))
        else { return }
        reports.link.answer(message, NATSAnswer(answer, reports.scanner))
    }

    // MARK: The reports of all connections

    private struct Registry {
        var reports: [UInt: NATSReports] = [:]
        var next: UInt = 1
    }

    private static let registry = Guarded(Registry())

    /// Registers a link as the receiver of a new connection's reports.
    /// - Returns: the number of the connection.
    static func add(_ link: MessageLink) -> UInt {
        registry.withLock { registry in
            let number = registry.next
            registry.next += 1
            registry.reports[number] = NATSReports(link)
            return number
        }
    }

    static func remove(_ number: UInt) {
        registry.withLock { $0.reports[number] = nil }
    }

    /// Returns the reports whose number ``closure(of:)`` has converted into this pointer, or nil if they were removed.
    static func reports(_ closure: UnsafeMutableRawPointer?) -> NATSReports? {
        registry.withLock { $0.reports[UInt(bitPattern: closure)] }
    }

    /// Converts a number into a pointer, which is never dereferenced.
    static func closure(of number: UInt) -> UnsafeMutableRawPointer? {
        UnsafeMutableRawPointer(bitPattern: number)
    }
}

extension NATSAnswer {
    private static let members = JSONNames("error", "stream", "duplicate")

    /// Reads a message that answers an event.
    fileprivate init(_ message: OpaquePointer?, _ scanner: JSONScanner) {
        guard !natsMsg_IsNoResponders(message) else {
            self.init(failure: NATS_NO_RESPONDERS)
            return
        }
        let count = Int(natsMsg_GetDataLength(message))
        self.init(json: UnsafeRawBufferPointer(start: natsMsg_GetData(message), count: count), scanner)
    }

    /// Reads a stream's answer.
    init(json: UnsafeRawBufferPointer, _ scanner: JSONScanner) {
        let found = try? scanner.scan(json).find(NATSAnswer.members)
        if let error = found?[0], error.kind == .object {
            let code = UInt32(clamping: error.member("err_code")?.int ?? 0)
            let text = error.member("description")?.string ?? ""
            self = code == 0 ? NATSAnswer(failure: NATS_ERR) : NATSAnswer(refusal: jsErrCode(code), text: text)
        } else if found?[1]?.kind == .string {
            self = found?[2]?.bool == true ? .duplicate : .stored
        } else {
            self.init(failure: NATS_ERR)
        }
    }
}

extension MessageFlights.Message {
    /// Appends the flight and the event of the message, which form the end of its acknowledgement's subject.
    func appendSubject(to subject: inout [UInt8]) {
        subject.append(contentsOf: String(flight).utf8)
        subject.append(UInt8(ascii: "."))
        subject.append(contentsOf: String(event).utf8)
    }

    /// Reads the message from the end of its acknowledgement's subject. Returns nil if the subject names no message.
    init?(subject: UnsafeRawBufferPointer) {
        let parts = subject.split(separator: UInt8(ascii: "."))
        guard parts.count > 2, let flight = MessageFlights.Message.number(parts[parts.count - 2]),
            let event = MessageFlights.Message.number(parts[parts.count - 1])
        else { return nil }
        self.init(flight: flight, event: event)
    }

    private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> Int? {
        guard (1...18).contains(digits.count) else { return nil }
        var number = 0
        for digit in digits {
            guard 0x30...0x39 ~= digit else { return nil }
            number = number * 10 + Int(digit - 0x30)
        }
        return number
    }
}
