import HeadgateCore

/// What settings may name: what comes with the service, and what a program adds to it.
public struct SettingsVocabulary {
    /// The kinds of barriers.
    public var barrierKinds = BarrierKinds.builtIn
    /// The kinds of dispatchers: the service's, and those that the program brings (Behaviour K5).
    var dispatcherKinds = DispatcherKinds()
    /// The collectors that the program brings (Behaviour P2).
    public var collectors: Set<String> = []
    /// The load rules that the program brings, by their ids; the settings may have others under the same ids.
    public var loadRules: [String: Rule] = [:]
    /// The kinds of transformers that the program brings.
    public var transformerKinds: Set<String> = []

    public init() {}

    /// Nothing of a program's.
    public static var builtIn: SettingsVocabulary { SettingsVocabulary() }
}
