package link

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// Role is a side of a link.
type Role uint8

// The two sides. The near end decides: it opens every stream but those of Conn.
const (
	Near Role = 1 + iota
	Far
)

func (r Role) other() Role { return Near + Far - r }

func (r Role) String() string { return [...]string{Near: "near end", Far: "far end"}[r] }

// Header says what a stream is for. Its type is the kind of the stream.
type Header interface {
	traits() traits
	check() error
}

// traits are what the link has to know of a stream.
type traits struct {
	kind     uint8
	messages bool    // each Write is one message, and each Read
	many     bool    // there may be thousands like it
	data     [3]bool // by role: who may send data
}

var (
	both   = [3]bool{Near: true, Far: true}
	toFar  = [3]bool{Near: true}
	toNear = [3]bool{Far: true}
)

// Conn is a connection that the network of the sandbox made.
type Conn struct {
	Port string         `json:"port"` // at which listener it arrived, as the plan names it
	From netip.AddrPort `json:"from"`
	To   netip.AddrPort `json:"to"` // where it was going
}

// Datagrams are those of one listener. Each message is a datagram behind the address of
// its sender, and each answer one behind the address that it goes to: see [Packets].
type Datagrams struct {
	Port string `json:"port"`
}

// Dial is a connection to a server inside. The far end sends the one byte [Connected],
// and then what the server sends; it resets the stream as Refused if nobody listens.
type Dial struct {
	Port uint16 `json:"port"`
}

// Connected begins what the far end sends on a stream of Dial.
const Connected = 1

// Control carries the messages about the sandbox and its agent, process 0.
type Control struct{}

// Plan carries an encoded plan, to the end of data.
type Plan struct{}

// Exec starts a command in the sandbox, and carries the messages about it.
type Exec struct {
	Process uint32       `json:"process"` // a number of the near end's choice; 0 is the agent
	Command wire.Command `json:"command"`
}

// Stdio carries one descriptor of a process.
type Stdio struct {
	Process uint32 `json:"process"`
	Of      string `json:"of"` // one of the names below
}

// The descriptors of a process. A process has a terminal or some of the others.
const (
	Terminal, Stdin, Stdout, Stderr = "terminal", "in", "out", "err"
)

// Lay carries what a layer begins with, to the end of data, in the form of package upper.
// The layers of a plan come in their order.
type Lay struct {
	Layer uint16 `json:"layer"`
}

// Overlay carries what waits for review in a layer, in the same form. The far end resets
// the stream as Failed if it cannot be read.
type Overlay struct {
	Layer uint16 `json:"layer"`
	Have  uint32 `json:"have"`  // the number of what the near end has; 0: nothing
	Whole bool   `json:"whole"` // files are compared by content
}

// Put writes a file into a layer: the data of a late mask. The far end answers with one
// byte that says what became of it, and resets the stream as Failed if it cannot be.
type Put struct {
	Path []byte `json:"path"`
}

// Ask is a question about the sandbox. The far end answers with one message, and both end
// the stream.
type Ask struct {
	What string         `json:"what"` // one of the names below
	From netip.AddrPort `json:"from"` // owner
	To   netip.AddrPort `json:"to"`   // owner
}

// What can be asked.
const (
	Listening = "listening" // at which ports somebody inside listens
	Owner     = "owner"     // who made a connection
	Freeze    = "freeze"    // stop everything inside
	Thaw      = "thaw"      // and let it go on
	Settle    = "settle"    // write everything to the disk, and say what was ever lost on the way
)

const (
	smallHeader = 512     // of every kind that names no path or command
	pathHeader  = 8 << 10 // a path has 4096 bytes at most, and base64 is longer
	maxPath     = 4095
	maxPortName = 64
)

func (Conn) traits() traits      { return traits{1, false, true, both} }
func (Datagrams) traits() traits { return traits{2, true, false, both} }
func (Dial) traits() traits      { return traits{3, false, true, both} }
func (Control) traits() traits   { return traits{4, true, false, both} }
func (Plan) traits() traits      { return traits{5, false, false, toFar} }
func (Exec) traits() traits      { return traits{6, true, false, both} }
func (Overlay) traits() traits   { return traits{8, false, false, toNear} }
func (Put) traits() traits       { return traits{9, false, false, both} }

func (Ask) traits() traits { return traits{10, true, false, toNear} }
func (Lay) traits() traits { return traits{11, false, false, toFar} }

func (s Stdio) traits() traits {
	data := both
	switch s.Of {
	case Stdin:
		data = toFar
	case Stdout, Stderr:
		data = toNear
	}
	return traits{7, false, false, data}
}

// kinds says who may open a stream of each kind, and how its header is read.
var kinds = [...]struct {
	opener Role
	most   int // bytes of the header
	decode func([]byte) (Header, error)
}{
	1: {Far, smallHeader, decodeAs[Conn]},
	2: {Near, smallHeader, decodeAs[Datagrams]},
	3: {Near, smallHeader, decodeAs[Dial]},
	4: {Near, smallHeader, decodeAs[Control]},
	5: {Near, smallHeader, decodeAs[Plan]},
	6: {Near, maxBody - 1, decodeAs[Exec]},
	7: {Near, smallHeader, decodeAs[Stdio]},
	8: {Near, smallHeader, decodeAs[Overlay]},
	9: {Near, pathHeader, decodeAs[Put]},

	10: {Near, smallHeader, decodeAs[Ask]},
	11: {Near, smallHeader, decodeAs[Lay]},
}

func (c Conn) check() error {
	for _, a := range []netip.AddrPort{c.From, c.To} {
		if !a.IsValid() || a.Addr().Zone() != "" || a.Addr().Is4In6() {
			return errors.New("an address that no connection has")
		}
	}
	return checkPort(c.Port)
}

func (d Datagrams) check() error { return checkPort(d.Port) }

func (d Dial) check() error {
	if d.Port == 0 {
		return errors.New("port 0")
	}
	return nil
}

func (Control) check() error { return nil }
func (Plan) check() error    { return nil }
func (Overlay) check() error { return nil }
func (Lay) check() error     { return nil }

func (e Exec) check() error {
	if e.Process == 0 || len(e.Command.Argv) == 0 || e.Command.TTY > 7 {
		return errors.New("a command that is not whole")
	}
	return checkBytes(append(append([][]byte{e.Command.Dir}, e.Command.Argv...), e.Command.Env...)...)
}

func (s Stdio) check() error {
	switch s.Of {
	case Terminal, Stdin, Stdout, Stderr:
		return nil
	}
	return errors.New("a descriptor of another name")
}

func (p Put) check() error {
	if len(p.Path) == 0 || p.Path[0] != '/' || len(p.Path) > maxPath {
		return errors.New("a path that is not absolute, or too long")
	}
	return checkBytes(p.Path)
}

func (a Ask) check() error {
	switch a.What {
	case Listening, Freeze, Thaw, Settle:
		if a.From.IsValid() || a.To.IsValid() {
			return errors.New("a question with an address too many")
		}
		return nil
	case Owner:
		return Conn{Port: Owner, From: a.From, To: a.To}.check()
	}
	return errors.New("a question of another name")
}

func checkPort(name string) error {
	if name == "" || len(name) > maxPortName {
		return errors.New("the name of a port is empty or too long")
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c > '~' {
			return errors.New("the name of a port has a strange character")
		}
	}
	return nil
}

// checkBytes refuses what the kernel would cut off.
func checkBytes(all ...[]byte) error {
	for _, b := range all {
		if bytes.IndexByte(b, 0) >= 0 {
			return errors.New("a zero byte")
		}
	}
	return nil
}

// encodeHeader is the body of the frame by which the given side opens a stream.
func encodeHeader(from Role, h Header) ([]byte, error) {
	k := kinds[h.traits().kind]
	b, err := json.Marshal(h)
	switch {
	case k.opener != from:
		err = fmt.Errorf("the %v opens no such stream", from)
	case err == nil && len(b) > k.most:
		err = fmt.Errorf("%d bytes, at most %d can be sent", len(b), k.most)
	case err == nil:
		err = h.check()
	}
	if err != nil {
		return nil, fmt.Errorf("header of a stream: %w", err)
	}
	return append([]byte{h.traits().kind}, b...), nil
}

// decodeHeader is its inverse.
func decodeHeader(from Role, body []byte) (Header, error) {
	n := int(body[0])
	if n == 0 || n >= len(kinds) {
		return nil, fmt.Errorf("%w: %d", WrongKind, n)
	}
	k := kinds[n]
	switch body = body[1:]; {
	case k.opener != from:
		return nil, fmt.Errorf("%w: a stream of kind %d", WrongSide, n)
	case len(body) > k.most:
		return nil, fmt.Errorf("%w: %d bytes", WrongHeader, len(body))
	}
	return k.decode(body)
}

func decodeAs[H Header](body []byte) (Header, error) {
	var h H
	err := decodeExact(body, &h)
	if err == nil {
		err = h.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", WrongHeader, err)
	}
	return h, nil
}

// decodeExact reads JSON that is to the byte what we would write ourselves. That leaves
// no room for names that are unknown, stand twice or differ by case, nor for white
// space, other escapes or bytes that follow.
func decodeExact(body []byte, to any) error {
	if err := json.Unmarshal(body, to); err != nil {
		return err
	}
	again, err := json.Marshal(to)
	if err == nil && !bytes.Equal(body, again) {
		err = errors.New("it is not in the one form that it has")
	}
	return err
}
