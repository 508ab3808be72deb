// Package call is a request that a program inside is to make, and what became of it.
package call

import "net/http"

// Call is a request. ${VAR} in its texts stands for a variable of the environment.
type Call struct {
	Name   string
	Method string // GET if empty
	URL    string
	Header map[string]string
	Body   string
	Pad    int  // so many bytes are put in the place of @PAD@ in the body
	Slow   bool // the body is sent byte by byte, without its length
}

// Answer is what became of it.
type Answer struct {
	Name   string
	Status int
	Header http.Header
	Body   string
	Err    string
}
