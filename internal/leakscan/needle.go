// Package leakscan finds secrets in streams of bytes, in the ways in which they are
// commonly written. A Scanner tells that one has gone by: it is for decoys, in
// bytes that leave. A Writer or Reader hides it: it is for real secrets, in
// responses that come back.
//
// A Scanner needs no whole secret. A run of 16 characters is enough, or more where
// the writing is wordier: always ten bytes of the secret. So a file that is cut into
// lines, records or packets is found as long as one piece of that length is left, and
// base64 in lines of 64 or 76 columns needs no care of its own. Hiding is for whole
// secrets only, and a byte is hidden exactly if it lies in one.
//
// # How it is fast
//
// Of a run of 16 bytes, nine groups of eight lie in the run, one of them at a multiple
// of nine. So only every ninth group of the stream is looked up, in a filter that fits
// the cache, and what passes it is compared in full. How many ways of writing there
// are costs next to nothing. A secret shorter than 16 bytes makes the steps smaller.
//
// # What is left at risk
//
//   - Not found: what is compressed, encrypted, xor-ed, shuffled, or written in a way
//     that is not in the table of forms (octal, base85, UTF-16, words). Whoever wants
//     streams searched must refuse or undo content codings first. It is a trip wire
//     for the careless, not a wall.
//   - Not found: pieces shorter than the above, one to a connection or a name, or with
//     other bytes in between.
//   - Base64 and base32 are found by what does not depend on the neighbours. Up to
//     three characters before and one behind belong to both, and stay when the rest
//     is hidden.
//   - A secret with little chance in it (a word, a path) is found where nobody wrote
//     it. What is given to New should be the random part.
//   - Hiding holds back the beginning of a secret until the next bytes come. A server
//     that stops just there, and waits for an answer, waits in vain. Secrets do not
//     begin with a line feed or a closing brace: lines, events and JSON pass at once.
package leakscan

import (
	"fmt"
	"io"
	"slices"
	"sync"
)

// What New takes, in bytes. A shorter secret would be found where it is not, and
// hiding it would tell more than it hides.
const (
	Shortest = 8
	Longest  = 16 << 10
)

// Named is a secret and what it is called in a journal.
type Named struct {
	Name   string
	Secret string `json:"-"`
}

// Format writes the name alone, whatever the verb.
func (n Named) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, n.Name) }

var _ fmt.Formatter = Named{}

// Set is some secrets in all their forms. It does not change and may be shared.
type Set struct {
	pieces func() *index // any long enough run of any form
	names  func() *index // the same, for names of hosts
	wholes func() *index // whole forms that a server may write
}

// New makes a Set. The indexes are built when they are first used: who only hides
// pays for no scanning.
func New(secrets ...Named) (*Set, error) {
	secrets = slices.Clone(secrets)
	for _, n := range secrets {
		if len(n.Secret) < Shortest || len(n.Secret) > Longest {
			return nil, fmt.Errorf("secret %q has %d bytes; from %d to %d can be searched for", n.Name, len(n.Secret), Shortest, Longest)
		}
	}
	return &Set{
		pieces: sync.OnceValue(func() *index { return newIndex(spellings(secrets, false), false) }),
		names:  sync.OnceValue(func() *index { return newIndex(folded(spellings(secrets, false)), false) }),
		wholes: sync.OnceValue(func() *index { return newIndex(spellings(secrets, true), true) }),
	}, nil
}

// Format keeps the secrets out of whatever prints a Set.
func (*Set) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, "needles") }
