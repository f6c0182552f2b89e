import HeadgateCore
import HeadgateData
import HeadgateTransport
import HeadgateWire

/// One client's connection: reads its lines, runs its requests and sends the answers. All state of a session ends with
/// its connection.
///
/// ``SessionMachine`` decides when the session reads and when it closes. The session reports each fact to the machine,
/// and ``perform(_:)`` carries out the machine's orders.
///
/// Properties on the hot path of an event are exempt from Swift's exclusivity checks at run time.
final class Session {
    let number: Int
    let connection: any SessionConnection
    var caller: Caller
    /// The context of the session's events, in JSON.
    private(set) var context = PinnedBytes([])
    /// The namespace of the session's events.
    private(set) var namespace: Namespace
    /// A Boolean value that says whether the client has sent a message other than `hello`, which may come only first.
    @exclusivity(unchecked) private(set) var hasSpoken = false
    @exclusivity(unchecked) private(set) var machine: SessionMachine
    /// The session's own counters of events.
    @exclusivity(unchecked) var events = Counters<EventCounter>()
    /// The number of messages that were refused or failed, with or without an answer.
    private(set) var failures = 0
    /// The time at which the session began.
    let begin: Instant
    /// The time since which the session has read nothing, or nil if it reads again within this turn.
    private var unreadSince: Instant?

    /// A strong reference, because the loop may close connections after the program has released its server. The server
    /// releases closed sessions.
    private let server: any SessionServer
    private let gate: Headgate
    private let queue: EventQueue
    private let turns: UserTurns
    private let tracking: EventTracker
    private let decoder: MessageDecoder
    @exclusivity(unchecked) private var framer: LineFramer
    @exclusivity(unchecked) private var acknowledgements = Acknowledgements()
    /// The calls of the client that wait for their answers.
    private(set) var waiting = WaitingReplies()
    /// The daemon's requests to the client.
    private var peerRequests = PeerRequests()
    /// The timer that ends the reading of the remaining data of a client that has disconnected.
    private var grace: (any Disposable)?

    /// The time for which a session still reads the data of a client that has disconnected. The session must close
    /// within a second (Behaviour X2).
    private static let mostGrace = Duration.milliseconds(500)

    init(number: Int, connection: any SessionConnection, caller: Caller, server: any SessionServer) {
        self.number = number
        self.connection = connection
        self.caller = caller
        self.server = server
        gate = server.gate
        queue = gate.events
        turns = server.turns
        tracking = server.tracking
        decoder = server.decoder
        begin = gate.scheduler.now
        let limits = server.limits
        machine = SessionMachine(limits: limits)
        framer = LineFramer(maxLineBytes: limits.maxLineBytes)
        namespace = Namespace(of: caller, gate)
        collectContext()
    }

    // MARK: Identity

    /// Refuses the connection before the session has begun.
    func refuse(with error: RPCError) {
        sendError(error)
        queue.closeAccount(namespace.account)
        connection.closeAfterFlush()
    }

    /// Stores the name and namespace that a client gives in `hello`.
    /// - Parameter namespace: the namespace of the client's events, or nil to keep the present one.
    func introduce(as client: String, namespace: String?) {
        hasSpoken = true
        caller.client = client
        if let namespace { caller.choose(namespace: namespace, access: server.access) }
        renewNamespace()
    }

    /// Applies the caller's present namespace and name to the events that follow.
    private func renewNamespace() {
        queue.closeAccount(namespace.account)
        namespace = Namespace(of: caller, gate)
        collectContext()
    }

    /// Makes the context of the session's events again, after a change of its parts.
    func collectContext() {
        let network = gate.networkConnectionType
        context = PinnedBytes(server.collecting.context(of: caller, networkConnectionType: network))
    }

    /// Applies new settings.
    /// - Parameters:
    ///   - access: the new rights, or nil if the rights have not changed.
    ///   - hasNewCollectors: true if the context of events has other parts now.
    func settingsChanged(access: AccessSettings?, limits: Limits, hasNewCollectors: Bool) {
        if let access { regrant(access) }
        // The client may work for a dispatcher whose new settings allow only other users (Behaviour X1).
        if server.dismissExcludedWorker(self) { end(without: [MethodGroup.serve.rawValue]) }
        if hasNewCollectors { collectContext() }
        framer.maxLineBytes = limits.maxLineBytes
        perform(machine.limitsChanged(to: limits, dependencies))
    }

    /// Applies new rights. The session closes if its client had a watch, barrier, subscription or board by a lost
    /// right. Otherwise the client would wait for messages that never come. A client that connects again and repeats
    /// its request gets the reason.
    private func regrant(_ access: AccessSettings) {
        let (former, formerNamespace) = (caller.groups, caller.namespace)
        caller.grant(access)
        if caller.namespace != formerNamespace { renewNamespace() }
        let lost = former.subtracting(caller.groups)
        let missed = lost.filter { server.withdraw($0, from: self) }
        if !missed.isEmpty { end(without: missed.map(\.rawValue)) }
    }

    /// Closes the session, which has lost rights that it used.
    private func end(without rights: [String]) {
        let rights = rights.sorted().joined(separator: ", ")
        server.log.write(.clientDisconnected, ["client": .string(asOwner.name), "rights": .string(rights)])
        end(because: .unauthorized)
    }

    // MARK: Orders

    /// Carries out an order of the machine, and the orders that follow from it.
    private func perform(_ order: SessionMachine.Order) {
        var order = order
        while order != .nothing { order = carryOut(order) }
    }

    /// Carries out one order.
    /// - Returns: the next order.
    private func carryOut(_ order: SessionMachine.Order) -> SessionMachine.Order {
        switch order {
        case .nothing: break
        case .takeLines: return takeLines()
        case .pause(let awaited):
            connection.pauseReading()
            proceed(after: awaited)
        case .stayPaused(let awaited): proceed(after: awaited)
        case .resumeReading:
            connection.resumeReading()
            return machine.readingResumed()
        case .releaseProvider:
            server.servingClientLeft(self)
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
        let (before, receivedBefore) = (machine.share.left, events[.received])
        while connection.isOpen, let line = nextLine() { handle(line) }
        framer.keepRest()
        turns.spend(before - machine.share.left, of: caller.credentials.uid)
        turns.took(events: events[.received] - receivedBefore, of: caller.credentials.uid)
        return machine.linesTaken(hasMore: framer.waitingBytes > 0, dependencies)
    }

    /// Returns the next line if the machine allows it now. While the commit group is full, holds back a line that
    /// stores an event, and returns nil.
    private func nextLine() -> LineFramer.Line? {
        if machine.mayTakeLine(dependencies) { return framer.next() }
        guard machine.mayTakeCall(dependencies) else { return nil }
        if let bytes = framer.peek(), bytes.count <= framer.maxLineBytes, decoder.decode(bytes).storesEvents {
            machine.holdLine()
            return nil
        }
        return framer.next()
    }

    /// Arranges that the machine is called when the awaited event comes.
    private func proceed(after awaited: SessionMachine.Awaited) {
        switch awaited {
        case .room:
            unreadSince = gate.scheduler.now
            server.count(.pausedReadings)
        case .group:
            unreadSince = gate.scheduler.now
            queue.whenRoom { self.perform(self.machine.groupHasRoom()) }
        case .turn:
            if turns.isAboveRate(caller.credentials.uid), unreadSince == nil {
                unreadSince = gate.scheduler.now
                server.count(.pausedReadings)
            }
            turns.wait(caller.credentials.uid) { self.turnCame() }
        case .endOfTurn: gate.scheduler.soon { self.perform(self.machine.turnEnded()) }
        }
    }

    private func turnCame() {
        machine.userShare = turns.left(of: caller.credentials.uid)
        perform(machine.turnCame())
    }

    /// Ends the calls that a disconnected client waits for, and limits the time to read the client's remaining data.
    private func endWaits() {
        grace = gate.scheduler.schedule(at: gate.scheduler.now + Session.mostGrace) { [weak self] in
            guard let self else { return }
            perform(machine.graceOver())
        }
        endReplies()
        server.askingClientLeft(self)
    }

    private func endReplies() {
        for reply in waiting.takeAll() { reply.disconnected() }
    }

    /// Answers all waiting calls with an error, because the service stops (Behaviour D11).
    func answerWaits(with error: RPCError) {
        for reply in waiting.takeAll() { reply.fail(error) }
    }

    /// The present pause in reading, or nil while the session reads.
    var stop: Stop? {
        guard let unreadSince,
            let reason = machine.stop(dependencies, isAboveRate: turns.isAboveRate(caller.credentials.uid))
        else { return nil }
        return Stop(reason: reason, duration: gate.scheduler.now - unreadSince)
    }

    private var dependencies: SessionMachine.Dependencies {
        SessionMachine.Dependencies(
            outputBytes: connection.outputBytes, isGroupFull: queue.isGroupFull)
    }

    // MARK: Messages

    private func handle(_ line: LineFramer.Line) {
        switch line {
        case .tooLong:
            machine.share.spend()
            server.count(.lineTooLong)
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
            return refuse(nil, RPCError(.limit, "a batch has at most \(Limits.mostInBatch) messages"), nil)
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
            if let batch, batch.byteCount >= server.limits.maxOutputBytes {
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
        case .response(let response): take(response.outcome.result, of: peerRequests.take(response.id))
        case .invalidResponse(let id, let error): take(.failure(.refused(error)), of: peerRequests.take(id))
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

    /// Tracks an event, on the hot path. The answer is rendered at once and sent after the event's commit.
    private func track(_ request: IncomingMessage.Request, bytes: Int) {
        hasSpoken = true
        do {
            let (eventID, admission) = try tracking.track(request.params, from: self)
            machine.took(1, bytes: bytes)
            let isFirst = acknowledgements.add(
                request.id.raw, event: eventID, admission, requestBytes: bytes,
                group: queue.gatheringGroup)
            if isFirst { queue.whenCommitted { self.acknowledge($0) } }
        } catch {
            refuse(request.id, error, nil)
        }
    }

    /// Calls `work` after the commit of all events so far, whether it succeeds or fails. The call comes after the
    /// acknowledgements that wait now and before later ones. So all answers keep the order of their requests.
    func whenCommitted(_ work: @escaping (StoreFault?) -> Void) {
        acknowledgements.seal()
        queue.whenCommitted(work)
    }

    /// Sends the oldest acknowledgements after their commit, or errors if the commit failed.
    private func acknowledge(_ fault: StoreFault?) {
        let answers = acknowledgements.takeOldest()
        if let fault {
            failures += answers.count
            send(answers.refused(with: tracking.refusal(of: answers.count, from: self, fault)))
        } else {
            send(answers.bytes)
        }
        perform(machine.settled(answers.count, bytes: answers.requestBytes, dependencies))
    }

    // MARK: Calls

    private func call(_ method: JSONView, _ params: JSONView?, _ reply: Reply) {
        machine.share.spend(method.equals("track") ? TurnShare.event : TurnShare.call)
        do throws(RPCError) {
            try server.run(method, Call(session: self, params: params, reply: reply))
            hasSpoken = true
        } catch {
            reply.fail(error)
        }
        if reply.isWaiting { waiting.add(reply) }
    }

    /// Counts a call that begins, with the bytes of its line.
    func callBegan(bytes: Int) {
        machine.took(1, bytes: bytes)
    }

    /// Removes a call from the waiting ones, because it is answered or cancelled.
    func callAnswered(_ reply: Reply) {
        waiting.remove(reply)
    }

    /// Removes a finished call from the session's account, which makes room for other calls.
    func callEnded(bytes: Int) {
        perform(machine.settled(1, bytes: bytes, dependencies))
    }

    /// Counts a call's answer in the session's share of the turn.
    func spend(answer bytes: Int) {
        machine.share.spend(answer: bytes)
    }

    func batchBegan(bytes: Int) {
        machine.took(0, bytes: bytes)
    }

    /// Counts an answer that waits for the other answers of its batch.
    func batchKeeps(bytes: Int) {
        machine.kept(bytes: bytes)
    }

    /// Removes a batch from the session's account, after the batch's answers are sent.
    func batchEnded(keptBytes: Int, requestBytes: Int) {
        perform(machine.batchEnded(keptBytes: keptBytes, requestBytes: requestBytes, dependencies))
    }

    /// Counts a message that failed or was refused, and counts it as `limited` if a limit was the reason (Behaviour
    /// X2).
    func note(_ error: RPCError) {
        failures += 1
        if error.reason == .limit { server.count(.limited) }
    }

    func notificationFailed() {
        server.count(.failedNotifications)
    }

    // MARK: Sending

    /// Sends complete lines.
    func send(_ bytes: [UInt8]) {
        connection.write(bytes)
        server.outputWritten()
    }

    /// True if the client leaves so much output unread that it gets only answers (Behaviour X2).
    var isOverfull: Bool { connection.outputBytes >= server.limits.maxOutputBytes }

    // MARK: Requests to the client

    /// Sends a request to the client (Protocol, Server to client).
    /// - Parameters:
    ///   - params: writes the params, an object.
    ///   - then: called once with the answer, or with the reason why none comes. The call comes after this method
    ///     returns.
    @discardableResult
    func ask(
        _ method: StaticString, params: (inout JSONWriter) -> Void, then: @escaping PeerRequests.Completion
    ) -> PeerRequests.Number {
        let number = peerRequests.add(then)
        machine.requestedClient()
        guard connection.isOpen, machine.mayAnswer else {
            gate.scheduler.soon { self.take(.failure(.gone), of: self.peerRequests.take(number)) }
            return number
        }
        var writer = JSONWriter()
        writer.request(id: number, method: method, params: params)
        writer.endLine()
        send(writer.bytes)
        return number
    }

    /// Withdraws a request. Its callback is not called, and a late answer is ignored.
    func withdraw(_ number: PeerRequests.Number) {
        guard peerRequests.take(number) != nil else { return }
        perform(machine.clientAnswered())
    }

    /// Fails all open requests, because the client sends nothing more.
    func endPeerRequests() {
        for then in peerRequests.takeAll() { take(.failure(.gone), of: then) }
    }

    /// Handles an answer. An answer to no open request may be a late one, and is no fault.
    private func take(_ result: Result<JSONView, PeerFault>, of then: PeerRequests.Completion?) {
        guard let then else { return }
        then(result)
        perform(machine.clientAnswered())
    }

    // MARK: The end

    /// Ends the session in order. The connection closes after all calls of the client and all requests to the client
    /// are answered.
    private func end(because reason: ErrorReason) {
        announceClosing(because: reason)
        perform(machine.ends())
    }
}

// MARK: - Events of the connection

extension Session {
    /// Handles bytes from the client. The memory behind the bytes must be readable, as ``ConnectionHandler`` requires.
    func took(_ bytes: UnsafeRawBufferPointer) {
        framer.borrow(bytes)
        machine.userShare = turns.left(of: caller.credentials.uid)
        perform(machine.bytesCame())
        framer.keepRest()
    }

    /// Handles the end of the client's sending side. The client still gets its answers (Protocol, Framing).
    func endReached() {
        framer.finish()
        perform(machine.endReached())
    }

    /// Handles that all output has been read, or that the client has disconnected.
    func outputDrained() {
        perform(machine.roomChanged(dependencies))
        server.outputDrained(self)
    }

    /// Handles that the client has disconnected. Data that it sent before is still read and counts, even without an
    /// answer.
    func peerLost() {
        perform(machine.peerLost())
    }

    /// Handles that the connection has closed.
    func connectionClosed() {
        grace?.dispose()
        grace = nil
        machine.closed()
        queue.closeAccount(namespace.account)
        endReplies()
        server.ended(self)
    }
}
