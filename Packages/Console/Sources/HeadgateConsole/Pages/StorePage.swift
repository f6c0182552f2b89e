import HeadgateData
import HeadgateText

/// The page of the event store: its size and limits, its retained events, its encryption, and an erasure in progress.
struct StorePage {
    let state: DaemonState

    /// The regions that change.
    var regions: [Region] {
        [
            Region(id: "stored", html: stored), Region(id: "retained", html: retained),
            Region(id: "letters", html: deadLetters), Region(id: "rest", html: rest),
        ]
    }

    /// The body of the page.
    var html: HTML {
        """
        <section aria-labelledby="stored-title"><h2 id="stored-title">Stored events</h2>
        <div id="stored">\(stored)</div></section>
        <section aria-labelledby="retained-title"><h2 id="retained-title">Retained events</h2>
        <p>Events that every dispatcher has delivered or dropped, kept by <code>store.retain</code> for a rewind.</p>
        <div id="retained">\(retained)</div></section>
        <section aria-labelledby="letters-title"><h2 id="letters-title">Dead letters</h2>
        <div id="letters">\(deadLetters)</div></section>
        <section aria-labelledby="rest-title"><h2 id="rest-title">On disk</h2><div id="rest">\(rest)</div></section>

        """
    }

    private var stored: HTML {
        let limits = (events: metric("headgate_store_max_events"), bytes: metric("headgate_store_max_bytes"))
        return figures([
            ("pending", count(state.store, "events"), limits.events.map { "of \(Formatting.count($0))" }),
            ("size", bytes(state.store, "bytes"), limits.bytes.map { "of \(Quantity.bytes($0))" }),
            ("oldest", age(state.store), nil),
        ])
    }

    private var retained: HTML {
        let retained: DataObject = state.store.get(key: "retained") ?? [:]
        return figures([
            ("events", count(retained, "events"), nil), ("size", bytes(retained, "bytes"), nil),
            ("oldest", age(retained), nil),
        ])
    }

    private var deadLetters: HTML {
        let limit = metric("headgate_store_max_dead_letters")
        return figures([
            (
                "dead letters", metric("headgate_store_dead_letters").map(Formatting.count) ?? "–",
                limit.map { "of \(Formatting.count($0))" }
            ),
            ("size", metric("headgate_store_dead_letter_bytes").map { "\(Quantity.bytes($0))" } ?? "–", nil),
        ])
    }

    private var rest: HTML {
        let dedupe: DataObject = state.store.get(key: "dedupe") ?? [:]
        let free = metric("headgate_disk_free_bytes")
        let cells = figures([
            ("kind", text("kind"), nil), ("durability", text("durability"), nil),
            ("files", bytes(state.store, "disk_bytes"), free.map { "\(Quantity.bytes($0)) free on the disk" }),
            ("remembered ids", count(dedupe, "ids"), nil),
        ])
        return cells + encryption + erasure
    }

    private var encryption: HTML {
        let encryption = EncryptionText(state.store)
        let tone: Formatting.Tone = encryption.isSettled ? .good : .waiting
        let exposed: HTML =
            encryption.isExposed
            ? """
            <p>\(Formatting.badge("key file exposed", .bad)) Users other than its owner may read or write the key file: \
            \(EncryptionText.exposedAdvice).</p>
            """ : ""
        let advice = encryption.advice.map { " \(Formatting.sentence($0))" } ?? ""
        return """
            <p>\(Formatting.badge("encryption", tone)) \(Formatting.sentence(encryption.words))\(advice)</p>\(exposed)
            """
    }

    private var erasure: HTML {
        guard let erasure: DataObject = state.store.get(key: "erasure") else {
            return "<p>\(Formatting.badge("erasure", .good)) No erasure is in progress.</p>"
        }
        let events = Quantity.counted(erasure.get(key: "events") ?? 0, "event")
        let deadLetters = Quantity.counted(erasure.get(key: "dead_letters") ?? 0, "dead letter")
        let found = "\(events) and \(deadLetters) so far"
        let scanned = "scanned to event \(number(erasure, "seq")) of \(number(erasure, "last_seq"))"
        let words: String
        switch erasure.get(key: "step", as: String.self) {
        case "removing": words = "The bytes of \(events) and \(deadLetters) are being removed from the files."
        case "counting": words = "A dry run counts the events: \(found), \(scanned)."
        default: words = "Events are being erased: \(found), \(scanned)."
        }
        return "<p>\(Formatting.badge("erasure", .waiting)) \(words)</p>"
    }

    // MARK: Values

    private func figures(_ cells: [(name: String, value: HTML, note: HTML?)]) -> HTML {
        let cells = cells.map { Formatting.figure($0.name, $0.value, $0.note ?? "") }
        return "<dl class=\"figures\">\(cells)</dl>"
    }

    private func count(_ object: DataObject, _ key: String) -> HTML {
        object.get(key: key, as: Int.self).map(Formatting.count) ?? "–"
    }

    private func bytes(_ object: DataObject, _ key: String) -> HTML {
        object.get(key: key, as: Int.self).map { "\(Quantity.bytes($0))" } ?? "–"
    }

    private func age(_ object: DataObject) -> HTML {
        "\(Formatting.age(object.get(key: "oldest_ms", as: Int.self).map { .milliseconds($0) }))"
    }

    private func text(_ key: String) -> HTML {
        "\(state.store.get(key: key, as: String.self) ?? "–")"
    }

    private func number(_ object: DataObject, _ key: String) -> String {
        Quantity.grouped(object.get(key: key) ?? 0)
    }

    private func metric(_ name: String) -> Int? {
        state.metrics?.value(name).flatMap { Int(exactly: $0.rounded()) }
    }
}
