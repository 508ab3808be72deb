package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// endDirs × endFiles and the directories themselves are what one session made that took
// 44 seconds to end.
const endDirs, endFiles = 2659, 100

// end measures how long ringfence takes after the last process inside: it tells what
// changed, from which undo must be able to tell what others change later. Beside it
// stands reading every byte once.
func (b *bench) end() error {
	dir, err := b.workspace("end", nil)
	if err != nil {
		return err
	}
	make := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do mkdir -p made/$((i/40))/$i; cd made/$((i/40))/$i
		j=0; while [ $j -lt %d ]; do echo $i $j >$j; j=$((j+1)); done; cd ../../..; i=$((i+1)); done`, endDirs, endFiles)
	var read float64
	for _, view := range []string{live, review} {
		flags := []string{"--net", "none", "--workspace", dir}
		if view == review {
			flags = append(flags, "--review")
		}
		cmd := b.command(dir, b.inside(flags, "sh", "-c", make+"; date +%s.%N")...)
		out, err := run(cmd)
		over := float64(time.Now().UnixNano()) / 1e9
		if err != nil {
			return err
		}
		var ended float64
		if _, err := fmt.Sscan(string(out), &ended); err != nil {
			return err
		}
		if view == live { // the same files, where they are on the host
			if read, err = b.readAll(dir); err != nil {
				return err
			}
		}
		b.add(fmt.Sprintf("end of a session that made %d files, %s", endDirs*endFiles, view), over-ended <= 5, "at most 5 s", "%.1f s (%.1f of sha256sum of all)", over-ended, (over-ended)/read)
	}
	return nil
}

// readAll hashes all that was made, and takes it away.
func (b *bench) readAll(dir string) (seconds float64, err error) {
	began := time.Now()
	if err := b.in(dir, "find made -type f -print0 | xargs -0 sha256sum >/dev/null"); err != nil {
		return 0, err
	}
	seconds = time.Since(began).Seconds()
	return seconds, os.RemoveAll(filepath.Join(dir, "made"))
}
