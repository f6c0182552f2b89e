package headgate

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// call is a request that is neither answered nor cancelled. Its number is the request's id on every connection.
type call struct {
	method     string
	params     any
	repeatable bool // it may be written again after a connection broke under it
	bound      bool // valid on the present connection only
	isSoon     bool // an event of TrackSoon or TryTrack
	number     uint64
	body       []byte // the message behind its number
	line       []byte
	written    bool // true if written on the present connection and not answered
	standing   *standing

	done   chan struct{} // closed when there is a result or an error
	result json.RawMessage
	err    *Error
}

// The state of a call that is repeated on each connection, because its effect lasts as long as a connection.
type standing struct {
	granted    bool // true if granted on the present connection
	wasGranted bool // true if it was ever granted: its caller has the answer
	isRefused  bool // the daemon refused it after it was granted, and has not granted it since
	interrupt  func()
	refused    func(*Error) // called when a later connection refuses it; it is requested again
	ended      func(*Error)
	leave      func() *call // makes the call that ends it at the daemon
}

func newCall(method string, params any, repeatable bool) *call {
	return &call{method: method, params: params, repeatable: repeatable, done: make(chan struct{})}
}

func (c *call) isDone() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// prepare encodes the call, so that later changes of its params do not matter. Params may have methods of the program, so no lock
// is held meanwhile.
func (c *call) prepare() error {
	message := struct {
		Method string `json:"method"`
		Params any    `json:"params"`
	}{c.method, c.params}
	line, err := encode(message)
	if err == nil {
		c.body = line[1:] // without the opening brace
	}
	return err
}

// setNumber completes the line of a prepared call with its number.
func (c *call) setNumber(number uint64) {
	c.number = number
	c.line = append(strconv.AppendUint([]byte(`{"jsonrpc":"2.0","id":`), number, 10), ',')
	c.line = append(c.line, c.body...)
	c.body = nil
}

// encode returns a value as a line.
func encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return buffer.Bytes(), err
}

// depth returns the nesting depth of the arrays and objects of a JSON text.
func depth(text []byte) int {
	deepest, level, isInString := 0, 0, false
	for place := 0; place < len(text); place++ {
		switch letter := text[place]; {
		case isInString && letter == '\\':
			place++
		case letter == '"':
			isInString = !isInString
		case isInString:
		case letter == '[' || letter == '{':
			level++
			if level > deepest {
				deepest = level
			}
		case letter == ']' || letter == '}':
			level--
		}
	}
	return deepest
}

// limits are the daemon's limits. The client checks them, because the daemon answers a line beyond them without the request's id.
type limits struct{ lineBytes, depth int }

var defaultLimits = limits{1_048_576, 64}

func readLimits(greeting json.RawMessage) limits {
	found := struct {
		Limits struct {
			LineBytes *int `json:"max_line_bytes"`
			Depth     *int `json:"max_depth"`
		}
	}{}
	said := defaultLimits
	if json.Unmarshal(greeting, &found) != nil {
		return said
	}
	if found.Limits.LineBytes != nil {
		said.lineBytes = *found.Limits.LineBytes
	}
	if found.Limits.Depth != nil {
		said.depth = *found.Limits.Depth
	}
	return said
}

// fault returns why a line is beyond the limits, or nil.
func (l limits) fault(line []byte) *Error {
	if len(line)-1 > l.lineBytes {
		err := local(LineTooLong, "the message is longer than the %d bytes that the daemon accepts", l.lineBytes)
		err.Code = -32000
		return err
	}
	if depth(line) > l.depth {
		err := local(Limit, "nested deeper than the %d levels that the daemon accepts", l.depth)
		err.Code = -32000
		return err
	}
	return nil
}
