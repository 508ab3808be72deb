// Package broker proves the broker end to end: ringfence as it is shipped, run as root
// and as an ordinary user, real clients inside, and outside servers that speak the
// real protocols and demand the real credential. It plays in a world of its own
// (package world), to which a quarter of vendors is added: addresses at which this
// test binary itself serves, with certificates of an authority of its own.
//
// Every real credential here is a canary. Two things are asked of each test: that the
// canary did arrive where it belongs, which the server saw, and that what must not
// happen was not seen by the same server. What is claimed to be closed is shown to be
// open without ringfence, or with the switch that opens it.
package broker
