import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Settings as config.get shows them")
struct SettingsDisplayTests {
    private let paths = DaemonPaths(socket: "/s", dataDirectory: "/d")

    @Test("X4: secrets are blanked, and references to files and variables are shown")
    func secrets() {
        let settings: DataObject = [
            "dispatchers": [
                "a": [
                    "kind": "http", "endpoint": "https://user:hunter2@host/x@y",
                    "headers": [
                        "Authorization": "hunter2", "X-Api-Key": "hunter2", "cookie": "hunter2",
                        "X-Token": ["env": "TOKEN"], "X-Secret": ["file": "/key"], "X-Plain": "shown",
                        "Referer": "https://hunter2@host",
                    ],
                ],
                "b": ["endpoint": "user:hunter2@host"],
                "c": ["servers": ["nats://hunter2@host", "nats://host"]],
            ]
        ]
        #expect(
            SettingsDisplay.blanked(settings) == [
                "dispatchers": [
                    "a": [
                        "kind": "http", "endpoint": "https://***@host/x@y",
                        "headers": [
                            "Authorization": "***", "X-Api-Key": "***", "cookie": "***", "X-Token": ["env": "TOKEN"],
                            "X-Secret": ["file": "/key"], "X-Plain": "shown", "Referer": "https://***@host",
                        ],
                    ],
                    "b": ["endpoint": "***@host"],
                    "c": ["servers": ["nats://***@host", "nats://host"]],
                ]
            ])
    }

    @Test("X4: user info is blanked in unusual URLs, and in URLs without a scheme")
    func awkwardURLs() {
        for text in ["x://hunter2@\u{301}host", "x://a@hunter2@host", "x://hunter2@", "x://:hunter2@host?@"] {
            let shown = SettingsDisplay.blanked(["url": .string(text)]).get(key: "url", as: String.self)
            #expect(shown?.contains("hunter2") == false, "\(text)")
        }
        // These keys also accept URLs without a scheme, so their values are treated as URLs.
        for key in ["endpoint", "servers", "url"] {
            let shown = SettingsDisplay.blanked([key: "joe:hunter2@127.0.0.1:1/s"])
            #expect(shown == [key: "***@127.0.0.1:1/s"])
        }
        let harmless: DataObject = ["mail": "me@example.org", "endpoint": "host/x@y", "path": "a://b/c@d"]
        #expect(SettingsDisplay.blanked(harmless) == harmless)
    }

    @Test("The settings in force are shown with defaults and with the paths in use")
    func inForce() {
        let shown = SettingsDisplay.inForce(
            ["socket": "/other", "store": ["max_events": 5], "dispatchers": ["a": ["kind": "file", "path": "f"]]],
            paths: paths)
        var expected = Settings().sections
        expected["store"] = .object(StoreLimits().object.patched(with: ["kind": "log", "max_events": 5]))
        expected["dispatchers"] = ["a": ["kind": "file", "path": "f"]]
        expected["socket"] = "/s"
        expected["data_dir"] = "/d"
        #expect(shown == expected)
    }
}
