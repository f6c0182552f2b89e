import HeadgateCore

/// Rewinds a dispatcher: finds the first event, and writes that the dispatcher's events from there on are unsettled.
extension SegmentLog {
    /// Makes a dispatcher's events unsettled again (Behaviour R2).
    func rewind(_ request: RewindRequest) throws(DiskFault) -> RewindOutcome {
        try repair()
        guard let dispatcher = state.dispatchers[request.dispatcher] else { return .notRetained(nil) }
        let oldest = oldestKept
        let range = RewindRange(
            unretainedThrough: state.retention == nil ? nil : state.unretainedThrough, oldest: oldest)
        guard range.allows(request.start) else { return .notRetained(oldest) }
        let first = try first(request.start)
        var rewound = dispatcher
        rewound.settled = state.settled(of: dispatcher).through(first - 1)
        let routes = state.routes.merging(request.routes) { $1 }
        let unsettled = try BacklogCount.unsettled(of: [rewound], routes, in: segments, without: state.erased ?? [])
        let queue = RewoundQueue(
            first: first, settled: rewound.settled, unsettled: unsettled[request.dispatcher] ?? [:],
            isComplete: range.isComplete(from: first), receipts: try receipts(from: first))
        guard !request.isDryRun else { return .rewound(queue) }
        _ = try write([.changes(changes(request, rewound, first))])
        counts.rewound += 1
        if options.durability == .full { try sync() }
        return .rewound(queue)
    }

    /// Returns the changes of a rewind, which are made together.
    private func changes(
        _ request: RewindRequest, _ rewound: StoredDispatcher, _ first: SequenceNumber
    ) -> [LogChange] {
        let marks = request.marks(first).sorted { $0.key < $1.key }
        return (request.routes.isEmpty ? [] : [.routes(request.routes)])
            + [.rewound(rewound.number, rewound.settled)] + marks.map { .requested(.keep($0.key, $0.value)) }
    }

    /// The oldest event that is retained, or that a dispatcher may not have settled; nil if there is none.
    private var oldestKept: KeptEvent? {
        let needed = state.needed
        for segment in segments {
            guard let block = segment.index.blocks.first(where: { needed.bytes(of: $0.span) > 0 }) else { continue }
            let isPending = needed.unsettled(of: block.span) != .zero
            let first = isPending ? block.span.first : max(block.span.first, state.unretainedThrough + 1)
            return KeptEvent(first, receivedStamp: block.span.ages.firstReceipt)
        }
        return nil
    }

    /// Returns the first event of a rewind.
    private func first(_ start: RewindRequest.Start) throws(DiskFault) -> SequenceNumber {
        guard case .receipt(let stamp) = start else {
            if case .sequenceNumber(let number) = start { return number }
            return state.lastSequenceNumber + 1
        }
        return try event(in: { $0.ages.lastReceipt >= stamp }, where: { $0.receivedStamp >= stamp })?.sequenceNumber
            ?? state.lastSequenceNumber + 1
    }

    /// Returns the range of times at which the stored events from `first` on were received; nil if there are none.
    private func receipts(from first: SequenceNumber) throws(DiskFault) -> ClosedRange<Int64>? {
        guard let event = try event(in: { $0.last >= first }, where: { $0.sequenceNumber >= first }),
            let last = segments.last(where: { !$0.index.blocks.isEmpty })?.index.blocks.last
        else { return nil }
        return event.receivedStamp...max(event.receivedStamp, last.span.ages.lastReceipt)
    }

    /// Returns the first stored event that meets a condition; nil if there is none.
    /// - Parameter mayHold: returns false for blocks without such an event.
    private func event(
        in mayHold: (LogSpan) -> Bool, where matches: (StoredEvent) -> Bool
    ) throws(DiskFault) -> KeptEvent? {
        for segment in segments {
            for block in segment.index.blocks where mayHold(block.span) {
                var found: KeptEvent?
                try segment.visitGroups(block) { group in
                    guard found == nil, let events = group.chunk else { return }
                    found = events.first(where: matches).map {
                        KeptEvent($0.sequenceNumber, receivedStamp: $0.receivedStamp)
                    }
                }
                if let found { return found }
            }
        }
        return nil
    }
}
