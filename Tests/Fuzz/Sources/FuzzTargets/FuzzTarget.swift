/// What reads foreign bytes. Each takes any input, and stops the program at one that it cannot take.
public enum FuzzTarget: String, CaseIterable, Sendable {
    /// The line framer.
    case framer
    /// The message decoder, and what methods do with a message.
    case message
    /// The loader of settings.
    case settings

    /// Reads an input as a daemon would.
    /// - Returns: what libFuzzer wants to know: 0, or -1 for an input that is not worth keeping.
    public func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        switch self {
        case .framer: FramerTarget.run(input)
        case .message: MessageTarget.run(input)
        case .settings: SettingsTarget.run(input)
        }
    }
}
