import HeadgateData
import HeadgateWire

extension ClientConnection {
    /// Calls a method of the daemon.
    ///
    /// Methods that change nothing are called again when the connection breaks. Others end with
    /// ``ClientError/disconnected`` if they had been written.
    /// - Parameters:
    ///   - method: its name in the protocol.
    ///   - params: its params.
    ///   - deadline: how long the caller waits; nil is for ever.
    ///   - completion: told on the loop what came of it.
    @discardableResult
    public func call(
        _ method: String, _ params: DataObject = [:], deadline: Duration? = nil, _ completion: @escaping Completion
    ) -> Call {
        let call = reserve()
        self.call(call, method, params, deadline: deadline, completion)
        return call
    }

    /// Tracks an event, in the order of the calls. Completed with the result of `track`; see ``TrackReceipt``.
    @discardableResult
    public func track(_ event: OutgoingEvent, deadline: Duration? = nil, _ completion: @escaping Completion) -> Call {
        let call = reserve()
        track(call, event, deadline: deadline, completion)
        return call
    }

    /// Tracks an event that is there as text, in the order of the calls. Completed with the result of `track`; see
    /// ``TrackReceipt``.
    @discardableResult
    public func track(_ event: EventText, deadline: Duration? = nil, _ completion: @escaping Completion) -> Call {
        let call = reserve()
        let line = ClientConnection.line(call, "track") { writer in
            event.write(into: &writer, id: { ids.next(at: loop.wallNow) })
        }
        begin(call, line, isRepeatable: true, deadline: deadline, completion)
        return call
    }

    func call(
        _ call: Call, _ method: String, _ params: DataObject, deadline: Duration?, _ completion: @escaping Completion
    ) {
        let line = ClientConnection.line(call, method, params)
        let isRepeatable = ClientConnection.repeatableMethods.contains(method)
        begin(call, line, isRepeatable: isRepeatable, deadline: deadline, completion)
    }

    func track(_ call: Call, _ event: OutgoingEvent, deadline: Duration?, _ completion: @escaping Completion) {
        let id = event.id ?? ids.next(at: loop.wallNow)
        let line = ClientConnection.line(call, "track") { event.write(into: &$0, id: id) }
        begin(call, line, isRepeatable: true, deadline: deadline, completion)
    }

    func trackMany(_ call: Call, _ events: [OutgoingEvent], deadline: Duration?, _ completion: @escaping Completion) {
        let line = ClientConnection.line(call, "track_many") { writer in
            writer.beginObject()
            writer.member("events")
            writer.beginArray()
            for event in events {
                writer.element()
                event.write(into: &writer, id: event.id ?? ids.next(at: loop.wallNow))
            }
            writer.endArray()
            writer.endObject()
        }
        begin(call, line, isRepeatable: true, deadline: deadline, completion)
    }

    static func line(_ call: Call, _ method: String, _ params: DataObject) -> [UInt8] {
        var writer = JSONWriter()
        writer.request(id: call.number, method: method, params: params)
        writer.endLine()
        return writer.bytes
    }

    private static func line(
        _ call: Call, _ method: StaticString, params: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.request(id: call.number, method: method, params: params)
        writer.endLine()
        return writer.bytes
    }

    /// The methods that change nothing. An event is tracked under an id, so that `track` is repeatable, too; but only
    /// here, where it is certain to have one.
    // written by Tools/protocol: repeatable
    private static let repeatableMethods: Set<String> = [
        "ping", "rpc.discover", "status", "barrier.list", "dispatcher.list", "queue.peek", "dead_letters.list",
        "config.get",
    ]
    // end of what Tools/protocol has written
}
