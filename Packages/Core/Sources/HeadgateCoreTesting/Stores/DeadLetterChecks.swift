import HeadgateCore

extension EventStoreConformance {
    static let deadLetters = [
        Check("D10: dead letters are read as they were stored, even after a restart") { bench in
            try bench.write(.deadLetter(.sample(7, dispatcher: 3)))
            try bench.reopen()
            let page = try bench.deadLetters()
            try bench.expect(
                page.deadLetters, is: [StoredDeadLetter(number: 1, deadLetter: .sample(7, dispatcher: 3))],
                "dead letters")
            try bench.expect(page.deadLetters.first?.deadLetter.event?.sequenceNumber, is: 7, "the dead letter's event")
            try bench.expect(page.next == nil && page.newest == 1, "the page is not the last: \(page)")
        },
        Check("D10: a query selects a dispatcher, numbers, a range, or a combination") { bench in
            try bench.makeDeadLetters(1...9)
            try bench.expect(bench.deadLetters(DeadLetterQuery(limit: 3)).next, is: 3, "where the next page begins")
            try bench.expectDeadLetters([1, 2, 3], DeadLetterQuery(limit: 3))
            try bench.expectDeadLetters([2, 4, 6, 8], DeadLetterQuery(dispatcher: 2, limit: 9))
            try bench.expectDeadLetters([2, 5, 9], DeadLetterQuery(numbers: [9, 2, 5, 44], limit: 9))
            var query = DeadLetterQuery(dispatcher: 1, numbers: [1, 2, 5, 7, 9], limit: 9)
            (query.after, query.through) = (1, 7)
            try bench.expectDeadLetters([5, 7], query)
            try bench.expectDeadLetters([], DeadLetterQuery(numbers: [], limit: 9))
        },
        Check("D10: exactly the selected dead letters are purged, and their numbers are not reused") { bench in
            try bench.makeDeadLetters(1...6)
            try bench.expect(bench.purge(DeadLetterQuery(dispatcher: 1, limit: 2)), is: 2, "purged")
            try bench.expectDeadLetters([2, 4, 5, 6], DeadLetterQuery(limit: 9))
            try bench.expect(bench.purge(DeadLetterQuery(limit: 9)), is: 4, "purged")
            try bench.expect(bench.purge(DeadLetterQuery(limit: 9)), is: 0, "purged")
            try bench.reopen()
            try bench.makeDeadLetters(7...7)
            try bench.expectDeadLetters([7], DeadLetterQuery(limit: 9))
        },
        Check("D10: the store reports the number of dead letters, and drops the oldest beyond a limit on request") {
            bench in
            try bench.makeDeadLetters(1...4)
            let all = bench.store.deadLetterTally
            try bench.expect(all.events, is: 4, "dead letters")
            try bench.write(.limitDeadLetters(DeadLetterLimits(count: 3)))
            try bench.expectDeadLetters([2, 3, 4], DeadLetterQuery(limit: 9))
            try bench.write(.limitDeadLetters(DeadLetterLimits(bytes: all.bytes / 2)))
            try bench.expect(bench.purge(DeadLetterQuery(numbers: [3], limit: 9)), is: 1, "purged")
            try bench.expect(bench.store.deadLetterTally.events, is: 1, "dead letters")
            try bench.write(.limitDeadLetters(DeadLetterLimits(count: 0, bytes: 0)))
            try bench.expectDeadLetters([4], DeadLetterQuery(limit: 9))
            try bench.reopen()
            try bench.expect(bench.store.deadLetterTally, is: Tally(events: 1, bytes: all.bytes / 4), "dead letters")
        },
        Check("D10: requeued dead letters are removed in the commit that stores their events") { bench in
            try bench.makeDeadLetters(1...3)
            try bench.append(.sample(10...11).with(requeued: [1, 3, 99]))
            try bench.reopen()
            try bench.expectDeadLetters([2], DeadLetterQuery(limit: 9))
            try bench.expect(bench.numbers(), is: [10, 11], "events")
        },
    ]
}

extension StoreBench {
    /// Stores dead letters for dispatchers 1 and 2 alternately.
    fileprivate func makeDeadLetters(_ numbers: ClosedRange<SequenceNumber>) throws {
        for number in numbers { try write(.deadLetter(.sample(number, dispatcher: number % 2 == 1 ? 1 : 2))) }
    }

    fileprivate func expectDeadLetters(_ numbers: [DeadLetterNumber], _ query: DeadLetterQuery) throws {
        try expect(deadLetters(query).deadLetters.map(\.number), is: numbers, "dead letters")
    }
}
