import HeadgateCore

/// The jobs of a turn: appends and writes are committed together, whatever else stands between them, and answered in the jobs' order.
extension LogEngine {
    /// Carries out appends and writes, where that takes nothing but to write them.
    /// - Returns: false where none is done: they are to be carried out in the usual way.
    func carryOutAtOnce(_ jobs: [StoreJob], report: (StoreNews) -> Void) -> Bool {
        guard jobs[...].sound(behind: lastAppended).count == jobs.count, writeAtOnce(jobs) else { return false }
        for job in jobs { lastAppended = max(lastAppended, job.lastAppended ?? 0) }
        report(StoreNews(answers: jobs.compactMap { $0.answer(with: nil) }, letters: takeLetterNews()))
        resumeChores()
        return true
    }

    /// Carries out jobs, and then some of what was left for later.
    /// - Returns: false if one of the jobs closes the store.
    func turn(_ jobs: [StoreJob], report: (StoreNews) -> Void) -> Bool {
        carryOut(jobs, report: report)
        return endTurn(jobs, report: report)
    }

    /// Does what comes behind the jobs of a turn.
    /// - Returns: as above.
    func endTurn(_ jobs: [StoreJob], report: (StoreNews) -> Void) -> Bool {
        guard jobs.closings.isEmpty else {
            reportNews(report)
            finish()
            return false
        }
        doSomeChores()
        reportNews(report)
        return true
    }

    /// Reports what concerns no job: losses, dead letters and sizes, if there is such news.
    func reportNews(_ report: (StoreNews) -> Void) {
        var news = StoreNews(letters: takeLetterNews(), diskBytes: takeSizeNews())
        (news.quarantined, news.lost, news.droppedLetters) = (takeQuarantined(), takeRenewal(), takeDroppedLetters())
        if retained != toldRetained { (news.retained, toldRetained) = (retained, retained) }
        if !news.isEmpty { report(news) }
    }

    /// Returns the bytes of the files, if that is not what was reported last.
    private func takeSizeNews() -> Int? {
        guard diskBytes != toldBytes else { return nil }
        toldBytes = diskBytes
        return toldBytes
    }

    /// Returns the dead letters that there are, if that is not what was reported last.
    private func takeLetterNews() -> Tally? {
        let letters = letterTally
        guard letters != toldLetters else { return nil }
        toldLetters = letters
        return letters
    }

    /// Carries out jobs. Appends and writes are committed together first, whatever reads of events stand between them; a
    /// read sees what was asked for before it and no more.
    func carryOut(_ jobs: [StoreJob], report: (StoreNews) -> Void) {
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

    private func carryOutTogether(_ jobs: ArraySlice<StoreJob>, report: (StoreNews) -> Void) {
        // Mostly there is nothing else among them.
        let faults = commitInOrder(jobs.allSatisfy(\.isChange) ? jobs : jobs.filter(\.isChange)[...])
        var (news, changes) = (StoreNews(letters: takeLetterNews()), 0)
        for job in jobs {
            switch job {
            case .append, .write:
                let fault = faults[changes]
                changes += 1
                if fault == nil { lastAppended = max(lastAppended, job.lastAppended ?? 0) }
                if let answer = job.answer(with: fault) { news.answers.append(answer) }
            case .ask(_, let work):
                // Who waits for a commit does not wait for a read behind it.
                if !news.isEmpty { report(news) }
                let answer = work(self)
                news = StoreNews(answers: [answer], letters: takeLetterNews())
            case .close: break
            }
        }
        if !news.isEmpty { report(news) }
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
}

extension [StoreJob] {
    /// The answers to jobs that close the store.
    var closings: [() -> Void] {
        compactMap { if case .close(let then) = $0 { then } else { nil } }
    }
}

extension ArraySlice<StoreJob> {
    /// Those up to the first that goes on from a group that is not there.
    fileprivate func sound(behind last: SequenceNumber) -> Self {
        var last = last
        return prefix { job in
            guard case .append(let group, _) = job else { return true }
            defer { last = group.chunk.lastSequenceNumber }
            return group.behind <= last
        }
    }
}

extension StoreJob {
    fileprivate var lastAppended: SequenceNumber? {
        if case .append(let group, _) = self { group.chunk.lastSequenceNumber } else { nil }
    }

    fileprivate var isAboutLetters: Bool {
        if case .ask(let isAboutLetters, _) = self { isAboutLetters } else { false }
    }

    /// Returns what answers an append or a write; nil for other jobs.
    fileprivate func answer(with fault: StoreFault?) -> (() -> Void)? {
        switch self {
        case .append(_, let then), .write(_, let then): { then(fault) }
        case .ask, .close: nil
        }
    }
}

extension [DispatcherNumber: Int] {
    /// Adds what is counted elsewhere.
    mutating func add(_ others: Self) {
        merge(others, uniquingKeysWith: +)
    }
}
