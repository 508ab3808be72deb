package probe

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
)

// Try is one way to somewhere. It was gone if what the origin says comes back.
type Try struct {
	Host string `json:"host"` // a name, or an address
	Port uint16 `json:"port"`
	Say  []byte `json:"say,omitempty"` // sent first
}

// String is for people.
func (t Try) String() string {
	host := t.Host
	if a, ok := HostAddr(host); ok {
		host = "a name for " + a.String()
	}
	text := fmt.Sprintf("%s, port %d", host, t.Port)
	if line, _, ok := strings.Cut(string(t.Say), "\r\n"); ok {
		text += fmt.Sprintf(", %.60q", line)
	}
	return text
}

// NetTarget says what to try on the network. Whatever it names is tried in a network
// namespace that leads nowhere, or not at all.
type NetTarget struct {
	Canary   string           `json:"canary"`   // digest of what every origin says
	NS       uint64           `json:"ns"`       // the host's network namespace
	Tries    map[string][]Try `json:"tries"`    // by the name of the probe
	Servers  []netip.AddrPort `json:"servers"`  // where names are asked for
	Foreign  []netip.Addr     `json:"foreign"`  // where datagrams go
	Datagram netip.AddrPort   `json:"datagram"` // UDP of the host's loopback, which must hear nothing
	Control  string           `json:"control"`  // abstract socket of the session's control, without the NUL

	bare bool // this is the control: a network without walls
	six  bool // IPv6 is there
}

// DecodeNetTarget reads a target as strictly as DecodeTarget.
func DecodeNetTarget(r io.Reader) (*NetTarget, error) {
	var t NetTarget
	if err := decode(r, &t); err != nil {
		return nil, fmt.Errorf("decode target: %w", err)
	}
	if err := t.validate(); err != nil {
		return nil, fmt.Errorf("decode target: %w", err)
	}
	return &t, nil
}

func (t *NetTarget) validate() error {
	if b, err := hex.DecodeString(t.Canary); err != nil || len(b) != 32 {
		return fmt.Errorf("canary %q is not a digest", t.Canary)
	}
	if t.NS == 0 {
		return errors.New("no number of the host's net namespace")
	}
	if t.Control == "" || strings.ContainsRune(t.Control, 0) {
		return fmt.Errorf("control %q is not the name of a socket", t.Control)
	}
	if len(t.Servers) == 0 || len(t.Foreign) == 0 || !t.Datagram.Addr().IsLoopback() {
		return errors.New("no server of names, or nowhere for datagrams to go")
	}
	for _, p := range netBattery {
		if p.tries && len(t.Tries[p.name]) == 0 {
			return fmt.Errorf("nothing to try for %s", p.name)
		}
	}
	for _, list := range t.Tries {
		for _, try := range list {
			if _, err := question(try.Host, typeA); try.Port == 0 || err != nil {
				return fmt.Errorf("%q port %d is nowhere", try.Host, try.Port)
			}
		}
	}
	return nil
}

// HostName is a name that stands for an address: who resolves names for a proof, in
// a sandbox or in the control, reads the answer from the question.
func HostName(a netip.Addr, rest string) string {
	return "a" + hex.EncodeToString(a.AsSlice()) + "." + rest
}

// HostAddr is the address that a name of HostName stands for.
func HostAddr(name string) (netip.Addr, bool) {
	label, _, _ := strings.Cut(name, ".")
	digits, ok := strings.CutPrefix(label, "a")
	b, err := hex.DecodeString(digits)
	if !ok || err != nil {
		return netip.Addr{}, false
	}
	return netip.AddrFromSlice(b)
}
