package gate

import (
	"bufio"
	"io"
	"net"
	"time"

	"ringfence.dev/ringfence/internal/network/httpfwd"
)

// maxAsked bounds how many requests may wait for their answers; the next one waits
// with its client.
const maxAsked = 128

// pending are the methods of the requests that have no answer yet, in their order: an
// answer to HEAD ends otherwise than one to GET.
type pending struct {
	methods chan string
	over    <-chan struct{} // closed when no more answers come
}

// add is called before a request is sent, so that no answer can be there before it.
func (p pending) add(method string) bool {
	select {
	case p.methods <- method:
		return true
	case <-p.over:
		return false
	}
}

// answers passes on what the origin says, one answer after the other. A head that leads
// the client elsewhere does so no more; what cannot be read in one way alone is not
// passed on.
func (k *call) answers(origin *net.TCPConn, asked pending) (n int64, err error) {
	r := bufio.NewReader(origin)
	for {
		if _, err := r.Peek(1); err != nil {
			return n, ending(err)
		}
		var method string
		select {
		case method = <-asked.methods:
		default:
			return n, nil // nobody asked: some servers say so that they close
		}
		for interim := true; interim; {
			a, err := httpfwd.ReadAnswer(r, method)
			if err != nil {
				return n, err
			}
			interim = a.Interim()
			m, err := a.Copy(k.client, r, origin)
			n += m
			if err != nil {
				return n, err
			}
		}
	}
}

// ending is nil for an end between two answers.
func ending(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// await waits for the last answers, and ends them when the client was sent nothing for
// a while.
func (k *call) await(origin *net.TCPConn, back <-chan struct{}, wait time.Duration) {
	for {
		select {
		case <-back:
			return
		case <-time.After(wait):
		}
		if silent(k.client) >= wait {
			origin.SetReadDeadline(time.Unix(1, 0))
			<-back
			return
		}
	}
}
