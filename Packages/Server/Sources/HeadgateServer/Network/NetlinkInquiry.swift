/// Which of the kernel's lists are still to be had. They are asked for one at a time, since the kernel answers a second
/// question only when it is done with the first. Pure.
struct NetlinkInquiry {
    private var wanted: Set<NetworkList> = []
    private var underWay: (list: NetworkList, number: UInt32)?
    private var lastNumber: UInt32 = 0

    /// Whether every list is in, as far as is known.
    var isComplete: Bool { wanted.isEmpty && underWay == nil }

    /// A list has to be asked for, again if it is under way.
    mutating func want(_ list: NetworkList) {
        wanted.insert(list)
    }

    /// The next list to ask for, and the number to do so under; nil while another is under way, or when none is left.
    mutating func next() -> (list: NetworkList, number: UInt32)? {
        guard underWay == nil, let list = NetworkList.allCases.first(where: wanted.contains) else { return nil }
        wanted.remove(list)
        lastNumber &+= 1
        underWay = (list, lastNumber)
        return underWay
    }

    /// A list is at its end. Numbers that are not under way mean nothing.
    mutating func ended(_ number: UInt32) {
        if underWay?.number == number { underWay = nil }
    }

    /// A list that goes on will not be whole: it is asked for once more.
    mutating func interrupted(_ number: UInt32) {
        guard let underWay, underWay.number == number else { return }
        want(underWay.list)
    }

    /// The kernel refused a list, which is still wanted.
    /// - Returns: whether this was the one under way.
    mutating func refused(_ number: UInt32) -> Bool {
        guard underWay?.number == number else { return false }
        interrupted(number)
        underWay = nil
        return true
    }
}
