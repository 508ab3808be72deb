package sessions

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/session/control"
)

const (
	// lookAgain is how often it is asked whether the question is still the same.
	lookAgain = 300 * time.Millisecond
	// readingTime is how long nothing that was typed answers a question that came in the place
	// of another one.
	readingTime = 700 * time.Millisecond
)

// answering is a conversation about what one session asks.
type answering struct {
	c     *command.Console
	id    string
	shown []string  // on the screen
	from  time.Time // an answer before is none
}

// answerRequests asks here what a session asks at its own terminal, until nothing is left.
func answerRequests(c *command.Console, one string) (int, error) {
	if !c.Typing() {
		return 1, fault.New(fault.Refused, "ringfence grant allows a host without a question", "--answer needs a terminal")
	}
	id, err := findRunning(one)
	if err != nil {
		return 1, err
	}
	a := &answering{c: c, id: id}
	lines, left := make(chan string), make(chan os.Signal, 1)
	signal.Notify(left, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP)
	go readLines(c.In, lines)
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for q := (control.Request{Do: "question"}); ; {
		if done, err := a.ask(q); done || err != nil {
			return 0, err
		}
		q = control.Request{Do: "question"}
		select {
		case <-again.C:
		case line, more := <-lines:
			if q = (control.Request{Do: "answer", Asked: a.shown, Answer: line}); !more {
				q = control.Request{Do: "leave"}
			} else if time.Now().Before(a.from) {
				q, a.shown = control.Request{Do: "question"}, nil
			}
		case <-left:
			q = control.Request{Do: "leave"}
		}
	}
}

func readLines(in *os.File, to chan<- string) {
	defer close(to)
	for s := bufio.NewScanner(in); s.Scan(); {
		to <- s.Text()
	}
}

// ask sends one request and shows what is asked after it; done: nothing is.
func (a *answering) ask(q control.Request) (done bool, err error) {
	r, err := control.Ask(a.id, q)
	if err != nil {
		return true, err
	}
	if len(r.Question) == 0 {
		a.say(r.Said)
		if a.shown == nil && q.Do == "question" {
			a.c.Say("nothing is asked")
		}
		return true, nil
	}
	if q.Do == "question" && slices.Equal(r.Question, a.shown) {
		return false, nil
	}
	if a.shown != nil && !slices.Equal(r.Question, a.shown) { // what was typed before was for another
		a.from = time.Now().Add(readingTime)
	}
	a.show(r)
	return false, nil
}

// show draws the question. What was typed before it stands there answers nothing.
func (a *answering) show(r control.Reply) {
	a.shown = r.Question
	_ = unix.IoctlSetInt(int(a.c.In.Fd()), unix.TCFLSH, unix.TCIFLUSH)
	fmt.Fprint(a.c.Err, "\n")
	a.say(r.Said)
	lines := make([]string, len(r.Question))
	for i, l := range r.Question {
		lines[i] = command.Inert(l)
	}
	fmt.Fprint(a.c.Err, strings.Join(lines, "\n"))
}

func (a *answering) say(said string) {
	if said != "" {
		fmt.Fprintln(a.c.Err, command.Inert(said))
	}
}
