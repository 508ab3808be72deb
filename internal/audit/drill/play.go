package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Arg is the argument by which ringfence plays tries, inside and outside.
const Arg = "__play"

// Play is what is to be tried, in this order.
type Play struct {
	Vars  map[string]string // for the scripts
	Home  Inode             // the user's own
	Net   string            // the host's network namespace; "": this is the host, and only loopback is sent to
	Tries []Try
}

// Try is one of them: a script for sh in the workspace, or something to send.
type Try struct {
	Script string `json:",omitempty"`
	Wipes  bool   `json:",omitempty"` // the script empties HOME
	Milder string `json:"-"`          // what is played instead where that could reach the user's
	Send   string `json:",omitempty"` // host:port
	Data   []byte `json:",omitempty"`
	Skip   bool   `json:",omitempty"` // nothing is done; what is said of it is known already
}

// Answer is what came of a try.
type Answer struct {
	Status int    `json:",omitempty"` // of the script
	Output []byte `json:",omitempty"` // of the script, or what came back
	Error  string `json:",omitempty"` // why nothing came back
	Unsafe string `json:",omitempty"` // why it was not tried
}

// Inode tells one directory from another.
type Inode struct{ Dev, Ino uint64 }

// inode is the zero one where there is nothing.
func inode(path string) Inode {
	var st syscall.Stat_t
	if syscall.Stat(path, &st) != nil {
		return Inode{}
	}
	return Inode{st.Dev, st.Ino}
}

// Bounds of one try: one that hangs has not answered.
const (
	tryTime   = 20 * time.Second
	sendTime  = 3 * time.Second
	maxOutput = 1 << 20
	// MaxPlay bounds what goes to a player and what comes back.
	MaxPlay = 64 << 20
)

// Main plays what it reads and writes what came of it. What could reach beyond the
// drill's own things is played only in a sandbox.
func Main(in io.Reader, out io.Writer, sandboxed bool) error {
	b, err := io.ReadAll(io.LimitReader(in, MaxPlay))
	if err != nil {
		return err
	}
	var p Play
	if err := json.Unmarshal(b, &p); err != nil {
		return fmt.Errorf("read what is to be played: %w", err)
	}
	answers := make([]Answer, len(p.Tries))
	for i, t := range p.Tries {
		if why := p.unsafe(t, sandboxed); why != "" {
			answers[i] = Answer{Unsafe: why}
			continue
		}
		answers[i] = p.play(t)
	}
	return json.NewEncoder(out).Encode(answers)
}

// unsafe says why a try must not be played here.
func (p *Play) unsafe(t Try, sandboxed bool) string {
	if t.Wipes && (!sandboxed || p.Home == Inode{} || inode(os.Getenv("HOME")) == p.Home) {
		return "the home directory here is the user's own"
	}
	if t.Send == "" || loopback(t.Send) {
		return ""
	}
	if own, err := os.Readlink("/proc/self/ns/net"); !sandboxed || err != nil || p.Net == "" || own == p.Net {
		return "the network here is the host's"
	}
	return ""
}

func loopback(hostport string) bool {
	a, err := netip.ParseAddrPort(hostport)
	return err == nil && a.Addr().IsLoopback()
}

func (p *Play) play(t Try) Answer {
	switch {
	case t.Skip:
		return Answer{}
	case t.Send != "":
		return send(t)
	}
	ctx, cancel := context.WithTimeout(context.Background(), tryTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", t.Script)
	cmd.Env = os.Environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	for k, v := range p.Vars {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	// What a script leaves running must not keep the others waiting.
	cmd.WaitDelay = time.Second
	out := &bounded{}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	a := Answer{Output: out.Bytes()}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		a.Status = exit.ExitCode()
	case err != nil:
		a.Status, a.Error = -1, err.Error()
	}
	return a
}

// bounded keeps the beginning of what is written.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), maxOutput-b.Len())])
	return len(p), nil
}

// send posts what was found, as a careless agent would, and waits for a word back.
func send(t Try) Answer {
	ctx, cancel := context.WithTimeout(context.Background(), sendTime)
	defer cancel()
	host, _, err := net.SplitHostPort(t.Send)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.Send)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(sendTime))
	fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", host, len(t.Data), t.Data)
	b, err := io.ReadAll(io.LimitReader(c, maxOutput))
	a := Answer{Output: b}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// decodeAnswers reads what came out of a player.
func decodeAnswers(b []byte, want int) ([]Answer, error) {
	var answers []Answer
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&answers); err != nil {
		return nil, fmt.Errorf("the drill did not end as it should: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("the drill said more than it should")
	}
	if len(answers) != want {
		return nil, fmt.Errorf("%d of %d steps answered", len(answers), want)
	}
	return answers, nil
}
