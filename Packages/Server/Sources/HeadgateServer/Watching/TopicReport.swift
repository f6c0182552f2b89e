import HeadgateData

/// Knows what one watch was told of a topic, and so what is new to it. A slow reader simply asks less often, and gets
/// the latest state.
protocol TopicReport {
    /// Takes note of how things stand now.
    /// - Returns: writes what is new as members of `changed`; nil when nothing is. There is always something the first
    ///   time: how things stand.
    mutating func news(from service: Service) -> ((inout JSONWriter) -> Void)?
}
