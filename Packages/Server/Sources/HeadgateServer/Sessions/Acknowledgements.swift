import HeadgateCore
import HeadgateData
import HeadgateWire

/// The acknowledgements of one session that wait for the store, by group: rendered when the events come, sent in one
/// piece when they are safe (Behaviour P1). No object is made for an event.
struct Acknowledgements {
    /// The oldest first.
    private var groups: [GroupAcknowledgements] = []
    /// What those of the group before took: that much room the next get at once.
    private var usual = (answers: 0, bytes: 0)

    /// Adds the acknowledgement of an event.
    /// - Parameter group: what the event waits for, as ``EventQueue/gatheringGroup`` numbers it. One before it may still be
    ///   on its way to the disk.
    /// - Returns: whether it is the first that waits for this; ``takeOldest()`` is to be called when that has come.
    mutating func add(
        _ id: UnsafeRawBufferPointer, event: UnsafeRawBufferPointer, _ admission: Admission, requestBytes: Int,
        group: Int
    ) -> Bool {
        let isFirst = groups.last?.group != group
        if isFirst { groups.append(GroupAcknowledgements(group: group, like: usual)) }
        groups[groups.count - 1].add(id, event: event, admission, requestBytes: requestBytes)
        return isFirst
    }

    /// Other answers of the session begin to wait behind these: what is added from now on goes out after those.
    mutating func seal() {
        if !groups.isEmpty { groups[groups.count - 1].seal() }
    }

    /// Takes out those whose group is safe, or could not be stored.
    mutating func takeOldest() -> GroupAcknowledgements {
        let oldest = groups.takeFirst()
        usual = (oldest.count, oldest.bytes.count)
        return oldest
    }
}

/// The acknowledgements that wait for one group.
struct GroupAcknowledgements {
    /// Nil when no more may be added.
    fileprivate private(set) var group: Int?
    private var answers = JSONWriter()
    /// Where each request's id stands in the answers, should they have to become errors.
    private var ids: [Range<Int>] = []
    /// Bytes of the requests.
    private(set) var requestBytes = 0

    fileprivate init(group: Int, like usual: (answers: Int, bytes: Int)) {
        self.group = group
        // A bit more: an answer asks for what it takes at most.
        answers = JSONWriter(capacity: usual.bytes + 128)
        ids.reserveCapacity(usual.answers)
    }

    var count: Int { ids.count }
    var bytes: [UInt8] { answers.bytes }

    fileprivate mutating func seal() {
        group = nil
    }

    fileprivate mutating func add(
        _ id: UnsafeRawBufferPointer, event: UnsafeRawBufferPointer, _ admission: Admission, requestBytes bytes: Int
    ) {
        let opening: StaticString = #"{"jsonrpc":"2.0","id":"#
        let start = answers.bytes.count + opening.utf8CodeUnitCount
        answers.answerLine(id: id, most: ByteCursor.mostAcknowledgementBytes(of: event)) {
            $0.putAcknowledgement(of: event, admission)
        }
        ids.append(start..<start + id.count)
        requestBytes += bytes
    }

    /// The same requests, answered with an error.
    func refused(with error: RPCError) -> [UInt8] {
        var refusals = JSONWriter()
        answers.bytes.withUnsafeBytes { bytes in
            for id in ids {
                refusals.errorAnswer(id: UnsafeRawBufferPointer(rebasing: bytes[id]), error: error)
                refusals.endLine()
            }
        }
        return refusals.bytes
    }
}

extension JSONWriter {
    /// The result of `track` for one event.
    mutating func acknowledgement(of id: UnsafeRawBufferPointer, _ admission: Admission) {
        bytes.lay(most: ByteCursor.mostAcknowledgementBytes(of: id)) { $0.putAcknowledgement(of: id, admission) }
    }
}

extension ByteCursor {
    /// Lays the result of `track`: `{"id","seq"}`, with `duplicate` for a repeat; an event that nobody wants has no `seq`.
    @inline(__always)
    fileprivate mutating func putAcknowledgement(of id: UnsafeRawBufferPointer, _ admission: Admission) {
        put(#"{"id":"#)
        put(id)
        switch admission {
        case .stored(let number):
            put(#","seq":"#)
            put(number)
        case .duplicate(let number):
            put(#","seq":"#)
            put(number)
            put(#","duplicate":true"#)
        case .unrouted, .queueFull, .tooLarge:
            put(#","unrouted":true"#)
        }
        put("}")
    }

    fileprivate static func mostAcknowledgementBytes(of id: UnsafeRawBufferPointer) -> Int {
        let longest: StaticString = #"{"id":,"seq":9223372036854775807,"duplicate":true}"#
        return longest.utf8CodeUnitCount + id.count
    }
}
