package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Proxy stands between an agent and one server.
type Proxy struct {
	Name string
	Book Book
	Tell func(text string) // a person; may be called by two at once
	// Refuse keeps what drifted from the agent until a person trusts it. Otherwise it
	// is only told.
	Refuse bool
	Left   func() // the agent has gone; may be nil

	mu      sync.Mutex
	waiting map[string]asked // what the agent asked and nobody answered
	watch   *watch
	told    map[string]int

	out sync.Mutex // of the agent
}

// asked is a request under way.
type asked struct {
	method string
	cursor bool // of tools/list: not the first page
}

// Bounds of one connection.
const (
	maxWaiting = 1024
	maxBad     = 64 // messages that could not be read, of one side
	maxTold    = 8  // of one kind
)

// Run carries messages until the server ends. When the agent does, the server's input
// is closed. It returns why it ended, nil for an end in order.
func (p *Proxy) Run(agent io.Reader, toAgent io.Writer, server io.Reader, toServer io.WriteCloser) error {
	p.waiting, p.told = map[string]asked{}, map[string]int{}
	var err error
	if p.watch, err = newWatch(p); err != nil {
		toServer.Close()
		return err
	}
	left, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		err := p.fromAgent(newLines(agent, MaxMessage), toAgent, toServer)
		toServer.Close()
		left <- sided("agent", err)
	}()
	go func() { ended <- sided("server", p.fromServer(newLines(server, MaxMessage), toAgent)) }()
	select {
	case err := <-ended:
		return err
	case err := <-left:
		if err != nil {
			return err
		}
	}
	if p.Left != nil {
		p.Left()
	}
	return <-ended // what it still has to say
}

// sided says whose fault an end was.
func sided(who string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("%s: %w", who, err)
}

var errBad = errors.New("too much that is no message")

// fromAgent carries what the agent says.
func (p *Proxy) fromAgent(in *lines, toAgent, toServer io.Writer) error {
	for bad := 0; ; {
		line, err := in.next()
		if err != nil {
			return err
		}
		m, err := Parse(line)
		if err != nil {
			if bad++; bad > maxBad {
				return errBad
			}
			p.tell("malformed", "the agent sent what is no message: "+err.Error())
			if err := p.answer(toAgent, failure("", codeParse, "ringfence: "+err.Error())); err != nil {
				return err
			}
			continue
		}
		if no := p.ask(m); no != nil {
			if err := p.answer(toAgent, no); err != nil {
				return err
			}
			continue
		}
		if _, err := toServer.Write(line); err != nil {
			return io.EOF // the server is gone, which its own side tells
		}
	}
}

// ask notes what the agent wants. What it returns is the answer in the server's place.
func (p *Proxy) ask(m *Message) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Method == "notifications/cancelled" {
		var c struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(m.Params, &c) == nil {
			delete(p.waiting, string(c.RequestID))
		}
	}
	if !m.IsRequest() {
		return nil
	}
	switch _, again := p.waiting[m.ID]; {
	case m.ID == "null" || again:
		return failure(m.ID, codeInvalid, "ringfence: a request needs an id of its own")
	case len(p.waiting) >= maxWaiting:
		return failure(m.ID, codeInvalid, "ringfence: too many requests wait for an answer")
	}
	a := asked{method: m.Method}
	switch m.Method {
	case "tools/list":
		a.cursor = hasCursor(m.Params)
	case "tools/call":
		if why := p.watch.blocked(); why != "" {
			return failure(m.ID, codeRefused, why)
		}
	}
	p.waiting[m.ID] = a
	return nil
}

func hasCursor(params json.RawMessage) bool {
	var top map[string]json.RawMessage
	return json.Unmarshal(params, &top) == nil && top["cursor"] != nil && string(top["cursor"]) != "null"
}

// fromServer carries what the server says.
func (p *Proxy) fromServer(in *lines, toAgent io.Writer) error {
	for bad := 0; ; {
		line, err := in.next()
		if err != nil {
			return err
		}
		m, err := Parse(line)
		if err != nil {
			if bad++; bad > maxBad {
				return errBad
			}
			p.tell("malformed", "the server sent what is no message, and it was dropped: "+err.Error())
			continue
		}
		out, ok := p.judge(m, line)
		if !ok {
			if bad++; bad > maxBad {
				return errBad
			}
			continue
		}
		if err := p.answer(toAgent, out); err != nil {
			return err
		}
	}
}

// judge decides what becomes of a message of the server's: itself, or what stands for
// it. An answer to nothing is dropped: some clients take "1" for 1, and what we did not
// look at as an answer they would.
func (p *Proxy) judge(m *Message, line []byte) (out []byte, ok bool) {
	if !m.IsResponse() {
		return line, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	a, known := p.waiting[m.ID]
	if !known {
		p.tell("unasked", "the server answered what nobody asked, and it was dropped")
		return nil, false
	}
	delete(p.waiting, m.ID)
	if m.Failure != nil {
		return line, true
	}
	var why string
	switch a.method {
	case "initialize":
		why = p.watch.greeting(m.Result)
	case "tools/list":
		why = p.watch.page(m.Result, a.cursor)
	}
	if why != "" {
		return failure(m.ID, codeRefused, why), true
	}
	return line, true
}

// answer writes one message to the agent.
func (p *Proxy) answer(to io.Writer, line []byte) error {
	p.out.Lock()
	defer p.out.Unlock()
	if _, err := to.Write(line); err != nil {
		return io.EOF
	}
	return nil
}

// tell tells a person, a few times of each kind.
func (p *Proxy) tell(kind, text string) {
	p.out.Lock()
	n := p.told[kind]
	p.told[kind]++
	p.out.Unlock()
	if n < maxTold && p.Tell != nil {
		p.Tell(text)
	}
}
