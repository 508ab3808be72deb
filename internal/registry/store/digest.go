package store

import (
	"archive/zip"
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"
)

// Kind is how a digest is made.
type Kind string

// The kinds. Zip and Mod are Go's: of the files in a module, and of a go.mod alone.
const (
	SHA1   Kind = "sha1"
	SHA256 Kind = "sha256"
	SHA384 Kind = "sha384"
	SHA512 Kind = "sha512"
	Zip    Kind = "go-zip"
	Mod    Kind = "go-mod"
)

// Digest is what a blob must be.
type Digest struct {
	Kind Kind
	Sum  string // in hex, lower case
}

// Proves holds for a digest that nobody can make two blobs for.
func (d Digest) Proves() bool { return d.Sum != "" && d.Kind != SHA1 }

var hashes = map[Kind]func() hash.Hash{SHA1: sha1.New, SHA256: sha256.New, SHA384: sha512.New384, SHA512: sha512.New}

// Hex reads a digest that is written in hex.
func Hex(k Kind, text string) (Digest, error) {
	sum, err := hex.DecodeString(text)
	h := hashes[k]
	if err != nil || h == nil || len(sum) != h().Size() || strings.ToLower(text) != text {
		return Digest{}, fmt.Errorf("%.80q is no %s", text, k)
	}
	return Digest{k, text}, nil
}

// Integrity reads the digest of an SRI text, the strongest of several.
func Integrity(text string) (Digest, error) {
	best := Digest{}
	for part := range strings.FieldsSeq(text) {
		name, word, _ := strings.Cut(part, "-")
		word, _, _ = strings.Cut(word, "?")
		h := hashes[Kind(name)]
		if h == nil {
			continue
		}
		sum, err := base64.StdEncoding.Strict().DecodeString(word)
		if err != nil || len(sum) != h().Size() {
			return Digest{}, fmt.Errorf("%.120q is no integrity", text)
		}
		if Kind(name) > best.Kind { // sha1 < sha256 < sha384 < sha512
			best = Digest{Kind(name), hex.EncodeToString(sum)}
		}
	}
	if best.Sum == "" {
		return best, fmt.Errorf("%.120q has no integrity that is known", text)
	}
	return best, nil
}

// H1 reads a digest as go.sum has it.
func H1(k Kind, text string) (Digest, error) {
	word, ok := strings.CutPrefix(text, "h1:")
	sum, err := base64.StdEncoding.Strict().DecodeString(word)
	if !ok || err != nil || len(sum) != sha256.Size {
		return Digest{}, fmt.Errorf("%.80q is no h1: checksum", text)
	}
	return Digest{k, hex.EncodeToString(sum)}, nil
}

// Check computes what a file is.
func (d Digest) Check(f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	have, err := compute(d.Kind, f)
	if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare([]byte(have.Sum), []byte(d.Sum)) != 1 {
		return ErrDigest
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

func compute(k Kind, f *os.File) (Digest, error) {
	switch k {
	case Zip:
		return zipSum(f)
	case Mod:
		return modSum(f)
	}
	h := hashes[k]
	if h == nil {
		return Digest{}, fmt.Errorf("no digest is called %q", k)
	}
	sum := h()
	if _, err := io.Copy(sum, f); err != nil {
		return Digest{}, err
	}
	return Digest{k, hex.EncodeToString(sum.Sum(nil))}, nil
}

// Bounds of a module, as Go's own tools have them, and of a toolchain.
const (
	maxUnpacked = 1 << 30
	maxFiles    = 200_000
	maxMod      = 16 << 20
)

var errLarge = errors.New("it is larger than a module can be")

// zipSum is Go's digest of a zip file. What unpacks to more than it says is no module.
func zipSum(f *os.File) (Digest, error) {
	st, err := f.Stat()
	if err != nil {
		return Digest{}, err
	}
	z, err := zip.NewReader(f, st.Size())
	if err != nil {
		return Digest{}, fmt.Errorf("it is no zip file: %w", err)
	}
	if len(z.File) > maxFiles {
		return Digest{}, errLarge
	}
	var names []string
	files := map[string]*zip.File{}
	var total uint64
	for _, e := range z.File {
		if files[e.Name] != nil {
			return Digest{}, fmt.Errorf("it has two files %.100q", e.Name)
		}
		if total += e.UncompressedSize64; e.UncompressedSize64 > maxUnpacked || total > maxUnpacked {
			return Digest{}, errLarge
		}
		names, files[e.Name] = append(names, e.Name), e
	}
	return h1(Zip, names, func(name string) (io.ReadCloser, error) {
		r, err := files[name].Open()
		if err != nil {
			return nil, err
		}
		return &limited{io.LimitReader(r, int64(files[name].UncompressedSize64)+1), r}, nil
	})
}

func modSum(r io.Reader) (Digest, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxMod+1))
	if err != nil {
		return Digest{}, err
	}
	if len(data) > maxMod {
		return Digest{}, errLarge
	}
	return h1(Mod, []string{"go.mod"}, func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
}

func h1(k Kind, names []string, open func(string) (io.ReadCloser, error)) (Digest, error) {
	text, err := dirhash.Hash1(names, open)
	if err != nil {
		return Digest{}, err
	}
	return H1(k, text)
}

type limited struct {
	io.Reader
	under io.Closer
}

func (l *limited) Close() error { return l.under.Close() }
