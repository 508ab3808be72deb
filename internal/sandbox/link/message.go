package link

import (
	"encoding/json"
	"fmt"

	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// The messages that only a far end needs, beside those of package wire: where the kernel
// is shared the supervisor does this itself.
const (
	Probe    wire.Kind = "probe"    // far: what one probe saw, before walls
	Saw      wire.Kind = "saw"      // far: what its witness saw from outside, before walls
	Answered wire.Kind = "answered" // far: to an Ask
	End      wire.Kind = "end"      // near: kill everything inside
)

// Message is one message on a stream of Control, Exec or Ask. Only the fields of its kind are
// set.
type Message struct {
	Kind     wire.Kind         `json:"kind"`
	Keyring  int               `json:"keyring,omitempty"`  // walls
	Seen     *wire.Observation `json:"seen,omitempty"`     // probe
	Outside  *Fact             `json:"outside,omitempty"`  // saw
	Answer   *Answer           `json:"answer,omitempty"`   // answered
	Signal   int               `json:"signal,omitempty"`   // signal
	Terminal *TerminalSize     `json:"terminal,omitempty"` // size
	Status   int               `json:"status,omitempty"`   // exit
	Printed  *Printed          `json:"printed,omitempty"`  // exit
	Failure  *wire.Failure     `json:"failure,omitempty"`  // failed
}

// TerminalSize is that of a terminal.
type TerminalSize struct {
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

// Printed is how many bytes a process had printed when it ended. Others may still print to
// the same.
type Printed struct {
	Out      int64 `json:"out,omitempty"`
	Err      int64 `json:"err,omitempty"`
	Terminal int64 `json:"terminal,omitempty"`
}

func (p *Printed) whole() bool { return p == nil || min(p.Out, p.Err, p.Terminal) >= 0 }

// Fact is one thing that was seen.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Answer is what was asked for.
type Answer struct {
	Ports   []uint16 `json:"ports,omitempty"`   // listening
	PID     int      `json:"pid,omitempty"`     // owner, as it is inside
	Command string   `json:"command,omitempty"` // owner
}

// Bounds of what is told.
const (
	MaxPorts   = 1024
	maxName    = 64
	maxCommand = 64
	maxPID     = 1 << 22 // the kernel's
)

func (a *Answer) whole() bool {
	return a != nil && len(a.Ports) <= MaxPorts && a.PID >= 0 && a.PID <= maxPID && len(a.Command) <= maxCommand
}

// senders says which side sends a message, and empties the fields that it may have.
var senders = map[wire.Kind]struct {
	from  Role
	empty func(*Message) (whole bool)
}{
	wire.Go:     {Near, nil},
	End:         {Near, nil},
	wire.Signal: {Near, func(m *Message) bool { n := m.Signal; m.Signal = 0; return n > 0 && n <= 64 }},
	wire.Size:   {Near, func(m *Message) bool { t := m.Terminal; m.Terminal = nil; return t != nil }},
	wire.Walls:  {Far, func(m *Message) bool { m.Keyring = 0; return true }},
	Probe:       {Far, func(m *Message) bool { o := m.Seen; m.Seen = nil; return o != nil && o.Probe != "" }},
	Saw: {Far, func(m *Message) bool {
		f := m.Outside
		m.Outside = nil
		return f != nil && f.Name != "" && len(f.Name) <= maxName
	}},
	Answered:     {Far, func(m *Message) bool { a := m.Answer; m.Answer = nil; return a.whole() }},
	wire.PTY:     {Far, nil},
	wire.Started: {Far, nil},
	wire.Stopped: {Far, nil},
	wire.Exit: {Far, func(m *Message) bool {
		n, p := m.Status, m.Printed
		m.Status, m.Printed = 0, nil
		return n >= 0 && n <= 0xffff && p.whole()
	}},
	wire.Failed: {Far, func(m *Message) bool { f := m.Failure; m.Failure = nil; return f != nil && f.Step != "" }},
}

// check refuses a message that the given side does not send, or with other fields than
// its kind has.
func (m Message) check(from Role) error {
	s, ok := senders[m.Kind]
	if !ok || s.from != from {
		return fmt.Errorf("the %v sends no message %q", from, m.Kind)
	}
	whole := s.empty == nil || s.empty(&m)
	if !whole || m != (Message{Kind: m.Kind}) {
		return fmt.Errorf("message %q: wrong fields", m.Kind)
	}
	return nil
}

// Send writes m to a stream of messages.
func Send(s *Stream, m Message) error {
	err := m.check(s.link.role)
	var b []byte
	if err == nil {
		b, err = json.Marshal(m)
	}
	if err == nil {
		_, err = s.Write(b)
	}
	return err
}

// Receive reads a message. One that the other side may not send ends the link: it is
// as wrong as a frame that it may not send.
func Receive(s *Stream) (Message, error) {
	b := make([]byte, MaxMessage)
	n, err := s.Read(b)
	if err != nil {
		return Message{}, err
	}
	m, err := decodeMessage(s.link.role.other(), b[:n])
	if err != nil {
		err = s.link.broken(err)
	}
	return m, err
}

func decodeMessage(from Role, body []byte) (Message, error) {
	var m Message
	err := decodeExact(body, &m)
	if err == nil {
		err = m.check(from)
	}
	if err != nil {
		return Message{}, fmt.Errorf("%w: %w", WrongMessage, err)
	}
	return m, nil
}
