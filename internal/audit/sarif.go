package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/audit/sarif"
)

// The bases of paths. Where they are is not told: the file may be shared.
const (
	projectBase = "%SRCROOT%"
	homeBase    = "HOME"
	rootBase    = "ROOT"
)

var levels = map[Severity]sarif.Level{Critical: sarif.Error, High: sarif.Error, Medium: sarif.Warning, Low: sarif.Note, Info: sarif.Note}

// scores are what viewers sort by.
var scores = map[Severity]string{Critical: "9.5", High: "8.0", Medium: "5.5", Low: "3.0", Info: "0.0"}

// SARIF is a report for programs that show findings.
func SARIF(r *Report, w World, version string) sarif.Run {
	root, home := sarif.Text("the root of the project"), sarif.Text("the home directory of the user")
	run := sarif.Run{Bases: map[string]sarif.ArtifactLocation{
		projectBase: {Description: &root},
		homeBase:    {Description: &home},
		rootBase:    {URI: "file:///"},
	}}
	run.Tool.Driver = sarif.Driver{Name: "ringfence", Version: version}
	checks := Checks()
	for _, c := range checks {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarif.Rule{
			ID: c.ID, Short: sarif.Text(c.Title + "."), Full: sarif.Text("What an attacker gets: " + c.Gets + "."),
			Help: sarif.Text("Fix: " + strings.ReplaceAll(c.Fix, "{}", "the place that is named")), Default: sarif.Configuration{Level: levels[c.Severity]},
			Properties: map[string]any{"security-severity": scores[c.Severity], "tags": []string{"security"}},
		})
	}
	for _, f := range r.Findings {
		text := f.Title
		if f.Detail != "" {
			text += " (" + f.Detail + ")"
		}
		sum := sha256.Sum256([]byte(f.ID + "\x00" + f.Where.Kind + "\x00" + w.below(f.Where) + "\x00" + f.Detail))
		run.Results = append(run.Results, sarif.Result{
			RuleID: f.ID, RuleIndex: slices.IndexFunc(checks, func(c Check) bool { return c.ID == f.ID }), Level: levels[f.Severity],
			Message:      sarif.Text(text + ". What an attacker gets: " + f.Gets + ". Fix: " + f.Fix),
			Locations:    []sarif.Location{w.location(f.Where)},
			Fingerprints: map[string]string{"ringfence/v1": hex.EncodeToString(sum[:16])},
		})
	}
	return run
}

// below is the path of a place from its base.
func (w *World) below(at Where) string {
	base := map[string]string{"project": w.Project, "home": w.Home, "machine": "/"}[at.Kind]
	if rel, err := filepath.Rel(base, at.Path); err == nil && base != "" {
		return rel
	}
	return at.Path
}

func (w *World) location(at Where) sarif.Location {
	switch at.Kind {
	case "project":
		return sarif.At(projectBase, w.below(at), at.Line)
	case "home":
		return sarif.At(homeBase, w.below(at), at.Line)
	case "machine":
		return sarif.At(rootBase, w.below(at), at.Line)
	}
	return sarif.Named(at.Path, map[string]string{"environment": "variable"}[at.Kind])
}
