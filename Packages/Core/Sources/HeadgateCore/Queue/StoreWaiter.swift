/// Someone who waits for a store: told nil, or why it did not do as asked.
typealias StoreWaiter = (StoreFault?) -> Void

extension [StoreWaiter] {
    /// Tells all, in order.
    func tell(_ fault: StoreFault?) {
        for waiter in self { waiter(fault) }
    }
}
