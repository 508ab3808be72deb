package probe

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// look tells what can be seen of the network. Done says that it is more than a
// loopback.
func (at Where) look(what string) Answer {
	if strings.HasPrefix(what, "@") {
		return abstract(what)
	}
	switch what {
	case "interfaces":
		return others("/proc/net/dev", func(line string) string {
			name, _, ok := strings.Cut(line, ":")
			if !ok {
				return ""
			}
			return strings.TrimSpace(name)
		})
	case "routes":
		return others("/proc/net/route", func(line string) string { return field(line, 0, "Iface") })
	case "routes6":
		return others("/proc/net/ipv6_route", func(line string) string { return field(line, 9, "") })
	case "search":
		b, err := os.ReadFile("/etc/resolv.conf")
		found := slices.ContainsFunc(strings.Fields(string(b)), func(w string) bool { return w == "search" || w == "domain" })
		return Answer{Got: b, Done: err == nil && found}
	case "control":
		return abstract(fmt.Sprintf("@ringfence/%d/%s", os.Getuid(), at.Session))
	case "ports":
		return ports()
	case "route message", "mtu", "netfilter", "low port":
		return change(what)
	}
	return Answer{End: "not known: " + what}
}

// others collects the devices of a table of the kernel that are not lo.
func others(path string, device func(line string) string) Answer {
	b, err := os.ReadFile(path)
	if err != nil {
		return Answer{End: ended(err)}
	}
	var found []string
	for line := range strings.Lines(string(b)) {
		if d := device(line); d != "" && d != "lo" && !leads(d) && !slices.Contains(found, d) {
			found = append(found, d)
		}
	}
	return Answer{Done: len(found) > 0, Text: strings.Join(found, " ")}
}

// leads holds for the interface by which a sentry's frames come to the gate.
func leads(device string) bool {
	i, err := net.InterfaceByName(device)
	return err == nil && len(i.HardwareAddr) == 6 && slices.Contains(plan.VethMAC[:], [6]byte(i.HardwareAddr))
}

func field(line string, n int, head string) string {
	f := strings.Fields(line)
	if len(f) <= n || f[n] == head {
		return ""
	}
	return f[n]
}

// abstract connects to a socket without a path, as the commands of ringfence do.
func abstract(name string) Answer {
	c, err := net.DialTimeout("unix", name, patience)
	if err != nil {
		return Answer{End: ended(err), Text: name}
	}
	c.Close()
	return Answer{Done: true, Text: name}
}

// own are the ports of the gate in a sandbox.
var own = []int{53, 801, 808, 809}

// ports looks for servers on the loopbacks where the proxies of others would be.
func ports() Answer {
	list := []int{1080, 8080, 8118, 8888, 9050}
	for p := 1; p < 1100; p++ {
		list = append(list, p)
	}
	for p := 3128; p <= 3140; p++ {
		list = append(list, p)
	}
	var found []string
	for _, p := range list {
		for _, host := range []string{"127.0.0.1", "::1"} {
			c, err := net.DialTimeout("tcp", net.JoinHostPort(host, strconv.Itoa(p)), time.Second)
			if err != nil {
				continue
			}
			c.Close()
			if !slices.Contains(own, p) {
				found = append(found, fmt.Sprintf("%s:%d", host, p))
			}
		}
	}
	return Answer{Done: len(found) > 0, Text: strings.Join(found, " ")}
}
