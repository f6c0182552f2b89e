import HeadgateWire

extension IncomingLine {
    /// A Boolean value that says whether a message of the line puts events into the commit group.
    var storesEvents: Bool {
        switch self {
        case .message(let message): message.storesEvents
        case .batch(let messages): messages.contains(where: \.storesEvents)
        }
    }
}

extension IncomingMessage {
    fileprivate var storesEvents: Bool {
        switch self {
        case .request(let request): IncomingMessage.storesEvents(request.method)
        case .notification(let notification): IncomingMessage.storesEvents(notification.method)
        case .response, .invalid, .invalidNotification, .invalidResponse: false
        }
    }

    private static func storesEvents(_ method: JSONView) -> Bool {
        method.equals("track") || method.equals("track_many") || method.equals("dead_letters.requeue")
    }
}
