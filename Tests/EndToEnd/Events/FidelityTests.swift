import Testing

/// P6: data arrives byte for byte as it was sent if no setting changes the data.
@Suite struct FidelityTests {
    @Test(
        "P6: data arrives byte for byte",
        arguments: [
            #"{"n":123456789012345678901234567890,"m":1.10,"h":1e400,"i":-0,"j":1E+2,"k":0.1000000000000000055511151231257827}"#,
            #"{"zebra":1,"apple":2,"mango":{"z":1,"a":2},"":3}"#,
            #"{"text":"Grüße, 世界 👩‍👩‍👧 \#u{202e}rtl \#u{feff}bom\#u{2028}"}"#,
            #"{"escapes":"\u00e9 \/ \" \\ \b\f\n\r\t \u0000 \ud83d\ude00"}"#,
            #"{"ключ":"value","\u006bey":"escaped key"}"#,
            #"{"deep":[[[[{"a":[null,true,false,[],{}]}]]]]}"#,
            #"{}"#,
        ])
    func dataIsUntouched(data: String) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let client = try await daemon.connect()
            try await client.send(#"{"jsonrpc":"2.0","id":1,"method":"track","params":{"event":"x","data":\#(data)}}"#)
            #expect(try await client.line().contains(#""seq":"#))
            try await collector.requests(atLeast: 1)
            #expect(collector.requests[0].body.hasSuffix(#","data":\#(data)}]"#))
        }
    }

    @Test("P6: data survives a restart byte for byte")
    func dataSurvivesRestart() async throws {
        try await withScene { scene in
            let data = #"{"b":1.10,"a":"\u00e9 ü","n":98765432109876543210}"#
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.pause()
            let client = try await daemon.connect()
            try await client.send(#"{"jsonrpc":"2.0","id":1,"method":"track","params":{"event":"x","data":\#(data)}}"#)
            #expect(try await client.line().contains(#""seq":"#))
            try await daemon.killNow()
            try await daemon.start()
            try await daemon.resume()
            try await collector.requests(atLeast: 1)
            #expect(collector.requests[0].body.hasSuffix(#","data":\#(data)}]"#))
        }
    }

    @Test("P6: names, ids and keys of events may contain any text")
    func anyText() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let text = "a \"quoted\" \\ ü 世界 👩‍👩‍👧\n\t\u{1}"
            let event: JSON = ["event": .string(text), "id": .string(text + "1"), "key": .string(text + "2")]
            let answer = try await daemon.ask("track", event)
            #expect(answer["id"].string == text + "1")
            try await collector.acceptedIDs(atLeast: 1)
            #expect(collector.accepted[0].events[0].contains(event))
        }
    }

    @Test("A line near the limit is stored and delivered completely")
    func bigEvent() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, ["byte_limit": 2_000_000])
            let text = String(repeating: "0123456789abcdef", count: 60_000)
            _ = try await daemon.ask("track", ["event": "big", "id": "big", "data": ["text": .string(text)]])
            try await daemon.track(1...1)
            #expect(try await collector.acceptedIDs(atLeast: 2) == ["big", "e1"])
            #expect(collector.accepted[0].events[0]["data"]["text"].string == text)
        }
    }
}
