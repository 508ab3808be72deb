package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Broker is what the broker does for an agent besides its defaults. A nil list or
// flag was not written.
type Broker struct {
	Secrets    List  // names of secrets that may be used; nil means all
	ModelAllow List  // of modelFeatures; nil means what the mode of the network gives, see ModelFeatures
	Git        List  // refusals of git that are switched off
	Protected  List  // branches besides the default one
	Repos      List  // further repositories, see ParseRepo
	Open       List  // requests to common hosts besides reading, METHOD HOST/PATH
	Decoys     *Flag // nil means on
	Sign       *Flag // nil means on
	Forges     *Flag // whether logins of forges are used; nil means on
}

var (
	modelFeatures = []string{modelSearch, "fetch", "code", "files", "mcp"}
	gitRefusals   = []string{"push-default", "force", "delete", "tags", "other-repos", "workflows"}
)

// modelSearch is what the tools of agents need of a provider.
const modelSearch = "search"

// ModelFeatures are what a provider of models may be asked to do besides answering. Where
// nobody wrote them down they follow the mode: a search brings in what strangers wrote, and
// in locked nothing is to come in but the answers of the model.
func (p *Policy) ModelFeatures() []string {
	if p.Broker.ModelAllow == nil && p.Network.Mode != nil && groupsIn(p.Network.Mode.Value) {
		return []string{modelSearch}
	}
	return p.Broker.ModelAllow.Values()
}

// ModelAllows reports whether a provider may be asked for a feature.
func (p *Policy) ModelAllows(feature string) bool {
	return slices.Contains(p.ModelFeatures(), feature)
}

// tightenModel keeps what both allow. A base that says nothing allows a search at most.
func tightenModel(base, over List) List {
	switch {
	case base != nil:
		return named(base, over)
	case over == nil, over.has(modelSearch):
		return nil
	}
	return List{}
}

const patternBranch = `^[^ ~^:?\[\\/][^ ~^:?\[\\]*$`

const maxBranch = 255

// checkBranch takes what git takes for the name of a branch, and stars.
func checkBranch(v string) error {
	if err := checkText(v); err != nil {
		return err
	}
	switch {
	case v == "" || len(v) > maxBranch:
		return fmt.Errorf("the name of a branch has 1 to %d bytes", maxBranch)
	case strings.HasPrefix(v, "refs/"):
		return fmt.Errorf("%q: a branch is written without refs/heads/", v)
	case strings.ContainsAny(v, " ~^:?[\\") || strings.Contains(v, "..") || strings.Contains(v, "@{") ||
		strings.HasPrefix(v, "-") || strings.Contains("/"+v, "/.") || strings.Contains("/"+v+"/", "//") || strings.HasSuffix(v, "."):
		return fmt.Errorf("%q is no name of a branch", v)
	}
	return nil
}

// on is the value of a flag that is on unless written otherwise.
func (f *Flag) on() bool { return f == nil || f.Value }

// DecoysOn reports whether decoys are to be laid out.
func (b *Broker) DecoysOn() bool { return b.Decoys.on() }

// SignOn reports whether commits and tags may be signed.
func (b *Broker) SignOn() bool { return b.Sign.on() }

// ForgesOn reports whether logins of forges may be used.
func (b *Broker) ForgesOn() bool { return b.Forges.on() }

// tightenBroker takes from over what can only take away. More protected branches
// and decoys are the tighter side.
func tightenBroker(b, o *Broker) {
	b.ModelAllow = tightenModel(b.ModelAllow, o.ModelAllow)
	b.Git = named(b.Git, o.Git)
	b.Repos = named(b.Repos, o.Repos)
	b.Open = named(b.Open, o.Open)
	if b.Secrets == nil { // all of them
		b.Secrets = join(nil, o.Secrets)
	} else {
		b.Secrets = named(b.Secrets, o.Secrets)
	}
	b.Protected = join(b.Protected, o.Protected)
	if o.Decoys != nil && o.Decoys.Value && !b.Decoys.on() {
		b.Decoys = o.Decoys
	}
	if !o.Sign.on() && b.Sign.on() {
		b.Sign = o.Sign
	}
	if !o.Forges.on() && b.Forges.on() {
		b.Forges = o.Forges
	}
}

// widensBroker lists what of one key of over base does not give already.
func widensBroker(k *key, base, over *Policy) List {
	var out List
	switch k.name {
	case "decoys":
		if f := over.Broker.Decoys; !f.on() && base.Broker.Decoys.on() {
			out = List{{"false", f.Source}}
		}
	case "sign":
		if f := over.Broker.Sign; f != nil && f.Value && !base.Broker.Sign.on() {
			out = List{{"true", f.Source}}
		}
	case "forges":
		if f := over.Broker.Forges; f != nil && f.Value && !base.Broker.Forges.on() {
			out = List{{"true", f.Source}}
		}
	case "protected":
	default:
		have := *k.list(base)
		if k.name == "secrets" && have == nil {
			return nil
		}
		given := have.has
		if k.name == "model-allow" && have == nil {
			given = base.ModelAllows
		}
		for _, r := range *k.list(over) {
			if !given(r.Value) {
				out = append(out, r)
			}
		}
	}
	return out
}
