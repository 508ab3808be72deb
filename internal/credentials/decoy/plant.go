package decoy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Host is where Plant writes a file.
func (f File) Host(dir string) string {
	return filepath.Join(dir, strings.ReplaceAll(f.Name, " ", "-"))
}

// Plant writes the files into a directory of the session's state on the host, from
// where they are to be mounted at their paths inside. It returns what Watch takes.
//
// They are not synced: a decoy that a crash of the machine takes goes with its session.
func Plant(dir string, files []File) (hosts map[string]string, err error) {
	hosts = map[string]string{}
	for _, f := range files {
		if err := write(f.Host(dir), f.Data); err != nil {
			return nil, fmt.Errorf("plant %s: %w", f.Name, err)
		}
		hosts[f.Host(dir)] = f.Name
	}
	return hosts, nil
}

// write makes a new file: what lies there already is not ours to follow or change.
func write(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
