package ssh

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/state"
)

// conn is a way to our program on the other machine.
type conn struct {
	io.ReadWriteCloser
	host   string
	stderr *tail
	over   atomic.Bool // it was cut here, because it took too long or nobody wants it any more
	hello  *hello
	again  string // what helps when it is lost; "": to start again
}

// options of ssh: the user's own configuration leads there, and nothing of this machine is
// forwarded. Nobody can be asked anything: a session may begin where no terminal is. A
// connection that the user shares is used, and none is left behind.
// Tickets of Kerberos are not passed on, whatever the configuration says of that, no key that
// the machine offers is written down, and its SetEnv is replaced. What its SendEnv names of
// the few variables that ssh has cannot be taken back.
var options = []string{"-a", "-k", "-x", "-T", "-e", "none", "-o", "BatchMode=yes", "-o", "ForwardAgent=no", "-o", "ForwardX11=no", "-o", "ClearAllForwardings=yes",
	"-o", "GSSAPIDelegateCredentials=no", "-o", "UpdateHostKeys=no", "-o", "SetEnv=RINGFENCE=1",
	"-o", "PermitLocalCommand=no", "-o", "ControlMaster=no", "-o", "Tunnel=no", "-o", "RequestTTY=no", "-o", "StdinNull=no", "-o", "ForkAfterAuthentication=no", "-o", "RemoteCommand=none", "-o", "SessionType=default"}

// passed are the variables that ssh and what it starts here need. The key of an agent's socket
// stays with ssh.
var passed = []string{"HOME", "PATH", "USER", "LOGNAME", "SHELL", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "KRB5CCNAME", "KRB5_CONFIG"}

func environ() (out []string) {
	for _, name := range passed {
		if v, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+v)
		}
	}
	return out
}

// findOwn finds a program where no session is: for who asks what a machine has.
func findOwn(name string) (string, error) {
	dirs, err := state.XDG(os.Getenv, os.Getenv("HOME"))
	if err != nil {
		return "", err
	}
	return dirs.Program(name, os.Getenv("PATH"), nil)
}

// script is what the user's shell there runs. It has no quote, no backslash and no
// exclamation mark, so that any shell hands it to sh as it is. It tells what the machine is,
// hears which program is due, takes it if it has not that one, and becomes it.
const script = `umask 077; m=%s; echo "$m is $(uname -s) $(uname -m)"; read -r s n || exit 1; d="$HOME/.cache/ringfence/$s"; b="$d/ringfence"; ` +
	`mkdir -p "$d" && chmod 700 "$HOME/.cache/ringfence" "$d" || { echo "$m bad"; exit 1; }; ` +
	`if [ "$(sha256sum 2>/dev/null <"$b")" = "$s  -" ]; then echo "$m have"; else echo "$m need"; t="$b.$$"; rm -f "$b"; ` +
	`head -c "$n" >"$t" && chmod 500 "$t" && [ "$(sha256sum <"$t")" = "$s  -" ] && mv -f "$t" "$b" || { rm -f "$t"; echo "$m bad"; exit 1; }; echo "$m have"; fi; ` +
	`exec env -i "$b" %s "$HOME" "$PATH"`

// dial starts our program on the machine, and hears what that has.
func (p place) dial(ctx context.Context) (*conn, error) {
	if p.host == "" {
		return nil, fault.New(fault.Refused, "--rung ssh:HOST, or [rung] ssh in your policy", "no machine is named for the rung ssh")
	}
	program, err := p.find("ssh")
	if err != nil {
		return nil, fault.New(fault.Refused, "install OpenSSH's client", "%w", err)
	}
	if err := recent(ctx, program); err != nil {
		return nil, err
	}
	var nonce [8]byte
	rand.Read(nonce[:])
	mark := "ringfence-" + hex.EncodeToString(nonce[:])
	argv := append(append([]string{"ssh"}, options...), "--", p.host, "exec /bin/sh -c '"+fmt.Sprintf(script, mark, Arg)+"'")
	errR, errW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	end, err := far.Program(program, argv, environ(), errW, -1)
	errW.Close()
	if err != nil {
		errR.Close()
		return nil, err
	}
	c := &conn{ReadWriteCloser: end.ReadWriteCloser, host: p.host, stderr: newTail(errR)}
	if err := c.greet(ctx, mark); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// greet brings our program there, and hears what the machine has.
func (c *conn) greet(ctx context.Context, mark string) error {
	stop := c.within(ctx, greeting)
	defer func() { stop() }()
	is, err := c.line(mark)
	if err != nil {
		return c.unreachable(err)
	}
	b, err := buildFor(is)
	if err != nil {
		return err
	}
	defer b.Close()
	stop()
	stop = c.within(ctx, unpacking) // as long as it takes to send
	if err := c.bring(mark, b); err != nil {
		return err
	}
	stop()
	stop = c.within(ctx, greeting)
	a, err := c.hear(maxHello)
	if err != nil {
		return err
	}
	c.hello = a.Hello
	return c.hello.check(b.sum, b.arch)
}

// bring sees to it that the machine has our program.
func (c *conn) bring(mark string, b *build) error {
	if _, err := fmt.Fprintf(c, "%s %d\n", b.sum, b.size); err != nil {
		return c.lost(err)
	}
	said, err := c.line(mark)
	if err == nil && said == "need" {
		sent := make(chan error, 1)
		go func() { // it may have no room for it, and say so before all was sent
			_, err := io.Copy(c, b)
			sent <- err
		}()
		said, err = c.line(mark)
		if err == nil && said == "have" {
			err = <-sent
		}
	}
	switch {
	case err != nil:
		return c.lost(err)
	case said != "have":
		return fault.New(fault.Refused, "see that ~/.cache has room there, and that the machine has sha256sum and head", "%s did not keep the program that was sent", c.host)
	}
	return nil
}

// maxNoise is how much a shell there may print before our script runs.
const maxNoise = 64 << 10

// line reads the next line of our script, byte by byte: what follows is not ours to take.
func (c *conn) line(mark string) (string, error) {
	var now []byte
	var one [1]byte
	for range maxNoise {
		if _, err := io.ReadFull(c, one[:]); err != nil {
			return "", err
		}
		if one[0] != '\n' {
			now = append(now, one[0])
			continue
		}
		if said, ok := bytes.CutPrefix(now, []byte(mark+" ")); ok {
			return string(said), nil
		}
		now = now[:0]
	}
	return "", wrong("nothing in all that it prints")
}

func (c *conn) send(o order) error { return writeFrame(c, o) }

// hear hears one answer.
func (c *conn) hear(most int) (answer, error) {
	body, err := readFrame(c, most)
	if err != nil {
		return answer{}, c.lost(err)
	}
	a, err := parse(body)
	if err == nil && a.Failed != "" {
		err = fault.New(fault.Failed, "see that there is room on it", "%s: %s", c.host, shown(a.Failed))
	}
	return a, err
}

// said is why the machine takes no more, if it tells.
func (c *conn) said() error {
	a, err := c.hear(maxReady)
	if err != nil && a.Failed != "" {
		return err
	}
	return nil
}

// within cuts the connection when it takes too long, or nobody wants it any more.
func (c *conn) within(ctx context.Context, most time.Duration) (stop func()) {
	ctx, cancel := context.WithTimeout(ctx, most)
	end := context.AfterFunc(ctx, func() {
		c.over.Store(true)
		c.ReadWriteCloser.Close()
	})
	return func() { end(); cancel() }
}

// Close ends ssh, and with it the far end.
func (c *conn) Close() error {
	err := c.ReadWriteCloser.Close()
	c.stderr.wait()
	return err
}

func (c *conn) unreachable(err error) error {
	why := c.why(err)
	return fault.New(fault.Refused, "`ssh "+c.host+" true` must work without a question", "%s cannot be reached: %s", c.host, why)
}

func (c *conn) lost(err error) error {
	var w wrong
	if errors.As(err, &w) {
		return err
	}
	return fault.New(fault.Failed, cmp.Or(c.again, "start it again"), "the way to %s is gone: %s", c.host, c.why(err))
}

// why is what ssh says, or else the error.
func (c *conn) why(err error) string {
	if c.over.Load() {
		return "it takes too long"
	}
	c.ReadWriteCloser.Close()
	if said := c.stderr.wait(); said != "" {
		return shown(said)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ended"
	}
	return shown(err.Error())
}

// shown is text of the other machine as people may see it.
func shown(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x200b && r <= 0x202e || r >= 0x2060 && r <= 0x206f || r == 0xfeff {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return strings.TrimSpace(s[:min(len(s), 600)])
}

// tail keeps the last that ssh said.
type tail struct {
	mu   sync.Mutex
	text []byte
	end  chan struct{}
}

func newTail(r *os.File) *tail {
	t := &tail{end: make(chan struct{})}
	go func() {
		defer close(t.end)
		defer r.Close()
		buf := make([]byte, 1<<10)
		for {
			n, err := r.Read(buf)
			t.mu.Lock()
			t.text = append(t.text, buf[:n]...)
			t.text = t.text[max(0, len(t.text)-2<<10):]
			t.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return t
}

// wait is what was said in the end. A program that ssh left behind may still hold the pipe.
func (t *tail) wait() string {
	select {
	case <-t.end:
	case <-time.After(time.Second):
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
