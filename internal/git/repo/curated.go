package repo

import (
	"strings"

	"ringfence.dev/ringfence/internal/file/settings"
)

// Curated is what goes into the generated config.
type Curated struct {
	Settings []settings.GitEntry // as ReadHost returned them: harmless by hostexec's list
	// Safe lists directories for safe.directory: workspaces and what Repo
	// names. "*" is git's word for all, for the case that files of the
	// workspace belong to an id that does not exist inside.
	Safe []string
	// Rewrites are lines of ours that lead remotes to the broker.
	Rewrites []string
	// Sign leads signatures to the broker: settings of ours, not of the host's.
	Sign []settings.GitEntry
}

// always goes into every generated config.
var always = []settings.GitEntry{
	// An empty helper makes git forget those of a system config that lies in
	// a prefix the view shows.
	{Key: "credential.helper"},
	// Worktrees elsewhere on the host are absent inside, and an automatic gc
	// would take them for deleted and drop their index and HEAD. An agent
	// that calls `git worktree prune` itself still does so.
	{Key: "gc.worktreepruneexpire", Value: "never"},
}

// CuratedConfig returns the text for GIT_CONFIG_GLOBAL.
func CuratedConfig(in Curated) string {
	var b strings.Builder
	b.WriteString("# Written by ringfence from the identity on the host. No helpers, no includes, no keys.\n")
	for _, e := range in.Settings {
		settings.WriteGit(&b, e)
	}
	for _, e := range always {
		settings.WriteGit(&b, e)
	}
	for _, dir := range in.Safe {
		if !strings.ContainsRune(dir, 0) {
			settings.WriteGit(&b, settings.GitEntry{Key: "safe.directory", Value: dir})
		}
	}
	for _, line := range in.Rewrites {
		b.WriteString(line + "\n")
	}
	for _, e := range in.Sign {
		settings.WriteGit(&b, e)
	}
	return b.String()
}
