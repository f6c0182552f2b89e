import HeadgateCore
import HeadgateData

/// The rules by which events become OpenTelemetry log records (Behaviour K7, Docs/Guides/OTLP.md). A pure value.
struct LogMapping: Sendable, Equatable {
    /// The resource's attributes from the settings. They override attributes of the same name from the event's context.
    var resource = DataObject()
    /// The name of the instrumentation scope.
    var scopeName = "headgate"
    /// The path of the event's value that becomes the severity.
    var severity: EventPath = "data.level"
    /// The path of the event's value that becomes the body.
    var body: EventPath = "data.message"

    /// Returns the log records of some events. Only consecutive events with the same context share a resource, so that
    /// records keep their order.
    func logs(of events: [DataObject]) -> [ResourceLogs] {
        var logs: [ResourceLogs] = []
        var context: DataItem?
        for event in events {
            if logs.isEmpty || event["context"] != context {
                context = event["context"]
                logs.append(ResourceLogs(resource: resource(context?.get()), scopeName: scopeName))
            }
            logs[logs.count - 1].records.append(record(of: event))
        }
        return logs
    }

    private func record(of event: DataObject) -> LogRecord {
        var event = event
        var record = LogRecord(eventName: event.get(key: "event") ?? "")
        record.time = event.moment("time")
        record.observedTime = event.moment("received_at")
        // A value that is not a severity stays among the attributes.
        record.severity = event.take(severity, as: LogSeverity.init) ?? LogSeverity()
        record.body = event.take(body) { $0 }
        var data: DataObject = event.get(key: "data") ?? DataObject()
        (record.traceID, record.spanID) = (data.takeBytes("trace_id", 16), data.takeBytes("span_id", 8))
        record.attributes = data
        record.attributes["log.record.uid"] = event["id"]
        record.attributes["headgate.seq"] = event["seq"]
        record.attributes["headgate.key"] = event["key"]
        record.attributes["headgate.replayed"] = event["replayed"]
        return record
    }

    private func resource(_ context: DataObject?) -> DataObject {
        var attributes = DataObject()
        for (name, value) in context ?? DataObject() {
            switch name {
            case "host": attributes["host.name"] = value
            case "pid": attributes["process.pid"] = value
            case "namespace": attributes["service.namespace"] = value
            case "client": attributes.setService(value)
            default: attributes["headgate.\(name)"] = value
            }
        }
        for (name, value) in resource { attributes[name] = value }
        // OpenTelemetry requires `service.name`.
        if attributes["service.name"] == nil { attributes["service.name"] = "unknown_service" }
        return attributes
    }
}

/// Log records with the same resource.
struct ResourceLogs: Equatable {
    /// The attributes of the resource.
    let resource: DataObject
    /// The name of the instrumentation scope.
    let scopeName: String
    var records: [LogRecord] = []
}

/// A log record of OpenTelemetry's data model.
struct LogRecord: Equatable {
    /// The event's time, in nanoseconds since 1970, or 0 if it is unknown.
    var time: UInt64 = 0
    /// The time at which the daemon received the event, in nanoseconds since 1970, or 0 if it is unknown.
    var observedTime: UInt64 = 0
    var severity = LogSeverity()
    let eventName: String
    var body: DataItem?
    var attributes = DataObject()
    /// The trace's ID: 16 bytes, or empty if there is none.
    var traceID: [UInt8] = []
    /// The span's ID: 8 bytes, or empty if there is none.
    var spanID: [UInt8] = []

    init(eventName: String) {
        self.eventName = eventName
    }
}

/// The severity of a log record: its text, and its number from 1 (trace) to 24 (fatal), or 0 if the text is not known.
struct LogSeverity: Equatable {
    private(set) var number: UInt64 = 0
    private(set) var text = ""

    /// Makes the severity of a record that has none.
    init() {}

    /// Reads a severity: a text like `warning`, or a number from 1 to 24. Returns nil for any other value.
    init?(_ item: DataItem) {
        switch item {
        case .string(let text): (self.text, number) = (text, LogSeverity.numbers[text.lowercased()] ?? 0)
        case .number(let value):
            guard let number = value.int, (1...24).contains(number) else { return nil }
            self.number = UInt64(number)
        default: return nil
        }
    }

    /// The severity numbers of common level names, by OpenTelemetry's mapping of syslog and other systems.
    private static let numbers: [String: UInt64] = [
        "trace": 1, "debug": 5, "info": 9, "information": 9, "informational": 9, "notice": 10, "warn": 13,
        "warning": 13,
        "err": 17, "error": 17, "crit": 18, "critical": 18, "alert": 19, "emerg": 21, "emergency": 21, "panic": 21,
        "fatal": 21,
    ]
}

extension DataObject {
    /// Returns a time in nanoseconds since 1970, or 0 if it is absent, before 1970, or too late for 64 bits.
    fileprivate func moment(_ member: String) -> UInt64 {
        guard let text: String = get(key: member), let moment = Timestamp(rfc3339: text),
            let milliseconds = UInt64(exactly: moment.milliseconds)
        else { return 0 }
        let product = milliseconds.multipliedReportingOverflow(by: 1_000_000)
        return product.overflow ? 0 : product.partialValue
    }

    /// Removes the value at a path if it can be converted, and returns it. Members of the event itself other than its data
    /// are not removed.
    fileprivate mutating func take<Value>(_ path: EventPath, as convert: (DataItem) -> Value?) -> Value? {
        guard path.member == .data else { return value(at: [path.member.rawValue] + path.names).flatMap(convert) }
        return take([path.member.rawValue] + path.names, convert)
    }

    private mutating func take<Value>(_ names: [String], _ convert: (DataItem) -> Value?) -> Value? {
        change(names[0]) { item in
            guard names.count > 1 else {
                let value = item.flatMap(convert)
                if value != nil { item = nil }
                return value
            }
            guard case .object(var object)? = item else { return nil }
            defer { item = .object(object) }
            return object.take(Array(names.dropFirst()), convert)
        }
    }

    private func value(at names: [String]) -> DataItem? {
        guard let first = self[names[0]], names.count > 1 else { return self[names[0]] }
        return first.get(as: DataObject.self)?.value(at: Array(names.dropFirst()))
    }

    /// Removes a member whose value is `count` bytes in hexadecimal digits, and returns the bytes. Keeps any other
    /// value, and returns an empty array.
    fileprivate mutating func takeBytes(_ name: String, _ count: Int) -> [UInt8] {
        guard let text: String = get(key: name), text.utf8.count == 2 * count, let bytes = Hexadecimal.bytes(text),
            bytes.contains(where: { $0 > 0 })
        else { return [] }
        self[name] = nil
        return bytes
    }

    /// Sets the attributes for the client's name and version, like `shop/2.1`.
    fileprivate mutating func setService(_ client: DataItem) {
        guard let text: String = client.get() else { return }
        let parts = text.split(separator: "/", maxSplits: 1)
        if let name = parts.first { self["service.name"] = .string(String(name)) }
        if parts.count > 1 { self["service.version"] = .string(String(parts[1])) }
    }
}
