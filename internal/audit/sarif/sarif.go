// Package sarif writes findings in the Static Analysis Results Interchange Format,
// version 2.1.0, of which it knows the part that one tool with rules needs.
//
// What is left at risk: a viewer shows messages as it likes. Texts in here are plain,
// and hold no markup of ours.
package sarif

import (
	"encoding/json"
	"io"
	"net/url"
	"strings"
)

// Version is the only version of the format that is written.
const Version = "2.1.0"

const schema = "https://json.schemastore.org/sarif-2.1.0.json"

// Level is how bad a result is.
type Level string

// The levels.
const (
	Error   Level = "error"
	Warning Level = "warning"
	Note    Level = "note"
)

// Log is one file.
type Log struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []Run  `json:"runs"`
}

// Run is one run of a tool.
type Run struct {
	Tool    Tool                        `json:"tool"`
	Bases   map[string]ArtifactLocation `json:"originalUriBaseIds,omitempty"`
	Results []Result                    `json:"results"`
}

// Tool is who found something.
type Tool struct {
	Driver Driver `json:"driver"`
}

// Driver is the tool's main part.
type Driver struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Rules   []Rule `json:"rules"`
}

// Rule is what a tool looks for.
type Rule struct {
	ID         string         `json:"id"`
	Short      Message        `json:"shortDescription"`
	Full       Message        `json:"fullDescription"`
	Help       Message        `json:"help"`
	Default    Configuration  `json:"defaultConfiguration"`
	Properties map[string]any `json:"properties,omitempty"`
}

// Configuration is how a rule is set.
type Configuration struct {
	Level Level `json:"level"`
}

// Message is a text, as Text makes it.
type Message struct {
	Text string `json:"text"`
}

// Text is a message of plain text. Braces mean something in the format, so ours are
// doubled; and what looks like an embedded link is none.
func Text(s string) Message {
	return Message{strings.NewReplacer("{", "{{", "}", "}}", "](", "] (").Replace(s)}
}

// Result is one finding.
type Result struct {
	RuleID    string     `json:"ruleId"`
	RuleIndex int        `json:"ruleIndex"`
	Level     Level      `json:"level"`
	Message   Message    `json:"message"`
	Locations []Location `json:"locations"`
	// Fingerprints tell a result from others over time.
	Fingerprints map[string]string `json:"partialFingerprints,omitempty"`
}

// Location is where something was found: in a file, or at something that has a name.
type Location struct {
	Physical *Physical `json:"physicalLocation,omitempty"`
	Logical  []Logical `json:"logicalLocations,omitempty"`
}

// Physical is a place in a file.
type Physical struct {
	Artifact ArtifactLocation `json:"artifactLocation"`
	Region   *Region          `json:"region,omitempty"`
}

// ArtifactLocation is a file, relative to a base if it has one.
type ArtifactLocation struct {
	URI         string   `json:"uri,omitempty"`
	Base        string   `json:"uriBaseId,omitempty"`
	Description *Message `json:"description,omitempty"`
}

// Region is a part of a file. Lines count from 1.
type Region struct {
	StartLine int `json:"startLine"`
}

// Logical is what has a name and no file.
type Logical struct {
	Name string `json:"name"`
	Kind string `json:"kind,omitempty"`
}

// Write prints one run.
func Write(w io.Writer, run Run) error {
	if run.Results == nil {
		run.Results = []Result{}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(Log{Schema: schema, Version: Version, Runs: []Run{run}})
}

// At is a place in a file below a base, by its path from there.
func At(base, rel string, line int) Location {
	p := &Physical{Artifact: ArtifactLocation{URI: Path(rel), Base: base}}
	if line > 0 {
		p.Region = &Region{StartLine: line}
	}
	return Location{Physical: p}
}

// Named is something that is no file.
func Named(name, kind string) Location {
	return Location{Logical: []Logical{{Name: name, Kind: kind}}}
}

// Path spells a path as a relative reference: whatever bytes it has, and not to be
// taken for a scheme.
func Path(rel string) string {
	if rel == "" || rel == "." {
		return "./"
	}
	parts := strings.Split(rel, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	if strings.Contains(parts[0], ":") {
		parts[0] = "./" + parts[0]
	}
	return strings.Join(parts, "/")
}
