package modelapi

import (
	"strings"
	"unicode"

	"ringfence.dev/ringfence/internal/strictjson"
)

// node says what may stand at a place in a body.
type node struct {
	free    bool             // anything: nobody acts on it but the model and the agent
	denied  bool             // nothing, unless what it needs is allowed
	needs   feature          // with denied
	members map[string]*node // of an object, by folded name; others are risky or unknown
	closed  bool             // no other members
	check   check            // of a string; nil: it is no address
}

// check reports whether a string passes, or what it needs to pass.
type check func(strictjson.Text) (feature, bool)

var (
	// unknown may hold anything that asks for nothing from outside.
	unknown = &node{}
	free    = &node{free: true}
	address = &node{check: onlyData}
	closed  = needs(never)

	unknownBody = unknown
)

func needs(f feature) *node { return &node{denied: true, needs: f} }

// risky are names that mean the same wherever a provider knows them.
var risky = map[string]*node{
	"mcpservers": needs(mcp), "mcpserver": needs(mcp), "serverurl": needs(mcp), "connectorid": needs(mcp),
	"container": needs(files), "containerid": needs(files), "fileid": needs(files), "fileids": needs(files),
	"plugins": needs(search), "searchparameters": needs(search), "enablesearch": needs(search), "websearch": needs(search), "websearchoptions": needs(search),
	"networkpolicy":  needs(fetch), // which hosts code that the provider runs may reach
	"vectorstoreids": needs(files), "skills": needs(files), "skillid": needs(files),
	"url": address, "uri": address, "fileuri": address, "fileurl": address, "imageurl": address, "videourl": address,
	"audiourl": address, "documenturl": address, "gcsuri": address, "href": address,
}

// modelName passes the name of a model, unless that one searches the web by itself.
func modelName(t strictjson.Text) (feature, bool) {
	if t.Size() > 256 {
		return never, false
	}
	name := strings.ToLower(t.String())
	for _, part := range []string{"search", "deep-research", ":online", "-online", "sonar"} {
		if strings.Contains(name, part) {
			return search, false
		}
	}
	return noAddress(t)
}

// words passes any string: it is read by the model, or kept for it.
func words(strictjson.Text) (feature, bool) { return never, true }

// oneOf passes the strings of a list. Others need what they are listed with.
func oneOf(pass []string, others map[string]feature) check {
	known := map[string]feature{}
	for name, f := range others {
		known[name] = f
	}
	for _, name := range pass {
		known[name] = passes
	}
	return func(t strictjson.Text) (feature, bool) {
		if t.Size() > 256 {
			return never, false
		}
		f := known[t.String()]
		return f, f == passes
	}
}

// passes stands for what needs nothing, where a feature is looked up.
const passes feature = 255

// noAddress passes a string that no provider would take for an address.
func noAddress(t strictjson.Text) (feature, bool) {
	const enough = 64
	var room [3 * enough]byte
	s := trimmed(t.Prefix(room[:0], enough))
	if s == "" && t.Size() > enough { // it may come after much white space
		s = trimmed(t.Append(nil))
	}
	scheme, rest, found := strings.Cut(s[:min(len(s), enough)], ":")
	if !found {
		return fetch, !strings.HasPrefix(s, "//")
	}
	switch strings.ToLower(scheme) {
	case "http", "https", "ftp", "ftps", "ws", "wss", "file", "gs", "s3":
		return fetch, false
	}
	return fetch, !(strings.HasPrefix(rest, "//") && !strings.ContainsAny(scheme, " \t\n"))
}

// trimmed drops what parsers of addresses skip.
func trimmed(b []byte) string {
	return strings.TrimLeftFunc(string(b), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
	})
}

// onlyData passes an address that holds what it names.
func onlyData(t strictjson.Text) (feature, bool) {
	var room [32]byte
	s := t.Prefix(room[:0], 5)
	return fetch, len(s) == 0 || strings.EqualFold(string(s[:min(5, len(s))]), "data:")
}
