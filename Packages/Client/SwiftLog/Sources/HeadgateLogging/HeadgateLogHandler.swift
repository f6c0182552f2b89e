import Foundation
import HeadgateClient
import HeadgateData
import Logging

/// A handler for swift-log that tracks each record as an event.
///
/// ```swift
/// let log = try HeadgateLog(program: "shop", version: "2.1")
/// LoggingSystem.bootstrap { HeadgateLogHandler(label: $0, log: log) }
/// ```
///
/// The data of the event are `level`, `logger`, `message`, `source`, `file`, `line`, `function`, `process`, and the metadata of the
/// record, of its logger and of the metadata provider. The time of the event is that of the record. The handler never waits and
/// never throws: ``HeadgateLog`` counts the records that it drops.
public struct HeadgateLogHandler: LogHandler {
    public var logLevel: Logger.Level
    public var metadata: Logger.Metadata = [:]
    public var metadataProvider: Logger.MetadataProvider?
    private let label: String
    private let log: HeadgateLog

    /// Creates the handler of one logger.
    /// - Parameters:
    ///   - label: the logger's label, the event's `logger`.
    ///   - log: the connection to the daemon, which all loggers of a program share.
    ///   - level: the lowest level that is tracked.
    ///   - metadataProvider: adds metadata of the task that logs.
    public init(
        label: String, log: HeadgateLog, level: Logger.Level = .info, metadataProvider: Logger.MetadataProvider? = nil
    ) {
        (self.label, self.log, logLevel, self.metadataProvider) = (label, log, level, metadataProvider)
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(
        level: Logger.Level, message: Logger.Message, metadata explicit: Logger.Metadata?, source: String, file: String,
        function: String, line: UInt
    ) {
        log.track {
            let members = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }.merging(explicit ?? [:]) { $1 }
            var data = DataObject(members.sorted { $0.key < $1.key }.map { ($0.key, DataItem($0.value)) })
            data["level"] = .string(level.rawValue.uppercased())
            data["logger"] = .string(label)
            data["message"] = .string(message.description)
            data["source"] = .string(source)
            data["file"] = .string(file)
            data["line"] = .number(DataNumber(Int(line)))
            data["function"] = .string(function)
            data["process"] = .number(DataNumber(Int(ProcessInfo.processInfo.processIdentifier)))
            return data
        }
    }
}

extension DataItem {
    /// The deepest level of metadata that becomes objects and arrays. Below it a value becomes its description.
    private static let deepestMetadata = 8

    fileprivate init(_ value: Logger.Metadata.Value, depth: Int = 0) {
        switch value {
        case .string(let text): self = .string(text)
        case .stringConvertible(let value): self = .string(value.description)
        case .dictionary(let members) where depth < DataItem.deepestMetadata:
            self = .object(
                DataObject(members.sorted { $0.key < $1.key }.map { ($0.key, DataItem($0.value, depth: depth + 1)) }))
        case .array(let elements) where depth < DataItem.deepestMetadata:
            self = .array(elements.map { DataItem($0, depth: depth + 1) })
        case .dictionary, .array: self = .string("\(value)")
        }
    }
}
