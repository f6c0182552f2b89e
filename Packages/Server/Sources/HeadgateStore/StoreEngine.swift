import HeadgateCore

/// What keeps events on a disk, as the store's thread sees it. Whatever takes its time is done here.
protocol StoreEngine: AnyObject {
    /// Does appends and writes together, the first of them at least.
    /// - Returns: how many are done, each whole; where none could be, why.
    func commit(_ jobs: ArraySlice<StoreJob>) -> Result<Int, StoreFault>
    /// Whether appends and writes need not wait for the disk, mostly: nothing of them is synced.
    var writesAtOnce: Bool { get }
    /// Does appends and writes together, where that takes nothing but to write them.
    /// - Returns: false where none is done, since it takes more.
    func writeAtOnce(_ jobs: [StoreJob]) -> Bool
    /// The highest sequence number that was appended before the job at hand. What is appended behind it in the same turn may be
    /// there already.
    var lastAppended: SequenceNumber { get set }
    /// Reads some events behind a sequence number, none behind ``lastAppended``.
    func read(after sequenceNumber: SequenceNumber) -> Result<Chunk?, StoreFault>
    func readAged(_ stretch: AgedStretch) -> Result<Chunk?, StoreFault>
    func readLetters(_ query: LetterQuery) -> Result<LetterPage, StoreFault>
    func purgeLetters(_ query: LetterQuery) -> Result<Int, StoreFault>
    /// How many events were found damaged and put aside since this was last asked.
    func takeQuarantined() -> Int
    /// How many events were lost when files that were taken away were begun anew, if that happened since this was last asked.
    func takeRenewal() -> Int?
    /// How many dead letters had to make room for newer ones since this was last asked, by dispatcher.
    func takeDroppedLetters() -> [DispatcherNumber: Int]
    /// The dead letters that it keeps, and the bytes of their events.
    var letterTally: Tally { get }
    /// What was last told of these.
    var toldLetters: Tally { get set }
    /// Bytes of its files.
    var diskBytes: Int { get }
    /// What was last told of these.
    var toldBytes: Int { get set }

    /// Whether something is left for later that can be done now.
    var hasChores: Bool { get }
    /// Does a small piece of that.
    func doSomeChores()
    /// There are new jobs: what failed is tried again.
    func resumeChores()

    /// Nothing more is asked of it.
    func finish()
}

extension StoreEngine {
    func takeRenewal() -> Int? { nil }

    var writesAtOnce: Bool { false }

    func writeAtOnce(_ jobs: [StoreJob]) -> Bool { false }

    /// Carries out appends and writes, where that takes nothing but to write them.
    /// - Returns: false where none is done: they are to be carried out in the usual way.
    func carryOutAtOnce(_ jobs: [StoreJob], report: ([StoreOutcome]) -> Void) -> Bool {
        guard jobs[...].sound(behind: lastAppended).count == jobs.count, writeAtOnce(jobs) else { return false }
        for case .append(let group) in jobs { lastAppended = max(lastAppended, group.chunk.lastSequenceNumber) }
        report(takeLetterNews() + jobs.map { _ in .done(nil) })
        resumeChores()
        return true
    }

    /// Carries out what was asked for, and then some of what was left for later.
    /// - Returns: whether it goes on: false once it was asked to close.
    func turn(_ jobs: [StoreJob], report: ([StoreOutcome]) -> Void) -> Bool {
        carryOut(jobs, report: report)
        return endTurn(jobs, report: report)
    }

    /// What comes behind the jobs of a turn.
    /// - Returns: as above.
    func endTurn(_ jobs: [StoreJob], report: ([StoreOutcome]) -> Void) -> Bool {
        reportLosses(report)
        guard !jobs.contains(where: \.isClose) else {
            finish()
            return false
        }
        doSomeChores()
        reportSize(report)
        return true
    }

    /// Tells what is not told to those who asked for something.
    func tell(_ report: ([StoreOutcome]) -> Void) {
        reportLosses(report)
        reportSize(report)
    }

    /// Tells how much its files take, if that has changed.
    func reportSize(_ report: ([StoreOutcome]) -> Void) {
        guard diskBytes != toldBytes else { return }
        toldBytes = diskBytes
        report([.size(bytes: toldBytes)])
    }

    /// Returns how many dead letters there are, if that is not what was last told.
    private func takeLetterNews() -> [StoreOutcome] {
        let letters = letterTally
        guard letters != toldLetters else { return [] }
        toldLetters = letters
        return [.lettersKept(letters)]
    }

    /// Tells of events that were found damaged, and of dead letters that made room.
    func reportLosses(_ report: ([StoreOutcome]) -> Void) {
        let news = takeLetterNews()
        if !news.isEmpty { report(news) }
        let events = takeQuarantined()
        if events > 0 { report([.quarantined(events: events)]) }
        if let lost = takeRenewal() { report([.renewed(lost: lost)]) }
        let letters = takeDroppedLetters()
        if !letters.isEmpty { report([.lettersDropped(letters)]) }
    }

    /// Carries out jobs. Appends and writes are committed together first, whatever reads of events stand between them; a
    /// read sees what was asked for before it and no more. Outcomes are reported in the jobs' order.
    func carryOut(_ jobs: [StoreJob], report: ([StoreOutcome]) -> Void) {
        guard !jobs.isEmpty else { return }
        var rest = jobs[...]
        while !rest.isEmpty {
            // Who reads or deletes dead letters means those of that moment: what is put aside behind waits until then.
            let end = rest.firstIndex(where: \.isAboutLetters).map { $0 + 1 } ?? rest.endIndex
            carryOutTogether(rest[..<end], report: report)
            rest = rest[end...]
        }
        resumeChores()
    }

    /// Takes a survey over about a MiB: those who wait for a commit do not wait for it for long.
    private func take(_ survey: EventSurvey) -> Result<EventSurvey, StoreFault> {
        var survey = survey
        var bytes = 0
        while !survey.isOver, bytes < 1 << 20 {
            switch read(after: survey.position) {
            case .success(let chunk):
                survey.take(chunk)
                bytes += chunk?.bytes.count ?? 0
            case .failure(let fault): return .failure(fault)
            }
        }
        return .success(survey)
    }

    /// Does appends and writes, as many as possible together. Where that fails each is tried alone, so that none suffers for another, but
    /// for groups that go on from one that could not be kept (``AppendGroup/behind``).
    /// - Returns: why some of them could not be done, by how many come before.
    private func commitInOrder(_ jobs: ArraySlice<StoreJob>) -> [Int: StoreFault] {
        var (rest, faults) = (jobs, [Int: StoreFault]())
        var last = lastAppended
        while !rest.isEmpty {
            let sound = rest.sound(behind: last)
            var outcome = sound.isEmpty ? .failure(.nothingToGoOnFrom) : commit(sound)
            if case .failure = outcome, sound.count > 1 { outcome = commit(rest.prefix(1)) }
            switch outcome {
            case .success(let count):
                for job in rest.prefix(count) { last = job.lastAppended ?? last }
                rest.removeFirst(count)
            case .failure(let fault):
                faults[jobs.count - rest.count] = fault
                rest.removeFirst()
            }
        }
        return faults
    }

    private func carryOutTogether(_ jobs: ArraySlice<StoreJob>, report: ([StoreOutcome]) -> Void) {
        // Mostly there is nothing else among them.
        let faults = commitInOrder(jobs.allSatisfy(\.isChange) ? jobs : jobs.filter(\.isChange)[...])
        var (news, changes): ([StoreOutcome], Int) = (takeLetterNews(), 0)
        for job in jobs {
            switch job {
            case .append(let group):
                let fault = faults[changes]
                if fault == nil { lastAppended = max(lastAppended, group.chunk.lastSequenceNumber) }
                news.append(.done(fault))
                changes += 1
            case .write:
                news.append(.done(faults[changes]))
                changes += 1
            case .read(let sequenceNumber):
                report(news)
                news = [.read(read(after: sequenceNumber))]
            case .readLetters(let query):
                news.append(.letters(readLetters(query)))
            case .purgeLetters(let query):
                let purged = purgeLetters(query)
                news += takeLetterNews() + [.purged(purged)]
            case .readAged(let stretch):
                report(news)
                news = [.read(readAged(stretch))]
            case .survey(let survey):
                report(news)
                news = [.surveyed(take(survey))]
            case .close:
                break
            }
        }
        report(news)
    }
}

extension ArraySlice<StoreJob> {
    /// Those up to the first that goes on from a group that is not there.
    fileprivate func sound(behind last: SequenceNumber) -> Self {
        var last = last
        return prefix { job in
            guard case .append(let group) = job else { return true }
            defer { last = group.chunk.lastSequenceNumber }
            return group.behind <= last
        }
    }
}

extension StoreJob {
    fileprivate var lastAppended: SequenceNumber? {
        if case .append(let group) = self { group.chunk.lastSequenceNumber } else { nil }
    }

    fileprivate var isClose: Bool {
        if case .close = self { true } else { false }
    }

    fileprivate var isAboutLetters: Bool {
        switch self {
        case .readLetters, .purgeLetters: true
        case .append, .write, .read, .readAged, .survey, .close: false
        }
    }

    var isChange: Bool {
        switch self {
        case .append, .write: true
        case .read, .readAged, .survey, .readLetters, .purgeLetters, .close: false
        }
    }
}

extension [DispatcherNumber: Int] {
    /// Adds what is counted elsewhere.
    mutating func add(_ others: Self) {
        merge(others, uniquingKeysWith: +)
    }
}
