package overlay

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const startLine = `{"op":"start","root":"L3I=","layer":"L3U="}` + "\n"

func FuzzLog(f *testing.F) {
	sum := strings.Repeat("0a", 32)
	temp := tempPrefix + strings.Repeat("0", 24)
	for _, seed := range []string{
		"", startLine, startLine[:20], startLine + startLine,
		startLine + `{"op":"begin","side":"host","path":"YS9i","temp":"` + temp + `","ino":7}` + "\n" + `{"op":"mo`,
		startLine + `{"op":"begin","side":"host","path":"Li4veA==","temp":"` + temp + `"}` + "\n",
		startLine + `{"op":"begin","side":"host","path":"YQ==","temp":"../etc"}` + "\n",
		startLine + `{"op":"merge","side":"host","path":"YQ==","was":"` + sum + `","hash":"` + sum + `"}` + "\n",
		startLine + `{"op":"mode","side":"upper","path":"Lg==","mode":365}` + "\n",
		startLine + `{"op":"mode","side":"upper","path":"Lg==","mode":365,"temp":"` + temp + `"}` + "\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		records, good, err := readLog(bytes.NewReader(in))
		if err != nil {
			if len(records) != 0 || good != 0 {
				t.Fatal("an error, and records")
			}
			return
		}
		var again []byte
		for i, r := range records {
			line, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			again = append(append(again, line...), '\n')
			checkRecord(t, i, r)
		}
		if int64(len(again)) != good || !bytes.Equal(again, in[:good]) || bytes.IndexByte(in[good:], '\n') >= 0 {
			t.Fatalf("%q was read as %q", in, again)
		}
	})
}

// checkRecord: nothing that a record names is outside of the tree, or no name of ours.
func checkRecord(t *testing.T, i int, r record) {
	path := string(r.Path)
	if (i == 0) != (r.Op == opStart) {
		t.Fatalf("record %d is %q", i, r.Op)
	}
	if r.Op == opStart {
		return
	}
	if filepath.IsAbs(path) || path == "" || filepath.Clean(path) != path || strings.HasPrefix(path+"/", "../") || strings.ContainsRune(path, 0) {
		t.Fatalf("path %q", path)
	}
	if r.Temp != "" && (!strings.HasPrefix(r.Temp, tempPrefix) || strings.Contains(r.Temp, "/") || r.Op != opBegin) {
		t.Fatalf("temporary name %q", r.Temp)
	}
	if r.Mode > 0o7777 || r.Side != sideHost && r.Side != sideUpper {
		t.Fatalf("%+v", r)
	}
}

// TestLogIsNotTrusted: a log that is not ours is refused, and nothing is done.
func TestLogIsNotTrusted(t *testing.T) {
	w := newWorld(t, tempDir(t), `printf 1 >f; mkdir d; chmod 755 d`)
	w.session(`printf 2 >f`)
	start, _ := json.Marshal(record{Op: opStart, Root: []byte(w.Root), Layer: []byte(w.Upper)})
	for _, bad := range []string{
		"nonsense\n",
		`{"op":"begin","side":"host","path":"YQ=="}` + "\n",
		string(start) + "\n" + `{"op":"begin","side":"host","path":"Li4vZg==","temp":"` + newTemp() + `"}` + "\n",
		string(start) + "\n" + `{"op":"begin","side":"host","path":"Zg==","temp":"f"}` + "\n",
		string(start) + "\n" + `{"op":"mode","side":"host","path":"Li4=","mode":511}` + "\n",
		string(start) + "\n" + strings.Repeat("x", 2*maxRecord) + "\n",
	} {
		if err := os.WriteFile(w.log, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Apply(w.log, nil, nil); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%.80q: %v", bad, err)
		}
		if w.read("f") != "1" {
			t.Fatal("the host was touched")
		}
	}
	// A link at the place of the log is not followed.
	if err := os.Remove(w.log); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("root/f", w.log); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Apply(w.log, nil, nil); err == nil || w.read("f") != "1" {
		t.Errorf("log by way of a link: %v", err)
	}
}

// TestLeftovers: a log's names are cleaned up, and no more than that.
func TestLeftovers(t *testing.T) {
	w := newWorld(t, tempDir(t), `mkdir d; printf 1 >d/f`)
	w.session(`printf 2 >d/f; chmod 555 d`)
	j, err := openLog(w.log, w.Layer)
	if err != nil {
		t.Fatal(err)
	}
	file, full, kept := newTemp(), newTemp(), newTemp()
	err = j.add(record{Op: opBegin, Side: sideHost, Path: []byte("d/f"), Temp: file},
		record{Op: opBegin, Side: sideHost, Path: []byte("d/f"), Temp: full},
		record{Op: opMode, Side: sideHost, Path: []byte("d"), Mode: 0o555})
	if err != nil {
		t.Fatal(err)
	}
	j.close()
	w.sh("cd root/d; printf x >" + file + "; mkdir " + full + "; printf planted >" + full + "/x; printf mine >" + kept)
	w.sh("printf '{\"op\":\"mo' >>log")
	w.noConflicts(w.apply(nil, nil))
	now := snapshot(t, w.Root)
	if _, ok := now["d/"+file]; ok {
		t.Error("a temporary file was left")
	}
	for _, p := range []string{"d/" + full + "/x", "d/" + kept} {
		if _, ok := now[p]; !ok {
			t.Errorf("%s was not ours to remove", p)
		}
	}
	if w.read("d/f") != "2" || now["d"].Mode != 0o555 {
		t.Errorf("%q, mode %o", w.read("d/f"), now["d"].Mode)
	}
	var st unix.Stat_t
	if err := unix.Stat(w.log, &st); err != unix.ENOENT {
		t.Errorf("log: %v", err)
	}
}
