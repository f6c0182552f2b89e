import HeadgateData
import HeadgateWire

/// The short form of a rule, for command lines: `data.user.id = "4711" and not event ~ "^debug"`.
///
/// - A rule is a list of terms that `or` joins, a term is a list of factors that `and` joins.
/// - A factor is a condition, `not` and a factor, or a rule in parentheses.
/// - A condition is a path, an operator and a value, or a path with `is defined`, `is empty`, or `is not` and one of these.
/// - An operator is a symbol (`=`, `!=`, `<`, `<=`, `>`, `>=`, `~`, `!~`), or a word of the rules, like `starts_with`.
/// - A value is a JSON string, number, true, false or null. Another word is a string.
///
/// The symbols `i=`, `i!=`, `i~` and `i!~` ignore the case of letters. The result is the rule in JSON, as settings have it.
enum RuleText {
    /// The reason why a text is no rule.
    struct Fault: Error, Equatable, CustomStringConvertible {
        let description: String
        /// The offset of the problem in characters.
        let offset: Int
    }

    /// Returns a rule in JSON. A text that begins with `{` is JSON already, and a single word is the id of a load rule.
    static func parse(_ text: String) throws(Fault) -> DataItem {
        if text.first == "{" {
            guard let item = try? DataItem(parsing: Array(text.utf8)) else {
                throw Fault(description: "the rule is not valid JSON", offset: 0)
            }
            return item
        }
        let tokens = try RuleTokens.of(text)
        guard !tokens.isEmpty else { throw Fault(description: "the rule is empty", offset: 0) }
        if tokens.count == 1, case .word(let id) = tokens[0].kind { return .string(id) }
        var parser = RuleParser(tokens: tokens[...], end: text.count)
        let rule = try parser.rule(depth: 0)
        guard let rest = parser.tokens.first else { return rule }
        throw Fault(description: "\(rest.kind.text) is not expected here", offset: rest.offset)
    }
}

/// A token of a rule.
private struct RuleToken {
    enum Kind: Equatable {
        case word(String)
        case symbol(String)
        case value(DataItem)

        var text: String {
            switch self {
            case .word(let word): "`\(word)`"
            case .symbol(let symbol): "`\(symbol)`"
            case .value(let item): item.json
            }
        }
    }

    let kind: Kind
    let offset: Int
}

private enum RuleTokens {
    /// The symbols, the longest first.
    private static let symbols = ["i!=", "i!~", "i=", "i~", "!=", "!~", "<=", ">=", "=", "~", "<", ">", "(", ")"]

    static func of(_ text: String) throws(RuleText.Fault) -> [RuleToken] {
        let characters = Array(text)
        var (tokens, position): ([RuleToken], Int) = ([], 0)
        while position < characters.count {
            if characters[position].isWhitespace {
                position += 1
            } else if characters[position] == "\"" {
                let end = try endOfString(characters, from: position)
                guard let item = try? DataItem(parsing: Array(String(characters[position..<end]).utf8)) else {
                    throw RuleText.Fault(description: "the string is not valid JSON", offset: position)
                }
                tokens.append(RuleToken(kind: .value(item), offset: position))
                position = end
            } else if let fault = commonMistake(characters, at: position) {
                throw RuleText.Fault(description: fault, offset: position)
            } else if let symbol = symbol(characters, at: position) {
                tokens.append(RuleToken(kind: .symbol(symbol), offset: position))
                position += symbol.count
            } else {
                let end = characters[position...].firstIndex { isEnd($0) } ?? characters.count
                guard end > position else {
                    throw RuleText.Fault(
                        description: "`\(characters[position])` is not expected here", offset: position)
                }
                tokens.append(RuleToken(kind: .word(String(characters[position..<end])), offset: position))
                position = end
            }
        }
        return tokens
    }

    /// Returns what to write instead of a notation of other languages, or nil if a token begins here. A word with a single
    /// quote in front would otherwise match nothing.
    private static func commonMistake(_ characters: [Character], at position: Int) -> String? {
        if characters[position] == "'" { return "a string needs double quotes, like \"4711\"" }
        let rest = characters[position...]
        if rest.starts(with: "==") { return "`==` is not an operator; use `=`" }
        if rest.starts(with: "&&") { return "`&&` is not an operator; use `and`" }
        return rest.starts(with: "||") ? "`||` is not an operator; use `or`" : nil
    }

    private static func isEnd(_ character: Character) -> Bool {
        character.isWhitespace || "\"=~<>()!".contains(character)
    }

    /// Returns the symbol at a position. `i` belongs to a symbol only if a space or a parenthesis is before it.
    private static func symbol(_ characters: [Character], at position: Int) -> String? {
        symbols.first { characters[position...].starts(with: $0) }
    }

    /// Returns the index after the closing quote.
    private static func endOfString(_ characters: [Character], from start: Int) throws(RuleText.Fault) -> Int {
        var position = start + 1
        while position < characters.count, characters[position] != "\"" {
            position += characters[position] == "\\" ? 2 : 1
        }
        guard position < characters.count else {
            throw RuleText.Fault(description: "the string has no end", offset: start)
        }
        return position + 1
    }
}

/// A parser of the short form, by recursive descent.
private struct RuleParser {
    var tokens: ArraySlice<RuleToken>
    /// The offset of the end of the text.
    let end: Int

    /// The most parentheses and negations within each other.
    private static let mostDepth = 32

    private static let operators = [
        "=": "equals", "!=": "not_equals", "<": "less_than", "<=": "less_than_or_equals", ">": "greater_than",
        ">=": "greater_than_or_equals", "~": "regular_expression", "!~": "not_regular_expression",
    ]
    private static let words: Set<String> = [
        "equals", "not_equals", "starts_with", "not_starts_with", "ends_with", "not_ends_with", "contains",
        "not_contains", "regular_expression", "not_regular_expression", "less_than", "less_than_or_equals",
        "greater_than", "greater_than_or_equals",
    ]

    mutating func rule(depth: Int) throws(RuleText.Fault) -> DataItem {
        guard depth <= RuleParser.mostDepth else { throw fault("the rule is nested too deep") }
        return try list("or", depth) { (parser) throws(RuleText.Fault) in
            try parser.list("and", depth) { (parser) throws(RuleText.Fault) in try parser.factor(depth) }
        }
    }

    /// Reads parts that a word joins. A single part is not wrapped.
    private mutating func list(
        _ word: String, _ depth: Int, _ part: (inout RuleParser) throws(RuleText.Fault) -> DataItem
    ) throws(RuleText.Fault) -> DataItem {
        var parts = [try part(&self)]
        while take(word: word) { parts.append(try part(&self)) }
        return parts.count == 1 ? parts[0] : .object([word: .array(parts)])
    }

    private mutating func factor(_ depth: Int) throws(RuleText.Fault) -> DataItem {
        if take(word: "not") {
            guard depth < RuleParser.mostDepth else { throw fault("the rule is nested too deep") }
            return .object(["not": try factor(depth + 1)])
        }
        guard tokens.first?.kind == .symbol("(") else { return try condition() }
        tokens.removeFirst()
        let inner = try rule(depth: depth + 1)
        guard tokens.first?.kind == .symbol(")") else { throw fault("`)` is missing") }
        tokens.removeFirst()
        return inner
    }

    private mutating func condition() throws(RuleText.Fault) -> DataItem {
        guard case .word(let path)? = tokens.first?.kind else { throw fault("a path like data.user.id is missing") }
        tokens.removeFirst()
        if take(word: "is") { return try isTest(path) }
        let (name, ignoresCase) = try operatorName()
        var condition: DataObject = ["operator": .string(name), "path": .string(path), "value": try value()]
        if ignoresCase { condition["ignore_case"] = true }
        return .object(condition)
    }

    /// Reads `is defined`, `is not empty` and the like.
    private mutating func isTest(_ path: String) throws(RuleText.Fault) -> DataItem {
        let negation = take(word: "not") ? "is_not_" : "is_"
        for word in ["defined", "empty"] where take(word: word) {
            return .object(["operator": .string(negation + word), "path": .string(path)])
        }
        throw fault("`defined` or `empty` is missing")
    }

    private mutating func operatorName() throws(RuleText.Fault) -> (name: String, ignoresCase: Bool) {
        switch tokens.first?.kind {
        case .symbol(let symbol)?:
            let ignoresCase = symbol.hasPrefix("i")
            guard let name = RuleParser.operators[ignoresCase ? String(symbol.dropFirst()) : symbol] else { break }
            tokens.removeFirst()
            return (name, ignoresCase)
        case .word(let word)? where RuleParser.words.contains(word):
            tokens.removeFirst()
            return (word, false)
        default: break
        }
        throw fault("an operator is missing: = != < <= > >= ~ !~, or a word like starts_with")
    }

    private mutating func value() throws(RuleText.Fault) -> DataItem {
        let found: DataItem
        switch tokens.first?.kind {
        case .value(let item)?: found = item
        case .word(let word)?: found = (try? DataItem(parsing: Array(word.utf8))) ?? .string(word)
        default: throw fault("a value is missing")
        }
        tokens.removeFirst()
        return found
    }

    private mutating func take(word: String) -> Bool {
        guard tokens.first?.kind == .word(word) else { return false }
        tokens.removeFirst()
        return true
    }

    private func fault(_ description: String) -> RuleText.Fault {
        RuleText.Fault(description: description, offset: tokens.first?.offset ?? end)
    }
}
