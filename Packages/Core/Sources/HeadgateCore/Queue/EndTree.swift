/// When what lies at each place ends, with the earliest of all at the top: a tournament. A change costs as many steps as the
/// tree is high.
struct EndTree {
    /// The root is at 1; the leaves are the last half.
    private var nodes: [Int64] = []

    private var leaves: Int { nodes.count / 2 }

    /// The earliest end; nil while there is none.
    var earliest: Int64? {
        nodes.isEmpty || nodes[1] == EndTree.never ? nil : nodes[1]
    }

    /// A place whose end has come; of several the first.
    func firstDue(at stamp: Int64) -> Int? {
        guard let earliest, earliest <= stamp else { return nil }
        var node = 1
        while node < leaves { node = nodes[2 * node] <= stamp ? 2 * node : 2 * node + 1 }
        return node - leaves
    }

    /// Notes when what lies at a place ends; nil: never, or it lies there no more.
    mutating func set(_ place: Int, to end: Int64?) {
        if place >= leaves {
            guard end != nil else { return }
            grow(to: place)
        }
        var node = leaves + place
        nodes[node] = end ?? EndTree.never
        while node > 1 {
            node /= 2
            let least = min(nodes[2 * node], nodes[2 * node + 1])
            guard nodes[node] != least else { return }
            nodes[node] = least
        }
    }

    private mutating func grow(to place: Int) {
        var count = max(32, 2 * leaves)
        while count <= place { count *= 2 }
        let old = leaves == 0 ? [] : Array(nodes[leaves...])
        nodes = [Int64](repeating: EndTree.never, count: 2 * count)
        nodes.replaceSubrange(count..<count + old.count, with: old)
        for node in stride(from: count - 1, through: 1, by: -1) {
            nodes[node] = min(nodes[2 * node], nodes[2 * node + 1])
        }
    }

    private static let never = Int64.max
}
