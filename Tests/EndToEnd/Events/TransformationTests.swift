import Testing

/// Transformations defined in the settings.
@Suite struct TransformationTests {
    @Test("P4, P6: rename, set, hash and remove are applied in that order, and untouched parts keep their bytes")
    func edits() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let edits: JSON = [
                "id": "edits", "scopes": ["dispatcher:collect"],
                "rename": ["data.mail": "data.email", "data.raw": "data.tmp"],
                "set": ["data.source": "x", "data.made.here": [1, true]],
                "hash": ["data.email", "data.source", "data.price", "data.ok"], "remove": ["data.tmp", "data.gone"],
            ]
            let daemon = try await scene.daemon(sendingTo: collector, top: ["transformations": [edits]])
            let untouched = #""z":1.10,"big":123456789012345678901234567890,"a":{"y":1E+2,"x":"Grüße"}"#
            let data = #"{\#(untouched),"mail":"a@b.c","raw":1,"price":1.10,"ok":true}"#
            let client = try await daemon.connect()
            try await client.send(#"{"jsonrpc":"2.0","id":1,"method":"track","params":{"event":"x","data":\#(data)}}"#)
            try await collector.requests(atLeast: 1)
            #expect(collector.requests[0].body.contains(#""data":{\#(untouched)"#))

            let sent = collector.requests[0].events[0]["data"]
            #expect(Set(sent.members.keys) == ["z", "big", "a", "email", "price", "ok", "source", "made"])
            #expect(sent["made"] == ["here": [1, true]])
            #expect(sent["email"] == "d648b243a3e817eaa3309e00e183483f2867baadf522099f0c2121770536b25a")
            #expect(sent["source"] == "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881")
            // The value is not a string, so the hash is computed from its JSON as it was sent.
            #expect(sent["price"] == "aa672d37ec3c3f8002f2a87bba68fd3c2281f1935020cc0e2840276a9de14d78")
            #expect(sent["ok"] == "b5bea41b6c623f7c09f1bf24dcae58ebab3c0cdd90ad966bc43a45b44867e12b")
        }
    }

    @Test("P4: `when` selects the events to transform")
    func when() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let masking: JSON = [
                "id": "mask", "scopes": "allDispatchers", "remove": ["data.name"],
                "when": ["operator": "equals", "path": "data.plan", "value": "free"],
            ]
            let daemon = try await scene.daemon(sendingTo: collector, top: ["transformations": [masking]])
            try await daemon.track(1...1, data: ["plan": "free", "name": "Ada"])
            try await daemon.track(2...2, data: ["plan": "paid", "name": "Ada"])
            try await daemon.track(3...3, data: ["name": "Ada"])
            try await collector.acceptedIDs(atLeast: 3)
            let sent = collector.accepted.flatMap(\.events).map(\.["data"])
            #expect(sent == [["plan": "free"], ["plan": "paid", "name": "Ada"], ["name": "Ada"]])
        }
    }

    @Test("P4: afterCollectors applies to all events before load rules, and dispatcher scopes only to one dispatcher")
    func scopes() async throws {
        try await withScene { scene in
            let (one, two) = (try scene.collector(), try scene.collector())
            let marked: JSON = ["operator": "equals", "path": "data.early", "value": "seen"]
            let daemon = try await scene.daemon([
                "dispatchers": ["one": one.dispatcher(["load_rule": marked]), "two": two.dispatcher()],
                "transformations": [
                    ["id": "only", "scopes": ["dispatcher:one"], "set": ["data.only": 1]],
                    ["id": "each", "scopes": ["allDispatchers"], "set": ["data.each": 1]],
                    ["id": "early", "scopes": ["afterCollectors"], "set": ["data.early": "seen"]],
                ],
            ])
            try await daemon.track(1...1)
            try await one.acceptedIDs(atLeast: 1)
            try await two.acceptedIDs(atLeast: 1)
            #expect(one.accepted[0].events[0]["data"] == ["early": "seen", "each": 1, "only": 1])
            #expect(two.accepted[0].events[0]["data"] == ["early": "seen", "each": 1])
        }
    }

    @Test("P4: transformations run by their order, each on the result of the previous one")
    func order() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(
                sendingTo: collector,
                top: [
                    "transformations": [
                        ["id": "last", "scopes": ["allDispatchers"], "order": 9, "rename": ["data.c": "data.d"]],
                        ["id": "first", "scopes": ["allDispatchers"], "order": -1, "rename": ["data.a": "data.b"]],
                        [
                            "id": "middle", "scopes": ["dispatcher:collect"], "order": 2.5,
                            "rename": ["data.b": "data.c"],
                        ],
                    ]
                ])
            try await daemon.track(1...1, data: ["a": 7])
            try await collector.acceptedIDs(atLeast: 1)
            #expect(collector.accepted[0].events[0]["data"] == ["d": 7])
        }
    }

    @Test("P4: afterCollectors runs when an event is stored, and dispatcher scopes when it is sent")
    func changedByReload() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let configuration = { (mark: JSON) -> JSON in
                [
                    "dispatchers": ["collect": collector.dispatcher()],
                    "transformations": [
                        ["id": "early", "scopes": ["afterCollectors"], "set": ["data.early": mark]],
                        ["id": "late", "scopes": ["dispatcher:collect"], "set": ["data.late": mark]],
                    ],
                ]
            }
            let daemon = try await scene.daemon(configuration("old"))
            try await daemon.pause()
            try await daemon.track(1...1)
            try await daemon.reload(configuration("new"))
            try await daemon.track(2...2)
            try await daemon.resume()
            try await collector.acceptedIDs(atLeast: 2)
            let sent = collector.accepted.flatMap(\.events).map(\.["data"])
            #expect(sent == [["early": "old", "late": "new"], ["early": "new", "late": "new"]])
        }
    }
}
