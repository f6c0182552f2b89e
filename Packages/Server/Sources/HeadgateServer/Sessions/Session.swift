import HeadgateCore
import HeadgateData
import HeadgateTransport
import HeadgateWire

/// One client's connection: frames its lines, hands its requests on, and sends the answers. What it holds dies with it.
final class Session {
    let number: Int
    let connection: Connection
    var caller: Caller
    /// The context of its events, in JSON.
    private(set) var context = FixedBytes([])
    /// Whether it has sent anything but `hello`, which comes first if at all.
    var hasSpoken = false

    /// Strong: the loop closes connections also after the server is gone. The service lets go of closed sessions.
    let service: Service
    private var framer: LineFramer
    /// Acknowledgements, by what each waits for: the oldest first.
    private var held: [HeldAnswers] = []
    /// What the client was asked.
    var peerRequests = PeerRequests()
    private var unanswered = 0
    private var unansweredBytes = 0
    private var isPaused = false
    private var isResumeDue = false
    /// What it may still do in this turn.
    var share = TurnShare()
    private(set) var hasReachedEnd = false
    /// Whether it has been told that it is closed when what was begun is done.
    private var isEnding = false
    private var isReadingLines = false
    /// Bytes of the line that is being handled.
    private var lineBytes = 0

    init(number: Int, connection: Connection, caller: Caller, service: Service) {
        self.number = number
        self.connection = connection
        self.caller = caller
        self.service = service
        framer = LineFramer(maxLineBytes: service.settings.limits.maxLineBytes)
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
        resumeIfThereIsRoom()
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
        service.log.notice("\(asOwner.name) is disconnected: it has lost the right to \(rights)")
        end(because: .unauthorized)
    }

    // MARK: Reading

    /// Whether more requests may be taken on (Behaviour X2); else reading stops until there is room.
    private var hasRoom: Bool {
        hasRoomOfItsOwn && !service.gate.events.isGroupFull
    }

    private var hasRoomOfItsOwn: Bool {
        let limits = service.settings.limits
        return unanswered < limits.maxUnanswered && unansweredBytes < limits.maxUnansweredBytes
            && connection.outputBytes < limits.maxOutputBytes
    }

    /// Whether the client leaves so much unread that it gets nothing but answers any more (Behaviour X2).
    var isOverfull: Bool { connection.outputBytes >= service.settings.limits.maxOutputBytes }

    private func readLines() {
        isReadingLines = true
        while connection.isOpen, hasRoom, !share.isUsedUp, let line = framer.next() { handle(line) }
        isReadingLines = false
        framer.keepRest()
        guard connection.isOpen else { return }
        if hasReadAll { return readAll() }
        if !hasRoom { return pause() }
        if share.isUsedUp { return yield() }
        closeIfDone()
    }

    /// Whether nothing comes from the client any more.
    private var hasReadAll: Bool { hasReachedEnd && framer.waitingBytes == 0 }

    /// The client may still wait for answers of its own. It gives none, and so does nothing for others any more.
    private func readAll() {
        service.providerLeft(self)
        closeIfDone()
    }

    private func pause() {
        isPaused = true
        connection.pauseReading()
        if !hasRoomOfItsOwn { service.counters.pausedReadings += 1 }
        guard service.gate.events.isGroupFull else { return }
        service.gate.events.whenCommitted { _ in self.resumeIfThereIsRoom() }
    }

    /// Its share of the turn is used up: the others have theirs before it goes on.
    private func yield() {
        isPaused = true
        isResumeDue = true
        connection.pauseReading()
        awaitShare()
    }

    private func awaitShare() {
        service.worker.nextTurn {
            self.share.renew()
            self.share.isUsedUp && self.connection.isOpen ? self.awaitShare() : self.resume()
        }
    }

    /// Goes on reading if that had stopped and there is room now.
    ///
    /// Only at the end of the turn: what makes room may be a message of another session, whose line is still in the
    /// one decoder, with more messages in it.
    func resumeIfThereIsRoom() {
        guard isPaused, !isResumeDue, hasRoom, connection.isOpen else { return }
        isResumeDue = true
        service.worker.soon { self.resume() }
    }

    private func resume() {
        isResumeDue = false
        guard isPaused, connection.isOpen else { return }
        // Those that went on before may have taken the room.
        guard hasRoom else { return pause() }
        isPaused = false
        readLines()
        if !isPaused { connection.resumeReading() }
    }

    private func handle(_ line: LineFramer.Line) {
        switch line {
        case .tooLong:
            share.spend()
            service.counters.lineTooLong += 1
            sendError(RPCError(.lineTooLong))
        case .text(let bytes):
            lineBytes = bytes.count
            share.spend(line: bytes.count)
            // A message may change the settings, and with them the service's decoder, with more of its line to come.
            let decoder = service.decoder
            withExtendedLifetime(decoder) { handle(decoder.decode(bytes)) }
        }
    }

    // MARK: Messages

    private func handle(_ line: IncomingLine) {
        switch line {
        case .message(let message): handle(message, batch: nil)
        case .batch(let messages): handle(messages)
        }
    }

    private func handle(_ messages: IncomingBatch) {
        guard messages.count <= Limits.mostInBatch else {
            return refuse(nil, RPCError(.limit, "a batch may have no more than \(Limits.mostInBatch) messages"), nil)
        }
        let batch = BatchReply(to: self)
        for message in messages {
            share.spend()
            handle(message, batch: batch)
        }
        batch.close()
    }

    private func handle(_ message: IncomingMessage, batch: BatchReply?) {
        switch message {
        case .request(let request):
            if let batch, batch.byteCount >= service.settings.limits.maxOutputBytes {
                return refuse(request.id, RPCError(.limit, "the answers to this batch are too large"), batch)
            }
            unanswered += 1
            // A batch's bytes are counted with its first request.
            let bytes = lineBytes
            lineBytes = 0
            unansweredBytes += bytes
            if batch == nil, request.method.equals("track") { return track(request, requestBytes: bytes) }
            let reply = Reply(to: self, id: Array(request.id.raw), batch: batch, requestBytes: bytes)
            call(request.method, request.params, reply)
        case .notification(let notification):
            let reply = Reply(to: self, id: nil)
            call(notification.method, notification.params, reply)
        case .invalid(let id, let error): refuse(id, error, batch)
        case .invalidNotification: notificationFailed()
        case .response(let response): take(response.outcome, of: response.id)
        case .invalidResponse(let id, let error): take(.failure(error), of: id)
        }
    }

    private func call(_ method: JSONView, _ params: JSONView?, _ reply: Reply) {
        share.spend(method.equals("track") ? TurnShare.event : TurnShare.call)
        service.call(method, params: params, session: self, reply: reply)
    }

    private func refuse(_ id: RequestID?, _ error: RPCError, _ batch: BatchReply?) {
        share.spend(TurnShare.refusal)
        note(error)
        var writer = JSONWriter()
        writer.errorAnswer(id: id?.raw, error: error)
        guard let batch else {
            writer.endLine()
            return send(writer.bytes)
        }
        batch.expect()
        batch.add(writer.bytes)
    }

    // MARK: Tracking

    /// The one method on the hot path: the answer is rendered at once and held until the event is safe.
    private func track(_ request: IncomingMessage.Request, requestBytes: Int) {
        hasSpoken = true
        do {
            let (event, admission) = try service.tracking.track(request.params, from: self)
            hold(request.id, event.id, admission, requestBytes)
        } catch {
            refuse(request.id, error, nil)
            answered(1, bytes: requestBytes)
        }
    }

    /// Holds an acknowledgement until the group that is in the making now is committed. One before it may be under way.
    private func hold(
        _ id: RequestID, _ event: UnsafeRawBufferPointer, _ admission: Admission, _ requestBytes: Int
    ) {
        let group = service.gate.events.gatheringGroup
        if held.last?.group != group {
            held.append(HeldAnswers(group: group))
            service.gate.events.whenCommitted { self.release($0) }
        }
        held[held.count - 1].hold(id: id.raw, event: event, admission: admission, requestBytes: requestBytes)
    }

    /// Calls `work` once all that has been offered so far is stored, or could not be: behind the acknowledgements that are
    /// held by then, and before those that are held later. So they all go out in the order of their requests.
    func whenCommitted(_ work: @escaping (StoreFault?) -> Void) {
        if !held.isEmpty { held[held.count - 1].seal() }
        service.gate.events.whenCommitted(work)
    }

    /// The oldest that are held are safe, or could not be stored.
    private func release(_ fault: StoreFault?) {
        let answers = held.removeFirst()
        if let fault {
            send(answers.refused(with: service.tracking.refusal(of: answers.count, fault)))
        } else {
            send(answers.bytes)
        }
        answered(answers.count, bytes: answers.requestBytes)
    }

    // MARK: Answering

    /// Sends whole lines.
    func send(_ bytes: [UInt8]) {
        connection.write(bytes)
        service.watchSlowReaders()
    }

    func sendError(_ error: RPCError) {
        var writer = JSONWriter()
        writer.errorAnswer(id: nil, error: error)
        writer.endLine()
        send(writer.bytes)
    }

    /// Requests have got their answers, and make room for others.
    func answered(_ count: Int, bytes: Int) {
        unanswered -= count
        unansweredBytes -= bytes
        isPaused ? resumeIfThereIsRoom() : closeIfDone()
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
        isEnding = true
        closeIfDone()
    }

    /// Closes the connection of a session that ends, once nothing is owed to the client, nor by one that is still there.
    /// Lines that wait to be read come first.
    func closeIfDone() {
        guard hasReadAll || isEnding, !isReadingLines, !isPaused, connection.isOpen else { return }
        if unanswered == 0, hasReachedEnd || peerRequests.count == 0 { connection.closeAfterFlush() }
    }

    /// Counts what was refused because of a limit (Behaviour X2).
    func note(_ error: RPCError) {
        if error.reason == .limit { service.counters.limited += 1 }
    }

    func notificationFailed() {
        service.counters.failedNotifications += 1
    }
}

extension Session: ConnectionHandler {
    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
        framer.lend(bytes)
        share.renew()
        readLines()
    }

    /// A client that half-closes its side still gets its answers (Protocol, Framing).
    func connectionDidReachEnd(_ connection: Connection) {
        hasReachedEnd = true
        framer.finish()
        if !isPaused { readLines() }
    }

    func connectionDidDrain(_ connection: Connection) {
        resumeIfThereIsRoom()
        service.watches.drained(self)
        service.workforces.drained(number)
    }

    /// What it sent before is still read and counts, answered or not.
    func connectionDidLosePeer(_ connection: Connection) {
        if isPaused { connection.resumeReading() }
    }

    func connectionDidClose(_ connection: Connection, error: TransportError?) {
        service.ended(self)
    }
}
