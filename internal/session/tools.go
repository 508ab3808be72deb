package session

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/session/toolbox"
)

// Box is where the tools of a session's project are.
func Box(b launch.Base) toolbox.Box { return toolbox.Of(b.Dirs, b.ProjectRoot()) }

// Tooled says whether a session has tools, or can get some.
func Tooled(b launch.Base) bool {
	if !launch.Tooled(b) {
		return false
	}
	if b.Policy.Tools.Asks() || len(b.Policy.Tools.Allow) > 0 {
		return true
	}
	have, err := Box(b).List()
	return err == nil && len(have) > 0
}

// withTools puts them behind all else on PATH: none of them takes the place of a program
// that is there.
func withTools(b launch.Base, path string) string {
	if !Tooled(b) {
		return path
	}
	return strings.TrimSuffix(path, ":") + ":" + launch.ToolsBin
}

// prepareTools shows the program that asks for them, and what those of nix are.
func prepareTools(b launch.Base) (out launch.Contribution, err error) {
	if !Tooled(b) {
		return out, nil
	}
	self, err := os.Executable()
	if err != nil {
		return out, err
	}
	out.Mounts = []plan.Mount{{Src: self, Dst: filepath.Join(launch.ClientDir, launch.ToolClient), Why: "asks the host for tools"}}
	if b.Policy.Tools.Asks() || len(b.Policy.Tools.Allow) > 0 {
		out.MissingCommand()
	}
	out.Put(launch.ToolsProfile, []byte(launch.ToolsAgain), "a login shell sets PATH anew")
	have, err := Box(b).List()
	if err != nil { // a package must not be able to keep a project from starting
		out.Notice(err.Error() + "; ringfence tools rm SOURCE:NAME empties it")
	}
	if slices.ContainsFunc(have, func(r toolbox.Record) bool { t, _ := policy.ParseTool(r.Tool); return t.Source == "nix" }) {
		out.Mounts = append(out.Mounts, plan.Mount{Src: toolbox.NixStore, Dst: toolbox.NixStore, Why: "tools of nix"})
	}
	return out, nil
}

// lookTools shows the box of the project, read-only, once its state is there. It is shown
// empty too: what is added while a session runs appears in it.
func lookTools(s *Session, _ launch.Contribution) (out launch.Contribution, err error) {
	if !Tooled(s.Base) {
		return out, nil
	}
	box := Box(s.Base)
	if s.project != nil {
		if err := box.Make(); err != nil {
			return out, err
		}
	}
	out.Mounts = []plan.Mount{{Src: box.Shown(), Dst: launch.ToolsDir, Why: "tools of the project"}}
	return out, nil
}

// Tools are those that are there now.
func (s *Session) Tools() (out []string) {
	if !Tooled(s.Base) {
		return nil
	}
	have, err := Box(s.Base).List()
	if err != nil {
		return nil
	}
	for _, r := range have {
		out = append(out, r.Tool)
	}
	return out
}
