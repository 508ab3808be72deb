package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
)

// network measures the gate: the same client against the same origin on the host's
// loopback, straight, through the gate (--host-port) and through srt's proxy, in
// turns. Ratios are taken round by round and their medians told.
func (b *bench) network() error {
	dir, err := b.workspace("net", nil)
	if err != nil {
		return err
	}
	program := filepath.Join(dir, loadName)
	if err := copySelf(program); err != nil {
		return err
	}
	l, err := origin()
	if err != nil {
		return err
	}
	defer l.Close()
	addr := l.Addr().String()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	ways := map[string][]string{
		"direct":    {program, addr},
		"ringfence": b.inside([]string{"--host-port", port}, program, addr),
	}
	if b.far != "" {
		over, err := relayTo(addr)
		if err != nil {
			return err
		}
		defer over.Close()
		ways["relay"] = []string{program, over.Addr().String()}
		ways["far"] = append([]string{b.far}, ways["ringfence"][1:]...)
	}
	if b.srt != "" {
		settings := b.dir + "/srt-net.json"
		text := `{"network":{"allowedDomains":["localhost"],"deniedDomains":[]},"filesystem":{"denyRead":[],"allowWrite":["."],"denyWrite":[]}}`
		if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
			return err
		}
		ways["srt"] = []string{b.srt, "--settings", settings, program, addr}
	}
	got := map[string][]load{}
	for range b.rounds {
		for name, argv := range ways {
			out, err := run(b.command(dir, argv...))
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			var x load
			if err := json.Unmarshal(out, &x); err != nil {
				return fmt.Errorf("%s: %q: %w", name, out, err)
			}
			got[name] = append(got[name], x)
		}
	}
	b.netRows(got)
	return b.launchWithGate(dir)
}

func (b *bench) netRows(got map[string][]load) {
	ratio := func(a, c string, of func(load) float64) float64 {
		var t times
		for i := range got[a] {
			t = append(t, of(got[a][i])/of(got[c][i]))
		}
		return t.median()
	}
	bulk, fresh := func(l load) float64 { return l.Bulk }, func(l load) float64 { return l.Fresh }
	alive, many := func(l load) float64 { return l.Alive }, func(l load) float64 { return l.Many }
	r := ratio("ringfence", "direct", bulk)
	b.add("bulk through the gate / direct", r >= 0.65, "at least 0.65", "%.2f", r)
	b.note("fresh connection by --host-port / direct, median", "%.2f", ratio("ringfence", "direct", fresh))
	r = ratio("ringfence", "direct", alive)
	b.add("request on an open connection / direct, median", r <= 1.8, "at most 1.8", "%.2f", r)
	r = ratio("ringfence", "direct", many)
	b.add("requests a second, 16 connections / direct", r >= 0.55, "at least 0.55", "%.2f", r)
	if len(got["far"]) > 0 {
		r = ratio("far", "relay", bulk)
		b.add("bulk over a far link / over a plain relay", r >= 0.5, "at least 0.5", "%.2f", r)
	}
	if len(got["srt"]) > 0 {
		r = ratio("ringfence", "srt", bulk)
		b.add("bulk through the gate / srt", r >= 5, "at least 5", "%.1f", r)
		r = ratio("srt", "ringfence", fresh)
		b.add("fresh connection through srt / by --host-port", r >= 5, "at least 5", "%.1f", r)
	}
	for _, name := range []string{"direct", "ringfence", "relay", "far", "srt"} {
		if l := got[name]; len(l) > 0 {
			b.note("network, "+name, "%.0f MB/s, %.0f µs fresh, %.0f µs alive, %.1f k/s", medianOf(l, bulk)/1e6, medianOf(l, fresh)*1e6, medianOf(l, alive)*1e6, medianOf(l, many)/1e3)
		}
	}
}

// relayTo copies what connects to it to an address, without splice: as a relay does that
// looks at what passes.
func relayTo(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	one := func(to, from net.Conn) {
		io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, 128<<10))
		to.(*net.TCPConn).CloseWrite()
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				o, err := net.Dial("tcp", addr)
				if err != nil {
					return
				}
				defer o.Close()
				go one(o, c)
				one(c, o)
			}()
		}
	}()
	return l, nil
}

// launchWithGate compares a start with a network and one without.
func (b *bench) launchWithGate(dir string) error {
	all, err := b.hyperfine(dir, b.rounds, b.inside([]string{"--net", "none"}, "true"), b.inside(nil, "true"))
	if err != nil {
		return err
	}
	med, least := ratio(all[1], all[0])
	b.add("start with the gate / without", med <= 1.5, "at most 1.5", "%.2f (minima %.2f)", med, least)
	return nil
}

func copySelf(to string) error {
	in, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}
