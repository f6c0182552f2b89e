import Testing

@testable import HeadgateTransport

/// The environment variables that a service manager sets.
@Suite struct ServiceNotificationTests {
    @Test("The notification address is a path or an abstract name, and nothing else")
    func address() {
        #expect(notification(["NOTIFY_SOCKET": "/run/n"]).address?.bytes == Array("/run/n".utf8))
        #expect(notification(["NOTIFY_SOCKET": "@n"]).address?.bytes == [0, UInt8(ascii: "n")])
        let longest = "/" + String(repeating: "x", count: 106)
        #expect(notification(["NOTIFY_SOCKET": longest]).address?.bytes == Array(longest.utf8))
        for text in ["", "n", "vsock:2:1", longest + "x"] {
            #expect(notification(["NOTIFY_SOCKET": text]).address == nil, "\(text)")
        }
    }

    @Test("The watchdog is notified at half of its interval, and never in every turn")
    func watchdog() {
        #expect(notification(["WATCHDOG_USEC": "30000000"]).watchdogInterval == .seconds(15))
        #expect(notification(["WATCHDOG_USEC": "1"]).watchdogInterval == .milliseconds(1))
        for text in ["", "0", "-5", "x", "99999999999999999999"] {
            #expect(notification(["WATCHDOG_USEC": text]).watchdogInterval == nil, "\(text)")
        }
    }

    @Test("A watchdog of another process is ignored")
    func otherProcess() {
        #expect(notification(["WATCHDOG_USEC": "2000", "WATCHDOG_PID": "7"]).watchdogInterval == .milliseconds(1))
        #expect(notification(["WATCHDOG_USEC": "2000", "WATCHDOG_PID": "8"]).watchdogInterval == nil)
        #expect(notification(["WATCHDOG_USEC": "2000", "WATCHDOG_PID": ""]).watchdogInterval == nil)
    }

    private func notification(_ environment: [String: String]) -> ServiceNotification {
        ServiceNotification(for: 7) { environment[$0] }
    }
}
