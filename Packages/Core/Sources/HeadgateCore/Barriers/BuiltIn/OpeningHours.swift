import HeadgateData

/// When a schedule's window is open, by the clocks of its zone.
///
/// Every moment is judged by what a clock on the wall shows at it. So an hour that the clocks skip in spring is not
/// there to be open in, and one that they show twice in autumn is open twice.
struct OpeningHours {
    let settings: ScheduleSettings
    let rules: TimeZoneRules

    /// Whether the window is open at a moment.
    func isOpen(at moment: Timestamp) -> Bool {
        let local = rules.local(at: moment)
        guard settings.startHour > settings.endHour else {
            return settings.startHour..<settings.endHour ~= local.hour && begins(on: local.day)
        }
        if local.hour >= settings.startHour { return begins(on: local.day) }
        return local.hour < settings.endHour && begins(on: local.day - 1)
    }

    /// The next moment at which a minute begins on the clocks of the zone. Hours begin only there, and zones change their
    /// offsets only there.
    func nextMinute(after moment: Timestamp) -> Timestamp {
        next(60, after: moment)
    }

    /// When the window opens after a moment; nil when it does not within a week.
    func nextOpening(after moment: Timestamp) -> Timestamp? {
        // Clocks are set back and forth by quarters of an hour or more, so that no opening hides between two of them.
        let quarter: Int64 = 900
        let end = moment.milliseconds + 8 * Timestamp.day
        var candidate = next(quarter, after: moment)
        while candidate.milliseconds < end {
            if isOpen(at: candidate) { return candidate }
            candidate = next(quarter, after: candidate)
        }
        return nil
    }

    private func begins(on day: Int) -> Bool {
        settings.days.contains(Weekday(daysSince1970: day))
    }

    /// The next moment at which so many seconds begin on the clocks of the zone.
    private func next(_ seconds: Int64, after moment: Timestamp) -> Timestamp {
        let offset = Int64(rules.offset(at: moment.milliseconds.flooredDividing(by: 1000))) * 1000
        let step = seconds * 1000
        let local = moment.milliseconds + offset
        return Timestamp(milliseconds: (local.flooredDividing(by: step) + 1) * step - offset)
    }
}

extension Timestamp {
    fileprivate static let day: Int64 = 86_400_000
}
