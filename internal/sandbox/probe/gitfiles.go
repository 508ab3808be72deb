package probe

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"

	"ringfence.dev/ringfence/internal/git/object"
)

// Loose makes an object of git: its name, and the file that holds it.
func Loose(kind object.Type, content []byte) (id string, file []byte) {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	fmt.Fprintf(z, "%s %d\x00", kind, len(content))
	z.Write(content)
	z.Close()
	return object.Sum(kind, content).String(), b.Bytes()
}

// LooseName is where an object lies below a git directory.
func LooseName(id string) string { return "objects/" + id[:2] + "/" + id[2:] }

// Index makes an index of git, of the second version, with one entry: a blob.
func Index(name, id string) ([]byte, error) {
	blob, err := object.ParseSHA1(id)
	if err != nil {
		return nil, err
	}
	b := append([]byte("DIRC"), 0, 0, 0, 2, 0, 0, 0, 1)
	entry := make([]byte, 40, 128) // times, device and inode: not known
	binary.BigEndian.PutUint32(entry[24:], 0o100755)
	entry = append(entry, blob.Bytes()...)
	entry = binary.BigEndian.AppendUint16(entry, uint16(len(name)))
	entry = append(entry, name...)
	entry = append(entry, make([]byte, 8-len(entry)%8)...)
	b = append(b, entry...)
	sum := sha1.Sum(b)
	return append(b, sum[:]...), nil
}
