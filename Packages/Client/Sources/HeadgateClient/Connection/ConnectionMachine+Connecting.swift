import HeadgateWire

extension ConnectionMachine {
    /// There is a connection.
    mutating func connected(now: Int64) {
        guard phase == .connecting else { return }
        requestsToAnswer = 0
        phase = .greeting(until: now + options.greetingTimeout.nanoseconds)
        order(.greet)
    }

    /// There is no connection to be had at present.
    mutating func couldNotConnect(_ error: ClientError, now: Int64) {
        guard phase != .closed else { return }
        lastFailure = error
        retry(now)
    }

    /// The daemon answered the greeting.
    mutating func greeted(_ limits: DaemonLimits, now: Int64) {
        guard case .greeting = phase else { return }
        self.limits = limits
        // The first connection has been made in time; later ones are another matter.
        if !wasConnected { patienceEnd = nil }
        wasConnected = true
        lastFailure = nil
        phase = .open
        proceed(now)
    }

    /// The daemon refused the greeting: for the moment, or for good.
    mutating func greetingRefused(_ error: RPCError, now: Int64) {
        guard case .greeting = phase else { return }
        order(.disconnect)
        if error.reason == .shuttingDown { return foundStopping(error.message, now) }
        if error.reason == .limit {
            return couldNotConnect(.cannotConnect(path: path, cause: error.message), now: now)
        }
        phase = .idle
        patienceEnd = nil
        failAll(.refused(error))
    }

    /// The daemon says that it is about to close the connection.
    mutating func closing(now: Int64) {
        switch phase {
        case .open:
            phase = .draining
            proceed(now)
        case .greeting:
            order(.disconnect)
            foundStopping("the daemon is stopping", now)
        case .idle, .connecting, .draining, .waiting, .closed: return
        }
    }

    /// The connection is gone.
    mutating func disconnected(now: Int64) {
        switch phase {
        case .greeting:
            couldNotConnect(.cannotConnect(path: path, cause: "the daemon closed the connection"), now: now)
        case .open, .draining: lose(.disconnected, now)
        case .idle, .connecting, .waiting, .closed: return
        }
    }

    /// Something came that is no message, or an error that names no request. It cannot be told which call it is about,
    /// so all that are written end with it: to repeat them might bring the same for ever.
    mutating func gotNonsense(_ text: String, now: Int64) {
        order(.disconnect)
        switch phase {
        case .greeting: couldNotConnect(.badAnswer(text), now: now)
        case .open, .draining:
            for number in calls.keys.sorted() where isWritten(number) { finish(number, .failure(.badAnswer(text))) }
            lose(.badAnswer(text), now)
        case .idle, .connecting, .waiting, .closed: return
        }
    }

    /// An error came that names no request: in place of a greeting it says why there is no connection.
    mutating func gotAnonymousError(_ error: RPCError, now: Int64) {
        guard case .greeting = phase else { return gotNonsense(error.message, now: now) }
        greetingRefused(error, now: now)
    }

    /// Begins to look for a connection, which is wanted from now on.
    mutating func seekConnection(_ now: Int64) {
        let patience = wasConnected ? options.reconnectTimeout : options.connectTimeout
        patienceEnd = end(of: patience, from: now)
        attemptAgain()
    }

    mutating func attemptAgain() {
        guard !calls.isEmpty else { return rest() }
        phase = .connecting
        order(.connect)
    }

    /// The connection worked; the next loss is a new one.
    mutating func noteProgress() {
        failures = 0
        patienceEnd = nil
    }

    /// The connection is gone: takes back what can be written again, in its order.
    mutating func lose(_ error: ClientError, _ now: Int64) {
        lastFailure = error
        interrupt(error)
        for number in calls.keys.sorted() where isWritten(number) {
            if calls[number]?.isRepeatable == true {
                unmarkWritten(number)
            } else {
                finish(number, .failure(error))
            }
        }
        waiting = SortedLine(sorted: calls.keys.sorted())
        postponed = SortedLine()
        retry(now)
    }

    /// Waits for the next attempt, or gives up.
    private mutating func retry(_ now: Int64) {
        failures += 1
        guard !calls.isEmpty else { return rest() }
        let patience = patienceEnd ?? end(of: options.reconnectTimeout, from: now)
        guard now < patience else { return giveUp() }
        patienceEnd = patience
        phase = .waiting(until: min(now + backoff.wait(afterFailures: failures), patience))
    }

    /// A daemon that stops was there: what waits for it waits as if it had been lost, for it may be restarting.
    private mutating func foundStopping(_ cause: String, _ now: Int64) {
        if !wasConnected { patienceEnd = nil }
        wasConnected = true
        couldNotConnect(.cannotConnect(path: path, cause: cause), now: now)
    }

    private mutating func giveUp() {
        rest()
        failAll(lastFailure ?? .disconnected)
    }

    private mutating func rest() {
        phase = .idle
        patienceEnd = nil
    }

    private func end(of patience: Duration?, from now: Int64) -> Int64 {
        patience.map { now + $0.nanoseconds } ?? .max
    }
}
