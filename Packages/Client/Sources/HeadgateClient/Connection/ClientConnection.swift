import HeadgateData
import HeadgateTransport
import HeadgateWire

/// A lasting connection to the daemon. It connects when a call needs it, and again when the connection was lost. It
/// stores each tracked event once, whatever happens to the daemon meanwhile (Behaviour Q7).
///
/// It lives on an event loop and calls back there. Use it in programs that run an event loop of their own, and
/// ``HeadgateClient`` in programs that use tasks.
public final class ClientConnection {
    /// A function that is called once with the outcome of a call. The answer is only valid during the call of the
    /// function: read it, or copy its `item`.
    ///
    /// The failure is a ``ClientError``, or `CancellationError` after ``cancel(_:)``.
    public typealias Completion = (Result<JSONView, any Error>) -> Void

    /// A call that has not ended.
    public typealias Call = ClientCall

    /// The path of the daemon's socket.
    public let socketPath: String
    let loop: any ClientLoop
    private let identity: ClientIdentity
    private let options: ClientOptions
    private var machine: ConnectionMachine<JSONView>
    private var link: Link?
    private lazy var timer = loop.timer { [weak self] in self?.timePassed() }
    private var completions: [CallNumber: Completion] = [:]
    /// The persistent calls and their callers.
    private var persistentCalls: [CallNumber: PersistentCall] = [:]
    /// The watches of this client, by their persistent calls.
    var watches: [CallNumber: ClientWatch] = [:]
    /// The watches that this client ended and the daemon still has.
    var cancelledWatches = CancelledWatches()
    /// The subscriptions of this client, by dispatcher.
    var subscriptions: [String: ClientSubscription] = [:]
    /// The boards that this client serves, by name.
    var boards: [String: ServedBoard] = [:]
    /// The barriers that this client registered, by id.
    var barriers: [String: OwnBarrier] = [:]
    /// The barriers that are being unregistered. The daemon may know them from an earlier connection.
    var barrierEndings: [String: BarrierEnding] = [:]
    /// The persistent call of the application's status that the daemon took last.
    var announcement: Call?
    /// The result of the last `hello`, or nil before the first.
    private(set) var greeting: DataObject?
    /// The functions that handle the daemon's requests, by method.
    private var services: [String: (JSONView?, DaemonRequest) -> Void] = [:]
    private var lastNumber: CallNumber = ConnectionMachine<JSONView>.greetingNumber
    private var isSettling = false
    private var waitingForRoom: (() -> Void)?
    /// The events of tasks that wait for room.
    private var roomLine = RoomLine()
    /// The number of tracked events whose callers have no outcome yet, with the events that wait for room.
    private(set) var unsettledEvents = 0
    /// The callers that wait until no event is unsettled.
    private var drains: [CallNumber: Drain] = [:]
    /// True once the program closes the client: the client takes no further events and no further requests of the
    /// daemon.
    private(set) var isEnding = false
    /// Generates ids for events that have none.
    var ids = UUIDv7()

    /// Creates a connection, which is made at the first call.
    public convenience init(
        to socketPath: String = SocketPath.default, as identity: ClientIdentity,
        options: ClientOptions = ClientOptions(),
        on loop: EventLoop
    ) {
        loop.preconditionCurrent()
        self.init(to: socketPath, as: identity, options: options, on: loop, seed: .random(in: 0...UInt64.max))
    }

    /// - Parameter seed: makes the waits between attempts differ from those of other clients.
    init(
        to socketPath: String, as identity: ClientIdentity, options: ClientOptions, on loop: any ClientLoop,
        seed: UInt64
    ) {
        self.socketPath = socketPath
        self.identity = identity
        self.loop = loop
        self.options = options
        machine = ConnectionMachine(path: socketPath, options: options, seed: seed)
    }

    /// True if another call would be written soon. Calls beyond the bounds are kept, in order, until there is room.
    public var hasRoom: Bool {
        machine.hasRoom
    }

    /// Calls `body` once as soon as there is room, at once if there is room now.
    public func whenRoom(_ body: @escaping () -> Void) {
        guard !hasRoom else { return body() }
        waitingForRoom = body
    }

    /// Ends a call with `CancellationError`. The daemon may still carry it out.
    public func cancel(_ call: Call) {
        if let entry = roomLine.remove(call.number) { return entry.refuse(CancellationError()) }
        if persistentCalls[call.number] != nil { return end(call, CancellationError()) }
        guard let completion = completions.removeValue(forKey: call.number) else { return }
        machine.cancelled(call.number, now: loop.monotonicNow)
        settle()
        completion(.failure(CancellationError()))
    }

    /// Closes the connection for good. Calls without an answer, and later calls, end with ``ClientError/closed``.
    public func close() {
        machine.closed()
        settle()
    }

    /// Reserves the number of the next call.
    func reserve() -> Call {
        lastNumber += 1
        return Call(number: lastNumber)
    }

    func begin(
        _ call: Call, _ line: [UInt8], isRepeatable: Bool, deadline: Duration?, _ completion: @escaping Completion
    ) {
        begin(call, line, isRepeatable: isRepeatable, until: moment(after: deadline), completion)
    }

    /// - Parameter moment: when the caller stops waiting, in nanoseconds of the monotonic clock; nil for never.
    func begin(
        _ call: Call, _ line: [UInt8], isRepeatable: Bool, until moment: Int64?, _ completion: @escaping Completion
    ) {
        completions[call.number] = completion
        machine.called(
            call.number, OutgoingCall(line: line, isRepeatable: isRepeatable, deadline: moment), now: loop.monotonicNow)
        settle()
    }

    private func moment(after deadline: Duration?) -> Int64? {
        deadline.map { loop.monotonicNow + $0.nanoseconds }
    }

    /// Makes a persistent call: on this connection, and on each later one until it is cancelled.
    /// - Parameters:
    ///   - name: names in warnings what the call asks for.
    ///   - deadline: the longest time until the first grant; nil for none.
    ///   - mostConflicts: the number of refusals with `conflict` that are repeated before the first grant.
    ///   - giveBack: called before the call ends, if the daemon may grant it although its caller no longer waits.
    func stand(
        _ call: Call, _ method: String, _ params: DataObject, as name: String, deadline: Duration? = nil,
        mostConflicts: Int = 0, giveBack: @escaping () -> Void = {}, _ notify: @escaping (PersistentCallNews) -> Void
    ) {
        let now = loop.monotonicNow
        persistentCalls[call.number] = PersistentCall(name: name, notify: notify, giveBack: giveBack)
        let outgoing = OutgoingCall(
            line: ClientConnection.line(call, method, params), isRepeatable: true, isPersistent: true,
            deadline: deadline.map { now + $0.nanoseconds }, mostConflicts: mostConflicts)
        machine.called(call.number, outgoing, now: now)
        settle()
    }

    /// Keeps the completion of a call whose outcome depends on other calls, until ``complete(_:_:)``.
    func expect(_ call: Call, _ completion: @escaping Completion) {
        completions[call.number] = completion
    }

    /// Ends a call that waits for the outcome of other calls. Does nothing if it has ended.
    func complete(_ call: Call, _ result: Result<JSONView, any Error>) {
        completions.removeValue(forKey: call.number)?(result)
    }

    /// Changes the lines of a persistent call for later connections. On the present connection the caller has sent the
    /// change itself.
    func change(_ call: Call, to lines: [UInt8]) {
        machine.changed(call.number, to: lines)
    }

    /// Makes a granted persistent call again on this connection, since the daemon may have replaced what it granted.
    func renew(_ call: Call) {
        machine.renewed(call.number, now: loop.monotonicNow)
        settle()
    }

    /// Ends a persistent call and tells its caller why.
    func end(_ call: Call, _ error: any Error) {
        guard let ending = persistentCalls.removeValue(forKey: call.number) else { return }
        if machine.calls[call.number]?.mayBeGrantedYet == true { ending.giveBack() }
        machine.cancelled(call.number, now: loop.monotonicNow)
        ending.notify(.ended(error))
        settle()
    }

    /// Handles a method that the daemon calls. Replaces the earlier handler of this method.
    /// - Parameters:
    ///   - method: the method's name in the protocol.
    ///   - body: called with the params, which are only valid during the call, and the request, which it answers now
    ///     or later.
    public func serve(_ method: String, _ body: @escaping (JSONView?, DaemonRequest) -> Void) {
        services[method] = body
    }

    /// True if there is a connection, greeted or not.
    var isConnected: Bool { link != nil }

    private func timePassed() {
        let now = loop.monotonicNow
        for late in roomLine.takeLate(at: now) { late.refuse(machine.lateness()) }
        machine.timePassed(now: now)
        settle()
    }

    // MARK: Effects

    /// Carries out all orders, and the orders that follow from them. A caller that makes a call in its completion
    /// only adds orders.
    private func settle() {
        guard !isSettling else { return }
        isSettling = true
        repeat {
            while let order = machine.nextOrder() { perform(order) }
            offerRoom()
        } while machine.hasOrders
        isSettling = false
        armTimer()
        endDrains()
    }

    private func perform(_ order: ConnectionMachine<JSONView>.Order) {
        switch order {
        case .connect: connect()
        case .greet: greet()
        case .write(let bytes): link?.write(bytes)
        case .disconnect:
            link?.close()
            link = nil
            dropWatchEndings()
        case .leave:
            link?.closeAfterFlush()
            link = nil
            dropWatchEndings()
        case .finish(let number, let result): finish(number, result)
        case .grant(let number, let answer): persistentCalls[number]?.notify(.granted(answer))
        case .interrupt(let number, let error): persistentCalls[number]?.notify(.interrupted(error))
        case .giveBack(let number): persistentCalls[number]?.giveBack()
        case .report(let state): options.onState?(state)
        case .warn(let error): options.onWarning?("\(error); events wait in this process until it can connect")
        case .warnOfRefusal(let number, let error):
            let name = persistentCalls[number]?.name ?? "a call"
            (options.onRefusal ?? options.onWarning)?(
                "\(name) was refused on the new connection, and is requested again: \(error.message)")
        case .refuseWaiting(let error): for entry in roomLine.takeAll() { entry.refuse(error) }
        }
    }

    /// Drops the calls that end watches: all watches end with their connection.
    private func dropWatchEndings() {
        for call in cancelledWatches.calls {
            completions[call.number] = nil
            machine.cancelled(call.number, now: loop.monotonicNow)
        }
        cancelledWatches = CancelledWatches()
    }

    private func finish(_ number: CallNumber, _ result: Result<JSONView, ClientError>) {
        if let ended = persistentCalls.removeValue(forKey: number) {
            // Only a failure finishes a persistent call.
            if case .failure(let error) = result { ended.notify(.ended(error)) }
            return
        }
        completions.removeValue(forKey: number)?(result.mapError { $0 })
    }

    private func connect() {
        do throws(TransportError) {
            link = try Link(over: loop.connect(to: socketPath), observer: self)
            machine.connected(now: loop.monotonicNow)
        } catch .loopClosed {
            // No timer fires any more, so there is no further attempt.
            machine.closed()
        } catch {
            let failure = ClientError.cannotConnect(path: socketPath, cause: error.cause)
            machine.couldNotConnect(failure, isPermanent: error.isPermanent, now: loop.monotonicNow)
        }
    }

    private func greet() {
        var client: DataObject = ["name": .string(identity.name), "version": .string(identity.version)]
        if identity.version.isEmpty { client["version"] = nil }
        var params: DataObject = ["client": .object(client), "protocol": 1]
        params["namespace"] = identity.namespace.map { .string($0) }
        link?.write { $0.request(id: ConnectionMachine<JSONView>.greetingNumber, method: "hello", params: params) }
    }

    private func offerRoom() {
        while machine.hasRoom, let entry = roomLine.takeFirst() { entry.begin() }
        guard machine.hasRoom, let body = waitingForRoom else { return }
        waitingForRoom = nil
        body()
    }

    private func armTimer() {
        let deadlines = [machine.nextDeadline, roomLine.nextDeadline].compactMap { $0 }
        guard let deadline = deadlines.min() else { return timer.cancel() }
        if timer.deadline != deadline { timer.arm(at: deadline) }
    }
}

// MARK: Events in their turn

extension ClientConnection {
    /// Makes a call for events once there is room, behind the calls that wait already.
    /// - Parameter begin: makes the call. It is given the moment at which the caller stops waiting.
    func inTurn(
        _ call: Call, deadline: Duration?, _ completion: @escaping Completion,
        _ begin: @escaping (_ moment: Int64?, _ completion: @escaping Completion) -> Void
    ) {
        guard !isEnding else { return completion(.failure(ClientError.closed)) }
        let counted = counted(completion)
        let moment = moment(after: deadline)
        guard !roomLine.isEmpty || !machine.hasRoom else { return begin(moment, counted) }
        let entry = RoomLine.Entry(
            deadline: moment, begin: { begin(moment, counted) }, refuse: { counted(.failure($0)) })
        roomLine.append(entry, as: call.number)
        settle()
    }

    /// Counts an event until its caller has the outcome.
    func counted(_ completion: @escaping Completion) -> Completion {
        unsettledEvents += 1
        return { [weak self] result in
            completion(result)
            self?.eventSettled()
        }
    }

    private func eventSettled() {
        unsettledEvents -= 1
        endDrains()
    }

    /// Stops taking events and requests of the daemon, and ends the subscriptions and boards at the daemon.
    func beginEnding() {
        guard !isEnding else { return }
        isEnding = true
        guard isConnected else { return }
        for (id, subscription) in subscriptions where !subscription.isEnding {
            call("dispatcher.unsubscribe", ["id": .string(id)]) { _ in }
        }
        for (name, board) in boards where !board.isEnding { call("board.unserve", ["board": .string(name)]) { _ in } }
    }

    /// Calls `body` once, when no event is unsettled, or at the end of the limit.
    /// - Parameter mostHandlers: the number of the daemon's requests that may be unanswered; nil for any number.
    func whenDrained(within limit: Duration, mostHandlers: Int? = nil, _ body: @escaping () -> Void) {
        guard !isDrained(mostHandlers) else { return body() }
        let number = reserve().number
        let timer = loop.timer { [weak self] in self?.drains.removeValue(forKey: number)?.body() }
        drains[number] = Drain(mostHandlers: mostHandlers) {
            timer.cancel()
            body()
        }
        timer.arm(at: loop.monotonicNow + limit.nanoseconds)
    }

    private func isDrained(_ mostHandlers: Int?) -> Bool {
        unsettledEvents == 0 && machine.requestsToAnswer <= mostHandlers ?? .max
    }

    private func endDrains() {
        guard unsettledEvents == 0, !drains.isEmpty else { return }
        let ended = drains.filter { isDrained($0.value.mostHandlers) }.keys.sorted()
        for number in ended { drains.removeValue(forKey: number)?.body() }
    }
}

/// A caller that waits until no event is unsettled and few enough handlers run.
private struct Drain {
    let mostHandlers: Int?
    let body: () -> Void
}

// MARK: What comes from the daemon

extension ClientConnection: LinkObserver {
    func link(_ link: Link, received message: IncomingMessage) {
        let now = loop.monotonicNow
        switch message {
        case .response(let response): take(response, now)
        case .notification(let notification): take(notification, now)
        case .request(let request): take(request, from: link)
        // A request with params of the wrong kind gets an answer like any other.
        case .invalid(let id?, let error) where error.code == RPCError.invalidParamsCode:
            machine.requestCame()
            DaemonRequest(id: Array(id.raw), on: link, of: self).fail(error)
        case .invalid(_, let error), .invalidResponse(_, let error): machine.gotNonsense(error.message, now: now)
        case .invalidNotification: return
        }
        settle()
    }

    func link(_ link: Link, receivedNonsense text: String) {
        machine.gotNonsense(text, now: loop.monotonicNow)
        settle()
    }

    func linkDidEnd(_ link: Link) {
        self.link = nil
        machine.disconnected(now: loop.monotonicNow)
        dropWatchEndings()
        settle()
    }

    private func take(_ request: IncomingMessage.Request, from link: Link) {
        // When the connection closes, the daemon asks another client.
        guard !isEnding else { return }
        machine.requestCame()
        let method = request.method.string ?? ""
        let requested = DaemonRequest(id: Array(request.id.raw), on: link, of: self)
        guard let serve = services[method] else { return requested.fail(.methodNotFound(method)) }
        serve(request.params, requested)
    }

    private func take(_ notification: IncomingMessage.Notification, _ now: Int64) {
        if notification.method.equals("closing") { machine.closing(now: now) }
        if notification.method.equals("changed") { takeChange(notification.params) }
    }

    private func take(_ response: IncomingMessage.Response, _ now: Int64) {
        switch (response.id.int, response.outcome) {
        case (ConnectionMachine<JSONView>.greetingNumber, .result(let result)):
            greeting = DataObject(result)
            machine.greeted(DaemonLimits(greeting: result), now: now)
        case (ConnectionMachine<JSONView>.greetingNumber, .failure(let error)):
            machine.greetingRefused(error, now: now)
        case (let number?, .result(let result)):
            machine.answered(number, .success(result), now: now)
            takeUnwanted(number, result)
        case (let number?, .failure(let error)): machine.answered(number, .failure(error), now: now)
        case (nil, .failure(let error)): machine.gotAnonymousError(error, now: now)
        case (nil, .result): machine.gotNonsense("an answer without a request", now: now)
        }
    }
}

extension ClientConnection: DaemonRequestOwner {
    var limits: DaemonLimits { machine.limits }

    func answered(on link: Link) {
        guard link === self.link else { return }
        machine.requestAnswered(now: loop.monotonicNow)
        settle()
    }

    func wantsWork(of link: Link) -> Bool { link === self.link && !isEnding }
}
