package plan

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"
)

// TestInSentry: the plan of PID 1 on a sentry can be read there, has the walls that the
// sentry knows, and tells nothing of the host.
func TestInSentry(t *testing.T) {
	gate := Gate{netip.MustParseAddr("192.0.0.1"), netip.MustParseAddr("fd00::1")}
	p := &Plan{Version: Version, Sentry: &Sentry{Program: "/usr/bin/runsc"}, Walls: AllWalls(),
		Ops:      []Op{{Do: DoLayer, Dst: "/work", Src: "/host/tree", Upper: "/host/upper", Work: "/host/work"}, {Do: DoFile, Dst: "/etc/x", Data: []byte("/host/secret")}},
		Landlock: Landlock{ABI: 4, Write: []Raw{"/work", "/tmp"}}, Process: Process{Argv: []Raw{"sh"}, Dir: "/work"},
		Capture: &Capture{Routes: [][]byte{{1}}, Rules: []byte{1}, Listen: []Listen{{"gate", "tcp", 1}}, Gate: gate}}
	head, rest, err := Encode(p.InSentry())
	if err != nil || len(rest) > 0 {
		t.Fatal(err, len(rest))
	}
	if bytes.Contains(head, []byte("/host")) {
		t.Errorf("it tells of the host: %s", head)
	}
	in, err := Decode(head)
	if err != nil {
		t.Fatal(err)
	}
	if !in.Sentry.Inside || in.Capture != nil || !slices.Equal(in.Walls, []Wall{WallCaps, WallNoNewPriv, WallSeccomp, WallTTY}) || len(in.Ops) != 2 {
		t.Errorf("%+v", in)
	}
	p.Capture.Routes, p.Capture.Veth = nil, &Veth{[]byte{1}, []byte{1}, [][]byte{{1}, {1}}, [][]byte{{1}, {1}}}
	if head, _, err = Encode(p.InSentry()); err == nil {
		in, err = Decode(head)
	}
	if err != nil || in.Capture.Gate != gate || len(in.Capture.Listen) != 1 || in.Capture.Veth != nil || len(in.Capture.Rules) > 0 {
		t.Errorf("with a network stack of its own: %+v (%v)", in.Capture, err)
	}
	p.Sentry.Program = "runsc"
	if err := p.validate(); err == nil {
		t.Error("a relative program was accepted")
	}
}
