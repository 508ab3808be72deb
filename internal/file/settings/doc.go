// Package settings reads files of settings: JSON, with comments where the tools that obey
// the file know them, TOML, and plain YAML. All become the same tree, which knows the line of each
// value; that of JSON also knows its bytes, so that a text can be changed in place. The
// configuration of git is a list (ParseGit), read as git reads it; a test of git/repo holds
// every answer against git's own.
//
// It is the one reader of such files. Who judges a text that somebody else obeys must not
// find less in it than that one does:
//
//   - Members of the same name are all in the tree, in their order, or are an error (Once).
//   - A comment of one line that ends in another place for another reader, at a lone "\r"
//     or at U+2028, is an error. OneReading asks that of the whole text.
//   - Nesting and the number of values are bounded while the text is read, not afterwards.
//   - Errors name a line and quote nothing: what stands there may be a secret.
//
// # What is left at risk
//
//   - Half of a surrogate pair, and without OneReading bytes that are not UTF-8, become
//     U+FFFD in a text, as they do for the agents.
//   - Names that differ by case alone are different here.
//   - Numbers are checked for their form, not for their size.
//
// It stands here in place of github.com/tailscale/hujson, which has no bound of its own: a
// megabyte of brackets ends the process. It also quotes values in its errors, and takes no
// comment in the last line if that line has no end.
package settings

import "errors"

// Rules say what is let pass, and how much.
type Rules struct {
	Comments   bool // and a comma behind the last element, and a byte order mark
	OneReading bool // nothing that another reader may take for the end of a line
	Once       bool // no name twice in one object
	Depth      int  // how many lists and objects may stand in each other
	Nodes      int  // how many values there may be
}

var (
	errDeep = errors.New("nested too deep")
	errMany = errors.New("too many values")
)
