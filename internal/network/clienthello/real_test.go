package clienthello_test

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/tls"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/network/clienthello"
	"ringfence.dev/ringfence/test/wait"
)

const host = "hello.test"

// captured are first flights of real clients, as they came over loopback.
var captured = map[string]clienthello.Hello{
	"bun-1.3-boringssl":       {ServerName: host, ALPN: []string{"http/1.1"}, Version: 0x0304},
	"claude-2.1-boringssl":    {ServerName: host, ALPN: []string{"http/1.1"}, Version: 0x0304},
	"codex-0.166-rustls-0.23": {ServerName: host, ALPN: []string{"h2", "http/1.1"}, Version: 0x0304},
	"curl-nss-3.87":           {ServerName: host, ALPN: []string{"http/1.1", "h2"}, Version: 0x0304}, // NSS puts the first last
	"curl-openssl-3.0":        {ServerName: host, ALPN: []string{"h2", "http/1.1"}, Version: 0x0304},
	"git-gnutls-3.7":          {ServerName: host, ALPN: []string{"h2", "http/1.1"}, Version: 0x0304},
	"java-17":                 {ServerName: host, ALPN: []string{"h2", "http/1.1"}, Version: 0x0304},
	"java-25":                 {ServerName: host, ALPN: []string{"h2", "http/1.1"}, Version: 0x0304},
	"node-20-openssl-3.0":     {ServerName: host, ALPN: []string{"http/1.1"}, Version: 0x0304},
	"openssl-3.0":             {ServerName: host, Version: 0x0304},
	"openssl-3.0-early-data":  {ServerName: host, EarlyData: true, Version: 0x0304},
	"python-3.11-openssl-3.0": {ServerName: host, ALPN: []string{"http/1.1"}, Version: 0x0304},
	"rustup-rustls-0.23":      {ServerName: host, ALPN: []string{"h2", "http/1.1"}, Version: 0x0304},
	"wget-gnutls-3.7":         {ServerName: host, Version: 0x0304},
}

func TestCaptured(t *testing.T) {
	files, err := filepath.Glob("testdata/real/*.bin")
	if err != nil || len(files) != len(captured) {
		t.Fatalf("%d files for %d clients: %v", len(files), len(captured), err)
	}
	for client, want := range captured {
		t.Run(client, func(t *testing.T) {
			all := flight(t, client)
			got, raw, err := clienthello.Read(bytes.NewReader(all))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			// All, but for what early data brings along.
			if !bytes.HasPrefix(all, raw) || !want.EarlyData && len(raw) != len(all) {
				t.Errorf("took %d of %d bytes", len(raw), len(all))
			}
			if bytes.IndexByte([]byte{20, 23}, append(all, 20)[len(raw)]) < 0 {
				t.Errorf("stopped inside a record")
			}
			if info := overTLS(all); info == nil || info.ServerName != got.ServerName {
				t.Errorf("Go's server reads %+v", info)
			}
		})
	}
}

func flight(t testing.TB, client string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "real", client+".bin"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// meet lets a client connect to loopback, reads its hello and hangs up.
func meet(t *testing.T, client func(ctx context.Context, addr string)) (clienthello.Hello, []byte) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience)
	defer cancel()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		client(ctx, l.Addr().String())
		l.Close() // one that never came is not waited for
	}()
	c, err := l.Accept()
	if err != nil {
		t.Fatalf("the client did not come: %v", err)
	}
	defer func() { c.Close(); cancel(); <-gone }()
	h, raw, err := clienthello.Read(c)
	if err != nil {
		t.Fatalf("%v\n%x", err, raw)
	}
	return h, raw
}

// The programs that are on this machine, as they are today.
func TestPrograms(t *testing.T) {
	const python = `import socket,ssl,sys
s=socket.create_connection((sys.argv[1],sys.argv[2]))
ssl.create_default_context().wrap_socket(s,server_hostname=sys.argv[3])`
	const node = `const [,host,port,servername]=process.argv
require("tls").connect({host,port,servername}).on("error",()=>{})`
	for program, args := range map[string]func(addr, port string) []string{
		"openssl": func(a, p string) []string { return []string{"s_client", "-connect", a + ":" + p, "-servername", host} },
		"curl": func(a, p string) []string {
			return []string{"-q", "-s", "--noproxy", "*", "--resolve", host + ":" + p + ":" + a, "https://" + host + ":" + p}
		},
		"git": func(a, p string) []string {
			return []string{"-c", "http.proxy=", "-c", "http.curloptResolve=" + host + ":" + p + ":" + a, "ls-remote", "https://" + host + ":" + p + "/x"}
		},
		"python3": func(a, p string) []string { return []string{"-c", python, a, p, host} },
		"node":    func(a, p string) []string { return []string{"-e", node, a, p, host} },
		"java":    func(a, p string) []string { return []string{"testdata/Client.java", a, p, host} },
	} {
		t.Run(program, func(t *testing.T) {
			path, err := exec.LookPath(program)
			if err != nil {
				t.Fatal(err)
			}
			h, _ := meet(t, func(ctx context.Context, at string) {
				addr, port, _ := net.SplitHostPort(at)
				_ = exec.CommandContext(ctx, path, args(addr, port)...).Run() // it fails: we hang up
			})
			if h.ServerName != host || h.Version != tls.VersionTLS13 || h.ECH {
				t.Errorf("%+v", h)
			}
		})
	}
}

func TestGo(t *testing.T) {
	for _, c := range []struct {
		what string
		conf *tls.Config
		want clienthello.Hello
		long int // at least
	}{
		{"today's", &tls.Config{ServerName: host, NextProtos: []string{"h2"}},
			clienthello.Hello{ServerName: host, ALPN: []string{"h2"}, Version: tls.VersionTLS13}, 1200}, // X25519MLKEM768
		{"TLS 1.2", &tls.Config{ServerName: host, MaxVersion: tls.VersionTLS12},
			clienthello.Hello{ServerName: host, Version: tls.VersionTLS12}, 0},
		{"TLS 1.0", &tls.Config{ServerName: host, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10},
			clienthello.Hello{ServerName: host, Version: tls.VersionTLS10}, 0},
		{"no name for an address", &tls.Config{ServerName: "127.0.0.1"},
			clienthello.Hello{Version: tls.VersionTLS13}, 0},
		{"ECH shows the front", &tls.Config{ServerName: "hidden.test", EncryptedClientHelloConfigList: echConfig(t, "front.test")},
			clienthello.Hello{ServerName: "front.test", ECH: true, Version: tls.VersionTLS13}, 1200},
	} {
		t.Run(c.what, func(t *testing.T) {
			got, raw := meet(t, func(ctx context.Context, addr string) {
				d := tls.Dialer{Config: c.conf}
				if conn, err := d.DialContext(ctx, "tcp", addr); err == nil {
					conn.Close()
				}
			})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if len(raw) < c.long {
				t.Errorf("only %d bytes", len(raw))
			}
			if bytes.Contains(raw, []byte("hidden.test")) {
				t.Error("the hidden name is in the open")
			}
		})
	}
}

// echConfig is what a server with ECH would publish, with a key nobody keeps.
func echConfig(t *testing.T, public string) []byte {
	t.Helper()
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	contents := bytes.Join([][]byte{
		{7, 0, 0x20}, vec16(key.PublicKey().Bytes()), // config id, DHKEM(X25519)
		vec16([]byte{0, 1, 0, 1}), // HKDF-SHA256, AES-128-GCM
		{64}, vec8([]byte(public)), {0, 0},
	}, nil)
	return vec16(ext(0xfe0d, contents)) // a config is framed like an extension
}

// overTLS is what Go's server makes of the first bytes of a client.
func overTLS(in []byte) (info *tls.ClientHelloInfo) {
	conf := &tls.Config{GetConfigForClient: func(i *tls.ClientHelloInfo) (*tls.Config, error) {
		info = i
		return nil, io.EOF // seen enough
	}}
	_ = tls.Server(&oneWay{r: bytes.NewReader(in)}, conf).Handshake()
	return info
}

// oneWay is a connection whose other end has said all, and does not listen.
type oneWay struct {
	net.Conn
	r io.Reader
}

func (o *oneWay) Read(p []byte) (int, error)       { return o.r.Read(p) }
func (o *oneWay) Write(p []byte) (int, error)      { return len(p), nil }
func (o *oneWay) SetWriteDeadline(time.Time) error { return nil }
func (o *oneWay) Close() error                     { return nil }
