import HeadgateCore

/// The jobs of a turn: appends and writes are committed together, whatever reads are between them, and all jobs are
/// answered in their order.
extension LogEngine {
    /// Carries out appends and writes if a single write is enough.
    /// - Returns: false if more is necessary, such as a sync or a new segment. Then none of the jobs is done.
    func carryOutAtOnce(_ jobs: [StoreJob], report: (StoreNews) -> Void) -> Bool {
        guard jobs[...].sound(behind: lastAppended).count == jobs.count, writeAtOnce(jobs) else { return false }
        for job in jobs { lastAppended = max(lastAppended, job.lastAppended ?? 0) }
        report(StoreNews(answers: jobs.compactMap { $0.answer(with: nil) }, sizes: takeSizes()))
        resumeBackgroundWork()
        return true
    }

    /// Carries out jobs, and then a step of the background work.
    /// - Returns: false if one of the jobs closes the store.
    func turn(_ jobs: [StoreJob], report: (StoreNews) -> Void) -> Bool {
        carryOut(jobs, report: report)
        return endTurn(jobs, report: report)
    }

    /// Does a step of the background work after the jobs of a turn, or closes the store.
    /// - Returns: false if one of the jobs closes the store.
    func endTurn(_ jobs: [StoreJob], report: (StoreNews) -> Void) -> Bool {
        guard jobs.closings.isEmpty else {
            reportNews(report)
            finish()
            return false
        }
        doBackgroundWork()
        reportNews(report)
        return true
    }

    /// Reports losses, and the sizes if they have changed.
    func reportNews(_ report: (StoreNews) -> Void) {
        let news = StoreNews(sizes: takeSizes(), encryption: takeEncryptionNews(), losses: log.losses.take())
        if !news.isEmpty { report(news) }
    }

    /// Returns the sizes of the store, or nil if they were reported already.
    private func takeSizes() -> StoreSizes? {
        let sizes = StoreSizes(
            deadLetterTally: log.state.deadLetters.tally, diskBytes: log.files.bytes, retained: log.retained)
        guard sizes != reportedSizes else { return nil }
        reportedSizes = sizes
        return sizes
    }

    /// Carries out jobs. Appends and writes are committed together first. A read sees everything that was requested
    /// before it, and nothing that was requested later.
    func carryOut(_ jobs: [StoreJob], report: (StoreNews) -> Void) {
        guard !jobs.isEmpty else { return }
        var rest = jobs[...]
        while !rest.isEmpty {
            // A job that reads or deletes dead letters must not see the dead letters of later jobs, so later jobs wait
            // for it.
            let end = rest.firstIndex(where: \.isAboutDeadLetters).map { $0 + 1 } ?? rest.endIndex
            carryOutTogether(rest[..<end], report: report)
            rest = rest[end...]
        }
        resumeBackgroundWork()
    }

    private func carryOutTogether(_ jobs: ArraySlice<StoreJob>, report: (StoreNews) -> Void) {
        // Most turns have nothing but changes.
        let faults = commitInOrder(jobs.allSatisfy(\.isChange) ? jobs : jobs.filter(\.isChange)[...])
        var (news, changes) = (StoreNews(sizes: takeSizes()), 0)
        for job in jobs {
            switch job {
            case .append, .write:
                let fault = faults[changes]
                changes += 1
                if fault == nil { lastAppended = max(lastAppended, job.lastAppended ?? 0) }
                if let answer = job.answer(with: fault) { news.answers.append(answer) }
            case .ask(_, let work):
                // The answers to commits are reported first, so that clients do not wait for the read that follows.
                if !news.isEmpty { report(news) }
                let answer = work(self)
                news = StoreNews(answers: [answer], sizes: takeSizes())
            case .close: break
            }
        }
        if !news.isEmpty { report(news) }
    }

    /// Commits appends and writes, as many as possible together. If that fails, each is tried alone, so that no job
    /// fails because of another. A group also fails if the group before it is missing (``AppendGroup/behind``).
    /// - Returns: the faults, by the index of the job.
    private func commitInOrder(_ jobs: ArraySlice<StoreJob>) -> [Int: StoreFault] {
        var (rest, faults) = (jobs, [Int: StoreFault]())
        var last = lastAppended
        while !rest.isEmpty {
            let sound = rest.sound(behind: last)
            var outcome = sound.isEmpty ? .failure(.predecessorMissing) : commit(sound)
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
    /// The jobs before the first group whose predecessor is missing.
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

    fileprivate var isAboutDeadLetters: Bool {
        if case .ask(let isAboutDeadLetters, _) = self { isAboutDeadLetters } else { false }
    }

    /// Returns the closure that answers an append or a write; nil for other jobs.
    fileprivate func answer(with fault: StoreFault?) -> (() -> Void)? {
        switch self {
        case .append(_, let then), .write(_, let then): { then(fault) }
        case .ask, .close: nil
        }
    }
}

extension [DispatcherNumber: Int] {
    /// Adds the counts of `others`, dispatcher by dispatcher.
    mutating func add(_ others: Self) {
        merge(others, uniquingKeysWith: +)
    }
}
