package keeper

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

// TestOperationsWhileLearning: to hear of what is only asked for changes nothing about
// what the keeper does, or keeps from being done.
func TestOperationsWhileLearning(t *testing.T) {
	for _, o := range operations() {
		t.Run(o.name, func(t *testing.T) {
			b := newBox(t, o.host)
			b.learn = true
			o.play(t, b)
		})
	}
}

const script = `
	cat /nowhere/read; test -e /nowhere/looked; cd /nowhere/entered; /nowhere/run
	echo x >/nowhere/made; echo x >new; mkdir sub; cat dangling; cat old; ls old
	echo x >"$BOX/own/fresh"; cat "$BOX/own/missing" ; rm -f "$BOX/own/none"
	mv /nowhere/from "$BOX/own/to"; true`

// questions are asked by a shell: what our own first process asks before is not noted.
var questions = []operation{
	{name: "asks", host: "echo old >old; ln -s /nowhere/target dangling; mkdir ../own", do: func() error {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		os.Stat("/nowhere/too-early")
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "BOX=" + dir + "/.."}
		return cmd.Run()
	}},
}

func TestAsked(t *testing.T) {
	b := newBox(t, questions[0].host)
	b.learn = true
	b.start("asks")
	if a := b.finish(); a.Err != "" {
		t.Fatal(a.Err)
	}
	b.end()
	for _, want := range []Ask{
		{Path: "/nowhere/read", Open: true, Absent: true},
		{Path: "/nowhere/looked", Absent: true},
		{Path: "/nowhere/entered", Open: true, Absent: true},
		{Path: "/nowhere/run", Open: true, Absent: true},
		{Path: "/nowhere/made", Write: true, Open: true, Absent: true},
		{Path: "/nowhere/target", Open: true, Absent: true},
		{Path: "/nowhere/from", Write: true, Absent: true},
		{Path: b.dir + "/tree/new", Write: true, Open: true},
		{Path: b.dir + "/tree/sub", Write: true},
		{Path: b.dir + "/tree/old", Open: true},
		{Path: b.dir + "/tree/old"},
		{Path: b.dir + "/own/fresh", Write: true, Open: true, Made: true},
		{Path: b.dir + "/own/to", Write: true, Made: true},
		{Path: b.dir + "/own/missing", Open: true, Absent: true},
	} {
		if !slices.Contains(b.asked, want) {
			t.Errorf("not told: %+v", want)
		}
	}
	for _, a := range b.asked {
		if a.Path == "/nowhere/too-early" || a.Path == b.dir+"/own/none" && a.Write && a.Absent {
			t.Errorf("told: %+v", a)
		}
	}
	if t.Failed() {
		for _, a := range b.asked {
			t.Logf("%+v", a)
		}
	}
}

// TestAskedOnce: a program that asks ten thousand times is told of once.
func TestAskedOnce(t *testing.T) {
	var a asking
	q := question{path: "/x", open: true}
	if a.again(q) || !a.again(q) || a.again(question{path: "/x"}) {
		t.Error("the memory is wrong")
	}
	for i := range maxKnown + 10 {
		a.again(question{path: itoa(i)})
	}
	if len(a.known) > maxKnown {
		t.Errorf("%d are remembered", len(a.known))
	}
}
