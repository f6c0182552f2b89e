import HeadgateData

/// A barrier of this side's that is to be taken away, and stays at the daemon when its connection is gone (Behaviour B29).
struct BarrierEnding {
    /// The call that stands until the daemon has taken it away.
    let call: ClientConnection.Call
    /// Tells who waits that it took too long.
    let timer: any ClientTimer

    /// So often the daemon may take it for another's: that of a connection before it notices, and that of another client it
    /// is to leave alone.
    static let mostConflicts = 10
}

extension ClientConnection {
    /// Takes away a barrier that stays when its connection is gone. On another one it is taken over first, since only its
    /// owner may: as one that holds nothing, and goes with that connection.
    /// - Parameters:
    ///   - call: whoever waits for it; it goes on when nobody does.
    ///   - deadline: how long that one waits; nil is for ever.
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

    /// Where only this side gave up, whoever takes the barrier away again does so in the same way.
    private func forgetEnding(_ call: Call, of id: String, because error: any Error) {
        guard barrierEndings[id]?.call == call else { return }
        switch error as? ClientError {
        case .refused, nil: barrierEndings[id] = nil
        default: break
        }
    }
}
