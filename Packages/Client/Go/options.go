package headgate

import (
	"log"
	"time"
)

// Forever is for as long as it takes.
const Forever time.Duration = 1<<63 - 1

// Options of a client. A member that is zero has its default.
type Options struct {
	// SocketPath is the daemon's socket; default: where DefaultSocket says.
	SocketPath string
	// Namespace is the namespace of the events' ids (Behaviour Q7); default: that of the user.
	Namespace string
	// ConnectTimeout is how long a call waits for the first connection; default: 10 s. One attempt is always made; what is
	// negative makes no other. A daemon that is found stopping counts as a lost connection.
	ConnectTimeout time.Duration
	// ReconnectTimeout is how long calls wait for a connection that was lost to come back; default: Forever. What is negative
	// does not wait.
	ReconnectTimeout time.Duration
	// GreetingTimeout is how long the daemon may take to answer hello; default: 10 s.
	GreetingTimeout time.Duration
	// CloseTimeout is how long Close waits for answers; default: 5 s.
	CloseTimeout time.Duration
	// OnState is called when the state of the connection changes; the error says why it is StateDisconnected. It is called by
	// a goroutine of its own, and may call the client. Close waits for it within its time.
	OnState func(state State, err error)
	// Logf is called with a line for the log: the daemon cannot be reached (once until a call is answered again), a worker is
	// refused, an answer is not sent, or events are left at the end. By default it is log.Printf.
	Logf func(format string, arguments ...any)
	// MaxUnanswered is how many calls may be unanswered; default: 16 384. Who calls more waits for room.
	MaxUnanswered int
	// MaxUnansweredBytes is how many bytes of calls may be unanswered; default: 8 MiB. One call is always let through.
	MaxUnansweredBytes int
	// BackoffBase is about how long the first wait between two attempts to connect is; default: 50 ms. Each next one is twice
	// as long.
	BackoffBase time.Duration
	// BackoffCap is the longest wait between two attempts to connect; default: 5 s.
	BackoffCap time.Duration
}

// filled returns the options with the defaults of the absent ones.
func (o Options) filled() Options {
	if o.SocketPath == "" {
		o.SocketPath = DefaultSocket()
	}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = 10 * time.Second
	}
	if o.ReconnectTimeout == 0 {
		o.ReconnectTimeout = Forever
	}
	setDefault(&o.GreetingTimeout, 10*time.Second)
	setDefault(&o.CloseTimeout, 5*time.Second)
	setDefault(&o.MaxUnanswered, 16_384)
	setDefault(&o.MaxUnansweredBytes, 8<<20)
	setDefault(&o.BackoffBase, 50*time.Millisecond)
	setDefault(&o.BackoffCap, 5*time.Second)
	if o.OnState == nil {
		o.OnState = func(State, error) {}
	}
	if o.Logf == nil {
		o.Logf = log.Printf
	}
	return o
}

// setDefault replaces a value that is absent or not positive by the default.
func setDefault[Value int | time.Duration](value *Value, fallback Value) {
	if *value <= 0 {
		*value = fallback
	}
}
