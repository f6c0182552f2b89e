import HeadgateData

@testable import HeadgateServer

/// A client without a model: it passes each answer to the closure of its request.
final class PlainClient {
    private let connection: SimulatedConnection
    private let record: Record
    private var waiting: [Int: (Answer) -> Void] = [:]
    private var last = 0
    private var partial: [UInt8] = []

    /// - Parameter uid: The user of the client.
    init(of service: Service, on scheduler: SimulatedScheduler, _ record: Record, uid: UInt32 = 0) {
        (connection, self.record) = (SimulatedConnection(on: scheduler, uid: uid), record)
        service.accept(connection)
    }

    /// True if there are no outstanding answers.
    var isContent: Bool { waiting.isEmpty }

    /// Sends a request.
    /// - Parameter params: JSON.
    func ask(_ method: String, _ params: String, then: @escaping (Answer) -> Void) {
        last += 1
        waiting[last] = then
        record.note("\(last): \(method) \(params.prefix(200))")
        connection.send(
            Array(#"{"jsonrpc":"2.0","id":\#(last),"method":"\#(method)","params":\#(params)}"#.utf8) + [10])
    }

    /// Lets the daemon read what was sent.
    /// - Returns: True if there was something.
    @discardableResult
    func deliver() -> Bool {
        guard connection.hasNews else { return false }
        connection.deliver(most: 50_000)
        return true
    }

    func read() {
        partial += connection.take()
        while let end = partial.firstIndex(of: UInt8(ascii: "\n")) {
            take(Array(partial[..<end]))
            partial.removeFirst(end + 1)
        }
    }

    /// Disconnects the client.
    func leave() { connection.finish() }

    /// Records that the daemon is gone.
    func forget() {
        waiting = [:]
        connection.forget()
    }

    private func take(_ line: [UInt8]) {
        guard case .object(let message)? = try? DataItem(parsing: line),
            let id = message["id"].flatMap(Int.init(dataItem:)), let then = waiting.removeValue(forKey: id)
        else { return }
        if case .object(let result)? = message["result"] { return then(.result(result)) }
        let data: DataObject = message.get(key: "error", as: DataObject.self)?.get(key: "data") ?? [:]
        let reason: String = data.get(key: "reason") ?? "error"
        record.note("\(id) is refused: \(reason)")
        then(.refused(reason, data))
    }
}
