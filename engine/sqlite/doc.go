// Package sqlite keeps ferrox's records in one SQLite file. It implements engine.Store and is the only importer of the
// SQLite driver.
//
// It knows facts and no decisions: nothing here is named after what a record means. What it promises is durability (a
// nil error means flushed to disk), all or nothing, and compare-and-set; engine/storetest spells it out.
package sqlite
