// Package script runs testdata/script: one behaviour a script, each readable as
// the documentation of it, against the real binary, as root and as an ordinary
// user.
package script
