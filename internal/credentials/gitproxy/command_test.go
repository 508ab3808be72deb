package gitproxy

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode"
)

const (
	zeros = "0000000000000000000000000000000000000000"
	ones  = "1111111111111111111111111111111111111111"
	twos  = "2222222222222222222222222222222222222222"
)

func packets(lines ...string) string {
	var b []byte
	for _, l := range lines {
		if l == "" {
			b = appendMark(b, packetFlush)
			continue
		}
		b = AppendPacket(b, l)
	}
	return string(b)
}

func TestReadPush(t *testing.T) {
	const caps = "\x00 report-status-v2 side-band-64k quiet atomic object-format=sha1 agent=git/2.39.5"
	for what, c := range map[string]struct {
		in                       string
		commands, options, after int
	}{
		"one":                   {packets(zeros+" "+ones+" refs/heads/a"+caps, "") + "PACK", 1, 0, 4},
		"newlines":              {packets(zeros+" "+ones+" refs/heads/a"+caps+"\n", twos+" "+ones+" refs/heads/b\n", ""), 2, 0, 0},
		"deletion":              {packets(ones+" "+zeros+" refs/heads/a"+caps, ""), 1, 0, 0},
		"shallow":               {packets("shallow "+ones, "shallow "+twos, zeros+" "+ones+" refs/heads/a"+caps, ""), 1, 0, 0},
		"options":               {packets(zeros+" "+ones+" refs/heads/a"+caps+" push-options", "", "ci.skip", "title=a b", "") + "PACK", 1, 2, 4},
		"no options after all":  {packets(zeros+" "+ones+" refs/heads/a"+caps+" push-options", "", "") + "PACK", 1, 0, 4},
		"options not announced": {packets(zeros+" "+ones+" refs/heads/a"+caps, "", "ci.skip", ""), 1, 0, 15},
		"nothing":               {"0000", 0, 0, 0},
	} {
		t.Run(what, func(t *testing.T) {
			p, err := readPush(strings.NewReader(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if len(p.commands) != c.commands || len(p.options) != c.options || int64(len(c.in))-p.size != int64(c.after) {
				t.Errorf("%d commands, %d options, %d bytes after", len(p.commands), len(p.options), int64(len(c.in))-p.size)
			}
		})
	}
	many := make([]string, 0, maxCommands+2)
	many = append(many, zeros+" "+ones+" refs/heads/first"+caps)
	for i := range maxCommands {
		many = append(many, zeros+" "+ones+" refs/heads/"+strings.Repeat("a", i%500+1)+"/"+strings.Repeat("b", i/500+1))
	}
	for what, in := range map[string]string{
		"options without end":  packets(zeros+" "+ones+" refs/heads/a"+caps+" push-options", "", "ci.skip"),
		"option with controls": packets(zeros+" "+ones+" refs/heads/a"+caps+" push-options", "", "a\nb", ""),
		"too many commands":    packets(append(many, "")...),
	} {
		if _, err := readPush(strings.NewReader(in)); !errors.Is(err, errPush) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// FuzzReadPush: what is understood is in the bytes as git spells it, each command
// in a packet of its own and none left out; and no byte behind the list is taken.
func FuzzReadPush(f *testing.F) {
	const caps = "\x00 report-status side-band-64k agent=git/2"
	for _, s := range []string{"0000", packets(zeros+" "+ones+" refs/heads/a"+caps, "") + "PACK", packets("shallow "+ones, zeros+" "+ones+" refs/heads/a"+caps+"\n", ones+" "+zeros+" refs/tags/b\n", ""),
		packets(zeros+" "+ones+" refs/heads/a"+caps+" push-options", "", "ci.skip", "") + "PACK", packets(zeros+" "+ones+" refs/heads/a"+caps+" push-cert=x", ""),
		packets(strings.ToUpper(strings.Repeat("a", 40))+" "+ones+" refs/heads/a"+caps, ""), packets(zeros+" "+ones+" refs/heads/a/../main"+caps, "")} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		src := bytes.NewReader(in)
		p, err := readPush(src)
		if err != nil {
			if !errors.Is(err, errPush) && !errors.Is(err, errSHA256) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		if p.size != int64(len(in)-src.Len()) {
			t.Fatalf("the pack is said to begin at %d, %d bytes were taken", p.size, len(in)-src.Len())
		}
		var lines []string
		for pr := newPacketReader(bytes.NewReader(in)); ; {
			kind, payload, err := pr.Next()
			if err != nil || kind != packetData {
				break
			}
			if line := string(packetText(payload)); !strings.HasPrefix(line, "shallow ") {
				lines = append(lines, line)
			}
		}
		if len(lines) != len(p.commands) {
			t.Fatalf("%d lines, %d commands", len(lines), len(p.commands))
		}
		names := map[string]bool{}
		for i, c := range p.commands {
			want := c.old.String() + " " + c.new.String() + " " + c.ref
			if line, _, _ := strings.Cut(lines[i], "\x00"); line != want {
				t.Fatalf("%q read as %q", line, want)
			}
			if names[c.ref] || strings.Contains(c.ref, "..") || strings.ContainsFunc(c.ref, unicode.IsControl) || !strings.HasPrefix(c.ref, "refs/") {
				t.Fatalf("ref %q", c.ref)
			}
			names[c.ref] = true
			if i > 0 && strings.Contains(lines[i], "\x00") {
				t.Fatalf("capabilities on command %d", i)
			}
		}
		if report := p.report(make([]string, len(p.commands)), "forge.test"); len(report) > 0 {
			for pr := newPacketReader(bytes.NewReader(report)); ; {
				if kind, _, err := pr.Next(); err != nil {
					t.Fatalf("report without an end: %v", err)
				} else if kind == packetFlush {
					break
				}
			}
		}
	})
}

// FuzzAdvertisement: a client is shown no capability that we do not know.
func FuzzAdvertisement(f *testing.F) {
	f.Add([]byte(packets("# service=git-receive-pack\n", "", ones+" refs/heads/a\x00report-status push-cert=1 atomic\n", "")))
	f.Add([]byte(packets("# service=git-receive-pack\n", "", "version 1", zeros+" capabilities^{}\x00report-status", "")))
	f.Add([]byte(packets("# service=git-receive-pack\n", "", "ERR no\n")))
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := advertisement(bytes.NewReader(in))
		if err != nil {
			return
		}
		pr := newPacketReader(out)
		for {
			_, payload, err := pr.Next()
			if err != nil {
				return
			}
			_, caps, _ := strings.Cut(string(payload), "\x00")
			for _, word := range strings.Fields(caps) {
				if key, _, _ := strings.Cut(word, "="); key == "push-cert" || key == "session-id" {
					t.Fatalf("the client is shown %q", word)
				}
			}
		}
	})
}
