import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Layers of settings")
struct SettingsLayersTests {
    private let file: DataObject = [
        "durability": "normal",
        "dispatchers": ["a": ["kind": "file", "path": "a", "keep": 2], "b": ["kind": "file", "path": "b"]],
        "barriers": ["BatchingBarrier": ["scopes": ["a", "b"], "configuration": ["batch_size": 5]]],
    ]

    private var layers: SettingsLayers {
        var layers = SettingsLayers()
        layers[.file] = file
        return layers
    }

    @Test("S1: later layers take precedence; objects are merged by key, arrays and scalars are replaced")
    func merge() {
        var layers = layers
        layers[.remote] = ["durability": "memory", "dispatchers": ["a": ["keep": 3]]]
        layers[.programmatic] = [
            "dispatchers": ["a": ["keep": 4], "c": ["kind": "file", "path": "c"]],
            "barriers": ["BatchingBarrier": ["scopes": ["c"]]],
        ]
        #expect(
            layers.effective == [
                "durability": "memory",
                "dispatchers": [
                    "a": ["kind": "file", "path": "a", "keep": 4], "b": ["kind": "file", "path": "b"],
                    "c": ["kind": "file", "path": "c"],
                ],
                "barriers": ["BatchingBarrier": ["scopes": ["c"], "configuration": ["batch_size": 5]]],
            ])
        #expect(layers[.file] == file)
    }

    @Test("S1: in a merge a scalar replaces an object, and an object replaces a scalar")
    func kindsOfValues() {
        let object: DataObject = ["a": ["x": 1], "b": 2]
        #expect(object.patched(with: ["a": 1, "b": ["y": nil, "z": 3]]) == ["a": 1, "b": ["z": 3]])
    }

    @Test("S1: null in a patch removes the programmatic value, so that the file's value applies again")
    func patch() {
        var layers = layers
        layers.patch(["dispatchers": ["a": ["keep": 9], "c": ["kind": "file", "path": "c"]]])
        layers.patch(["dispatchers": ["a": ["keep": nil], "c": nil, "b": ["keep": 1]]])
        #expect(layers[.programmatic] == ["dispatchers": ["a": [:], "b": ["keep": 1]]])
        #expect(
            layers.effective["dispatchers"] == [
                "a": ["kind": "file", "path": "a", "keep": 2], "b": ["kind": "file", "path": "b", "keep": 1],
            ])
    }

    @Test("S1: null in the remote layer removes the file's value")
    func remoteNull() {
        var layers = layers
        layers[.remote] = ["dispatchers": ["b": nil]]
        #expect(Settings.read(layers.effective).settings?.dispatcherIDs == ["a"])
    }

    @Test("S3: a reload reports the changed paths")
    func changedPaths() {
        let new: DataObject = [
            "durability": "normal",
            "dispatchers": ["a": ["kind": "file", "path": "a", "keep": 3], "c": ["kind": "file", "path": "c"]],
            "barriers": ["BatchingBarrier": ["scopes": ["a"], "configuration": ["batch_size": 5]]],
            "socket": "/s",
        ]
        #expect(
            SettingsChange.paths(from: file, to: new) == [
                "dispatchers.a.keep", "dispatchers.b", "dispatchers.c", "barriers.BatchingBarrier.scopes", "socket",
            ])
        #expect(SettingsChange.paths(from: file, to: file) == [])
    }
}
