package audit

import (
	"encoding/json"
	"io"
	"net/url"
	"strings"
)

// sarifVersion is the only version of the Static Analysis Results Interchange Format
// that is written; of the format there is here what one tool with rules needs.
//
// What is left at risk: a viewer shows messages as it likes. Texts in here are plain,
// and hold no markup of ours.
const sarifVersion = "2.1.0"

const sarifSchema = "https://json.schemastore.org/sarif-2.1.0.json"

// sarifLevel is how bad a result is.
type sarifLevel string

// The levels.
const (
	sarifError   sarifLevel = "error"
	sarifWarning sarifLevel = "warning"
	sarifNote    sarifLevel = "note"
)

// sarifLog is one file.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

// sarifRun is one run of a tool.
type sarifRun struct {
	Tool    sarifTool                `json:"tool"`
	Bases   map[string]sarifArtifact `json:"originalUriBaseIds,omitempty"`
	Results []sarifResult            `json:"results"`
}

// sarifTool is who found something.
type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

// sarifDriver is the tool's main part.
type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

// sarifRule is what a tool looks for.
type sarifRule struct {
	ID         string             `json:"id"`
	Short      sarifMessage       `json:"shortDescription"`
	Full       sarifMessage       `json:"fullDescription"`
	Help       sarifMessage       `json:"help"`
	Default    sarifConfiguration `json:"defaultConfiguration"`
	Properties map[string]any     `json:"properties,omitempty"`
}

// sarifConfiguration is how a rule is set.
type sarifConfiguration struct {
	Level sarifLevel `json:"level"`
}

// sarifMessage is a text, as Text makes it.
type sarifMessage struct {
	Text string `json:"text"`
}

// sarifText is a message of plain text. Braces mean something in the format, so ours are
// doubled; and what looks like an embedded link is none.
func sarifText(s string) sarifMessage {
	return sarifMessage{strings.NewReplacer("{", "{{", "}", "}}", "](", "] (").Replace(s)}
}

// sarifResult is one finding.
type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     sarifLevel      `json:"level"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations"`
	// Fingerprints tell a result from others over time.
	Fingerprints map[string]string `json:"partialFingerprints,omitempty"`
}

// sarifLocation is where something was found: in a file, or at something that has a name.
type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

// sarifPhysical is a place in a file.
type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

// sarifArtifact is a file, relative to a base if it has one.
type sarifArtifact struct {
	URI         string        `json:"uri,omitempty"`
	Base        string        `json:"uriBaseId,omitempty"`
	Description *sarifMessage `json:"description,omitempty"`
}

// sarifRegion is a part of a file. Lines count from 1.
type sarifRegion struct {
	StartLine int `json:"startLine"`
}

// sarifLogical is what has a name and no file.
type sarifLogical struct {
	Name string `json:"name"`
	Kind string `json:"kind,omitempty"`
}

// writeSARIF prints one run.
func writeSARIF(w io.Writer, run sarifRun) error {
	if run.Results == nil {
		run.Results = []sarifResult{}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(sarifLog{Schema: sarifSchema, Version: sarifVersion, Runs: []sarifRun{run}})
}

// sarifAt is a place in a file below a base, by its path from there.
func sarifAt(base, rel string, line int) sarifLocation {
	p := &sarifPhysical{Artifact: sarifArtifact{URI: sarifPath(rel), Base: base}}
	if line > 0 {
		p.Region = &sarifRegion{StartLine: line}
	}
	return sarifLocation{Physical: p}
}

// sarifNamed is something that is no file.
func sarifNamed(name, kind string) sarifLocation {
	return sarifLocation{Logical: []sarifLogical{{Name: name, Kind: kind}}}
}

// sarifPath spells a path as a relative reference: whatever bytes it has, and not to be
// taken for a scheme.
func sarifPath(rel string) string {
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
