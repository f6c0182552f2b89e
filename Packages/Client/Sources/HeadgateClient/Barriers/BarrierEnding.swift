import HeadgateData

/// A barrier that is being unregistered, and that outlives its connection (Behaviour B29).
struct BarrierEnding {
    /// The persistent call that ends when the daemon has removed the barrier.
    let call: ClientConnection.Call
    /// Ends the caller's wait at its deadline.
    let timer: any ClientTimer

    /// The number of conflicts that are repeated. The daemon may still take the barrier for that of the earlier
    /// connection. If it belongs to another client, this client must leave it alone.
    static let mostConflicts = 10
}

extension ClientConnection {
    /// Unregisters a barrier that outlives its connection. On another connection the client first takes it over,
    /// since only the owner may unregister it. It registers a barrier that holds nothing and ends with that
    /// connection.
    /// - Parameters:
    ///   - call: the caller's call. The barrier is unregistered even when the caller no longer waits.
    ///   - deadline: how long the caller waits; nil waits for ever.
    func endBarrier(_ call: Call, _ id: String, deadline: Duration?, _ completion: @escaping Completion) {
        let timer = loop.timer { [weak self] in self?.complete(call, .failure(ClientError.timedOut)) }
        if let deadline { timer.arm(at: loop.monotonicNow + deadline.nanoseconds) }
        expect(call, completion)
        let ending = reserve()
        barrierEndings[id] = BarrierEnding(call: ending, timer: timer)
        let away: DataObject = ["id": .string(id)]
        stand(
            ending, "barrier.unregister", away, as: "the end of barrier \(id)",
            mostConflicts: BarrierEnding.mostConflicts
        ) { [weak self] news in
            switch news {
            case .granted(let answer):
                self?.complete(call, .success(answer))
                self?.abandon(ending)
            case .interrupted: break
            case .ended(let error):
                timer.cancel()
                self?.forgetEnding(ending, of: id, because: error)
                self?.complete(call, .failure(error))
            }
        }
        let over = BarrierRegistration(id, .open, scopes: [])
        change(
            ending,
            to: ClientConnection.line(ending, "barrier.register", over.params)
                + ClientConnection.line(reserve(), "barrier.unregister", away))
    }

    /// Forgets the ending if the daemon refused it. After any other error the next `unregister` uses it again.
    private func forgetEnding(_ call: Call, of id: String, because error: any Error) {
        guard barrierEndings[id]?.call == call else { return }
        switch error as? ClientError {
        case .refused, nil: barrierEndings[id] = nil
        default: break
        }
    }
}
