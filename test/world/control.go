package world

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
)

// request is what a test asks the internet, over a socket that only the world has.
type request struct {
	Do     string // begin, forget, look, answer, open, run
	Name   string
	Rounds [][]string
	Ports  []uint16
	Argv   []string
}

// reply is the answer; a program that runs gives many.
type reply struct {
	Error   string
	Queries []Query
	Packets []Packet
	Heard   []Heard
	Output  []byte
	Ended   bool
	Status  int
}

func (n *network) serveControl() error {
	l, err := net.Listen("unix", socketFile)
	if err != nil {
		return err
	}
	if err := os.Chmod(socketFile, 0o666); err != nil {
		return err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go n.control(c)
		}
	}()
	return nil
}

func (n *network) control(c net.Conn) {
	defer c.Close()
	var q request
	if err := json.NewDecoder(c).Decode(&q); err != nil {
		return
	}
	var r reply
	var err error
	switch q.Do {
	case "begin":
		n.begin()
	case "forget":
		n.forget()
	case "look":
		r = reply{Queries: n.zone.queries(), Packets: n.watch.look(), Heard: n.tap.look()}
	case "answer":
		n.zone.set(q.Name, q.Rounds)
	case "open":
		for _, p := range q.Ports {
			err = errors.Join(err, n.open(p))
		}
	case "run":
		runServer(c, q.Argv)
		return
	default:
		err = fmt.Errorf("%q is not known here", q.Do)
	}
	if err != nil {
		r.Error = err.Error()
	}
	json.NewEncoder(c).Encode(r)
}

// ask is the other side of control, for all but "run".
func ask(q request) (reply, error) {
	var r reply
	c, err := net.Dial("unix", socketFile)
	if err != nil {
		return r, err
	}
	defer c.Close()
	if err := json.NewEncoder(c).Encode(q); err != nil {
		return r, err
	}
	if err := json.NewDecoder(c).Decode(&r); err != nil {
		return r, err
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}
