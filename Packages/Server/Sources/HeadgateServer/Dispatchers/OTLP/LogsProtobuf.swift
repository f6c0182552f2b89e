import HeadgateData

/// Log records in OTLP's protobuf encoding. The numbers are those of the fields in `opentelemetry/proto/logs/v1` and
/// `common/v1`.
struct LogsProtobuf {
    private var writer = ProtobufWriter()

    var bytes: [UInt8] { writer.bytes }

    init(_ logs: [ResourceLogs]) {
        for logs in logs { writer.message(1) { $0.resourceLogs(logs) } }
    }
}

extension ProtobufWriter {
    fileprivate mutating func resourceLogs(_ logs: ResourceLogs) {
        message(1) { $0.keyValues(1, logs.resource) }
        message(2) { scope in
            scope.message(1) { $0.string(1, logs.scopeName) }
            for record in logs.records { scope.message(2) { $0.record(record) } }
        }
    }

    private mutating func record(_ record: LogRecord) {
        if record.time > 0 { fixed64(1, record.time) }
        if record.severity.number > 0 { varint(2, record.severity.number) }
        if !record.severity.text.isEmpty { string(3, record.severity.text) }
        if let body = record.body { message(5) { $0.anyValue(body) } }
        keyValues(6, record.attributes)
        if !record.traceID.isEmpty { bytes(9, record.traceID) }
        if !record.spanID.isEmpty { bytes(10, record.spanID) }
        if record.observedTime > 0 { fixed64(11, record.observedTime) }
        if !record.eventName.isEmpty { string(12, record.eventName) }
    }

    private mutating func keyValues(_ field: UInt64, _ object: DataObject) {
        for (key, value) in object {
            message(field) { pair in
                pair.string(1, key)
                pair.message(2) { $0.anyValue(value) }
            }
        }
    }

    private mutating func anyValue(_ item: DataItem) {
        switch item {
        case .null: break
        case .bool(let value): varint(2, value ? 1 : 0)
        case .string(let value): string(1, value)
        case .number(let number): numberValue(LogNumber(number))
        case .array(let items):
            message(5) { array in
                for item in items { array.message(1) { $0.anyValue(item) } }
            }
        case .object(let object): message(6) { $0.keyValues(1, object) }
        }
    }

    private mutating func numberValue(_ number: LogNumber) {
        switch number {
        case .whole(let value): varint(3, UInt64(bitPattern: value))
        case .fraction(let value): fixed64(4, value.bitPattern)
        case .text(let value): string(1, value)
        }
    }
}
