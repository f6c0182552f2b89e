/// Makes text stand out on a terminal; elsewhere it leaves it as it is.
struct Style: Sendable {
    /// What a text means.
    enum Tone: Sendable {
        /// Nothing in particular.
        case plain
        /// A heading, or what matters most.
        case strong
        /// All is well.
        case good
        /// Something is held, or wants to be looked at.
        case attention
        /// Something failed.
        case bad
        /// It matters less.
        case faint
    }

    /// Whether there are colours.
    let isColoured: Bool

    /// A text in its tone.
    func apply(_ tone: Tone, to text: String) -> String {
        guard isColoured, let code = Style.code(tone), !text.isEmpty else { return text }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }

    private static func code(_ tone: Tone) -> Int? {
        switch tone {
        case .plain: nil
        case .strong: 1
        case .good: 32
        case .attention: 33
        case .bad: 31
        case .faint: 2
        }
    }
}
