//go:build !brokenfence

package engine

import "ferrox/lanes"

// fenced reports whether another engine has taken the repository since. The tests build a program that forgets its number
// (tag brokenfence), to see that they would notice.
func (o *owner) fenced(now lanes.Lease) bool { return now.Fence != o.lease.Fence }
