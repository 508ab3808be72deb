package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

const (
	treeDirs, treeFiles = 3000, 100 // 300 000 files
	masks               = 40
)

// size compares a launch in a large workspace with masks to one in an empty one.
func (b *bench) size() error {
	tree, err := b.workspace("tree", plant)
	if err != nil {
		return err
	}
	empty, err := b.workspace("empty", nil)
	if err != nil {
		return err
	}
	var flags []string
	for i := range masks {
		p := fmt.Sprintf("d%04d", i*7)
		if i%2 == 0 {
			p = filepath.Join(p, "f01")
		}
		flags = append(flags, "--mask", p)
	}
	small := b.inside([]string{"--workspace", empty}, "true")
	large := b.inside(append([]string{"--workspace", tree}, flags...), "true")
	all, err := b.hyperfine(b.home, 3*b.rounds, small, large)
	if err != nil {
		return err
	}
	med, least := ratio(all[1], all[0])
	b.add("start with 300 000 files and 40 masks / empty", least <= 1.1, "at most 1.10", "%.2f (medians %.2f)", least, med)
	few, err := b.listings(small)
	if err != nil {
		return err
	}
	many, err := b.listings(large)
	if err != nil {
		return err
	}
	b.add("directory listings with 300 000 files / empty", float64(many) <= 1.05*float64(few), "at most 1.05", "%d / %d", many, few)
	return nil
}

// listings counts the calls that list a directory in a whole launch.
func (b *bench) listings(argv []string) (int, error) {
	file := b.dir + "/strace"
	_, err := run(b.command(b.home, append([]string{"strace", "-f", "-qq", "-e", "trace=getdents64,getdents", "-e", "signal=none", "-o", file}, argv...)...))
	if err != nil {
		return 0, err
	}
	data, err := os.ReadFile(file)
	return bytes.Count(data, []byte("getdents")), err
}

// plant makes the large tree.
func plant(dir string) error {
	for i := range treeDirs {
		d := fmt.Sprintf("%s/d%04d", dir, i)
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
		for j := range treeFiles {
			if err := os.WriteFile(fmt.Sprintf("%s/f%02d", d, j), nil, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
