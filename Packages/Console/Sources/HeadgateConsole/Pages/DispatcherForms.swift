import HeadgateClient
import HeadgateText

/// The forms that change a dispatcher. A destructive change is confirmed by typing the dispatcher's ID.
struct DispatcherForms {
    let dispatcher: ListedDispatcher

    /// All forms.
    var html: HTML {
        """
        <section aria-labelledby="controls-title"><h2 id="controls-title">Actions</h2>
        <div class="controls">\(pause)\(resume)\(retry)\(flush)\(rewind)\(requeue)\(purge)\(purgeDeadLetters)</div></section>

        """
    }

    private var pause: HTML {
        form(
            .pause, "Pause", "Pause this dispatcher. It stays paused across restarts until you resume it.",
            """
            <label>Reason <input name="reason" maxlength="200" autocomplete="off"></label>
            <label class="check"><input type="checkbox" name="flushable" value="yes"> Let flushes pass</label>
            """)
    }

    private var resume: HTML {
        form(.resume, "Resume", "Resume this dispatcher.", "")
    }

    private var retry: HTML {
        form(.retry, "Retry now", "End the backoff: the next attempt begins now.", "")
    }

    private var flush: HTML {
        form(.flush, "Flush", "Send pending events now, past all flushable barriers.", "")
    }

    private var rewind: HTML {
        RewindPage(dispatcher: dispatcher.id, clock: .local).question(nil)
    }

    private var requeue: HTML {
        form(.requeue, "Requeue all dead letters", "Send all dead letters again. They keep their ids.", "")
    }

    private var purge: HTML {
        form(
            .purge, "Purge pending events", "Delete all pending events of this dispatcher permanently.",
            confirmation(.purge))
    }

    private var purgeDeadLetters: HTML {
        form(
            .purgeDeadLetters, "Purge dead letters", "Delete all dead letters of this dispatcher permanently.",
            confirmation(.purgeDeadLetters))
    }

    private func form(_ act: Route.Change.Act, _ name: HTML, _ meaning: HTML, _ fields: HTML) -> HTML {
        let change = Route.Change(dispatcher: dispatcher.id, act: act)
        let isGrave: HTML = act.destroys ? " class=\"grave\"" : ""
        return """
            <form method="post" action="\(change.target)"\(isGrave)><p>\(meaning)</p>
            \(fields)<button>\(name)</button></form>

            """
    }

    private func confirmation(_ act: Route.Change.Act) -> HTML {
        """
        <label><span>Type <b>\(dispatcher.id)</b> to confirm</span> <input name="confirm" required autocomplete="off" \
        spellcheck="false" aria-label="Type \(dispatcher.id) to confirm"></label>

        """
    }
}

extension Route.Change.Act {
    /// True if the change deletes events for good.
    var destroys: Bool {
        self == .purge || self == .purgeDeadLetters
    }

    /// The daemon's method for the change.
    var method: String {
        switch self {
        case .pause: "dispatcher.pause"
        case .resume: "dispatcher.resume"
        case .retry: "dispatcher.retry"
        case .flush: "flush"
        case .purge: "queue.purge"
        case .requeue: "dead_letters.requeue"
        case .purgeDeadLetters: "dead_letters.purge"
        case .rewind: "dispatcher.rewind"
        }
    }

    /// Returns a message that the change is done.
    /// - Parameter count: the number of affected events, if the daemon counts them.
    func done(count: Int) -> String {
        switch self {
        case .pause: "Paused."
        case .resume: "Resumed."
        case .retry: "The backoff has ended: the next attempt begins as soon as no barrier blocks the dispatcher."
        case .flush: "The flush has started."
        case .purge: "\(Quantity.counted(count, "event")) purged."
        case .requeue: "\(Quantity.counted(count, "event")) requeued."
        case .purgeDeadLetters: "\(Quantity.counted(count, "dead letter")) purged."
        case .rewind: "\(Quantity.counted(count, "event")) pending again."
        }
    }
}
