package rung

import (
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// Program is one that was opened for a sandbox.
type Program struct {
	Path string
	// ID is another one whenever the content may be; "": the clock cannot tell.
	ID string
	// Sum is the SHA-256 of what was opened. It takes a while.
	Sum func() (string, error)
	// Version is what it says of itself, for the record; nil: nobody asks it.
	Version func() (string, error)
	// Beside are others that run there, too.
	Beside []*Program
}

// KeptSum is the digest of a program, for the record. The last one is kept in a file and taken
// again for a program with the same number, size and times: who can change it and keep those
// is root. A digest that policy demands is never taken from there.
func (p *Program) KeptSum(kept string) (string, error) {
	if sum, ok := keptSum(p.ID, kept); ok {
		return sum, nil
	}
	sum, err := p.Sum()
	if err == nil && p.ID != "" {
		file.Replace(kept, []byte(p.ID+" "+sum+"\n"), 0o600) // if it is not kept, the next one sums up
	}
	return sum, err
}

func keptSum(id, kept string) (string, bool) {
	f, err := os.Open(kept)
	if err != nil || id == "" {
		return "", false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<10))
	sum, ok := strings.CutPrefix(string(b), id+" ")
	sum, whole := strings.CutSuffix(sum, "\n")
	raw, herr := hex.DecodeString(sum)
	return sum, err == nil && ok && whole && herr == nil && len(raw) == 32 && sum == fmt.Sprintf("%x", raw)
}
