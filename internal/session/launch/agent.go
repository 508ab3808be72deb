package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
	"ringfence.dev/ringfence/internal/policy/toolchain"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/state"
)

// MaxSettings bounds a settings file of the host that is read to be shown.
const MaxSettings = 1 << 20

// settings are what the agent keeps and reads under HOME.
type settings struct {
	Base
	Contribution
	wanted map[string]map[string]any // keys of settings files that parts set, until they are placed
}

// Settings opens the project's own state: what the agent writes under HOME and
// the caches of package managers, private to this project. On top of it, read
// only, come the user's settings without their secrets.
func Settings(b Base, total Contribution) (Contribution, error) {
	st := &settings{Base: b, wanted: total.overlays}
	err := st.prepare(total.managed)
	return st.Contribution, err
}

func (st *settings) prepare(managed map[string][]byte) error {
	judge := agent.Judge{Secret: SecretVariable}
	judge.Dir, judge.Workspaces = st.Dir, st.Paths()
	for _, s := range st.Profile.State {
		if err := st.stateItem(s, judge); err != nil {
			return err
		}
	}
	for _, c := range toolchain.Caches() {
		st.keep(strings.TrimPrefix(c.Path, "~/"), true, nil, "package cache, private to this project")
	}
	for _, c := range st.Profile.Config {
		for _, p := range c.Paths {
			st.showConfig(c, agent.Expand(p, st.User.Home), judge)
		}
	}
	for path, set := range st.wanted { // of files that the host does not have
		data, err := agent.Overlaid(nil, set)
		if err != nil {
			return err
		}
		st.Put(path, data, "leads the agent to the broker")
	}
	inner, err := st.inner()
	if err != nil {
		return err
	}
	for _, f := range st.Profile.Managed {
		st.Put(f.Path, append(f.Fill(broker.Endpoint, st.Dir, st.Law.Policy.ModelAllows("search"), inner), managed[f.Path]...), "tells the agent that it is sandboxed")
	}
	return nil
}

func (st *settings) stateItem(s agent.State, j agent.Judge) error {
	rel, ok := strings.CutPrefix(s.Path, "~/")
	if !ok {
		return fmt.Errorf("agent %s: state %q is not under ~/", st.Profile.Name, s.Path)
	}
	var seed []byte
	if s.Kind == agent.KindFile {
		host, err := ReadIfPresent(filepath.Join(st.User.Home, rel), 16<<20)
		if err != nil {
			st.Notice(fmt.Sprintf("%s is not carried over: %v", plan.Show(s.Path), err))
		}
		seed = s.Fill(host, j)
	}
	st.keep(rel, s.Kind == agent.KindDir, seed, "state of "+st.Profile.Title+", private to this project")
	if len(s.Answer) > 0 {
		st.state[len(st.state)-1].Amend = func(now []byte) []byte { return s.Answered(now, j) }
	}
	return nil
}

// keep binds a path of the project's state at the same path under HOME.
func (st *settings) keep(rel string, dir bool, seed []byte, why string) {
	st.state = append(st.state, stateItem{state.Item{Path: rel, Dir: dir, Seed: seed}, why})
}

// showConfig shows one settings path of the host, if it exists: itself read-only,
// or a copy without secrets.
func (st *settings) showConfig(c agent.Config, p string, j agent.Judge) {
	if err := st.RefusePlanted(p); err != nil {
		st.Notice(fmt.Sprintf("%s is not shown: %v", plan.Show(p), err))
		return
	}
	real, err := filepath.EvalSymlinks(p)
	if err != nil {
		return
	}
	info, err := os.Stat(real)
	if err != nil || st.inWorkspace(real) {
		return
	}
	why := "settings of " + st.Profile.Title
	if c.Format != "" {
		st.showScrubbed(c, p, real, why, j)
		return
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return
	}
	// The profile names its paths one by one; a link may lead anywhere.
	if found := knownsecrets.Under(st.User.Home, real, nil); real != p && len(found) > 0 {
		st.Notice(fmt.Sprintf("%s is not shown: it leads to %s", plan.Show(p), found[0].Entry.What))
		return
	}
	hidden, err := c.Omitted(real, os.ReadDir)
	if err != nil {
		st.Notice(fmt.Sprintf("%s is not shown: %v", plan.Show(p), err))
		return
	}
	for _, h := range hidden {
		st.Masks = append(st.Masks, plan.Mask{Path: p + strings.TrimPrefix(h, real), Why: why})
	}
	st.Mounts = append(st.Mounts, plan.Mount{Src: real, Dst: p, Why: why})
	if info.IsDir() {
		st.carryLinks(p, real, why)
	}
}

func (st *settings) showScrubbed(c agent.Config, p, real, why string, j agent.Judge) {
	data, err := ReadIfPresent(real, MaxSettings)
	if err == nil {
		var gone []string
		if data, gone, err = c.Scrub(data, j); err == nil {
			if set := st.wanted[p]; set != nil && c.Format == "json" {
				delete(st.wanted, p)
				if data, err = agent.Overlaid(data, set); err != nil {
					st.Notice(fmt.Sprintf("%s is not shown: %v", plan.Show(p), err))
					return
				}
			}
			if len(gone) > 0 {
				st.Notice(fmt.Sprintf("%s is shown without %s", plan.Show(p), strings.Join(gone, ", ")))
			}
			st.Put(p, data, why+", without secrets")
			return
		}
	}
	st.Notice(fmt.Sprintf("%s is not shown: %v", plan.Show(p), err))
}
