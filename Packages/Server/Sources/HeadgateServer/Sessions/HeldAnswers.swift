import HeadgateCore
import HeadgateData
import HeadgateWire

/// The acknowledgements of one session's events in one group that is not committed yet: rendered when the events come,
/// sent in one piece when they are safe (Behaviour P1). No object is made for an event.
struct HeldAnswers {
    /// The group, as ``EventQueue/gatheringGroup`` numbers them; nil when other answers of the session have begun to wait
    /// behind these, so that none is added.
    private(set) var group: Int?
    private var answers = JSONWriter()
    /// Where each request's id stands in the answers, should they have to become errors.
    private var ids: [Range<Int>] = []
    /// Bytes of the requests.
    private(set) var requestBytes = 0

    init(group: Int) {
        self.group = group
    }

    /// Lets no more in: what is held from now on goes out later.
    mutating func seal() {
        group = nil
    }

    var count: Int { ids.count }
    var bytes: [UInt8] { answers.bytes }

    /// Holds the acknowledgement of an event.
    mutating func hold(
        id: UnsafeRawBufferPointer, event: UnsafeRawBufferPointer, admission: Admission, requestBytes bytes: Int
    ) {
        let start = answers.bytes.count + #"{"jsonrpc":"2.0","id":"#.utf8.count
        answers.answer(id: id) { $0.acknowledgement(of: event, admission) }
        answers.endLine()
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
    /// The result of `track`: `{"id","seq"}`, with `duplicate` for a repeat; an event that nobody wants has no `seq`.
    mutating func acknowledgement(of id: UnsafeRawBufferPointer, _ admission: Admission) {
        raw(#"{"id":"#)
        raw(id)
        switch admission {
        case .stored(let number):
            raw(#","seq":"#)
            integer(number)
        case .duplicate(let number):
            raw(#","seq":"#)
            integer(number)
            raw(#","duplicate":true"#)
        case .unrouted, .queueFull, .tooLarge:
            raw(#","unrouted":true"#)
        }
        raw("}")
    }
}
