// Package golden holds what ringfence decides and says today: the plan of many
// launches, every help text, many errors, the checks of verify. A change that
// was not meant to change behaviour leaves testdata as it is.
//
//	go test ./test/golden -update
//
// writes the files anew, for root and for an ordinary user, so root has to run it.
// Read the difference before you commit it.
package golden
