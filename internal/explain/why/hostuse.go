package why

import (
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
)

// uses are what hosts are good for besides what somebody wants of them: where others
// put what an agent may read, and where an agent can put what others may read.
var uses = []struct {
	suffix address.Name
	use    string
}{
	{"github.com", "pushes, gists, issues and comments, to whoever's account the sender has a token for"},
	{"api.github.com", "gists, issues and comments, with any token that is sent along"},
	{"githubusercontent.com", "files that anybody has put there"},
	{"gitlab.com", "pushes, snippets and issues, with any token that is sent along"},
	{"bitbucket.org", "pushes and snippets, with any token that is sent along"},
	{"codeberg.org", "pushes and issues, with any token that is sent along"},
	{"npmjs.org", "packages to be published, with any token that is sent along"},
	{"pypi.org", "packages to be published, with any token that is sent along"},
	{"amazonaws.com", "buckets and functions that anybody can have"},
	{"googleapis.com", "buckets that anybody can have"},
	{"windows.net", "blobs that anybody can have"},
	{"slack.com", "messages into any workspace whose webhook the sender knows"},
	{"discord.com", "messages into any channel whose webhook the sender knows"},
	{"telegram.org", "messages by any bot whose token the sender knows"},
	{"huggingface.co", "models and files that anybody has put there, and uploads"},
	{"docker.io", "images that anybody has put there, and uploads"},
	{"ghcr.io", "images that anybody has put there, and uploads"},
	{"google.com", "forms, documents and scripts that anybody can have"},
	{"microsoft.com", "forms and documents that anybody can have"},
	{"cloudflare.com", "workers and tunnels that anybody can have"},
	{"stackoverflow.com", "what anybody has written, to be read by the agent"},
	{"reddit.com", "what anybody has written, to be read by the agent"},
	{"openai.com", "uploads and conversations, with any key that is sent along"},
	{"anthropic.com", "uploads and conversations, with any key that is sent along"},
}

// alsoHost says what else a rule about a host lets through.
func alsoHost(t address.Target) []string {
	var out []string
	switch t.Port {
	case 443:
		out = append(out, "every path of it and every upload to it: what is inside TLS is not seen")
	case 80:
		out = append(out, "every method and path of it in the clear, uploads included")
	default:
		out = append(out, fmt.Sprintf("any protocol on port %d, without a look at what is said", t.Port))
	}
	use, best := "", address.Name("")
	for _, u := range uses {
		if (t.Name == u.suffix || t.Name.Under(u.suffix)) && len(u.suffix) > len(best) {
			use, best = u.use, u.suffix
		}
	}
	if use != "" {
		out = append(out, use)
	}
	for n := t.Name; n != ""; {
		if _, shared := (address.Rule{Name: n, Below: true}).Shared(); shared {
			out = append(out, fmt.Sprintf("what a stranger put there: anybody can have a name below %s", n))
			break
		}
		_, rest, _ := strings.Cut(string(n), ".")
		n = address.Name(rest)
	}
	for _, g := range policy.Groups() {
		if !g.Deny {
			continue
		}
		for _, h := range g.Hosts {
			h, _, _ = strings.Cut(h, ":") // of the table, which is plain
			if below, star := strings.CutPrefix(h, "*."); h == string(t.Name) || star && t.Name.Under(address.Name(below)) {
				out = append(out, "it is one of the "+g.About)
				break
			}
		}
	}
	return out
}
