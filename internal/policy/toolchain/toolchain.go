// Package toolchain finds out what of the host's PATH can work inside: which
// version managers and compilers lie behind it, what of them has to be visible
// read-only, and which package caches a project gets as its own.
//
// It goes by a list of toolchains, as data. A directory on PATH that no toolchain
// knows is shown alone, if nothing speaks against it; HOME never is.
//
// Left at risk: what a toolchain's own tree holds in places nobody thought of.
package toolchain

import "io/fs"

// Input is the host as Find sees it.
type Input struct {
	Path       string   // PATH
	Home       string   // clean and absolute
	Workspaces []string // clean and absolute; visible anyhow
	Env        func(name string) string
	Credential func(path string) string // a credential that lies at, above or below path; "" if none is known
	Look       Lookup
}

// Lookup is how Find looks at the host.
type Lookup struct {
	Stat     func(path string) (fs.FileInfo, error) // follows symlinks
	Resolve  func(path string) (string, error)      // the same path without symlinks
	ReadDir  func(path string) ([]fs.DirEntry, error)
	ReadFile func(path string) ([]byte, error) // asked for small files only
}

// Found is what joins the view and the environment.
type Found struct {
	Roots   []Root    // visible read-only, sorted by path
	Hidden  []string  // paths inside roots that are masked, sorted
	Copies  []Copy    // files of which the agent sees a part
	Path    []string  // what stays of PATH, in order
	Env     []Setting // variables that point to what is visible
	Dropped []Dropped // what does not stay of PATH, in order
}

// Root is a file or directory that is visible at Path.
type Root struct {
	Path     string
	Resolved string // where it lies; the same unless a symlink leads there
	Why      string // the toolchain
}

// Copy is a file with less in it than the host's.
type Copy struct {
	Path string
	Data []byte
	Why  string
}

// Setting is one variable.
type Setting struct{ Name, Value string }

// Dropped is an entry of PATH that does not stay.
type Dropped struct{ Entry, Reason string }
