import HeadgateCore
import HeadgateData
import HeadgateWire

/// The form in which dispatchers of kind `otlp` send events: a request of the OpenTelemetry protocol for logs, in JSON or
/// protobuf (Behaviour K7).
struct OTLPForm: HTTPForm {
    var encoding = Encoding.json
    var mapping = LogMapping()

    enum Encoding: String, Sendable, CaseIterable {
        case json
        case protobuf
    }

    var batchFormat: BatchFormat { .jsonArray }

    var contentType: String {
        switch encoding {
        case .json: "application/json"
        case .protobuf: "application/x-protobuf"
        }
    }

    var conversion: (@Sendable ([UInt8]) -> [UInt8])? {
        { [self] body in encoded(mapping.logs(of: DataItem.events(in: body))) }
    }

    private func encoded(_ logs: [ResourceLogs]) -> [UInt8] {
        switch encoding {
        case .json: LogsJSON(logs).bytes
        case .protobuf: LogsProtobuf(logs).bytes
        }
    }

    // MARK: Answers

    let successLimit = 16_384

    /// Returns the result of an accepted request, of which the server may have rejected some records (`partialSuccess`).
    func outcome(ofSuccess body: [UInt8]) -> SendResult {
        let partial = PartialSuccess(body, encoding)
        guard partial.rejected > 0 else { return .delivered }
        return .partlyRejected(events: partial.rejected, message: partial.message)
    }

    /// Returns the message of a refusal in protobuf. A refusal in JSON is returned unchanged.
    func message(ofRefusal body: [UInt8]) -> [UInt8] {
        guard encoding == .protobuf, let message = ProtobufReader(body).bytes(of: 2) else { return body }
        return message
    }
}

extension DataItem {
    /// Returns the events of a body in the form of ``BatchFormat/jsonArray``.
    fileprivate static func events(in body: [UInt8]) -> [DataObject] {
        let scanner = JSONScanner(maxDepth: JSONScanner.greatestDepth)
        return body.withUnsafeBytes { bytes in
            (try? scanner.scan(bytes))?.elements?.compactMap { $0.item.get() } ?? []
        }
    }
}
