package registries

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/registry/npm"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// forYarn stands where a scope does: the registry of all packages, for yarn alone. Its
// settings are not npm's, and but for its first version it does not read those. No scope is
// called so.
const forYarn = "yarn+"

// readYarn gathers what yarn's own settings of the user say. Its logins stand with npm's:
// a login is for its host, whoever asks.
func (ns *nodes) readYarn() {
	for _, name := range []string{".yarnrc", ".yarnrc.yml"} {
		path := filepath.Join(ns.User.Home, name)
		data, ok := ns.ClientFile(path)
		if !ok {
			continue
		}
		rc, err := parseYarn(name, data, ns.Getenv)
		if err != nil {
			ns.Notice(fmt.Sprintf("%s: %v: its registries are not asked", plan.Show(path), err))
			continue
		}
		merge(ns.rc, rc)
		merge(ns.yarn, rc.Registries())
	}
	for _, name := range []string{"YARN_REGISTRY", "YARN_NPM_REGISTRY_SERVER"} {
		if at := ns.Getenv(name); at != "" {
			ns.yarn[""] = at
		}
	}
	for scope, at := range ns.yarn {
		if scope != "" && ns.says[scope] == "" {
			ns.says[scope] = at
		}
	}
}

// projectYarn adds what the project's files say to yarn.
func (ns *nodes) projectYarn(dir string, said map[string]string) {
	for _, name := range []string{".yarnrc", ".yarnrc.yml"} {
		data, err := file.Read(filepath.Join(dir, name), maxRC, unix.O_NOFOLLOW)
		if err != nil {
			continue
		}
		rc, err := parseYarn(name, data, nil)
		if err != nil {
			ns.Notice(fmt.Sprintf("the project's %s: %v: what it names has no door", name, err))
			continue
		}
		for scope, at := range rc.Registries() {
			if scope == "" {
				scope = forYarn
			}
			said[scope] = at
		}
	}
}

func parseYarn(name string, data []byte, expand func(string) string) (npm.RC, error) {
	if name == ".yarnrc" {
		return npm.ParseYarn1(data), nil
	}
	return npm.ParseYarn(data, expand)
}

// tellYarn says where its registries are, where it would not find them by itself. A
// variable outranks what a project says, so it is one only where that must be.
func (ns *nodes) tellYarn(said map[string]string) {
	first, scopes := "", ""
	for _, r := range ns.order {
		for _, scope := range r.scopes {
			switch {
			case scope == forYarn && (r.path != "" || said[forYarn] == ""):
				ns.Set("registry", "YARN_NPM_REGISTRY_SERVER", r.at())
				first = fmt.Sprintf("registry %q\n", r.at()) // a variable for it would be an error to later versions
			case strings.HasPrefix(scope, "@") && ns.yarn[scope] != "" && r == ns.scoped(scope):
				scopes += fmt.Sprintf("  %s:\n    npmRegistryServer: %q\n", scope[1:], r.at())
			}
		}
	}
	if first != "" {
		ns.Put(filepath.Join(ns.User.Home, ".yarnrc"), []byte(first), "leads yarn to the host's registry")
	}
	if scopes != "" {
		ns.Put(filepath.Join(ns.User.Home, ".yarnrc.yml"), []byte("npmScopes:\n"+scopes), "leads yarn to the host's registries")
	}
}

// scoped is the registry of a scope, for yarn.
func (ns *nodes) scoped(scope string) *npmRegistry {
	u, err := npm.ParseRegistry(ns.yarn[scope])
	if err != nil {
		return nil
	}
	return ns.found[bare(u).String()]
}
