package journal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// head says where a journal stands: how many records it has, the hash of the last,
// and where that ends. It is what is signed.
type head struct {
	V       int    `json:"v"`
	Session string `json:"session"`
	Key     string `json:"key"`  // the id of the key that signs
	Turn    uint64 `json:"turn"` // how many heads there were before
	Seq     uint64 `json:"seq"`
	Hash    Hash   `json:"hash"`
	Part    int    `json:"part"`
	Size    int64  `json:"size"` // of that part, up to the end of the record
	State   string `json:"state"`
	Sig     []byte `json:"sig"`
}

// The states of a head.
const (
	stateOpen  = "open"
	stateEnded = "ended"
)

// headLen is the length of a head in its file. It is written in place, where it
// stands in one sector: a full disk takes it all the same, and no crash leaves half.
const headLen = 512

const headPurpose = "journal head"

// appendJSON appends the head in its one form, up to and without its signature.
func (h *head) appendJSON(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"v":`...), int64(h.V), 10)
	b = append(append(append(b, `,"session":"`...), h.Session...), `","key":"`...)
	b = strconv.AppendUint(append(append(b, h.Key...), `","turn":`...), h.Turn, 10)
	b = strconv.AppendUint(append(b, `,"seq":`...), h.Seq, 10)
	b = h.Hash.appendHex(append(b, `,"hash":"`...))
	b = strconv.AppendInt(append(b, `","part":`...), int64(h.Part), 10)
	b = strconv.AppendInt(append(b, `,"size":`...), h.Size, 10)
	return append(append(append(b, `,"state":"`...), h.State...), '"')
}

// file is the head as it stands in its file.
func (h *head) file() []byte {
	b := h.appendJSON(make([]byte, 0, headLen))
	b = base64.StdEncoding.AppendEncode(append(b, `,"sig":"`...), h.Sig)
	b = append(b, `"}`...)
	for len(b) < headLen-1 {
		b = append(b, ' ')
	}
	return append(b, '\n')
}

func (h *head) sign(key *Seal) {
	h.Key = key.ID()
	h.Sig = key.Sign(headPurpose, h.appendJSON(nil))
}

var errHead = errors.New("is not in the form that is written")

// parseHead takes exactly what file makes. It does not look at the signature.
func parseHead(b []byte) (*head, error) {
	if len(b) != headLen {
		return nil, errHead
	}
	var h head
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&h); err != nil {
		return nil, errHead
	}
	plain := h.V == Version && isSession(h.Session) && isKeyID(h.Key) && h.Part >= 1 && h.Part <= maxParts && h.Size >= 0 &&
		(h.State == stateOpen || h.State == stateEnded) && len(h.Sig) == signatureLen
	if !plain || !bytes.Equal(h.file(), b) {
		return nil, errHead
	}
	return &h, nil
}

func isKeyID(s string) bool { return len(s) == sealIDLen && strings.Trim(s, "0123456789abcdef") == "" }

// Why a head is not taken.
var (
	errHeadSession = errors.New("belongs to another session")
	errHeadKey     = errors.New("was signed with another key than the one of this host")
	errHeadEmpty   = errors.New("is empty")
	errHeadSig     = errors.New("has a signature that does not fit")
)

// readHead reads the head of a session and checks its signature. One that is being
// written may be seen half: it is looked at again.
func readHead(dir int, session string, key *Seal) (h *head, err error) {
	f, err := openFile(dir, session+headSuffix, unix.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("the head: %w", err)
	}
	defer f.Close()
	var b [headLen + 1]byte
	for range 3 {
		var n int
		if n, err = f.ReadAt(b[:], 0); err != nil && err != io.EOF {
			return nil, fmt.Errorf("the head: %w", err)
		}
		if h, err = checkHead(b[:n], session, key); err == nil {
			return h, nil
		}
	}
	return nil, fmt.Errorf("the head %w", err)
}

func checkHead(b []byte, session string, key *Seal) (*head, error) {
	h, err := parseHead(b)
	switch {
	case len(b) == 0:
		return nil, errHeadEmpty
	case err != nil:
		return nil, err
	case h.Session != session:
		return nil, errHeadSession
	case key == nil || h.Key != key.ID():
		return nil, errHeadKey
	case !key.Verify(headPurpose, h.appendJSON(nil), h.Sig):
		return nil, errHeadSig
	}
	return h, nil
}

// put signs the head and writes it over the one before.
func (h *head) put(fd int, key *Seal) error {
	h.sign(key)
	n, err := unix.Pwrite(fd, h.file(), 0)
	if err == nil && n != headLen {
		err = io.ErrShortWrite
	}
	return err
}
