package netattack

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/netattack/probe"
	"ringfence.dev/ringfence/test/rungs"
	"ringfence.dev/ringfence/test/world"
)

// internal are addresses that are nobody's business from inside: of other networks,
// of clouds, of translators that lead back to them. All of them answer in this world.
var internal = []string{
	"10.0.0.1", "10.9.0.1", "172.16.0.1", "172.31.255.254", "192.168.1.1", "100.64.0.1", "100.100.100.100", "100.127.255.254",
	"169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.9.9", "168.63.129.16", "100.100.100.200", "192.0.0.1", "192.0.0.192",
	"192.88.99.1", "198.19.255.254", "240.0.0.1", "255.255.255.254",
	"fd00::1", "fc00::1", "fd00:ec2::254", "fd20:ce::254", "fd7a:115c:a1e0::1", "fec0::1", "64:ff9b::a00:1", "64:ff9b:1::a00:1", "64:ff9b::7f00:1",
	"2002:a00:1::1", "2002:7f00:1::1", "2001::1", "2001:2::ffff:1", "::10.0.0.1", "::ffff:0:a00:1", "100::1", "5f00::1",
}

// magic are the addresses behind which others keep the host.
var magic = []string{"10.0.2.2", "10.0.2.3", "169.254.1.1", "169.254.2.2", "192.168.65.254", "192.168.65.253", "172.17.0.1", world.Router4, world.Router6}

// hostOwn are the host's.
var hostOwn = []string{world.Host4, world.Host6, world.HostPrivate4, world.HostPrivate6}

// loopbacks are the host's in all spellings that a socket takes.
var loopbacks = []string{"127.0.0.1", "127.0.0.2", "127.255.255.254", "0.0.0.0", "::1", "::"}

// canary is what the one at an address says.
func canary(a netip.Addr) string { return "canary " + netip.AddrPortFrom(a, canaryPort).String() }

func family(a netip.Addr) string {
	if a.Is4() {
		return "4"
	}
	return "6"
}

// literal tries an address by every way to the gate.
func literal(id, text, sees string) []row {
	a := netip.MustParseAddr(text)
	at := netip.AddrPortFrom(a, canaryPort).String()
	web := netip.AddrPortFrom(a, 80).String()
	open := sign{reply: sees}
	rows := []row{
		{id: id, what: text, p: talk(at, 0, sees), open: open, record: "tcp " + at},
		{id: id, what: text + " by CONNECT", p: tunnel(connectTo(at), sees), open: open, says: "HTTP/1.1 403 ", record: "connect " + at},
		{id: id, what: text + " by SOCKS5", p: socksTo(socksAddr(a, canaryPort), sees), open: open, says: "\x05\x02", record: "socks " + at},
		{id: id, what: text + " by a request to the proxy", p: talk(probe.Proxy4, 0, "origin ", probe.Say("GET http://"+web+"/ HTTP/1.1\r\nHost: "+web+"\r\nConnection: close\r\n\r\n")),
			open: sign{reply: "origin "}, says: "HTTP/1.1 403 ", record: "http " + web},
		{id: id, what: text + " port 80", p: talk(web, 0, "origin ", probe.Say(get("allowed.test"))), open: sign{reply: "origin "}, says: "HTTP/1.1 403 ", record: "tcp " + web},
	}
	for i := range rows {
		rows[i].want, rows[i].family = closed, family(a)
	}
	return rows
}

func netRows() []row {
	return slices.Concat(sightRows(), directRows(), loopbackRows(), addressRows(), packetRows(), changeRows(), programRows(), rareRows(), workRows())
}

// sightRows: what is there to be seen.
func sightRows() []row {
	look := func(id, what, where string) row {
		return row{id: id, what: what, want: closed, p: probe.Probe{Look: where}, open: sign{done: true}}
	}
	session := look("NT-019", "the session's own control socket", "control")
	session.alone = "there is no session outside; the test of two sessions connects from the host"
	ports := look("NT-019", "proxies of others on the loopbacks", "ports")
	return []row{
		look("NT-001", "an interface of the host", "interfaces"),
		look("NT-001", "a route out", "routes"), look("NT-001", "a route out, IPv6", "routes6"),
		session, ports,
	}
}

// directRows go where they like, as if there were no proxy.
func directRows() []row {
	var rows []row
	for _, f := range []int{4, 6} {
		add := func(id, what string, p probe.Probe, record string) {
			rows = append(rows, row{id: id, what: fmt.Sprintf("%s, IPv%d", what, f), want: closed, p: p, open: sign{reply: "origin "}, record: record, family: fmt.Sprint(f)})
		}
		add("NT-002", "HTTPS to a denied name", talk("denied.test:443", f, "origin ", inTLS("denied.test")...), "dns denied.test")
		add("NT-002", "HTTP to a denied name", talk("denied.test:80", f, "origin ", probe.Say(get("denied.test"))), "dns denied.test")
		at := map[int]string{4: denied4, 6: "[" + denied6 + "]"}[f]
		add("NT-002", "HTTPS to an address", talk(at+":443", 0, "origin ", inTLS("denied.test")...), "tcp "+at+":443")
		add("NT-002", "HTTPS to an address with an allowed name", talk(at+":443", 0, "origin ", inTLS("allowed.test")...), "tcp "+at+":443")
		add("NT-002", "HTTP to an address with an allowed name", talk(at+":80", 0, "origin ", probe.Say(get("allowed.test"))), "tcp "+at+":80")
	}
	v6 := row{id: "NT-021", what: "a name that has IPv6 only", want: closed, p: talk("denied-v6.test:80", 6, "origin ", probe.Say(get("denied-v6.test"))),
		open: sign{reply: "origin "}, record: "dns denied-v6.test", family: "6"}
	v6proxy := v6
	v6proxy.what, v6proxy.record = v6.what+", by the proxy's own IPv6", "connect denied-v6.test:443"
	v6proxy.p = talk(probe.Proxy6, 0, "origin ", append([]probe.Step{{Send: []byte(connectTo("denied-v6.test:443")), Until: established}}, inTLS("denied-v6.test")...)...)
	v6proxy.says = "HTTP/1.1 403 "
	after := row{id: "NT-002", what: "a denied name after all", want: closed, p: tunnel(connectTo("denied.test:443"), "origin ", inTLS("denied.test")...), open: sign{reply: "origin "}, says: "HTTP/1.1 403 "}
	after.p.Last = true // the journal tells with it how many it left out
	return append(rows, v6, v6proxy, after)
}

func loopbackRows() []row {
	const host = "canary host"
	var rows []row
	for _, text := range loopbacks {
		all := literal("NT-003", text, host)[:3]
		all[0].record = "" // the sandbox has a loopback of its own: nothing passes the gate
		rows = append(rows, all...)
	}
	mapped := func(id, text, sees string) row {
		return row{id: id, what: text + " in a socket of IPv6", want: closed, family: "6", open: sign{reply: sees},
			p: probe.Probe{Socket: &probe.Socket{Family: unix.AF_INET6, Type: unix.SOCK_STREAM, To: fmt.Sprintf("[%s]:%d", text, canaryPort)}}}
	}
	localhost := fmt.Sprintf("localhost:%d", canaryPort)
	shell := row{id: "NT-003", what: "127.0.0.1 by bash", want: closed, family: "4", open: sign{done: true},
		p: probe.Probe{Command: []string{"bash", "-c", fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d && grep -q canary <&3", canaryPort)}}}
	rows = append(rows, shell, mapped("NT-003", "::ffff:127.0.0.1", host), mapped("NT-009", "::ffff:10.0.0.1", "canary "),
		row{id: "NT-003", what: "localhost", want: closed, p: talk(localhost, 0, host), open: sign{reply: host}},
		row{id: "NT-003", what: "localhost by CONNECT", want: closed, p: tunnel(connectTo(localhost), host), open: sign{reply: host}, says: "HTTP/1.1 403 ", record: "connect " + localhost},
		row{id: "NT-003", what: "localhost by SOCKS5", want: closed, p: socksTo(socksName("localhost", canaryPort), host), open: sign{reply: host}, says: "\x05\x02", record: "socks " + localhost})
	for _, p := range []int{hostPort - 1, hostPort, hostPort + 1} {
		r := row{id: "NT-003", what: fmt.Sprintf("port %d of the host's loopback", p), want: closed, family: "4",
			p: talk(fmt.Sprintf("127.0.0.1:%d", p), 0, host), open: sign{reply: host}}
		if p == hostPort {
			r.but = map[string]string{"host-port": "this is the port", "everything": "this is the port"}
		}
		rows = append(rows, r)
	}
	return append(rows, neighbours()...)
}

// neighbours are where a port of the host's loopback that is open could lead further:
// the same port by another address, by a name, or asked for at the proxy.
func neighbours() []row {
	const host = "canary host"
	var rows []row
	for _, text := range slices.Concat(hostOwn, []string{"127.0.0.2"}) {
		a := netip.MustParseAddr(text)
		at := netip.AddrPortFrom(a, hostPort).String()
		rows = append(rows, row{id: "NT-005", what: "port 5433 of " + text, want: closed, family: family(a), p: talk(at, 0, host), open: sign{reply: host}})
	}
	loop := fmt.Sprintf("127.0.0.1:%d", hostPort)
	named := fmt.Sprintf("%s:%d", named("127.0.0.1"), hostPort)
	own := func(at string) row {
		return row{id: "NT-019", what: "the gate's own door " + at, want: closed, p: talk(at, 0, "", probe.Step{Send: []byte(get("allowed.test")), Shut: true}), open: sign{reply: "origin "}, check: closes,
			alone: "there is no gate outside"}
	}
	return append(rows,
		row{id: "NT-003", what: loop + " by CONNECT", want: closed, family: "4", p: tunnel(connectTo(loop), host), open: sign{reply: host}, says: "HTTP/1.1 403 ", record: "connect " + loop},
		row{id: "NT-003", what: loop + " by SOCKS5", want: closed, family: "4", p: socksTo(socksAddr(netip.MustParseAddr("127.0.0.1"), hostPort), host), open: sign{reply: host}, says: "\x05\x02", record: "socks " + loop},
		row{id: "PX-054", what: named, want: closed, family: "4", p: talk(named, 4, host), open: sign{reply: host}, record: "tcp " + named},
		own("127.0.0.1:801"), own("[::1]:801"),
	)
}

func addressRows() []row {
	var rows []row
	for _, text := range internal {
		rows = append(rows, literal("NT-009", text, canary(netip.MustParseAddr(text)))...)
	}
	for _, text := range magic {
		rows = append(rows, literal("NT-004", text, canary(netip.MustParseAddr(text)))...)
	}
	for _, text := range hostOwn {
		rows = append(rows, literal("NT-005", text, "canary host")[:3]...)
	}
	linkLocal := literal("NT-009", "fe80::1", "canary [fe80::1")[:1]
	linkLocal[0].record = fmt.Sprintf("tcp [fe80::1]:%d", canaryPort)
	for _, name := range []string{"host.docker.internal", "gateway.docker.internal", "host.containers.internal"} {
		to := fmt.Sprintf("%s:%d", name, canaryPort)
		rows = append(rows,
			row{id: "NT-004", what: name, want: closed, p: talk(to, 0, "canary "), open: sign{reply: "canary "}, record: "dns " + name},
			row{id: "NT-004", what: name + " by CONNECT", want: closed, p: tunnel(connectTo(to), "canary "), open: sign{reply: "canary "}, says: "HTTP/1.1 403 ", record: "connect " + to})
	}
	for _, p := range []uint16{allowedIP, allowedIP - 1} {
		at := netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), p).String()
		r := row{id: "NT-009", what: at, want: closed, family: "4", p: talk(at, 0, "canary "+at), open: sign{reply: "canary " + at}, record: "tcp " + at}
		if p == allowedIP {
			r.but = map[string]string{"allow-ip": "this is the address", "everything": "this is the address"}
		}
		rows = append(rows, r)
	}
	neighbour := fmt.Sprintf("10.0.0.2:%d", allowedIP)
	rows = append(rows, row{id: "NT-009", what: neighbour, want: closed, family: "4", p: talk(neighbour, 0, "canary "+neighbour), open: sign{reply: "canary " + neighbour}, record: "tcp " + neighbour})
	proxy := row{id: "NT-009", what: "the upstream proxy by its address", want: closed, family: "4", p: talk(proxyAddr, 0, "HTTP/1.1 200", probe.Say(connectTo("denied.test:443"))),
		open: sign{packet: "tcp " + proxyAddr}, record: "tcp " + proxyAddr, but: map[string]string{"proxy": "the gate itself goes there", "everything": "the gate itself goes there"}}
	return append(append(rows, linkLocal...), proxy)
}

// packetRows need no connection. The kernel refuses them without the gate's hearing of
// it, and says so at once: a client falls back to TCP.
func packetRows() []row {
	var rows []row
	refused := func(a probe.Answer) error {
		if !slices.Contains([]string{probe.Refused, "EPERM", "EACCES", "ENETUNREACH", "ENODEV", "EADDRNOTAVAIL", "EINVAL"}, a.End) {
			return fmt.Errorf("it was not refused at once: %q", a.End)
		}
		return nil
	}
	for _, to := range []string{"203.0.113.9:443", "203.0.113.9:123", "203.0.113.9:51820", "203.0.113.9:853", "10.0.0.1:161", "10.0.0.1:9999", "169.254.169.254:80", world.Router4 + ":67",
		"[2001:db8::9]:443", "[2001:db8::9]:51820", "[fd00::1]:161", "[" + world.Router6 + "]:547"} {
		a := netip.MustParseAddrPort(to)
		rows = append(rows, row{id: "NT-011", what: "UDP to " + to, want: closed, family: family(a.Addr()), p: probe.Probe{Packet: &probe.Packet{To: to, Data: []byte("canary")}},
			open: sign{packet: "udp " + to}, check: refused})
	}
	for _, to := range []string{"224.0.0.251:5353", "239.255.255.250:1900", "224.0.0.252:5355", "255.255.255.255:67", "192.0.2.255:137", "[ff02::fb]:5353", "[ff02::1:2]:547", "[ff05::c]:1900"} {
		a := netip.MustParseAddrPort(to)
		rows = append(rows, row{id: "NT-012", what: "UDP to " + to, want: closed, family: family(a.Addr()),
			p: probe.Probe{Packet: &probe.Packet{To: to, Data: []byte("canary"), Broadcast: a.Addr().Is4()}}, open: sign{packet: "udp " + to}, check: refused})
	}
	ping := []byte{8, 0, 0xf7, 0xff, 0, 0, 0, 0}
	rows = append(rows, row{id: "NT-011", what: "a ping", want: closed, family: "4", rootly: true, open: sign{packet: "icmp 203.0.113.9:0"},
		p: probe.Probe{Socket: &probe.Socket{Family: unix.AF_INET, Type: unix.SOCK_RAW, Proto: unix.IPPROTO_ICMP, To: "203.0.113.9:0", Data: ping}}})
	return rows
}

// changeRows try to move the walls. On a host root can, and the attempts leave
// everything as it was.
func changeRows() []row {
	var rows []row
	for what, script := range map[string]string{
		"add a route":           "ip route add 203.0.113.250/32 dev lo && ip route del 203.0.113.250/32 dev lo",
		"add a route, IPv6":     "ip -6 route add 2001:db8:ffff::1/128 dev lo && ip -6 route del 2001:db8:ffff::1/128 dev lo",
		"add an address":        "ip addr add 203.0.113.252/32 dev lo && ip addr del 203.0.113.252/32 dev lo",
		"add a device":          "ip link add sly0 type veth peer name sly1 && ip link del sly0",
		"add a rule of routing": "ip rule add pref 32000 lookup main && ip rule del pref 32000",
		"set a device":          "ip link set dev lo txqueuelen 1000",
		"change the rules":      "nft add table inet sly && nft flush ruleset",
		"flush by iptables":     "iptables -t nat -F",
		"shape traffic":         "tc qdisc add dev lo root pfifo && tc qdisc del dev lo root",
		"write a setting":       "v=$(cat /proc/sys/net/ipv4/ip_default_ttl) && echo $v >/proc/sys/net/ipv4/ip_default_ttl",
	} {
		rows = append(rows, row{id: "NT-013", what: what, want: closed, rootly: true, p: probe.Probe{Command: []string{"bash", "-c", script}}, open: sign{done: true}})
	}
	for what, name := range map[string]string{"a route by a message": "route message", "a socket to the rules": "netfilter", "the loopback's size of packets": "mtu", "a server at a low port": "low port"} {
		if name == "low port" && !rungs.Plain() {
			continue // package rungs has the reason
		}
		rows = append(rows, row{id: "NT-013", what: what, want: closed, rootly: name != "netfilter", p: probe.Probe{Look: name}, open: sign{done: true}})
	}
	return rows
}

// programRows are clients that want to be clever about proxies.
func programRows() []row {
	curl := func(id, what string, args ...string) row {
		args = append([]string{"env"}, args...)
		return row{id: id, what: what, want: closed, p: probe.Probe{Command: args}, open: sign{done: true}, record: "dns denied.test"}
	}
	var unset []string
	for _, v := range []string{"http_proxy", "https_proxy", "all_proxy"} {
		unset = append(unset, "-u", v, "-u", strings.ToUpper(v))
	}
	relay := row{id: "NT-017", what: "CONNECT passed on by another process", want: closed, open: sign{done: true}, record: "connect denied.test:443",
		p: probe.Probe{Relay: &probe.Relay{Command: []string{"curl", "-sSk", "-m15", "-x", "http://RELAY", "https://denied.test/"}}}}
	return []row{
		curl("NT-002", "curl without a proxy", append(unset, "curl", "-sSkf", "-m15", "--noproxy", "*", "https://denied.test/")...),
		curl("NT-018", "NO_PROXY=*", "NO_PROXY=*", "curl", "-sSkf", "-m15", "https://denied.test/"),
		curl("NT-018", "no_proxy=.test", "no_proxy=.test", "curl", "-sSf", "-m15", "http://denied.test/"),
		relay,
	}
}

// rareRows are sockets that a rule about TCP could miss.
func rareRows() []row {
	const to = "203.0.113.9:7701"
	sock := func(what string, s probe.Socket, open sign) row {
		return row{id: "NT-022", what: what, want: closed, p: probe.Probe{Socket: &s}, open: open}
	}
	said := sign{reply: "canary "}
	mptcp := sock("MPTCP", probe.Socket{Family: unix.AF_INET, Type: unix.SOCK_STREAM, Proto: unix.IPPROTO_MPTCP, To: to}, said)
	mptcp6 := sock("MPTCP, IPv6", probe.Socket{Family: unix.AF_INET6, Type: unix.SOCK_STREAM, Proto: unix.IPPROTO_MPTCP, To: "[2001:db8::9]:7701"}, said)
	fast := sock("data in the first packet", probe.Socket{Family: unix.AF_INET, Type: unix.SOCK_STREAM, To: to, Data: []byte("x"), Fast: true}, said)
	urgent := sock("urgent data", probe.Socket{Family: unix.AF_INET, Type: unix.SOCK_STREAM, To: to, Data: []byte("x"), Flags: unix.MSG_OOB}, said)
	fast.record, urgent.record = "tcp "+to, "tcp "+to
	rows := []row{mptcp, mptcp6, fast, urgent}
	const absent = "this kernel may have no such protocol"
	for what, s := range map[string]probe.Socket{
		"SCTP":     {Family: unix.AF_INET, Type: unix.SOCK_STREAM, Proto: unix.IPPROTO_SCTP, To: to},
		"DCCP":     {Family: unix.AF_INET, Type: unix.SOCK_DCCP, Proto: unix.IPPROTO_DCCP, To: to},
		"UDP-Lite": {Family: unix.AF_INET, Type: unix.SOCK_DGRAM, Proto: unix.IPPROTO_UDPLITE, To: to, Data: []byte("x")},
		"SMC":      {Family: unix.AF_SMC, Type: unix.SOCK_STREAM, To: to},
		"vsock":    {Family: unix.AF_VSOCK, Type: unix.SOCK_STREAM, To: to},
		"packets":  {Family: unix.AF_PACKET, Type: unix.SOCK_DGRAM, To: to, Data: []byte("x")},
	} {
		r := sock(what, s, sign{done: true})
		r.alone = absent
		rows = append(rows, r)
	}
	for what, proto := range map[string]int{"raw TCP": unix.IPPROTO_TCP, "raw UDP": unix.IPPROTO_UDP, "raw GRE": unix.IPPROTO_GRE, "raw IP": unix.IPPROTO_RAW} {
		r := sock(what, probe.Socket{Family: unix.AF_INET, Type: unix.SOCK_RAW, Proto: proto, To: "203.0.113.9:0", Data: make([]byte, 40)}, sign{done: true})
		r.rootly = true
		if proto == unix.IPPROTO_RAW {
			r.alone = "such a packet needs a header that is its own"
		}
		rows = append(rows, r)
	}
	return rows
}

// workRows are what people do all day.
func workRows() []row {
	const yes = "origin allowed.test "
	var rows []row
	for _, f := range []int{4, 6} {
		add := func(what string, p probe.Probe, record string) {
			rows = append(rows, row{id: "NT-023", what: fmt.Sprintf("%s, IPv%d", what, f), want: works, p: p, open: sign{reply: yes}, record: record, family: fmt.Sprint(f)})
		}
		proxy := map[int]string{4: probe.Proxy4, 6: probe.Proxy6}[f]
		hello := probe.Step{Send: []byte(connectTo("allowed.test:443")), Until: established}
		add("HTTPS", talk("allowed.test:443", f, yes, inTLS("allowed.test")...), "tcp allowed.test:443")
		add("HTTP", talk("allowed.test:80", f, yes, probe.Say(get("allowed.test"))), "tcp allowed.test:80")
		add("CONNECT", talk(proxy, 0, yes, append([]probe.Step{hello}, inTLS("allowed.test")...)...), "connect allowed.test:443")
		add("a request to the proxy", talk(proxy, 0, yes, probe.Say("GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n")), "http allowed.test:80")
	}
	rows = append(rows, row{id: "NT-023", what: "SOCKS5", want: works, p: socksTo(socksName("allowed.test", 443), yes, inTLS("allowed.test")...), open: sign{reply: yes}, record: "socks allowed.test:443"})
	for what, argv := range map[string][]string{
		"curl":             {"curl", "-sSf", "-m15", "--cacert", "ca.pem", "https://allowed.test/"},
		"curl with proxy":  {"curl", "-sSf", "-m15", "--cacert", "ca.pem", "-x", "http://PROXY4", "https://allowed.test/"},
		"curl with SOCKS5": {"curl", "-sSf", "-m15", "--cacert", "ca.pem", "-x", "socks5h://PROXY4", "https://allowed.test/"},
		"Python":           {"/usr/bin/python3", "-c", "import ssl,urllib.request as u;print(u.urlopen('https://allowed.test/',context=ssl.create_default_context(cafile='ca.pem')).read().decode())"},
	} {
		rows = append(rows, row{id: "NT-023", what: what, want: works, p: probe.Probe{Command: argv}, open: sign{reply: yes}})
	}
	return rows
}
