package headgate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// written by Tools/protocol: repeatable
var repeatable = map[string]bool{
	"ping": true, "rights": true, "rpc.discover": true, "flush.list": true, "status": true, "barrier.list": true,
	"dispatcher.list": true, "queue.peek": true, "dead_letters.list": true, "config.get": true, "metrics": true,
	"event.trace": true, "client.list": true,
}

// end of what Tools/protocol has written

// A Client of the daemon. Its methods fail with an *Error, with context.Canceled, or with what encoding/json says of
// arguments that are no JSON. When a context ends, a call that was not written is cancelled. A call that was
// written may have been done; only its answer is not waited for.
type Client struct {
	connection *connection
	workers    workers
}

// New makes a client that connects when it is first called. The name and the version (which may be empty) are the
// program's; together they are the events' `context.client`.
func New(name, version string, options Options) *Client {
	greeter := struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}{name, version}
	hello, _ := encode(map[string]any{ // strings and numbers can be encoded
		"jsonrpc": "2.0", "id": 0, "method": "hello", "params": struct {
			Client    any    `json:"client"`
			Protocol  int    `json:"protocol"`
			Namespace string `json:"namespace,omitempty"`
		}{greeter, 1, options.Namespace},
	})
	client := &Client{connection: newConnection(hello, options.filled())}
	client.workers = workers{connection: client.connection, table: map[string]*Subscription{}}
	client.connection.takeRequest = client.workers.take
	return client
}

// SocketPath returns the path of the daemon's socket.
func (c *Client) SocketPath() string { return c.connection.options.SocketPath }

// MARK: Tracking

// Track tracks an event, and waits until the daemon has stored it.
func (c *Client) Track(ctx context.Context, event Event) (Receipt, error) {
	result, err := c.call(ctx, newCall("track", event.withID(), true))
	if err != nil {
		return Receipt{}, err
	}
	return readReceipt(result)
}

// TrackSoon tracks an event without waiting for its acknowledgement. The events of one goroutine keep the order of these
// calls. The context bounds the wait for room only. With an error there is no Pending.
func (c *Client) TrackSoon(ctx context.Context, event Event) (*Pending, error) {
	made := newCall("track", event.withID(), true)
	made.isSoon = true
	if err := c.begin(ctx, made); err != nil {
		return nil, err
	}
	return &Pending{made}, nil
}

// TryTrack is TrackSoon that never waits: it fails with BufferFull when there is no room.
func (c *Client) TryTrack(event Event) (*Pending, error) {
	made := newCall("track", event.withID(), true)
	made.isSoon = true
	c.connection.mutex.Lock()
	defer c.connection.mutex.Unlock()
	isOver := func() bool { return c.connection.phase == closed || c.connection.isLeaving }
	if c.connection.hasRoom() || isOver() {
		if err := c.connection.prepare(made); err != nil {
			return nil, err
		}
	}
	if !c.connection.hasRoom() && !isOver() { // other goroutines may have taken the room meanwhile
		return nil, local(BufferFull, "%s", c.connection.because("too many calls are unanswered"))
	}
	if err := c.connection.insert(made); err != nil {
		return nil, err
	}
	return &Pending{made}, nil
}

// TrackEach tracks events each on its own, in their order, many in flight at once. It returns the outcome of each, in the
// same order; one that is refused does not hinder the others. An event that the context ends may be stored or not.
func (c *Client) TrackEach(ctx context.Context, events []Event) []Outcome {
	made := make([]*call, len(events))
	outcomes := make([]Outcome, len(events))
	for place, event := range events {
		one := newCall("track", event.withID(), true)
		if outcomes[place].Err = c.begin(ctx, one); outcomes[place].Err == nil {
			made[place] = one
		}
	}
	for place, one := range made {
		if one == nil {
			continue
		}
		result, err := c.wait(ctx, one)
		if err == nil {
			outcomes[place].Receipt, err = readReceipt(result)
		}
		outcomes[place].Err = err
	}
	return outcomes
}

// TrackMany tracks events atomically: all are stored, or none. They are sent in one line, whose length the daemon limits.
func (c *Client) TrackMany(ctx context.Context, events []Event) (ManyReceipt, error) {
	params := struct {
		Events []Event `json:"events"`
	}{make([]Event, len(events))}
	for place, event := range events {
		params.Events[place] = event.withID()
	}
	result, err := c.call(ctx, newCall("track_many", params, true))
	if err != nil {
		return ManyReceipt{}, err
	}
	var receipt ManyReceipt
	if json.Unmarshal(result, &receipt) != nil || receipt.IDs == nil {
		return ManyReceipt{}, local(BadAnswer, "the result of track_many is malformed")
	}
	return receipt, nil
}

// MARK: Queries and operations

// Call calls any method of the protocol (Docs/Protocol.md). Nil params are none; the result is read into what `result`
// points to, unless that is nil. When the connection breaks, methods that change nothing are called again on the next one;
// others fail with Disconnected if they had been written.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	if params == nil {
		params = struct{}{}
	}
	raw, err := c.call(ctx, newCall(method, params, repeatable[method]))
	if err != nil || result == nil {
		return err
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return local(BadAnswer, "the result of %s is malformed: %s", method, err)
	}
	return nil
}

// FlushOptions are the options of a flush.
type FlushOptions struct {
	// Dispatchers are the dispatchers to be flushed; nil is all.
	Dispatchers []string
	// Wait is true to wait until the flush has ended.
	Wait bool
	// Timeout ends the flush at the latest, in whole milliseconds. Nil is 30 s; 0 is no timeout.
	Timeout *time.Duration
	// ID is the flush's id for `flush.cancel`; if it is empty the daemon makes one.
	ID string
}

// A Flush is the result of a flush.
type Flush struct {
	ID string `json:"flush"`
	// Ended is `settled`, `timeout` or `cancelled`; empty if the call did not wait.
	Ended       string               `json:"ended"`
	Dispatchers map[string]FlushPart `json:"dispatchers"`
}

// A FlushPart is the result of a flush for one dispatcher.
type FlushPart struct {
	Sent      int      `json:"sent"`
	Failed    int      `json:"failed"`
	Left      int      `json:"left"`
	BlockedBy []string `json:"blocked_by"`
}

// Flush makes dispatchers send their pending events, through flushable barriers (Behaviour F1).
func (c *Client) Flush(ctx context.Context, options FlushOptions) (Flush, error) {
	params := map[string]any{}
	if options.Dispatchers != nil {
		params["dispatchers"] = options.Dispatchers
	}
	if options.Wait {
		params["wait"] = true
	}
	if options.Timeout != nil {
		params["timeout_ms"] = options.Timeout.Milliseconds()
	}
	if options.ID != "" {
		params["flush"] = options.ID
	}
	var flush Flush
	if err := c.Call(ctx, "flush", params, &flush); err != nil {
		return Flush{}, err
	}
	isKnown := flush.Ended == "settled" || flush.Ended == "timeout" || flush.Ended == "cancelled"
	if options.Wait && !isKnown {
		return Flush{}, local(BadAnswer, "the result of flush has an unknown end")
	}
	return flush, nil
}

// Status returns the daemon's status, a JSON object that Docs/Protocol.md describes.
func (c *Client) Status(ctx context.Context) (json.RawMessage, error) {
	var status json.RawMessage
	return status, c.Call(ctx, "status", nil, &status)
}

// MARK: The end

// Drain waits until all calls are answered: all events of this client are stored then. Other libraries call this Flush; the
// client's Flush makes dispatchers send their pending events.
func (c *Client) Drain(ctx context.Context) error {
	connection := c.connection
	connection.mutex.Lock()
	defer connection.mutex.Unlock()
	isDrained := func() bool { return connection.underWay == 0 || connection.phase == closed }
	if !connection.until(isDrained, ctx.Done()) {
		return ended(ctx, nil)
	}
	return nil
}

// Unanswered returns the number of calls that are not answered, without those of workers.
func (c *Client) Unanswered() int {
	c.connection.mutex.Lock()
	defer c.connection.mutex.Unlock()
	return c.connection.underWay
}

// Close takes no more calls, waits until all are answered and the workers have answered their batches, but no longer than
// Options.CloseTimeout, then closes the connection. If calls were not answered the error says how many; they fail with
// Closed, and their events may be stored or not. How many of them were begun with TrackSoon or TryTrack is logged as well. A
// program that ends without Close loses what is not acknowledged. A handler calls it in another goroutine, since it waits for the
// handler. Further calls of Close do nothing.
func (c *Client) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), c.connection.options.CloseTimeout)
	defer cancel()
	return c.Shutdown(ctx)
}

// Shutdown closes the client as Close does, but waits until the context ends. With an ended context it closes at once.
func (c *Client) Shutdown(ctx context.Context) error {
	c.connection.mutex.Lock()
	isFirst := !c.connection.isLeaving
	c.connection.mutex.Unlock()
	if isFirst {
		c.workers.leave(ctx)
	}
	c.connection.mutex.Lock()
	c.connection.isLeaving = true
	c.connection.mutex.Unlock()
	_ = c.Drain(ctx)
	left, soon := c.connection.left()
	c.connection.close(ctx)
	if soon > 0 {
		c.connection.options.Logf("headgate: %d events were not acknowledged when the client was closed", soon)
	}
	if left > 0 {
		return local(Closed, "%d calls were not answered", left)
	}
	return nil
}

// MARK: Calls

func (c *Client) call(ctx context.Context, made *call) (json.RawMessage, error) {
	if err := c.begin(ctx, made); err != nil {
		return nil, err
	}
	return c.wait(ctx, made)
}

// begin makes a call once there is room.
func (c *Client) begin(ctx context.Context, made *call) error {
	connection := c.connection
	connection.mutex.Lock()
	defer connection.mutex.Unlock()
	mayBegin := func() bool { return connection.hasRoom() || connection.phase == closed || connection.isLeaving }
	if ctx.Err() != nil && mayBegin() {
		return ended(ctx, connection.failure())
	}
	isThere := connection.until(mayBegin, ctx.Done())
	if isThere {
		if err := connection.prepare(made); err != nil {
			return err
		}
		isThere = connection.until(mayBegin, ctx.Done()) // other goroutines may have taken the room meanwhile
	}
	if !isThere {
		return ended(ctx, local(BufferFull, "%s", connection.because("there was no room for another event in time")))
	}
	return connection.insert(made)
}

func (c *Client) wait(ctx context.Context, made *call) (json.RawMessage, error) {
	select {
	case <-made.done:
	case <-ctx.Done():
		c.connection.mutex.Lock()
		failure := c.connection.failure()
		c.connection.mutex.Unlock()
		c.connection.abandon(made)
		if !made.isDone() {
			return nil, ended(ctx, failure)
		}
	}
	if made.err != nil {
		return nil, made.err
	}
	return made.result, nil
}

// ended returns the error of a call that its context ends.
func ended(ctx context.Context, failure *Error) error {
	err := ctx.Err()
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("headgate: %w", err)
	}
	if failure != nil {
		return &Error{Reason: failure.Reason, Message: failure.Message, cause: err}
	}
	return &Error{Reason: TimedOut, Message: "no answer came in time", cause: err}
}
