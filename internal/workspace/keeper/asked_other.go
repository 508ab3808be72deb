//go:build !amd64

package keeper

// The calls without a directory are only some architectures'.

func opensByName(*request) (flags uint64, ok bool) { return 0, false }
func accessByName(*request) (uint32, bool)         { return 0, false }
func removesByName(int32) bool                     { return false }
func makesByName(int32) bool                       { return false }
