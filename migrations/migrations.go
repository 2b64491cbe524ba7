// Package migrations holds the schema of the store as numbered SQL, one file a step, embedded in the program.
//
// Files are in goose's format and applied in order, each in one transaction. The last statement of every file sets
// PRAGMA user_version to the file's number: that is what a start reads to know, in one query, that there is nothing to do.
// A published file never changes; what it got wrong is put right by the next one.
package migrations

import "embed"

// Latest is the number of the newest migration: the schema that this program reads and writes.
const Latest = 3

// Files are the migrations, NNNN_name.sql.
//
//go:embed *.sql
var Files embed.FS
