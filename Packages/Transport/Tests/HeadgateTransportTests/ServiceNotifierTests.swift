import Foundation
import Testing

@testable import HeadgateTransport

@Suite struct ServiceNotifierTests {
    @Test("A manager that does not read blocks nothing, and gets every state message when it reads")
    func fullSocket() throws {
        let folder = try TemporaryDirectory()
        let manager = try manager(at: folder.entry("notify"))
        defer { close(manager) }
        let address = try #require(NotifyAddress(folder.entry("notify")))
        var messages: [String] = []
        var notifier: ServiceNotifier?
        var watch: DescriptorWatch?
        try onLoop { loop in
            let new = ServiceNotifier(to: address, on: loop)
            notifier = new
            while fill(folder.entry("notify")) {}
            new.sendWatchdog()
            new.notify("RELOADING=1")
            new.notify("READY=1", "STATUS=x")
            watch = try DescriptorWatch(readable: manager, on: loop) {
                while let message = next(manager) { if message != "filler" { messages.append(message) } }
                if messages.count >= 2 { loop.stop() }
            }
        }
        #expect(messages == ["RELOADING=1", "READY=1\nSTATUS=x"])
        withExtendedLifetime((notifier, watch)) {}
    }

    private func manager(at path: String) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        let address = try #require(NotifyAddress(path))
        try #require(address.withSystemAddress { bind(descriptor, $0, $1) } == 0)
        return descriptor
    }

    /// Sends the manager a filler datagram.
    /// - Returns: False if the manager's socket is full.
    private func fill(_ path: String) -> Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        defer { close(descriptor) }
        let bytes = Array("filler".utf8)
        return NotifyAddress(path)?.withSystemAddress { sendto(descriptor, bytes, bytes.count, 0, $0, $1) } ?? -1 >= 0
    }

    private func next(_ manager: Int32) -> String? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(manager, &bytes, bytes.count, 0)
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }
}
