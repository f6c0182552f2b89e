import HeadgateData

/// Log records in OTLP's JSON encoding.
struct LogsJSON {
    private var writer = JSONWriter()

    var bytes: [UInt8] { writer.bytes }

    init(_ logs: [ResourceLogs]) {
        writer.beginObject()
        writer.member("resourceLogs")
        writer.array(of: logs) { writer, logs in writer.resourceLogs(logs) }
        writer.endObject()
    }
}

extension JSONWriter {
    fileprivate mutating func array<Element>(
        of elements: some Sequence<Element>, _ body: (inout JSONWriter, Element) -> Void
    ) {
        beginArray()
        for value in elements {
            element()
            body(&self, value)
        }
        endArray()
    }

    fileprivate mutating func resourceLogs(_ logs: ResourceLogs) {
        beginObject()
        member("resource")
        beginObject()
        attributes(logs.resource)
        endObject()
        member("scopeLogs")
        beginArray()
        element()
        beginObject()
        member("scope")
        beginObject()
        member("name", logs.scopeName)
        endObject()
        member("logRecords")
        array(of: logs.records) { writer, record in writer.record(record) }
        endObject()
        endArray()
        endObject()
    }

    private mutating func record(_ record: LogRecord) {
        beginObject()
        // Protobuf's JSON encoding writes 64-bit numbers as strings.
        if record.time > 0 { member("timeUnixNano", String(record.time)) }
        if record.observedTime > 0 { member("observedTimeUnixNano", String(record.observedTime)) }
        if record.severity.number > 0 { member("severityNumber", record.severity.number) }
        if !record.severity.text.isEmpty { member("severityText", record.severity.text) }
        if !record.eventName.isEmpty { member("eventName", record.eventName) }
        if let body = record.body {
            member("body")
            anyValue(body)
        }
        attributes(record.attributes)
        if !record.traceID.isEmpty { member("traceId", record.traceID.hexadecimal) }
        if !record.spanID.isEmpty { member("spanId", record.spanID.hexadecimal) }
        endObject()
    }

    private mutating func attributes(_ object: DataObject) {
        guard !object.isEmpty else { return }
        member("attributes")
        keyValues(object)
    }

    private mutating func keyValues(_ object: DataObject) {
        array(of: object) { writer, attribute in
            writer.beginObject()
            writer.member("key", attribute.key)
            writer.member("value")
            writer.anyValue(attribute.value)
            writer.endObject()
        }
    }

    private mutating func anyValue(_ item: DataItem) {
        beginObject()
        switch item {
        case .null: break
        case .bool(let value): member("boolValue", value)
        case .string(let value): member("stringValue", value)
        case .number(let number): numberValue(LogNumber(number))
        case .array(let items):
            member("arrayValue")
            beginObject()
            member("values")
            array(of: items) { writer, item in writer.anyValue(item) }
            endObject()
        case .object(let object):
            member("kvlistValue")
            beginObject()
            member("values")
            keyValues(object)
            endObject()
        }
        endObject()
    }

    private mutating func numberValue(_ number: LogNumber) {
        switch number {
        case .whole(let value): member("intValue", String(value))
        case .fraction(let value): member("doubleValue", item: .number(DataNumber(value)))
        case .text(let value): member("stringValue", value)
        }
    }
}

/// A JSON number as a value of OpenTelemetry, which has whole numbers of 64 bits and doubles.
enum LogNumber: Equatable {
    case whole(Int64)
    case fraction(Double)
    /// The digits of a number that fits neither type.
    case text(String)

    init(_ number: DataNumber) {
        if let whole = Int64(number.text) {
            self = .whole(whole)
        } else if let value = number.double, number.text.utf8.contains(where: { $0 == 0x2E || $0 | 0x20 == 0x65 }) {
            self = .fraction(value)
        } else {
            self = .text(number.text)
        }
    }
}

extension [UInt8] {
    /// The bytes in hexadecimal digits, in lower case. OTLP writes IDs in this form, although protobuf's JSON encoding
    /// has Base64 for bytes.
    fileprivate var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
