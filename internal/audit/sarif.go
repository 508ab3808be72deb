package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// The bases of paths. Where they are is not told: the file may be shared.
const (
	projectBase = "%SRCROOT%"
	homeBase    = "HOME"
	rootBase    = "ROOT"
)

var levels = map[Severity]sarifLevel{Critical: sarifError, High: sarifError, Medium: sarifWarning, Low: sarifNote, Info: sarifNote}

// scores are what viewers sort by.
var scores = map[Severity]string{Critical: "9.5", High: "8.0", Medium: "5.5", Low: "3.0", Info: "0.0"}

// SARIF prints a report for programs that show findings.
func SARIF(to io.Writer, r *Report, w World, version string) error {
	return writeSARIF(to, sarif(r, w, version))
}

func sarif(r *Report, w World, version string) sarifRun {
	root, home := sarifText("the root of the project"), sarifText("the home directory of the user")
	run := sarifRun{Bases: map[string]sarifArtifact{
		projectBase: {Description: &root},
		homeBase:    {Description: &home},
		rootBase:    {URI: "file:///"},
	}}
	run.Tool.Driver = sarifDriver{Name: "ringfence", Version: version}
	checks := Checks()
	for _, c := range checks {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: c.ID, Short: sarifText(c.Title + "."), Full: sarifText("What an attacker gets: " + c.Gets + "."),
			Help: sarifText("Fix: " + strings.ReplaceAll(c.Fix, "{}", "the place that is named")), Default: sarifConfiguration{Level: levels[c.Severity]},
			Properties: map[string]any{"security-severity": scores[c.Severity], "tags": []string{"security"}},
		})
	}
	for _, f := range r.Findings {
		text := f.Title
		if f.Detail != "" {
			text += " (" + f.Detail + ")"
		}
		sum := sha256.Sum256([]byte(f.ID + "\x00" + f.Where.Kind + "\x00" + w.below(f.Where) + "\x00" + f.Detail))
		run.Results = append(run.Results, sarifResult{
			RuleID: f.ID, RuleIndex: slices.IndexFunc(checks, func(c Check) bool { return c.ID == f.ID }), Level: levels[f.Severity],
			Message:      sarifText(text + ". What an attacker gets: " + f.Gets + ". Fix: " + f.Fix),
			Locations:    []sarifLocation{w.location(f.Where)},
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

func (w *World) location(at Where) sarifLocation {
	switch at.Kind {
	case "project":
		return sarifAt(projectBase, w.below(at), at.Line)
	case "home":
		return sarifAt(homeBase, w.below(at), at.Line)
	case "machine":
		return sarifAt(rootBase, w.below(at), at.Line)
	}
	return sarifNamed(at.Path, map[string]string{"environment": "variable"}[at.Kind])
}
