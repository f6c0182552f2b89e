// A stand-in for the module `Logging` of swift-log 1.6, which cannot be fetched where these tests run. It has the public API that a
// `LogHandler` and its program use, with the same names and types, and as little behaviour as that needs.

/// A logger with a label, which passes its records to a handler.
public struct Logger: Sendable {
    public let label: String
    public var handler: any LogHandler

    public init(label: String) {
        self.label = label
        handler = LoggingSystem.makeHandler(label)
    }

    public subscript(metadataKey key: String) -> Metadata.Value? {
        get { handler[metadataKey: key] }
        set { handler[metadataKey: key] = newValue }
    }

    public var logLevel: Level {
        get { handler.logLevel }
        set { handler.logLevel = newValue }
    }

    public func log(
        level: Level, _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil,
        source: @autoclosure () -> String? = nil, file: String = #fileID, function: String = #function,
        line: UInt = #line
    ) {
        guard logLevel <= level else { return }
        handler.log(
            level: level, message: message(), metadata: metadata(), source: source() ?? Logger.module(of: file),
            file: file,
            function: function, line: line)
    }

    private static func module(of file: String) -> String {
        file.split(separator: "/").first.map(String.init) ?? "n/a"
    }
}

extension Logger {
    public enum Level: String, Codable, CaseIterable, Sendable, Comparable {
        case trace, debug, info, notice, warning, error, critical

        public static func < (left: Level, right: Level) -> Bool {
            allCases.firstIndex(of: left) ?? 0 < allCases.firstIndex(of: right) ?? 0
        }
    }

    public struct Message: ExpressibleByStringLiteral, Equatable, CustomStringConvertible,
        ExpressibleByStringInterpolation,
        Sendable
    {
        public typealias StringLiteralType = String
        public let description: String

        public init(stringLiteral value: String) { description = value }
    }

    public typealias Metadata = [String: MetadataValue]

    public enum MetadataValue: Sendable {
        case string(String)
        case stringConvertible(any CustomStringConvertible & Sendable)
        case dictionary(Metadata)
        case array([Metadata.Value])
    }

    public struct MetadataProvider: Sendable {
        private let provide: @Sendable () -> Metadata

        public init(_ provideMetadata: @escaping @Sendable () -> Metadata) { provide = provideMetadata }

        public func get() -> Metadata { provide() }
    }
}

extension Logger.MetadataValue: CustomStringConvertible {
    public var description: String {
        switch self {
        case .string(let text): text
        case .stringConvertible(let value): value.description
        case .dictionary(let members): members.mapValues(\.description).description
        case .array(let elements): elements.map(\.description).description
        }
    }
}

extension Logger.MetadataValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
    ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(dictionaryLiteral elements: (String, Logger.Metadata.Value)...) {
        self = .dictionary(Dictionary(elements) { $1 })
    }
    public init(arrayLiteral elements: Logger.Metadata.Value...) { self = .array(elements) }
}

/// Receives the records of a logger.
public protocol LogHandler: Sendable {
    var metadataProvider: Logger.MetadataProvider? { get set }

    func log(
        level: Logger.Level, message: Logger.Message, metadata: Logger.Metadata?, source: String, file: String,
        function: String, line: UInt)

    subscript(metadataKey _: String) -> Logger.Metadata.Value? { get set }
    var metadata: Logger.Metadata { get set }
    var logLevel: Logger.Level { get set }
}

/// Creates the handlers of a program's loggers.
public enum LoggingSystem {
    nonisolated(unsafe) private static var factory: (@Sendable (String) -> any LogHandler)?

    /// Sets the function that creates handlers. A program calls it once, before it creates the first logger.
    public static func bootstrap(_ factory: @escaping @Sendable (String) -> any LogHandler) {
        precondition(LoggingSystem.factory == nil, "the logging system is initialized once")
        LoggingSystem.factory = factory
    }

    static func makeHandler(_ label: String) -> any LogHandler {
        guard let factory else { preconditionFailure("the logging system is not initialized") }
        return factory(label)
    }
}
