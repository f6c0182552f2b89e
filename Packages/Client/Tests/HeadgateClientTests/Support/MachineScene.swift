import HeadgateWire

@testable import HeadgateClient

/// A machine with a manual clock, and the orders that the machine has issued.
struct MachineScene {
    typealias Machine = ConnectionMachine<String>

    var machine: Machine
    /// The time of the manual clock, in nanoseconds.
    var now: Int64 = 1_000
    private(set) var orders: [String] = []
    /// The results of the calls, in the order of their reports.
    private(set) var results: [(call: CallNumber, result: Result<String, ClientError>)] = []
    /// The states that were reported, and the warnings.
    private(set) var states: [ClientState] = []
    private(set) var warnings: [ClientError] = []
    private var next: CallNumber = 0

    init(_ change: (inout ClientOptions) -> Void = { _ in }) {
        var options = ClientOptions()
        options.connectTimeout = nil
        change(&options)
        machine = Machine(path: "s", options: options, seed: 7)
    }

    /// Makes a call whose line is `TEXTnumber` and LF, and returns the call's number.
    @discardableResult
    mutating func call(
        _ text: String = "t", repeatable: Bool = true, persistent: Bool = false, within deadline: Int64? = nil
    ) -> CallNumber {
        next += 1
        let line = Array("\(text)\(next)\n".utf8)
        let call = OutgoingCall(
            line: line, isRepeatable: repeatable, isPersistent: persistent, deadline: deadline.map { now + $0 })
        machine.called(next, call, now: now)
        drain()
        return next
    }

    /// Passes a fact to the machine, and records its orders.
    mutating func apply(_ fact: (inout Machine, Int64) -> Void) {
        fact(&machine, now)
        drain()
    }

    /// Removes and returns the orders since the last call.
    mutating func takeOrders() -> [String] {
        defer { orders = [] }
        return orders
    }

    /// Connects and greets, from the moment that `connect` was ordered.
    mutating func open() {
        apply { $0.connected(now: $1) }
        apply { $0.greeted(DaemonLimits(), now: $1) }
    }

    mutating func answer(_ number: CallNumber, _ answer: String = "fine") {
        apply { $0.answered(number, .success(answer), now: $1) }
    }

    mutating func refuse(_ number: CallNumber, _ error: RPCError) {
        apply { $0.answered(number, .failure(error), now: $1) }
    }

    mutating func lose() {
        apply { $0.disconnected(now: $1) }
    }

    /// Advances the time to the machine's next deadline.
    mutating func passTime() {
        guard let deadline = machine.nextDeadline else { return }
        now = max(now, deadline)
        apply { $0.timePassed(now: $1) }
    }

    private mutating func drain() {
        while let order = machine.nextOrder() {
            switch order {
            case .connect: orders.append("connect")
            case .greet: orders.append("greet")
            case .disconnect: orders.append("disconnect")
            case .leave: orders.append("leave")
            case .write(let bytes): orders.append(String(decoding: bytes.dropLast(), as: UTF8.self))
            case .finish(let number, let result):
                orders.append("finish \(number)")
                results.append((number, result))
            case .grant(let number, let answer): orders.append("grant \(number) \(answer)")
            case .interrupt(let number, let error): orders.append("interrupt \(number): \(error)")
            case .giveBack(let number): orders.append("give back \(number)")
            case .warnOfRefusal(let number, let error): orders.append("warn \(number): \(error.message)")
            case .report(let state): states.append(state)
            case .warn(let error): warnings.append(error)
            case .refuseWaiting: break
            }
        }
    }
}

extension ClientError {
    static let noSocket = ClientError.cannotConnect(path: "s", cause: "no such socket")
}
