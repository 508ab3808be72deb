package review

import "strings"

// join puts a directory of a tree and a path below it together; "" and "." are the
// tree itself.
func join(dir, rel string) string {
	if dir == "" || dir == "." {
		return rel
	}
	return dir + "/" + rel
}

// dirOf returns the directory that a path is in, "." for the tree itself.
func dirOf(rel string) string {
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		return rel[:i]
	}
	return "."
}

func baseOf(rel string) string { return rel[strings.LastIndexByte(rel, '/')+1:] }

// below reports whether rel is dir or in it.
func below(rel, dir string) bool {
	return dir == "." || rel == dir || strings.HasPrefix(rel, dir+"/")
}
