import HeadgateData
import HeadgateText

/// The page that shows what a rewind would do, before it is done (Behaviour R2).
struct RewindPage {
    let dispatcher: String
    let clock: WallClock

    /// The daemon's answer to a dry run.
    enum Preview {
        case possible(DataObject)
        /// The rewind is refused, for this reason.
        case refused(String)
    }

    /// Returns the params of a dry run.
    static func params(_ dispatcher: String, to start: String) -> DataObject {
        ["id": .string(dispatcher), "to": target(start), "dry_run": true]
    }

    /// Returns a start that a user has typed, in the form of the method's param: a number if it is one, else a string.
    static func target(_ start: String) -> DataItem {
        let start = start.drop { $0 == " " }
        return Int(start).flatMap { $0 >= 0 ? .number(DataNumber($0)) : nil } ?? .string(String(start))
    }

    /// Returns the form that asks for the start. It changes nothing.
    func question(_ start: String?) -> HTML {
        """
        <form method="get" action="\(Route.Page.rewind(dispatcher, to: nil).target)">
        <p>Send delivered events again from an earlier start on. The next page shows how many.</p>
        <label>Start <input name="to" value="\(start ?? "")" required maxlength="64" autocomplete="off" \
        spellcheck="false" placeholder="-2h" aria-describedby="start-forms"></label>
        <p class="note" id="start-forms">A duration back (-2h, -1d), a time in UTC (\(example)), or a sequence number.</p>
        <button>Preview rewind</button></form>

        """
    }

    /// Returns the body of the page: the preview, the form that confirms it, and the form for another start.
    func html(_ start: String, _ preview: Preview) -> HTML {
        """
        <section aria-labelledby="preview-title"><h2 id="preview-title">Preview</h2>\(body(preview))</section>
        <section aria-labelledby="another-title"><h2 id="another-title">Another start</h2>
        <div class="controls">\(question(start))</div></section>

        """
    }

    private func body(_ preview: Preview) -> HTML {
        switch preview {
        case .refused(let words): return "<p class=\"error\">\(Formatting.sentence(words))</p>"
        case .possible(let result):
            let text = RewindText(result)
            let warning: HTML = text.warning.map { "<p>\(Formatting.badge("incomplete", .held)) \($0)</p>" } ?? ""
            guard text.events > 0 else {
                return """
                    <p>Nothing to send: \(dispatcher) has no delivered or dropped events from \(text.first) on.</p>\(warning)
                    """
            }
            return """
                <dl class="figures">\(Formatting.figure("events pending again", Formatting.count(text.events)))\
                \(Formatting.figure("first sequence number", Formatting.count(text.first)))\
                \(Formatting.figure("received from", moment(result, "first_received_at")))\
                \(Formatting.figure("received to", moment(result, "last_received_at")))</dl>\(warning)
                \(confirmation(text))
                """
        }
    }

    private func moment(_ result: DataObject, _ key: String) -> HTML {
        Formatting.moment(result.get(key: key, as: String.self).flatMap(Timestamp.init(rfc3339:)), clock)
    }

    /// Returns the form that confirms the rewind. The form contains the preview's sequence number, so that a later
    /// confirmation applies to the same events.
    private func confirmation(_ text: RewindText) -> HTML {
        let change = Route.Change(dispatcher: dispatcher, act: .rewind)
        return """
            <form method="post" action="\(change.target)"><p>The destination gets these events again. They keep their ids and \
            are marked as replayed. Dead letters stay.</p>
            <input type="hidden" name="to" value="\(text.first)"><button>Rewind \(dispatcher)</button></form>
            """
    }

    /// The present time without its fraction, as an example.
    private var example: String { "\(clock.now.text.prefix(16)):00Z" }
}
