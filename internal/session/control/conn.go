package control

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Conn is a connection to a session: one request and one answer, each a line of JSON
// with descriptors beside it, and then frames, of which the first is the client's.
type Conn struct {
	*net.UnixConn
	sends sync.Mutex
}

// maxFiles bounds the descriptors beside a line.
const maxFiles = 8

// read reads one line. The descriptors are the caller's also where it fails.
func (c *Conn) read(limit int, v any) (files []*os.File, err error) {
	var line []byte
	buf, oob := make([]byte, 32<<10), make([]byte, unix.CmsgSpace(4*maxFiles))
	for !bytes.HasSuffix(line, []byte("\n")) {
		n, oobn, _, _, err := c.ReadMsgUnix(buf, oob)
		// Where it fails, both may be negative.
		files = append(files, received(oob[:max(oobn, 0)])...)
		line = append(line, buf[:max(n, 0)]...)
		switch {
		case err == nil && n == 0 || errors.Is(err, io.EOF):
			return files, fmt.Errorf("control socket: %w", io.ErrUnexpectedEOF)
		case err != nil:
			return files, fmt.Errorf("control socket: %w", err)
		case len(line) > limit || len(files) > maxFiles:
			return files, fmt.Errorf("control socket: a message exceeds %d bytes or %d files", limit, maxFiles)
		}
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return files, fmt.Errorf("control socket: %w", err)
	}
	if d.InputOffset() != int64(len(line)-1) {
		return files, errors.New("control socket: more than one message")
	}
	return files, nil
}

func received(oob []byte) []*os.File {
	if len(oob) == 0 {
		return nil
	}
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	var out []*os.File
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			out = append(out, os.NewFile(uintptr(fd), "control"))
		}
	}
	return out
}

func (c *Conn) write(v any, files ...*os.File) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	var oob []byte
	if len(files) > 0 {
		var fds []int
		for _, f := range files {
			fds = append(fds, int(f.Fd()))
		}
		oob = unix.UnixRights(fds...)
	}
	n, _, err := c.WriteMsgUnix(b, oob, nil)
	if err == nil && n < len(b) {
		_, err = c.Write(b[n:])
	}
	return err
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// The frames.
const (
	Keys    byte = 'k' // to a session: what was typed
	Window  byte = 'w' // to a session: rows and columns
	Signal  byte = 's' // to a session: a signal for what was executed
	Output  byte = 'o' // from a session: for the terminal
	Began   byte = 'b' // from a session that starts: its id
	Taken   byte = 't' // from a session: the terminal was taken over or let go of elsewhere
	word    byte = 'a' // of a command line
	ready   byte = 'r' // to a session: the answer was read
	Exited  byte = 'x' // from a session: the status, four bytes; nothing follows
	maxBody      = 64 << 10
)

// Send writes one frame; it may be called by several goroutines.
func (c *Conn) Send(kind byte, body []byte) error {
	c.sends.Lock()
	defer c.sends.Unlock()
	for first := true; first || len(body) > 0; first = false {
		part := body[:min(len(body), maxBody)]
		body = body[len(part):]
		frame := make([]byte, 5, 5+len(part))
		frame[0] = kind
		binary.BigEndian.PutUint32(frame[1:], uint32(len(part)))
		if _, err := c.Write(append(frame, part...)); err != nil {
			return err
		}
	}
	return nil
}

// Receive reads one frame.
func (c *Conn) Receive() (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxBody {
		return 0, nil, fmt.Errorf("control socket: a frame of %d bytes", n)
	}
	body = make([]byte, n)
	_, err = io.ReadFull(c, body)
	return head[0], body, err
}

// SendStatus ends a conversation with how it went.
func (c *Conn) SendStatus(status int) error {
	return c.Send(Exited, StatusBody(status))
}

// StatusBody is the body of an Exited frame.
func StatusBody(status int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(status)) }

// StatusOf reads the body of an Exited frame.
func StatusOf(body []byte) (int, bool) {
	if len(body) != 4 {
		return 0, false
	}
	return int(binary.BigEndian.Uint32(body)), true
}

// SendWindow tells the size of a terminal.
func (c *Conn) SendWindow(rows, cols uint16) error {
	return c.Send(Window, binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, rows), cols))
}

// WindowOf reads the body of a Window frame.
func WindowOf(body []byte) (rows, cols uint16, ok bool) {
	if len(body) != 4 {
		return 0, 0, false
	}
	return binary.BigEndian.Uint16(body), binary.BigEndian.Uint16(body[2:]), true
}

// maxWords bounds a command line.
const maxWords = 64 << 10

// SendWords sends a command line, word by word.
func (c *Conn) SendWords(words []string) error {
	for _, w := range words {
		if len(w) > maxBody {
			return fmt.Errorf("an argument of %d bytes is too long", len(w))
		}
		if err := c.Send(word, []byte(w)); err != nil {
			return err
		}
	}
	return c.Send(ready, nil)
}

// ReceiveWords reads what SendWords sent.
func (c *Conn) ReceiveWords() (words []string, err error) {
	for {
		kind, body, err := c.Receive()
		switch {
		case err != nil:
			return nil, err
		case kind == ready:
			return words, nil
		case kind != word || len(words) == maxWords:
			return nil, errors.New("control socket: no command line came")
		}
		words = append(words, string(body))
	}
}

// Pair makes a connected pair of a Conn and the file for a child at its other end.
func Pair() (*Conn, *os.File, error) {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	far := os.NewFile(uintptr(p[1]), "control")
	c, err := Inherited(p[0])
	if err != nil {
		far.Close()
		return nil, nil, err
	}
	return c, far, nil
}

// Inherited is the other end of a Pair, found at fd.
func Inherited(fd int) (*Conn, error) {
	f := os.NewFile(uintptr(fd), "control")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, errors.New("control: the descriptor is no socket of ours")
	}
	return &Conn{UnixConn: u}, nil
}
