package sqlite

import (
	"net/url"
	"strconv"
	"time"
)

// access says what a connection may do to the file.
type access string

// The kinds of connections.
const (
	create access = "rwc" // makes the file: migrations only
	write  access = "rw"
	read   access = "ro"
)

// dataSource returns the driver's name for the file at path, which is absolute.
//
// The settings stand in it, and not in statements run once, because a statement reaches one connection of a pool only.
// The path is escaped as a URI, so that blanks, '?', '#' and '%' in it are just characters.
func dataSource(path string, a access, patience time.Duration) string {
	settings := url.Values{
		"mode":          {string(a)},
		"_journal_mode": {"WAL"},
		"_synchronous":  {"FULL"}, // the driver's own choice, NORMAL, acknowledges before the flush
		"_foreign_keys": {"on"},
		"_busy_timeout": {strconv.FormatInt(patience.Milliseconds(), 10)},
	}
	if a == read {
		settings.Set("_query_only", "on")
	} else {
		settings.Set("_txlock", "immediate")
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: settings.Encode()}
	return u.String()
}
