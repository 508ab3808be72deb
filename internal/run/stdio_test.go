package run

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestStreams(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "in")
	if err := os.WriteFile(name, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pr.Close()
	s, err := openStreams([3]*os.File{in, out, pw})
	if err != nil {
		t.Fatal(err)
	}
	if s.files[0] == in || s.files[1] == out {
		t.Error("a regular file goes inside, where /proc/self/fd would open it again")
	}
	if s.files[2] != pw {
		t.Error("a pipe does not go inside as it is")
	}
	got, err := io.ReadAll(s.files[0])
	if err != nil || string(got) != "from a file" {
		t.Errorf("inside reads %q, %v", got, err)
	}
	if _, err := s.files[1].WriteString("from inside"); err != nil {
		t.Fatal(err)
	}
	s.closeInside()
	s.drain()
	if b, err := os.ReadFile(out.Name()); err != nil || string(b) != "from inside" {
		t.Errorf("the file holds %q, %v", b, err)
	}
}

func TestStreamsRefuseDirectory(t *testing.T) {
	d, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if _, err := openStreams([3]*os.File{d, null, null}); err == nil {
		t.Error("a directory as standard input was taken")
	}
}
