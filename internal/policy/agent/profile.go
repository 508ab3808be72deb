// Package agent describes the programs that ringfence runs, as data: how to find
// one, what it keeps under HOME, which settings it may read, how it is told about
// its sandbox. Claude Code, Codex, Gemini CLI, opencode and a plain command are
// built in; a user adds or replaces one by a file in the config directory.
//
// What the host has of an agent is shown by an explicit list and never as a
// whole directory, so that tokens, transcripts of other projects, histories and
// editor lock files are absent without a rule that names them.
package agent

import (
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Command is the name of the profile of a plain command.
const Command = "command"

// BuiltIn is the source of a profile that comes with ringfence.
const BuiltIn = "built-in"

// NoteName is the variable that says where the sandbox note lies.
const NoteName = "RINGFENCE_NOTE"

// The marks that may stand in the content of a managed file: the address of the broker,
// and the directory where the agent starts.
const (
	BrokerMark = "@BROKER@"
	DirMark    = "@DIR@"
)

// searchMark stands in the content of a managed file for NoSearch, or for nothing.
const searchMark = "@NO-SEARCH@"

// innerMark stands there for whether the agent's own sandbox is on, as JSON has it.
const innerMark = "@INNER@"

// HasInner reports whether the agent's own sandbox can be left on.
func (p *Profile) HasInner() bool {
	return slices.ContainsFunc(p.Managed, func(f File) bool { return strings.Contains(f.Content, innerMark) })
}

// Fill puts the values of the marks in. search is whether the provider may search the web,
// inner whether the agent's own sandbox is on.
func (f File) Fill(broker, dir string, search, inner bool) []byte {
	off := f.NoSearch
	if search {
		off = ""
	}
	return []byte(strings.NewReplacer(searchMark, off, innerMark, strconv.FormatBool(inner), BrokerMark, broker, DirMark, jsonSafe(dir),
		hookMark, HookProgram, verifyMark, VerifyPrompt, redTeamMark, RedTeamPrompt).Replace(f.Content))
}

// noteMark stands in a value for the path of the sandbox note.
const noteMark = "@NOTE@"

// Profile is one agent. Paths are absolute or start with "~/".
type Profile struct {
	Name    string   `toml:"name"`
	Title   string   `toml:"title"`
	Install string   `toml:"install"` // the command that installs it, for the hint
	Args    []string `toml:"args"`    // put before the user's own arguments
	Resume  string   `toml:"resume"`  // what it prints before the id when it says how to take a conversation up
	Flags   []string `toml:"flags"`   // that it has, without their dashes
	Search  Search   `toml:"binary"`
	State   []State  `toml:"state"`
	Config  []Config `toml:"config"`
	Env     Env      `toml:"env"`
	Network Network  `toml:"network"`
	Models  []Model  `toml:"model"`
	Managed []File   `toml:"managed"`
	Note    Channel  `toml:"note"`
	MCP     MCP      `toml:"mcp"`
	History History  `toml:"history"`

	Source string `toml:"-"` // the file it was read from, or "built-in"
}

// Search says where the program may be.
type Search struct {
	Names  []string `toml:"names"`  // looked for on PATH; none: the user names the program
	Places []string `toml:"places"` // looked at after PATH
	Trees  []string `toml:"trees"`  // directories that a program found inside needs as a whole
}

// Kinds of state.
const (
	KindDir  = "dir"
	KindFile = "file"
)

// State is a path under HOME that the agent writes and that is kept per project.
type State struct {
	Path  string   `toml:"path"`
	Kind  string   `toml:"kind"`
	Seed  string   `toml:"seed"`  // a file's first content
	Carry []string `toml:"carry"` // keys of the host's JSON that join the seed
	// Answer are keys that are true whenever a session begins: questions of the agent's
	// that ringfence answers. @DIR@ is every directory that it may ask about.
	Answer []string `toml:"answer"`
	Rules
}

// Config names files and directories of the host that are visible read-only if
// they exist. With a format, the agent gets a copy without secrets instead.
type Config struct {
	Paths  []string `toml:"paths"`
	Format string   `toml:"scrub"` // "json", "toml", or "" to show the thing itself
	Omit   []string `toml:"omit"`  // hidden inside a directory; a component may be "*"
	Rules
}

// Rules refine what Scrub and Fill do. A key path is dotted; "*" is any one key.
type Rules struct {
	Drop []string `toml:"drop"` // removed whatever they hold
	// Forget is removed without a word: answers that the host's agent was given.
	Forget []string `toml:"forget"`
	Keep   []string `toml:"keep"` // never secret although the name looks like it
	Mine   []string `toml:"mine"` // tables keyed by directory: entries of other projects go
	Unit   []string `toml:"unit"` // what goes as a whole if a text inside gives a secret away
}

// Env is what the agent's environment has besides everyone's.
type Env struct {
	Set  map[string]string `toml:"set"`
	Root map[string]string `toml:"root"` // set for uid 0 only
	Pass []string          `toml:"pass"` // taken from the launcher; never a secret
	// Trust names variables that lead to the certificates, beside those of every session:
	// for an agent that keeps git's settings from the commands it runs.
	Trust []string `toml:"trust"`
}

// Network is what the agent itself reaches, in every mode of the network but none.
type Network struct {
	Hosts []string `toml:"hosts"` // as address.ParseRule reads them
	// Needless are hosts that the agent looks for by itself and works without: news,
	// counters, a shop. They are refused without a question, unless a rule allows them.
	Needless []string `toml:"needless"`
}

// File is a generated file that the agent reads and cannot change.
type File struct {
	Path    string `toml:"path"`
	Content string `toml:"content"`
	// NoSearch takes away a search by the provider that the agent asks for in every
	// request: the broker would refuse them all where there is none.
	NoSearch string `toml:"no-search"`
}

// Channel is the file by which the agent is told about its sandbox. It holds the
// note and the first file of Base that the host has, as Compose joins them. An
// empty Path means that the environment alone says where the note is.
type Channel struct {
	Path string   `toml:"path"`
	Base []string `toml:"base"`
}

// History is where the agent keeps the conversations of one directory: files with lines of
// JSON, each named for its id. An empty Path means that they cannot be shared with the host.
type History struct {
	Path string `toml:"path"`
}

// SlugMark stands in it for the name of that directory.
const SlugMark = "@SLUG@"

// Setting is one variable with its value.
type Setting struct{ Name, Value string }

// Settings lists the variables the profile sets, sorted by name, for an agent
// that runs as uid and finds the sandbox note at the given path.
func (p *Profile) Settings(note string, uid int) []Setting {
	all := map[string]string{NoteName: note}
	for name, value := range p.Env.Set {
		all[name] = strings.ReplaceAll(value, noteMark, jsonSafe(note))
	}
	if uid == 0 {
		for name, value := range p.Env.Root {
			all[name] = value
		}
	}
	list := make([]Setting, 0, len(all))
	for name, value := range all {
		list = append(list, Setting{name, value})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// jsonSafe escapes what would end a string, since a value may be JSON.
func jsonSafe(s string) string {
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}

// Expand puts home in the place of a leading "~".
func Expand(path, home string) string {
	if rel, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rel)
	}
	return path
}
