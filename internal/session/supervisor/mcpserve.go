package supervisor

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/mcp"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/launch"
)

// serving is what a session has to do with MCP servers.
type serving struct {
	launch.Offered

	live *live
	mu   sync.Mutex
	open map[net.Conn]*exec.Cmd // connections, with the server behind them; nil: ours
	shut bool
	all  sync.WaitGroup

	starts int
	next   time.Time // when one may be started without a burst
	wish   wishes
}

// maxServers bounds how many servers one session has running.
const maxServers = 16

// handler lets the agent connect to a server by its name. The name is all that it
// chooses: the command, the environment and the policy are the host's.
func (v *serving) handler(g launch.Gateway) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		own := name == policy.OwnServer && v.Own
		if !own && !slices.Contains(v.Started, name) {
			v.refuse(w, g, "", http.StatusNotFound, "there is no MCP server of that name in this session")
			return
		}
		if r.Method != http.MethodGet || r.URL.RawQuery != "" || r.Header.Get("Upgrade") != mcp.Protocol || r.Body != http.NoBody {
			v.refuse(w, g, name, http.StatusBadRequest, "the way to a server is the program "+session.ClientPath)
			return
		}
		if err := v.live.less.aside.ended(); err != nil {
			v.refuse(w, g, name, http.StatusForbidden, err.Error())
			return
		}
		if !v.pace(time.Now()) {
			http.Error(w, "ringfence: MCP servers were started too often in this session", http.StatusTooManyRequests)
			return
		}
		if err := g.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Via: "mcp", Name: name, Verdict: journal.Allow, Reason: "an MCP server is started"}); err != nil {
			http.Error(w, "ringfence: the journal cannot be written, and what cannot be recorded is not done", http.StatusServiceUnavailable)
			return
		}
		c, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, "ringfence: this connection cannot be taken over", http.StatusInternalServerError)
			return
		}
		defer c.Close()
		if !v.begin(c) {
			io.WriteString(c, "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\nringfence: too many MCP servers run already\n")
			return
		}
		defer v.end(c)
		c.SetDeadline(time.Time{})
		if _, err := io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+mcp.Protocol+"\r\n\r\n"); err != nil {
			return
		}
		if own {
			err = mcp.Serve(buf.Reader, c, v.tools())
		} else {
			err = v.serve(g, name, c, v.searched(g, name, buf.Reader))
		}
		if err != nil {
			v.live.Say(fmt.Sprintf("MCP server %s: %v", name, err))
		}
	})
}

func (v *serving) refuse(w http.ResponseWriter, g launch.Gateway, name string, status int, why string) {
	g.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Via: "mcp", Name: name, Verdict: journal.Deny, Reason: why})
	http.Error(w, "ringfence: "+why, status)
}

// Each server is a session on the host, with a journal of its own. So an agent may start
// a few at once, then one now and then, and not without end.
const (
	startBurst = 24
	startEvery = 5 * time.Second
	maxStarts  = 400
)

// pace says whether one more may be started now.
func (v *serving) pace(now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.next.Before(now) {
		v.next = now
	}
	if v.starts >= maxStarts || v.next.Sub(now) > (startBurst-1)*startEvery {
		return false
	}
	v.next, v.starts = v.next.Add(startEvery), v.starts+1
	return true
}

// begin counts a connection.
func (v *serving) begin(c net.Conn) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shut || len(v.open) >= maxServers {
		return false
	}
	if v.open == nil {
		v.open = map[net.Conn]*exec.Cmd{}
	}
	v.open[c] = nil
	v.all.Add(1)
	return true
}

func (v *serving) end(c net.Conn) {
	v.mu.Lock()
	delete(v.open, c)
	v.mu.Unlock()
	v.all.Done()
}

// searched ends the stream where a decoy goes by.
func (v *serving) searched(g launch.Gateway, name string, r io.Reader) io.Reader {
	set := g.Decoys()
	if set == nil {
		return r
	}
	return &watched{r: r, scan: set.Scanner().Scan, found: func(decoy, form string) { g.Caught("MCP server "+name, decoy, form) }}
}

type watched struct {
	r     io.Reader
	scan  func([]byte) (name, form string, found bool)
	found func(decoy, form string)
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	if name, form, found := w.scan(b[:n]); found {
		w.found(name, form)
		return 0, errors.New("a decoy credential was about to leave")
	}
	return n, err
}

// serverGrace is what the process of a server gets to end it and to tidy up when nobody
// listens any more: longer than a server gets, also on a machine that is slow.
const serverGrace = 30 * time.Second

// serve runs one server, as `ringfence mcp run` does, and carries bytes. The other
// process reads them: what a server says is judged where a fault costs that server.
func (v *serving) serve(g launch.Gateway, name string, c net.Conn, agent io.Reader) error {
	s := v.live.session
	cmd := exec.Command("/proc/self/exe", slices.Concat([]string{"mcp", "run", name, "--agent", v.Agent}, shownAlike(s))...)
	cmd.Env, cmd.Dir = s.Asked.Environ, s.Workspaces[0].Path
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := v.launch(c, cmd); err != nil {
		return err
	}
	var told sync.WaitGroup
	var last string
	told.Go(func() { last = v.listen(g, name, said) })
	go func() {
		io.Copy(in, agent)
		in.Close() // the other process ends by it, and its sandbox with it
	}()
	io.Copy(c, out)
	c.Close()
	kill := time.AfterFunc(serverGrace, func() { cmd.Process.Kill() })
	in.Close()
	told.Wait()
	err = cmd.Wait()
	kill.Stop()
	var exit *exec.ExitError
	if errors.As(err, &exit) && last != "" {
		return errors.New(last)
	}
	return nil
}

// shownAlike are the flags by which a server that sees the project sees no more of it
// than the agent, and changes it in no other way. What is a clone is the session's own:
// the repository it was made of is read-only to servers.
func shownAlike(s *session.Session) []string {
	var out []string
	for _, ws := range s.Workspaces {
		view := s.View(ws)
		path := ws.Path
		if view == "ro" || view == "clone" {
			path += ":ro"
		}
		out = append(out, "--workspace", path)
		if view == string(plan.Review) && !slices.Contains(out, "--review") {
			out = append(out, "--review")
		}
	}
	return append(out, narrowed(s.Asked.Flags)...)
}

// narrowed are the user's flags that take something away, for the servers too: what they
// see and say goes to the agent.
func narrowed(flags *policy.Policy) (out []string) {
	if flags == nil {
		return nil
	}
	for _, r := range flags.Files.Mask {
		out = append(out, "--mask="+r.Value)
	}
	for _, r := range flags.Network.Deny {
		out = append(out, "--deny-host="+r.Value)
	}
	if l := flags.Limits.Pids; l != nil {
		out = append(out, fmt.Sprintf("--pids=%d", l.Value))
	}
	if l := flags.Limits.Memory; l != nil {
		out = append(out, fmt.Sprintf("--memory=%d", l.Value))
	}
	return out
}

// launch starts the process unless the session is over.
func (v *serving) launch(c net.Conn, cmd *exec.Cmd) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shut {
		return errors.New("the session is over")
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	v.open[c] = cmd
	return nil
}

// listen reads what the other process says to people. What is about the server's tools
// is told and recorded; its last error is returned. Lines of the server itself begin
// with its name and are nobody's here.
func (v *serving) listen(g launch.Gateway, name string, said io.Reader) (last string) {
	lines := bufio.NewScanner(said)
	lines.Buffer(nil, 16<<10)
	for lines.Scan() {
		text := lines.Text()
		if about, ok := strings.CutPrefix(text, ServerNote(name)); ok {
			v.live.Say(fmt.Sprintf("MCP server %s: %s", name, about))
			g.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Via: "mcp", Name: name, Verdict: journal.Wait, Reason: about})
		}
		if e, ok := strings.CutPrefix(text, "ringfence: error: "); ok {
			last = e
		}
	}
	io.Copy(io.Discard, said) // a line that has no end keeps nobody waiting
	return last
}

// ServerNote begins a line of `mcp run` about what its server tells of itself.
func ServerNote(name string) string { return "ringfence: mcp " + name + ": " }

// Close ends every server. It returns when none is left.
func (v *serving) Close() {
	v.shutDown()
	v.all.Wait()
}

// shutDown ends every server and lets none begin. It does not wait: one of ours may be
// answering just now.
func (v *serving) shutDown() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shut = true
	for c, cmd := range v.open {
		c.Close()
		if cmd != nil {
			time.AfterFunc(serverGrace, func() { cmd.Process.Kill() })
		}
	}
}
