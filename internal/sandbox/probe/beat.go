package probe

import (
	"io"
	"net/netip"
	"time"
)

// BeatArg makes the hidden command hold one connection and send on it until that ends. It
// takes a NetTarget; what it tries is called like this.
const BeatArg = "beat"

// LinkNames are the checks of a link. No probe answers for them: the link that it would
// answer over is what is attacked.
func LinkNames() []string { return []string{"link", "link-end"} }

// every so often it sends.
const beatEvery = 20 * time.Millisecond

// beat reaches the origin of a try, and sends until it cannot.
func beat(in io.Reader) int {
	t, err := DecodeNetTarget(in)
	if err != nil || len(t.Tries[BeatArg]) == 0 || t.away() != nil {
		return 2
	}
	t.six = haveIPv6()
	try := t.Tries[BeatArg][0]
	addrs, err := t.addresses(try.Host)
	if err != nil {
		return 1
	}
	c, err := t.dial(netip.AddrPortFrom(addrs[0], try.Port))
	if err != nil {
		return 1
	}
	defer c.Close()
	c.SetDeadline(time.Time{})
	for tick := time.Tick(beatEvery); ; <-tick {
		if _, err := c.Write([]byte("beat")); err != nil {
			return 0
		}
	}
}
