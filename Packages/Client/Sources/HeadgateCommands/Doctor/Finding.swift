import HeadgateData
import HeadgateText

/// The finding about one subject.
struct Finding: Equatable, Sendable {
    /// The verdict on a subject.
    enum Verdict: String, Sendable {
        case fine
        /// The subject works, but perhaps not for long, or not as expected.
        case doubtful
        /// The subject does not work.
        case wrong
        /// The subject could not be examined.
        case unknown
    }

    /// The subject: `socket`, `collect`.
    let subject: String
    let verdict: Verdict
    /// The finding, as a text for people.
    let words: String
    /// The advice to the operator, or nil.
    var advice: String?

    static func fine(_ subject: String, _ words: String) -> Finding {
        Finding(subject: subject, verdict: .fine, words: words)
    }

    static func wrong(_ subject: String, _ words: String, _ advice: String) -> Finding {
        Finding(subject: subject, verdict: .wrong, words: words, advice: advice)
    }

    static func doubtful(_ subject: String, _ words: String, _ advice: String? = nil) -> Finding {
        Finding(subject: subject, verdict: .doubtful, words: words, advice: advice)
    }

    static func unknown(_ subject: String, _ words: String) -> Finding {
        Finding(subject: subject, verdict: .unknown, words: words)
    }
}

/// Shows all findings.
struct FindingsText {
    let style: Style

    func text(_ findings: [Finding]) -> String {
        let width = findings.map(\.subject.count).max() ?? 0
        return findings.map { line($0, width) }.joined() + summary(findings)
    }

    private func line(_ finding: Finding, _ width: Int) -> String {
        let (word, tone): (String, Style.Tone) =
            switch finding.verdict {
            case .fine: ("ok", .good)
            case .doubtful: ("warn", .attention)
            case .wrong: ("ERROR", .bad)
            case .unknown: ("?", .faint)
            }
        let subject = PlainText.line(finding.subject)
        let margin = String(repeating: " ", count: max(0, width - subject.count))
        let head = style.apply(tone, to: word) + String(repeating: " ", count: 7 - word.count) + subject + margin
        let advice = finding.advice.map { String(repeating: " ", count: 9 + width) + "→ \(PlainText.line($0))\n" } ?? ""
        return "\(head)  \(PlainText.line(finding.words))\n\(advice)"
    }

    private func summary(_ findings: [Finding]) -> String {
        let wrong = findings.count { $0.verdict == .wrong }
        let doubtful = findings.count { $0.verdict == .doubtful }
        if wrong == 0, doubtful == 0 { return "\n" + style.apply(.good, to: "No problems found.") + "\n" }
        let parts = [
            wrong > 0 ? Quantity.counted(wrong, "error") : nil,
            doubtful > 0 ? Quantity.counted(doubtful, "warning") : nil,
        ]
        return "\n" + style.apply(wrong > 0 ? .bad : .attention, to: parts.compactMap { $0 }.joined(separator: ", "))
            + ".\n"
    }
}
