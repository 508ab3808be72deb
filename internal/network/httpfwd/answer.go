package httpfwd

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"
)

// UntilClose is the Length of an answer that ends with its connection.
const UntilClose = -2

// Answer is what was understood of the head of an answer. It is passed on with its
// fields as they came, but for those that would lead the client to another place or
// another protocol.
type Answer struct {
	Status int
	Length int64 // of the body; Chunked, UntilClose, or 0 for none

	head []byte // as it is passed on
}

// Interim reports whether the answer proper is still to come.
func (a *Answer) Interim() bool { return a.Status < 200 }

// ReadAnswer reads the head of an answer to a request of this method, and of r nothing
// after it: if gate and client disagree about where an answer ends, the client reads a
// head that nobody has seen. io.EOF is an end where no answer begins.
func ReadAnswer(r *bufio.Reader, method string) (*Answer, error) {
	a := &Answer{}
	err := scan(r, maxHead, func(s *scanner) error {
		start, err := s.line(maxLine, FieldsTooLarge)
		if err != nil {
			return err
		}
		minor, err := a.statusLine(string(s.buf[start:]))
		if err != nil {
			return err
		}
		a.head = append(append(make([]byte, 0, 1024), s.buf[start:]...), "\r\n"...)
		s.buf = s.buf[:0]
		if err := s.fields(maxFields); err != nil {
			return err
		}
		return a.take(string(s.buf), s.lines, minor, method)
	})
	if err != nil {
		return nil, err
	}
	a.head = append(a.head, "\r\n"...)
	return a, nil
}

// statusLine reads "HTTP/1.1 200 OK"; the words may be missing, and the space with them.
func (a *Answer) statusLine(line string) (minor int, err error) {
	rest, ok := strings.CutPrefix(line, "HTTP/1.")
	if !ok || len(rest) < 5 || rest[0] != '0' && rest[0] != '1' || rest[1] != ' ' || len(rest) > 5 && rest[5] != ' ' || !ValidValue(rest) {
		return 0, bad("the first line of an answer is malformed")
	}
	for _, b := range []byte(rest[2:5]) {
		if b < '0' || b > '9' {
			return 0, bad("the status of an answer is malformed")
		}
		a.Status = a.Status*10 + int(b-'0')
	}
	switch {
	case a.Status < 100 || a.Status > 599:
		return 0, bad("the status of an answer is malformed")
	case a.Status == 101:
		return 0, bad("the origin changes to a protocol that nobody asked for")
	}
	return int(rest[0] - '0'), nil
}

// away are the fields that lead elsewhere: the next request of the client would go
// there, or be made in another way, without its asking for it by name.
var away = []string{"alt-svc", "alternate-protocol", "upgrade"}

// take goes through the fields and settles where the answer ends.
func (a *Answer) take(text string, lines []span, minor int, method string) error {
	var length string
	chunked := false
	for _, l := range lines {
		f := field{text[l.start:l.colon], strings.Trim(text[l.colon+1:l.end], " \t")}
		if slices.ContainsFunc(away, func(name string) bool { return strings.EqualFold(name, f.name) }) {
			continue
		}
		switch strings.ToLower(f.name) {
		case "content-length":
			if length != "" || f.value == "" || strings.Trim(f.value, "0123456789") != "" {
				return bad("an answer has no clear length")
			}
			length = f.value
		case "transfer-encoding":
			if chunked || minor == 0 || !strings.EqualFold(f.value, "chunked") {
				return bad("an answer is encoded in a way that is not understood")
			}
			chunked = true
		}
		a.head = appendField(a.head, f)
	}
	return a.frame(length, chunked, method)
}

func (a *Answer) frame(length string, chunked bool, method string) error {
	switch {
	case chunked && length != "":
		return bad("an answer has both Content-Length and Transfer-Encoding")
	case a.Interim() || a.Status == 204 || a.Status == 304 || method == "HEAD":
		a.Length = 0
	case chunked:
		a.Length = Chunked
	case length == "":
		a.Length = UntilClose
	default:
		n, err := strconv.ParseInt(length, 10, 64)
		if err != nil || n > maxLength {
			return bad("an answer is too long")
		}
		a.Length = n
	}
	return nil
}

// Copy passes on the answer: its head, and exactly its body. src is where it was read
// from, conn what src reads from, for the bulk.
func (a *Answer) Copy(dst io.Writer, src *bufio.Reader, conn io.Reader) (int64, error) {
	m, err := dst.Write(a.head)
	n := int64(m)
	var more int64
	switch {
	case err != nil || a.Length == 0:
	case a.Length == Chunked:
		more, err = copyChunked(dst, src, conn)
	case a.Length == UntilClose:
		for src.Buffered() > 0 && err == nil {
			m, err = copySome(dst, src, int64(src.Buffered()))
			n += int64(m)
		}
		if err == nil {
			more, err = io.Copy(dst, conn)
		}
	default:
		more, err = copyN(dst, src, conn, a.Length)
	}
	return n + more, err
}
