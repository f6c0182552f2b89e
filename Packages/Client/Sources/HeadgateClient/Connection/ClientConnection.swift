import HeadgateData
import HeadgateTransport
import HeadgateWire

/// A lasting connection to the daemon: it connects when there is something to send, again when it was lost, and what it
/// is asked to track it tracks once, whatever happens to the daemon meanwhile (Behaviour Q7).
///
/// It lives on an event loop and calls back there. ``HeadgateClient`` is the same for tasks; this is for programs that
/// run on an event loop of their own.
public final class ClientConnection {
    /// A completion is told once what came of a call. The answer is gone after the call: read it, or copy its `item`.
    ///
    /// The failure is a ``ClientError``, or `CancellationError` after ``abandon(_:)``.
    public typealias Completion = (Result<JSONView, any Error>) -> Void

    /// A call under way.
    public struct Call: Hashable, Sendable {
        let number: CallNumber
    }

    /// The path of the daemon's socket.
    public let socketPath: String
    let loop: any ClientLoop
    private let identity: ClientIdentity
    private let options: ClientOptions
    private var machine: ConnectionMachine<JSONView>
    private var link: Link?
    private lazy var timer = loop.timer { [weak self] in self?.timePassed() }
    private var completions: [CallNumber: Completion] = [:]
    /// Those who are told of calls that stand.
    private var standing: [CallNumber: StandingCall] = [:]
    /// What this side watches, by the call that stands for it.
    var watches: [CallNumber: ClientWatch] = [:]
    /// What this side watches no more, and the daemon does not know yet.
    var farewells = WatchFarewells()
    /// What this side subscribed to, by the dispatcher.
    var subscriptions: [String: ClientSubscription] = [:]
    /// The boards that this side serves, by their names.
    var boards: [String: ServedBoard] = [:]
    /// The barriers that this side registered, by their ids.
    var barriers: [String: OwnBarrier] = [:]
    /// Those that are to be taken away, and may be of a connection before.
    var barrierEndings: [String: BarrierEnding] = [:]
    /// The call that stands for the status which was announced last.
    var announcement: Call?
    /// What the daemon said of itself when it was greeted last; nil before that.
    private(set) var greeting: DataObject?
    /// What this side does for the daemon, by the method.
    private var services: [String: (JSONView?, DaemonRequest) -> Void] = [:]
    private var lastNumber: CallNumber = ConnectionMachine<JSONView>.greetingNumber
    private var isSettling = false
    private var waitingForRoom: (() -> Void)?
    /// Events of tasks that wait for room.
    private var roomLine = RoomLine()
    /// The number of tracked events that are neither acknowledged nor given up, those that wait for room included.
    private(set) var unsettledEvents = 0
    /// Those that wait until there is nothing left to wait for.
    private var drains: [CallNumber: Drain] = [:]
    /// True once the program wants to end: no further event and no further work is taken.
    private(set) var isEnding = false
    /// Makes the ids of events that have none.
    var ids = UUIDv7()

    /// A connection that is made when it is needed.
    public convenience init(
        to socketPath: String = SocketPlace.usual, as identity: ClientIdentity,
        options: ClientOptions = ClientOptions(),
        on loop: EventLoop
    ) {
        loop.preconditionCurrent()
        self.init(to: socketPath, as: identity, options: options, on: loop, seed: .random(in: 0...UInt64.max))
    }

    /// - Parameter seed: makes its waits differ from those of others.
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

    /// Whether another call is written soon. Calls over the bounds are kept, in order, until their turn comes.
    public var hasRoom: Bool {
        machine.hasRoom
    }

    /// Calls `body` once, as soon as there is room; at once if there is some.
    public func whenRoom(_ body: @escaping () -> Void) {
        guard !hasRoom else { return body() }
        waitingForRoom = body
    }

    /// Stops waiting for a call, which ends with `CancellationError`. What it asks for may be done all the same.
    public func abandon(_ call: Call) {
        if let entry = roomLine.remove(call.number) { return entry.refuse(CancellationError()) }
        if standing[call.number] != nil { return end(call, CancellationError()) }
        guard let completion = completions.removeValue(forKey: call.number) else { return }
        machine.abandoned(call.number, now: loop.monotonicNow)
        settle()
        completion(.failure(CancellationError()))
    }

    /// Ends everything. Calls that are not answered end with ``ClientError/closed``; those that come later, too.
    public func close() {
        machine.closed()
        settle()
    }

    /// The next call's number, before the call is made.
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

    /// Makes a call on this connection, and on each that follows, until it is abandoned.
    /// - Parameters:
    ///   - name: the name of what it asks for, in warnings.
    ///   - deadline: how long it may take until it is granted the first time; nil is for ever.
    ///   - mostConflicts: so often it is tried again before it was granted, where the daemon takes it for somebody else's.
    ///   - giveBack: called before the end of a call that the daemon may grant though nobody waits for it any more.
    func stand(
        _ call: Call, _ method: String, _ params: DataObject, as name: String, deadline: Duration? = nil,
        mostConflicts: Int = 0, giveBack: @escaping () -> Void = {}, _ tell: @escaping (StandingNews) -> Void
    ) {
        let now = loop.monotonicNow
        standing[call.number] = StandingCall(name: name, tell: tell, giveBack: giveBack)
        let outgoing = OutgoingCall(
            line: ClientConnection.line(call, method, params), isRepeatable: true, isStanding: true,
            deadline: deadline.map { now + $0.nanoseconds }, mostConflicts: mostConflicts)
        machine.called(call.number, outgoing, now: now)
        settle()
    }

    /// Has a caller wait for what other calls bring: ``complete(_:_:)`` tells it.
    func expect(_ call: Call, _ completion: @escaping Completion) {
        completions[call.number] = completion
    }

    /// Tells a caller that waits for what other calls bring, unless it was told, or waits no longer.
    func complete(_ call: Call, _ result: Result<JSONView, any Error>) {
        completions.removeValue(forKey: call.number)?(result)
    }

    /// What a standing call asks for has changed. On this connection that has been said otherwise; on those that follow
    /// it is made as these lines.
    func change(_ call: Call, to lines: [UInt8]) {
        machine.changed(call.number, to: lines)
    }

    /// Makes a standing call again on this connection, since the daemon may have something else in its place.
    func renew(_ call: Call) {
        machine.renewed(call.number, now: loop.monotonicNow)
        settle()
    }

    /// Makes a standing call no more, and tells its caller why.
    func end(_ call: Call, _ error: any Error) {
        guard let ending = standing.removeValue(forKey: call.number) else { return }
        if machine.calls[call.number]?.mayBeGrantedYet == true { ending.giveBack() }
        machine.abandoned(call.number, now: loop.monotonicNow)
        ending.tell(.ended(error))
        settle()
    }

    /// Does something for the daemon, which asks for it by this method; what was done for it before is replaced.
    /// - Parameters:
    ///   - method: its name in the protocol.
    ///   - body: given the params, which are gone after the call, and the request, which it answers now or later.
    public func serve(_ method: String, _ body: @escaping (JSONView?, DaemonRequest) -> Void) {
        services[method] = body
    }

    /// Whether there is a connection, greeted or not.
    var isConnected: Bool { link != nil }

    /// Takes note that something that the daemon asked for has its answer, or gets none.
    func answered(on link: Link) {
        guard link === self.link else { return }
        machine.requestAnswered(now: loop.monotonicNow)
        settle()
    }

    private func timePassed() {
        let now = loop.monotonicNow
        for late in roomLine.takeLate(at: now) { late.refuse(machine.lateness()) }
        machine.timePassed(now: now)
        settle()
    }

    /// What the daemon takes at most.
    var limits: DaemonLimits { machine.limits }

    /// Returns true if work that came over a link is to be done: its connection is still there, and the client stays.
    func wantsWork(of link: Link) -> Bool { link === self.link && !isEnding }

    // MARK: Effects

    /// Carries out all orders, and those that come of it. A caller that is told and calls again in turn only adds to
    /// them.
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
            forgetFarewells()
        case .leave:
            link?.closeAfterFlush()
            link = nil
            forgetFarewells()
        case .finish(let number, let result): finish(number, result)
        case .grant(let number, let answer): standing[number]?.tell(.granted(answer))
        case .interrupt(let number, let error): standing[number]?.tell(.interrupted(error))
        case .giveBack(let number): standing[number]?.giveBack()
        case .report(let state): options.onState?(state)
        case .warn(let error): options.onWarning?("\(error); events wait in this process until the daemon is there")
        case .warnOfRefusal(let number, let error):
            let name = standing[number]?.name ?? "a call"
            options.onWarning?(
                "\(name) was refused on the new connection, and is asked for again: \(error.message)")
        case .refuseWaiting(let error): for entry in roomLine.takeAll() { entry.refuse(error) }
        }
    }

    /// Nobody asks the next connection to end what was watched on the one before.
    private func forgetFarewells() {
        for call in farewells.calls {
            completions[call.number] = nil
            machine.abandoned(call.number, now: loop.monotonicNow)
        }
        farewells = WatchFarewells()
    }

    private func finish(_ number: CallNumber, _ result: Result<JSONView, ClientError>) {
        if let ended = standing.removeValue(forKey: number) {
            // One that is granted goes on: only failures finish it.
            if case .failure(let error) = result { ended.tell(.ended(error)) }
            return
        }
        completions.removeValue(forKey: number)?(result.mapError { $0 })
    }

    private func connect() {
        do throws(TransportError) {
            link = try Link(over: loop.connect(to: socketPath), observer: self)
            machine.connected(now: loop.monotonicNow)
        } catch .loopClosed {
            // No timer fires any more, so that there is no other attempt.
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
    /// Makes a call for events once there is room for it, behind those that wait already.
    /// - Parameter begin: given when the caller stops waiting; makes the call.
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

    /// Counts an event until its caller is told what became of it.
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

    /// Takes no further events, and no further work from the daemon, which is told so.
    func beginEnding() {
        guard !isEnding else { return }
        isEnding = true
        guard isConnected else { return }
        for (id, subscription) in subscriptions where !subscription.isEnding {
            call("dispatcher.unsubscribe", ["id": .string(id)]) { _ in }
        }
        for (name, board) in boards where !board.isEnding { call("board.unserve", ["board": .string(name)]) { _ in } }
    }

    /// Calls `body` once, when no event is unsettled any more, or after so long.
    /// - Parameter mostHandlers: the number of the daemon's requests that may be unanswered; nil is any.
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

/// Somebody who waits until no event is unsettled, and no handler runs.
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
        // A request whose params are no object is one all the same.
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
        forgetFarewells()
        settle()
    }

    private func take(_ request: IncomingMessage.Request, from link: Link) {
        // The daemon asks somebody else as soon as this connection is closed.
        guard !isEnding else { return }
        machine.requestCame()
        let method = request.method.string ?? ""
        let asked = DaemonRequest(id: Array(request.id.raw), on: link, of: self)
        guard let serve = services[method] else { return asked.fail(.methodNotFound(method)) }
        serve(request.params, asked)
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
        case (nil, .result): machine.gotNonsense("an answer to nothing that was asked", now: now)
        }
    }
}
