/// All that one connection makes the daemon keep (Behaviour X2): when it is full, reading stops until there is room.
struct SessionAccount: Equatable {
    /// Messages that are being worked on or waited for: requests that are not answered, and notifications that are not done.
    private(set) var underWay = 0
    /// Bytes of their lines. A batch's stay until its last message is done, for any of them may hold on to its params.
    private(set) var requestBytes = 0
    /// Bytes of answers that are finished and wait for the rest of their batch.
    private(set) var keptBytes = 0
    /// Bytes of output that the client has not taken.
    var outputBytes = 0

    /// Whether nothing is owed to the client.
    var isSettled: Bool { underWay == 0 }

    /// Whether another line may be taken. One line is always taken whole, so the account may go beyond a limit by as much
    /// as one line asks for, and a batch may complete, or be refused in part, whatever it needs.
    func hasRoom(within limits: Limits) -> Bool {
        underWay < limits.maxUnanswered && requestBytes < limits.maxUnansweredBytes
            && keptBytes + outputBytes < limits.maxOutputBytes
    }

    mutating func take(_ messages: Int, bytes: Int) {
        underWay += messages
        requestBytes += bytes
    }

    mutating func release(_ messages: Int, bytes: Int) {
        underWay -= messages
        requestBytes -= bytes
    }

    mutating func keep(bytes: Int) {
        keptBytes += bytes
    }

    mutating func letGo(bytes: Int) {
        keptBytes -= bytes
    }
}
