package supervisor

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/session/trees"
	"ringfence.dev/ringfence/test/wait"
)

// stand is a session as Prepare composes it, up to its gate and its broker, without a
// sandbox: layers of policy from their files, remotes from git's own config. Behind the
// gate every name of the world answers, and notes what came.
type stand struct {
	t       testing.TB
	home    string
	dir     string
	environ []string
	flags   *policy.Policy
	trusted bool // the project's file
	agent   string
}

func newStand(t testing.TB) *stand {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{t: t, home: filepath.Join(root, "home"), dir: filepath.Join(root, "work"), flags: &policy.Policy{}, agent: "claude"}
	for _, d := range []string{s.home, s.dir} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.environ = []string{"HOME=" + s.home, "PATH=/usr/bin:/bin"}
	return s
}

// put writes a file; a path that is not absolute is one of HOME.
func (s *stand) put(path, text string) string {
	s.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.home, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func (s *stand) policy(text string)  { s.put(".config/ringfence/policy.toml", text) }
func (s *stand) project(text string) { s.put(filepath.Join(s.dir, policy.ProjectFile), text) }

// git makes the workspace a repository with a config that anybody may have written.
func (s *stand) git(config string) {
	s.put(filepath.Join(s.dir, ".git/HEAD"), "ref: refs/heads/main\n")
	s.put(filepath.Join(s.dir, ".git/config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"+config)
	for _, d := range []string{".git/objects", ".git/refs"} {
		if err := os.MkdirAll(filepath.Join(s.dir, d), 0o700); err != nil {
			s.t.Fatal(err)
		}
	}
}

// played is an open stand.
type played struct {
	*session.Session
	t     testing.TB
	env   []policy.Setting
	door  *door
	proxy string
	local string
}

// open composes the session as a launch does. An error is what would stop the launch.
func (s *stand) open() (*played, error) {
	s.t.Helper()
	opt := launch.Options{Agent: s.agent, Dir: s.dir, Environ: s.environ, Flags: s.flags}
	if s.trusted {
		who, err := launch.Who(opt)
		if err != nil {
			return nil, err
		}
		if _, digest, err := policy.LoadProject(s.dir); err == nil && digest != "" {
			if err := launch.TrustStore(who.Dirs.State).Record(s.dir, policy.ProjectFile, digest); err != nil {
				return nil, err
			}
		}
	}
	b, err := launch.DecideLaunch(opt)
	if err != nil {
		return nil, err
	}
	all, err := session.PrepareParts(b, []session.Part{session.PartOf("models"), session.PartOf("hosts"), session.PartOf("network")})
	if err != nil {
		return nil, err
	}
	prepared := &session.Session{Base: b, Trees: &trees.Trees{}, Plan: &plan.Plan{Capture: all.Total().Capture}}
	if _, err := session.LookBroker(prepared, all.Total()); err != nil {
		return nil, err
	}
	total := all.Total()
	prepared.Warnings, prepared.Notices, prepared.Keys = total.Warnings, total.Notices, total.Keys
	p := &played{Session: prepared, t: s.t, env: total.Env}
	prepared.Resolver, prepared.Dial = theWorld(), theWorld().dial
	l := &live{session: prepared}
	l.book.Writer = journal.Create(s.t.TempDir(), b.ID)
	if p.door, err = openDoor(prepared, l); err != nil || p.door == nil {
		return p, err
	}
	var ports []netns.Socket
	for name, at := range map[string]*string{netns.ProxyPort: &p.proxy, netns.BrokerPort: &p.local} {
		nl, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		f, err := nl.(*net.TCPListener).File()
		if err != nil {
			return nil, err
		}
		*at = nl.Addr().String()
		nl.Close()
		ports = append(ports, netns.Socket{Name: name, File: f})
	}
	n, err := netns.Hold(os.Getpid(), ports, nil)
	if err != nil {
		return nil, err
	}
	return p, p.door.gate.Take(n)
}

func (p *played) close() {
	if p != nil && p.door != nil {
		p.door.Close()
	}
}

// phantom is what stands for a secret in a variable inside.
func (p *played) phantom(name string) string {
	for _, s := range p.env {
		if s.Name == name {
			return s.Value
		}
	}
	return "nothing-stands-there" // and not "": a request without a credential is another one
}

// asking is a request from inside.
type asking struct {
	host   string // NAME or NAME:PORT; "": the broker's endpoint
	clear  bool   // without TLS
	method string
	path   string
	header map[string]string // @VAR@ stands for what the variable holds inside
	body   string            // JSON, of a request to a host
}

func (a asking) String() string {
	return fmt.Sprintf("%s %s %s clear=%v %v", a.method, a.host, a.path, a.clear, a.header)
}

// arrival is a request as the world got it.
type arrival struct {
	host, method, path string
	sent               string // whose credential: "", "own" of the agent's, or the real one
}

// ask sends a request and returns what came of it in the world.
func (p *played) ask(a asking) []arrival {
	p.t.Helper()
	if p.door == nil {
		return nil
	}
	w := theWorld()
	w.take()
	c, err := p.reach(a)
	if err != nil {
		return w.take()
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(wait.Patience))
	r, err := http.NewRequest(a.method, "http://"+a.host+a.path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if a.body != "" {
		r, _ = http.NewRequest(a.method, "http://"+a.host+a.path, strings.NewReader(a.body))
		r.Header.Set("Content-Type", "application/json")
	}
	if a.host == "" {
		r, _ = http.NewRequest(a.method, fmt.Sprintf("http://127.0.0.1:%d%s", netns.Broker, a.path), strings.NewReader(`{"model":"m","messages":[]}`))
		r.Header.Set("Content-Type", "application/json")
	}
	for k, v := range a.header {
		if i := strings.IndexByte(v, '@'); i >= 0 {
			v = v[:i] + p.phantom(strings.Trim(v[i:], "@"))
		}
		r.Header.Set(k, v)
	}
	r.Close = true
	if r.Write(c) == nil {
		if resp, err := http.ReadResponse(bufio.NewReader(c), r); err == nil {
			io.Copy(io.Discard, resp.Body)
		}
	}
	return w.take()
}

// reach is the connection that a client inside would have.
func (p *played) reach(a asking) (net.Conn, error) {
	if a.host == "" {
		return net.Dial("tcp", p.local)
	}
	c, err := net.Dial("tcp", p.proxy)
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Now().Add(wait.Patience))
	at := a.host
	if !strings.Contains(at, ":") {
		at += map[bool]string{true: ":80", false: ":443"}[a.clear]
	}
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", at)
	resp, err := http.ReadResponse(bufio.NewReaderSize(c, 16), &http.Request{Method: http.MethodConnect})
	if err != nil || resp.StatusCode != 200 {
		c.Close()
		return nil, fmt.Errorf("%s: %v", at, err)
	}
	if a.clear {
		return c, nil
	}
	name, _, _ := strings.Cut(at, ":")
	t := tls.Client(c, &tls.Config{ServerName: name, InsecureSkipVerify: true})
	if err := t.Handshake(); err != nil {
		c.Close()
		return nil, err
	}
	return t, nil
}

// everything is what the world is: a server that is every host.
type everything struct {
	ca   *x509.Certificate
	key  *ecdsa.PrivateKey
	at   string
	mu   sync.Mutex
	ip   map[address.Name]netip.Addr
	name map[netip.Addr]address.Name
	from map[string]string // where a connection goes, by its near end
	came []arrival
}

var theWorld = sync.OnceValue(func() *everything {
	w := &everything{ip: map[address.Name]netip.Addr{}, name: map[netip.Addr]address.Name{}, from: map[string]string{}}
	var err error
	if w.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		panic(err)
	}
	w.ca = &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the world"}, NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, w.ca, w.ca, w.key.Public(), w.key)
	if err != nil {
		panic(err)
	}
	// Nothing in this process has asked for the host's certificates before.
	file, err := os.CreateTemp("", "stand-*.pem")
	if err != nil {
		panic(err)
	}
	pem.Encode(file, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	file.Close()
	was, had := os.LookupEnv("SSL_CERT_FILE")
	os.Setenv("SSL_CERT_FILE", file.Name())
	x509.SystemCertPool()
	os.Remove(file.Name())
	if os.Unsetenv("SSL_CERT_FILE"); had {
		os.Setenv("SSL_CERT_FILE", was)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	w.at = l.Addr().String()
	go w.serve(l)
	return w
})

func (w *everything) serve(l net.Listener) {
	conf := &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		c := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{h.ServerName}, NotAfter: time.Now().Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, c, w.ca, w.key.Public(), w.key)
		return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: w.key}, err
	}}
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			r := bufio.NewReader(c)
			var conn net.Conn = &peeked{c, r}
			if b, err := r.Peek(1); err == nil && b[0] == 22 {
				conn = tls.Server(conn, conf)
			}
			w.answer(conn, c.RemoteAddr().String())
		}()
	}
}

type peeked struct {
	net.Conn
	r *bufio.Reader
}

func (p *peeked) Read(b []byte) (int, error) { return p.r.Read(b) }

func (w *everything) answer(c net.Conn, from string) {
	r := bufio.NewReader(c)
	for {
		q, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		io.Copy(io.Discard, q.Body)
		w.mu.Lock()
		w.came = append(w.came, arrival{w.from[from], q.Method, q.URL.RequestURI(), whose(q)})
		w.mu.Unlock()
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	}
}

// Credentials in the stand begin so: the user's, and what an agent brings along.
const realMark, ownMark = "CANARY", "agents-own-token"

// whose says which credential a request carries, wherever.
func whose(q *http.Request) string {
	for _, lines := range q.Header {
		for _, line := range lines {
			if _, rest, ok := strings.Cut(line, "Basic "); ok {
				b, _ := base64.StdEncoding.DecodeString(rest)
				line = string(b)
			}
			if i := strings.Index(line, realMark); i >= 0 {
				return strings.Fields(line[i:])[0]
			}
			if strings.Contains(line, ownMark) {
				return "own"
			}
		}
	}
	return ""
}

func (w *everything) take() []arrival {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.came
	w.came = nil
	return out
}

// Lookup implements gate.Resolver.
func (w *everything) Lookup(_ context.Context, n address.Name) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.ip[n]; !ok {
		a := netip.AddrFrom4([4]byte{203, 0, 113, byte(len(w.ip))})
		w.ip[n], w.name[a] = a, n
	}
	return []netip.Addr{w.ip[n]}, nil
}

func (w *everything) dial(ctx context.Context, to netip.AddrPort) (*net.TCPConn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", w.at)
	if err != nil {
		return nil, err
	}
	host := string(w.name[to.Addr()])
	if to.Port() != 443 && to.Port() != 80 {
		host = fmt.Sprintf("%s:%d", host, to.Port())
	}
	w.from[c.LocalAddr().String()] = host
	return c.(*net.TCPConn), nil
}

var _ gate.Resolver = (*everything)(nil)

// hosts lists where arrivals with the real credential went.
func hosts(came []arrival) (out []string) {
	for _, a := range came {
		if strings.HasPrefix(a.sent, realMark) && !slices.Contains(out, a.host) {
			out = append(out, a.host)
		}
	}
	return out
}
