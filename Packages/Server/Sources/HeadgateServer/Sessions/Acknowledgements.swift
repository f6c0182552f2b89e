import HeadgateCore
import HeadgateData
import HeadgateWire

/// The acknowledgements of one session that wait for the store, by commit group. An acknowledgement is rendered when
/// its event arrives. All of a group are sent in one piece after the commit (Behaviour P1). No object is allocated for
/// an event.
struct Acknowledgements {
    /// The groups, oldest first.
    private var groups: [GroupAcknowledgements] = []
    /// The size of the last group that was taken. As much memory is reserved for the next group.
    private var lastSize = (answers: 0, bytes: 0)

    /// Adds the acknowledgement of an event.
    /// - Parameter group: the event's commit group, as ``EventQueue/gatheringGroup`` numbers it. Earlier groups may
    ///   still be in flight to the disk.
    /// - Returns: true if it is the first acknowledgement of this group. The caller must then call ``takeOldest()``
    ///   after the group's commit.
    mutating func add(
        _ id: UnsafeRawBufferPointer, event: UnsafeRawBufferPointer, _ admission: Admission, requestBytes: Int,
        group: Int
    ) -> Bool {
        let isFirst = groups.last?.group != group
        if isFirst { groups.append(GroupAcknowledgements(group: group, like: lastSize)) }
        groups[groups.count - 1].add(id, event: event, admission, requestBytes: requestBytes)
        return isFirst
    }

    /// Closes the newest group, because another answer of the session now waits for the same commit. Later
    /// acknowledgements go into a new group, which is sent after that answer.
    mutating func seal() {
        if !groups.isEmpty { groups[groups.count - 1].seal() }
    }

    /// Removes the acknowledgements of the oldest group, after its commit has succeeded or failed.
    mutating func takeOldest() -> GroupAcknowledgements {
        let oldest = groups.takeFirst()
        lastSize = (oldest.count, oldest.bytes.count)
        return oldest
    }
}

/// The acknowledgements of one commit group.
struct GroupAcknowledgements {
    /// The number of the commit group, or nil if no acknowledgement may be added.
    fileprivate private(set) var group: Int?
    private var answers = JSONWriter()
    /// The range of each request's ID in the rendered answers, from which errors can be made.
    private var ids: [Range<Int>] = []
    /// The size of the requests, in bytes.
    private(set) var requestBytes = 0

    fileprivate init(group: Int, like lastSize: (answers: Int, bytes: Int)) {
        self.group = group
        // The extra room is for the last answer, which reserves its largest possible size.
        answers = JSONWriter(capacity: lastSize.bytes + 128)
        ids.reserveCapacity(lastSize.answers)
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

    /// Returns an error answer to each request of the group, for a failed commit.
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
    /// Writes the result of `track` for one event.
    mutating func acknowledgement(of id: UnsafeRawBufferPointer, _ admission: Admission) {
        bytes.append(most: ByteCursor.mostAcknowledgementBytes(of: id)) { $0.putAcknowledgement(of: id, admission) }
    }
}

extension ByteCursor {
    /// Writes the result of `track`: `{"id","seq"}`, with `duplicate` for a repeat. An event that no dispatcher accepts
    /// has `unrouted` instead of `seq`.
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
