package netattack

import (
	"slices"

	"ringfence.dev/ringfence/test/netattack/probe"
)

// tunnels are hosts by which a server inside would be reached from anywhere.
var tunnels = []string{"tunnel.us.ngrok.com", "abc.ngrok.io", "abc.ngrok-free.app", "global.rel.tunnels.api.visualstudio.com", "abc.devtunnels.ms",
	"abc.trycloudflare.com", "region1.argotunnel.com", "abc.loca.lt", "serveo.net", "localhost.run", "controlplane.tailscale.com", "abc.tailnet.ts.net", "ssh.tmate.io", "bore.pub"}

// drops are hosts to which anybody can send something that anybody can read.
var drops = []string{"webhook.site", "abc.requestbin.com", "abc.oast.pro", "pastebin.com", "transfer.sh"}

// telemetry are hosts that count users and take what they are sent.
var telemetry = []string{"o1.ingest.sentry.io", "statsig.anthropic.com", "api.statsig.com", "http-intake.logs.datadoghq.com", "api.segment.io", "api.amplitude.com", "events.launchdarkly.com"}

func exfilRows() []row {
	var rows []row
	every := func(id, name string, but map[string]string) {
		rows = append(rows,
			row{id: id, what: name, want: closed, p: talk(name+":443", 4, "origin ", inTLS(name)...), open: sign{reply: "origin "}, record: "dns " + name, but: but, family: "4"},
			row{id: id, what: name + ", IPv6", want: closed, p: talk(name+":80", 6, "origin ", probe.Say(get(name))), open: sign{reply: "origin "}, record: "dns " + name, but: but, family: "6"},
			row{id: id, what: name + " by CONNECT", want: closed, p: tunnel(connectTo(name+":443"), "origin ", inTLS(name)...), open: sign{reply: "origin "},
				says: "HTTP/1.1 403 ", record: "connect " + name + ":443", but: but},
			row{id: id, what: name + " by SOCKS5", want: closed, p: socksTo(socksName(name, 443), "origin ", inTLS(name)...), open: sign{reply: "origin "},
				says: "\x05\x02", record: "socks " + name + ":443", but: but})
	}
	for _, name := range slices.Concat(tunnels, drops) {
		every("EX-010", name, nil)
	}
	const public = "mode internet is every public host"
	for _, name := range telemetry {
		every("EX-007", name, map[string]string{"internet": public, "tunnels": public, "everything": public})
	}
	return append(rows, publishRows()...)
}

// publishRows write to a registry that may be read.
func publishRows() []row {
	var rows []row
	for _, way := range requestWays {
		for _, method := range []string{"PUT", "POST", "DELETE"} {
			p := request(way, method, "registry.test", "/canary-"+way)
			rows = append(rows, row{id: "EX-004", what: p.ID, want: closed, p: p, open: sign{heard: method + " /canary-" + way + " "}, says: status(403)})
		}
		p := request(way, "GET", "registry.test", "/canary-"+way)
		rows = append(rows, row{id: "EX-004", what: p.ID, want: works, p: p, open: sign{heard: "GET /canary-" + way + " "}})
	}
	return rows
}
