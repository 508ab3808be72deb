package carrier

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"time"
)

// Role says which end one is.
type Role byte

// The two ends. The near one brings connections.
const (
	Near Role = 'n'
	Far  Role = 'f'
)

// Purpose is what the near end brings a connection for.
type Purpose byte

// The purposes.
const (
	GoOn  Purpose = 'g' // to go on over it
	Leave Purpose = 'l' // to end the carrier as one that was lost, at once
)

// A connection begins with four messages:
//
//	near: magic, purpose, a number
//	far:  a number, proof
//	near: how much has come, proof
//	far:  how much has come, proof
//
// A proof is a digest with the secret over all that was said, and who says it. Only who has
// proved that takes the connection's place: the one before goes on until then.
const (
	magic     = "rfcarry\x01"
	nonceSize = 32
	macSize   = sha256.Size
)

// hello is how long the other end may take to prove who it is.
const hello = 30 * time.Second

// ErrStranger is a connection whose other end does not know the secret.
var ErrStranger = errors.New("the other end does not know the secret of the session")

// transcript is what was said so far.
type transcript struct {
	secret []byte
	said   []byte
}

func (t *transcript) proof(who Role) []byte {
	h := hmac.New(sha256.New, t.secret)
	h.Write([]byte{byte(who)})
	h.Write(t.said)
	return h.Sum(nil)
}

// tell adds to it, and sends that with proof.
func (t *transcript) tell(w io.Writer, who Role, text []byte) error {
	t.said = append(t.said, text...)
	proof := t.proof(who)
	t.said = append(t.said, proof...)
	_, err := w.Write(append(append([]byte{}, text...), proof...))
	return err
}

// hear takes n bytes with proof.
func (t *transcript) hear(r io.Reader, who Role, n int) ([]byte, error) {
	text := make([]byte, n+macSize)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, err
	}
	t.said = append(t.said, text[:n]...)
	if !hmac.Equal(text[n:], t.proof(who)) {
		return nil, ErrStranger
	}
	t.said = append(t.said, text[n:]...)
	return text[:n], nil
}

func nonce() []byte {
	b := make([]byte, nonceSize)
	rand.Read(b)
	return b
}

// Join brings a connection, which is the carrier's own from here on.
func (c *Carrier) Join(rw io.ReadWriteCloser) error { return c.join(rw, GoOn) }

// Dismiss tells the other end by a connection to end as one that was lost, at once.
func Dismiss(rw io.ReadWriteCloser, secret []byte) error {
	return New(Near, secret, time.Hour).join(rw, Leave)
}

func (c *Carrier) join(rw io.ReadWriteCloser, why Purpose) error {
	k := newConn(rw)
	late := time.AfterFunc(hello, func() { k.Close() })
	defer late.Stop()
	t := &transcript{secret: c.secret, said: append(append([]byte(magic), byte(why)), nonce()...)}
	if _, err := k.Write(t.said); err != nil {
		k.Close()
		return err
	}
	if _, err := t.hear(k.in, Far, nonceSize); err != nil {
		k.Close()
		return err
	}
	c.turn.Lock()
	defer c.turn.Unlock()
	got := c.clear()
	err := t.tell(k, Near, binary.BigEndian.AppendUint64(nil, got))
	var has []byte
	if err == nil {
		has, err = t.hear(k.in, Far, 8)
	}
	if err == nil && !late.Stop() {
		err = errSilent
	}
	if err != nil || why != GoOn {
		k.Close()
		if err != nil {
			c.lapse(err)
		}
		return err
	}
	return c.put(k, binary.BigEndian.Uint64(has))
}

// Accept takes a connection that the near end brings, and says what for. Where that is not to
// go on over it, it is closed.
func (c *Carrier) Accept(rw io.ReadWriteCloser) (Purpose, error) {
	k := newConn(rw)
	late := time.AfterFunc(hello, func() { k.Close() })
	defer late.Stop()
	why, err := c.accept(k, late)
	if err != nil || why != GoOn {
		k.Close()
	}
	return why, err
}

func (c *Carrier) accept(k *conn, late *time.Timer) (Purpose, error) {
	t := &transcript{secret: c.secret, said: make([]byte, len(magic)+1+nonceSize)}
	if _, err := io.ReadFull(k.in, t.said); err != nil {
		return 0, err
	}
	why := Purpose(t.said[len(magic)])
	if string(t.said[:len(magic)]) != magic || why != GoOn && why != Leave {
		return 0, ErrStranger
	}
	if err := t.tell(k, Far, nonce()); err != nil {
		return 0, err
	}
	body, err := t.hear(k.in, Near, 8)
	if err != nil {
		return 0, err
	}
	c.turn.Lock()
	defer c.turn.Unlock()
	var got uint64
	if why == GoOn {
		got = c.clear()
	}
	err = t.tell(k, Far, binary.BigEndian.AppendUint64(nil, got))
	if err == nil && !late.Stop() {
		err = errSilent
	}
	if err != nil {
		c.lapse(err)
	}
	if err != nil || why == Leave {
		return why, err
	}
	return why, c.put(k, binary.BigEndian.Uint64(body))
}

// clear takes the connection out that there is, to put another in its place, and says how much
// has come: no more comes. Nobody hears of that, unless there is a lapse.
func (c *Carrier) clear() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.conn; k != nil {
		c.conn = nil
		c.changed.Broadcast()
		go k.Close()
	}
	return c.got
}

// lapse: the other one did not come.
func (c *Carrier) lapse(why error) {
	c.mu.Lock()
	if c.conn != nil || !c.began {
		c.mu.Unlock()
		return
	}
	c.miss(broken(why)) // that nobody is there is no end that was said
}

// put puts a connection in, over which the other end has so much.
func (c *Carrier) put(k *conn, has uint64) error {
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		k.Close()
		return c.err
	}
	if !c.out.drop(has) {
		defer c.mu.Unlock()
		k.Close()
		c.fail(Wrong("that it has what was not sent"))
		return c.err
	}
	if c.expiry != nil {
		c.expiry.Stop()
	}
	back := func() {}
	if c.missed {
		back = c.back
	}
	c.missed, c.began, c.sent, c.told = false, true, 0, c.got
	c.mu.Unlock()
	back()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		k.Close()
		return c.err
	}
	c.conn = k
	c.changed.Broadcast()
	go c.send(k)
	go c.watch(k)
	return nil
}
