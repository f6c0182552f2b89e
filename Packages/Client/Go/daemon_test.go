package headgate

import (
	"bufio"
	"encoding/json"
	"net"
	"path/filepath"
	"testing"
)

// fakeDaemon is a daemon whose messages the test writes.
type fakeDaemon struct {
	test     *testing.T
	path     string
	listener net.Listener
}

// fakeConnection is a client's connection, read and written in messages.
type fakeConnection struct {
	test   *testing.T
	stream net.Conn
	reader *bufio.Reader
}

type asked struct {
	ID     any
	Method string
	Params map[string]any
	Result map[string]any
	Error  map[string]any
}

func startDaemon(t *testing.T) *fakeDaemon {
	t.Helper()
	path := filepath.Join(t.TempDir(), "d.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return &fakeDaemon{t, path, listener}
}

func (d *fakeDaemon) accept() *fakeConnection {
	d.test.Helper()
	stream, err := d.listener.Accept()
	if err != nil {
		d.test.Fatal(err)
	}
	d.test.Cleanup(func() { stream.Close() })
	return &fakeConnection{d.test, stream, bufio.NewReader(stream)}
}

// greet accepts the next connection, and answers its greeting.
func (d *fakeDaemon) greet() *fakeConnection {
	d.test.Helper()
	connection := d.accept()
	connection.answer(connection.request("hello"), map[string]any{"protocol": 1})
	return connection
}

// read returns the next message, or false if the client has closed its side.
func (c *fakeConnection) read() (asked, bool) {
	c.test.Helper()
	line, err := c.reader.ReadBytes('\n')
	if err != nil {
		return asked{}, false
	}
	var message asked
	if err := json.Unmarshal(line, &message); err != nil {
		c.test.Fatal(err)
	}
	return message, true
}

func (c *fakeConnection) request(method string) asked {
	c.test.Helper()
	message, _ := c.read()
	if message.Method != method {
		c.test.Fatalf("expected %s, got %v", method, message)
	}
	return message
}

func (c *fakeConnection) tell(message map[string]any) {
	message["jsonrpc"] = "2.0"
	line, err := encode(message)
	if err != nil {
		c.test.Fatal(err)
	}
	_, _ = c.stream.Write(line) // a client may have gone meanwhile
}

func (c *fakeConnection) answer(to asked, result map[string]any) {
	c.tell(map[string]any{"id": to.ID, "result": result})
}

func (c *fakeConnection) acknowledge(to asked) {
	c.answer(to, map[string]any{"id": to.Params["id"], "seq": 1})
}

// expectSilence checks that the client has sent nothing: its next message must be the answer to a request made now.
func (c *fakeConnection) expectSilence() {
	c.test.Helper()
	c.tell(map[string]any{"id": "are you there", "method": "no.such.method"})
	if message, _ := c.read(); message.ID != "are you there" {
		c.test.Fatalf("expected nothing, got %v", message)
	}
}
