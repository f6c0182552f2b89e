import Foundation
import HeadgateClient
import HeadgateData
import HeadgateWire

/// The program's output, with one JSON value on each line.
enum Output {
    static func put(_ item: DataItem) {
        var writer = JSONWriter()
        writer.item(item)
        writer.endLine()
        FileHandle.standardOutput.write(Data(writer.bytes))
    }
}

extension TrackReceipt {
    var object: DataObject {
        [
            "id": .string(id), "seq": .index(sequenceNumber), "duplicate": .bool(isDuplicate),
            "unrouted": .bool(isUnrouted),
        ]
    }
}

extension TrackManyReceipt {
    var object: DataObject {
        [
            "ids": .array(ids.map { .string($0) }), "first_seq": .index(firstSequenceNumber),
            "last_seq": .index(lastSequenceNumber), "duplicates": .number(DataNumber(duplicates)),
            "unrouted": .number(DataNumber(unrouted)),
        ]
    }
}

extension DataItem {
    fileprivate static func index(_ number: UInt64?) -> DataItem {
        number.map { .number(DataNumber(Int($0))) } ?? .null
    }
}

extension Result where Success == DataObject, Failure == any Error {
    /// An object with the member `result` or `error`.
    var outcome: DataObject {
        switch self {
        case .success(let result): ["result": .object(result)]
        case .failure(let error as ClientError): ["error": .object(error.object)]
        case .failure(let error): ["error": .string("\(error)")]
        }
    }
}

extension ClientError {
    /// An object with code, reason, message and path.
    var object: DataObject {
        var object: DataObject = ["code": 0, "message": .string(description), "reason": .null, "path": .null]
        if case .refused(let error) = self {
            object["code"] = .number(DataNumber(error.code))
            object["reason"] = error.data["reason"] ?? .null
            object["path"] = error.data["path"] ?? .null
        } else {
            object["reason"] = .string(word)
        }
        return object
    }

    private var word: String {
        switch self {
        case .cannotConnect: "cannot_connect"
        case .disconnected: "disconnected"
        case .refused: "refused"
        case .timedOut: "timed_out"
        case .noRoom: "buffer_full"
        case .closed: "closed"
        case .badAnswer: "bad_answer"
        case .cannotStart: "cannot_start"
        }
    }
}
