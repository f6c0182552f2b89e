import HeadgateWire

extension ParameterReader {
    /// A member that there has to be, and that is one of an enumeration's words.
    func requiredWord<Word: RawRepresentable<String> & CaseIterable>(
        _ name: StaticString, of type: Word.Type = Word.self
    ) throws(RPCError) -> Word {
        try required(name, as: WordParameter<Word>.self).word
    }

    /// A member that is one of an enumeration's words; nil when there is none.
    func optionalWord<Word: RawRepresentable<String> & CaseIterable>(
        _ name: StaticString, of type: Word.Type = Word.self
    ) throws(RPCError) -> Word? {
        try optional(name, as: WordParameter<Word>.self)?.word
    }
}

/// Reads enumerations of other modules, which know nothing of parameters.
private struct WordParameter<Word: RawRepresentable<String> & CaseIterable>: ParameterValue {
    let word: Word

    static var expectation: String {
        "must be one of " + Word.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
    }

    init?(parameter: JSONView) {
        guard let word = parameter.string.flatMap(Word.init) else { return nil }
        self.word = word
    }
}
