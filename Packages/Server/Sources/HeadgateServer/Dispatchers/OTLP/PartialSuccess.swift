import HeadgateData
import HeadgateWire

/// The part of a batch that an OpenTelemetry server rejected: `partial_success` of its answer.
struct PartialSuccess: Equatable {
    /// The number of rejected records.
    private(set) var rejected = 0
    /// The server's reason, without control characters.
    private(set) var message = ""

    /// Reads an answer. An answer that cannot be read rejects nothing.
    init(_ body: [UInt8], _ encoding: OTLPForm.Encoding) {
        switch encoding {
        case .json: readJSON(body)
        case .protobuf: readProtobuf(body)
        }
        message = String(
            String.UnicodeScalarView(message.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F })
        )
        .cut(toBytes: PartialSuccess.longestMessage)
    }

    /// The most bytes of a message in the log.
    private static let longestMessage = 512

    private mutating func readJSON(_ body: [UInt8]) {
        let scanner = JSONScanner()
        let answer: DataItem? = body.withUnsafeBytes { (try? scanner.scan($0))?.item }
        guard let partial: DataObject = answer?.get(as: DataObject.self)?.get(key: "partialSuccess") else { return }
        // Protobuf's JSON encoding writes 64-bit numbers as strings, and readers accept both forms.
        rejected =
            partial.get(key: "rejectedLogRecords") ?? partial.get(key: "rejectedLogRecords").flatMap { Int($0) } ?? 0
        message = partial.get(key: "errorMessage") ?? ""
    }

    private mutating func readProtobuf(_ body: [UInt8]) {
        guard let partial = ProtobufReader(body).bytes(of: 1) else { return }
        let fields = ProtobufReader(partial)
        rejected = fields.number(of: 1).flatMap { Int(exactly: $0) } ?? 0
        message = fields.bytes(of: 2).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
