import HeadgateCore
import HeadgateData
import HeadgateTransport
import HeadgateWire

/// One client's connection: frames its lines, hands its requests on, and sends the answers. What it holds dies with it.
///
/// When it reads and when it closes is decided by ``SessionMachine``, to which each fact is told; ``perform(_:)`` carries
/// out what it orders.
///
/// What is touched for each event is not checked for exclusive access at run time.
final class Session {
    let number: Int
    let connection: any SessionConnection
    var caller: Caller
    /// The context of its events, in JSON.
    private(set) var context = FixedBytes([])
    /// Where its events' ids are unique, as events have it.
    private(set) var namespace: Namespace
    /// Whether it has sent anything but `hello`, which comes first if at all.
    @exclusivity(unchecked) private(set) var hasSpoken = false
    @exclusivity(unchecked) private(set) var machine: SessionMachine
    /// Its part in what is counted of all clients' events.
    @exclusivity(unchecked) var events = Counters<EventCounter>()
    /// How many of its messages were refused or failed, told or not.
    private(set) var failures = 0
    /// When it began.
    let begin: Instant
    /// Since when the client has not been read, while that is not for this turn only.
    private var unreadSince: Instant?

    /// Strong: the loop closes connections also after the server is gone. The service lets go of closed sessions.
    private let service: Service
    private let tracking: Tracking
    private let decoder: MessageDecoder
    @exclusivity(unchecked) private var framer: LineFramer
    @exclusivity(unchecked) private var acknowledgements = Acknowledgements()
    /// What the client waits for.
    private(set) var waiting = WaitingReplies()
    /// What the client was asked.
    private var peerRequests = PeerRequests()
    /// Ends the time that a client that is gone has for what it sent before.
    private var grace: (any Disposable)?

    /// How long what a client sent before it went away is read: it is closed within a second (Behaviour X2).
    private static let mostGrace = Duration.milliseconds(500)

    init(number: Int, connection: any SessionConnection, caller: Caller, service: Service) {
        self.number = number
        self.connection = connection
        self.caller = caller
        self.service = service
        tracking = service.tracking
        decoder = service.decoder
        begin = service.scheduler.now
        machine = SessionMachine(limits: service.settings.limits)
        framer = LineFramer(maxLineBytes: service.settings.limits.maxLineBytes)
        namespace = Namespace(caller.namespace, service.gate.trace)
        collectContext()
    }

    // MARK: Who it is

    /// The session's name, which `hello` tells.
    var name: String { "session-\(number)" }

    /// The session as the owner of its barriers: `shop/2.1 (uid 1000, session-7)`, with the process instead of the
    /// client's name when it did not tell one.
    var asOwner: RemoteBarrierOwner {
        let client = caller.client ?? "pid \(caller.credentials.pid)"
        return RemoteBarrierOwner(number: number, name: "\(client) (uid \(caller.credentials.uid), \(name))")
    }

    /// The client says who it is.
    /// - Parameter namespace: where its events' ids are unique; nil: where they are already.
    func introduce(as client: String, namespace: String?) {
        hasSpoken = true
        caller.client = client
        caller.namespace = namespace ?? caller.namespace
        self.namespace = Namespace(caller.namespace, service.gate.trace)
        collectContext()
    }

    /// Makes the context anew, after something that it tells has changed.
    func collectContext() {
        let network = service.gate.networkConnectionType
        context = FixedBytes(service.collecting.context(of: caller, networkConnectionType: network))
    }

    /// Other settings are in force.
    func settingsChanged(from old: Settings, to new: Settings) {
        if new.access != old.access { regrant(new.access) }
        if new.collectors != old.collectors { collectContext() }
        framer.maxLineBytes = new.limits.maxLineBytes
        perform(machine.limitsChanged(to: new.limits, surroundings))
    }

    /// What the session holds by rights that it loses ends, and the session with it: nobody would tell the client that a
    /// watch is silent for ever. When it asks again it is told why.
    private func regrant(_ access: AccessSettings) {
        let former = caller.groups
        caller.grant(access)
        let lost = former.subtracting(caller.groups)
        let missed = lost.filter { service.withdraw($0, from: self) }
        guard !missed.isEmpty else { return }
        let rights = missed.map(\.rawValue).sorted().joined(separator: ", ")
        service.log.tell(.clientDisconnected, ["client": .string(asOwner.name), "rights": .string(rights)])
        end(because: .unauthorized)
    }

    // MARK: Orders

    /// Carries out what the machine orders, and what that leads to.
    private func perform(_ order: SessionMachine.Order) {
        var order = order
        while order != .nothing { order = carryOut(order) }
    }

    /// - Returns: what follows from it.
    private func carryOut(_ order: SessionMachine.Order) -> SessionMachine.Order {
        switch order {
        case .nothing: break
        case .takeLines: return takeLines()
        case .pause(let awaited):
            connection.pauseReading()
            goOn(after: awaited)
        case .stayPaused(let awaited): goOn(after: awaited)
        case .resumeReading:
            connection.resumeReading()
            return machine.readingResumed()
        case .letProviderGo:
            service.providerLeft(self)
            return machine.providerGone()
        case .endWaits:
            endWaits()
            return machine.waitsEnded()
        case .closeAfterFlush: connection.closeAfterFlush()
        case .close: connection.close()
        }
        return .nothing
    }

    private func takeLines() -> SessionMachine.Order {
        unreadSince = nil
        while connection.isOpen, machine.mayTakeLine(surroundings), let line = framer.next() { handle(line) }
        framer.keepRest()
        return machine.linesTaken(hasMore: framer.waitingBytes > 0, surroundings)
    }

    /// Has the machine told when this has come.
    private func goOn(after awaited: SessionMachine.Awaited) {
        switch awaited {
        case .room:
            unreadSince = service.scheduler.now
            service.sessions.counters.count(.pausedReadings)
        case .group:
            unreadSince = service.scheduler.now
            service.gate.events.whenRoom { self.perform(self.machine.groupHasRoom()) }
        case .turn: service.scheduler.nextTurn { self.perform(self.machine.turnCame()) }
        case .endOfTurn: service.scheduler.soon { self.perform(self.machine.turnEnded()) }
        }
    }

    /// The client is gone: nobody waits any more for what it has asked.
    private func endWaits() {
        grace = service.scheduler.schedule(at: service.scheduler.now + Session.mostGrace) { [weak self] in
            guard let self else { return }
            perform(machine.graceOver())
        }
        giveUpWaits()
        service.askerLeft(self)
    }

    private func giveUpWaits() {
        for reply in waiting.takeAll() { reply.giveUp() }
    }

    /// The service stops: what still waits is answered with an error (Behaviour D11).
    func answerWaits(with error: RPCError) {
        for reply in waiting.takeAll() { reply.fail(error) }
    }

    /// That the client is not read, why, and for how long.
    struct Stop {
        let reason: SessionMachine.Stop
        let duration: Duration
    }

    /// Nil while the client is read.
    var stop: Stop? {
        guard let unreadSince, let reason = machine.stop(surroundings) else { return nil }
        return Stop(reason: reason, duration: service.scheduler.now - unreadSince)
    }

    private var surroundings: SessionMachine.Surroundings {
        SessionMachine.Surroundings(
            outputBytes: connection.outputBytes, isGroupFull: service.gate.events.isGroupFull)
    }

    // MARK: Messages

    private func handle(_ line: LineFramer.Line) {
        switch line {
        case .tooLong:
            machine.share.spend()
            service.sessions.counters.count(.lineTooLong)
            failures += 1
            sendError(RPCError(.lineTooLong))
        case .text(let bytes):
            machine.share.spend(line: bytes.count)
            handle(decoder.decode(bytes), bytes: bytes.count)
        }
    }

    private func handle(_ line: IncomingLine, bytes: Int) {
        switch line {
        case .message(let message): handle(message, bytes: bytes, batch: nil)
        case .batch(let messages): handle(messages, bytes: bytes)
        }
    }

    private func handle(_ messages: IncomingBatch, bytes: Int) {
        guard messages.count <= Limits.mostInBatch else {
            return refuse(nil, RPCError(.limit, "a batch may have no more than \(Limits.mostInBatch) messages"), nil)
        }
        let batch = BatchReply(to: self, requestBytes: bytes)
        for message in messages {
            machine.share.spend()
            handle(message, bytes: 0, batch: batch)
        }
        batch.end()
    }

    private func handle(_ message: IncomingMessage, bytes: Int, batch: BatchReply?) {
        switch message {
        case .request(let request):
            if let batch, batch.byteCount >= service.settings.limits.maxOutputBytes {
                return refuse(request.id, RPCError(.limit, "the answers to this batch are too large"), batch)
            }
            if batch == nil, request.method.equals("track") { return track(request, bytes: bytes) }
            let reply = Reply(to: self, id: Array(request.id.raw), batch: batch, requestBytes: bytes)
            call(request.method, request.params, reply)
        case .notification(let notification):
            let reply = Reply(to: self, id: nil, batch: batch, requestBytes: bytes)
            call(notification.method, notification.params, reply)
        case .invalid(let id, let error): refuse(id, error, batch)
        case .invalidNotification:
            failures += 1
            notificationFailed()
        case .response(let response): take(response.outcome, of: response.id)
        case .invalidResponse(let id, let error): take(.failure(error), of: id)
        }
    }

    private func refuse(_ id: RequestID?, _ error: RPCError, _ batch: BatchReply?) {
        machine.share.spend(TurnShare.refusal)
        note(error)
        var writer = JSONWriter()
        writer.errorAnswer(id: id?.raw, error: error)
        if let batch { return batch.add(writer.bytes) }
        writer.endLine()
        send(writer.bytes)
    }

    // MARK: Tracking

    /// The one method on the hot path: the answer is rendered at once and kept until the event is safe.
    private func track(_ request: IncomingMessage.Request, bytes: Int) {
        hasSpoken = true
        do {
            let (eventID, admission) = try tracking.track(request.params, from: self)
            machine.took(1, bytes: bytes)
            let isFirst = acknowledgements.add(
                request.id.raw, event: eventID, admission, requestBytes: bytes,
                group: service.gate.events.gatheringGroup)
            if isFirst { service.gate.events.whenCommitted { self.acknowledge($0) } }
        } catch {
            refuse(request.id, error, nil)
        }
    }

    /// Calls `work` once all that has been offered so far is stored, or could not be: behind the acknowledgements that
    /// wait by then, and before those that come later. So they all go out in the order of their requests.
    func whenCommitted(_ work: @escaping (StoreFault?) -> Void) {
        acknowledgements.seal()
        service.gate.events.whenCommitted(work)
    }

    /// The oldest that wait are safe, or could not be stored.
    private func acknowledge(_ fault: StoreFault?) {
        let answers = acknowledgements.takeOldest()
        if let fault {
            failures += answers.count
            send(answers.refused(with: service.tracking.refusal(of: answers.count, from: self, fault)))
        } else {
            send(answers.bytes)
        }
        perform(machine.settled(answers.count, bytes: answers.requestBytes, surroundings))
    }

    // MARK: Calls

    private func call(_ method: JSONView, _ params: JSONView?, _ reply: Reply) {
        machine.share.spend(method.equals("track") ? TurnShare.event : TurnShare.call)
        do throws(RPCError) {
            try service.run(method, Call(session: self, params: params, reply: reply))
            hasSpoken = true
        } catch {
            reply.fail(error)
        }
        if reply.isWaiting { waiting.add(reply) }
    }

    /// A call of so many bytes is worked on.
    func callBegan(bytes: Int) {
        machine.took(1, bytes: bytes)
    }

    /// A call is answered, or was given up, and waits no more.
    func callAnswered(_ reply: Reply) {
        waiting.remove(reply)
    }

    /// What a call leads to is done, and makes room for others.
    func callEnded(bytes: Int) {
        perform(machine.settled(1, bytes: bytes, surroundings))
    }

    /// A call has an answer of so many bytes.
    func spend(answer bytes: Int) {
        machine.share.spend(answer: bytes)
    }

    func batchBegan(bytes: Int) {
        machine.took(0, bytes: bytes)
    }

    /// An answer waits for the rest of its batch.
    func batchKeeps(bytes: Int) {
        machine.kept(bytes: bytes)
    }

    /// The last message of a batch is done, and its answers are sent.
    func batchEnded(keptBytes: Int, requestBytes: Int) {
        perform(machine.letGo(keptBytes: keptBytes, requestBytes: requestBytes, surroundings))
    }

    /// Counts a message that was refused or failed, and whether that is because of a limit (Behaviour X2).
    func note(_ error: RPCError) {
        failures += 1
        if error.reason == .limit { service.sessions.counters.count(.limited) }
    }

    func notificationFailed() {
        service.sessions.counters.count(.failedNotifications)
    }

    // MARK: Sending

    /// Sends whole lines.
    func send(_ bytes: [UInt8]) {
        connection.write(bytes)
        service.sessions.watchSlowReaders()
    }

    func sendError(_ error: RPCError) {
        var writer = JSONWriter()
        writer.errorAnswer(id: nil, error: error)
        writer.endLine()
        send(writer.bytes)
    }

    /// Whether the client leaves so much unread that it gets nothing but answers any more (Behaviour X2).
    var isOverfull: Bool { connection.outputBytes >= service.settings.limits.maxOutputBytes }

    // MARK: Asking the client

    /// Sends a request to the client (Protocol, Server to client). `then` is called once: with its answer, or when it
    /// refuses or goes away. That is never before this returns.
    /// - Parameter params: writes the params, an object.
    @discardableResult
    func ask(
        _ method: StaticString, params: (inout JSONWriter) -> Void, then: @escaping PeerRequests.Completion
    ) -> PeerRequests.Number {
        let number = peerRequests.add(then)
        machine.askedClient()
        guard connection.isOpen, machine.mayAnswer else {
            service.scheduler.soon { self.take(.failure(.gone), of: self.peerRequests.take(number)) }
            return number
        }
        var writer = JSONWriter()
        writer.request(id: number, method: method, params: params)
        writer.endLine()
        send(writer.bytes)
        return number
    }

    /// Stops waiting for an answer: `then` is not called any more, and an answer that still comes is ignored.
    func withdraw(_ number: PeerRequests.Number) {
        guard peerRequests.take(number) != nil else { return }
        perform(machine.clientAnswered())
    }

    /// Nothing comes from this client any more: it answers none of what it was asked.
    func endPeerRequests() {
        for then in peerRequests.takeAll() { take(.failure(.gone), of: then) }
    }

    /// An answer to nothing that was asked may be a late one, and is no fault.
    private func take(_ outcome: IncomingMessage.Outcome, of request: RequestID) {
        let then = peerRequests.take(request)
        switch outcome {
        case .result(let result): take(.success(result), of: then)
        case .failure(let error): take(.failure(.refused(error)), of: then)
        }
    }

    private func take(_ result: Result<JSONView, PeerFault>, of then: PeerRequests.Completion?) {
        guard let then else { return }
        then(result)
        perform(machine.clientAnswered())
    }

    // MARK: The end

    /// Tells the client that the server is about to close the connection.
    func announceClosing(because reason: ErrorReason) {
        var writer = JSONWriter()
        writer.notification(method: ConnectionMethods.closing.name) { $0.object(["reason": .string(reason.rawValue)]) }
        writer.endLine()
        send(writer.bytes)
    }

    /// Ends the session in order: what the client has asked is answered, and what it was asked it may answer; then the
    /// connection is closed.
    private func end(because reason: ErrorReason) {
        announceClosing(because: reason)
        perform(machine.ends())
    }
}

// MARK: - What its connection tells

extension Session {
    /// Bytes have come, behind which some readable ones stand, as ``ConnectionHandler`` says.
    func took(_ bytes: UnsafeRawBufferPointer) {
        framer.lend(bytes)
        perform(machine.bytesCame())
        framer.keepRest()
    }

    /// A client that half-closes its side still gets its answers (Protocol, Framing).
    func endReached() {
        framer.finish()
        perform(machine.endReached())
    }

    /// All output has been taken, or there is nobody any more to take it.
    func outputDrained() {
        perform(machine.roomChanged(surroundings))
        service.watches.drained(self)
        service.workforces.drained(number)
    }

    /// The client is gone. What it sent before is still read and counts, answered or not.
    func peerLost() {
        perform(machine.peerLost())
    }

    /// The connection is closed, for good.
    func connectionClosed() {
        grace?.dispose()
        grace = nil
        machine.closed()
        giveUpWaits()
        service.ended(self)
    }
}

/// A socket tells its session.
extension Session: ConnectionHandler {
    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
        took(bytes)
    }

    func connectionDidReachEnd(_ connection: Connection) {
        endReached()
    }

    func connectionDidDrain(_ connection: Connection) {
        outputDrained()
    }

    func connectionDidLosePeer(_ connection: Connection) {
        peerLost()
    }

    func connectionDidClose(_ connection: Connection, error: TransportError?) {
        connectionClosed()
    }
}
