import CNetlink
import HeadgateCore

/// Reads what a routing netlink socket gives: messages in a row, each a header and a body (netlink(7)). Pure: of what kind
/// an interface is, is asked of `kind`.
struct NetlinkMessages {
    /// The kind of an interface by its name.
    let kind: (String) -> ConnectionKind

    func read(_ datagram: UnsafeRawBufferPointer) -> [NetlinkMessage] {
        var messages: [NetlinkMessage] = []
        var rest = datagram[...]
        while rest.count >= MemoryLayout<nlmsghdr>.size {
            let header = rest.load(nlmsghdr.self)
            let length = Int(header.nlmsg_len)
            guard length >= MemoryLayout<nlmsghdr>.size, length <= rest.count else { return messages + [.garbled] }
            let body = UnsafeRawBufferPointer(rebasing: rest.prefix(length).dropFirst(MemoryLayout<nlmsghdr>.size))
            if Int32(header.nlmsg_flags) & NLM_F_DUMP_INTR != 0 { messages.append(.listInterrupted(header.nlmsg_seq)) }
            messages += read(header, body)
            rest = rest.dropFirst(length.alignedToFour)
        }
        return rest.isEmpty ? messages : messages + [.garbled]
    }

    private func read(_ header: nlmsghdr, _ body: UnsafeRawBufferPointer) -> [NetlinkMessage] {
        switch Int32(header.nlmsg_type) {
        case NLMSG_DONE: [errorCode(body) < 0 ? .listRefused(header.nlmsg_seq) : .listEnded(header.nlmsg_seq)]
        case NLMSG_ERROR: errorCode(body) < 0 ? [.listRefused(header.nlmsg_seq)] : []
        default: facts(header, body).map { .fact($0) }
        }
    }

    /// A negated `errno`; 0 is no error.
    private func errorCode(_ body: UnsafeRawBufferPointer) -> Int32 {
        body.count >= MemoryLayout<Int32>.size ? body[...].load(Int32.self) : 0
    }

    private func facts(_ header: nlmsghdr, _ body: UnsafeRawBufferPointer) -> [NetworkFact] {
        switch Int(header.nlmsg_type) {
        case Int(RTM_NEWLINK): link(body).map { [$0] } ?? []
        case Int(RTM_DELLINK): linkGone(body).map { [$0] } ?? []
        case Int(RTM_NEWADDR): address(body).map { [$0] } ?? []
        case Int(RTM_DELADDR): address(body, isGone: true).map { [$0] } ?? []
        case Int(RTM_NEWROUTE): newRoute(body, isReplacing: Int32(header.nlmsg_flags) & NLM_F_REPLACE != 0)
        case Int(RTM_DELROUTE): defaultRoutes(body) == nil ? [] : [.defaultRoutesChanged]
        default: []
        }
    }
}
