import HeadgateClient

func watch(with client: HeadgateClient) async throws {
    for try await update in client.watch([.dispatchers]) {
        switch update {
        case .began: print("watching")
        case .interrupted(let error): print("the daemon is gone: \(error)")
        case .dispatchers(let dispatchers, _): dispatchers.forEach(show)
        default: continue
        }
    }
}

private func show(_ dispatcher: ListedDispatcher) {
    print(dispatcher.id, dispatcher.isOpen ? "open" : "held by \(dispatcher.blockedBy.joined(separator: ", "))")
}
