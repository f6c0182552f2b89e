package headgate

import (
	"bytes"
	"encoding/json"
)

// call is a request that is neither answered nor given up. Its number is the request's id on every connection.
type call struct {
	method     string
	params     any
	repeatable bool // whether it may be written again after a connection broke under it
	bound      bool // about what the present connection has: on another one it would mean something else
	number     uint64
	line       []byte
	written    bool // on the present connection, and not answered
	standing   *standing

	done   chan struct{} // closed when there is a result or an error
	result json.RawMessage
	err    *Error
}

// standing is what a call has that is made again on each connection, since what it asks for lasts as long as one.
type standing struct {
	granted    bool // on the present connection
	wasGranted bool // ever: its caller has been told
	interrupt  func()
	ended      func(*Error)
	leave      func() *call // makes the call that gives it back
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

// encode writes it down under its number, so that a later change of what was given does not matter.
func (c *call) encode(number uint64) error {
	message := struct {
		Version string `json:"jsonrpc"`
		ID      uint64 `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", number, c.method, c.params}
	line, err := encode(message)
	c.number, c.line = number, line
	return err
}

// encode gives a value as a line.
func encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return buffer.Bytes(), err
}

// depth is how deep arrays and objects of a JSON text are nested.
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

// limits is what the daemon takes at most. It answers a line beyond these without the request's id, so they are kept here.
type limits struct{ lineBytes, depth int }

var usualLimits = limits{1_048_576, 64}

func readLimits(greeting json.RawMessage) limits {
	found := struct {
		Limits struct {
			LineBytes *int `json:"max_line_bytes"`
			Depth     *int `json:"max_depth"`
		}
	}{}
	said := usualLimits
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

// fault says why a call cannot be sent; nil if it can.
func (l limits) fault(c *call) *Error {
	if len(c.line)-1 > l.lineBytes {
		err := local(LineTooLong, "the message is longer than the %d bytes that the daemon takes", l.lineBytes)
		err.Code = -32000
		return err
	}
	if depth(c.line) > l.depth {
		err := local(Limit, "nested deeper than the %d levels that the daemon takes", l.depth)
		err.Code = -32000
		return err
	}
	return nil
}
