package headgate

import (
	"sync"
	"time"
)

// A State is the state of a client's connection.
type State string

const (
	StateConnected    State = "connected"    // the daemon has greeted
	StateDisconnected State = "disconnected" // it was lost or could not be made; the client tries again while calls wait
	StateClosed       State = "closed"       // the client was closed
)

// hooks calls the program's functions one after the other, in a goroutine of its own and without locks. A function may call the
// client, and may end its goroutine without effect on the client.
type hooks struct {
	mutex     sync.Mutex
	queue     []func()
	isRunning bool
	idle      chan struct{} // closed when all hooks have run; made by a goroutine that waits for that
}

func (h *hooks) add(hook func()) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.queue = append(h.queue, hook)
	if !h.isRunning {
		h.isRunning = true
		go h.run()
	}
}

// wait waits until all hooks have run, at most until the moment, because the caller may itself be a hook.
func (h *hooks) wait(until time.Time) {
	h.mutex.Lock()
	if h.isRunning && h.idle == nil {
		h.idle = make(chan struct{})
	}
	idle := h.idle
	h.mutex.Unlock()
	if idle == nil {
		return
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
}

func (h *hooks) run() {
	for hook := h.next(); hook != nil; hook = h.next() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			hook()
		}()
		<-done
	}
}

func (h *hooks) next() func() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if len(h.queue) == 0 {
		h.isRunning = false
		if h.idle != nil {
			close(h.idle)
			h.idle = nil
		}
		return nil
	}
	hook := h.queue[0]
	h.queue = h.queue[1:]
	return hook
}
