package container

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
)

// maxAnswer bounds what is read of an engine's answer.
const maxAnswer = 4 << 20

// maxWords bounds what is shown of an engine's words for an error.
const maxWords = 500

// engine speaks Docker's API over a socket of this machine. Podman serves the same.
type engine struct {
	socket string
	name   string // docker or podman, once it was asked
	http   *http.Client
}

// locate finds the engine's socket: the one that policy names, else the one of
// DOCKER_HOST, else the usual ones.
func locate(named string, getenv func(string) string) (*engine, error) {
	if named != "" {
		return at(named)
	}
	if host := getenv("DOCKER_HOST"); host != "" {
		path, ok := strings.CutPrefix(host, "unix://")
		if !ok {
			return nil, fault.New(fault.Refused, "unset DOCKER_HOST, or name a socket of this machine: [rung] engine = \"/run/docker.sock\"",
				"DOCKER_HOST is %q: only an engine on this machine will do, because its kernel is the one that holds the walls", host)
		}
		return at(path)
	}
	usual := []string{"/run/docker.sock", "/var/run/docker.sock"}
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		usual = append(usual, filepath.Join(dir, "docker.sock"))
	}
	for _, path := range append(usual, "/run/podman/podman.sock") {
		if _, err := os.Stat(path); err == nil {
			return at(path)
		}
	}
	return nil, fault.New(fault.Refused, Hint, "no container engine was found")
}

// Hint says how to get an engine.
const Hint = "install one (Debian: docker.io, or podman for root) and let your user speak to it, which makes that user as good as root; or name its socket: [rung] engine = \"/path\""

func at(path string) (*engine, error) {
	real, err := filepath.EvalSymlinks(path)
	var st unix.Stat_t
	if err == nil {
		err = unix.Stat(real, &st)
	}
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT != unix.S_IFSOCK:
		err = errors.New("it is not a socket")
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		err = fmt.Errorf("it belongs to user %d", st.Uid)
	}
	if err != nil {
		return nil, fault.New(fault.Refused, Hint, "the container engine at %q: %w", path, err)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", real)
	}
	return &engine{socket: real, http: &http.Client{Transport: &http.Transport{DialContext: dial}}}, nil
}

// refusal is an error that the engine gave.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return fmt.Sprintf("the engine answered %d: %s", r.status, r.text) }

// call asks the engine, and decodes its answer into out unless that is nil.
func (e *engine) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	b, err := e.ask(ctx, method, path, "application/json", body)
	if err == nil && out != nil {
		err = json.Unmarshal(b, out)
	}
	return e.explain(err)
}

func (e *engine) ask(ctx context.Context, method, path, kind string, body io.Reader) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://engine"+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", kind)
	resp, err := e.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > maxAnswer:
		return nil, fmt.Errorf("the engine's answer is longer than %d bytes", maxAnswer)
	case resp.StatusCode >= 300:
		r := &refusal{status: resp.StatusCode}
		var said struct{ Message string }
		if json.Unmarshal(b, &said) == nil {
			r.text = said.Message[:min(len(said.Message), maxWords)]
		}
		return nil, r
	}
	return b, nil
}

// explain says what helps where the engine is there and does not do what we ask.
func (e *engine) explain(err error) error {
	var r *refusal
	switch {
	case errors.Is(err, unix.EACCES):
		return fault.New(fault.Refused, "sudo usermod -aG docker \"$USER\", and log in again: whoever is in that group is as good as root", "you may not speak to the container engine")
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Failed, "look after the engine (sudo systemctl restart docker), or use --rung native", "the container engine at %q does not answer", e.socket)
	case errors.As(err, &r) && r.status == http.StatusForbidden:
		return fault.New(fault.Refused, "if it forbids unconfined containers: [rung] container = \"confined\" in your own policy; or use --rung native", "%w", err)
	case errors.As(err, &r):
		return fault.New(fault.Failed, "use --rung native", "%w", err)
	}
	return err
}

// about is what an engine says of itself.
type about struct {
	ServerVersion   string
	OperatingSystem string
	OSType          string
	SecurityOptions []string
	MemoryLimit     bool
	PidsLimit       bool
	BuildahVersion  string
}

// podman says whether it is Podman: no other engine has this part.
func (a about) podman() bool { return a.BuildahVersion != "" }

// name is the engine's, for people.
func (a about) name() string {
	if a.podman() {
		return "podman"
	}
	return "docker"
}

// is says whether one of the engine's security options has this name.
func (a about) is(name string) bool {
	for _, o := range a.SecurityOptions {
		if o == "name="+name || strings.HasPrefix(o, "name="+name+",") {
			return true
		}
	}
	return false
}

// usable says what an engine is, or why it is none for us.
func (e *engine) usable(ctx context.Context) (about, error) {
	var a about
	if err := e.call(ctx, "GET", "/info", nil, &a); err != nil {
		return a, err
	}
	switch {
	case a.OSType != "linux":
		return a, fault.New(fault.Refused, "", "the engine runs containers of %q, not of Linux", a.OSType)
	case a.is("rootless"):
		return a, fault.New(fault.Refused, "use the engine of root ([rung] engine = \"/run/docker.sock\" or \"/run/podman/podman.sock\"), or another rung", "a rootless engine gives the user another number inside: what the agent writes would not be yours")
	}
	e.name = a.name()
	return a, nil
}

// patience is for an engine to do one thing, also on a machine that is slow.
const patience = 2 * time.Minute

func escape(name string) string { return url.PathEscape(name) }
