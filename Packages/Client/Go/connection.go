package headgate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"
)

type phase int

const (
	idle     phase = iota // not connected, and nothing to send
	seeking               // connecting, greeting, or waiting for the next attempt
	open                  // calls are written as they come
	draining              // this link is about to end: written calls and the daemon's requests are answered, no call is written
	closed                // for good
)

const (
	longestAnswer = 256 << 20
	// The time after its timeout that Close waits for the last output and for the program's hooks.
	lastWrite = 20 * time.Millisecond
)

// connection decides when to connect, what to write, what to write again, and which outcome each call has.
//
// A repeatable call is not lost with a connection: it is written again on the next one, in the same order and under the same id.
// One goroutine, keep, connects and reads; one for each link writes. The mutex guards all state.
type connection struct {
	options     Options
	hello       []byte
	takeRequest func(link *link, method string, id, params json.RawMessage)

	mutex        sync.Mutex
	phase        phase
	calls        map[uint64]*call
	queue        []*call // to be written, in this order
	heldBytes    int
	unanswered   int
	underWay     int // calls without the standing ones
	reserved     int // calls that are being encoded, and have room already
	lastNumber   uint64
	limits       limits
	backoff      backoff
	wasConnected bool
	givenUp      int // dropped events of TrackSoon and TryTrack
	lastFailure  *Error
	state        State
	hasWarned    bool
	hasRelearned bool // true if the limits were learned again since a call was last answered
	hooks        hooks
	link         *link
	isLeaving    bool
	changed      chan struct{} // closed whenever a call has ended; made by a goroutine that waits for that
	closing      chan struct{}
	running      sync.WaitGroup
}

// link is one connection to the daemon.
type link struct {
	stream net.Conn
	wake   chan struct{} // has a value when there is output, or the link is about to end
	output []byte
	isOver bool // true if the link ends once its output is written
	owed   int  // requests of the daemon that are not answered
	// true if the client leaves it because the daemon's limits have changed
	isRelearning bool
}

func newConnection(hello []byte, options Options) *connection {
	return &connection{
		options: options, hello: hello, limits: defaultLimits, calls: map[uint64]*call{}, closing: make(chan struct{}),
		backoff: backoff{base: options.BackoffBase, cap: options.BackoffCap},
	}
}

// MARK: From any goroutine

func (c *connection) hasRoom() bool {
	return len(c.calls)+c.reserved < c.options.MaxUnanswered && c.heldBytes < c.options.MaxUnansweredBytes
}

// prepare encodes a call without the mutex, also where that panics or ends its goroutine.
func (c *connection) prepare(made *call) error {
	c.reserved++
	c.mutex.Unlock()
	defer func() {
		c.mutex.Lock()
		c.reserved--
		c.notify()
	}()
	return made.prepare()
}

// insert adds a prepared call to the table and the queue. The caller holds the mutex.
func (c *connection) insert(made *call) error {
	if c.phase == closed || c.isLeaving {
		return local(Closed, "the client is closed")
	}
	c.lastNumber++
	made.setNumber(c.lastNumber)
	c.calls[made.number] = made
	c.heldBytes += len(made.line)
	if made.standing == nil {
		c.underWay++
	}
	c.queue = append(c.queue, made)
	if c.phase == idle {
		c.phase = seeking
		c.running.Add(1)
		go c.keep()
	}
	c.proceed()
	return nil
}

// until waits for a condition, and checks it whenever a call has ended. The caller holds the mutex, which is unlocked meanwhile.
func (c *connection) until(condition func() bool, stop <-chan struct{}) bool {
	for !condition() {
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		changed := c.changed
		c.mutex.Unlock()
		select {
		case <-changed:
			c.mutex.Lock()
		case <-stop:
			c.mutex.Lock()
			return condition()
		}
	}
	return true
}

// abandon cancels a call, unless it was answered at the last moment. A subscription that the daemon may still grant is ended at
// once, which does not affect later requests: the daemon handles requests in order.
func (c *connection) abandon(made *call) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if made.isDone() {
		return
	}
	if made.standing != nil && made.written {
		leaving := made.standing.leave()
		_ = leaving.prepare() // a text can be encoded
		_ = c.insert(leaving) // fails only where the connection is about to end
	}
	c.remove(made)
	c.proceed()
}

// withdraw no longer requests a subscription, and fails the call that waits for it. It returns whether it is requested on the
// present connection, and whether it was granted there.
func (c *connection) withdraw(made *call) (isAsked, isGranted bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	isAsked, isGranted = made.written, made.standing.granted
	c.remove(made)
	made.standing.granted = false
	if !made.isDone() {
		made.err = local(Closed, "the program ended the service before the daemon granted it")
		close(made.done)
	}
	c.proceed()
	return isAsked, isGranted
}

// answer writes the answer to a request of the daemon, unless the connection of the request is gone. It replaces an answer that
// is longer or deeper than the daemon takes by an error.
func (c *connection) answer(to *link, id json.RawMessage, line []byte) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	to.owed--
	if to != c.link {
		return
	}
	if fault := c.limits.fault(line); fault != nil {
		c.log("headgate: the answer of a worker is not sent: %s", fault.Message)
		line = failed(id, "the answer: "+fault.Message)
	}
	to.write(line)
	c.proceed()
}

// left returns the number of unanswered calls, and the number of unacknowledged events of TrackSoon and TryTrack: pending ones, and
// those dropped since left was last called.
func (c *connection) left() (all, soon int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	soon = c.givenUp + c.soon()
	c.givenUp = 0
	return c.underWay, soon
}

func (c *connection) soon() (count int) {
	for _, made := range c.calls {
		if made.isSoon {
			count++
		}
	}
	return count
}

// close ends all calls and the connection. Calls that were written are still sent, until the context ends.
func (c *connection) close(ctx context.Context) {
	until := time.Now().Add(lastWrite)
	if ctx.Err() == nil {
		until = time.Now().Add(longestWrite)
	}
	if end, isBound := ctx.Deadline(); isBound && end.Before(until) && end.After(time.Now().Add(lastWrite)) {
		until = end
	}
	c.mutex.Lock()
	if c.phase != closed {
		if c.link != nil {
			c.link.end()
			c.link.stream.SetWriteDeadline(until)
		}
		c.link = nil
		c.phase = closed
		c.tell(StateClosed, nil)
		close(c.closing)
		c.failAll(local(Closed, "the client is closed"))
		c.notify()
	}
	c.mutex.Unlock()
	c.running.Wait()
	c.hooks.wait(until)
}

// MARK: Reports to the program; with the mutex

func (c *connection) log(format string, arguments ...any) {
	c.hooks.add(func() { c.options.Logf(format, arguments...) })
}

func (c *connection) tell(state State, err *Error) {
	if c.state == state {
		return
	}
	c.state = state
	c.hooks.add(func() {
		if err == nil {
			c.options.OnState(state, nil) // not a nil *Error, which would be an error
		} else {
			c.options.OnState(state, err)
		}
	})
}

// missing reports that a connection is wanted and cannot be made. It is logged once until a call is answered again.
func (c *connection) missing(err *Error) {
	c.lastFailure = err
	c.tell(StateDisconnected, err)
	if !c.hasWarned {
		c.hasWarned = true
		c.log("%s", err.Error())
	}
}

// failure returns why there is no connection, or nil if there is one.
func (c *connection) failure() *Error {
	if c.phase == open || c.phase == draining {
		return nil
	}
	return c.lastFailure
}

// because returns a text, followed by the reason if there is no connection.
func (c *connection) because(text string) string {
	if failure := c.failure(); failure != nil {
		return text + ": " + failure.Message
	}
	return text
}

// MARK: The goroutines

// keep connects, reads, and reconnects as long as there are calls.
func (c *connection) keep() {
	defer c.running.Done()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	patience := c.options.ConnectTimeout
	if c.wasConnected {
		patience = c.options.ReconnectTimeout
	}
	c.backoff.begin(patience)
	for c.phase != closed {
		if len(c.calls) == 0 {
			c.rest()
			return
		}
		c.mutex.Unlock()
		found, reader, err := c.connect()
		if found != nil {
			err = c.serve(found, reader)
		}
		c.mutex.Lock()
		if c.phase == closed || !c.retry(err) {
			return
		}
	}
}

// retry waits for the next attempt. Returns false if there is none.
func (c *connection) retry(err *Error) bool {
	if err.Reason == Disconnected || err.Reason == BadAnswer {
		c.lastFailure = err
		c.tell(StateDisconnected, err)
	} else {
		c.missing(err)
	}
	var refused *refusedGreeting
	// A client that was connected once waits: while a daemon starts again its folder may be shut for a moment.
	if errors.As(err.cause, &refused) || err.isFault && !c.wasConnected {
		c.giveUp(err)
		return false
	}
	c.backoff.failures++
	if len(c.calls) == 0 {
		c.rest()
		return false
	}
	c.backoff.begin(c.options.ReconnectTimeout)
	if c.backoff.isOver() {
		c.giveUp(err)
		return false
	}
	timer := time.NewTimer(c.backoff.wait())
	defer timer.Stop()
	c.mutex.Unlock()
	defer c.mutex.Lock()
	select {
	case <-timer.C:
	case <-c.closing:
	}
	return true
}

func (c *connection) rest() {
	c.phase = idle
	c.backoff.rest()
}

// refusedGreeting marks a refusal of the greeting that waiting does not help.
type refusedGreeting struct{}

func (*refusedGreeting) Error() string { return "refused" }

// connect returns a link on which the daemon has answered the greeting, or the error.
func (c *connection) connect() (*link, *bufio.Reader, *Error) {
	if strings.IndexByte(c.options.SocketPath, 0) >= 0 { // the kernel would use the part before the NUL
		failure := c.cannotConnect("the path contains a NUL byte")
		failure.isFault = true
		return nil, nil, failure
	}
	until := time.Now().Add(c.options.GreetingTimeout)
	stream, err := (&net.Dialer{Deadline: until}).Dial("unix", c.options.SocketPath)
	if err != nil {
		failure := c.cannotConnect(saying(err))
		failure.isFault = isPermanent(err)
		return nil, nil, failure
	}
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-c.closing:
			stream.SetDeadline(time.Unix(1, 0))
		case <-stop:
		}
	}()
	stream.SetDeadline(until)
	reader := bufio.NewReaderSize(stream, 1<<16)
	greeting, failure := c.greet(stream, reader)
	if failure != nil {
		stream.Close()
		return nil, nil, failure
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.phase == closed {
		stream.Close()
		return nil, nil, local(Closed, "the client is closed")
	}
	stream.SetDeadline(time.Time{})
	c.limits = readLimits(greeting)
	// The connect timeout counts for the first connection only.
	if !c.wasConnected {
		c.backoff.rest()
	}
	c.wasConnected, c.lastFailure, c.phase = true, nil, open
	c.link = &link{stream: stream, wake: make(chan struct{}, 1)}
	c.tell(StateConnected, nil)
	return c.link, reader, nil
}

func (c *connection) greet(stream net.Conn, reader *bufio.Reader) (json.RawMessage, *Error) {
	if _, err := stream.Write(c.hello); err != nil {
		return nil, c.cannotConnect(saying(err))
	}
	for {
		line, err := readLine(reader)
		if err != nil {
			return nil, c.cannotConnect(saying(err))
		}
		messages, failure := readMessages(line)
		if failure != nil {
			return nil, failure
		}
		for _, one := range messages {
			switch {
			case one.method == "closing" && one.id == nil:
				return nil, c.foundStopping("the daemon is stopping")
			case one.method != "":
			case one.failure != nil && (one.number == nil || *one.number == 0):
				return nil, c.greetingRefused(one.failure)
			case one.failure == nil && *one.number == 0:
				return one.result, nil
			}
		}
	}
}

func (c *connection) greetingRefused(err *Error) *Error {
	switch err.Reason {
	case ShuttingDown:
		return c.foundStopping(err.Message)
	case Limit:
		return c.cannotConnect(err.Message)
	}
	err.cause = &refusedGreeting{}
	return err
}

// foundStopping notes that a daemon is stopping. Calls wait for it as if the connection had been lost, because it may be restarting.
func (c *connection) foundStopping(cause string) *Error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.wasConnected {
		c.backoff.rest()
	}
	c.wasConnected = true
	return c.cannotConnect(cause)
}

func (c *connection) cannotConnect(cause string) *Error {
	return local(CannotConnect, "cannot connect to %s: %s", c.options.SocketPath, cause)
}

// saying returns the text for an error of the socket.
func saying(err error) string {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "no such socket"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "connected, but the daemon does not answer"
	case errors.Is(err, syscall.EINVAL):
		return "the path is too long for a socket"
	}
	var failure *net.OpError
	if errors.As(err, &failure) {
		return failure.Err.Error()
	}
	return "the daemon closed the connection"
}

// isPermanent returns true for an error of the socket that stays until somebody changes the path or the rights.
func isPermanent(err error) bool {
	for _, one := range []error{
		syscall.EACCES, syscall.EPERM, syscall.EINVAL, syscall.ENAMETOOLONG, syscall.ENOTDIR, syscall.ELOOP,
		syscall.EPROTOTYPE, syscall.ENOTSOCK, syscall.EAFNOSUPPORT,
	} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// serve writes and reads until the link ends, and returns the reason.
func (c *connection) serve(present *link, reader *bufio.Reader) *Error {
	c.running.Add(1)
	go c.writeOut(present)
	c.mutex.Lock()
	c.proceed()
	c.mutex.Unlock()
	broken := local(Disconnected, "the connection was lost before the answer came")
	for {
		line, err := readLine(reader)
		var failure *Error
		if errors.Is(err, errTooLong) {
			failure = nonsense("a line has more than %d bytes", longestAnswer)
		} else if err != nil {
			return c.lose(present, broken, false)
		}
		var messages []message
		if failure == nil {
			messages, failure = readMessages(line)
		}
		if failure == nil {
			failure = c.take(present, messages)
		}
		if failure != nil {
			return c.lose(present, failure, true)
		}
	}
}

func (c *connection) writeOut(present *link) {
	defer c.running.Done()
	defer present.stream.Close()
	for range present.wake {
		c.mutex.Lock()
		output, isOver := present.output, present.isOver
		present.output = nil
		c.mutex.Unlock()
		// A failed write is noticed by reading, after the daemon's last messages.
		if len(output) > 0 {
			present.stream.Write(output)
		}
		if isOver {
			return
		}
	}
}

// lose notes that the link is gone, and takes back the calls that can be written again, in their order.
func (c *connection) lose(present *link, err *Error, isNonsense bool) *Error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	present.end()
	if c.link != present {
		return err
	}
	c.link = nil
	c.phase = seeking
	for _, made := range c.inOrder() {
		if made.standing != nil && made.standing.granted {
			made.standing.granted = false
			made.standing.interrupt()
		}
		// The client cannot tell which call a malformed message is about: repeating the written calls might cause the same without end.
		if made.bound || made.written && (isNonsense || !made.repeatable) {
			c.finish(made, nil, err)
		} else {
			c.unmark(made)
		}
	}
	c.queue = c.inOrder()
	return err
}

func (c *connection) inOrder() []*call {
	calls := make([]*call, 0, len(c.calls))
	for _, made := range c.calls {
		calls = append(calls, made)
	}
	sort.Slice(calls, func(a, b int) bool { return calls[a].number < calls[b].number })
	return calls
}

func (l *link) write(line []byte) {
	l.output = append(l.output, line...)
	l.notify()
}

// longestWrite is the time that a link that ends waits for a daemon that does not read. A test makes it longer.
var longestWrite = time.Second

func (l *link) end() {
	l.isOver = true
	l.stream.SetWriteDeadline(time.Now().Add(longestWrite))
	l.notify()
}

func (l *link) notify() {
	select {
	case l.wake <- struct{}{}:
	default: // the writer has a wake-up pending
	}
}

// proceed writes queued calls, or ends a link that has nothing left to write or answer.
func (c *connection) proceed() {
	if c.phase == draining && (c.unanswered == 0 || c.link.isRelearning) && c.link.owed == 0 && !c.link.isOver {
		c.link.end()
	}
	if c.phase != open {
		return
	}
	for _, made := range c.queue {
		isGranted := made.standing != nil && made.standing.granted
		if c.calls[made.number] != made || made.written || isGranted {
			continue
		}
		if err := c.limits.fault(made.line); err != nil {
			c.finish(made, nil, err)
			continue
		}
		made.written = true
		c.unanswered++
		c.link.write(made.line)
	}
	c.queue = nil
}

// MARK: Messages of the daemon

func (c *connection) take(present *link, messages []message) *Error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, one := range messages {
		if c.link != present {
			return nil
		}
		switch {
		case one.method != "" && one.id != nil:
			c.takeRequest(present, one.method, one.id, one.params)
		case one.method == "closing" && c.phase == open:
			c.phase = draining
		case one.method != "":
		case one.number == nil:
			if !c.relearn(present, one.failure) {
				return nonsense("%s", one.failure.Message)
			}
		default:
			c.answered(present, one)
		}
	}
	c.proceed()
	return nil
}

// relearn leaves a link whose daemon takes less than its greeting said: the next greeting has the new limits. The client
// answers the daemon's requests first. Returns false if that happened before without an answer in between.
func (c *connection) relearn(present *link, err *Error) bool {
	isLimit := err.Reason == LineTooLong || err.Reason == Limit
	if present.isRelearning || !isLimit || c.hasRelearned {
		return present.isRelearning
	}
	present.isRelearning, c.hasRelearned = true, true
	c.phase = draining
	return true
}

// succeed notes that a call was answered.
func (c *connection) succeed(present *link) {
	c.backoff.succeed()
	c.hasWarned = false
	if !present.isRelearning {
		c.hasRelearned = false
	}
}

func (c *connection) answered(present *link, one message) {
	made := c.calls[*one.number]
	if made == nil || !made.written {
		return // its caller no longer waits
	}
	if one.failure != nil {
		c.refused(present, made, one.failure)
		return
	}
	c.succeed(present)
	if !isObject(one.result) {
		c.finish(made, nil, local(BadAnswer, "the result of %s is not an object", made.method))
		return
	}
	if made.standing == nil {
		c.finish(made, one.result, nil)
		return
	}
	c.unmark(made)
	made.standing.granted, made.standing.isRefused = true, false
	if !made.standing.wasGranted {
		made.standing.wasGranted = true
		made.result = one.result
		close(made.done)
	}
}

func (c *connection) refused(present *link, made *call, err *Error) {
	if err.Reason == ShuttingDown && made.repeatable {
		c.unmark(made)
		c.phase = draining
		return
	}
	c.succeed(present)
	if made.standing == nil || !made.standing.wasGranted {
		c.finish(made, nil, err)
		return
	}
	// After a conflict no refusal is reported: the daemon may not have noticed yet that the earlier connection is gone.
	if err.Reason != Conflict && !made.standing.isRefused {
		made.standing.isRefused = true
		made.standing.refused(err)
	}
	c.unmark(made)
	time.AfterFunc(c.options.BackoffCap, func() { c.askAgain(present, made) })
}

func (c *connection) askAgain(present *link, made *call) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.link == present {
		c.queue = append(c.queue, made)
		c.proceed()
	}
}

// MARK: Outcomes of calls

func (c *connection) unmark(made *call) {
	if made.written {
		made.written = false
		c.unanswered--
	}
}

func (c *connection) remove(made *call) {
	if c.calls[made.number] != made {
		return
	}
	delete(c.calls, made.number)
	c.unmark(made)
	c.heldBytes -= len(made.line)
	if made.standing == nil {
		c.underWay--
	}
	// Cancelled calls must not be remembered while there is no daemon.
	if c.phase == seeking && len(c.queue) > 2*len(c.calls)+1024 {
		c.queue = c.inOrder()
	}
	c.notify()
}

func (c *connection) finish(made *call, result json.RawMessage, err *Error) {
	if c.calls[made.number] != made {
		return
	}
	c.remove(made)
	if made.standing != nil && made.standing.wasGranted {
		made.standing.ended(err)
		return
	}
	made.result, made.err = result, err
	close(made.done)
}

// giveUp fails all calls. The next call tries to connect again.
func (c *connection) giveUp(err *Error) {
	c.givenUp += c.soon()
	c.rest()
	c.failAll(err)
}

func (c *connection) failAll(err *Error) {
	for _, made := range c.inOrder() {
		c.finish(made, nil, err)
	}
}

func (c *connection) notify() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// MARK: Messages

// message is a message of the daemon: a request or notification with a method, or an answer.
type message struct {
	method  string
	id      json.RawMessage // the id of a request
	params  json.RawMessage
	number  *uint64 // the number of an answered call; nil for an error that names no request
	result  json.RawMessage
	failure *Error
}

var errTooLong = errors.New("too long")

func readLine(reader *bufio.Reader) ([]byte, error) {
	line, err := reader.ReadSlice('\n')
	if err == nil {
		return line, nil
	}
	whole := append([]byte(nil), line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(whole) > longestAnswer {
			return nil, errTooLong
		}
		line, err = reader.ReadSlice('\n')
		whole = append(whole, line...)
	}
	return whole, err
}

func nonsense(format string, arguments ...any) *Error {
	return local(BadAnswer, "malformed answer from the daemon: "+format, arguments...)
}

// readMessages reads a line, which is a message, an array of messages, or blank.
func readMessages(line []byte) ([]message, *Error) {
	line = bytes.Trim(line, " \t\r\n")
	if len(line) == 0 {
		return nil, nil
	}
	var raw json.RawMessage
	if !utf8.Valid(line) || json.Unmarshal(line, &raw) != nil {
		return nil, nonsense("a line that is not JSON")
	}
	all := []json.RawMessage{raw}
	if raw[0] == '[' {
		json.Unmarshal(raw, &all)
	}
	messages := make([]message, 0, len(all))
	for _, one := range all {
		read, err := readMessage(one)
		if err != nil {
			return nil, err
		}
		messages = append(messages, read)
	}
	if len(messages) == 0 {
		return nil, nonsense("a line that is not a message")
	}
	return messages, nil
}

func readMessage(raw json.RawMessage) (message, *Error) {
	none := nonsense("a line that is not a message")
	members, isObject := object(raw)
	var version string
	if !isObject || !isString(members["jsonrpc"], &version) || version != "2.0" {
		return message{}, none
	}
	if method, hasMethod := members["method"]; hasMethod {
		found := message{id: members["id"], params: members["params"]}
		if !isString(method, &found.method) {
			return message{}, none
		}
		return found, nil
	}
	result, hasResult := members["result"]
	failed, hasFailed := members["error"]
	found := message{result: result}
	if hasFailed {
		found.failure = readError(failed)
	}
	if hasFailed == hasResult || hasFailed && found.failure == nil {
		return message{}, none
	}
	if id, hasID := members["id"]; hasID && string(id) != "null" || found.failure == nil {
		found.number = new(uint64)
		if !hasID || string(id) == "null" || json.Unmarshal(id, found.number) != nil {
			return message{}, nonsense("an answer without a request")
		}
	}
	return found, nil
}
