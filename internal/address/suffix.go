package address

import (
	"slices"
	"strings"
)

// generic are the labels below which countries sell names: co.uk, com.au, or.jp.
// With a country's two letters they are nobody's own.
var generic = []string{"ac", "art", "asso", "biz", "club", "co", "com", "coop", "edu", "firm", "gen", "gob", "gouv", "gov", "govt", "go", "gr", "ind", "inf", "info", "int",
	"k12", "law", "ltd", "me", "med", "mil", "mobi", "name", "ne", "net", "nhs", "nic", "nom", "or", "org", "plc", "police", "press", "pro", "re", "res", "sch", "school", "store", "tm", "tv", "web"}

// bare holds for a suffix below which anybody can have a name from a registry: a
// top-level domain, or a generic label below a country's.
func bare(n Name) bool {
	first, last, two := strings.Cut(string(n), ".")
	if !two {
		return true
	}
	return len(last) == 2 && !strings.Contains(last, ".") && slices.Contains(generic, first)
}

// shared are domains whose owners hand out names to everybody: pages, buckets,
// functions, names for addresses. A rule with a star over one of them lets
// strangers in.
var shared = []Name{
	"amazonaws.com", "appspot.com", "azureedge.net", "azurefd.net", "azurewebsites.net", "backblazeb2.com", "bitbucket.io", "blob.core.windows.net", "blogspot.com", "cloudapp.net", "cloudfront.net",
	"codeberg.page", "ddns.net", "deno.dev", "digitaloceanspaces.com", "duckdns.org", "dyndns.org", "edgekey.net", "elasticbeanstalk.com", "firebaseapp.com", "fly.dev", "gitbook.io", "github.dev", "github.io", "githubpreview.dev", "gitlab.io",
	"glitch.me", "googleapis.com", "googleusercontent.com", "hashnode.dev", "herokuapp.com", "hf.space", "modal.run", "myshopify.com", "netlify.app", "nip.io", "no-ip.org", "notion.site", "onrender.com", "pages.dev", "pythonanywhere.com",
	"r2.dev", "railway.app", "readthedocs.io", "repl.co", "replit.app", "replit.dev", "run.app", "s3.amazonaws.com", "sharepoint.com", "sslip.io", "storage.googleapis.com", "streamlit.app", "surge.sh", "tumblr.com", "ts.net", "vercel.app", "vercel.dev", "web.app",
	"weebly.com", "wixsite.com", "wordpress.com", "workers.dev", "xip.io", "zeabur.app",
}

// Shared holds for a name below a domain whose names strangers can have.
func (n Name) Shared() bool {
	return slices.ContainsFunc(shared, n.Under)
}

// Registrable is the part of a name that somebody had to ask a registry, or the owner of
// a shared domain, for: below it, names cost nothing. An address or a name of one label
// is its own. It is by the tables above and not by the list that browsers keep: where
// they fall short, names of several owners count as one, which hides none of them.
func (n Name) Registrable() Name {
	for own := n; ; {
		_, after, more := strings.Cut(string(own), ".")
		if above := Name(after); !more || bare(above) || slices.Contains(shared, above) {
			return own
		}
		own = Name(after)
	}
}
