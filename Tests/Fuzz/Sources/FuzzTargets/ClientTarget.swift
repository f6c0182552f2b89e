import HeadgateData
import HeadgateWire

@testable import HeadgateClient

/// The Swift client's parser for a daemon's lines. Whatever the input and the state of the connection, each call must
/// end exactly once.
enum ClientTarget {
    // Shared by all inputs, as a client shares it between its connections.
    private static nonisolated(unsafe) let decoder = MessageDecoder(maxDepth: 16)

    /// Each line is a message of the daemon, or begins with a letter that selects another event.
    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        var scene = ClientScene()
        for line in input.split(separator: UInt8(ascii: "\n"), maxSplits: 64) {
            switch line.first {
            case UInt8(ascii: "{"), UInt8(ascii: "["): take(UnsafeRawBufferPointer(rebasing: line), &scene)
            case let selector?: scene.happen(selector)
            case nil: break
            }
        }
        scene.finish()
        return 0
    }

    private static func take(_ line: UnsafeRawBufferPointer, _ scene: inout ClientScene) {
        switch decoder.decode(line) {
        case .message(let message): take(message, &scene)
        case .batch(let messages): for message in messages { take(message, &scene) }
        }
    }

    private static func take(_ message: IncomingMessage, _ scene: inout ClientScene) {
        switch message {
        case .response(let response):
            if case .result(let result) = response.outcome { inspect(DataObject(result)) }
            scene.take(response)
        case .notification(let notification):
            if notification.method.equals("closing") { scene.apply { $0.closing(now: $1) } }
            if let params = notification.params { scene.watch(WatchUpdate(params)) }
        case .request(let request):
            if let batch = request.params.flatMap(DeliveredBatch.init) { precondition(batch.events.count >= 0) }
            scene.takeRequest()
        case .invalid(_, let error), .invalidResponse(_, let error):
            scene.apply { $0.gotNonsense(error.message, now: $1) }
        case .invalidNotification: break
        }
    }

    /// Parses a result as each kind of call does.
    private static func inspect(_ result: DataObject) {
        _ = DaemonGreeting(result)
        _ = (ListedDispatcher.list(in: result), ListedClient.list(in: result), OutcomeCounts.list(in: result))
        for barrier in ListedBarrier.list(in: result) ?? [] { precondition(barrier.held.count <= barrier.states.count) }
        _ = try? PeekedEvents(result)
        _ = try? DeadLetterPage(result)
    }
}

/// The state machine of a connection, its orders, and the calls that have ended.
private struct ClientScene {
    typealias Machine = ConnectionMachine<Bool>

    private var machine: Machine
    private var now: Int64 = 1
    /// Calls that have not ended.
    private var open: Set<CallNumber> = []
    private var last: CallNumber = 0
    private var backlog = WatchBacklog()

    init() {
        var options = ClientOptions()
        options.maxUnanswered = 3
        options.maxUnansweredBytes = 64
        options.connectTimeout = .seconds(60)
        options.reconnectTimeout = .seconds(60)
        machine = Machine(path: "s", options: options, seed: 7)
    }

    mutating func apply(_ fact: (inout Machine, Int64) -> Void) {
        fact(&machine, now)
        carryOut()
    }

    /// Performs the event selected by a letter.
    mutating func happen(_ selector: UInt8) {
        switch selector {
        case UInt8(ascii: "r"): call(isRepeatable: true)
        case UInt8(ascii: "n"): call(isRepeatable: false)
        case UInt8(ascii: "s"): call(isRepeatable: true, isPersistent: true)
        case UInt8(ascii: "d"): call(isRepeatable: true, deadline: now + 5_000_000)
        case UInt8(ascii: "a"): cancel()
        case UInt8(ascii: "l"): apply { $0.disconnected(now: $1) }
        case UInt8(ascii: "t"): passTime()
        case UInt8(ascii: "w"): _ = backlog.next()
        case UInt8(ascii: "x"): apply { $0.gotNonsense("x", now: $1) }
        default: apply { $0.requestAnswered(now: $1) }
        }
    }

    mutating func take(_ response: IncomingMessage.Response) {
        switch (response.id.int, response.outcome) {
        case (Machine.greetingNumber, .result(let result)):
            let limits = DaemonLimits(greeting: result)
            apply { $0.greeted(limits, now: $1) }
        case (Machine.greetingNumber, .failure(let error)): apply { $0.greetingRefused(error, now: $1) }
        case (let number?, .result): apply { $0.answered(number, .success(true), now: $1) }
        case (let number?, .failure(let error)): apply { $0.answered(number, .failure(error), now: $1) }
        case (nil, .failure(let error)): apply { $0.gotAnonymousError(error, now: $1) }
        case (nil, .result): apply { $0.gotNonsense("x", now: $1) }
        }
    }

    private var requests = 0

    mutating func takeRequest() {
        requests += 1
        apply { machine, _ in machine.requestCame() }
    }

    mutating func watch(_ update: WatchUpdate?) {
        guard let update else { return }
        backlog.add(update)
    }

    private mutating func call(isRepeatable: Bool, isPersistent: Bool = false, deadline: Int64? = nil) {
        guard open.count < 8 else { return }
        last += 1
        open.insert(last)
        let call = OutgoingCall(
            line: Array("{}\n".utf8), isRepeatable: isRepeatable, isPersistent: isPersistent, deadline: deadline)
        let number = last
        apply { $0.called(number, call, now: $1) }
    }

    private mutating func cancel() {
        guard let number = open.min() else { return }
        open.remove(number)
        apply { $0.cancelled(number, now: $1) }
    }

    private mutating func passTime() {
        now = max(now, machine.nextDeadline ?? now)
        apply { $0.timePassed(now: $1) }
    }

    mutating func finish() {
        while backlog.next() != nil {}
        apply { machine, _ in machine.closed() }
        precondition(open.isEmpty && machine.calls.isEmpty, "\(open) were told nothing")
        precondition(machine.heldBytes == 0 && machine.unanswered == (0, 0))
    }

    private mutating func carryOut() {
        while let order = machine.nextOrder() {
            switch order {
            case .connect: machine.connected(now: now)
            case .finish(let number, _):
                precondition(open.remove(number) != nil, "\(number) is told twice")
            case .grant(let number, _), .interrupt(let number, _), .giveBack(let number), .warnOfRefusal(let number, _):
                precondition(open.contains(number))
            case .greet, .write, .disconnect, .leave, .report, .warn, .refuseWaiting: break
            }
        }
        precondition(machine.heldBytes == 3 * machine.calls.count && machine.unanswered.count <= machine.calls.count)
    }
}
